"""Messages about a system that answers but sends no frames, or only frames in which no marker is seen."""

from __future__ import annotations

import numpy as np

from streams.capture.records import FloatArray
from streams.capture.system import CaptureSystem
from streams.clock import now_ns

QUIET_NS = 3_000_000_000
"""Time without a frame, or without a marker in any, after which this is reported [ns]."""


class Silence:
    """Detects that a capture system has sent no frames, or only frames without a visible marker, for three
    seconds. Each of the two is reported once until it is over.

    Parameters
    ----------
    text : address of the system, as it is shown to the user
    system : the capture system; each message ends with one of its questions to the user, such as whether the
        capture is running
    """

    def __init__(self, text: str, system: CaptureSystem) -> None:
        self._text, self._system = text, system
        self.connected()

    def connected(self) -> None:
        """Start to count the time without frames, at the beginning of a connection."""
        self._frame_ns, self._unseen_ns = now_ns(), 0
        self._told = self._told_unseen = False

    def frame(self, arrived_ns: int) -> None:
        """Note that a frame has arrived."""
        self._frame_ns, self._told = arrived_ns, False

    def markers(self, positions: FloatArray) -> None:
        """Note the markers (n_marker, 3) of the frame that has arrived; NaN = not seen."""
        if np.isfinite(positions).any():
            self._unseen_ns, self._told_unseen = 0, False
        elif not self._unseen_ns:
            self._unseen_ns = self._frame_ns

    def sentence(self) -> str:
        """Return a message on silence if one is due, else ""."""
        if not self._told and now_ns() - self._frame_ns > QUIET_NS:
            self._told = True
            return f"{self._text} answers, but sends no usable frames; {self._system.silence}"
        if self._unseen_ns and not self._told_unseen and self._frame_ns - self._unseen_ns > QUIET_NS:
            self._told_unseen = True
            return (
                f"{self._text} sends frames in which no marker has a position: is somebody in the volume, "
                f"and {self._system.unseen}"
            )
        return ""
