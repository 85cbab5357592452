"""Mass properties of the trunk segment: upper and middle trunk, head and both arms as one rigid body.

The parts stand as in upright standing with hanging arms, on the line from the middle of the shoulder markers
(origin) to the centre of L5/S1, all as long as on the mean person of that stature (de Leva 1996):
  upper trunk : from the suprasternal notch, taken to be level with the shoulder markers, down to the xiphion
  middle trunk : from there down to the navel; the part below belongs to the pelvis
  head : its vertex 0.182 of the stature above the shoulders (Winter 2009, Biomechanics and Motor Control of
      Human Movement, fig. 4.1: shoulders at 0.818)
  arms : straight down, 0.129 of the stature to each side (same figure), the upper arm from the level of the
      shoulder markers, forearm and hand after it
Arms that move differently, or a nodding head, increase the residual of the dynamics.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.inertia_schema import Population, SegmentShare
from rtsim.subjects.calibration.natural import Segment

Array = NDArray[np.float64]

VERTEX, HALF_WIDTH = 0.182, 0.129
"""Height of the vertex above the shoulders, and half the shoulder width, divided by the stature."""
ARM = ("upper_arm", "forearm", "hand")
TRUNK_PARTS = ("upper_trunk", "middle_trunk")


def upper_body(
    segment: Segment, mass: float, stature: float, table: Population
) -> tuple[float, Array, Array]:
    """Return mass [kg], its centre (3,) [m] and inertia (3, 3) about it [kg m^2] in the trunk's frame.

    mass, stature : mass and stature of the whole person [kg, m]; table : the mean person
    """
    scale = stature / table.stature_mm
    axes = segment.axes("v", "w")
    rows: list[tuple[SegmentShare, float, float]] = [(table.segments["head"], VERTEX * stature, 0.0)]
    rows += hanging(table, TRUNK_PARTS, scale, 0.0)
    for side in (-1.0, 1.0):
        rows += hanging(table, ARM, scale, side * HALF_WIDTH * stature)
    parts = [
        part(share, scale, mass, axes @ np.array([0.0, top, beside]), axes) for share, top, beside in rows
    ]
    total = sum(m for m, *_ in parts)
    centre = sum(m * x for m, x, _ in parts) / total
    inertia = sum(J + m * away_from_axes(x - centre) for m, x, J in parts)
    return total, np.asarray(centre), np.asarray(inertia)


def hanging(
    table: Population, names: tuple[str, ...], scale: float, beside: float
) -> list[tuple[SegmentShare, float, float]]:
    """Stack segments downwards from the level of the shoulders; return for each its row of the table, the
    height of its upper end above the shoulders, and its lateral distance from the middle [m].

    table : mean person; names : names of the segments from top to bottom
    scale : stature [m] divided by that of the mean person [mm]; beside : lateral distance of all segments [m]
    """
    found, top = [], 0.0
    for name in names:
        found.append((table.segments[name], top, beside))
        top -= scale * table.segments[name].length_mm
    return found


def part(
    share: SegmentShare, scale: float, mass: float, top: Array, axes: Array
) -> tuple[float, Array, Array]:
    """Return mass [kg], mass centre (3,) [m] and inertia about it (3, 3) [kg m^2] of one upright segment.

    share : mass, length, centre and radii of gyration of the segment in the mean person
    scale : stature [m] divided by that of the mean person [mm]
    mass : mass of the whole person [kg]
    top : (3,) position of the segment's upper end [m]; axes : (3, 3) its axes as columns, Y upwards
    """
    length, m = scale * share.length_mm, 1e-2 * share.mass_percent * mass
    sagittal, transverse, longitudinal = 1e-2 * length * np.array(share.radii_percent)
    radii = np.array([sagittal, longitudinal, transverse])
    return m, top - 1e-2 * share.centre_percent * length * axes[:, 1], m * (axes * radii**2) @ axes.T


def away_from_axes(x: Array) -> Array:
    """Return the inertia of a unit mass at x (3,) about the origin (parallel axis theorem), (3, 3) [m^2]."""
    return np.asarray(x @ x * np.eye(3) - np.outer(x, x))
