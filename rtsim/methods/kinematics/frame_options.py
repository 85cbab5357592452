"""Settings of a run for solver and marker checks, converted to the records of numbers that the kernels of a
frame read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.markers.marker_health import HealthOptions
from kernels.markers.segment_filling import FillOptions
from kernels.solver.kkt import SolverOptions
from kernels.solver.track import TrackOptions
from rtsim.config.runs.run_schema import MarkerCheck, Solver
from rtsim.models.model import Model
from rtsim.subjects.calibration.trunk import TRUNK
from rtsim.subjects.subject import kind_of_segment

Array = NDArray[np.float64]

RATE_SMOOTHING_S, REST_S = 0.04, 0.15
"""Time constants of the smoothing of a segment's speed, and of the decay of a rotation that no marker shows
[s]."""
TRUNK_SLACK, FOOT_SLACK, OWN_SLACK = 3.0, 2.0, 3.0
"""Factors of the limits of the marker checks: shoulders move relative to the spine, toes relative to the
foot, and a model's own markers are not calibrated on the person."""
LEAST_MISFIT_M = 0.01
"""Smallest distance of markers from the model that is assumed when missing markers are filled in [m]."""


def track_options(solver: Solver) -> TrackOptions:
    """Return the kernel options for tracking the solution from frame to frame."""
    return TrackOptions(
        SolverOptions(solver.tolerance, solver.max_iterations, solver.max_step),
        1e-3 * solver.restart_rms_mm,
        solver.max_prediction_s,
        solver.restart_interval,
    )


def slack_of(model: Model) -> Array:
    """Return the factors (n_marker,) by which the limits of the marker checks are widened: above 1 for
    markers of feet and trunk, which are less rigid.
    """
    of_segment = {"foot": FOOT_SLACK, TRUNK: TRUNK_SLACK}
    bodies = [kind_of_segment(model.names.bodies[b]) if b >= 0 else "" for b in model.markers.body]
    return np.array([of_segment.get(kind, 1.0) for kind in bodies])


def health_options(check: MarkerCheck, slack: Array) -> HealthOptions:
    """Return the kernel options of the marker checks; slack : (n_marker,) factors by which limits are
    widened.
    """
    return HealthOptions(
        downweight=np.array([check.downweight], np.int64),
        floor=1e-3 * check.floor_mm,
        unknown=1e-3 * check.unknown_mm,
        agreement=1e-3 * check.agreement_mm,
        n_learn=check.n_learn,
        time_constant=check.time_constant_s,
        swap_distance=1e-3 * check.swap_distance_mm,
        stray_speed=check.stray_speed,
        relearn=check.relearn_s,
        slack=slack,
    )


def fill_options(check: MarkerCheck) -> FillOptions:
    """Return the kernel options for filling in markers that are missing for a short time, from the other
    markers of their segment.
    """
    return FillOptions(check.fill_s, RATE_SMOOTHING_S, REST_S, LEAST_MISFIT_M)
