"""The conventional gait model the slow way: one frame, searches and rotations of another library."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation


def half_plane_angle(axis_from, axis_to, first, second):
    """Signed angle from the half-plane of `first` to that of `second` about the axis between two points."""
    axis = (axis_to - axis_from) / np.linalg.norm(axis_to - axis_from)
    flat = [p - axis_from - (p - axis_from) @ axis * axis for p in (first, second)]
    a, b = (v / np.linalg.norm(v) for v in flat)
    return np.arctan2(axis @ np.cross(a, b), a @ b)


def chord(proximal, lateral, wand, radius, rotation=0.0):
    """Joint centre: on the circle of all points that see `proximal` and `lateral` at a right angle and are
    `radius` away from `lateral`, the one whose half-planes enclose the rotation."""
    line = proximal - lateral
    length = np.linalg.norm(line)
    along = line / length
    out = np.cross(np.cross(along, wand - lateral), along)
    out /= np.linalg.norm(out)
    across = np.cross(along, out)

    def point(angle):
        sine = np.sqrt(1.0 - (radius / length) ** 2)
        around = np.cos(angle) * out + np.sin(angle) * across
        return lateral + radius * (radius / length * along - sine * around)

    def miss(angle):
        return half_plane_angle(point(angle), proximal, wand, lateral) - rotation

    return point(brentq(miss, -1.5, 1.5, xtol=1e-15, rtol=1e-15))


def davis(leg_length, other_leg_length, asis_trochanter, inter_asis, marker_diameter):
    """Hip from mid-ASIS, forwards, upwards and outwards, all in mm."""
    c = 0.115 * 0.5 * (leg_length + other_leg_length) - 15.3
    a = asis_trochanter or 0.1288 * leg_length - 48.56
    r = a + 0.5 * marker_diameter
    return (
        c * np.cos(0.5) * np.sin(0.314) - r * np.cos(0.314),
        -c * np.cos(0.5) * np.cos(0.314) - r * np.sin(0.314),
        0.5 * inter_asis - c * np.sin(0.5),
    )


def axes(along_z, near_y):
    """Right-handed axes as columns, by Gram and Schmidt."""
    z = along_z / np.linalg.norm(along_z)
    y = near_y - (near_y @ z) * z
    y /= np.linalg.norm(y)
    return np.column_stack([np.cross(y, z), y, z])


def cardan(R):
    """Angles about y, the new x, the newest z."""
    return Rotation.from_matrix(R).as_euler("YXZ")
