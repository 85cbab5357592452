"""Markers beside the places that the calibration gave them on their segment, judged by rigid shapes alone.

A segment has its markers and the centres of its joints, which the segments beside it carry: points whose
distances motion leaves alone. They are fitted rigidly to the calibrated shape, each weighted by how far skin
and hinges usually bring it off, and then without one marker after the other. What the best of these choices
explains of the squares left is the evidence against that marker: a likelihood ratio. No prediction and no
solution takes part, so that a marker that is off from the first frame on shows, also one of two on a foot.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.rotation import rotate
from kernels.compiler.jit import njit
from kernels.markers.marker_health import is_seen
from kernels.solver.initial_pose import dominant_rotation

FIXES = 3
"""Number of points that fix a segment."""
KEPT = 0.75
"""Part of the limit down to which a marker that is beside its place stays so."""
YOUNG, YOUNG_LIMIT, YOUNG_KEPT = 20, 0.8, 0.5
"""Frames without a finding up to which the calibration is the only witness of a segment whose own markers do
not fix it, as nothing was seen of it before, and the parts of the limit from which and down to which a marker
is beside its place then. Others have more distances, and skin more ways to change them."""
NOT, BY_MARKERS, BY_CHILD = 0, 1, 2
"""The pose of a segment is not known, known by its own markers, or by these and by joint centres that its
children carry. Those of its parent would leave its turn about the line through them to a wand on the skin."""
SPREAD = 0.02
"""Least root mean square of the distances of markers from their line for a segment to carry a joint centre:
skin moves those nearer to a line by as much [m]."""

SMALLEST = 1e-300
"""Smallest divisor."""


class CalibratedShape(NamedTuple):
    """Points of the segments by the calibration, and their faults in a frame."""

    body: np.ndarray  # (n_joint, 2) int64 - the two bodies that share each joint centre
    centre: np.ndarray  # (n_joint, 2, 3) - where it is in each of them [m]
    error: np.ndarray  # (n_body,) - usual distance of a marker from its place [m]; inf = not judged
    # usual distance of the centre, carried by the other body, from its place in each [m]
    centre_error: np.ndarray  # (n_joint, 2)
    # root of what leaving out its worst marker explains, in usual distances [1]
    evidence: Annotated[np.ndarray, Floats("n_body")]
    marker: Annotated[np.ndarray, Integers("n_body", fill=-1)]  # that marker, -1 = none
    off: Annotated[np.ndarray, Integers("n_body")]  # 1 = it is beside its place
    sound: Annotated[np.ndarray, Integers("n_body")]  # frames in which none was, up to YOUNG
    # how its pose is known, NOT, BY_MARKERS ...
    carries: Annotated[np.ndarray, Integers("n_body")]
    turned: Annotated[np.ndarray, Floats("n_body", 3, 3)]  # its axes in ground, by its markers
    middle: Annotated[np.ndarray, Floats("n_body", 2, 3)]  # of its markers, in the body and in ground [m]
    local: Annotated[np.ndarray, Floats("n_point", 3)]  # points of a body, in it [m]
    point: Annotated[np.ndarray, Floats("n_point", 3)]  # the same in ground [m]
    weight: Annotated[np.ndarray, Floats("n_point")]  # of each [1/m^2]
    who: Annotated[np.ndarray, Integers("n_point")]  # marker, -1 = a joint centre
    C: Annotated[np.ndarray, Floats(3, 3)]  # working space
    K: Annotated[np.ndarray, Floats(4, 4)]
    V: Annotated[np.ndarray, Floats(4, 4)]
    q: Annotated[np.ndarray, Floats(4)]
    R: Annotated[np.ndarray, Floats(3, 3)]
    mean: Annotated[np.ndarray, Floats(2, 3)]  # of the points of a fit, in the body and in ground [m]


def new_shape(body, centre, error, centre_error, n_marker):
    """Allocate the CalibratedShape of n_marker markers; the arrays are those of its first fields."""
    return allocate(
        CalibratedShape,
        body=body,
        centre=centre,
        error=error,
        centre_error=centre_error,
        n_body=len(error),
        n_point=n_marker + len(body),
    )


@njit
def find_misplaced(markers, limit, health, shape):
    """Find the bodies with a marker beside its calibrated place; return how many.

    markers : ModelMarkers
    limit : float - evidence from which it is [1]
    health : Health - labelled, weight, origin
    shape : CalibratedShape - evidence, marker, off and working space written
    """
    n_body, n_found = shape.error.shape[0], 0
    for b in range(n_body):
        shape.evidence[b], shape.marker[b], shape.carries[b] = 0.0, -1, NOT
        if math.isfinite(shape.error[b]):
            carry(b, gather(markers, b, health, shape), BY_MARKERS, shape)
    for b in range(n_body - 1, -1, -1):  # children come after their parents
        if shape.carries[b] == NOT and math.isfinite(shape.error[b]):
            carry(b, add_centres(b, 0, gather(markers, b, health, shape), shape), BY_CHILD, shape)
    for b in range(n_body):
        if not math.isfinite(shape.error[b]):
            continue
        n = gather(markers, b, health, shape)
        n = add_centres(b, 1, add_centres(b, 0, n, shape), shape)
        own = limit_of(b, limit, shape)
        # no fit is worse than the pose by the markers alone, which is at hand: mostly that says enough
        plain = n < FIXES or (shape.carries[b] != NOT and squares_at(b, n, shape) <= own * own)
        left = 0.0 if plain else squares_left(n, -1, shape)
        shape.off[b] = int(left > own * own and find_worst(b, n, left, shape) > own)
        shape.sound[b] = min(YOUNG, shape.sound[b] + 1 - shape.off[b]) if n >= FIXES else shape.sound[b]
        n_found += shape.off[b]
    return n_found


@njit
def limit_of(b, limit, shape):
    """Return the evidence from which a marker of body b is beside its place in this frame [1]."""
    if shape.sound[b] < YOUNG and shape.carries[b] != BY_MARKERS:
        return limit * (YOUNG_KEPT if shape.off[b] == 1 else YOUNG_LIMIT)
    return limit * (KEPT if shape.off[b] == 1 else 1.0)


@njit
def carry(b, n, how, shape):
    """Write the pose of body b by its n points, if they determine it.

    b, n : int - body, its points; how : int - what they are, BY_MARKERS ...
    shape : CalibratedShape - carries, turned, middle and working space written
    """
    if not determine(n, shape):
        return
    shape.carries[b] = how
    fit_points(n, -1, shape)
    for i in range(3):
        shape.middle[b, 0, i], shape.middle[b, 1, i] = shape.mean[0, i], shape.mean[1, i]
        for j in range(3):
            shape.turned[b, i, j] = shape.R[i, j]


@njit
def determine(n, shape):
    """Return whether n points determine a pose; shape.mean is written."""
    if n < FIXES:
        return False
    trace, square = 0.0, 0.0
    take_means(n, -1, shape)
    for i in range(3):
        for j in range(3):
            moment = 0.0
            for k in range(n):
                moment += (shape.local[k, i] - shape.mean[0, i]) * (shape.local[k, j] - shape.mean[0, j])
            square += moment * moment
            trace += moment if i == j else 0.0
    # l1 l2 + l1 l3 + l2 l3 of the second moments over their sum: at most what is square to the best line
    return trace > 0.0 and 0.5 * (trace * trace - square) >= n * SPREAD * SPREAD * trace


@njit
def gather(markers, b, health, shape):
    """Write the markers of body b that take part as its points; return how many.

    markers : ModelMarkers
    b : int - body
    health : Health - labelled, weight, origin
    shape : CalibratedShape - local, point, weight, who written
    """
    n = 0
    for m in range(markers.body.shape[0]):
        if markers.body[m] != b or health.weight[m] == 0.0 or not is_seen(health.labelled, m):
            continue
        for i in range(3):
            shape.local[n, i] = markers.position[m, i] + health.origin[m, i]
            shape.point[n, i] = health.labelled[m, i]
        shape.weight[n], shape.who[n] = 1.0 / shape.error[b] ** 2, m
        n += 1
    return n


@njit
def add_centres(b, end, n, shape):
    """Add to the n points of body b the joint centres that the bodies beside it carry; return how many
    points there are.

    end : int - 0 = those that its children carry, 1 = those that its parent carries
    shape : CalibratedShape - local, point, weight, who written
    """
    for j in range(shape.body.shape[0]):
        if shape.body[j, end] == b:
            other = shape.body[j, 1 - end]
            how = shape.carries[other]
            # what stands on the centre of a child says nothing to that child
            if how == NOT or (how == BY_CHILD and end == 1):
                continue
            from_middle, place = shape.q[:3], shape.point[n]
            for i in range(3):
                shape.local[n, i] = shape.centre[j, end, i]
                from_middle[i] = shape.centre[j, 1 - end, i] - shape.middle[other, 0, i]
            rotate(shape.turned[other], from_middle, place)
            for i in range(3):
                place[i] += shape.middle[other, 1, i]
            shape.weight[n], shape.who[n] = 1.0 / shape.centre_error[j, end] ** 2, -1
            n += 1
    return n


@njit
def find_worst(b, n, left, shape):
    """Write the marker of body b without which its points fit best, and the evidence against it; return that.

    b, n : int - body, its points; left : float - weighted squares with all of them [1]
    shape : CalibratedShape - evidence, marker written
    """
    for k in range(n):
        if shape.who[k] < 0:
            continue
        evidence = math.sqrt(max(0.0, left - squares_left(n, k, shape)))
        if evidence > shape.evidence[b]:
            shape.evidence[b], shape.marker[b] = evidence, shape.who[k]
    return shape.evidence[b]


@njit
def squares_left(n, without, shape):
    """Return the weighted sum of the squared distances of n points from their rigid fit, one left out [1]:
    the sum of their squares about their means less twice the largest eigenvalue of Horn's matrix.
    """
    both = take_means(n, without, shape)
    fit_points(n, without, shape)
    most = max(max(shape.K[0, 0], shape.K[1, 1]), max(shape.K[2, 2], shape.K[3, 3]))
    return max(0.0, both - 2.0 * most)


@njit
def squares_at(b, n, shape):
    """Return the weighted sum of the squared distances of n points from their places on body b, turned as by
    its own markers [1]: at least `squares_left`.
    """
    take_means(n, -1, shape)
    R, total = shape.turned[b], 0.0
    for k in range(n):
        for i in range(3):
            off = shape.point[k, i] - shape.mean[1, i]
            for j in range(3):
                off -= R[i, j] * (shape.local[k, j] - shape.mean[0, j])
            total += shape.weight[k] * off * off
    return total


@njit
def take_means(n, without, shape):
    """Write the weighted means of n points, one left out, into shape.mean; return the weighted sum of their
    squares about them, in the body and in ground [1].
    """
    shape.mean[:, :] = 0.0
    total, both = 0.0, 0.0
    for k in range(n):
        if k != without:
            total += shape.weight[k]
            for i in range(3):
                shape.mean[0, i] += shape.weight[k] * shape.local[k, i]
                shape.mean[1, i] += shape.weight[k] * shape.point[k, i]
    for i in range(3):
        shape.mean[0, i] /= total
        shape.mean[1, i] /= total
    for k in range(n):
        if k != without:
            for i in range(3):
                y, x = shape.local[k, i] - shape.mean[0, i], shape.point[k, i] - shape.mean[1, i]
                both += shape.weight[k] * (y * y + x * x)
    return both


@njit
def fit_points(n, without, shape):
    """Write the rotation of the body that fits n points best, one left out, into shape.R, and the eigenvalues
    of Horn's matrix onto the diagonal of shape.K, after `take_means`.
    """
    shape.C[:, :] = 0.0
    size = 0.0
    for k in range(n):
        if k != without:
            for i in range(3):
                y = shape.weight[k] * (shape.local[k, i] - shape.mean[0, i])
                for j in range(3):
                    shape.C[i, j] += y * (shape.point[k, j] - shape.mean[1, j])
    # weights make it large, and the iteration for the eigenvalues ends at numbers that are small beside 1
    for i in range(3):
        for j in range(3):
            size += abs(shape.C[i, j])
    for i in range(3):
        for j in range(3):
            shape.C[i, j] /= max(size, SMALLEST)
    dominant_rotation(shape.C, shape.K, shape.V, shape.q, shape.R)
    for i in range(4):
        shape.K[i, i] *= size
