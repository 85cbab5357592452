"""Heel and tip of the toes frame by frame, from the markers of a stream."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kernels._jit import bind
from kernels.intake import take_in
from rtsim.config.lab_schema import Lab
from rtsim.subjects.foot_lines import FOREFOOT, MIDDLE, TOES
from rtsim.subjects.labs import SIDES, side_of
from rtsim.subjects.marker_names import find_markers

FloatArray = NDArray[np.float64]


class FootMarkers:
    """The lines of foot_lines, of which markers are on the forefoot being told from the frames so far.

    Attributes
    ----------
    lines : (2, 2, 3) - heel and tip of the toes of the right and the left foot [m]; NaN where not seen
    known : whether the markers of each foot are in the stream
    """

    def __init__(self, labels: Sequence[str], lab: Lab | None, scale: float, z_up: bool) -> None:
        """labels : of the stream's markers; scale : metres per unit of the stream"""
        self._feet = [self._foot(labels, lab, side) for side in SIDES] if lab is not None else [None, None]
        self.known = tuple(foot is not None for foot in self._feet)
        self.lines: FloatArray = np.full((2, 2, 3), np.nan)
        rows = [foot.rows for foot in self._feet if foot is not None]
        self._source = np.concatenate([np.empty(0, np.int64), *rows])
        self._places = np.full((len(self._source), 3), np.nan)
        self._scale, self._z_up = scale, int(z_up)
        self._group = np.zeros(len(self._source), np.int64)
        example = (np.zeros((1, 3)), self._source, 1.0, 0, 0, self._group, self._places)
        self._take_in = bind(take_in, example)

    def bearing(self, markers: Collection[str], otherwise: int) -> int:
        """The foot, 0 right or 1 left by its labels, that has most of these markers; `otherwise`, if none.

        The side of a person is where a leg really stands, its labels may say the other.
        """
        n = [sum(name in markers for name in foot.names) if foot is not None else 0 for foot in self._feet]
        return otherwise if n[0] == n[1] else int(n[1] > n[0])

    def take(self, positions: FloatArray) -> FloatArray:
        """`lines` of a frame; positions : (n_label, 3) in the unit and axes of the stream."""
        if not len(self._source):
            return self.lines
        self._take_in(positions, self._source, self._scale, self._z_up, 0, self._group, self._places)
        first = 0
        for foot, line in zip(self._feet, self.lines, strict=True):
            if foot is not None:
                places = self._places[first : first + len(foot.rows)]
                foot.draw(places.tolist(), line)
                first += len(foot.rows)
        return self.lines

    @staticmethod
    def _foot(labels: Sequence[str], lab: Lab, side: str) -> _Foot | None:
        table = side_of(lab, side)
        wanted = dict.fromkeys(
            [table.calcaneus, *table.tracking.foot, table.metatarsal_1, table.metatarsal_5]
        )
        found = find_markers(list(wanted), labels)
        if table.calcaneus not in found or len(found) < 2:
            return None
        heel = found.pop(table.calcaneus)
        return _Foot({table.calcaneus: heel, **found}, table.metatarsal_5, 1.0 if side == "right" else -1.0)


class _Foot:
    """The markers of one foot, the heel first."""

    def __init__(self, markers: Mapping[str, int], fifth: str, outwards: float) -> None:
        self.names = tuple(markers)
        self.rows = np.array([*markers.values()], np.int64)
        others = self.names[1:]
        self._fifth = others.index(fifth) if fifth in others else -1
        self._outwards = outwards
        self._reach = [0.0] * len(others)  # sums of the distances from the heel, along the floor
        self._n_seen = [0] * len(others)

    def draw(self, places: list[list[float]], line: FloatArray) -> None:
        """line : (2, 3), from the places of the markers; a few numbers, for which arrays are slow."""
        (hx, hy, hz), others = places[0], places[1:]
        reach = []
        for k, (x, _, z) in enumerate(others):
            away = ((x - hx) ** 2 + (z - hz) ** 2) ** 0.5
            if away == away:
                self._reach[k] += away
                self._n_seen[k] += 1
            reach.append(self._reach[k] / self._n_seen[k] if self._n_seen[k] else 0.0)
        farthest = max(reach)
        fore = [k for k, away in enumerate(reach) if away >= FOREFOOT * farthest > 0.0]
        if not fore:
            line[...] = np.nan
            return
        x, y, z = (sum(others[k][i] for k in fore) / len(fore) for i in range(3))
        if fore == [self._fifth]:
            x, z = (
                x + MIDDLE * self._outwards * (z - hz),
                z - MIDDLE * self._outwards * (x - hx),
            )
        line[0] = hx, hy, hz
        line[1] = hx + TOES * (x - hx), hy + TOES * (y - hy), hz + TOES * (z - hz)
