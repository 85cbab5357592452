"""Check whether the markers of a live stream belong to the subject, after the first second.

A recording is checked before its first frame (rtsim/subjects/markers/fit.py).

The contents of a stream never end a run, as its first labels may be wrong for a while. So frames that cannot
be the subject's are flagged `suspect` and reported with the next telemetry. The check is repeated after 2, 4,
8 and more seconds, at most a minute, until the markers fit. After that they are only checked again after a
discontinuity (rtsim/stages/markers/identity.py). A short gap of all markers does not delay a check. But as
they may be another person's after it, markers that fit are then checked again, at least every 8 seconds.
Labels may be put right behind such a gap, too. So while markers are refused, a gap restarts the check, except
that no further gap does before the next result; where gaps go on, it is repeated every 8 seconds at least.

In deep flexion the skin moves the markers of pelvis and thighs by centimetres. Eleven trials of persons with
their own static trials were cut into parts of one second: all ten parts that the check would refuse were of
squatting and sitting. So frames are checked in which hips and knees are bent by less than 60 degrees. If
there is none for three times the usual waiting time, other frames are checked. They are refused only for what
skin cannot cause: exchanged labels, a mirror image, or distances that are far off.

The check takes 10 to 30 ms. If something is implausible, a search for exchanged labels takes up to a second,
far longer than a frame. So a separate thread checks copies of some frames. It delays frames by the
interpreter's lock, by a few milliseconds at most.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtsim.models.tracked import tracked_of
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.stage import FINE, Stage, StageOutcome
from rtsim.subjects.markers.fit import (
    FARTHEST,
    LARGEST_MISFIT,
    SubjectFit,
    fault_of,
    fit_of_tracks,
    searched_fit,
    seen,
    sentences,
)
from rtsim.units import DEGREES
from streams.account import plain
from streams.messages import Session, Status
from streams.receiving.ring import ReceivedFrame

Array = NDArray[np.float64]

FIRST_NS, LONGEST_NS = 1_000_000_000, 60_000_000_000
"""Waiting time before the first check, and longest waiting time before a later one [ns]."""
N_FRAME = 40
"""Number of frames that are checked, spread evenly over the waiting time: as many as the search for exchanged
labels uses."""
FEWEST_FRAMES, FEWEST_MARKERS = 5, 4
"""Least number of frames of a check, and of visible markers in each: four have six distances, with fewer of
which nobody is compared (rtsim/subjects/markers/fit.py)."""
LONGEST_BEHIND_GAP_NS = 8_000_000_000
"""Longest waiting time before the next check of markers, if there was a gap before the last result [ns]."""
STRAIGHT = 60.0 / DEGREES
"""Flexion of hips and knees below which the frame counts as one with straight legs [rad]."""
FLEXIONS = ("hip_flexion", "knee_flexion")
PATIENCE = 3
"""Multiple of the waiting time after which frames with bent legs are checked, if there are no others."""
DOUBT = StageOutcome(Status.SUSPECT)


@dataclass
class _Judgement:
    """Result of the thread that checks whether markers fit the subject.

    straight : whether the legs were straight in the checked frames
    fit : agreement of markers and subject; None if there were too few markers
    over : whether the thread has finished; thread : the thread
    """

    straight: bool
    fit: SubjectFit | None = None
    over: bool = False
    thread: threading.Thread | None = None


class _Frames:
    """Frames of markers, sampled evenly over a waiting time.

    Attributes
    ----------
    kept : (N_FRAME, n_marker, 3) [m], the first n in use
    """

    def __init__(self, n_marker: int) -> None:
        self.kept, self.n, self._due = np.full((N_FRAME, n_marker, 3), np.nan), 0, 0

    def keep(self, measured: Array, now: int, wait: int) -> None:
        """Store the markers of a frame (n_marker, 3) [m] if enough time has passed since the last stored one.

        now : time of the frame; wait : time over which the stored frames are spread [ns]
        """
        if self.n < N_FRAME and now >= self._due:
            self.kept[self.n] = measured
            self.n, self._due = self.n + 1, now + wait // N_FRAME

    def forget(self) -> None:
        self.n = self._due = 0


class LiveSubjectCheck(Stage):
    """Check whether the markers of a stream belong to the subject, by the distances between them.

    Parameters
    ----------
    kinematics : the kinematics, whose marker input has put the markers into the order of the subject or the
        model
    where : the stream's address

    Attributes
    ----------
    tracked : the person or model expected in the stream
    refused : why the markers of the present session cannot be the subject's, in words; empty if they can, or
        are not checked yet
    unsettled : the same reason from the newest check with a result; unlike `refused`, it is not emptied when
        a new session begins
    """

    def __init__(self, kinematics: Kinematics, where: str) -> None:
        super().__init__()
        self.refused = self.unsettled = ""
        self._known, self._n_break, self._n_gap = False, 0, 0
        self._has_gap = self._hastened = False
        self._noted: set[str] = set()
        self._judged: _Judgement | None = None
        self._began, self._wait = 0, FIRST_NS
        self._kinematics, self._where = kinematics, where
        self.tracked = tracked = tracked_of(kinematics.estimator.model, kinematics.subject)
        self._straight, self._bent = _Frames(len(tracked.names)), _Frames(len(tracked.names))
        self._misfit_mm = np.nan

    def reset(self) -> None:
        """Discard the stream and the results of its checks."""
        super().reset()
        self._forget()

    def begin(self, session: Session, anew: bool) -> None:
        """In a new session of the input stream (anew), restart the check, as the stream may show another
        person."""
        if anew:
            self._forget()

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Store some of the frames, and report the results of their check."""
        self.n_frame += 1
        self._heed_breaks()
        if not self._known:
            self._follow(frame.t_received)
        if not self.refused:
            return FINE
        self._kinematics.by_joint.doubt()
        return DOUBT

    def gauges(self) -> dict[str, float]:
        """Return as a gauge for the telemetry how much the distances between markers differ from those of the
        subject [mm]; {} before the first check.
        """
        return {} if np.isnan(self._misfit_mm) else {"subject_misfit_mm": self._misfit_mm}

    def _heed_breaks(self) -> None:
        """Restart the check after a discontinuity, as who was known may be another one now. A short gap
        restarts it only if it had finished, or once while the markers are refused, as a stream with many gaps
        would never be checked otherwise.
        """
        identity = self._kinematics.identity
        broken, gap = identity.n_break != self._n_break, identity.n_gap != self._n_gap
        self._n_break, self._n_gap = identity.n_break, identity.n_gap
        if broken:
            self._noted.clear()
        hasten = gap and bool(self.refused) and not self._hastened
        if broken or hasten or (gap and self._known):
            self._restart()
            self._hastened = hasten
        elif gap:
            self._has_gap = True

    def _follow(self, now: int) -> None:
        if self._judged is not None:
            if self._is_due(self._judged):
                self.n_awaited += 1
                self._conclude(self._judged)
                self._judged = None
            return
        if not self._kinematics.admitted:
            return
        marker_input = self._kinematics.marker_input
        assert marker_input is not None
        if np.count_nonzero(np.isfinite(marker_input.measured[:, 0])) < FEWEST_MARKERS:
            return  # nobody is there, or too little is seen of anybody
        self._began = self._began or now
        frames = self._straight if self._is_straight() else self._bent
        frames.keep(marker_input.measured, now, self._wait)
        waited = now - self._began
        if waited >= self._wait and self._straight.n >= FEWEST_FRAMES:
            self._judge(self._straight, straight=True)
        elif waited >= PATIENCE * self._wait and self._bent.n >= FEWEST_FRAMES:
            self._judge(self._bent, straight=False)

    def _is_due(self, judged: _Judgement) -> bool:
        """Return whether the result of the checking thread can be used now: as soon as the thread has
        finished; in a replay at the frame at which the recorded run used it.
        """
        if self.awaited is None:
            return judged.over
        if self.n_awaited >= self.awaited():
            return False
        assert judged.thread is not None
        judged.thread.join()
        return True

    def _is_straight(self) -> bool:
        """Return whether no hip and no knee is bent by much in the present frame."""
        model, outputs = self._kinematics.estimator.model, self._kinematics.estimator.outputs
        return not any(
            model.joint_signs[j, 0] * outputs.angles[j, 0] > STRAIGHT
            for j, name in enumerate(model.names.joint_angles[::3])
            if name.startswith(FLEXIONS)
        )

    def _judge(self, frames: _Frames, *, straight: bool) -> None:
        """Start a thread that checks by a copy of the stored frames whether the markers fit the subject;
        straight : whether the legs were straight in these frames
        """
        judged, positions = _Judgement(straight), frames.kept[: frames.n].copy()
        self._judged = judged
        self._rest()

        def look() -> None:
            tracks = {name: x for k, name in enumerate(self.tracked.names) if seen(x := positions[:, k])}
            fit = fit_of_tracks(self.tracked.ruler, tracks)
            if fit is not None and (fit.moved or fit.misfit > LARGEST_MISFIT):
                fit = searched_fit(self.tracked.ruler, tracks, {})
            judged.fit = fit
            judged.over = True

        judged.thread = threading.Thread(target=look, name="subject check", daemon=True)
        judged.thread.start()

    def _rest(self) -> None:
        """Begin a new waiting time, after which the markers are checked again."""
        self._began = 0
        self._straight.forget()
        self._bent.forget()

    def _conclude(self, judged: _Judgement) -> None:
        """Report the result of a finished check of the markers, and store whether they are refused; nothing
        if there were too few markers.
        """
        has_gap, self._has_gap = self._has_gap, False
        self._hastened &= has_gap  # a gap restarts the check again, unless gaps follow each other closely
        fit = judged.fit
        if fit is None:
            return
        self._wait = min(2 * self._wait, LONGEST_BEHIND_GAP_NS if has_gap else LONGEST_NS)
        self._misfit_mm = 1e3 * fit.misfit
        fault = fault_of(fit, self.tracked.title, self._where, sized=self.tracked.is_person)
        sure = judged.straight or fit.exchanged or fit.mirrored or fit.misfit > FARTHEST
        if fault is not None and not sure:
            return
        if fault is not None:
            said = f"{fault.what}; the frames are suspect until the markers fit"
            if fault.what != self.refused:
                self.sentences.append(plain(f"{self._where}: {said}."))
            self.refused = self.unsettled = fault.what
            return
        if not judged.straight:
            return
        title = self.tracked.title
        told = [*([f"the markers fit {title} now"] if self.refused else []), *self._new_notes(fit, title)]
        self.sentences += [plain(f"{self._where}: {sentence}.") for sentence in told]
        self.refused, self.unsettled, self._known = "", "", not has_gap

    def _new_notes(self, fit: SubjectFit, title: str) -> list[str]:
        """Return the notes on markers that fit, without those that were told since the last discontinuity,
        even if with other numbers.
        """
        notes = {re.sub(r"\d+ mm", "", note): note for note in sentences(fit, title)}
        new = [note for kind, note in notes.items() if kind not in self._noted]
        self._noted |= notes.keys()
        return new

    def _restart(self) -> None:
        """Begin the check of possibly another person; ignore a thread that is still checking the last one."""
        self._known, self._judged, self._wait = False, None, FIRST_NS
        self._has_gap = self._hastened = False
        self._rest()

    def _forget(self) -> None:
        """Discard all that is known of the stream."""
        self.refused, self._misfit_mm = "", np.nan
        self._noted.clear()
        self._restart()
