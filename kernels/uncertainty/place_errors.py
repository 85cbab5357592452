"""Standard deviations of positions: points of bodies, and their weighted means, such as the centre of mass.

A point r of a body moves by u + w x r at unit speed of a dof with the twist (w, u) between the body and
ground. With these derivatives J and the covariance C of the tangent coordinates
(kernels/uncertainty/pose_errors), its variances along ground's axes are the diagonal of J C J'.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.spatial import vector_product
from kernels.compiler.jit import entry, njit
from kernels.joints.tree import point_in_ground
from kernels.solver.undetermined_dofs import MOST_LENGTH


class WeightedPoints(NamedTuple):
    """Positions, each the weighted sum of points of bodies, for example a centre of mass."""

    start: np.ndarray  # (n_place + 1,) int64 - first part of each place
    body: np.ndarray  # (n_part,) int64 - -1 = ground
    point: np.ndarray  # (n_part, 3) - in the body frame [m]
    share: np.ndarray  # (n_part,) - weight of the point in the sum


class PlaceWork(NamedTuple):
    """Working space for the standard deviations of positions (place_deviations)."""

    row: Annotated[np.ndarray, Floats(3, "n_v")]  # slopes of one place
    arm: Annotated[np.ndarray, Floats(3)]  # [m]


def new_place_work(n_v: int) -> PlaceWork:
    """Allocate a PlaceWork: working space for the standard deviations of positions."""
    return allocate(PlaceWork, n_v=n_v)


@entry
def place_deviations(last_dof, dof_parent, places, pose, covariance, work, deviation_out):
    """Compute the standard deviations of positions along ground's axes from the covariance of the pose.

    last_dof, dof_parent : (n_body,), (n_v,) int64 - last dof of each body, next dof towards ground
    places : WeightedPoints - positions that are weighted sums of points of bodies
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    covariance : (n_v, n_v) - covariance of the tangent coordinates, symmetric
    work : PlaceWork - working space, written
    deviation_out : (n_place, 3) - standard deviations [m], written
    """
    row = work.row
    for p in range(deviation_out.shape[0]):
        row[:, :] = 0.0
        for k in range(places.start[p], places.start[p + 1]):
            if places.body[k] >= 0:
                add_point(last_dof, dof_parent, places, k, pose, work)
        for i in range(3):
            square = 0.0
            for a in range(row.shape[1]):
                if row[i, a] != 0.0:
                    s = 0.0
                    for b in range(row.shape[1]):
                        s += covariance[a, b] * row[i, b]
                    square += row[i, a] * s
            deviation_out[p, i] = min(math.sqrt(max(square, 0.0)), MOST_LENGTH)


@njit
def add_point(last_dof, dof_parent, places, k, pose, work):
    """Add the derivatives with respect to the dofs of one of the points that make up a position to work.row :
    (3, n_v).

    last_dof, dof_parent : (n_body,), (n_v,) int64 - last dof of each body, next dof towards ground
    places : WeightedPoints - positions that are weighted sums of points of bodies
    k : int - index of the point among those of places
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    work : PlaceWork - working space; its field row is added to
    """
    body, share, arm = places.body[k], places.share[k], work.arm
    point_in_ground(pose, body, places.point[k], arm)
    for i in range(3):
        arm[i] -= pose.position[0, i]
    d = last_dof[body]
    while d >= 0:
        twist = pose.twist[d]
        x, y, z = vector_product(twist, arm)
        work.row[0, d] += share * (twist[3] + x)
        work.row[1, d] += share * (twist[4] + y)
        work.row[2, d] += share * (twist[5] + z)
        d = dof_parent[d]
