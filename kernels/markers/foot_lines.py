"""Heel and tip of the toes of both feet in every frame, from the markers of a stream.

A marker counts as one of the forefoot if its mean distance from the heel marker along the floor, over the
frames so far, is nearly as large as that of the farthest marker. The tip of the toes lies on the line from
the heel to the mean of the forefoot's markers, as in rtsim/subjects/feet/foot_lines. A marker farther from
the heel than any foot is long counts as occluded: one such frame would distort the mean of many.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.compiler.jit import njit
from kernels.markers.marker_intake import take_in

LONGEST = 0.5
"""Upper bound of the length of a foot [m]."""


class MarkedFeet(NamedTuple):
    """Markers of the feet that a stream contains, foot after foot, the heel marker first, with their
    distances so far.
    """

    source: np.ndarray  # (n,) int64 - rows of the stream
    first: np.ndarray  # (n_foot + 1,) int64 - where each foot begins
    line: np.ndarray  # (n_foot,) int64 - 0 right, 1 left
    fifth: np.ndarray  # (n_foot,) int64 - place of the fifth metatarsal's marker, -1 = none
    reach: Annotated[np.ndarray, Floats("n")]  # sums of the distances from the heel, along the floor [m]
    n_seen: Annotated[np.ndarray, Integers("n")]  # how many distances these are
    group: Annotated[np.ndarray, Integers("n")]  # zeros
    place: Annotated[np.ndarray, Floats("n", 3, fill=math.nan)]  # of the markers in ground [m]


class FootShape(NamedTuple):
    """Ratios of lengths that give the tip of the toes from the foot's markers, and say which of these are on
    the forefoot.
    """

    forefoot: float  # a marker at this fraction of the farthest one's distance or more is on the forefoot
    toes: float  # distance from the heel to the tip, divided by that to the middle of the forefoot
    middle: float  # from the fifth metatarsal inwards, divided by its distance from the heel


def new_marked_feet(source, first, line, fifth):
    """Allocate the MarkedFeet before the first frame; the arguments become its fields of the same names."""
    n = len(source)
    return allocate(MarkedFeet, n=n, source=source, first=first, line=line, fifth=fifth)


@njit
def draw_feet(positions, scale, z_up, shape, feet, lines_out):
    """Write heel and tip of the toes of both feet in a frame; NaN for a foot with a marker missing that is
    needed.

    positions : (n_label, 3) - all markers of the stream as received, in a unit of `scale` metres
    scale : float - metres per unit of the stream
    z_up : int - 1 = the stream has Z up, which is rotated to Y up
    shape : FootShape - tip of the toes relative to the foot's markers
    feet : MarkedFeet - markers of the feet; its fields reach, n_seen and place are written
    lines_out : (2, 2, 3) - heel and tip of the toes of right and left foot [m], written
    """
    take_in(positions, feet.source, scale, z_up, 0, feet.group, feet.place)
    for f in range(feet.line.shape[0]):
        draw_foot(feet, f, shape, lines_out[feet.line[f]])


@njit
def draw_foot(feet, f, shape, line_out):
    """Write the heel and the tip of the toes of foot f; NaN where no forefoot is known yet, or a needed
    marker is occluded.

    feet : MarkedFeet - markers of the feet; its fields reach, n_seen and place are written
    f : int - index of the foot
    shape : FootShape - tip of the toes relative to the foot's markers
    line_out : (2, 3) - heel and tip of the toes [m], written
    """
    heel, end, place = feet.first[f], feet.first[f + 1], feet.place
    farthest = 0.0
    for k in range(heel + 1, end):
        away = math.hypot(place[k, 0] - place[heel, 0], place[k, 2] - place[heel, 2])
        if away <= LONGEST:
            feet.reach[k] += away
            feet.n_seen[k] += 1
        else:
            place[k, :] = math.nan
        farthest = max(farthest, mean_reach(feet, k))
    n_fore, x, y, z, fifth_alone = 0, 0.0, 0.0, 0.0, False
    for k in range(heel + 1, end):
        if farthest > 0.0 and mean_reach(feet, k) >= shape.forefoot * farthest:
            x, y, z, n_fore = x + place[k, 0], y + place[k, 1], z + place[k, 2], n_fore + 1
            fifth_alone = n_fore == 1 and k == feet.fifth[f]
    if n_fore == 0:
        line_out[:, :] = math.nan
        return
    hx, hy, hz = place[heel, 0], place[heel, 1], place[heel, 2]
    x, y, z = x / n_fore, y / n_fore, z / n_fore
    if fifth_alone:
        inwards = shape.middle * (1.0 - 2.0 * feet.line[f])
        x, z = x + inwards * (z - hz), z - inwards * (x - hx)
    line_out[0, 0], line_out[0, 1], line_out[0, 2] = hx, hy, hz
    line_out[1, 0], line_out[1, 1] = hx + shape.toes * (x - hx), hy + shape.toes * (y - hy)
    line_out[1, 2] = hz + shape.toes * (z - hz)


@njit
def mean_reach(feet, k):
    """Return the mean distance of marker k from the heel along the floor [m]; 0 as long as the marker has not
    been visible.

    feet : MarkedFeet - markers of the feet, with the sums of these distances; k : int - row of the marker in
        its fields.
    """
    return feet.reach[k] / feet.n_seen[k] if feet.n_seen[k] > 0 else 0.0
