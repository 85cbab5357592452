"""The parameter section by its records."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.lists import extend, list_of
from rtsim.files.c3d_bytes.section import BLOCK, INTEGER, C3dParameter, Section

SHARED = Path(__file__).resolve().parents[4].parent / "shared" / "data"
FILES = sorted(SHARED.rglob("*.c3d")) if SHARED.is_dir() else []


def section_of(path: Path) -> tuple[bytes, Section]:
    """The bytes from a file's parameters on, and the section."""
    data = path.read_bytes()
    rest = data[BLOCK * (data[0] - 1) :]
    return rest, Section(rest, str(path))


@pytest.mark.skipif(not FILES, reason="needs the recordings beside the project")
def test_every_recording_is_written_as_it_was_read() -> None:
    """Protects the bytes of parameters that nobody touches, with those of several programs."""
    for path in FILES:
        rest, section = section_of(path)
        written = section.written()
        assert written == rest[: len(written)], path


def test_a_list_goes_on_under_other_names(make_c3d, standing_points) -> None:
    """Protects lists of more than 255: filled up where it was too short, cut where it was too long."""
    _, section = section_of(make_c3d(["A", "B", "C"], standing_points(4)))
    extend(section, "POINT", "LABELS", 4, [f"N{k}" for k in range(600)])
    assert list_of(section, "POINT", "LABELS") == ["A", "B", "C", "", *(f"N{k}" for k in range(600))]
    assert [len(section.texts("POINT", f"LABELS{k}")) for k in ("", 2, 3)] == [255, 255, 94]
    extend(section, "POINT", "LABELS", 2, ["new"])
    assert list_of(section, "POINT", "LABELS")[:3] == ["A", "B", "new"]


def test_a_list_that_stays_keeps_its_bytes(make_c3d, standing_points) -> None:
    """Protects what is said already from being written in another width."""
    _, section = section_of(make_c3d(["A", "Bcd"], standing_points(2)))
    before = list(section.records)
    extend(section, "POINT", "LABELS", 2, [])
    section.put_texts("POINT", "UNITS", ["mm"])
    assert section.records == before


def test_what_has_no_room_is_refused(make_c3d, standing_points) -> None:
    """Protects from sections that one byte does not count, and records that some readers cannot skip."""
    _, section = section_of(make_c3d(["A"], standing_points(1)))
    with pytest.raises(ConfigError, match="too long"):
        section.put("POINT", "LONG", C3dParameter(INTEGER, (200, 100), bytes(40_000)))
    for k in range(5):
        section.put("POINT", f"LONG{k}", C3dParameter(INTEGER, (150, 100), bytes(30_000)))
    with pytest.raises(ConfigError, match="blocks"):
        section.written()


def test_damage_is_one_sentence(make_c3d, standing_points) -> None:
    """Protects from a crash or a hang where bytes are damaged: a section is read, or refused by name."""
    rest, _ = section_of(make_c3d(["A", "B"], standing_points(2)))
    dice, n_read = random.Random(1), 0
    for _ in range(400):
        damaged = bytearray(rest[: dice.choice([3, 40, 200, 512])])
        for _ in range(dice.randrange(1, 4)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        with suppress(ConfigError):
            n_read += len(Section(bytes(damaged), "a.c3d").written()) > 0
    assert 0 < n_read < 400
