"""Compile and warm everything a run will call, before the first frame arrives."""

from __future__ import annotations

import numpy as np

from kernels._jit import freeze_compilation
from kernels.intake import take_in
from rtsim.methods.multibody import MultibodyEstimator

N_FRAME = 3


def warm_up(estimator: MultibodyEstimator) -> None:
    """Run every method on a few made-up frames, forget them, and forbid further compilation.

    The frames are the subject's own markers in the neutral pose, with one of them occluded at the end.
    """
    chosen = estimator.method
    for method in estimator.methods:
        estimator.switch(method)
        estimator.estimate(np.full((len(estimator.packed.marker_names), 3), np.nan), 0.0)
        frame = np.ascontiguousarray(estimator.outputs.markers.copy())
        for k in range(N_FRAME):
            if k == N_FRAME - 1:
                frame[0] = np.nan
            estimator.estimate(frame, 0.01)
        estimator.restart()
    take_in(frame, np.zeros(len(frame), np.int64), 1.0, 0, 0, 1, 1, np.zeros_like(frame))
    estimator.switch(chosen)
    estimator.restart()
    freeze_compilation()
