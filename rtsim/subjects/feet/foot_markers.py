"""Heel and tip of the toes frame by frame, from the markers of a stream."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import hold
from kernels.markers.foot_lines import FootShape, draw_feet, new_marked_feet
from rtsim.config.models.both_sides_schema import SUFFIXES
from rtsim.config.runs.lab_schema import LabMap
from rtsim.subjects.feet.foot_lines import FOREFOOT, MIDDLE, TOES
from rtsim.subjects.markers.labs import SIDES, side_of
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.subject import Subject, kind_of_segment

FloatArray = NDArray[np.float64]
FLOAT = np.dtype(np.float64)


class FootMarkers:
    """Lines of both feet from heel to tip of the toes, updated by the markers of each frame of a stream. The
    frames so far show which markers are on the forefoot.

    Attributes
    ----------
    lines : (2, 2, 3) - heel and tip of the toes of the right and the left foot [m]; NaN where not visible.
        Sides are those of the person if one is given, even where labels say the other side; else those of the
        labels
    known : whether the markers of each foot are in the stream
    """

    def __init__(
        self,
        labels: Sequence[str],
        lab: LabMap | None,
        scale: float,
        z_up: bool,
        subject: Subject | None = None,
    ) -> None:
        """Find the markers of both feet among the labels of a stream.

        labels : labels of the stream's markers; lab : the marker map, None = the feet are not known
        scale : metres per unit of the stream; z_up : whether its Z axis points up, else Y
        subject : the person who wears the markers
        """
        sides = list(SIDES)
        self._feet = [foot_of(labels, lab, side) if lab is not None else {} for side in sides]
        own = feet_of_person(subject) if subject is not None else {}
        if any(self.bearing(markers, k) != k for k, markers in own.items()):
            sides.reverse()
            self._feet.reverse()
        self.known = tuple(bool(foot) for foot in self._feet)
        self.lines: FloatArray = np.full((2, 2, 3), np.nan)
        lines = [k for k, foot in enumerate(self._feet) if foot]
        rows: list[int] = []
        first, fifth = [0], []
        for k in lines:
            foot = self._feet[k]
            name = side_of(lab, sides[k]).metatarsal_5 if lab is not None else ""
            fifth.append(first[-1] + list(foot).index(name) if name in foot else -1)
            rows += foot.values()
            first.append(len(rows))
        feet = new_marked_feet(*(np.array(n, np.int64) for n in (rows, first, lines, fifth)))
        shape = FootShape(FOREFOOT, TOES, MIDDLE)
        arguments = (np.zeros((1, 3)), scale, int(z_up), shape, feet, self.lines)
        self._draw, self._shape = hold(draw_feet, arguments, given=(0,)), (len(labels), 3)

    def bearing(self, markers: Collection[str], otherwise: int) -> int:
        """Return the foot, 0 right or 1 left, to which most of the given markers belong; `otherwise` if
        both have equally many.
        """
        n = [sum(name in markers for name in foot) for foot in self._feet]
        return otherwise if n[0] == n[1] else int(n[1] > n[0])

    def take(self, positions: FloatArray) -> FloatArray:
        """Update `lines` from the markers of a frame; positions : (n_label, 3) in the unit and axes of the
        stream

        For arrays of another shape `lines` becomes NaN, as the kernel does not check array bounds.
        """
        fits = positions.shape == self._shape and positions.dtype == FLOAT and positions.flags.c_contiguous
        if fits:
            self._draw(positions)
        else:
            self.lines[:] = np.nan
        return self.lines


def feet_of_person(subject: Subject) -> dict[int, Collection[str]]:
    """Map the side of a foot (0 right, 1 left) to the markers on this foot of a person."""
    found: dict[int, Collection[str]] = {}
    for name, segment in subject.segments.items():
        if kind_of_segment(name) == "foot":
            side = next((side for side, suffix in SUFFIXES.items() if name.endswith(suffix)), subject.side)
            found[SIDES.index(side)] = segment.markers_mm
    return found


def foot_of(labels: Sequence[str], lab: LabMap, side: str) -> dict[str, int]:
    """Return the markers of a foot and their indices in the stream, the heel first; {} if there are too
    few markers.
    """
    table = side_of(lab, side)
    wanted = dict.fromkeys([table.calcaneus, *table.tracking.foot, table.metatarsal_1, table.metatarsal_5])
    found = find_markers([name for name in wanted if name], labels)
    if table.calcaneus not in found or len(found) < 2:
        return {}
    heel = found.pop(table.calcaneus)
    return {table.calcaneus: heel, **found}
