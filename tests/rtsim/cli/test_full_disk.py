"""Files on a disk that is full: one sentence, nothing broken, and what was there before as it was."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.rtsim.cli.files import STUDY

resource = pytest.importorskip("resource")

ROOM = 600
"""So much of a file the disk takes [bytes]."""
SWEEP = ("moment-arms", "finger", "--angle", "mcp_flexion", "--sweep", "--steps", "60")
SIMULATED = ("simulate", "impact", "--duration", "0.002")


@pytest.fixture
def full() -> Iterator[Callable[..., contextlib.AbstractContextManager[None]]]:
    """A disk that takes the begin of a file alone, while the context lasts."""

    @contextlib.contextmanager
    def filled(room: int = ROOM) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return filled


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_figure_is_whole_or_not_there(here, full, tmp_path: Path, suffix: str) -> None:
    """Protects reports: half a picture never stands where the one before stood."""
    pytest.importorskip("pyqtgraph")
    assert here(*SWEEP, "--plot", f"a.{suffix}").code == 0
    before = (tmp_path / f"a.{suffix}").read_bytes()
    with full():
        done = here(*SWEEP, "--plot", f"a.{suffix}")
        new = here(*SWEEP, "--plot", f"b.{suffix}")
    for one, name in ((done, "a"), (new, "b")):
        assert one.code == 1
        assert one.sentence == f"rtsim: {name}.{suffix}: cannot be written (File too large)"
    assert (tmp_path / f"a.{suffix}").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [f"a.{suffix}"]


@pytest.mark.parametrize("suffix", ["csv", "sto", "mcap"])
def test_results_are_whole_or_not_there(here, full, tmp_path: Path, suffix: str) -> None:
    """Protects what goes on with a file of results: no table ends early, no recording in the middle."""
    assert here(*SIMULATED).code == 0  # compiled before the disk is full
    with full():
        done = here(*SIMULATED, "--out", f"a.{suffix}")
    assert done.code == 1
    assert f"a.{suffix}" in done.sentence
    assert "cannot be written (File too large)" in done.sentence
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("room", [0, 150])  # neither of both files, or the public one alone
def test_keys_are_whole_or_not_there(here, full, tmp_path: Path, room: int) -> None:
    """Protects from half a key, which would refuse everybody: the pair is written, or neither of it."""
    with full(room):
        done = here("keys", "own", "lab")
    assert done.code == 1
    assert "cannot be written into own (File too large); no file was kept" in done.sentence
    assert list((tmp_path / "own").iterdir()) == []


@pytest.mark.parametrize("room", [100, 1200])  # not even the plan fits, or it and no part of the table
def test_a_study_goes_on_where_the_disk_was_full(here, full, tmp_path: Path, room: int) -> None:
    """Protects long studies: a full disk is told, with no half file, and the table is the same afterwards."""
    (tmp_path / "impacts.toml").write_text(STUDY)
    whole = here("study", "impacts.toml", "--workers", "0", "--out", "whole")
    assert whole.code == 0, whole.err
    with full(room):
        done = here("study", "impacts.toml", "--workers", "0", "--out", "cut")
    assert done.code == 1
    assert done.sentence.startswith("rtsim: cut/")
    assert done.sentence.endswith("cannot be written (File too large)")
    kept = [path for path in (tmp_path / "cut").rglob("*") if path.is_file()]
    assert all(path.name == "plan.json" for path in kept)
    assert here("study", "impacts.toml", "--workers", "0", "--out", "cut").code == 0
    assert (tmp_path / "cut" / "table.npz").read_bytes() == (tmp_path / "whole" / "table.npz").read_bytes()


def test_a_picture_of_the_window_is_whole_or_not_there(full, tmp_path: Path) -> None:
    """Protects the picture before: what cannot be saved is told in the window."""
    pytest.importorskip("pyqtgraph")
    from rtsim.errors import ConfigError
    from rtsim.files.output import write_bytes

    path = tmp_path / "a.png"
    write_bytes(path, b"before")
    with full(), pytest.raises(ConfigError, match=r"cannot be written \(File too large\)"):
        write_bytes(path, bytes(np.zeros(10 * ROOM, np.uint8)))
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]
