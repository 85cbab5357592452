"""Health of single markers: gaps, expected places, swapped labels, thresholds and what is learnt."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.health import (
    Health,
    HealthOptions,
    expect,
    find_strays,
    find_swaps,
    learn,
    median,
    new_health,
    threshold,
    visibility,
    weigh_worst,
)
from kernels.markers import Markers
from kernels.tree import Pose, new_pose

Array = NDArray[np.floating]

OPTIONS = HealthOptions(
    downweight=1,
    floor=0.04,
    factor=6.0,
    unknown=0.15,
    n_learn=5,
    time_constant=0.5,
    swap_distance=0.02,
    stray_speed=5.0,
)
DT = 0.01


class Scene(NamedTuple):
    """Two bodies in ground with three markers each, and where the model has the markers."""

    markers: Markers
    pose: Pose
    model: Array  # (6, 3) m
    health: Health
    filled: NDArray[np.int64]  # (n_body,)

    def residual(self, measured: Array) -> Array:
        """Return measured - model in the frames of the bodies, (6, 3) m."""
        R = self.pose.rotation[self.markers.body]
        return np.einsum("mki,mk->mi", R, measured - self.model)

    def learn(self, measured: Array, n: int = 1, dt: float = DT, options: HealthOptions = OPTIONS) -> None:
        """Learn the same frame n times."""
        for _ in range(n):
            learn(self.markers, self.pose, self.model, measured, dt, options, self.health, self.filled)

    def weigh_worst(self, measured: Array) -> bool:
        """Weigh the worst marker down, by the kernel."""
        return weigh_worst(self.markers, self.pose, self.model, measured, OPTIONS, self.health)

    def expected(self) -> Array:
        """Return where the kernel expects the markers, (6, 3) m."""
        expect(self.markers, self.pose, self.model, OPTIONS, self.health)
        return self.health.expected


@pytest.fixture
def scene() -> Scene:
    """Two bodies anywhere, nothing learnt yet."""
    rng = np.random.default_rng(80)
    pose = new_pose(2, 0)
    pose.rotation[:], pose.position[:] = Rotation.random(2, rng).as_matrix(), rng.normal(size=(2, 3))
    markers = Markers(np.array([0, 0, 0, 1, 1, 1], np.int64), rng.uniform(-0.2, 0.2, (6, 3)))
    model = np.einsum("mij,mj->mi", pose.rotation[markers.body], markers.position)
    return Scene(markers, pose, model + pose.position[markers.body], new_health(6), np.zeros(2, np.int64))


def test_a_new_marker_is_trusted_and_unknown() -> None:
    """Protects the start: full weight, no gap, nothing learnt, no swap."""
    fresh = new_health(3)
    np.testing.assert_array_equal(fresh.weight, 1.0)
    np.testing.assert_array_equal(fresh.swap_with, -1)
    assert not any(np.any(part) for part in (fresh.gap_age, fresh.mean, fresh.deviation, fresh.n_seen))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("axis", range(3))
def test_one_bad_coordinate_hides_a_marker(scene: Scene, bad: float, axis: int) -> None:
    """Protects occlusion by NaN, and infinities, which compiled code must not lose to fast arithmetic."""
    measured = scene.model.copy()
    measured[2, axis] = bad
    assert visibility(measured, DT, scene.health) == 5
    np.testing.assert_array_equal(scene.health.weight, [1.0, 1.0, 0.0, 1.0, 1.0, 1.0])


def test_gap_age_counts_the_time_since_last_seen(scene: Scene) -> None:
    """Protects the gap ages: they add up while a marker is hidden and are zero once it is back."""
    measured = scene.model.copy()
    measured[4] = np.nan
    for k in range(1, 4):
        visibility(measured, DT, scene.health)
        np.testing.assert_allclose(scene.health.gap_age, [0.0, 0.0, 0.0, 0.0, k * DT, 0.0], atol=1e-15)
    visibility(scene.model, DT, scene.health)
    np.testing.assert_array_equal(scene.health.gap_age, 0.0)


def test_visibility_forgets_the_last_frame(scene: Scene) -> None:
    """Protects against weights and swaps of an earlier frame."""
    scene.health.weight[:] = 0.3
    scene.health.swap_with[:] = 2
    assert visibility(scene.model, DT, scene.health) == 6
    np.testing.assert_array_equal(scene.health.weight, 1.0)
    np.testing.assert_array_equal(scene.health.swap_with, -1)


def test_a_constant_residual_is_learnt_at_once(scene: Scene) -> None:
    """Protects the mean: in the body's frame, the plain average while a marker is new."""
    measured = scene.model + np.random.default_rng(81).normal(0.0, 0.01, (6, 3))
    scene.learn(measured, 3)
    np.testing.assert_allclose(scene.health.mean, scene.residual(measured), atol=1e-15)
    np.testing.assert_allclose(scene.health.deviation, 0.0, atol=1e-15)
    np.testing.assert_array_equal(scene.health.n_seen, 3)


def test_mean_of_a_new_marker_is_the_average(scene: Scene) -> None:
    """Protects the learning rate 1/n of the first frames."""
    frames = scene.model + np.random.default_rng(82).normal(0.0, 0.01, (8, 6, 3))
    for frame in frames:
        scene.learn(frame)
    expected = np.mean([scene.residual(frame) for frame in frames], axis=0)
    np.testing.assert_allclose(scene.health.mean, expected, atol=1e-15)


def test_a_known_marker_forgets_with_its_time_constant(scene: Scene) -> None:
    """Protects the long run: after many frames a step fades in with exp(-t / time_constant)."""
    scene.learn(scene.model, 200)
    measured = scene.model + np.array([0.01, 0.0, 0.0])
    scene.learn(measured, 50)
    done = 1.0 - (1.0 - DT / OPTIONS.time_constant) ** 50
    np.testing.assert_allclose(scene.health.mean, done * scene.residual(measured), atol=1e-12)


def test_expected_places_include_what_was_learnt(scene: Scene) -> None:
    """Protects the expected places: the model's until a marker is known, then plus mean residual, turned."""
    measured = scene.model + np.random.default_rng(83).normal(0.0, 0.01, (6, 3))
    scene.learn(measured, OPTIONS.n_learn - 1)
    np.testing.assert_array_equal(scene.expected(), scene.model)
    scene.learn(measured)
    np.testing.assert_allclose(scene.expected(), measured, atol=1e-14)
    turn = Rotation.from_rotvec([0.4, -0.2, 0.9]).as_matrix()
    scene.pose.rotation[:] = turn @ scene.pose.rotation
    moved = scene._replace(model=scene.model @ turn.T)
    np.testing.assert_allclose(moved.expected(), measured @ turn.T, atol=1e-14)


@pytest.mark.parametrize("dt", [0.0, DT])
def test_hidden_markers_teach_nothing(scene: Scene, dt: float) -> None:
    """Protects what is known of a marker from NaN, on the first frame (dt = 0) as on any other."""
    measured = scene.model.copy()
    measured[1] = np.nan
    visibility(measured, dt, scene.health)
    scene.learn(measured, dt=dt)
    for part in (scene.health.mean, scene.health.deviation):
        assert np.isfinite(part).all()
    np.testing.assert_array_equal(scene.health.n_seen, [1, 0, 1, 1, 1, 1])


def test_swapped_markers_teach_nothing(scene: Scene) -> None:
    """Protects what is known of a marker from another one's places."""
    scene.learn(scene.model)
    scene.health.swap_with[[0, 3]] = 3, 0
    scene.learn(scene.model + 0.5)
    np.testing.assert_allclose(scene.health.mean[[0, 3]], 0.0, atol=1e-15)
    np.testing.assert_array_equal(scene.health.n_seen, [1, 2, 2, 1, 2, 2])


def test_suspicious_markers_teach_ten_times_slower_at_most(scene: Scene) -> None:
    """Protects the memory of a marker that is weighed down: it hardly changes what is normal."""
    scene.learn(scene.model, 10)
    scene.health.weight[2] = 0.0
    measured = scene.model + np.array([0.02, 0.0, 0.0])
    scene.learn(measured)
    moved = np.linalg.norm(scene.health.mean, axis=1)
    assert moved[0] > 0.0
    assert moved[2] <= 0.1 * moved[0] * (1.0 + 1e-12)


def test_a_fault_never_becomes_normal_while_it_lasts(scene: Scene) -> None:
    """Protects the threshold: a second of a marker 0.3 m away does not raise what counts as suspicious."""
    scene.learn(scene.model, 30)
    before = threshold(2, OPTIONS, scene.health)
    faulty = scene.model.copy()
    faulty[2] += [0.0, 0.3, 0.0]
    for _ in range(100):
        visibility(faulty, DT, scene.health)
        assert scene.weigh_worst(faulty)
        scene.learn(faulty)
    assert scene.health.weight[2] == 0.0
    assert threshold(2, OPTIONS, scene.health) < 2.0 * before


def test_threshold_knows_unknown_quiet_and_restless_markers(scene: Scene) -> None:
    """Protects the three regimes: unknown while learnt, the floor, or a multiple of what is usual."""
    scene.health.deviation[:] = [0.0, 0.001, 0.02, 0.0, 0.0, 0.0]
    scene.health.n_seen[:] = [4, 5, 5, 5, 0, 100]
    found = [threshold(m, OPTIONS, scene.health) for m in range(6)]
    np.testing.assert_allclose(found, [0.15, 0.04, 0.12, 0.04, 0.15, 0.04], atol=1e-15)


def test_only_the_worst_marker_is_weighed_down(scene: Scene) -> None:
    """Protects the neighbours of a wrong marker, and the weights 1/ratio^2 and 0 beyond three thresholds."""
    scene.learn(scene.model, 10)
    measured = scene.model.copy()
    measured[1] += [0.0, 0.06, 0.0]
    measured[4] += [0.2, 0.0, 0.0]
    assert scene.weigh_worst(measured)
    np.testing.assert_array_equal(scene.health.weight, [1.0, 1.0, 1.0, 1.0, 0.0, 1.0])
    assert scene.weigh_worst(measured)
    np.testing.assert_allclose(scene.health.weight, [1.0, 1.0 / 1.5**2, 1.0, 1.0, 0.0, 1.0], atol=1e-12)
    assert not scene.weigh_worst(measured)


def test_usual_residuals_are_not_suspicious(scene: Scene) -> None:
    """Protects clean data: a marker that always sits centimetres off its model place keeps its weight."""
    measured = scene.model + np.random.default_rng(84).normal(0.0, 0.03, (6, 3))
    scene.learn(measured, 10)
    assert not scene.weigh_worst(measured + 0.01)
    np.testing.assert_array_equal(scene.health.weight, 1.0)


def test_swap_is_found_between_any_two_markers(scene: Scene) -> None:
    """Protects swapped labels on one body and across bodies: named on both, weights 0, nobody else's."""
    scene.expected()
    for i in range(6):
        for j in range(i):
            measured = scene.model.copy()
            measured[[i, j]] = measured[[j, i]]
            visibility(measured, DT, scene.health)
            assert find_swaps(measured, OPTIONS, scene.health) == 1
            expected = np.full(6, -1)
            expected[i], expected[j] = j, i
            np.testing.assert_array_equal(scene.health.swap_with, expected)
            np.testing.assert_array_equal(scene.health.weight, (expected < 0).astype(float))


def test_two_swaps_at_once_are_both_found(scene: Scene) -> None:
    """Protects the count of pairs."""
    scene.expected()
    measured = scene.model[[1, 0, 2, 5, 4, 3]].copy()
    visibility(measured, DT, scene.health)
    assert find_swaps(measured, OPTIONS, scene.health) == 2
    np.testing.assert_array_equal(scene.health.swap_with, [1, 0, -1, 5, -1, 3])


def test_swaps_are_only_reported_when_nothing_may_be_weighed_down(scene: Scene) -> None:
    """Protects the user's choice: with downweighting off a swap is named and the weights stay 1."""
    scene.expected()
    measured = scene.model[[1, 0, 2, 3, 4, 5]].copy()
    visibility(measured, DT, scene.health)
    assert find_swaps(measured, OPTIONS._replace(downweight=0), scene.health) == 1
    np.testing.assert_array_equal(scene.health.weight, 1.0)


def test_ordinary_motion_and_hidden_markers_are_no_swaps(scene: Scene) -> None:
    """Protects clean and occluded data from false alarms: everything moved a little, one marker gone."""
    scene.expected()
    measured = scene.model + 0.02
    measured[3] = np.nan
    visibility(measured, DT, scene.health)
    assert find_swaps(measured, OPTIONS, scene.health) == 0


def test_markers_nearer_than_the_swap_distance_are_left_alone(scene: Scene) -> None:
    """Protects two markers so close that their exchange hardly matters."""
    scene.model[1] = scene.model[0] + [0.015, 0.0, 0.0]
    scene.expected()
    measured = scene.model[[1, 0, 2, 3, 4, 5]].copy()
    visibility(measured, DT, scene.health)
    assert find_swaps(measured, OPTIONS, scene.health) == 0


def strays(scene: Scene, surprise: Array, known: bool, dt: float = DT, downweight: int = 1) -> int:
    """Return the number of strays when marker m lies surprise[m] [m] from where it is expected."""
    scene.health.n_seen[:] = OPTIONS.n_learn if known else 0
    scene.health.expected[:] = scene.model
    aside = np.outer(surprise, [0.6, -0.8, 0.0])
    options = OPTIONS._replace(downweight=downweight)
    return find_strays(scene.model + aside, dt, options, scene.health)


@pytest.mark.parametrize(("known", "own"), [(True, OPTIONS.floor), (False, OPTIONS.unknown)])
def test_limit_of_a_stray(scene: Scene, known: bool, own: float) -> None:
    """Protects good frames: own limit + 5 m/s dt + 3 medians of the frame, from just below to just above."""
    others = np.array([0.003, 0.001, 0.009, 0.002, 0.004])
    # the lower median of six, the stray among them, is the third: 0.003
    limit = own + OPTIONS.stray_speed * DT + 3.0 * 0.003
    assert strays(scene, np.append(others, 0.999 * limit), known) == 0
    np.testing.assert_array_equal(scene.health.weight, 1.0)
    assert strays(scene, np.append(others, 1.001 * limit), known) == 1
    np.testing.assert_array_equal(scene.health.weight, [1, 1, 1, 1, 1, 0])


def test_strays_are_reported_where_nothing_is_weighed_down(scene: Scene) -> None:
    """Protects the switch: with down-weighting off, strays are counted and keep their weight."""
    assert strays(scene, np.array([0.0, 0.9, 0.0, 0.0, 0.8, 0.0]), known=True, downweight=0) == 2
    np.testing.assert_array_equal(scene.health.weight, 1.0)


def test_hidden_markers_are_no_strays_and_no_witnesses(scene: Scene) -> None:
    """Protects small sets: below five visible markers their median says nothing, hidden ones take no part."""
    surprise = np.array([0.0, 0.001, 0.002, 0.001, 5.0, 0.9])
    scene.health.weight[4] = 0.0
    assert strays(scene, surprise, known=True) == 1
    np.testing.assert_array_equal(scene.health.weight, [1, 1, 1, 1, 0, 0])
    scene.health.weight[:] = [0, 1, 1, 1, 0, 1]
    assert strays(scene, surprise, known=True) == 0
    np.testing.assert_array_equal(scene.health.weight, [0, 1, 1, 1, 0, 1])


@pytest.mark.parametrize("n", range(1, 8))
def test_lower_median(n: int) -> None:
    """Protects the yardstick of a frame, whatever the order of its markers."""
    rng = np.random.default_rng(n)
    for _ in range(20):
        x = rng.normal(size=9)
        assert median(x.copy(), n) == np.sort(x[:n])[(n - 1) // 2]
