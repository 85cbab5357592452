"""Natural coordinates of one segment, Sancisi et al. 2017, eqs 2, 3 and 12-15, written as printed.

A segment is q = [u, rP, rD, w] (12 numbers, metres): two unit directions and two points. With v = rP - rD, a
point fixed in the segment is r = rP + n_u u + n_v v + n_w w with three constant numbers n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


class SegmentParameters(NamedTuple):
    """Constants of eq. 12: length [m] and the angles alpha (v, w), beta (u, w), gamma (u, v) [rad]."""

    length: float
    alpha: float
    beta: float
    gamma: float


def axes(q: Array) -> tuple[Array, Array, Array]:
    """Return u, v = rP - rD and w, each (..., 3), of a segment q (..., 12)."""
    return q[..., 0:3], q[..., 3:6] - q[..., 6:9], q[..., 9:12]


def proximal(q: Array) -> Array:
    """Return rP, (..., 3) m, of a segment q (..., 12)."""
    return q[..., 3:6]


def distal(q: Array) -> Array:
    """Return rD, (..., 3) m, of a segment q (..., 12)."""
    return q[..., 6:9]


def mean_parameters(q: Array) -> SegmentParameters:
    """Return the constants of a segment averaged over frames, q (n_frame, 12): eq. 12."""
    length, alpha, beta, gamma = [], [], [], []
    for u, v, w in zip(*axes(q), strict=True):
        length.append(np.linalg.norm(v))
        alpha.append(np.arccos(v @ w / np.linalg.norm(v)))
        beta.append(np.arccos(u @ w))
        gamma.append(np.arccos(u @ v / np.linalg.norm(v)))
    return SegmentParameters(*(float(np.mean(values)) for values in (length, alpha, beta, gamma)))


def local_coordinates(q: Array, r: Array) -> Array:
    """Return n = (n_u, n_v, n_w) of a point r (3,) in a segment q (12,) of one frame: eq. 13."""
    u, v, w = axes(q)
    arm = r - proximal(q)
    volume = np.cross(u, v) @ w
    return np.array([np.cross(v, w) @ arm, np.cross(w, u) @ arm, np.cross(u, v) @ arm]) / volume


def mean_local_coordinates(q: Array, r: Array) -> Array:
    """Return n of a point averaged over frames, q (n_frame, 12), r (n_frame, 3); NaN frames are left out."""
    seen = np.isfinite(r).all(axis=1)
    return np.mean([local_coordinates(q_k, r_k) for q_k, r_k in zip(q[seen], r[seen], strict=True)], axis=0)


def basis(parameters: SegmentParameters) -> Array:
    """Return B of eq. 15, (3, 3): columns u, v, w in the orthonormal frame with X along u, v in XY."""
    length, alpha, beta, gamma = parameters
    w_y = (np.cos(alpha) - np.cos(beta) * np.cos(gamma)) / np.sin(gamma)
    w_z = np.sqrt(1.0 - np.cos(beta) ** 2 - w_y**2)
    return np.array(
        [[1.0, length * np.cos(gamma), np.cos(beta)], [0.0, length * np.sin(gamma), w_y], [0.0, 0.0, w_z]]
    )


def point_matrix(n: Array) -> Array:
    """Return N, (3, 12), with N q = rP + n_u u + n_v v + n_w w: the point n of a segment."""
    return direction_matrix(n) + np.hstack([np.zeros((3, 3)), np.eye(3), np.zeros((3, 6))])


def direction_matrix(n: Array) -> Array:
    """Return N, (3, 12), with N q = n_u u + n_v v + n_w w: the vector n of a segment."""
    n_u, n_v, n_w = n
    return np.hstack([n_u * np.eye(3), n_v * np.eye(3), -n_v * np.eye(3), n_w * np.eye(3)])


def rigid_body_products(parameters: SegmentParameters) -> tuple[Array, Array, Array]:
    """Return eq. 3 as six products (L q).(R q) - c: L (6, 3, 12), R (6, 3, 12), c (6,)."""
    length, alpha, beta, gamma = parameters
    u, v, w = (direction_matrix(n) for n in np.eye(3))
    left = np.array([u, u, u, v, v, w])
    right = np.array([u, v, w, v, w, w])
    constant = np.array(
        [1.0, length * np.cos(gamma), np.cos(beta), length**2, length * np.cos(alpha), 1.0],
    )
    return left, right, constant


def segment_frame(q: Array) -> tuple[Array, Array]:
    """Return the rotation (3, 3), columns X = u, Y, Z along u x v, and the origin rP (3,) of q (12,)."""
    u, v, _ = axes(q)
    x = u / np.linalg.norm(u)
    z = np.cross(u, v)
    z = z / np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z]), proximal(q)


def coordinates_of_frame(parameters: SegmentParameters, rotation: Array, origin: Array) -> Array:
    """Return q (12,) of a rigid segment at a rotation (3, 3) and origin (3,): undoes `segment_frame`."""
    u, v, w = (rotation @ basis(parameters)).T
    return np.concatenate([u, origin, origin - v, w])
