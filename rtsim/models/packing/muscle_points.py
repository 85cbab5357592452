"""Points of muscles that are fixed in segments, for a stick figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernels.path.stations import POINT

if TYPE_CHECKING:
    from rtsim.models.model import Model

MusclePoints = dict[str, list[list[str | float]]]


def muscle_points(model: Model, mirrored: bool = False) -> MusclePoints:
    """Return, by muscle, rows (segment, x, y, z) of its points from origin to insertion, in the segment's
    frame [m].

    Moving and conditional points and wrapping are left out: the lines show the course of a muscle, not its
    length. The segment of points fixed to ground is "".

    mirrored : for a left leg that was solved as a right one, whose segments are mirrored back in results
    """
    stations, bodies, sign = model.stations, model.names.bodies, -1.0 if mirrored else 1.0
    found: MusclePoints = {}
    for name, first, end in zip(model.names.muscles, stations.start, stations.start[1:], strict=False):
        fixed = [k for k in range(int(first), int(end)) if stations.kind[k] == POINT]
        found[name] = [
            [bodies[stations.body[k]] if stations.body[k] >= 0 else "", x, y, sign * z]
            for k in fixed
            for x, y, z in (stations.point[k].tolist(),)
        ]
    return found
