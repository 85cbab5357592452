"""Frames that wait until the unit of length and the upward axis of a capture system are determined."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from streams.capture.records import CaptureFrame

KEPT_NS = 1_500_000_000
"""Time of the newest frames that are kept, longer than a judgement ever needs [ns]. It may take minutes until
enough of a person is visible: frames of minutes ago would then be published all at once."""
MOST_WAITING = 16 << 20
"""Bytes of markers and force samples that may wait."""


class Dropped(NamedTuple):
    """Numbers of frames that no longer wait: they were too old, or there were too many bytes."""

    n_old: int
    n_thinned: int


class WaitingFrames:
    """The newest frames that have arrived since a description without unit or upward axis, oldest first."""

    def __init__(self) -> None:
        self.frames: list[CaptureFrame] = []
        self._n_byte = 0

    def add(self, frame: CaptureFrame) -> Dropped:
        """Store a frame. Return how many others were dropped because they came more than KEPT_NS before it,
        or because all take more than MOST_WAITING bytes: then every other one is kept.

        The frames that are kept span at least KEPT_NS as soon as so much time has passed, however slowly they
        come.
        """
        frames, n_old = self.frames, 0
        frames.append(frame)
        self._n_byte += _size(frame)
        while n_old + 1 < len(frames) and frame.arrived_ns - frames[n_old + 1].arrived_ns >= KEPT_NS:
            n_old += 1
        self._n_byte -= sum(map(_size, frames[:n_old]))
        del frames[:n_old]
        if self._n_byte > MOST_WAITING:
            self.put(frames[::2])
        return Dropped(n_old, len(frames) - len(self.frames))

    def put(self, frames: Iterable[CaptureFrame]) -> None:
        """Replace all frames by these."""
        self.frames = list(frames)
        self._n_byte = sum(map(_size, self.frames))

    def taken(self) -> list[CaptureFrame]:
        """Return all frames, which wait no longer."""
        frames = self.frames
        self.put(())
        return frames


def _size(frame: CaptureFrame) -> int:
    """Return the bytes of all arrays of a frame."""
    n_byte = frame.positions.nbytes + (0 if frame.unnamed is None else frame.unnamed.nbytes)
    return n_byte + (0 if frame.forces is None else sum(part.nbytes for part in frame.forces))
