"""Joint centres by the chord construction: half a joint's width from a lateral marker, perpendicular to the
bone.

At the centre, the directions to the proximal joint and to the lateral marker form a right angle. About the
line from the centre to the proximal joint, the half-planes of the lateral marker and of the wand, a marker
on the lateral side of the segment, form a given angle (Kadaba et al. 1990, J Orthop Res 8, 383-392; Davis et
al. 1991, Hum Mov Sci 10, 575-587).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.calibration.natural import unit

Array = NDArray[np.float64]

ROUNDING = 1e-9
TURNS = {"right": 1.0, "left": -1.0}
"""Sign of a stored rotation offset about the line up the bone: positive = the wand is behind the joint's
axis."""


def chord_centre(proximal: Array, lateral: Array, wand: Array, radius: float, rotation: float = 0.0) -> Array:
    """Return the joint centre, which lies medially of the line from the lateral marker to the proximal joint,
    (n, 3) [m].

    proximal, lateral, wand : (n, 3) [m]; radius : distance of the centre from the lateral marker [m]
    rotation : angle about the line from the centre to the proximal joint, from the wand to the lateral marker
        [rad]; on a right leg this is the stored rotation offset, on a left leg its negative. NaN where the
        proximal joint is closer than the radius, or no point has this rotation.
    """
    line = proximal - lateral
    length = np.linalg.norm(line, axis=-1, keepdims=True)
    along = line / length
    outwards = wand - lateral
    outwards = unit(outwards - _dot(outwards, along) * along)
    with np.errstate(invalid="ignore"):
        cosine = radius / length
        sine = np.sqrt(1.0 - cosine**2)
        if rotation == 0.0:
            centre: Array = lateral + radius * (cosine * along - sine * outwards)
            return centre
        inwards = _inwards(
            _dot(wand - lateral, along), _dot(wand - lateral, outwards), length, radius, rotation
        )
        left = 1.0 - inwards**2
        aside = np.copysign(np.sqrt(np.where(left > -ROUNDING, np.maximum(left, 0.0), np.nan)), rotation)
    across = np.cross(along, outwards)
    return lateral + radius * (cosine * along - sine * (inwards * outwards + aside * across))


def _inwards(up: Array, out: Array, length: Array, radius: float, rotation: float) -> Array:
    """Return the cosine of the angle, about the line from the lateral marker to the proximal joint, between
    the straight medial direction and the joint centre with the given rotation, (n, 1).

    up, out : (n, 1) - components of the wand relative to the lateral marker, along the line to the proximal
        joint and perpendicular to it [m]; length : (n, 1) - length of that line [m]

    All possible centres lie on a circle about this line. With the lateral marker as origin, T and X are the
    vectors to the wand and the proximal joint, m is the scalar product of T and the vector to the centre, r
    the radius, and h^2 = X^2 - r^2. Then cos^2(rotation) (T^2 + r^2 - 2 m - (T X - m)^2 / h^2) = (r^2 - m)^2
    / r^2, of which the smaller root m belongs to the medial centre.
    """
    square, bone, share = radius**2, length**2 - radius**2, np.cos(rotation) ** 2
    product = up * length
    a = share / bone + 1.0 / square
    b = share * (1.0 - product / bone) - 1.0  # half of the coefficient of m
    c = square - share * (up**2 + out**2 + square - product**2 / bone)
    m = (-b - np.sqrt(b**2 - a * c)) / a
    reach = radius * np.sqrt(1.0 - square / length**2)
    return (square * product / length**2 - m) / (reach * out)


def wand_rotation(proximal: Array, centre: Array, lateral: Array, wand: Array) -> Array:
    """Return the angle from the half-plane of the wand to that of the lateral marker, (n,) [rad].

    Both half-planes begin at the line from the joint centre to the proximal joint; positive rotations are
    about that line. All points are (n, 3) [m].
    """
    up = unit(proximal - centre)
    to_wand, to_lateral = (v - _dot(v, up) * up for v in (wand - centre, lateral - centre))
    across = np.sum(up * np.cross(to_wand, to_lateral), axis=-1)
    angle: Array = np.arctan2(across, np.sum(to_wand * to_lateral, axis=-1))
    return angle


def _dot(a: Array, b: Array) -> Array:
    """Return the scalar products of corresponding vectors a and b (n, 3), (n, 1)."""
    product: Array = np.sum(a * b, axis=-1, keepdims=True)
    return product
