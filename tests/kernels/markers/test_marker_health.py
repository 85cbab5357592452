"""Health of single markers: gaps, expected places, and what is learnt of their usual ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.joints.tree import Pose, new_pose
from kernels.markers.marker_cost import ModelMarkers
from kernels.markers.marker_health import (
    BALL,
    EXCHANGED,
    MOVED,
    OUTLIER,
    RECENT,
    SEGMENT,
    Health,
    HealthOptions,
    expect,
    learn,
    median,
    new_health,
    residuals,
    unusual,
    visibility,
)
from tests.kernels import leg

Array = NDArray[np.floating]

OPTIONS = HealthOptions(
    downweight=np.ones(1, np.int64),
    floor=0.04,
    unknown=0.15,
    agreement=0.025,
    n_learn=5,
    time_constant=0.5,
    swap_distance=0.02,
    stray_speed=5.0,
    relearn=1.0,
    slack=np.ones(6),
)
DT = 0.01


class Scene(NamedTuple):
    """Two bodies in ground with three markers each, and where the model has the markers."""

    markers: ModelMarkers
    pose: Pose
    model: Array  # (6, 3) m
    health: Health
    silent: NDArray[np.int64]  # (n_body,)

    def residual(self, measured: Array) -> Array:
        """Return measured - model in the frames of the bodies, (6, 3) m."""
        R = self.pose.rotation[self.markers.body]
        return np.einsum("mki,mk->mi", R, measured - self.model)

    def learn(self, measured: Array, n: int = 1, dt: float = DT, options: HealthOptions = OPTIONS) -> None:
        """Learn the same frame n times."""
        for _ in range(n):
            residuals(self.markers, self.pose, self.model, measured, self.health)
            learn(self.markers, dt, options, self.health, self.silent)

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
    markers = ModelMarkers(np.array([0, 0, 0, 1, 1, 1], np.int64), rng.uniform(-0.2, 0.2, (6, 3)))
    model = np.einsum("mij,mj->mi", pose.rotation[markers.body], markers.position)
    return Scene(markers, pose, model + pose.position[markers.body], new_health(6), np.zeros(2, np.int64))


def test_a_new_marker_is_trusted_and_unknown() -> None:
    """Protects the start: full weight, no gap, nothing learnt, no swap."""
    fresh = new_health(3)
    np.testing.assert_array_equal(fresh.weight, 1.0)
    np.testing.assert_array_equal(fresh.swap_with, -1)
    assert not any(
        np.any(part) for part in (fresh.gap_age, fresh.mean, fresh.mean_residual, fresh.n_seen, fresh.fault)
    )


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
    scene.health.fault[:] = OUTLIER
    assert visibility(scene.model, DT, scene.health) == 6
    np.testing.assert_array_equal(scene.health.weight, 1.0)
    np.testing.assert_array_equal(scene.health.swap_with, -1)
    np.testing.assert_array_equal(scene.health.fault, 0)


def test_a_constant_residual_is_learnt_at_once(scene: Scene) -> None:
    """Protects the mean: in the body's frame, the plain average while a marker is new."""
    measured = scene.model + np.random.default_rng(81).normal(0.0, 0.01, (6, 3))
    scene.learn(measured, 3)
    np.testing.assert_allclose(scene.health.mean, scene.residual(measured), atol=1e-15)
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
    """Protects the expected places: the model's until a marker is known, then plus mean residual, turned;
    with that of just now where there is one."""
    measured = scene.model + np.random.default_rng(83).normal(0.0, 0.01, (6, 3))
    scene.learn(measured, OPTIONS.n_learn - 1)
    np.testing.assert_allclose(scene.expected(), measured, atol=1e-14)
    scene.health.good_age[:] = 1.01 * RECENT
    np.testing.assert_array_equal(scene.expected(), scene.model)
    scene.learn(measured)
    scene.health.good_age[:] = 1.01 * RECENT
    scene.health.good[:] = 9.0
    np.testing.assert_allclose(scene.expected(), measured, atol=1e-14)
    turn = Rotation.from_rotvec([0.4, -0.2, 0.9]).as_matrix()
    scene.pose.rotation[:] = turn @ scene.pose.rotation
    moved = scene._replace(model=scene.model @ turn.T)
    np.testing.assert_allclose(moved.expected(), measured @ turn.T, atol=1e-14)


def test_markers_of_a_silent_body_keep_their_means(scene: Scene) -> None:
    """Protects what is usual from poses that guesses made: the body's markers are good, and teach nothing."""
    scene.silent[1] = 1
    scene.learn(scene.model + np.array([0.004, 0.0, 0.0]))
    of_silent = scene.markers.body == 1
    np.testing.assert_array_equal(scene.health.n_seen, np.where(of_silent, 0, 1))
    assert not scene.health.mean[of_silent].any()
    assert (np.linalg.norm(scene.health.mean[~of_silent], axis=1) > 0.003).all()
    np.testing.assert_array_equal(scene.health.good_age, 0.0)


@pytest.mark.parametrize("dt", [0.0, DT])
def test_hidden_markers_teach_nothing(scene: Scene, dt: float) -> None:
    """Protects what is known of a marker from NaN, on the first frame (dt = 0) as on any other."""
    measured = scene.model.copy()
    measured[1] = np.nan
    visibility(measured, dt, scene.health)
    scene.learn(measured, dt=dt)
    for part in (scene.health.mean, scene.health.mean_residual, scene.health.good):
        assert np.isfinite(part).all()
    np.testing.assert_array_equal(scene.health.n_seen, [1, 0, 1, 1, 1, 1])


def test_the_spread_is_the_mean_square_of_the_way_from_home(scene: Scene) -> None:
    """Protects what ends a doubt: how far a marker usually is from home, by frames without a fault alone."""
    way, squares = np.array([0.01, 0.0, 0.0]), []
    for k in range(10):
        scene.health.fault[0] = OUTLIER if k == 9 else 0
        scene.learn(scene.model + (-1.0) ** k * way, dt=1e-3)
        squares.append(((scene.health.residual - scene.health.mean_residual) ** 2).sum(axis=1))
    np.testing.assert_allclose(scene.health.spread[1:], np.mean(squares, axis=0)[1:], rtol=1e-12)
    np.testing.assert_allclose(scene.health.spread[0], np.mean(squares[:9], axis=0)[0], rtol=1e-12)


@pytest.mark.parametrize("fault", [OUTLIER, SEGMENT])
def test_markers_at_fault_teach_nothing(scene: Scene, fault: int) -> None:
    """Protects what is known of a marker from its faults."""
    scene.learn(scene.model, 10)
    scene.health.fault[[0, 3]] = fault
    before = scene.health.mean.copy()
    scene.learn(scene.model + 0.02, dt=1e-3)
    np.testing.assert_array_equal(scene.health.mean[[0, 3]], before[[0, 3]])
    assert (scene.health.mean[[1, 2, 4, 5]] != before[[1, 2, 4, 5]]).all()
    np.testing.assert_array_equal(scene.health.n_seen, [10, 11, 11, 10, 11, 11])


@pytest.mark.parametrize(
    ("weight", "downweight", "taught"), [(1.0, 1, True), (0.0, 1, False), (1.0, 0, False)]
)
def test_labels_that_are_put_right_teach(scene: Scene, weight: float, downweight: int, taught: bool) -> None:
    """Protects recovery from exchanged labels: put right they are as ever; left out or only reported they
    teach nothing."""
    options = OPTIONS._replace(downweight=np.full(1, downweight))
    scene.learn(scene.model, 10, options=options)
    scene.health.fault[2], scene.health.weight[2] = EXCHANGED, weight
    scene.learn(scene.model + 0.02, dt=1e-3, options=options)
    assert scene.health.n_seen[2] == 10 + taught
    assert (scene.health.mean[2].any(), scene.health.good[2].any()) == (taught, taught)


def test_the_usual_place_cannot_be_led_away(scene: Scene) -> None:
    """Protects the evidence: the mean stays near home, and home near the calibration, for ever."""
    scene.learn(scene.model, 50)
    far = scene.model + np.array([0.5, 0.0, 0.0])
    scene.learn(far, 100)
    apart = np.linalg.norm(scene.health.mean - scene.health.mean_residual, axis=1)
    np.testing.assert_allclose(apart, BALL, rtol=1e-9)
    assert np.linalg.norm(scene.health.mean_residual, axis=1).max() < 0.5 * (1.0 - 0.98**100)
    scene.learn(far, 5000)
    np.testing.assert_allclose(np.linalg.norm(scene.health.mean_residual, axis=1), OPTIONS.unknown, rtol=1e-9)


def test_a_marker_that_moved_for_good_is_learnt_anew(scene: Scene) -> None:
    """Protects the stated time: steady at another place for `relearn`, not before, not if it wanders."""
    scene.learn(scene.model, 20)
    moved = scene.model.copy()
    moved[1] += [0.0, 0.06, 0.0]
    for k in range(1, 150):
        visibility(moved, DT, scene.health)
        scene.health.fault[[1, 4]] = OUTLIER
        wandering = moved.copy()
        wandering[4] += 0.05 * np.array([np.sin(0.3 * k), np.cos(0.3 * k), 0.0])
        scene.learn(wandering)
        if scene.health.fault[1] == MOVED:
            break
    assert k * DT == pytest.approx(OPTIONS.relearn, abs=2.1 * DT)
    assert scene.health.fault[4] == OUTLIER
    np.testing.assert_allclose(scene.health.mean[1], scene.residual(moved)[1], atol=1e-12)
    np.testing.assert_array_equal(scene.health.origin[1], scene.health.mean[1])


def test_a_marker_of_somebody_else_is_not_learnt(scene: Scene) -> None:
    """Protects from a wrong label that lasts: beyond FAR nothing is learnt anew."""
    scene.learn(scene.model, 20)
    moved = scene.model.copy()
    moved[1] += [0.0, 0.15, 0.0]
    for _ in range(150):
        scene.health.fault[1] = OUTLIER
        scene.learn(moved)
        assert scene.health.fault[1] == OUTLIER
    np.testing.assert_array_equal(scene.health.mean[1], 0.0)


def test_bounds_of_what_is_usual(scene: Scene) -> None:
    """Protects the two regimes, both times the marker's slack: from the calibration until a marker is known,
    then from its mean or from home, whichever is nearer, as a fault that nobody saw draws the mean along."""
    scene.health.n_seen[:] = [4, 5, 5, 4, 5, 5]
    scene.health.mean[[1, 5]] = [0.02, 0.0, 0.0], [-0.02, 0.0, 0.0]
    scene.health.mean_residual[[0, 1]] = [0.03, 0.0, 0.0], [-0.02, 0.0, 0.0]
    scene.health.residual[:] = 0.03, 0.0, 0.0
    slack = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 1.0])
    found = [unusual(m, OPTIONS._replace(slack=slack), scene.health) for m in range(6)]
    np.testing.assert_allclose(found, [0.2, 0.25, 0.75, 0.1, 0.375, 0.75], rtol=1e-12)


@pytest.mark.parametrize("n", range(1, 8))
def test_lower_median(n: int) -> None:
    """Protects the yardstick of a frame, whatever the order of its markers."""
    rng = np.random.default_rng(n)
    for _ in range(20):
        x = rng.normal(size=9)
        assert median(x.copy(), n) == np.sort(x[:n])[(n - 1) // 2]


def test_another_method_finds_other_residuals_usual() -> None:
    """Protects from seconds of doubt after a change of method: what was usual was of the one before; of the
    same method it stays.
    """
    running = leg.estimator("minimised", ("zero",))
    for k, measured in enumerate(leg.soft_tissue_trial()[:12]):
        running.estimate(measured, leg.DT if k else 0.0)
    running.switch("minimised")
    assert (running.health.n_seen > 0).all()
    running.switch("zero")
    assert (running.health.n_seen == 0).all()
    assert not running.health.mean_residual.any()
