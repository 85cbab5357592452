"""One frame from the door to the wire, in a paragraph."""

from __future__ import annotations

from typing import NamedTuple

from rtsim.methods.multibody import MultibodyEstimator, Solution
from rtsim.pipeline.door import Door
from rtsim.pipeline.fields import ResultFields, stick
from rtsim.subjects.subject import Subject
from streams.clock import now_ns
from streams.messages import Session, Status
from streams.ring import Frame

NO_SOLUTION = Solution(converged=False, iterations=0, residual=float("nan"), n_open=0, n_visible=0, n_swap=0)

LONGEST_STEP_S = 86_400.0
"""A clock that leaps by more between two frames has told nothing."""
SHORTEST_STEP_S = 1e-9
"""Nor has one that moves by less: a motion divided by that is no speed."""


class FrameResult(NamedTuple):
    """What one frame came to."""

    status: Status
    iterations: int
    residual: float
    t_solved: int
    data: dict[str, bytes]


class Pipeline:
    """Solves the frames of one marker session for one subject.

    Attributes
    ----------
    session : descriptor of the frames; its id alone would not do, as a sender may use one twice
    """

    def __init__(
        self,
        estimator: MultibodyEstimator,
        subject: Subject,
        session: Session,
        meta: dict,
        t_start: int,
        door: Door | None = None,
    ) -> None:
        self.estimator = estimator
        self.door = door or Door(subject, session)
        described = {
            **meta,
            "stick": stick(estimator.model.names.bodies),
            "subject": subject.name,
            "side": subject.side,
        }
        self.fields = ResultFields(estimator, self.door, described, session.rate, t_start)
        self.session = session
        self._time = float("nan")

    def run(self, frame: Frame) -> FrameResult:
        """Estimate one frame; never raises for bad data, the status says what is wrong with it."""
        dt = frame.time - self._time
        self._time = frame.time
        measured, plausible = self.door.admit(frame.data)
        dt = dt if SHORTEST_STEP_S <= dt < LONGEST_STEP_S else 0.0
        solution = self.estimator.estimate(measured, dt) if plausible else NO_SOLUTION
        if solution.n_failed_path:
            self._name_failed_paths()
        t_solved = now_ns()
        data = self.fields.fill(self.estimator)
        return FrameResult(
            status_of(solution, plausible), solution.iterations, solution.residual, t_solved, data
        )

    def _name_failed_paths(self) -> None:
        """Count the frame among those with a muscle that has no length."""
        assert self.estimator.muscles is not None
        failed = [f"{name} ({why})" for name, why in self.estimator.muscles.failures()]
        self.door.count(
            "failed_paths",
            f"No length and no moment arms in this pose: {', '.join(failed[:8])}. They are NaN; "
            "check the muscle's path in the model, and the subject's size.",
        )


def status_of(solution: Solution, plausible: bool) -> Status:
    """Status bits of a frame, before the loop adds those of time."""
    if not plausible:
        return Status.INVALID_INPUT
    status = Status.OK
    if solution.n_open > 0 or solution.n_visible == 0:
        status |= Status.DEGRADED
    if not solution.converged:
        status |= Status.NOT_CONVERGED
    return status
