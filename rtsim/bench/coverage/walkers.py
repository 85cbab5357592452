"""Synthetic persons who walk: body sizes, marker placement, joint angles and speed are drawn at random."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.model_schema import ModelSpec
from rtsim.subjects.anatomy import Anatomy
from rtsim.subjects.made_up.walker import ANGLES, CYCLE_S, Angles, body_poses
from rtsim.subjects.subject import Subject, SubjectSegment

Array = NDArray[np.float64]
Generator = np.random.Generator

RATE = 100.0
CYCLES = 1.5
"""Number of gait cycles of a walk, which begins at a random phase."""
STATURE = (0.65, 1.12)
"""Range of stature relative to the built-in walker's 1.75 m: from a child of 1.14 m to an adult of 1.96 m."""
PROPORTION = (0.93, 1.07)
"""Range of a further factor on the size of each segment, in addition to the stature."""
AXES_DEG = 2.0
"""Standard deviation of random changes of the angles between a segment's axes [deg]."""
BESIDE_MM = 15.0
"""Standard deviation of the displacement of a marker along each axis [mm]."""
N_EXTRA = 2
"""Largest number of markers that a segment has in addition to those of the built-in walker."""
FEWEST = 3
"""Smallest number of markers of a segment."""
PACE = (0.8, 1.4)
"""Range of the duration of a gait cycle relative to the built-in walker's."""
RANGE = (0.7, 1.25)
"""Range of the motion of each joint relative to the built-in walker's."""
POSTURE_DEG, FIRST_DEG = 4.0, 2.0
"""Standard deviations of random changes of each angle's mean, and of its first harmonic [deg]."""


class Walker(NamedTuple):
    """A person who walks on a treadmill, generated at random as the known truth of the coverage benchmark.

    phase : (n_frame,) - phase of the gait cycle [rad]; dt : time between frames [s]
    positions : (n_frame, n_marker, 3) - markers in ground, Y up [m], without any error, for a knee that
        rotates about its epicondylar axis
    """

    subject: Subject
    phase: Array
    positions: Array
    dt: float


def draw_walker(rng: Generator, spec: ModelSpec, base: Subject) -> Walker:
    """Draw a random walker; base : the person whose sizes and markers are varied."""
    subject = draw_subject(rng, base)
    cycle = CYCLE_S * rng.uniform(*PACE)
    n = round(CYCLES * cycle * RATE)
    phase = 2.0 * np.pi * (rng.random() + np.arange(n, dtype=np.float64) / (cycle * RATE))
    rotations, origins = body_poses(spec, Anatomy(spec, subject), phase, draw_angles(rng))
    columns = [
        rotations[name] @ (1e-3 * np.array(local)) + origins[name]
        for name, segment in subject.segments.items()
        for local in segment.markers_mm.values()
    ]
    return Walker(subject, phase, np.stack(columns, axis=1), 1.0 / RATE)


def draw_subject(rng: Generator, base: Subject) -> Subject:
    """Draw a random person of another size and other proportions, with markers placed elsewhere."""
    stature = rng.uniform(*STATURE)
    segments = {name: draw_segment(rng, segment, stature) for name, segment in base.segments.items()}
    return msgspec.structs.replace(base, name="drawn", segments=segments)


def draw_segment(rng: Generator, base: SubjectSegment, stature: float) -> SubjectSegment:
    """Draw a segment of another size, whose markers are moved, left out or added between others at random.

    base : the segment that is varied; stature : body height of the drawn person relative to that of the base
    """
    size = stature * rng.uniform(*PROPORTION)
    placed = [size * np.array(x) for x in base.markers_mm.values()]
    names = list(base.markers_mm)
    for k in range(rng.integers(N_EXTRA + 1)):
        first, second = rng.choice(len(names), 2, replace=False)
        placed.append(0.5 * (placed[first] + placed[second]))
        names.append(f"{names[0]}_{k}")
    kept = sorted(rng.permutation(len(names))[: rng.integers(FEWEST, len(names) + 1)])
    alpha, beta, gamma = rng.normal((base.alpha_deg, base.beta_deg, base.gamma_deg), AXES_DEG)
    return SubjectSegment(
        length_mm=size * base.length_mm,
        alpha_deg=float(alpha),
        beta_deg=float(beta),
        gamma_deg=float(gamma),
        markers_mm={names[k]: tuple(placed[k] + rng.normal(scale=BESIDE_MM, size=3)) for k in kept},
        points_mm={name: tuple(size * c for c in x) for name, x in base.points_mm.items()},
    )


def draw_angles(rng: Generator) -> Angles:
    """Draw joint angles that resemble walking, with random means and ranges."""
    drawn: Angles = {}
    for name, (mean, harmonics) in ANGLES.items():
        factor = rng.uniform(*RANGE)
        rows = factor * np.array(harmonics)
        rows[0] += rng.normal(scale=FIRST_DEG, size=2)
        drawn[name] = (mean + rng.normal(scale=POSTURE_DEG), tuple((float(a), float(b)) for a, b in rows))
    return drawn
