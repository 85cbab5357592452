"""Journals and results whose values somebody has changed: in words, and never equal by mistake."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rtsim.live.exact.reading import read_run
from streams.codec import decode, encode
from streams.messages import Journal, Result
from streams.recording.recorded import read_messages
from streams.recording.recorder import Recorder
from tests.rtsim.live.exact.test_replay_faults import copied, replayed, run

__all__ = ["run"]
NO_NUMBERS = (math.inf, math.nan, "x", [1], {"a": 1}, -5, 1.5, 1e300)
OF_FRAMES = ("number", "seq", "t_capture", "t_arrived", "t_received", "t_taken", "t_solved", "t_published")
OTHERS = (("results", "t_start"), ("results", "session"), ("session", "number"))


def altered(run: Path, out: Path, entry: str, key: str, value: Any) -> Path:
    """Return a copy in which the fifth entry of a name, or its only one, has another value."""
    n: list[Journal] = []

    def change(m: Any) -> Any:
        if isinstance(m, Journal) and m.entry == entry:
            n.append(m)
            if len(n) == 5 or entry != "frame":
                return replace(m, values={**m.values, key: value})
        return m

    return copied(run, out, change)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_an_entry_with_a_value_that_it_cannot_have_is_not_computed_with(
    run: Path, tmp_path: Path, value: Any
) -> None:
    """Protects whoever replays a stranger's recording: what comes before is read, the entry is named."""
    for key in (*OF_FRAMES, "time", "n_awaited", "leads", "late"):
        if key == "time" and value in (-5, 1.5, 1e300):
            continue  # which are times
        found = read_run(altered(run, tmp_path / f"{key}.mcap", "frame", key, value))
        assert found.n_frame == 4, key
        assert "(frame) cannot be read" in found.cut
    for entry, key in OTHERS:
        found = read_run(altered(run, tmp_path / f"{entry}.{key}.mcap", entry, key, value))
        assert f"({entry}) cannot be read" in found.cut


def test_a_file_whose_name_no_file_can_have_is_not_looked_for(run: Path, tmp_path: Path) -> None:
    """Protects from a name with a zero in it, at which the system's functions fail in their own ways."""
    part = {"sha256": "0" * 64, "n_byte": 1, "part": 0, "n_part": 1}
    first = next(m for m in map(decode, _parts(run)) if isinstance(m, Journal))
    for key in ("path", "folder"):
        data = {"path": b"/tmp/x", "folder": b"/tmp", "content": b"x", key: b"/tmp/\0"}
        path = tmp_path / f"{key}.mcap"
        with Recorder(path) as recorder:
            recorder.write(*encode(first), 1)
            recorder.write(*encode(replace(first, seq=1, entry="file", values=part, data=data)), 2)
        found = read_run(path)
        assert not found.files
        assert "entry 1 of the run log (file) cannot be read" in found.cut


@pytest.mark.parametrize("kept", [0, 1], ids=["without it", "cut"])
def test_a_result_that_does_not_fit_its_descriptor_is_told(run: Path, tmp_path: Path, kept: int) -> None:
    """Protects the comparison: such a result is none, and the replay is not equal."""

    def change(m: Any) -> Any:
        if not isinstance(m, Result) or m.seq != 12:
            return m
        rest = {name: data for name, data in m.data.items() if name != "joint_angles"}
        return replace(m, data=rest | ({"joint_angles": m.data["joint_angles"][:-8]} if kept else {}))

    code, text = replayed(copied(run, tmp_path / "misfit.mcap", change), "--json", "--tolerance", "1.0")
    row = json.loads(text)
    assert (code, row["results_missing"], row["equal_but_for_rounding"]) == (1, 1, False)
    assert "the recorded result 12 does not fit its descriptor" in row["altered"][0]


def test_another_time_is_not_rounding(run: Path, tmp_path: Path) -> None:
    """Protects what is equal but for rounding: a result of another time is another one."""
    moved = copied(
        run, tmp_path / "moved.mcap",
        lambda m: replace(m, time=m.time + 0.5) if isinstance(m, Result) and m.seq == 12 else m,
    )  # fmt: skip
    code, text = replayed(moved, "--json", "--tolerance", "1e-6")
    row = json.loads(text)
    assert (code, row["equal_but_for_rounding"]) == (1, False)
    assert [quantity["quantity"] for quantity in row["quantities"]] == ["time"]


def _parts(path: Path) -> list[list[bytes]]:
    return [[topic, payload] for _, topic, payload in read_messages(path)]
