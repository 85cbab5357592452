"""Markers at fault, found by their segment, by the prediction and by exchanges."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.faults.agreement import disagreement, squares_left
from kernels.faults.exchanged import find_swaps
from kernels.faults.innovation import CREEP, LEAP, TURNS, find_strays, median_surprise
from kernels.faults.segment import SETTLED, leave_out_two
from kernels.faults.verdict import keep_in
from kernels.markers.marker_cost import ModelMarkers
from kernels.markers.marker_health import EXCHANGED, OUTLIER, RECENT, SEGMENT, is_blamed, visibility
from tests.kernels.faults.scene import BODY, DT, LOCAL, N_MARKER, OPTIONS, Scene, new_scene
from tests.naive.faults import rigid_gaps, rings, strays

Array = NDArray[np.floating]


@pytest.fixture
def scene() -> Scene:
    """The segments as they were expected."""
    return new_scene()


def test_the_disagreement_is_that_of_the_best_rigid_fit(scene: Scene) -> None:
    """Protects the fit against SciPy's (Kabsch): the largest residual over what is allowed."""
    rng = np.random.default_rng(6)
    measured = scene.truth + rng.normal(0.0, 0.01, scene.truth.shape)
    visibility(measured, DT, scene.health)
    found = disagreement(scene.markers, 0, measured, DT, OPTIONS, scene.health, scene.segments, scene.fit)
    expected = rigid_gaps(LOCAL[:5], measured[:5]).max() / OPTIONS.health.agreement
    assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_left_of_the_squares(scene: Scene, seed: int) -> None:
    """Protects the short cut against SciPy's fit: markers that agree and others, planes, mirrored sets."""
    rng = np.random.default_rng(300 + seed)
    measured = scene.truth + rng.normal(0.0, (1e-4, 0.01, 0.1)[seed % 3], scene.truth.shape)
    if seed % 4 == 3:
        measured[:5] *= [1.0, 1.0, -1.0]
    visibility(measured, DT, scene.health)
    for b, own in enumerate((slice(0, 5), slice(5, 8))):
        expected = (rigid_gaps(LOCAL[own], measured[own]) ** 2).sum()
        found = squares_left(scene.markers, b, measured, scene.health, scene.fit)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_clean_markers_are_left_alone(scene: Scene) -> None:
    """Protects clean data: millimetres off, and moved as a whole, nothing is at fault and all weigh 1."""
    rng = np.random.default_rng(7)
    assert scene.judge(scene.truth + rng.normal(0.0, 0.003, scene.truth.shape) + 0.02) == 0
    np.testing.assert_array_equal(scene.health.fault, 0)
    np.testing.assert_array_equal(scene.health.weight, 1.0)
    np.testing.assert_array_equal(scene.segments.sound, [1, 0])


@pytest.mark.parametrize("predicted", [True, False])
@pytest.mark.parametrize("wrong", [(0,), (2,), (4,), (1, 3), (0, 2), (4, 5)])
def test_those_that_disagree_are_left_out(scene: Scene, wrong: tuple[int, ...], predicted: bool) -> None:
    """Protects the others: one or two of six are found by the shape alone, whatever was expected."""
    scene.markers.body[5] = 0
    scene.truth[5] = scene.truth[0] + scene.segments.rotation[0] @ (LOCAL[5] - LOCAL[0])
    scene.health.expected[5] = scene.truth[5]
    measured = scene.truth.copy()
    for k, m in enumerate(wrong):
        measured[m] += (0.08, -0.1)[k] * np.eye(3)[k]
    if not predicted:
        scene.health.expected[:] = np.nan
    scene.judge(measured)
    expected = np.zeros(N_MARKER)
    expected[list(wrong)] = OUTLIER
    np.testing.assert_array_equal(scene.health.fault, expected)
    np.testing.assert_array_equal(scene.health.weight, expected == 0)


@pytest.mark.parametrize("wrong", [(1, 3), (0, 2), (1, 4)])
def test_no_two_of_five_are_left_out(scene: Scene, wrong: tuple[int, ...]) -> None:
    """Protects right markers: any three that are left would agree; the segment is suspect all the same."""
    scene.health.expected[:] = np.nan
    measured = scene.truth.copy()
    measured[list(wrong)] += [[0.08, 0.0, 0.0], [0.0, -0.1, 0.0]]
    scene.judge(measured)
    assert scene.health.fault[:5].any()
    assert (scene.health.weight == 0.0).sum() <= 1


@pytest.mark.parametrize("wrong", [5, 6, 7])
def test_of_three_the_prediction_tells_which(scene: Scene, wrong: int) -> None:
    """Protects small segments: across the plane of three any of them fits, but it was not foreseen."""
    a, b, c = scene.truth[5:]
    measured = scene.truth.copy()
    normal = np.cross(b - a, c - a)
    measured[wrong] += 0.06 * normal / np.linalg.norm(normal)
    scene.judge(measured)
    assert np.flatnonzero(scene.health.fault).tolist() == [wrong]
    scene.segments.doubted[1] = 1.0
    scene.judge(measured)
    assert not scene.health.fault.any()


def test_of_three_one_that_jumped_does_not_become_right_by_staying(scene: Scene) -> None:
    """Protects from jumps that last: what a marker may have crept since it was right is never more than its
    segment allows."""
    a, b, c = scene.truth[5:]
    measured, normal = scene.truth.copy(), np.cross(b - a, c - a)
    most = OPTIONS.health.agreement + TURNS * DT
    for age in (0.05, 0.15, 0.25, 0.29, 0.5):
        crept = LEAP + CREEP * (age + DT) + TURNS * DT if age <= RECENT else most
        for part, found in ((0.99, []), (1.01, [6])):
            scene.health.good_age[:] = age
            measured[6] = scene.truth[6] + part * min(most, crept) * normal / np.linalg.norm(normal)
            scene.judge(measured)
            assert np.flatnonzero(scene.health.fault).tolist() == found


def test_four_that_agree_closely_need_no_trial(scene: Scene) -> None:
    """Protects recovery where the shape tells: of four or more by a quarter of the bound, never of three."""
    bound = SETTLED * SETTLED * OPTIONS.health.agreement
    for part, left in ((0.9, 0.0), (1.1, 0.04)):
        scene.segments.doubted[:] = scene.segments.barred[:] = 0.04
        measured = scene.truth.copy()
        off = np.random.default_rng(2).normal(size=(5, 3))
        square = (rigid_gaps(LOCAL[:5], measured[:5] + 1e-3 * off) ** 2).sum()
        measured[:5] += 1e-3 * part * bound / np.sqrt(square) * off
        scene.judge(measured)
        np.testing.assert_allclose(scene.segments.barred, [left, 0.04])


def test_where_nothing_agrees_the_segment_is_suspect(scene: Scene) -> None:
    """Protects the flag: all of its markers are named and keep their weight."""
    scene.health.expected[:] = np.nan
    measured = scene.truth.copy()
    measured[:5] += 1.5 * (measured[:5] - measured[:5].mean(axis=0))
    scene.judge(measured)
    np.testing.assert_array_equal(scene.health.fault, np.where(BODY == 0, SEGMENT, 0))
    np.testing.assert_array_equal(scene.health.weight, 1.0)


@pytest.mark.parametrize("ring", [(0, 1), (0, 3, 2), (5, 6, 7), (0, 5), (4, 2, 7, 1)])
def test_labels_exchanged_in_rings(scene: Scene, ring: tuple[int, ...]) -> None:
    """Protects exchanges of any length, within a segment and across: each names whose place it has."""
    measured = scene.truth.copy()
    turned = list(ring[1:] + ring[:1])
    measured[list(ring)] = scene.truth[turned]
    assert scene.judge(measured) == 1
    expected = np.full(N_MARKER, -1)
    expected[list(ring)] = turned
    np.testing.assert_array_equal(scene.health.swap_with, expected)
    np.testing.assert_array_equal(scene.health.fault == EXCHANGED, expected >= 0)
    np.testing.assert_array_equal(scene.health.weight, expected < 0)


def test_two_exchanges_are_two(scene: Scene) -> None:
    """Protects the count, and markers nearer to each other than the swap distance."""
    measured = scene.truth[[1, 0, 2, 5, 4, 3, 6, 7]].copy()
    visibility(measured, DT, scene.health)
    assert find_swaps(measured, OPTIONS.health, scene.health) == 2
    scene.health.expected[1] = scene.health.expected[0] + [0.015, 0.0, 0.0]
    measured = scene.health.expected[[1, 0, 2, 3, 4, 5, 6, 7]].copy()
    visibility(measured, DT, scene.health)
    assert find_swaps(measured, OPTIONS.health, scene.health) == 0


def test_markers_may_be_only_reported(scene: Scene) -> None:
    """Protects the user's choice: faults stay named while the weights come back."""
    measured = scene.truth.copy()
    measured[2] += 0.1
    measured[6] = np.nan
    scene.judge(measured)
    keep_in(measured, scene.health)
    assert scene.health.fault[2] == OUTLIER
    np.testing.assert_array_equal(scene.health.weight, np.arange(N_MARKER) != 6)


@pytest.mark.parametrize("ring", [(0, 1), (0, 3, 2), (0, 5), (4, 2, 7, 1), (5, 6)])
def test_labels_that_are_certain_are_put_right(scene: Scene, ring: tuple[int, ...]) -> None:
    """Protects the frame: with markers that were without a fault just now, all take part, in their places."""
    measured = scene.truth + np.random.default_rng(9).normal(0.0, 0.002, scene.truth.shape)
    came, turned = measured.copy(), list(ring[1:] + ring[:1])
    came[list(ring)] = measured[turned]
    scene.health.good_age[:] = 0.0
    assert scene.judge(came) == 1
    np.testing.assert_array_equal(scene.health.labelled, measured)
    np.testing.assert_array_equal(scene.health.weight, 1.0)
    assert np.flatnonzero(scene.health.fault == EXCHANGED).tolist() == sorted(ring)


def exchanged(scene: Scene, ring: tuple[int, ...]) -> Array:
    """A frame of the scene in which the labels of a ring are exchanged, its markers seen just now."""
    measured = scene.truth.copy()
    measured[list(ring)] = scene.truth[list(ring[1:] + ring[:1])]
    scene.health.good_age[:] = 0.0
    return measured


@pytest.mark.parametrize("ring", [(0, 1), (0, 3, 2), (0, 5), (4, 2, 7, 1), (5, 6)])
def test_labels_put_right_for_certain_are_no_fault_of_the_frame(scene: Scene, ring: tuple[int, ...]) -> None:
    """Protects trials whose labels stay exchanged: named, and not blamed; but where a segment was in doubt,
    or its markers are not known yet, they are."""
    scene.judge(exchanged(scene, ring))
    assert np.flatnonzero(scene.health.certain).tolist() == sorted(ring)
    assert not any(is_blamed(m, scene.health) for m in range(N_MARKER))
    for what in (scene.segments.doubted, scene.health.n_seen):
        kept = what.copy()
        what[:] = 0.01 if what is scene.segments.doubted else 3
        scene.judge(exchanged(scene, ring))
        assert not scene.health.certain.any()
        assert all(is_blamed(m, scene.health) for m in ring)
        what[:] = kept


def test_what_was_learnt_in_a_wrong_order_makes_nothing_certain(scene: Scene) -> None:
    """Protects the flag of trials that begin with labels exchanged: the shape of the calibration decides, as
    what has been usual since then is wrong itself."""
    order = [1, 0, 2, 3, 4]
    scene.health.mean[:5] = LOCAL[order] - LOCAL[:5]
    scene.health.mean_residual[:5] = scene.health.mean[:5]
    scene.health.expected[:5] = scene.truth[order]
    scene.health.good_age[:] = 0.0
    scene.judge(scene.truth)
    assert scene.health.fault[:2].tolist() == [EXCHANGED, EXCHANGED]
    assert not scene.health.certain.any()
    assert is_blamed(0, scene.health)


def test_labels_that_are_only_reported_are_blamed(scene: Scene) -> None:
    """Protects the user's choice: with the labels as they came, the frame is no good one."""
    measured = exchanged(scene, (0, 1))
    scene.judge(measured)
    keep_in(measured, scene.health)
    assert is_blamed(0, scene.health)
    assert is_blamed(1, scene.health)


def test_a_wrong_pose_does_not_make_right_labels_wrong(scene: Scene) -> None:
    """Protects recovery: expected in a wrong order, the order that fits its segment is not changed."""
    scene.health.good_age[:] = 0.0
    scene.health.expected[:5] = scene.truth[[1, 2, 0, 3, 4]]
    assert scene.judge(scene.truth) == 1
    np.testing.assert_array_equal(scene.health.labelled, scene.truth)
    np.testing.assert_array_equal(scene.health.weight[:3], 0.0)


@pytest.mark.parametrize("seed", range(20))
def test_exchanges_against_the_twin(scene: Scene, seed: int) -> None:
    """Protects the search for rings: any permutation, and any places, by the definition."""
    rng = np.random.default_rng(seed)
    measured = scene.truth[rng.permutation(N_MARKER)] + rng.normal(0.0, 0.02, scene.truth.shape)
    visibility(measured, DT, scene.health)
    found = rings(measured, scene.health.expected, OPTIONS.health.swap_distance)
    assert find_swaps(measured, OPTIONS.health, scene.health) == len(found)
    members = {m for ring in found for m in ring}
    assert set(np.flatnonzero(scene.health.swap_with >= 0).tolist()) == members
    for ring in found:
        assert [scene.health.swap_with[m] for m in ring] == [*ring[1:], ring[0]]


@pytest.mark.parametrize("seed", range(20))
def test_strays_against_the_twin(scene: Scene, seed: int) -> None:
    """Protects the bound of markers that nothing but the prediction judges: own + 5 m/s dt + 3 medians."""
    rng = np.random.default_rng(100 + seed)
    scene.health.n_seen[:] = rng.choice([0, 100], N_MARKER)
    scene.health.weight[:] = rng.random(N_MARKER) < 0.9
    scene.segments.sound[:] = 0
    innovation = rng.uniform(0.0, 0.25, N_MARKER) * (rng.random(N_MARKER) < 0.5)
    measured = scene.truth + innovation[:, None] * [0.6, 0.0, -0.8]
    options = OPTIONS.health
    seen = np.where(scene.health.weight > 0.0, innovation, np.nan)
    own = np.where(scene.health.n_seen >= options.n_learn, options.floor, options.unknown)
    expected = strays(seen, own, options.stray_speed * DT)
    before = scene.health.weight.copy()
    usual = median_surprise(measured, scene.health)
    find_strays(scene.markers, measured, DT, usual, options, scene.health, scene.segments)
    np.testing.assert_array_equal(scene.health.fault == OUTLIER, expected)
    np.testing.assert_array_equal(scene.health.weight, np.where(expected, 0.0, before))


@pytest.mark.parametrize("seed", range(8))
def test_faults_do_not_depend_on_frames_or_order(seed: int) -> None:
    """Protects the law: ground turned and moved, and markers in another order, have the same faults."""
    rng = np.random.default_rng(200 + seed)
    scene, other = new_scene(), new_scene()
    measured = scene.truth + rng.normal(0.0, 0.02, scene.truth.shape)
    wrong = rng.choice(N_MARKER, 3, replace=False)
    measured[wrong[0]] += rng.normal(0.0, 0.1, 3)
    measured[wrong[1:]] = measured[wrong[:0:-1]]
    turn, shift, order = Rotation.random(random_state=rng), rng.normal(size=3), rng.permutation(N_MARKER)
    other = other._replace(markers=ModelMarkers(BODY[order], LOCAL[order]))
    other.health.expected[:] = turn.apply(scene.health.expected[order]) + shift
    other.segments.rotation[:] = turn.as_matrix() @ scene.segments.rotation
    for one in (scene, other):
        one.health.good_age[:] = 0.0
    assert scene.judge(measured) == other.judge(turn.apply(measured[order]) + shift)
    np.testing.assert_array_equal(other.health.fault, scene.health.fault[order])
    np.testing.assert_array_equal(other.health.weight, scene.health.weight[order])


def test_a_segment_in_doubt_must_fit_better(scene: Scene) -> None:
    """Protects the flag of slow faults: what begins no doubt keeps one up, until it is learnt anew."""
    scene.health.expected[:] = np.nan
    measured = scene.truth.copy()
    measured[5] += 0.03 * (measured[5] - measured[6]) / np.linalg.norm(measured[5] - measured[6])
    gap = rigid_gaps(LOCAL[5:], measured[5:]).max() / OPTIONS.health.agreement
    assert 0.5 < gap < 1.0
    for doubted, found in ((0.0, 0), (0.01, SEGMENT), (OPTIONS.health.relearn + 0.1, 0)):
        scene.segments.doubted[1] = doubted
        scene.judge(measured)
        np.testing.assert_array_equal(scene.health.fault, np.where(BODY == 1, found, 0))
        np.testing.assert_array_equal(scene.health.weight, 1.0)


def test_the_frame_after_a_marker_came_back_is_not_held_to_the_prediction(scene: Scene) -> None:
    """Protects recovery: a pose that moved with the marker goes on moving in the prediction."""
    a, b, c = scene.truth[5:]
    normal = np.cross(b - a, c - a)
    measured = scene.truth.copy()
    measured[6] += 0.04 * normal / np.linalg.norm(normal)
    for regained, found in ((1, []), (0, [6])):
        scene.segments.regained[1] = regained
        scene.judge(measured)
        assert np.flatnonzero(scene.health.fault).tolist() == found


@pytest.mark.parametrize(("wrong", "found"), [((2,), False), ((2, 4), True)])
def test_two_are_left_out_where_both_are_off(scene: Scene, wrong: tuple[int, ...], found: bool) -> None:
    """Protects the good one of a pair: without two the others agree, and each of the two has to be off."""
    scene.markers.body[5] = 0
    scene.truth[5] = scene.truth[0] + scene.segments.rotation[0] @ (LOCAL[5] - LOCAL[0])
    measured = scene.truth.copy()
    for k, m in enumerate(wrong):
        measured[m] += (0.08, -0.1)[k] * np.eye(3)[k]
    visibility(measured, DT, scene.health)
    state = (scene.health, scene.segments, scene.fit)
    assert leave_out_two(scene.markers, 0, measured, DT, OPTIONS, *state) == found
    np.testing.assert_array_equal(np.flatnonzero(scene.health.fault), wrong if found else ())
