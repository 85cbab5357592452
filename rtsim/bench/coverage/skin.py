"""Random marker errors: white noise, and skin that moves on the bone.

The skin motion of a segment has three parts: a translation and a rotation shared by all markers, and a part
of each marker on its own. In measurements with bone pins or fluoroscopy the two shared, rigid parts dominate:
four principal components contain 95 % of the variance of markers on the thigh, and they are translations and
rotations rather than deformations (Andersen et al. 2012, Gait & Posture 35, 606-611; Barre et al. 2017, J
Biomech 62, 21-26). Over the gait cycle each part follows a short Fourier series with random coefficients for
each walker. Its size is random, too, on average about that of docs/uncertainty.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Generator = np.random.Generator

SIZE_MM = {"pelvis": 5.0, "thigh": 7.0, "shank": 6.0, "foot": 3.0}
"""Root mean square of the skin motion of a marker along each axis, over persons and time [mm]."""
PERSONS = 0.3
"""Standard deviation of the logarithm of a person's skin motion: two thirds are 0.74 to 1.35 of the mean."""
RIGID = (0.5, 0.9)
"""Range of the fraction of the variance that is rigid motion, shared by all markers of the segment ..."""
TURN = (0.25, 0.75)
"""... and range of the fraction of this rigid part that is rotation."""
IN_TIME = np.sqrt([0.15, 0.5, 0.25, 0.1])
"""Amplitudes of the constant part and of the first three harmonics of a gait cycle."""
NOISE_MM = (0.2, 1.0)
"""Range of the standard deviation of white noise [mm]."""


def draw_noise(rng: Generator, shape: tuple[int, ...]) -> Array:
    """Draw white noise of marker positions with the given shape [m]."""
    return 1e-3 * rng.uniform(*NOISE_MM) * rng.normal(size=shape)


def draw_skin(rng: Generator, local: Array, size: float, phase: Array) -> Array:
    """Draw the displacements of the markers of a segment by skin motion, (n_frame, n_marker, 3) in the
    segment's frame [m].

    local : (n_marker, 3) - positions in the segment [m]; size : root mean square displacement along each
        axis [m]
    phase : (n_frame,) - phase of the gait cycle [rad]
    """
    size = size * np.exp(rng.normal(scale=PERSONS) - PERSONS**2)
    rigid, turn = rng.uniform(*RIGID), rng.uniform(*TURN)
    arms = local - local.mean(axis=0)
    shift = size * np.sqrt(rigid * (1.0 - turn)) * draw_course(rng, phase, 3)
    own = size * np.sqrt(1.0 - rigid) * draw_course(rng, phase, local.size).reshape(len(phase), -1, 3)
    # a turn of the size s moves a marker by s |arm| in two of three directions
    angle = size * np.sqrt(1.5 * rigid * turn / np.mean(np.sum(arms**2, axis=1)))
    turned = np.cross((angle * draw_course(rng, phase, 3))[:, None, :], arms[None, :, :])
    return np.asarray(shift[:, None, :] + turned + own)


def draw_course(rng: Generator, phase: Array, n: int) -> Array:
    """Draw n independent periodic curves over the gait cycle with a mean square of 1, (n_frame, n)."""
    total = IN_TIME[0] * rng.normal(size=n) * np.ones((len(phase), 1))
    for k, part in enumerate(IN_TIME[1:], start=1):
        cosine, sine = rng.normal(size=(2, n))
        total = total + part * (np.cos(k * phase)[:, None] * cosine + np.sin(k * phase)[:, None] * sine)
    return total
