"""Speeds and accelerations from coordinates: twins, exactness, invariance, gaps and starts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.joints.kinds import BALL, FREE, HINGE
from kernels.joints.turning import turn
from kernels.rates.manifold import (
    IGNORED,
    OK,
    RESTARTED,
    SETTLING,
    Manifold,
    manifold_of,
    plain,
    reflect,
)
from rtsim.config.runs.rate_schema import ButterworthSpec, RateSpec, SavitzkyGolaySpec
from rtsim.methods.kinematics.rates import RateEstimator, response, track
from rtsim.models.packing.tree import JointRow, build_tree
from tests.naive import random_models, rates
from tests.naive.tree import matrix_quaternion

Array = NDArray[np.floating]

RATE = 100.0
BUTTERWORTHS = (ButterworthSpec(), ButterworthSpec(8.0, 4), ButterworthSpec(5.0, 8))
POLYNOMIALS = (
    SavitzkyGolaySpec(),
    SavitzkyGolaySpec(0.1, 3, 0.0),
    SavitzkyGolaySpec(0.2, 4, 0.05),
    SavitzkyGolaySpec(0.15, 3),
)
every_spec = pytest.mark.parametrize("spec", BUTTERWORTHS + POLYNOMIALS, ids=str)


def times(n: int) -> Array:
    """Return even times (n,)."""
    return np.arange(n) / RATE


def quaternions(R: Rotation) -> Array:
    """Return rotations as rows (n, 4), w first."""
    return np.array([matrix_quaternion(one) for one in R.as_matrix()])


def ball() -> Manifold:
    """Return the coordinates of one ball."""
    return manifold_of(build_tree([JointRow(-1, BALL)]))


@pytest.mark.parametrize("spec", BUTTERWORTHS, ids=str)
def test_butterworth_is_scipys(spec: ButterworthSpec) -> None:
    """Protects sections, prewarping, both derivatives and the start at rest, on noise about a number."""
    x = 3.0 + np.random.default_rng(1).normal(size=400)
    found = track(spec, plain(1), RATE, times(400), x[:, None])
    expected = rates.butterworth(spec.order, spec.cutoff_hz, RATE, x)
    for column, own in enumerate(found[:3]):
        scale = np.abs(expected[:, column]).max()
        np.testing.assert_allclose(own[:, 0], expected[:, column], rtol=0, atol=1e-11 * scale)


@pytest.mark.parametrize("spec", POLYNOMIALS, ids=str)
@pytest.mark.parametrize("uneven", [False, True])
def test_savitzky_golay_is_a_polynomial_through_the_window(spec: SavitzkyGolaySpec, uneven: bool) -> None:
    """Protects the orthogonal recurrence, the window and its reading, for even and uneven time stamps."""
    rng = np.random.default_rng(2)
    t = times(120) + (rng.uniform(-0.003, 0.003, 120) if uneven else 0.0)
    if uneven:  # and frames that never came
        t = np.delete(t, [30, 31, 60, 90])
    x = rng.normal(size=(len(t), 2))
    found = track(spec, plain(2), RATE, t, x)
    window, delay = spec.window_s, spec.delay_s if spec.delay_s is not None else 0.5 * spec.window_s
    for k in np.flatnonzero(found.settled):
        inside = (t <= t[k]) & (t >= t[k] - window - 0.5 / RATE)
        for channel in range(2):
            expected = rates.polynomial(t[inside], x[inside, channel], spec.order, t[k] - delay)
            own = np.array([rows[k, channel] for rows in found[:3]])
            np.testing.assert_allclose(own, expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())
    assert found.settled.sum() > 60


@pytest.mark.parametrize("spec", POLYNOMIALS, ids=str)
def test_savitzky_golay_is_exact_on_polynomials(spec: SavitzkyGolaySpec) -> None:
    """Protects the meaning of order and delay: polynomials up to the order come back as they were."""
    t = times(60)
    delay = response(spec, RATE).delay_s[0]
    for order in range(spec.order + 1):
        exact = np.polynomial.Polynomial([0.0] * order + [1.0])
        found = track(spec, plain(1), RATE, t, exact(10.0 * t - 2.0)[:, None])
        for d, own in enumerate(found[:3]):
            expected = 10.0**d * (exact.deriv(d) if d else exact)(10.0 * (t - delay) - 2.0)
            scale = 10.0**d * (np.abs(expected).max() + 1.0)
            np.testing.assert_allclose(own[found.settled, 0], expected[found.settled], atol=1e-9 * scale)


@every_spec
def test_value_speed_and_acceleration_are_as_late_as_each_other(spec: RateSpec) -> None:
    """Protects inverse dynamics from terms of different times: one delay for all three at low frequency."""
    delay = response(spec, RATE).delay_s
    np.testing.assert_allclose(delay, delay[0], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("spec", BUTTERWORTHS, ids=str)
def test_the_delay_of_butterworth_is_the_sum_over_its_sections(spec: ButterworthSpec) -> None:
    """Protects the closed form in the text: sum of 2 zeta / w, w prewarped."""
    poles = np.exp(1j * np.pi * (2 * np.arange(1, spec.order + 1) + spec.order - 1) / (2 * spec.order))
    w = 2.0 * RATE * np.tan(np.pi * spec.cutoff_hz / RATE)
    assert response(spec, RATE).delay_s[0] == pytest.approx(float(-np.sum(1.0 / (w * poles)).real), rel=1e-9)


@every_spec
def test_the_noise_gain_is_seen_on_noise(spec: RateSpec) -> None:
    """Protects the numbers of the descriptor: standard deviations of filtered white noise."""
    x = np.random.default_rng(3).normal(size=(3000, 8))
    found = track(spec, plain(8), RATE, times(3000), x)
    seen = [rows[found.settled].std() for rows in found[:3]]
    np.testing.assert_allclose(seen, response(spec, RATE).noise_gain, rtol=0.06)


@every_spec
def test_a_steadily_turning_ball_is_exact(spec: RateSpec) -> None:
    """Protects the manifold: the twist of a steady turn through several rounds, about any axis."""
    w = np.array([2.0, -5.0, 3.0])
    start = Rotation.from_rotvec([0.3, 1.0, -2.0])
    t = times(300)
    q = quaternions(start * Rotation.from_rotvec(t[:, None] * w))
    q[::7] *= -1.0  # either sign is the same rotation
    found = track(spec, ball(), RATE, t, q)
    late = response(spec, RATE).delay_s[0]
    last = slice(-20, None)
    np.testing.assert_allclose(found.v[last], np.broadcast_to(w, (20, 3)), rtol=1e-6)
    np.testing.assert_allclose(found.v_dot[last], 0.0, atol=2e-5)
    placed = Rotation.from_quat(found.q[last][:, [1, 2, 3, 0]])
    expected = start * Rotation.from_rotvec((t[last] - late)[:, None] * w)
    np.testing.assert_allclose((placed * expected.inv()).magnitude(), 0.0, atol=1e-6)


def wandering(n: int, seed: int = 4) -> tuple[Manifold, Array]:
    """Return a tree of a free body, a ball and a hinge, and a smooth motion of it, (n, n_q)."""
    rng = np.random.default_rng(seed)
    tree = random_models.tree_of(rng, (FREE, BALL, HINGE), (-1, 0, 1))
    phase = rng.uniform(0, 6, (9,)) + times(n)[:, None] * rng.uniform(2, 9, 9)
    turns = [Rotation.from_rotvec(1.5 * np.sin(phase[:, k : k + 3])) for k in (0, 3)]
    q = np.hstack([np.sin(phase[:, 6:9]), *map(quaternions, turns), np.cos(phase[:, :1])])
    return manifold_of(tree), q


@every_spec
def test_another_ground_changes_no_rates_of_a_rotation(spec: RateSpec) -> None:
    """Protects invariance: a constant rotation of ground leaves angular velocities in the body as they
    are."""
    manifold, q = wandering(150)
    ground = Rotation.from_rotvec([0.4, -1.1, 2.0])
    turned = q.copy()
    turned[:, 3:7] = quaternions(ground * Rotation.from_quat(q[:, [4, 5, 6, 3]]))
    one, other = (track(spec, manifold, RATE, times(150), rows) for rows in (q, turned))
    np.testing.assert_allclose(other.v, one.v, atol=1e-10)
    np.testing.assert_allclose(other.v_dot, one.v_dot, atol=1e-8)
    expected = ground * Rotation.from_quat(one.q[:, [4, 5, 6, 3]])
    gap = expected.inv() * Rotation.from_quat(other.q[:, [4, 5, 6, 3]])
    np.testing.assert_allclose(gap.magnitude(), 0.0, atol=1e-12)


@pytest.mark.parametrize("spec", BUTTERWORTHS, ids=str)
def test_speeds_and_accelerations_are_rates_of_the_filtered_pose(spec: ButterworthSpec) -> None:
    """Protects consistency on a curved motion: v and v_dot against differences of the filtered q and v.

    Frames come so often that differences over one step of time are derivatives.
    """
    manifold, _ = wandering(1)
    rate = 2000.0
    rng = np.random.default_rng(5)
    t = np.arange(3000) / rate
    phase = rng.uniform(0, 6, 6) + t[:, None] * 2.0
    turns = Rotation.from_rotvec(1.2 * np.sin(phase[:, :3])) * Rotation.from_rotvec(np.cos(phase[:, 3:]))
    q = np.hstack([np.sin(phase[:, :3]), quaternions(turns), quaternions(turns.inv()), phase[:, :1]])
    found = track(spec, manifold, rate, t, q)
    steps = np.empty((len(t) - 1, 10))
    for k in range(len(t) - 1):
        reflect(manifold, found.q[k], found.q[k + 1], steps[k], np.empty(12))
    last = slice(-200, -1)
    middle = 0.5 * (found.v[1:] + found.v[:-1])
    np.testing.assert_allclose((steps * rate)[last], middle[last], atol=1e-3)
    middle = 0.5 * (found.v_dot[1:] + found.v_dot[:-1])
    np.testing.assert_allclose((np.diff(found.v, axis=0) * rate)[last], middle[last], atol=2e-2)


@pytest.mark.parametrize("spec", POLYNOMIALS, ids=str)
def test_a_polynomial_through_rotations(spec: SavitzkyGolaySpec) -> None:
    """Protects balls in the window: rotation vectors from the nearest frame, fitted, then turned to
    twists."""
    rng = np.random.default_rng(10)
    t = times(60)
    turns = Rotation.from_rotvec(np.sin(rng.uniform(0, 6, 3) + 8.0 * t[:, None]))
    found = track(spec, ball(), RATE, t, quaternions(turns))
    delay = response(spec, RATE).delay_s[0]
    for k in np.flatnonzero(found.settled):
        inside = np.flatnonzero((t <= t[k]) & (t >= t[k] - spec.window_s - 0.5 / RATE))
        read = t[k] - delay
        base = turns[inside[np.argmin(np.round(np.abs(t[inside] - read), 9) - 1e-9 * t[inside])]]
        steps = (base.inv() * turns[inside]).as_rotvec()
        fitted = [np.polynomial.Polynomial.fit(t[inside], x, spec.order) for x in steps.T]
        w, w_dot = rates.turning_rates(lambda s, base=base, f=fitted: base * rates.turned(f, s), read)
        np.testing.assert_allclose(found.v[k], w, atol=1e-5)
        np.testing.assert_allclose(found.v_dot[k], w_dot, atol=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_rates_of_a_rotation_vector_become_angular_velocity(seed: int) -> None:
    """Protects the series of J and its rate, up to half a turn, against differences of rotations."""
    rng = np.random.default_rng(seed)
    phi, rate, curve = rng.normal(size=(3, 3))
    phi *= np.pi * rng.uniform() / np.linalg.norm(phi)
    w, w_dot = rate.copy(), curve.copy()
    turn(phi, w, w_dot)
    expected = rates.turning_rates(lambda t: Rotation.from_rotvec(phi + rate * t + 0.5 * curve * t**2), 0.0)
    np.testing.assert_allclose(w, expected[0], atol=1e-6)
    np.testing.assert_allclose(w_dot, expected[1], atol=1e-4)


@every_spec
def test_plain_channels_are_filtered_as_the_coordinates_are(spec: RateSpec) -> None:
    """Protects the common delay of forces and kinematics: a hinge and a force are one and the same filter."""
    x = np.random.default_rng(6).normal(size=(80, 1))
    hinge = manifold_of(build_tree([JointRow(-1, HINGE)]))
    for one, other in zip(
        track(spec, hinge, RATE, times(80), x), track(spec, plain(1), RATE, times(80), x), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@every_spec
def test_a_start_is_told_and_is_at_rest(spec: RateSpec) -> None:
    """Protects the first seconds: no speed on the first frame, and no claim of the delay before it holds."""
    estimator = RateEstimator(spec, plain(1), RATE)
    found = [estimator.take(t, np.array([5.0])) for t in times(100)]
    assert found[0] == RESTARTED
    assert found[1] == SETTLING
    assert found[-1] == OK
    np.testing.assert_allclose(estimator.rates.q, 5.0, rtol=1e-14)
    np.testing.assert_allclose([estimator.rates.v[0], estimator.rates.v_dot[0]], 0.0, atol=1e-9)


@every_spec
def test_a_gap_starts_anew(spec: RateSpec) -> None:
    """Protects from what came before a gap: afterwards everything is as if the stream had begun there."""
    x = np.random.default_rng(7).normal(size=(140, 1))
    t = times(140)
    t[60:] += 1.0
    whole, alone = track(spec, plain(1), RATE, t, x), track(spec, plain(1), RATE, t[60:], x[60:])
    for one, other in zip(whole, alone, strict=True):
        np.testing.assert_array_equal(one[60:], other)


@every_spec
def test_bad_frames_change_nothing(spec: RateSpec) -> None:
    """Protects a live stream: NaN, and times that do not rise, are refused and leave no trace."""
    x = np.random.default_rng(8).normal(size=(80, 1))
    clean, dirty = (RateEstimator(spec, plain(1), RATE) for _ in range(2))
    for k, (t, row) in enumerate(zip(times(80), x, strict=True)):
        clean.take(t, row)
        dirty.take(t, row)
        assert dirty.take(t + 0.002, np.array([np.nan])) == IGNORED
        assert dirty.take(t, row) == IGNORED
        assert dirty.take(np.nan, row) == IGNORED
        assert k == 0 or dirty.take(t - 0.005, row) == IGNORED
    for one, other in zip(clean.rates, dirty.rates, strict=True):
        np.testing.assert_array_equal(one, other)


@every_spec
@pytest.mark.parametrize("back_s", [0.3, 3600.0])
def test_a_clock_that_is_set_back_starts_anew(spec: RateSpec, back_s: float) -> None:
    """Protects a run from results that stand still until the time of before has come again: after the first
    earlier frame everything is as if the stream had begun with the second."""
    x = np.random.default_rng(11).normal(size=(140, 1))
    t = times(140)
    t[60:] -= back_s
    whole, alone = track(spec, plain(1), RATE, t, x), track(spec, plain(1), RATE, t[61:], x[61:])
    for one, other in zip(whole, alone, strict=True):
        np.testing.assert_array_equal(one[61:], other)


@every_spec
@pytest.mark.parametrize("order", [(62, 60, 61), (63, 60, 61, 62)])
def test_frames_in_the_wrong_order_start_nothing_anew(spec: RateSpec, order: tuple[int, ...]) -> None:
    """Protects a stream whose frames overtake each other: those that come too late are not used, and all
    others are what they are without them, not unsettled for the time of a new start."""
    x, t = np.random.default_rng(13).normal(size=(140, 1)), times(140)
    in_order = [*range(60), *range(max(order), 140)]
    estimator, expected = (
        RateEstimator(spec, plain(1), RATE),
        track(spec, plain(1), RATE, t[in_order], x[in_order]),
    )
    at = 0
    for k in (*range(60), *order, *range(max(order) + 1, 140)):
        said = estimator.take(t[k], x[k])
        assert (said == IGNORED) == (k in order[1:])
        if said != IGNORED:
            np.testing.assert_array_equal(estimator.rates.q, expected.q[at])
            at += 1
    assert at == len(in_order)


@every_spec
@pytest.mark.parametrize("back_s", [0.002, 0.005, 0.04])
def test_a_clock_that_is_set_back_a_little_waits_until_it_is_later_again(
    spec: RateSpec, back_s: float
) -> None:
    """Protects streams of many frames a second from a new start for some milliseconds: only the frames that
    are not later than the last are not used."""
    x, t = np.random.default_rng(14).normal(size=(1400, 1)), np.arange(1400) / 1000.0
    t[600:] -= back_s
    estimator = RateEstimator(spec, plain(1), 1000.0)
    said = np.array([estimator.take(*row) for row in zip(t, x, strict=True)])
    np.testing.assert_array_equal(np.flatnonzero(said == IGNORED), np.flatnonzero(t <= t[599])[600:])
    assert (said[600:] != RESTARTED).all()
    assert said[-1] == OK


@every_spec
def test_a_single_stamp_far_behind_changes_nothing(spec: RateSpec) -> None:
    """Protects the motion of before from one damaged stamp, also among frames in the wrong order."""
    estimator, t = RateEstimator(spec, plain(1), RATE), times(240)
    for time in t:
        estimator.take(time, np.zeros(1))
    for back_s in (0.01, 3600.0, 0.02):
        assert estimator.take(t[-1] - back_s, np.ones(1)) == IGNORED
    assert estimator.take(t[-1] + 0.01, np.zeros(1)) == OK


@every_spec
def test_one_stamp_too_far_ahead_costs_no_more_than_a_start(spec: RateSpec) -> None:
    """Protects all that comes after a damaged stamp: it would wait for an hour for a time like it."""
    x = np.random.default_rng(12).normal(size=(240, 1))
    t = times(240)
    t[60] += 3600.0
    whole, alone = track(spec, plain(1), RATE, t, x), track(spec, plain(1), RATE, t[62:], x[62:])
    assert whole.settled[-1]
    for one, other in zip(whole, alone, strict=True):
        np.testing.assert_array_equal(one[62:], other)


@pytest.mark.parametrize("spec", BUTTERWORTHS, ids=str)
def test_butterworth_outlives_other_steps(spec: ButterworthSpec) -> None:
    """Protects uneven frames: on a straight line that has settled, speed and delay stay through any steps."""
    rng = np.random.default_rng(9)
    t = np.concatenate([times(600), times(600)[-1] + np.cumsum(rng.uniform(0.004, 0.02, 60))])
    found = track(spec, plain(1), RATE, t, 3.0 * t[:, None])
    np.testing.assert_allclose(found.v[600:], 3.0, rtol=1e-9)
    late = t[600:] - found.q[600:, 0] / 3.0
    np.testing.assert_allclose(late, response(spec, RATE).delay_s[0], rtol=1e-8)
