"""Assignment of names to the markers of a NatNet frame, and detection of occluded markers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streams.capture.byte_reader import as_doubles
from streams.capture.natnet.frame import OCCLUDED, UNLABELLED, NatNetFrame
from streams.capture.natnet.messages import Definitions, MarkerSet

SAME = 1e-3
"""Distance within which a labelled marker and one of a set are the same marker [m]."""
MOST_COMPARED = 16
"""Markers of a set that are looked for among labelled markers with other numbers."""

MOST_MOVING = 100
"""A set that moves in so many frames, while none of its numbers is listed, has markers with other numbers."""


class NamedRows:
    """Positions of all markers that the definitions name, from frame to frame.

    names : names such as "Anna:LASI", made of the names of the marker set and the marker; if the name of the
      marker already begins with that of the set, the latter is not repeated

    Motive sends most markers twice: in their marker set, without a flag, and in a list of labelled markers,
    each with a number and a flag for occlusion. Positions are taken from the marker sets, in the order of
    their names. Marker k of a set (from 1) belongs to the labelled marker with the number `asset << 16 | k`.
    It is NaN if that labelled marker is flagged as occluded, or is missing although the server has sent
    labelled markers; so a set whose markers have not been seen yet is NaN as a whole. If the two have
    different positions, or the set's markers are seen under other numbers, or the set moves while none of its
    numbers has ever been listed (positions of who is outside are repeated), the numbers do not correspond.
    Then the flags are not used for this set, `disagreeing` counts the set, and only the position 0, 0, 0
    means an occlusion.
    """

    def __init__(self, definitions: Definitions) -> None:
        self._sets: list[_SetRows] = []
        names: list[str] = []
        for one in definitions.sets:
            rows = slice(len(names), len(names) + len(one.markers))
            self._sets.append(_SetRows(one, rows))
            names += [named(one.name, marker) for marker in one.markers]
        self.names = tuple(names)
        self._numbers = b""

    @property
    def disagreeing(self) -> int:
        """Number of marker sets whose labelled markers are at other positions than the set's markers with the
        same numbers, or have other numbers, so that the occlusion flags of the labelled markers are not used.
        """
        return sum(one.numbering is False for one in self._sets)

    @np.errstate(invalid="ignore", over="ignore")  # numbers that only a stranger sends
    def positions(self, frame: NatNetFrame) -> NDArray[np.float64] | None:
        """Return (n_marker, 3) [m], NaN = occluded; None where a set has another number of markers than
        defined."""
        found = np.empty((len(self.names), 3))
        found.fill(np.nan)
        labelled = frame.labelled
        numbers = labelled["number"].tobytes()
        if numbers != self._numbers:  # which is where, looked up only where the list has changed
            self._numbers = numbers
            order = np.argsort(labelled["number"], kind="stable")
            for one in self._sets:
                one.look_up(labelled["number"], order)
        for one in self._sets:
            if not one.fill(found[one.rows], frame):
                return None
        return found


class _SetRows:
    """Assignment of one marker set to its rows of the published array; it also knows whether the numbers of
    the labelled markers correspond to the markers of the set (`numbering`; None = not known yet).
    """

    def __init__(self, one: MarkerSet, rows: slice) -> None:
        self.rows = rows
        self.keys = (one.name.encode(), one.name.encode("latin-1", "replace"))
        self.numbering: bool | None = None
        self.asset = one.asset
        self.members = np.array(one.members, np.int32)
        self._ids = (one.asset << 16 | np.arange(1, len(one.markers) + 1)).astype(np.int32)
        self._at = np.zeros(len(one.markers), np.intp)
        self._there = np.zeros(len(one.markers), np.bool_)
        self._listed = False  # whether the server has sent labelled markers, of this set or another one
        self._known = False  # whether any of them has had a number of this set
        self._before = np.zeros((0, 3), np.float32)
        self._n_moving = 0

    def look_up(self, numbers: NDArray[np.int32], order: NDArray[np.intp]) -> None:
        """Find the markers of this set among the labelled markers of a frame, by their numbers, and store the
        result for the other methods.

        numbers : (n,) numbers of the labelled markers; order : (n,) indices that sort them
        """
        self._there[:] = False
        if len(numbers):
            k = np.searchsorted(numbers, self._ids, sorter=order)
            self._at = order[np.minimum(k, len(order) - 1)]
            self._there = numbers[self._at] == self._ids

    def fill(self, rows: NDArray[np.float64], frame: NatNetFrame) -> bool:
        """Write the set's positions into its rows; return False if the frame has another number of markers
        in this set than the definitions."""
        if len(self.members):
            return self._fill_from_asset(rows, frame)
        points = frame.sets.get(self.keys[0])
        if points is None:
            points = frame.sets.get(self.keys[1])
            if points is None:
                return True  # not tracked in this frame
        if len(points) != len(rows):
            return False
        rows[:] = points
        if np.count_nonzero(points) < points.size:
            rows[~points.any(axis=1)] = np.nan
        if self.asset >= 0 and self.numbering is not False:
            self._hide_occluded(rows, points, frame.labelled)
        return True

    def _hide_occluded(
        self, rows: NDArray[np.float64], points: NDArray[np.float32], labelled: NDArray[Any]
    ) -> None:
        """Set the rows to NaN whose labelled marker is occluded or missing, unless the numbers of labelled
        markers turn out to be others.

        rows, points : (n, 3) the set's positions, as published and as sent [m]; labelled : (m,) labelled
            markers
        """
        if not self._listed:
            self._listed = bool(((labelled["params"] & UNLABELLED) == 0).any())
            if not self._listed:
                return  # where Motive does not stream labelled markers, nothing is known of occlusions
        seen = self._there.copy()
        if seen.any():
            self._known = True
            seen &= (labelled["params"][self._at] & OCCLUDED) == 0
        if self.numbering is None:
            if seen.any():
                self.numbering = _agree(points, labelled["position"][self._at], seen)
            elif _elsewhere(points, labelled) or self._moves_unlisted(points):
                self.numbering = False
        if self.numbering is not False and not seen.all():
            rows[~seen] = np.nan

    def _moves_unlisted(self, points: NDArray[np.float32]) -> bool:
        """Return whether most markers of the set have moved in MOST_MOVING frames, while none of its numbers
        has ever been listed: what cameras measure is never twice the same, and what is not seen is repeated.

        points : (n, 3) the set's positions as sent [m]
        """
        if self._known:
            return False
        before, self._before = self._before, points
        if len(before) == len(points):
            moved = np.isfinite(points).all(axis=1) & (points != before).any(axis=1)
            self._n_moving += 2 * int(np.count_nonzero(moved)) > len(points)
        return self._n_moving >= MOST_MOVING

    def _fill_from_asset(self, rows: NDArray[np.float64], frame: NatNetFrame) -> bool:
        marks = frame.assets.get(self.asset)
        if marks is None:
            return True
        at = {int(number): k for k, number in enumerate(marks["number"])}
        for row, member in zip(rows, self.members, strict=True):
            k = at.get(int(member))
            if k is not None and not marks["params"][k] & OCCLUDED:
                row[:] = marks["position"][k]
        return True


def _agree(points: NDArray[Any], labelled: NDArray[Any], seen: NDArray[np.bool_]) -> bool | None:
    """Return whether labelled markers have the same positions as the markers of the set with the same
    numbers; None if no visible marker has a position.

    points, labelled : (n, 3) positions [m]; seen : (n,) whether a marker is visible
    """
    apart = np.abs(points[seen] - labelled[seen]).max(axis=1)
    apart = apart[np.isfinite(apart)]
    return bool(np.median(apart) <= SAME) if len(apart) else None


def _elsewhere(points: NDArray[Any], labelled: NDArray[Any]) -> bool:
    """Return whether at least half of a set's markers are at the positions of visible labelled markers,
    whatever the numbers of these; positions that the server only repeats are not.

    points : (n, 3) positions of the set's markers [m]; labelled : (m,) labelled markers
    """
    sent = points[np.isfinite(points).all(axis=1) & points.any(axis=1)][:MOST_COMPARED]
    visible = labelled["position"][(labelled["params"] & (OCCLUDED | UNLABELLED)) == 0]
    same = (np.abs(sent[:, None] - visible[None]) <= SAME).all(axis=2).any(axis=1)
    return len(sent) > 0 and bool(2 * np.count_nonzero(same) >= len(sent))


def unnamed_markers(frame: NatNetFrame) -> NDArray[np.float64]:
    """Return the visible markers of a frame that belong to no set : (n, 3) [m]."""
    params = frame.labelled["params"]
    nobody = (params & (UNLABELLED | OCCLUDED)) == UNLABELLED
    return as_doubles(frame.labelled["position"][nobody])


def named(set_name: str, marker: str) -> str:
    """Return the published name of a set's marker, `set:marker`; some versions of Motive write
    `set_marker`."""
    for separator in "_:":
        if marker.startswith(set_name + separator) and len(marker) > len(set_name) + 1:
            marker = marker[len(set_name) + 1 :]
    return f"{set_name}:{marker}"
