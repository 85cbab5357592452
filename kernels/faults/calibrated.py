"""Detection of markers that are away from their calibrated position on a segment, by the rigid shape of each
segment alone.

The points of a segment are its markers and the centres of its joints, placed by the neighbouring segments;
their distances do not change with motion. They are fitted rigidly to the calibrated shape, each weighted by
its usual error from skin and hinges; then the fit is repeated without one marker after the other. The
decrease of the sum of squares when the most deviating marker is left out is the evidence against this marker:
a likelihood ratio. Neither a predicted nor a solved pose is used, so that even a marker that is displaced
from the first frame on is found, also on a foot with only two markers.

A segment whose own markers do not determine its pose has one more point: the marker of the segment above
beside their joint, which is near the axis about which both turn against each other.
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
"""Part of the limit below which the evidence must fall until a marker no longer counts as misplaced."""
YOUNG, YOUNG_LIMIT, YOUNG_KEPT = 20, 0.8, 0.5
"""For a segment whose own markers do not determine its pose: number of frames without a misplaced marker
until which only the calibration can show one, as no earlier frames exist; and the parts of the limit above
which a marker counts as misplaced in these frames, and down to which it stays so."""
NOT, BY_MARKERS, BY_CHILD = 0, 1, 2
"""The pose of a segment is not known, known by its own markers, or by these and by joint centres that its
children carry. Those of its parent would leave its turn about the line through them to a wand on the skin."""
SPREAD = 0.02
"""Least root mean square of the distances of markers from their line for a segment to carry a joint centre:
skin moves those nearer to a line by as much [m]."""

SMALLEST = 1e-300
"""Smallest divisor."""


class CalibratedShape(NamedTuple):
    """Markers and joint centres of the segments at their calibrated positions, the poses fitted to them in a
    frame, and the markers found away from their positions.
    """

    body: np.ndarray  # (n_joint, 2) int64 - the two bodies that share each joint centre
    centre: np.ndarray  # (n_joint, 2, 3) - where it is in each of them [m]
    error: np.ndarray  # (n_body,) - usual distance of a marker from its place [m]; inf = not judged
    # usual distance of the centre, carried by the other body, from its place in each [m]
    centre_error: np.ndarray  # (n_joint, 2)
    # (n_joint,) int64 - marker of the upper body beside the joint, for the lower one; -1 = none
    beside: np.ndarray
    beside_place: np.ndarray  # (n_joint, 3) - its position in the lower body [m]
    beside_error: np.ndarray  # (n_joint,) - usual distance from there [m]
    # square root of the decrease of the sum of squares if its worst marker is left out [1]
    evidence: Annotated[np.ndarray, Floats("n_body")]
    marker: Annotated[np.ndarray, Integers("n_body", fill=-1)]  # that marker, -1 = none
    off: Annotated[np.ndarray, Integers("n_body")]  # 1 = it is away from its position
    sound: Annotated[np.ndarray, Integers("n_body")]  # frames without such a marker, up to YOUNG
    # how its pose is known: NOT, BY_MARKERS or BY_CHILD
    carries: Annotated[np.ndarray, Integers("n_body")]
    turned: Annotated[np.ndarray, Floats("n_body", 3, 3)]  # its axes in ground, by its markers
    middle: Annotated[np.ndarray, Floats("n_body", 2, 3)]  # of its markers, in the body and in ground [m]
    local: Annotated[np.ndarray, Floats("n_point", 3)]  # points of a body, in it [m]
    point: Annotated[np.ndarray, Floats("n_point", 3)]  # the same in ground [m]
    weight: Annotated[np.ndarray, Floats("n_point")]  # of each [1/m^2]
    # marker, also one beside the joint; -1 = a joint centre
    who: Annotated[np.ndarray, Integers("n_point")]
    C: Annotated[np.ndarray, Floats(3, 3)]  # working space
    K: Annotated[np.ndarray, Floats(4, 4)]
    V: Annotated[np.ndarray, Floats(4, 4)]
    q: Annotated[np.ndarray, Floats(4)]
    R: Annotated[np.ndarray, Floats(3, 3)]
    mean: Annotated[np.ndarray, Floats(2, 3)]  # of the points of a fit, in the body and in ground [m]


def new_shape(body, centre, error, centre_error, beside, beside_place, beside_error, n_marker):
    """Allocate the CalibratedShape of n_marker markers; n_joint and n_body follow from the arrays.

    body, centre : (n_joint, 2), (n_joint, 2, 3) - both bodies of each joint centre, its position in them [m]
    error, centre_error : (n_body,), (n_joint, 2) - usual errors of markers and joint centres [m]
    beside, beside_place, beside_error : (n_joint,), (n_joint, 3), (n_joint,) - marker of the upper body
        beside the joint (-1 = none), its position in the lower body and its usual error there [m]
    """
    return allocate(
        CalibratedShape,
        body=body,
        centre=centre,
        error=error,
        centre_error=centre_error,
        beside=beside,
        beside_place=beside_place,
        beside_error=beside_error,
        n_body=len(error),
        n_point=n_marker + len(body),
    )


@njit
def find_misplaced(markers, limit, health, shape):
    """Find the bodies on which a marker is away from its calibrated position; return how many there are.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    limit : float - evidence above which a marker counts as misplaced [1]
    health : Health - state of each marker, kept from frame to frame; its fields labelled, weight and origin
        are read
    shape : CalibratedShape - its fields evidence, marker, off and sound, the poses by the markers and working
        space are written
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
        n = add_beside(b, n, health, shape)
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
    """Return the evidence from which a marker of body b counts as away from its calibrated position [1].

    It is lower if such a marker was found in the last frame (hysteresis), and in the first frames of a
    segment whose own markers do not determine its pose.
    """
    if shape.sound[b] < YOUNG and shape.carries[b] != BY_MARKERS:
        return limit * (YOUNG_KEPT if shape.off[b] == 1 else YOUNG_LIMIT)
    return limit * (KEPT if shape.off[b] == 1 else 1.0)


@njit
def carry(b, n, how, shape):
    """Fit the pose of body b to the n points gathered in shape, and store the pose if the points determine
    it.

    b, n : int - body, number of points; how : int - what the points are: BY_MARKERS = markers alone, BY_CHILD
        = also joint centres of its children
    shape : CalibratedShape - its fields carries (set to `how`), turned (the rotation), middle (the means of
        the points) and working space are written
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
    """Return whether the n points gathered in shape determine a pose: three or more that are not near one
    line. Their means are written into shape.mean.
    """
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
    """Write the usable markers of body b as points for a rigid fit into shape; return their number.

    markers : ModelMarkers - markers of the model, with their bodies and positions
    b : int - body
    health : Health - state of each marker, kept from frame to frame; its fields labelled, weight and origin
        are read
    shape : CalibratedShape - points of the segments by the calibration; its fields local, point, weight and
        who are written
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
    """Append joint centres, at their positions by the poses of the neighbouring bodies, to the n points of
    body b; return the new number of points.

    end : int - 0 = the centres of the joints to its children, 1 = that of the joint to its parent
    shape : CalibratedShape - points of the segments by the calibration; its fields local, point, weight and
        who are written
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
def add_beside(b, n, health, shape):
    """Append to the n points of body b the marker of its parent that is beside the joint between them, if the
    body's own markers do not determine its pose.

    Return the new number of points.

    b, n : int - body, number of its points
    health : Health - state of each marker, kept from frame to frame; its fields labelled, weight and origin
        are read
    shape : CalibratedShape - points of the segments by the calibration; its fields local, point, weight and
        who are written
    """
    if shape.carries[b] == BY_MARKERS:
        return n
    for j in range(shape.body.shape[0]):
        m = shape.beside[j]
        if shape.body[j, 1] != b or m < 0 or health.weight[m] == 0.0 or not is_seen(health.labelled, m):
            continue
        moved = health.origin[m]
        if moved[0] != 0.0 or moved[1] != 0.0 or moved[2] != 0.0:
            continue  # it was learnt anew elsewhere, and where the lower body has it is not known
        for i in range(3):
            shape.local[n, i], shape.point[n, i] = shape.beside_place[j, i], health.labelled[m, i]
        shape.weight[n], shape.who[n] = 1.0 / shape.beside_error[j] ** 2, m
        n += 1
    return n


@njit
def find_worst(b, n, left, shape):
    """Find the marker of body b without which its points fit best; write it and the evidence against it, and
    return the evidence.

    b, n : int - body, number of its points; left : float - weighted sum of squares of the fit to all of them
        [1]
    shape : CalibratedShape - points of the segments by the calibration; its fields evidence and marker are
        written
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
    """Return the weighted sum of the squared distances of n points, one of them left out, from their rigid
    fit [1].

    It is the sum of the squares of both sets about their means, less twice the largest eigenvalue of Horn's
    matrix. without : index of the point, -1 = none
    """
    both = take_means(n, without, shape)
    fit_points(n, without, shape)
    most = max(max(shape.K[0, 0], shape.K[1, 1]), max(shape.K[2, 2], shape.K[3, 3]))
    return max(0.0, both - 2.0 * most)


@njit
def squares_at(b, n, shape):
    """Return the weighted sum of the squared distances of n points from their positions on body b in the pose
    of its markers [1].

    As this pose is not their best fit, the sum is at least that of `squares_left`.
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
    """Write the weighted means of n points, except the one with index `without`, into shape.mean; return the
    weighted sum of their squares about the means, in the body plus in ground [1].
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
    """Write the rotation of the body that fits n points best, except the one with index `without`, into
    shape.R, and the eigenvalues of Horn's matrix onto the diagonal of shape.K; called after `take_means`.
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
