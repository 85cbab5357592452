"""Poses of the tibia relative to the femur, from joint angles and displacements."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class KneePoses(NamedTuple):
    """Poses of the tibia in the axes of the femur.

    angles : (n, 3) extension, adduction and internal rotation: successive rotations about the moving axes Z,
        X and Y [rad]
    places : (n, 3) positions of the origin of the tibia [m]
    """

    angles: Array
    places: Array

    @property
    def rotations(self) -> Array:
        """Rotation matrices (n, 3, 3) with the tibia's axes as columns."""
        return rotations_of(self.angles)

    def chosen(self, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> KneePoses:
        """Return the poses with the given indices, or where the mask is true."""
        return KneePoses(self.angles[rows], self.places[rows])

    def carried(self, points: Array) -> Array:
        """Transform points (k, 3) of the tibia to the axes of the femur in every pose, (n, k, 3) [m]."""
        return np.einsum("nij,kj->nki", self.rotations, points) + self.places[:, None, :]


def rotations_of(angles: Array) -> Array:
    """Return (n, 3, 3) = Rz(extension) Rx(adduction) Ry(internal rotation), of angles (n, 3) [rad]."""
    (ca, cb, cc), (sa, sb, sc) = np.cos(angles).T, np.sin(angles).T
    rows = [
        [ca * cc - sa * sb * sc, -sa * cb, ca * sc + sa * sb * cc],
        [sa * cc + ca * sb * sc, ca * cb, sa * sc - ca * sb * cc],
        [-cb * sc, sb, cb * cc],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def rotation_slopes(angles: Array) -> Array:
    """Return the derivatives, with respect to the three angles (n, 3) [rad], of the rotation matrices
    Rz(extension) Rx(adduction) Ry(internal rotation), (3, n, 3, 3).
    """
    zero = np.zeros((len(angles), 3))
    x, y, z = (zero + axis for axis in np.eye(3))
    about_z = rotations_of(np.stack([angles[:, 0], zero[:, 0], zero[:, 0]], axis=1))
    R = rotations_of(angles)
    first, second = z, np.einsum("nij,nj->ni", about_z, x)
    third = np.einsum("nij,nj->ni", R, y)
    return np.stack([np.einsum("nij,njk->nik", crossed(axis), R) for axis in (first, second, third)])


def crossed(axes: Array) -> Array:
    """Return the cross-product matrices (n, 3, 3) of axes (n, 3)."""
    x, y, z = axes.T
    zero = np.zeros_like(x)
    return np.moveaxis(np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]), 2, 0)


def poses_of(angles: Array, displacements: Array) -> KneePoses:
    """Convert angles (n, 3) [rad] and displacements (n, 3) along the joint coordinate system [m] to poses.

    The displacements are lateral, anterior and proximal; their axes need not be at right angles.
    """
    R = rotations_of(angles)
    first, third = np.broadcast_to([0.0, 0.0, 1.0], displacements.shape), R[:, :, 1]
    second = np.cross(third, first)
    second /= np.linalg.norm(second, axis=1)[:, None]
    axes = np.stack([first, second, third], axis=2)
    return KneePoses(angles, np.einsum("nij,nj->ni", axes, displacements))


def displacements_of(poses: KneePoses) -> Array:
    """Return the displacements of poses (n, 3) in the order of `poses_of`: lateral, anterior, proximal
    [m]."""
    third = poses.rotations[:, :, 1]
    first = np.broadcast_to([0.0, 0.0, 1.0], third.shape)
    second = np.cross(third, first)
    second /= np.linalg.norm(second, axis=1)[:, None]
    return np.linalg.solve(np.stack([first, second, third], axis=2), poses.places[:, :, None])[:, :, 0]
