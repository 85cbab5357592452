"""The judge of `rtsim bench kills`, and a few kills by seed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("processes are forked and killed here", allow_module_level=True)

from benchmarks.kills.judge import FLUSH_MS, judged
from benchmarks.kills.run import run
from benchmarks.kills.witness import Digest, digest
from streams.recording.recorder import Recorder

STEP_NS = 10_000_000
N = 300


@pytest.fixture
def recording(tmp_path: Path) -> tuple[Path, list[tuple[int, Digest]]]:
    """Three seconds of 100 Hz, not closed, and what a witness has heard of them."""
    path = tmp_path / "walk.mcap"
    recorder = Recorder(path)
    heard = []
    for n in range(N):
        payload = b"%06d" % n * 20
        recorder.write(b"markers", payload, n * STEP_NS)
        heard.append((n * STEP_NS, digest(payload)))
    recorder.file.abandon()
    return path, heard


def test_a_cut_recording_with_all_of_it_is_sound(recording: tuple[Path, list[tuple[int, Digest]]]) -> None:
    """Protects the judge from false alarm: plain reader and recovery agree, nothing is lost."""
    path, heard = recording
    found = judged(path, heard, N * STEP_NS)
    assert found == (N, 0, 0.0, ())


def test_the_judge_measures_what_is_lost(recording: tuple[Path, list[tuple[int, Digest]]]) -> None:
    """Protects the figure: messages that are not in the file are counted, with the age of the oldest."""
    path, heard = recording
    later = [((N + k) * STEP_NS, digest(b"later %d" % k)) for k in range(40)]
    found = judged(path, [*heard, *later], (N + 40) * STEP_NS)
    assert (found.n_lost, found.lost_ms) == (40, pytest.approx(400.0))
    assert found.faults == ()
    missing = (100 * STEP_NS, digest(b"never written"))
    found = judged(path, [*heard[:100], missing, *heard[100:]], N * STEP_NS)
    assert found.n_lost == 1
    assert found.lost_ms > FLUSH_MS
    assert "1 messages older than 1000 ms are lost" in found.faults[0]


def test_the_judge_sees_damage(recording: tuple[Path, list[tuple[int, Digest]]]) -> None:
    """Protects from a judge that is content with anything: a damaged chunk is a fault."""
    path, heard = recording
    data = bytearray(path.read_bytes())
    data[data.index(b"000100") + 3] ^= 1
    path.write_bytes(data)
    assert any("damaged" in fault for fault in judged(path, heard, N * STEP_NS).faults)


@pytest.mark.process
@pytest.mark.parametrize("seed", [7])
def test_kills_at_random_cost_nothing_that_is_old(seed: int) -> None:
    """Protects recordings: a few kills in a lab where everything runs, each judged by two readers."""
    pytest.importorskip("PySide6")
    found = run(3, seed)
    assert found.faults() == []
    assert len(found.kills) == 3, found.troubles
