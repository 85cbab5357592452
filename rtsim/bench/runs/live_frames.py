"""Frames as `rtsim live` processes them, without the sockets: from the bytes of a marker message to those of
a result.

A trial is one session, as the player sends it: each message is decoded and checked, goes through the ring
buffer to the marker input, is solved with the settings of a live run (markers at fault left out), and its
fields are encoded. All of this is the code of the live loop. Sending, receiving and waking a thread are left
out; `rtsim bench latency` includes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.markers.trial import MarkerTrial
from rtsim.live.result_session import ResultSession
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.stage import Stage
from streams.clock import now_ns
from streams.codec import FieldLayout, encode
from streams.messages import Markers, Session, marker_session
from streams.receiving.intake import Intake
from streams.receiving.ring import Ring

STAGES = ("receive", "solve", "fields", "encode")
BACKLOG = 8


class LiveRows(NamedTuple):
    """Times and solver results of all frames in all repetitions, one row for each frame."""

    stages: NDArray[np.float64]
    """(n, 4) [us]: decode, check and hand over; marker input and solve; fields of the result; encode."""
    iterations: NDArray[np.float64]
    """(n,)"""
    residual: NDArray[np.float64]
    """(n,) [m]; NaN where nothing was solved."""
    rms: NDArray[np.float64]
    """(n,) - over the visible markers [m]; NaN without any."""
    status: NDArray[np.int64]
    """(n,)"""


def messages_of(trial: MarkerTrial) -> tuple[Session, list[list[bytes]]]:
    """Return the descriptor of the stream that a trial would be sent as (names of its markers, rate), and its
    frames as the bytes that a receiver would get.
    """
    session = marker_session(trial.names, rate=trial.rate, t_start=0)
    layout = FieldLayout(session)
    messages = [
        Markers(
            session=session.session, seq=seq, t_capture=seq, time=float(time),
            data=layout.pack({"positions": positions}),
        )
        for seq, (time, positions) in enumerate(zip(trial.times, trial.positions, strict=True))
    ]  # fmt: skip
    return session, [encode(message) for message in messages]


def live_rows(stages: Sequence[Stage], trial: MarkerTrial, seconds: float) -> LiveRows:
    """Solve the trial again and again for about `seconds` [s], at least once, and time the stages of each
    frame; each repetition begins with a fresh session and pose.

    stages : the stages of the live loop
    """
    session, messages = messages_of(trial)
    rows: list[tuple] = []
    end = perf_counter_ns() + int(1e9 * seconds)
    while not rows or perf_counter_ns() < end:
        ring = Ring(BACKLOG)
        intake = Intake("markers", ring)
        intake.accept(encode(session), now_ns())
        course = ResultSession(stages, session, {})
        rows += [one_frame(parts, seq, intake, ring, course) for seq, parts in enumerate(messages)]
    stages, iterations, residual, rms, status = zip(*rows, strict=True)
    return LiveRows(
        1e-3 * np.diff(np.array(stages)), np.array(iterations, np.float64), np.array(residual),
        np.array(rms), np.array(status, np.int64),
    )  # fmt: skip


def one_frame(
    parts: list[bytes], seq: int, intake: Intake, ring: Ring, course: ResultSession
) -> tuple[tuple[int, int, int, int, int], int, float, float, int]:
    """Process one frame as the live loop does, and time it. Return five stamps [ns], one before and one after
    each of the four steps (receive, solve, fields of the result, encode), and the iterations, residual,
    marker RMS and status.

    parts : the marker message; seq : number of the frame; intake, ring : decoder of messages and the queue
        behind it; course : the stages with the session of the results
    """
    begun = now_ns()
    intake.accept(parts, begun)
    frame = ring.pop(0.0)
    assert frame is not None, list(intake.events.sentences)
    received = now_ns()
    result = course.run(frame)
    message = course.message(frame, result, seq, result.status)
    encode(message)
    stamps = (begun, received, result.t_solved, message.t_published, now_ns())
    (kinematics, *_) = course.stages
    assert isinstance(kinematics, Kinematics)
    rms = float(kinematics.estimator.outputs.rms[0])
    return stamps, result.iterations, result.residual, rms, message.status
