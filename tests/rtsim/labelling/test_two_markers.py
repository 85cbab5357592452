"""Legs of two markers a segment, one of them hidden: what distances say of a name, and what they do not."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.labelling.body import MarkedBody
from rtsim.labelling.labeller import Labeller
from rtsim.labelling.name_certainty import NameCertainty
from rtsim.labelling.occluded_markers import OccludedMarkers
from rtsim.labelling.person_search import FoundPerson, find_person, naming_cost
from rtsim.labelling.renaming import AGREED, better_names
from rtsim.live.inputs.sources import the_walker
from rtsim.subjects.markers.distances import ruler_of_subject

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Both = tuple[MarkedBody, tuple[str, ...]]
KEPT = ("ASI", "PSI", "TH1", "KNE", "TTB", "ANK", "HEE", "MT5")
RIGHT_LEG = ("RTH1", "RKNE", "RTTB", "RANK", "RHEE", "RMT5")


@pytest.fixture(scope="module")
def two_each() -> Both:
    """The walker with two markers on each segment of a leg, and their names."""
    subject = the_walker("both")
    names = tuple(name for name in subject.marker_names if name[1:] in KEPT)
    return MarkedBody(ruler_of_subject(subject), names, faces=True), names


@pytest.fixture(scope="module")
def legs(walked: Array, both_legs: Both, two_each: Both) -> Array:
    """(n, n_marker, 3) - two seconds of these markers [m]."""
    return walked[:, [both_legs[1].index(name) for name in two_each[1]]]


@pytest.mark.parametrize("hidden", [(), ("RKNE",), ("LPSI", "LANK")])
def test_a_naming_costs_what_the_search_says(legs: Array, two_each: Both, hidden: tuple[str, ...]) -> None:
    """Protects names from another measure than that of the search: with it, worse ones would be adopted."""
    body, names = two_each
    cloud = legs[0, [name not in hidden for name in names]]
    found = find_person(body, cloud, np.full(len(names), -1))
    assert found is not None
    nobody = np.zeros(len(names), bool)
    assert naming_cost(body, found.points, cloud, nobody) == pytest.approx(found.cost, abs=1e-9)
    n_alone = np.count_nonzero((found.points < 0) & ~np.isin(names, hidden))
    seen = np.array([names.index(name) for name in names if name not in hidden])
    right = np.full(len(names), -1)
    right[seen] = np.arange(len(seen))
    assert naming_cost(body, right, cloud, right >= 0) == pytest.approx(found.cost - n_alone, abs=1e-9)


def test_a_leg_that_cannot_be_placed_keeps_its_names(legs: Array, two_each: Both) -> None:
    """Protects a leg whose knee is hidden: a bad copy of it is placed, and is not the leg."""
    body, names = two_each
    leg = np.array([names.index(name) for name in RIGHT_LEG])
    copy = legs[0, leg] + np.random.default_rng(1).normal(0.0, 0.012, (len(leg), 3)) + [0.02, 0.0, 0.02]
    cloud = np.vstack([legs[0], copy])
    right = np.arange(len(names))
    wrong = right.copy()
    wrong[leg] = len(names) + np.arange(len(leg))
    found = find_person(body, cloud, wrong)
    assert found is not None
    right[names.index("RKNE")] = -1
    new = np.isin(np.arange(len(names)), leg)
    assert better_names(body, right, found, cloud, new, AGREED) is None


def test_a_search_in_dispute_changes_no_name_on_which_one_agreed(
    legs: Array, two_each: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects names from a search that could as well see the person otherwise."""
    body, names = two_each
    k = names.index("RTTB")

    def other(
        _: MarkedBody, points: Array, given: Indices, *__: Array
    ) -> Generator[None, None, FoundPerson | None]:
        yield
        found = find_person(body, points, given)
        assert found is not None
        return found._replace(disputed=np.ones(len(names), bool))

    labeller = Labeller(body)
    for f, frame in enumerate(legs[:60]):
        shown, stranger = frame.copy(), frame[k]
        if f:
            monkeypatch.setattr("rtsim.labelling.labeller.search_person", other)
            shown[k] += min(1.0, f / 10) * np.array([0.032, 0.02, 0.0])
        markers = np.full(frame.shape, np.nan)
        labeller.label(markers, np.vstack([stranger, shown]) if f > 20 else shown, 0.01)
        np.testing.assert_array_equal(markers[k], shown[k])
    assert labeller.n_search > 3


@pytest.mark.parametrize("beside", [False, True])
def test_a_marker_that_comes_back_alone_is_taken_from_afar(legs: Array, two_each: Both, beside: bool) -> None:
    """Protects a heel that swung on while its foot was hidden; unless something else came up beside it."""
    (body, names), frames = two_each, legs[:100].copy()
    k, other = names.index("LHEE"), names.index("LMT5")
    frames[60:80, k] = frames[60:, other] = np.nan
    frames[80:, k] += np.array([0.0, 0.12, -0.08])
    labeller = Labeller(body)
    for f, frame in enumerate(frames):
        cloud = frame[np.isfinite(frame[:, 0])]
        if beside and f >= 80:
            cloud = np.vstack([cloud, frame[k] + [0.0, 0.06, 0.06]])
        markers = np.full(frame.shape, np.nan)
        labeller.label(markers, cloud, 0.01)
        if f == 80:
            assert np.isnan(markers[k]).all() == beside
            assert beside or (markers[k] == frame[k]).all()


def test_the_newest_names_of_a_segment_are_given_up(two_each: Both) -> None:
    """Protects markers of a pelvis from two strangers that are taken for the others of it."""
    body, names = two_each
    pelvis = np.array([names.index(name) for name in ("RASI", "LASI", "RPSI", "LPSI")])
    certainty = NameCertainty(body)
    certainty.vote(pelvis[:2])
    off = np.zeros(len(names))
    off[pelvis] = 0.2
    every, far = np.ones(len(names), bool), np.full(len(names), np.inf)
    assert certainty.stay(off, far, body.reach, every).gone.tolist() == sorted(pelvis[2:].tolist())
    certainty.vote(pelvis)
    assert certainty.stay(off, far, body.reach, every).gone.tolist() == sorted(pelvis.tolist())


def test_a_foot_below_a_straight_leg_is_expected(two_each: Both) -> None:
    """Protects a foot that is hidden below a leg in one line: the whole body says where it faces."""
    body, names = two_each
    places = {"RTH1": 0.8, "RKNE": 0.5, "RTTB": 0.4, "RANK": 0.1, "LTH1": 0.8, "LKNE": 0.5, "LTTB": 0.4,
              "LANK": 0.1}  # fmt: skip
    before = np.array([[0.0, places.get(name, 1.0), 0.1 if name[0] == "R" else -0.1] for name in names])
    before[[names.index(name) for name in ("RPSI", "LPSI")], 0] = -0.2
    for name in ("RHEE", "RMT5", "LHEE", "LMT5"):
        before[names.index(name)] += [0.15 if name[1:] == "MT5" else -0.05, -1.0, 0.0]
    hidden = OccludedMarkers(body)
    hidden.begin(before, np.full(before.shape, np.nan))
    turn = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    now, foot = before @ turn.T + [1.0, 0.0, 0.5], [names.index("RHEE"), names.index("RMT5")]
    markers = now.copy()
    markers[foot] = np.nan
    foretold = hidden.foretell(markers)
    assert foretold.markers.tolist() == sorted(foot)
    np.testing.assert_allclose(foretold.places, now[foretold.markers], atol=1e-6)
