"""A search that extends over several frames, on the points of the frame in which it began."""

from __future__ import annotations

from collections.abc import Generator
from typing import Generic, TypeVar

import numpy as np

from rtsim.labelling.body import Array, Indices

Found = TypeVar("Found")


class RunningSearch(Generic[Found]):
    """A search that pauses after each step.

    Parameters
    ----------
    search : generator that yields after each step; points : (n, 3) - points that it uses [m]
    given : (n_marker,) - the point of each labelled marker, -1 = none
    numbers, marker : (k,) - track number and marker (-1 = none) of the first k points, those without names
    """

    def __init__(
        self,
        search: Generator[None, None, Found],
        points: Array,
        given: Indices,
        numbers: Indices,
        marker: Indices,
    ) -> None:
        self.points, self.given = points, given
        self.numbers, self.marker = numbers.copy(), marker.copy()
        self._search = search

    def go_on(self, n_step: int) -> tuple[bool, Found | None]:
        """Continue by n_step steps, 0 = to the end; return whether the search is finished, and its result."""
        done = 0
        while True:
            try:
                next(self._search)
            except StopIteration as end:
                return True, end.value
            done += 1
            if done == n_step:
                return False, None

    def carried(self, numbers: Indices, points: Indices) -> Indices:
        """Transfer the points found by the search to a later frame by their track numbers; return their
        indices in that frame, -1 = none or disappeared.

        numbers : track numbers of the points of the later frame
        points : (m,) points found, as indices in the frame in which the search began, -1 = none
        """
        row_of = {number: row for row, number in enumerate(numbers.tolist())}
        row_of[-1] = -1
        sought = np.where((points >= 0) & (points < len(self.numbers)), points, -1)
        own = np.append(self.numbers, -1)[sought]
        return np.array([row_of.get(number, -1) for number in own.tolist()], np.int64)

    def named(self, numbers: Indices, marker: Indices) -> Indices:
        """Return the point of each marker in the frame in which the search began, according to the labels of
        a later frame, (n_marker,), -1 = none. A marker that has been hidden since then keeps its point,
        which the search used as well.

        numbers, marker : track number of each point of the later frame, and the marker that it is labelled
            as, -1 = none
        """
        label_of = dict(zip(numbers.tolist(), marker.tolist(), strict=True))
        points = self.given.copy()
        own = self.numbers.tolist()
        for row, m in enumerate(self.marker.tolist()):
            if m >= 0 and own[row] not in label_of:
                points[m] = row
        for row, number in enumerate(own):
            if (m := label_of.get(number, -1)) >= 0:
                points[m] = row
        return points
