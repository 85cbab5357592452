"""Labels for a whole recording, which is processed forwards and backwards; both passes must agree.

Labels are uncertain just after a gap and become certain later; the backward pass resolves those before. If
the two passes label a point differently, its track decides: a label counts if both agree on it somewhere
along the track, or if one of them is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.labelling.body import Array, Indices
from rtsim.labelling.labeller import GAP_S, USUAL_S, Labeller
from rtsim.labelling.tracks import PointTracks

Flags = NDArray[np.bool_]


class RecordingNames(NamedTuple):
    """The assignment of points to markers in each frame of a recording.

    points : (n, n_marker) index of the marker's point in the frame, -1 = none
    certain : (n, n_marker) whether the label is certain
    following : (n,) whether the person was found in the frame, so that points could be assigned
    """

    points: Indices
    certain: Flags
    following: Flags


class UnnamedRecording(NamedTuple):
    """The data of a recording before labelling.

    markers : (n, n_marker, 3) positions of markers with names, NaN = none [m]
    points : (n, n_point, 3) positions of points without names, NaN = not visible [m]
    steps : (n,) time since the previous frame [s], 0 = unknown
    """

    markers: Array
    points: Array
    steps: Array


def name_both_ways(
    labeller: Labeller, recording: UnnamedRecording, progress: Callable[[int], None] = lambda n_done: None
) -> RecordingNames:
    """Label all frames of a recording with a new labeller, forwards and backwards, and merge both results.

    progress : function called with the number of finished frames, each of which is processed twice
    """
    n = len(recording.points)
    done = _ProgressSum(progress)
    forwards = _one_way(labeller, recording, range(n), recording.steps, done)
    labeller.turn_round()
    back = np.concatenate([recording.steps[1:], [0.0]])
    backwards = _one_way(labeller, recording, range(n - 2, -1, -1), back, done)
    for of_back, of_forth in zip(backwards, forwards, strict=True):
        of_back[n - 1 :] = of_forth[n - 1 :]  # from which the labeller turned round
    return agreed_names(forwards, backwards, tracks_of(recording))


class _ProgressSum:
    """Counts the frames that are labelled in the forward and the backward pass together."""

    def __init__(self, progress: Callable[[int], None]) -> None:
        self._progress, self._n = progress, 0

    def count(self) -> None:
        self._n += 1
        self._progress(self._n)


def _one_way(
    labeller: Labeller, recording: UnnamedRecording, order: Iterable[int], steps: Array, done: _ProgressSum
) -> RecordingNames:
    """Label the recording in one direction; steps : (n,) time from the previously processed frame [s]."""
    shape = recording.markers.shape[:2]
    names = RecordingNames(np.full(shape, -1), np.zeros(shape, bool), np.zeros(shape[0], bool))
    for k in order:
        markers, points = recording.markers[k].copy(), recording.points[k]
        seen = np.flatnonzero(np.isfinite(points).all(axis=1))
        labeller.label(markers, points[seen], float(steps[k]))
        names.following[k] = labeller.following
        if labeller.following:
            which = labeller.named_points()
            rows = np.flatnonzero(which >= 0)
            names.points[k, which[rows]] = seen[rows]
            names.certain[k] = (names.points[k] >= 0) & ~labeller.disputed(markers)
        done.count()
    return names


def tracks_of(recording: UnnamedRecording) -> Indices:
    """Follow the unnamed points through a recording; return the number of each point's track, (n, n_point),
    -1 = not visible. A track ends when its point is hidden, or could be confused with another.
    """
    found = np.full(recording.points.shape[:2], -1)
    tracks, n_track, known = PointTracks(), 0, dict[int, int]()
    for k, points in enumerate(recording.points):
        step = float(recording.steps[k]) or USUAL_S
        if step > GAP_S:
            tracks.forget()
        seen = np.flatnonzero(np.isfinite(points).all(axis=1))
        doubtful = tracks.go_on(points[seen], step)
        before, known = known, {}
        for row, (number, doubt) in enumerate(zip(tracks.numbers.tolist(), doubtful.tolist(), strict=True)):
            track = -1 if doubt else before.get(number, -1)
            if track < 0:
                track, n_track = n_track, n_track + 1
            known[number] = found[k, seen[row]] = track
    return found


def agreed_names(forwards: RecordingNames, backwards: RecordingNames, tracks: Indices) -> RecordingNames:
    """Merge the labels of the forward and the backward pass. A label is used if its pass is certain of it, or
    if, somewhere on the point's track, both passes agree on it or one is certain of it. Labels that then
    still contradict each other are removed.

    tracks : (n, n_point) number of each point's track, -1 = not visible
    """
    shape = forwards.points.shape
    supported = np.zeros((tracks.max(initial=-1) + 1, shape[1]), bool)
    alike = (forwards.points == backwards.points) & (forwards.points >= 0)
    for way in (forwards, backwards):
        frames, markers = np.nonzero(way.certain | alike)
        supported[tracks[frames, way.points[frames, markers]], markers] = True
    sole = np.count_nonzero(supported, axis=1) == 1

    points = np.full(shape, -1)
    contradicted = np.zeros(shape, bool)
    for way in (forwards, backwards):
        frames, markers = np.nonzero(way.points >= 0)
        found = way.points[frames, markers]
        on = tracks[frames, found]
        kept = supported[on, markers] & sole[on]
        frames, markers, found = frames[kept], markers[kept], found[kept]
        former = points[frames, markers]
        contradicted[frames, markers] |= (former >= 0) & (former != found)
        points[frames, markers] = found
    points[contradicted] = -1

    points[forwards.certain] = forwards.points[forwards.certain]
    points[backwards.certain] = backwards.points[backwards.certain]
    both = forwards.certain & backwards.certain
    points[both & ~alike] = -1
    certain = (forwards.certain | backwards.certain) & (points >= 0)
    _give_each_point_once(points, certain)
    return RecordingNames(points, certain & (points >= 0), forwards.following | backwards.following)


def _give_each_point_once(points: Indices, certain: Flags) -> None:
    """Assign a point that several markers have to the only one whose label is certain, or else to none."""
    ordered = np.sort(points, axis=1)
    doubled = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    for k in np.flatnonzero(doubled).tolist():
        claimed, n_claim = np.unique(points[k][points[k] >= 0], return_counts=True)
        for point in claimed[n_claim > 1].tolist():
            claims = points[k] == point
            sure = claims & certain[k]
            points[k, claims & ~sure if np.count_nonzero(sure) == 1 else claims] = -1
