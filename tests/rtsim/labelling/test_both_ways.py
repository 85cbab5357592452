"""Names for a whole recording, by going through it forwards and backwards."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.labelling.body import MarkedBody
from rtsim.labelling.both_ways import (
    RecordingNames,
    UnnamedRecording,
    agreed_names,
    name_both_ways,
    tracks_of,
)
from rtsim.labelling.labeller import Labeller
from rtsim.subjects.markers.distances import Ruler

Array = NDArray[np.float64]
Both = tuple[MarkedBody, tuple[str, ...]]


def unnamed(points: Array) -> UnnamedRecording:
    """A recording at 100 Hz of these (n, n_point, 3), none of which has a name."""
    steps = np.full(len(points), 0.01)
    steps[0] = 0.0
    return UnnamedRecording(np.full(points.shape, np.nan), points, steps)


def test_what_comes_later_makes_names_certain(walked: Array, both_legs: Both) -> None:
    """Protects the beginning and frames after a gap: all right and certain, which no frame alone can be."""
    frames = walked.copy()
    frames[80:110] = np.nan
    named = name_both_ways(Labeller(both_legs[0]), unnamed(frames))
    seen = np.isfinite(frames[:, 0, 0])
    assert (named.points[seen] == np.arange(frames.shape[1])).all()
    assert named.certain[seen].all()
    assert (named.points[~seen] == -1).all()
    assert not named.certain[~seen].any()


def test_progress_counts_both_ways(walked: Array, both_legs: Both) -> None:
    """Protects who waits: progress goes to the end, frame by frame."""
    told: list[int] = []
    name_both_ways(Labeller(both_legs[0]), unnamed(walked[:20]), told.append)
    assert told == list(range(1, 40))


@pytest.mark.parametrize("n", [1, 2])
def test_hardly_any_frames(walked: Array, both_legs: Both, n: int) -> None:
    """Protects from a recording that has no way back."""
    named = name_both_ways(Labeller(both_legs[0]), unnamed(walked[:n]))
    assert named.points.shape == named.certain.shape == walked[:n].shape[:2]
    assert not named.certain.any()


def test_a_track_ends_where_its_point_may_be_another() -> None:
    """Protects tracks: hidden points end them, and so do points that could have changed places."""
    n, apart = 21, 0.3
    points = np.zeros((n, 3, 3))
    points[:, 1, 0] = apart
    points[8:10, 1] = np.nan
    points[:, 2, 0] = 0.001  # passes the first point as near as a millimetre
    points[:, 2, 1] = np.linspace(0.2, -0.2, n)
    tracks = tracks_of(unnamed(points))
    assert (tracks[8:10, 1] == -1).all()
    assert len(set(tracks[:8, 1].tolist())) == 1
    assert tracks[7, 1] != tracks[10, 1]
    assert tracks[0, 0] != tracks[-1, 0]
    assert tracks[0, 2] != tracks[-1, 2]


NOBODY = [-1, -1, -1]


def passed(points: list[list[int]], certain: list[list[int]]) -> RecordingNames:
    """What one way gave: points and whether certain, of three markers."""
    return RecordingNames(np.array(points), np.array(certain, bool), np.ones(len(points), bool))


@pytest.mark.parametrize(
    ("forth", "back", "expected", "sure"),
    [
        ([0, 1, 2], [0, 1, 2], [0, 1, 2], [0, 0, 0]),  # both alike, neither certain
        ([0, 1, -1], NOBODY, NOBODY, [0, 0, 0]),  # one alone, nowhere supported
        ([1, 0, 2], [0, 1, 2], [-1, -1, 2], [0, 0, 0]),  # contradictory, neither certain
    ],
)
def test_uncertain_names_need_both_ways(
    forth: list[int], back: list[int], expected: list[int], sure: list[int]
) -> None:
    """Protects from names that one way alone believes."""
    none = [[0, 0, 0]]
    named = agreed_names(passed([forth], none), passed([back], none), np.array([[0, 1, 2]]))
    assert named.points.tolist() == [expected]
    assert named.certain.astype(int).tolist() == [sure]


def test_the_track_carries_what_both_agree_on() -> None:
    """Protects frames beside gaps, in which one way has no name yet: the other's holds along the track."""
    none = [[0, 0, 0]] * 2
    forth, back = passed([[-1, -1, -1], [0, 1, -1]], none), passed([[0, 1, -1], [0, 2, -1]], none)
    named = agreed_names(forth, back, np.array([[5, 6, 7], [5, 6, 7]]))
    assert named.points.tolist() == [[0, -1, -1], [0, -1, -1]]


def test_certainty_of_one_way_decides_and_of_two_apart_nothing() -> None:
    """Protects from wrong names under ok: ways that are certain of different points leave no name."""
    forth = passed([[0, 1, 2]], [[1, 1, 0]])
    back = passed([[0, 2, 1]], [[0, 1, 0]])
    named = agreed_names(forth, back, np.array([[0, 1, 2]]))
    assert named.points.tolist() == [[0, -1, -1]]
    assert named.certain.tolist() == [[True, False, False]]


def test_no_point_is_two_markers() -> None:
    """Protects from one point with two names: the only certain one keeps it, else none."""
    forth = passed([[0, 0, -1], [0, -1, -1]], [[1, 0, 0], [1, 0, 0]])
    back = passed([[-1, 0, -1], [-1, 0, -1]], [[0, 0, 0], [0, 1, 0]])
    named = agreed_names(forth, back, np.array([[0, 1, 2], [3, 1, 2]]))
    assert named.points.tolist() == [[0, -1, -1], [-1, -1, -1]]
    assert named.certain.tolist() == [[True, False, False], [False, False, False]]


def test_part_of_a_trunk_is_never_certain() -> None:
    """Protects from an arm shaped as what is seen of a trunk: only all its markers are certain."""
    places = 0.1 * np.array([[0, 0, 0], [3, 0, 1], [0, 4, 0], [2, 3, -2], [-1, 2, 3.0]])
    names = tuple("ABCDE")
    body = MarkedBody(Ruler({"trunk": dict(zip(names, places, strict=True))}, []), names)
    moving = places + np.linspace(0.0, 0.5, 150)[:, None, None] * np.array([1.0, 0, 0])
    whole, part = Labeller(body), Labeller(body)
    for frame in moving:
        markers = np.full((5, 3), np.nan)
        whole.label(markers, frame, 0.01)
    assert not whole.doubted
    for frame in moving:
        markers = np.full((5, 3), np.nan)
        part.label(markers, frame[:4], 0.01)
    assert np.isfinite(markers[:4]).all()
    assert part.disputed(markers)[:4].all()
