"""What names stand on: points that cannot be a marker, and searches that see it elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.labelling.body import MarkedBody
from rtsim.labelling.labeller import Labeller
from rtsim.labelling.person_search import FoundPerson, find_person
from rtsim.labelling.renaming import DEARER, better_names
from rtsim.labelling.segment_search import Hypotheses, seen_segments

Array = NDArray[np.float64]
Both = tuple[MarkedBody, tuple[str, ...]]


def test_a_point_seen_beside_a_certain_marker_is_another(
    walked: Array, both_legs: Both, name_frames: Callable[..., Any]
) -> None:
    """Protects from a hand, seen beside a marker, that comes to rest in its place while that is hidden."""
    frames, k = walked.copy(), both_legs[1].index("RGTR")
    way = np.clip(np.arange(len(frames)) - 70, 0, 30)[:, None] / 30.0
    hand = frames[:, k] + [0.004, 0.004, 0.0] + (1.0 - way) * [0.4, 0.1, 0.3]
    frames[85:150, k] = np.nan
    named = name_frames(frames, hand[:, None])
    assert not named.doubted[69], "the marker was certain while the hand was seen"
    assert named.wrong.sum() == 0


def test_a_stranger_on_a_hidden_segment_is_not_one_of_its_markers(
    walked: Array, both_legs: Both, name_frames: Callable[..., Any]
) -> None:
    """Protects from a marker of another set on a foot, which comes back before the others of the foot do."""
    frames, (body, names) = walked.copy(), both_legs
    k = names.index("RHEE")
    foot = body.segment_of == body.segment_of[k]
    stranger = frames[:, k] + [0.0, 0.04, 0.0]
    frames[90:140, foot] = np.nan
    stranger[90:110] = np.nan
    named = name_frames(frames, stranger[:, None])
    assert named.wrong.sum() == 0
    assert named.missing[-1] == 0


def test_a_marker_that_skin_has_moved_while_it_was_hidden_is_taken(
    walked: Array, both_legs: Both, name_frames: Callable[..., Any]
) -> None:
    """Protects shoulders and hips that come back 30 mm off, as in a squat: named at once, and in doubt."""
    frames, k = walked.copy(), both_legs[1].index("RTH2")
    frames[60:80, k] = np.nan
    frames[80:, k] += np.array([0.024, 0.018, 0.0])
    named = name_frames(frames)
    assert named.missing.sum() == 0
    assert named.wrong.sum() == 0
    assert named.doubted[80]


def test_names_are_checked_soon_after_everything_was_hidden(
    walked: Array, both_legs: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects whoever never becomes certain: names after a gap are checked as often as the first ones."""

    def disputed(
        body: MarkedBody, points: Array, given: NDArray[np.int64], *_: Array
    ) -> Generator[None, None, FoundPerson | None]:
        yield
        found = find_person(body, points, given)
        return None if found is None else found._replace(disputed=np.ones(len(given), bool))

    monkeypatch.setattr("rtsim.labelling.labeller.search_person", disputed)
    labeller, n_search = Labeller(both_legs[0]), []
    for f, frame in enumerate([*walked, *walked[::-1]]):
        shown = np.where(330 <= f < 350, np.nan, frame)
        labeller.label(np.full(frame.shape, np.nan), shown[np.isfinite(shown[:, 0])], 0.01)
        n_search.append(labeller.n_search)
    first, after = n_search[40] - n_search[0], n_search[390] - n_search[350]
    assert first > 4
    assert after == first


def exchanging(k: int, away: Array) -> Callable[..., Generator[None, None, FoundPerson | None]]:
    """A search that is right but for one marker, which it sees at the point that is so far from it [m]."""

    def search(
        body: MarkedBody, points: Array, given: NDArray[np.int64], *_: Array
    ) -> Generator[None, None, FoundPerson | None]:
        found = find_person(body, points, given)
        assert found is not None
        there = points[found.points[k]] + away
        found.points[k] = np.linalg.norm(points - there, axis=1).argmin()
        yield
        return found._replace(disputed=np.zeros(len(given), bool))

    return search


def test_names_that_were_certain_are_not_given_up_for_slightly_better_ones(
    walked: Array, both_legs: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects a marker that skin has moved from a stranger in the place that it has on the segment."""
    body, names = both_legs
    k, skin = names.index("RTH2"), np.array([0.02, 0.012, 0.0])
    labeller, since, n_search = Labeller(body, paced=True), 0, 0
    for f, frame in enumerate(walked):
        shown, n_after = frame.copy(), f - since if since else -1
        if since:
            monkeypatch.setattr("rtsim.labelling.labeller.search_person", exchanging(k, -skin))
            shown[k] += min(1.0, n_after / 20) * skin
            shown[names.index("LTTB"), 0] += np.nan if n_after == 30 else 0.0
        markers = np.full(frame.shape, np.nan)
        cloud = shown[np.isfinite(shown[:, 0])]
        labeller.label(markers, np.vstack([frame[k], cloud]) if n_after > 25 else cloud, 0.01)
        if not since and not labeller.doubted:
            since, n_search = f, labeller.n_search
        if since:
            np.testing.assert_array_equal(markers[k], shown[k])
    assert labeller.n_search > n_search + 2, "searches saw it at the stranger"


def test_a_marker_moves_alone(walked: Array, both_legs: Both) -> None:
    """Protects all other names where a search sees one marker elsewhere and does not find another one."""
    (body, names), stranger = both_legs, len(walked[0])
    k, missed = names.index("RTH2"), names.index("RTH1")
    cloud = np.vstack([walked[0], walked[0, k] + [0.0, 0.05, 0.05]])
    right = np.arange(len(names))
    wrong, lacking = right.copy(), right.copy()
    wrong[k], lacking[missed] = stranger, -1
    found = find_person(body, cloud[:stranger], right)
    assert found is not None
    new = right == k
    better = better_names(body, wrong, found._replace(points=lacking), cloud, new, DEARER)
    assert better is not None
    assert better.tolist() == right.tolist()
    worse = better_names(body, right, found._replace(points=wrong), cloud, new, DEARER)
    assert worse is None


@pytest.mark.parametrize("hidden", ["", "RASI", "LPSI"])
@pytest.mark.parametrize("off", [(0.0, 0.05, 0.05), (0.05, 0.0, 0.05), (0.05, -0.05, -0.05)])
def test_a_pelvis_is_found_beside_a_vague_hip(
    walked: Array, both_legs: Both, hidden: str, off: tuple[float, float, float]
) -> None:
    """Protects a pelvis beside a thigh of two markers, which says where the hip is within 60 mm more."""
    body, names = both_legs
    k = next(k for k, shape in enumerate(body.shapes) if shape.name == "pelvis")
    shape = body.shapes[k]
    shape = shape._replace(joints=tuple(joint._replace(vague=0.06) for joint in shape.joints))
    placed = find_person(body, walked[0], np.arange(len(names)))
    assert placed is not None
    before = Hypotheses(np.full((1, len(names)), -1), np.full((1, len(body.shapes), 3, 3), np.nan),
                        np.full((1, len(body.shapes), 3), np.nan), np.zeros(1))  # fmt: skip
    other = shape.joints[0].other
    place = placed.placements[other]
    assert place is not None
    before.rotations[0, other], before.origins[0, other] = place.rotation, place.origin + np.array(off)
    cloud = walked[0].copy()
    wanted = shape.markers.copy()
    if hidden:
        cloud[names.index(hidden)] = [5.0, 5.0, 5.0]
        wanted[wanted == names.index(hidden)] = -1
    apart = np.linalg.norm(cloud[:, None] - cloud[None], axis=2)
    found = seen_segments(shape, before, cloud, apart, faces=True)
    assert found.points[0].tolist() == wanted.tolist()


def test_a_search_takes_as_long_whatever_the_last_digit_of_the_time(walked: Array, both_legs: Both) -> None:
    """Protects figures from chance: a difference of times that is short by rounding costs no step."""
    first = []
    for step in (0.01, 0.01 * (1.0 - 1e-12)):
        labeller, found = Labeller(both_legs[0], paced=True), []
        for frame in walked[:60]:
            labeller.label(np.full(frame.shape, np.nan), frame, step)
            found.append((labeller.following, labeller.n_search))
        first.append(found)
    assert first[0] == first[1]
