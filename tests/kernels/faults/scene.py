"""Two segments, known for long, and where their markers are expected."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.faults.finding import find_faults
from kernels.markers.marker_cost import ModelMarkers
from kernels.markers.marker_health import Health, new_health, visibility
from kernels.markers.segment_filling import FillOptions, Segments, new_segments
from kernels.solver.frame import FrameOptions
from kernels.solver.initial_pose import BodyFitWork, new_fit_work
from rtsim.config.runs.run_schema import MarkerCheck, Solver
from rtsim.methods.kinematics.frame_options import health_options, track_options

Array = NDArray[np.floating]
DT, N_MARKER = 0.01, 8
BODY = np.array([0, 0, 0, 0, 0, 1, 1, 1])
OPTIONS = FrameOptions(
    track_options(Solver()),
    health_options(MarkerCheck(), np.ones(N_MARKER)),
    FillOptions(1.0, 0.04, 0.15, 0.01),
)
LOCAL = np.array(
    [
        [0.10, 0.02, 0.0], [-0.10, 0.0, 0.05], [0.02, 0.15, -0.04], [0.0, -0.12, 0.07], [0.06, 0.1, 0.09],
        [0.0, 0.2, 0.0], [0.05, -0.1, 0.0], [-0.06, -0.12, 0.03],
    ]
)  # fmt: skip


class Scene(NamedTuple):
    """A segment with five markers and one with three, known for long, somewhere in ground."""

    markers: ModelMarkers
    health: Health
    segments: Segments
    fit: BodyFitWork
    truth: Array  # (8, 3) m

    def judge(self, measured: Array) -> int:
        """Look for faults in a frame."""
        visibility(measured, DT, self.health)
        return find_faults(self.markers, measured, DT, OPTIONS, self.health, self.segments, self.fit)


def new_scene() -> Scene:
    """The segments as they were expected."""
    rng = np.random.default_rng(5)
    turns, health, segments = Rotation.random(2, rng), new_health(N_MARKER), new_segments(2, N_MARKER)
    segments.rotation[:] = turns.as_matrix()
    truth = np.einsum("mij,mj->mi", segments.rotation[BODY], LOCAL) + rng.normal(size=(2, 3))[BODY]
    health.n_seen[:] = 100
    health.expected[:] = truth
    return Scene(ModelMarkers(BODY.copy(), LOCAL), health, segments, new_fit_work(), truth)
