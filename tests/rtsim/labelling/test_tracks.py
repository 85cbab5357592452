"""Points from frame to frame, and hidden markers, beside what trying everything finds."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from rtsim.labelling.body import MarkedBody
from rtsim.labelling.occluded_markers import OccludedMarkers
from rtsim.labelling.tracks import PointTracks, assigned, distances

Both = tuple[MarkedBody, tuple[str, ...]]


@pytest.mark.parametrize("seed", range(4))
def test_the_least_sum_of_squares_is_found(seed: int) -> None:
    """Protects who is who among points that are near each other: the best of all assignments."""
    generator = np.random.default_rng(seed)
    places = generator.uniform(0.0, 0.05, (5, 3))
    cloud = generator.permutation(places + generator.normal(0.0, 0.01, places.shape))
    apart = distances(places, cloud)
    best = min(permutations(range(5)), key=lambda order: float((apart[range(5), order] ** 2).sum()))
    assert assigned(apart, np.ones(5)).columns.tolist() == list(best)


def test_points_keep_their_numbers_in_any_order() -> None:
    """Protects names from the order of points, and says where two could have changed places."""
    generator, tracks = np.random.default_rng(2), PointTracks()
    points = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.305, 0.0, 0.0]])
    tracks.go_on(points, 0.01)
    numbers = tracks.numbers
    for _ in range(20):
        order = generator.permutation(3)
        doubtful = tracks.go_on(points[order] + generator.normal(0.0, 1e-4, (3, 3)), 0.01)
        assert tracks.numbers.tolist() == numbers[order].tolist()
        assert not doubtful[order == 0].any()
    meeting = np.array([[0.0, 0.0, 0.0], [0.302, 0.0, 0.0], [0.303, 0.0, 0.0]])
    assert tracks.go_on(meeting, 0.01).tolist() == [False, True, True]


def test_a_hidden_marker_is_where_the_others_carry_it(walked: np.ndarray, both_legs: Both) -> None:
    """Protects the place of what is hidden: by the segment alone where three of it are seen."""
    body, names = both_legs
    hidden, k = OccludedMarkers(body), names.index("RTH1")
    frames = walked.copy()
    frames[:, k] += [0.02, 0.01, 0.0]  # moved by skin, once and for all
    truth = frames[:, k].copy()
    frames[20:, k] = np.nan
    for frame in frames[:40]:
        foretold = hidden.foretell(frame)
        hidden.take(frame, foretold, np.ones(len(names), bool), 0.01)
    foretold = hidden.foretell(frames[40])
    assert foretold.markers.tolist() == [k]
    assert foretold.rigid.all()
    assert np.linalg.norm(foretold.places[0] - truth[40]) < 0.02


def test_a_heel_is_expected_by_the_leg_where_its_foot_is_hidden(walked: np.ndarray, both_legs: Both) -> None:
    """Protects feet below shanks of two markers, which fix nothing alone: the thigh says how the leg lies."""
    body, names = both_legs
    hidden, k = OccludedMarkers(body), names.index("RHEE")
    foot = body.segment_of == body.segment_of[k]
    shank = np.flatnonzero(body.segment_of == body.segment_of[names.index("RTTB")])
    frames = walked.copy()
    frames[:, shank[2:]] = np.nan
    frames[20:, foot] = np.nan
    for frame in frames[:22]:
        hidden.take(frame, hidden.foretell(frame), np.ones(len(names), bool), 0.01)
    foretold = hidden.foretell(frames[22])
    at = foretold.markers.tolist().index(k)
    assert np.linalg.norm(foretold.places[at] - walked[22, k]) < foretold.reach[at]
