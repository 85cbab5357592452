"""Force plates for a stream of markers: their sessions and samples, and the wrenches at the time of a marker
frame.

An input delivers the messages of a forces stream, and a stage requests the wrenches at the time of a marker
frame. If both senders state that they share the origin and pace of `time`, the streams are paired by it, else
by their clock times of capture.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from kernels.algebra.resampling import EARLY, GAP, WAITING
from rtsim.methods.plates.plate_intake import SLACK_S, PlateIntake, share_time
from streams.messages import Session
from streams.receiving.ring import ReceivedFrame

FloatArray = NDArray[np.float64]

NO_PLATES = -1
"""Status of a frame before any session of forces that can be used."""
FAULTS = {NO_PLATES: "forces_missing", WAITING: "forces_late", EARLY: "forces_early", GAP: "forces_gap"}
"""Status of a frame without wrenches -> what it is counted as."""
WORDS = {
    "forces_missing": "No stream of forces has arrived yet",
    "forces_late": "The forces of a frame of markers did not arrive in time, or the forces have stopped",
    "forces_early": "The forces begin later than the markers",
    "forces_gap": "Samples of the force plates are missing",
}


class ForceFeed:
    """Samples of force plates, kept until markers request them.

    session : descriptor of the newest session of forces, None before there is one
    n_session : number of sessions of forces so far
    intake : samples of the newest session
    """

    def __init__(self) -> None:
        self.session: Session | None = None
        self.intake: PlateIntake | None = None
        self.n_session = 0
        self._markers: Session | None = None
        self._by_time = False
        self._former: Counter[str] = Counter()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the plates; empty before they are known."""
        return self.intake.names if self.intake is not None else ()

    @property
    def paired(self) -> bool:
        """Whether it is known with which session of markers the forces are paired."""
        return self._markers is not None

    def turn_to(self, markers: Session) -> None:
        """Pair the force samples with the frames of this session of the marker stream from here on; nothing
        changes if it is the present one.

        If the descriptors of both streams then require another clock for the pairing, the stored samples are
        discarded.
        """
        if markers is not self._markers:
            self._markers = markers
            if self.session is not None and share_time(markers, self.session) != self._by_time:
                self._begin(self.session)

    def part(self) -> None:
        """End the pairing of the forces with the present session of markers. Until another session of markers
        begins, no wrenches can be requested.
        """
        self._markers = None

    def begin(self, session: Session) -> None:
        """Begin a session of forces; an equal session changes nothing."""
        if session is not self.session and session != self.session:
            self.n_session += 1
            self._begin(session)
        self.session = session

    def admit(self, message: ReceivedFrame) -> None:
        """Add the samples of a message of forces."""
        if message.session is not self.session:
            self.begin(message.session)
        assert self.intake is not None
        self.intake.admit(message.data, message.time, message.t_capture)

    def instant(self, frame: ReceivedFrame) -> float:
        """Convert the time of a marker frame to the clock of the samples [s]."""
        return (frame.time if self._by_time else 1e-9 * frame.t_capture) - SLACK_S

    def reaches(self, frame: ReceivedFrame) -> bool:
        """Return whether the frame need not wait for forces: a sample at or after its time has arrived, or
        the session of forces describes no plates."""
        if self.intake is None:
            return False
        return not self.intake.usable or self.intake.newest >= self.instant(frame)

    def take(self, frame: ReceivedFrame, force_out: FloatArray, moment_out: FloatArray) -> int:
        """Interpolate the wrenches (n_plate, 3) at a marker frame; NaN unless TAKEN is returned.

        The status NO_PLATES is returned if there are no plates, else the status of
        kernels.algebra.resampling.wrenches_at.
        """
        if self.intake is None or not self.intake.usable:
            force_out[...] = moment_out[...] = np.nan
            return NO_PLATES
        return self.intake.read(self.instant(frame), force_out, moment_out)

    def collect(self) -> tuple[Counter[str], list[str]]:
        """Return the counts of faulty messages and samples since the start, and the sentences for the user
        since the last call."""
        if self.intake is None:
            return self._former, []
        intake = self.intake
        told = [*intake.sentences, *intake.zero.sentences]
        intake.sentences, intake.zero.sentences = [], []
        return self._former + intake.counters, told

    def _begin(self, session: Session) -> None:
        before = self.intake
        if before is not None:
            self._former.update(before.counters)
        self._by_time = self._markers is not None and share_time(self._markers, session)
        self.intake = PlateIntake(session, self._by_time)
        if before is not None and session is self.session:  # the same plates by another clock
            self.intake.zero = before.zero
