"""The knee mechanism, one pose at a time by SciPy's root finder, and fibres by trying every pair."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import fsolve

from tests.naive import knee_tables

Array = NDArray[np.floating]


def rotation(extension: float, adduction: float, internal: float) -> Array:
    """Rz Rx Ry, of angles in rad."""
    (cz, sz), (cx, sx), (cy, sy) = ((np.cos(a), np.sin(a)) for a in (extension, adduction, internal))
    Rz = np.array([[cz, -sz, 0.0], [sz, cz, 0.0], [0.0, 0.0, 1.0]])
    Rx = np.array([[1.0, 0.0, 0.0], [0.0, cx, -sx], [0.0, sx, cx]])
    Ry = np.array([[cy, 0.0, sy], [0.0, 1.0, 0.0], [-sy, 0.0, cy]])
    return Rz @ Rx @ Ry


def gaps(extension: float, y: Array) -> Array:
    """Five constraints of table 1 at a pose: y = adduction, internal rotation, place of the tibia [m]."""
    R, place = rotation(extension, y[0], y[1]), np.asarray(y[2:])
    found = []
    for name, radius in knee_tables.CONDYLE_RADII.items():
        point = R @ knee_tables.TIBIA_POINTS[f"{name}_plateau"] + place
        normal = R @ knee_tables.PLATEAU_NORMALS[name]
        found.append((knee_tables.FEMUR_POINTS[f"{name}_condyle"] - point) @ normal - radius)
    for name, length in knee_tables.MECHANISM_LENGTHS.items():
        fibre = knee_tables.FEMUR_POINTS[name] - R @ knee_tables.TIBIA_POINTS[name] - place
        found.append(np.linalg.norm(fibre) - length)
    return np.array(found)


def passive_motion(flexion: Array) -> tuple[Array, Array]:
    """Angles (n, 3) [rad] and places (n, 3) [m] at flexions (n,) [rad], each from the one before."""
    y, angles, places = np.zeros(5), [], []
    for angle in flexion:
        y = fsolve(lambda y, angle=angle: gaps(-angle, y), y, xtol=1e-13)
        angles.append([-angle, y[0], y[1]])
        places.append(y[2:])
    return np.array(angles), np.array(places)


def steadiest_pair(origins: Array, insertions: Array, rotations: Array, places: Array) -> tuple[int, int]:
    """Which origin and which insertion keep their distance best."""
    spread = {}
    for i, j in product(range(len(origins)), range(len(insertions))):
        lengths = [
            np.linalg.norm(origins[i] - R @ insertions[j] - x) for R, x in zip(rotations, places, strict=True)
        ]
        spread[i, j] = np.std(lengths)
    return min(spread, key=spread.__getitem__)
