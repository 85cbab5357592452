"""Compile and warm everything a run will call, before the first frame arrives."""

from __future__ import annotations

import numpy as np

from kernels._jit import freeze_compilation
from rtsim.methods.multibody import MultibodyEstimator
from rtsim.pipeline.pipeline import Pipeline
from rtsim.subjects.subject import Subject
from streams.codec import FieldLayout, encode
from streams.messages import Result, marker_session
from streams.ring import Frame

N_FRAME = 5


def warm_up(estimator: MultibodyEstimator, subject: Subject) -> None:
    """Send a few made-up frames through every method and down to bytes, forget them, and forbid further
    compilation.

    The frames are the subject's own markers in the neutral pose, with one of them occluded at the end.
    """
    chosen = estimator.method
    for method in estimator.methods:
        estimator.switch(method)
        estimator.estimate(np.full((len(estimator.model.names.markers), 3), np.nan), 0.0)
        markers = estimator.outputs.markers.copy()
        estimator.restart()
        for k in range(N_FRAME):
            if k == N_FRAME - 1:
                markers[0] = np.nan
            estimator.estimate(markers, 0.01)
    estimator.switch(chosen)
    estimator.restart()
    through_pipeline(estimator, subject, markers)
    estimator.restart()
    freeze_compilation()


def through_pipeline(estimator: MultibodyEstimator, subject: Subject, markers: np.ndarray) -> None:
    """A few frames from the door to the bytes of a message."""
    session = marker_session(subject.marker_names, rate=100.0, t_start=0)
    pipeline = Pipeline(estimator, subject, session, {}, 0)
    frame = Frame(session, FieldLayout(session))
    frame.data["positions"][:] = markers
    for seq in range(N_FRAME):
        frame.time = 0.01 * seq
        result = pipeline.run(frame)
        encode(
            Result(
                session=session.session,
                seq=seq,
                time=frame.time,
                t_capture=0,
                t_received=0,
                t_solved=result.t_solved,
                t_published=result.t_solved,
                status=int(result.status),
                iterations=result.iterations,
                residual=result.residual,
                data=result.data,
            )
        )
