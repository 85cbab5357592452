"""What is read off an optimised Q (Sancisi et al. 2017, sect. 2.3): angles, lengths, displacements, contacts.

Every function takes one frame Q (48,) = foot, shank, thigh, pelvis, unless its name or shape says otherwise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.naive import knee_tables
from tests.naive.natural_coordinates import axes, distal, proximal, segment_frame

Array = NDArray[np.floating]


def _unit(vector: Array) -> Array:
    return vector / np.linalg.norm(vector)


def _shank_and_thigh(Q: Array) -> tuple[Array, Array]:
    return Q[12:24], Q[24:36]


def knee_angles(Q: Array) -> Array:
    """Return extension(+)/flexion(-), adduction(+), internal rotation(+) of the shank in the thigh, (3,) rad.

    Mobile sequence Z-X-Y: Z is w of the thigh, Y the long axis of the shank.
    """
    shank, thigh = _shank_and_thigh(Q)
    u_thigh, _, w_thigh = axes(thigh)
    z = _unit(w_thigh)
    y = _unit(np.cross(w_thigh, u_thigh))
    R_thigh = np.column_stack([np.cross(y, z), y, z])
    R_shank, _ = segment_frame(shank)
    R = R_thigh.T @ R_shank
    return np.array([np.arctan2(-R[0, 1], R[1, 1]), np.arcsin(R[2, 1]), np.arctan2(-R[2, 0], R[2, 2])])


def knee_displacements(Q: Array) -> Array:
    """Return lateral(+), anterior(+), proximal(+) displacement of the tibia in the femur, (3,) m.

    The vector from D of the thigh to P of the shank is a e1 + b e2 + c e3 on the oblique axes of the joint
    coordinate system: e1 = w of the thigh, e3 = v of the shank, e2 across both; (a, b, c) is returned.
    """
    shank, thigh = _shank_and_thigh(Q)
    e1 = _unit(axes(thigh)[2])
    e3 = _unit(axes(shank)[1])
    e2 = _unit(np.cross(e3, e1))
    return np.linalg.solve(np.column_stack([e1, e2, e3]), proximal(shank) - distal(thigh))


def knee_points(Q: Array) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the femur and tibia points of table 1 in the tibia SCS (frame B of the shank, origin P), m."""
    shank, thigh = _shank_and_thigh(Q)
    R_shank, origin_shank = segment_frame(shank)
    R_thigh, _ = segment_frame(thigh)
    femur: dict[str, Array] = {
        name: R_shank.T @ (distal(thigh) + R_thigh @ r - origin_shank)
        for name, r in knee_tables.FEMUR_POINTS.items()
    }
    return femur, knee_tables.TIBIA_POINTS


def ligament_lengths(Q: Array) -> Array:
    """Return the lengths of ACL, PCL, MCL and LCL, (4,) m."""
    femur, tibia = knee_points(Q)
    return np.array([np.linalg.norm(femur[name] - tibia[name]) for name in knee_tables.LIGAMENTS])


def ligament_lengthening(Q: Array) -> Array:
    """Return the change of length as a fraction of the neutral length, (4,)."""
    return ligament_lengths(Q) / knee_tables.neutral_lengths() - 1.0


def contact_points(Q: Array) -> Array:
    """Return the condyle centres projected on their plateau planes, in the tibia SCS, (2, 3) m."""
    femur, tibia = knee_points(Q)
    points = []
    for name in knee_tables.COMPARTMENTS:
        centre, normal = femur[f"{name}_condyle"], knee_tables.PLATEAU_NORMALS[name]
        points.append(centre - ((centre - tibia[f"{name}_plateau"]) @ normal) * normal)
    return np.array(points)


def experimental_lengths(Q: Array) -> Array:
    """Return eq. 1 at the flexion of every frame of Q (n_frame, 48), (n_frame, 4) m."""
    return np.array([knee_tables.experimental_lengths(float(np.degrees(knee_angles(Q_k)[0]))) for Q_k in Q])


def marker_residuals(marker_matrices: Array, Q: Array, measured: Array) -> Array:
    """Return the distances model to measured of one frame, (n_marker,) m, NaN where occluded."""
    return np.linalg.norm(marker_matrices @ Q - measured, axis=1)
