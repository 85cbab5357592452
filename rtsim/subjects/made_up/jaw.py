"""The built-in synthetic jaw: markers in front of the teeth in the tasks of Andersen et al. (2017), not a
recording.

The highest point of each condyle moves forwards and down along a curved path on the articular eminence, flat
at first and steepest half-way, unlike the plane and the fossa of the jaw models of rtsim. In chewing both
condyles move to one side, and the jaw rotates about the line through them. The head nods and drifts a little;
markers have white noise. Amplitudes are synthetic, of the size of unloaded chewing, protrusion and
half-opening.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial

Array = NDArray[np.float64]

NOISE_M = 0.0001
DROP = (0.42, 45.0, -2200.0)
"""Coefficients of the path, in metres: drop = 0.42 x + 45 x^2 - 2200 x^3, at most 36 degrees steep."""
CONDYLE_M = 0.05
"""Half the distance of the condyles' highest points."""


class Task(NamedTuple):
    """A cyclic movement of the synthetic jaw, such as chewing: its frequency, and the rotation and
    displacements of the mandible from closed to fully open or protruded.
    """

    frequency_hz: float
    opening_deg: float
    forward_mm: float  # of both condyles
    crosswise_mm: float  # how much farther forwards the left condyle moves than the right one
    sway_mm: float  # amplitude of the sideways motion of both condyles


TASKS = {
    "chewing": Task(1.0, 8.0, 2.5, 2.0, 0.5),
    "protrusion": Task(0.5, 2.5, 5.0, 0.3, 0.2),
    "opening": Task(0.5, 14.0, 6.0, 0.5, 0.3),
}


def task_of(name: str) -> Task:
    """Return the movement of the jaw with this name; ConfigError lists the allowed names."""
    if name not in TASKS:
        raise ConfigError(f"unknown task {name!r}", where="jaw", allowed=", ".join(TASKS))
    return TASKS[name]


def jaw_in_skull(name: str, times: Array) -> tuple[Array, Array]:
    """Return rotations (n, 3, 3) and origins (n, 3) [m] of the mandible in the skull (X forwards, Y up, Z
    right) at times (n,) [s]; name : the movement of the jaw, such as "chewing"
    """
    task = task_of(name)
    phase = 2.0 * np.pi * task.frequency_hz * times
    way, later = 0.5 * (1.0 - np.cos(phase)), 0.5 * (1.0 - np.cos(phase - 0.6))
    forward = 1e-3 * (task.forward_mm * way[:, None] + 0.5 * task.crosswise_mm * later[:, None] * [-1.0, 1.0])
    a, b, c = DROP
    down = a * forward + b * forward**2 + c * forward**3
    aside = 1e-3 * task.sway_mm * np.sin(phase - 0.3) * way
    ends = np.stack([forward, -down, np.array([CONDYLE_M, -CONDYLE_M]) + aside[:, None]], axis=-1)
    across = ends[:, 0] - ends[:, 1]
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    ahead = np.cross([0.0, 1.0, 0.0], across)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    level = np.stack([ahead, np.cross(across, ahead), across], axis=-1)
    turn = Rotation.from_rotvec(np.radians(-task.opening_deg) * way[:, None] * [0.0, 0.0, 1.0])
    return level @ turn.as_matrix(), ends.mean(axis=1)


def skull_in_ground(times: Array) -> tuple[Array, Array]:
    """Return rotations (n, 3, 3) and origins (n, 3) [m] of the skull in ground at times (n,) [s], for a
    person who tries to hold the head still.
    """
    slow = 2.0 * np.pi * 0.3 * times[:, None]
    turn = np.radians([1.0, 1.5, 2.0]) * np.sin(slow + np.arange(3.0))
    shift = np.array([0.0, 1.2, 0.0]) + 0.003 * np.sin(slow + 0.5 + np.arange(3.0))
    return Rotation.from_rotvec(turn).as_matrix(), shift


def move_jaw(
    spec: ModelSpec, task: str, duration_s: float = 10.0, rate: float = 100.0, seed: int = 1
) -> MarkerTrial:
    """Return the markers of the synthetic jaw in a movement, `task`, such as "chewing"; the same seed gives
    the same trial.

    spec : model with the bodies skull and mandible, whose markers are used
    """
    n = max(1, round(duration_s * rate))
    times = np.arange(n) / rate
    R_skull, x_skull = skull_in_ground(times)
    R_jaw, x_jaw = jaw_in_skull(task, times)
    poses = {
        "skull": (R_skull, x_skull),
        "mandible": (R_skull @ R_jaw, x_skull + np.einsum("nij,nj->ni", R_skull, x_jaw)),
    }
    columns = []
    for marker in spec.markers:
        R, x = poses[marker.segment]
        columns.append(R @ (1e-3 * np.array(marker.offset_mm)) + x)
    positions = np.stack(columns, axis=1)
    positions += np.random.default_rng(seed).normal(scale=NOISE_M, size=positions.shape)
    note = f"synthetic: {task} at {TASKS[task].frequency_hz:g} Hz"
    names = tuple(marker.name for marker in spec.markers)
    return MarkerTrial(
        names=names, times=times, positions=positions, rate=rate, source=f"jaw:{task}", notes=(note,)
    )
