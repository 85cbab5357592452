"""Pressure under one step, matched to the plate's force and position; each match is optional and reported.

A pressure mat may respond slowly, saturate, and lie at an unknown position (Brown 2017, section 5.3.1 and
figure 5.8). So the pressure of each frame is scaled until its sum is the force of the plate. The mat is moved
and rotated until its centre of pressure follows that of the plate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.pressure.pressure_trial import PressureTrial

Array = NDArray[np.float64]

N_FRAME = 15
"""Frames of a step whose pressure is compared (section 5.3.2)."""
LIGHT = 0.1
"""Part of the step's greatest force; frames with less force are not used to locate the mat."""
APART = 0.015
"""RMS distance of the centres of pressure of mat and plate, above which they are hardly of one step [m]."""


class StepPressure(NamedTuple):
    """Measured pressure, in the frame of the step.

    frames : (n,) int64 frames of the step with pressure
    cells : (n_cell, 2) centres of the cells, X and Y [m]
    area : area of a cell [m^2]
    pressure : (n, n_cell) [Pa]
    notes : sentences on scaling and alignment
    """

    frames: NDArray[np.int64]
    cells: Array
    area: float
    pressure: Array
    notes: tuple[str, ...] = ()


def chosen_frames(n: int, n_frame: int = N_FRAME) -> NDArray[np.int64]:
    """Return the frames of a footstep, at most n_frame of its n frames, in which the pressure is compared:
    evenly over the contact, without the first and the last one.
    """
    inner = np.linspace(0.0, n - 1.0, n_frame + 2)[1:-1]
    return np.unique(np.round(inner).astype(np.int64))


def lay_pressure(
    trial: PressureTrial,
    times: Array,
    normal: Array,
    centre: Array,
    *,
    scaled: bool = True,
    placed: bool = True,
    delay: float = 0.0,
) -> StepPressure:
    """Prepare the recorded pressure under a footstep for comparison with the contact model: scale it to the
    force of the plate, and align the mat with the plate.

    delay : time of the trial at which the time of the file is 0 [s]

    times : (n,) - of the step's frames [s]
    normal : (n,) - force of the plate [N]; centre : (n, 2) - its centre of pressure [m]
    scaled : whether it is scaled to the force of the plate, frame by frame
    placed : whether the mat is aligned by its centre of pressure; otherwise its rows are along Y and its
      columns along X, beginning at the origin

    Raises ConfigError if the file only has the peak pressures of all frames in one image, and if its frames
    do not cover the footstep.
    """
    if trial.peak:
        raise ConfigError("an image of peak pressures has no frames that could be compared with a footstep",
                          where=trial.source,
                          remedy="give a recording of the pressure over time, or leave it out")  # fmt: skip
    at = trial.times + delay
    frames = chosen_frames(len(times))
    if times[frames[0]] < at[0] or times[frames[-1]] > at[-1]:
        raise ConfigError(
            f"the pressure lasts from {at[0]:.2f} to {at[-1]:.2f} s, but the footstep from {times[0]:.2f} to "
            f"{times[-1]:.2f} s",
            where=trial.source,
            remedy="give the delay of the pressure recording relative to the trial",
        )
    nearest = np.abs(at[None] - times[frames, None]).argmin(axis=1)
    there = np.isfinite(trial.pressure).any(axis=0)
    pressure = np.nan_to_num(trial.pressure[nearest][:, there])
    rows, columns = np.nonzero(there)
    cells = trial.origin + trial.cell * np.stack([rows, columns], axis=1)
    cells = cells[:, ::-1]
    area = float(trial.cell.prod())
    notes = []
    total = pressure.sum(axis=1) * area
    if not (total > 0.0).all():
        raise ConfigError("in some frames of the footstep the pressure is 0 in all cells", where=trial.source,
                          remedy="give the delay of the pressure relative to the trial")  # fmt: skip
    if scaled:
        factor = normal[frames] / total
        pressure = pressure * factor[:, None]
        notes.append(f"pressure was scaled to the plate's force, by {factor.min():.2f} to {factor.max():.2f}")
    if placed:
        heavy = normal[frames] > LIGHT * float(normal.max())
        path = pressure @ cells / pressure.sum(axis=1, keepdims=True)
        turn, shift, off = lay(path[heavy], centre[frames][heavy], normal[frames][heavy])
        cells = cells @ turn.T + shift
        notes.append(
            "the pressure mat was aligned by the centre of pressure; the remaining difference of the "
            f"centres is {1e3 * off:.1f} mm (RMS)"
        )
        if off > APART:
            notes.append(
                f"check the pressure: with a difference of more than {1e3 * APART:.0f} mm the "
                "pressure probably belongs to another footstep; the delay of the pressure, the foot "
                "or the footstep might be wrong"
            )
    return StepPressure(frames, cells, area, pressure, tuple(notes))


def lay(path: Array, goal: Array, weights: Array) -> tuple[Array, Array, float]:
    """Fit one path to another by least squares, by rotating and shifting it: return rotation (2, 2),
    translation (2,) [m] and remaining distance (RMS) [m].

    The rotation includes a reflection if that fits better.

    path, goal : (n, 2) paths of the same centre of pressure [m]
    weights : (n,)
    """
    share = weights / weights.sum()
    a, b = share @ path, share @ goal
    u, _, vt = np.linalg.svd((goal - b).T @ (share[:, None] * (path - a)))
    turn = u @ vt
    left = path @ turn.T + (b - turn @ a) - goal
    return turn, b - turn @ a, float(np.sqrt(share @ (left**2).sum(axis=1)))
