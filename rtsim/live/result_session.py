"""A result session: the stages of a run applied to the frames of one input session, and their results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rtsim.quantity import Fields, Quantity
from rtsim.stages.building.package_stage import PackageStage, misfit
from rtsim.stages.stage import FINE, Stage
from streams.account import bounded, plain
from streams.clock import now_ns
from streams.messages import Result, Session, Status, speed_of
from streams.receiving.ring import ReceivedFrame


class FrameResult(NamedTuple):
    """The results of all stages for one frame.

    told : whether the result is to be published
    t_solved : time when the last stage finished [ns]
    failure : reason why the run cannot continue; "" = none
    """

    status: Status
    iterations: int
    residual: float
    told: bool
    t_solved: int
    failure: str


class StagePart(NamedTuple):
    """What a stage adds to the descriptor of the results."""

    quantities: list[Quantity]
    meta: Mapping[str, Any]


class ResultSession:
    """The stages of a run, applied to one session of the input, and the results that they publish. A new one
    begins when a command changes the published fields.

    Attributes
    ----------
    session : descriptor of the input; its id alone does not identify it, as a sender may use an id twice
    fields : fields of the results
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        session: Session,
        meta: Mapping[str, Any],
        t_start: int = 0,
        anew: bool = True,
    ) -> None:
        self.stages, self.session = stages, session
        parts = []
        for stage in stages:
            stage.begin(session, anew)
            parts.append(StagePart(stage.quantities(), stage.meta()))
        quantities, described = joined(fitting(stages, parts, session, meta), session, meta)
        self.fields = Fields(quantities, session.rate, t_start, described)

    def run(self, frame: ReceivedFrame) -> FrameResult:
        """Pass one frame through all stages; never raises for bad data, which the status reports."""
        status, iterations, residual, told, failure = Status.OK, 0, math.nan, True, ""
        for stage in self.stages:
            outcome = stage.run(frame)
            if outcome is FINE:
                continue
            if outcome.status is not Status.OK:  # to join two flags takes microseconds
                status |= outcome.status
            iterations += outcome.iterations
            told = told and outcome.told
            if outcome.residual == outcome.residual:
                residual = outcome.residual
            if outcome.failure:
                failure = outcome.failure
                break
        return FrameResult(
            status=status,
            iterations=iterations,
            residual=residual,
            told=told,
            t_solved=now_ns(),
            failure=failure,
        )

    def message(self, frame: ReceivedFrame, result: FrameResult, seq: int, status: Status) -> Result:
        """Return the message with the result of a frame; its time of publication is the present time."""
        for stage in self.stages:
            stage.report()
        return Result(
            session=self.fields.session.session,
            seq=seq,
            time=frame.time,
            t_capture=frame.t_capture,
            t_received=frame.t_received,
            t_solved=result.t_solved,
            status=int(status),
            iterations=result.iterations,
            residual=result.residual,
            data=self.fields.data(),
            t_published=now_ns(),  # last: what follows is encoding and sending
        )


def fitting(
    stages: Sequence[Stage], parts: Sequence[StagePart], session: Session, meta: Mapping[str, Any]
) -> list[StagePart]:
    """Return the parts of all stages, empty for each stage of another package whose part does not fit into
    one descriptor with the others: it uses a name twice, or there are too many fields. The stage tells it.

    The run's own stages come first, so that no package can take a name from them.
    """
    guards = {k: stage for k, stage in enumerate(stages) if isinstance(stage, PackageStage)}
    kept = [StagePart([], {}) if k in guards else part for k, part in enumerate(parts)]
    for k, guard in guards.items():
        tried = [*kept[:k], parts[k], *kept[k + 1 :]]
        if why := misfit(*joined(tried, session, meta)):
            guard.leave_out(why)
        else:
            kept = tried
    return kept


def joined(
    parts: Sequence[StagePart], session: Session, meta: Mapping[str, Any]
) -> tuple[list[Quantity], dict[str, Any]]:
    """Return the quantities of all parts, and the metadata of the run with theirs and those of its input."""
    quantities: list[Quantity] = []
    described, notes = dict(meta), list(meta.get("notes", ()))
    for part in parts:
        quantities += part.quantities
        described |= part.meta
        notes += part.meta.get("notes", ())
    if isinstance(name := session.meta.get("subject_name"), str) and name:
        described.setdefault("subject_name", plain(name))
    if (speed := speed_of(session)) != 1.0:
        described["speed"] = speed  # the rate is that of the stream, the times are those of the trial
    described["notes"] = bounded([*notes, *bounded(session.meta.get("notes"))])
    return quantities, described
