"""C3D files with force plates on which a known force acts at a known point, made channel by channel."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.rtsim.files.conftest import c3d_bytes

ORIGIN = np.array([3.0, -2.0, -40.0])  # [mm] from where the plate measures to the middle of its surface
SENSORS = np.array([120.0, 200.0, -50.0])  # [mm] a, b and depth of a plate with eight channels
N_SUB = 10
UP = np.array([0.0, 0.0, 1.0])


class Load(NamedTuple):
    """What acts on the person, in a laboratory with Z up: N, mm, N mm."""

    force: np.ndarray
    point: np.ndarray
    free_moment: float  # about the vertical


LOAD = Load(np.array([30.0, -55.0, 720.0]), np.array([612.0, 433.0, 0.0]), 4200.0)


def corners_of(centre: tuple[float, float], angle: float) -> np.ndarray:
    """Corners (4, 3) mm of a plate of 400 by 600 mm with z down, turned about the vertical."""
    x = np.array([np.cos(angle), np.sin(angle), 0.0])
    y = np.cross([0.0, 0.0, -1.0], x)
    signs = [(1, 1), (-1, 1), (-1, -1), (1, -1)]
    return np.array([[*centre, 0.0] + 200.0 * i * x + 300.0 * j * y for i, j in signs])


def local(corners: np.ndarray, load: Load) -> tuple[np.ndarray, np.ndarray, float]:
    """Force, point from the middle and free moment about z, in the plate's axes."""
    centre = corners.mean(axis=0)
    x, y = (corners[0] - corners[1]) / 400.0, (corners[0] - corners[3]) / 600.0
    axes = np.stack([x, y, np.cross(x, y)])
    return axes @ load.force, axes @ (load.point - centre), load.free_moment * axes[2, 2]


def channels_of(kind: int, corners: np.ndarray, load: Load, matrix: np.ndarray | None = None) -> np.ndarray:
    """The channels in N, mm and N mm that a plate of this type writes of the load."""
    force, point, free = local(corners, load)
    if kind == 1:
        return np.array([*force, *point[:2], free])
    if kind in (2, 4):
        wrench = np.array([*force, *(np.cross(point + ORIGIN, force) + free * UP)])
        return wrench if matrix is None else np.linalg.solve(matrix, wrench)
    a, b, depth = SENSORS
    moment = np.cross(point + depth * UP, force) + free * UP
    places = np.array([[a, b], [-a, b], [-a, -b], [a, -b]])
    # Vertical shares with this sum and these moments: the least of all (the sensors are redundant).
    z = np.linalg.pinv(np.stack([np.ones(4), places[:, 1], -places[:, 0]])) @ [force[2], *moment[:2]]
    shear = np.linalg.pinv(np.array([[1.0, 1, 0, 0], [0, 0, 1, 1], [-b, b, a, -a]])) @ [*force[:2], moment[2]]
    return np.array([*shear, *z])


def plate_file(
    path: Path,
    kinds: tuple[int, ...],
    corners: list[np.ndarray],
    channels: list[np.ndarray],
    *,
    origin: np.ndarray | None = None,
    matrix: np.ndarray | None = None,
    zero: tuple[int, int] = (0, 0),
    units: list[str] | None = None,
    scale: float = 1.0,
    offset: int = 0,
    channel: np.ndarray | None = None,
    n_frame: int = 4,
    profile: np.ndarray | None = None,
    first_frame: int = 0,
    used: int | None = None,
    screen: str = "+Z",
    lengths: tuple[str, float] = ("mm", 1.0),
) -> Path:
    """A file of standing markers, and of plates with these channels, times `profile` (n_sample,).

    lengths : POINT:UNITS, "" = missing, and the unit of length in which points are stored [mm]; corners,
        origin and channels are stored as given
    """
    n_row = 8 if 3 in kinds else 6
    width = sum(len(values) for values in channels)
    wired = np.zeros((n_row, len(kinds)))
    start = 0
    for p, values in enumerate(channels):
        wired[: len(values), p] = np.arange(start + 1, start + 1 + len(values))
        start += len(values)
    profile = np.ones(n_frame * N_SUB) if profile is None else profile
    samples = profile[:, None] * np.concatenate(channels) / scale + offset
    origins = np.stack([SENSORS if kind == 3 else ORIGIN for kind in kinds]) if origin is None else origin
    plate: dict[str, object] = {
        "USED": len(kinds) if used is None else used,
        "TYPE": tuple(kinds),
        "ZERO": zero,
        "CORNERS": np.stack([c.T for c in corners], axis=2),
        "ORIGIN": np.ascontiguousarray(origins.T),
        "CHANNEL": wired if channel is None else channel,
    }
    if matrix is not None:
        plate["CAL_MATRIX"] = matrix
    analog: dict[str, object] = {
        "USED": width,
        "RATE": 100.0 * N_SUB,
        "GEN_SCALE": 1.0,
        "SCALE": np.full(width, scale),
        "OFFSET": tuple([offset] * width),
        "LABELS": [f"C{i}" for i in range(width)],
    }
    if units:
        analog["UNITS"] = units
    points = np.full((n_frame, 3, 3), 500.0)
    points[:, :, 2] = [950.0, 480.0, 50.0]
    points /= lengths[1]
    units_of_points = {"UNITS": [lengths[0]]} if lengths[0] else {}
    point: dict[str, object] = {
        **units_of_points, "RATE": 100.0, "USED": 3, "SCALE": -0.1, "FRAMES": n_frame,
        "LABELS": ["RASI", "RKNE", "RHEE"], "X_SCREEN": ["+X"], "Y_SCREEN": [screen],
    }  # fmt: skip
    parameters = {"POINT": point, "ANALOG": analog, "FORCE_PLATFORM": plate}
    content = c3d_bytes(
        points, None, 100.0, first_frame, parameters, "<", samples.reshape(n_frame, N_SUB, width)
    )
    path.write_bytes(content)
    return path
