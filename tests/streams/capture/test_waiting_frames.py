"""Frames that wait for unit and axis: only the newest, and only so many bytes."""

from __future__ import annotations

import numpy as np

from streams.capture import waiting_frames
from streams.capture.records import CaptureFrame, ForceSamples
from streams.capture.waiting_frames import KEPT_NS, WaitingFrames


def frame(arrived_ns: int, n_sample: int = 0) -> CaptureFrame:
    forces = ForceSamples(np.zeros(n_sample, np.int64), *(np.zeros((2, n_sample, 3)) for _ in range(2)))
    return CaptureFrame(np.zeros((2, 3)), arrived_ns, None, forces=forces if n_sample else None)


def test_force_samples_count_among_the_bytes_that_wait(monkeypatch):
    """Protects memory where plates of a high rate come with few markers."""
    monkeypatch.setattr(waiting_frames, "MOST_WAITING", 50_000)
    waiting = WaitingFrames()
    thinned = [waiting.add(frame(k, n_sample=20)).n_thinned for k in range(100)]
    assert sum(thinned) == 100 - len(waiting.frames) > 50
    assert len(waiting.taken()) <= 50_000 // (2 * 2 * 20 * 3 * 8)
    assert waiting.frames == []
    assert sum(waiting.add(frame(k)).n_thinned for k in range(100)) == 0


def test_frames_of_a_slow_stream_span_the_time_that_a_judgement_needs():
    """Protects streams of less than one frame per second, which would else wait for ever."""
    waiting = WaitingFrames()
    for k in range(10):
        waiting.add(frame(2 * k * KEPT_NS))
    assert [one.arrived_ns for one in waiting.frames] == [16 * KEPT_NS, 18 * KEPT_NS]
