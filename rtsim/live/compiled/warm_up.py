"""Compilation and a first call of everything that a run will call, before the first frame arrives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kernels.compiler.jit import freeze_compilation
from rtsim.live.result_session import ResultSession
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.stages.stage import Stage
from streams.codec import FieldLayout, encode
from streams.messages import Session
from streams.receiving.ring import ReceivedFrame

N_FRAME = 5


def warm_up(stages: Sequence[Stage], session: Session, data: Mapping[str, np.ndarray] | None = None) -> None:
    """Send a few synthetic frames through all stages and the encoder, discard the results, and forbid further
    compilation.

    session : descriptor of the input, which names the arrays of a frame and their shapes
    data : arrays by name, the same in every frame, for example marker positions; values that are not given
        are NaN
    """
    for stage in stages:
        stage.warm()
    course = ResultSession(stages, session, {})
    frame = ReceivedFrame(session, FieldLayout(session))
    for name, array in (data or {}).items():
        frame.data[name][...] = array
    for seq in range(N_FRAME):
        frame.time = 0.01 * (seq + 1)
        result = course.run(frame)
        encode(course.message(frame, result, seq, result.status))
    for stage in stages:
        stage.reset()
    freeze_compilation()


def neutral(estimator: MultibodyEstimator) -> dict[str, np.ndarray]:
    """Return the markers of a subject in the neutral pose, as the data of a frame."""
    estimator.estimate(np.full((len(estimator.model.names.markers), 3), np.nan), 0.0)
    return {"positions": estimator.outputs.markers.copy()}
