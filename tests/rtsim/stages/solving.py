"""Markers in, quantities out: kinematics and muscles over one session, without sockets."""

from __future__ import annotations

from typing import NamedTuple

from rtsim.config.models.model_schema import ModelSpec
from rtsim.live.result_session import ResultSession
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.muscles import MuscleLengths
from rtsim.subjects.subject import Subject
from streams.messages import Result, Session, Status
from streams.receiving.ring import ReceivedFrame


class Solved(NamedTuple):
    """What a frame came to, and its message."""

    status: Status
    iterations: int
    residual: float
    t_solved: int
    message: Result

    @property
    def data(self) -> dict[str, bytes]:
        return self.message.data


class Solving(ResultSession):
    """A course whose every frame is told at once."""

    def __init__(
        self, spec: ModelSpec, estimator: MultibodyEstimator, subject: Subject, session: Session
    ) -> None:
        self.kinematics = Kinematics(estimator, subject)
        stages = [self.kinematics]
        self.muscles = MuscleLengths(self.kinematics) if spec.muscles else None
        if self.muscles:
            stages.append(self.muscles)
        super().__init__(stages, session, {"model": spec.name})

    def solve(self, frame: ReceivedFrame) -> Solved:
        result = self.run(frame)
        message = self.message(frame, result, frame.seq, result.status)
        return Solved(result.status, result.iterations, result.residual, result.t_solved, message)

    @property
    def marker_input(self):
        return self.kinematics.marker_input
