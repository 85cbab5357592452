"""Variance of each marker's error: the noise of its measurement, and the error of the model at this marker.

Noise is taken as white, with the variance sigma^2. It is estimated from the second difference of a marker's
residual over three frames, which has the variance 6 sigma^2 and to which neither a constant offset nor slowly
moving skin contributes. The error of the model is the lasting part: soft tissue artefact, a marker that is
not at its position, a joint that differs from the model's. As the pose follows the markers, residuals show
only a part of this error: it is never taken to be smaller than what was published for the segment, and larger
if the residuals are larger (docs/uncertainty.md). The part that all markers of a segment share is treated
separately (kernels/uncertainty/gradient_errors), as residuals cannot show it, whatever its size.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.compiler.jit import njit
from kernels.markers.marker_health import is_known, is_seen, is_wrong
from kernels.uncertainty.gradient_errors import SkinMotion
from kernels.uncertainty.reliability_bound import Ranges, new_ranges

N_DIFFERENCE = 3
"""Successive frames that a second difference needs."""
N_DEPARTURE = 3
"""Number of ways in which a marker can depart from what is usual (kernels/uncertainty/variance_inflation)."""
LEARN_NOISE = 0.01
"""Weight of a new frame in the running variance, after the first hundred [1]."""


class ErrorBounds(NamedTuple):
    """Stated bounds of the errors of markers, noise and error of the model, as standard deviations along each
    axis.
    """

    least_noise: float  # [m]
    most_noise: float  # [m]
    own: np.ndarray  # (n_marker,) - smallest error of the model of each marker alone [m]
    most_own: np.ndarray  # (n_marker,) - largest that residuals can make it [m]
    size: np.ndarray  # (n_marker,) - soft tissue artefact, own and shared together [m]
    skin: SkinMotion  # soft tissue artefact that the markers of a segment share


class MarkerErrors(NamedTuple):
    """Estimated errors of each marker (noise, error of the model), and the statistics from which they
    follow.
    """

    last: Annotated[np.ndarray, Floats("n_marker", 3)]  # residual of the last frame, in the body frame [m]
    before: Annotated[np.ndarray, Floats("n_marker", 3)]  # of the frame before it
    n_row: Annotated[np.ndarray, Integers("n_marker")]  # successive frames in which it was seen
    n_learnt: Annotated[np.ndarray, Integers("n_marker")]  # second differences so far
    # running variance of the noise along an axis, of which residuals show a part
    square: Annotated[np.ndarray, Floats("n_marker")]
    # of noise and own error of the model together, along an axis [m^2]
    variance: Annotated[np.ndarray, Floats("n_marker")]
    noise: Annotated[np.ndarray, Floats("n_marker")]  # part of the noise in that [m^2]
    # how far its residual is from that of the last frame, 0 = not known [m]
    step: Annotated[np.ndarray, Floats("n_marker")]
    usual: Annotated[np.ndarray, Floats("n_marker", N_DEPARTURE)]  # mean squares of its departures [m^2]
    ranges: Ranges  # of residuals so far


def new_marker_errors(n_marker: int) -> MarkerErrors:
    """Allocate the MarkerErrors of n_marker markers before their first frame."""
    return allocate(MarkerErrors, n_marker=n_marker, ranges=new_ranges(n_marker))


@njit
def learn_noise(markers, pose, model, options, health, errors):
    """Update the estimated noise of every marker with full weight in a solved frame.

    The noise is found from the second difference of the marker's residual, in the axes of its body, over
    three successive frames in which it was seen with full weight. After a frame in which the marker was at
    fault, or was not seen with full weight, these three frames are counted anew.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    model : (n_marker, 3) - model markers in ground [m]
    options : HealthOptions - settings of the checks of single markers
    health : Health - its labelled, weight and fault of this frame are read
    errors : MarkerErrors - statistics of each marker over the last frames, written
    """
    measured = health.labelled
    for m in range(measured.shape[0]):
        errors.step[m] = 0.0
        if not is_seen(measured, m) or health.weight[m] < 1.0:
            errors.n_row[m] = 0
            continue
        b, total, step = markers.body[m], 0.0, 0.0
        for i in range(3):
            r = 0.0
            for k in range(3):
                r += pose.rotation[b, k, i] * (measured[m, k] - model[m, k])
            total += (r - 2.0 * errors.last[m, i] + errors.before[m, i]) ** 2
            step += (r - errors.last[m, i]) ** 2
            errors.before[m, i] = errors.last[m, i]
            errors.last[m, i] = r
        errors.step[m] = math.sqrt(step) if errors.n_row[m] > 0 else 0.0
        errors.n_row[m] = 0 if is_wrong(m, options, health) else errors.n_row[m] + 1
        if errors.n_row[m] >= N_DIFFERENCE:
            errors.n_learnt[m] += 1
            rate = max(LEARN_NOISE, 1.0 / errors.n_learnt[m])
            errors.square[m] += rate * (total / 18.0 - errors.square[m])


@njit
def marker_variances(markers, n_free, bounds, options, health, errors):
    """Write two variances of each marker's position along one axis: that of its noise, and that of its noise
    plus its own part of the error of the model, which it does not share with other markers.

    Return (3 n - n_free) / (3 n): the fraction of the squared errors of n visible markers that appears in
    their residuals, as the pose fits n_free dofs to these errors.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    n_free : int - number of dofs that the markers determine
    bounds : ErrorBounds - bounds of the errors of markers, as standard deviations
    options : HealthOptions - settings of the checks of single markers
    health : Health - state of each marker, kept from frame to frame
    errors : MarkerErrors - its noise and variance (of noise and own error together) [m^2] are written
    """
    n = 0
    for m in range(markers.body.shape[0]):
        n += int(health.weight[m] > 0.0)
    shown = max(3.0 * n - n_free, 1.0) / max(3.0 * n, 1.0)
    for m in range(markers.body.shape[0]):
        noise = errors.square[m] / shown
        noise = min(max(noise, bounds.least_noise**2), bounds.most_noise**2)
        own = 0.0
        if is_known(m, options, health) or (health.n_seen[m] > 0 and is_short(markers, m, health)):
            for i in range(3):
                own += health.mean[m, i] ** 2 / (3.0 * shown)
        own = min(max(own, bounds.own[m] ** 2), bounds.most_own[m] ** 2)
        errors.noise[m] = noise
        errors.variance[m] = noise + own
    return shown


@njit
def is_short(markers, m, health):
    """Return whether the segment of marker m has fewer markers than in the calibration: one of them has never
    been visible.

    The pose then depends more on the error of each of the other markers. The part of these errors that
    residuals show is therefore counted at once, without waiting until the markers have been visible for
    enough frames.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    m : int - index of the marker
    health : Health - state of each marker, kept from frame to frame
    """
    for k in range(markers.body.shape[0]):
        if markers.body[k] == markers.body[m] and health.weight[k] == 0.0 and health.n_seen[k] == 0:
            return True
    return False


@njit
def add_doubts(markers, segments, variance):
    """Add the variances of filled-in marker positions to the variances of the markers; call it after
    marker_variances.

    A filled-in position is not an independent measurement: it has the errors of the markers from which it
    was computed, and the error of the reconstruction, `segments.doubt`. If a segment has measured markers
    whose weights sum to n, and filled-in ones whose weights sum to w, the variances of all its markers are
    multiplied by (n + w) / n: together they then carry the information of the measured markers alone.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    segments : Segments - filled-in positions, their deviations and weights in this frame
    variance : (n_marker,) - variances [m^2], updated
    """
    for b in range(segments.filled.shape[0]):
        if segments.filled[b] == 0:
            continue
        there, beside = 0.0, 0.0
        for m in range(variance.shape[0]):
            if markers.body[m] == b:
                if segments.doubt[m] > 0.0:
                    beside += segments.weight[m]
                else:
                    there += segments.weight[m]
        for m in range(variance.shape[0]):
            if markers.body[m] == b:
                variance[m] = variance[m] * (there + beside) / there + segments.doubt[m] * segments.doubt[m]
