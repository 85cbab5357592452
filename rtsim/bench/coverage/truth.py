"""The true motion of a synthetic walker, whose knee obeys the knee model of one of the estimator's methods
(such as isometric ligaments), and the estimates by this method from markers that skin motion displaces.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.bench.coverage.numbers import CoverageNumbers
from rtsim.methods.kinematics.multibody import MultibodyEstimator

Array = NDArray[np.float64]

N_ROUND = 6
"""Number of rounds in which a method solves its own markers, so that soft elements change the truth less."""


class Truth(NamedTuple):
    """The true values of every frame of a random walker.

    numbers : (n_frame, n_output) - the tested numbers in the order of bench/coverage/numbers: angles [rad],
        then others [m, 1, rad/s, ...]
    markers : (n_frame, n_marker, 3) - in ground [m]; rotations : (n_frame, n_marker, 3, 3) - rotations of
        the bodies of the markers
    """

    numbers: Array
    markers: Array
    rotations: Array


class Told(NamedTuple):
    """Estimates and standard deviations by one of the estimator's methods (knee models) for every frame; NaN
    where a frame was not solved.

    numbers, deviations : (n_frame, n_output), in the order of Truth; the first n_angle are angles
    uncertain : (n_frame,) - whether the frame is flagged for an uncertain angle
    """

    numbers: Array
    deviations: Array
    uncertain: NDArray[np.bool_]
    n_angle: int


def truth_of(estimator: MultibodyEstimator, positions: Array, dt: float) -> Truth:
    """Fit the joint model of the estimator's current method to marker positions. Return the fitted poses as
    the truth, with markers that agree with them exactly.

    positions : (n_frame, n_marker, 3) - in ground [m]; dt : time between frames [s]
    """
    markers, body = positions, estimator.model.markers.body
    numbers: list[Array] = []
    rotations: list[Array] = []
    for _ in range(N_ROUND):
        estimator.restart()
        numbers, rotations, found, of_frames = [], [], [], CoverageNumbers(estimator, 1.0 / dt)
        for frame in markers:
            estimator.estimate(np.ascontiguousarray(frame), dt)
            numbers.append(of_frames.take())
            rotations.append(estimator.pose[1][body])
            found.append(estimator.outputs.markers.copy())
        markers = np.array(found)
    return Truth(np.array(numbers), markers, np.array(rotations))


def tell(estimator: MultibodyEstimator, measured: Array, dt: float) -> Told:
    """Estimate all frames by the estimator's current method, beginning without any previous pose; return the
    tested numbers with their standard deviations.

    measured : (n_frame, n_marker, 3) - marker positions [m]; dt : time between frames [s]
    """
    estimator.restart()
    numbers, deviations, uncertain = [], [], []
    found, of_frames = estimator.deviations, CoverageNumbers(estimator, 1.0 / dt)
    assert found is not None
    for frame in measured:
        solution = estimator.estimate(np.ascontiguousarray(frame), dt)
        estimator.deviate(dt, solution)
        numbers.append(of_frames.take())
        deviations.append(of_frames.deviations())
        uncertain.append(bool(found.uncertain.any()))
    return Told(np.array(numbers), np.array(deviations), np.array(uncertain), found.angles.size)
