"""Muscle on a rigid tendon: twin, slopes, signs, power, units, extremes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.muscle.hill import SHORTEST, Muscles, fibre, rigid_tendon
from tests.naive import hill

N = 12
MUSCLES = hill.random_muscles(np.random.default_rng(1), N)


def states(seed: int, n: int, low: float = -0.5, high: float = 2.2) -> list[tuple[int, float, float]]:
    """Return n of (muscle, path length for x of low to high, speed up to 1.5 times the maximum)."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        m = int(rng.integers(N))
        optimal = MUSCLES.optimal_fibre_length[m]
        length = MUSCLES.tendon_slack_length[m] + optimal * rng.uniform(low, high)
        found.append((m, length, optimal * MUSCLES.max_contraction_speed[m] * rng.uniform(-1.5, 1.5)))
    return found


def test_forces_are_those_of_the_twin() -> None:
    """Protects strength and passive force."""
    for m, length, speed in states(2, 100):
        strength, passive = rigid_tendon(MUSCLES, m, length, speed)[:2]
        expected = hill.rigid_tendon(MUSCLES, m, length, speed)
        full = MUSCLES.max_isometric_force[m]
        assert strength == pytest.approx(expected[0], rel=1e-11, abs=1e-13 * full)
        assert passive == pytest.approx(expected[1], rel=1e-11, abs=1e-13 * full)


def test_slopes_are_the_differences_of_the_forces() -> None:
    """Protects the derivatives by length and speed, too short and too fast paths included."""
    for m, length, speed in states(3, 200):
        optimal, full = MUSCLES.optimal_fibre_length[m], MUSCLES.max_isometric_force[m]
        fastest = optimal * MUSCLES.max_contraction_speed[m]
        slopes = rigid_tendon(MUSCLES, m, length, speed)[2:]
        h = 1e-5
        for k, (unit, dl, ds) in enumerate([(optimal, h * optimal, 0.0), (fastest, 0.0, h * fastest)]):
            ahead = rigid_tendon(MUSCLES, m, length + dl, speed + ds)
            behind = rigid_tendon(MUSCLES, m, length - dl, speed - ds)
            for force in (0, 1):
                difference = (ahead[force] - behind[force]) / (2 * h * full)
                # the corners' third derivatives, 0.02^-2 to 0.001^-2, bound what a step of 1e-5 shows
                found = slopes[2 * force + k] * unit / full
                assert found == pytest.approx(difference, rel=1e-5, abs=1e-6)


def test_optimal_length_at_rest_gives_the_printed_force() -> None:
    """Protects the scale: at optimal fibre length, still, F_max cos(alpha_opt) and e^-4 of it passively."""
    for m in range(N):
        cosine, full = math.cos(MUSCLES.pennation_at_optimal[m]), MUSCLES.max_isometric_force[m]
        length = MUSCLES.tendon_slack_length[m] + MUSCLES.optimal_fibre_length[m] * cosine
        strength, passive = rigid_tendon(MUSCLES, m, length, 0.0)[:2]
        assert strength == pytest.approx(full * cosine, rel=1e-12)
        assert passive == pytest.approx(full * cosine * math.exp(-4.0), rel=1e-4)


def test_without_pennation_the_curves_stand_alone() -> None:
    """Protects zero pennation: fibre and tendon in line, forces are products of the curves."""
    muscles = hill.random_muscles(np.random.default_rng(4), 3, pennation_at_optimal=0.0, fibre_damping=0.0)
    for x in (0.5, 0.8, 1.0, 1.3, 1.7):
        for u in (-0.7, 0.0, 0.4):
            length = muscles.tendon_slack_length[1] + x * muscles.optimal_fibre_length[1]
            speed = u * muscles.optimal_fibre_length[1] * muscles.max_contraction_speed[1]
            strength, passive = rigid_tendon(muscles, 1, length, speed)[:2]
            full = muscles.max_isometric_force[1]
            product = hill.force_length(x) * hill.force_velocity(u)
            assert strength == pytest.approx(full * product, rel=1e-7)
            soft = hill.soft(hill.passive_force(x), hill.PASSIVE_CORNER)
            assert passive == pytest.approx(full * soft, rel=1e-7)


def test_fibre_keeps_its_thickness_and_never_lies_across() -> None:
    """Protects the pennation: l sin(alpha) constant in the working range, bounded anywhere."""
    for thickness in (0.0, 0.1, 0.4, 0.9):
        for x in np.linspace(0.44, 1.8, 30):
            length, cosine, _ = fibre(x, thickness)
            assert length * math.sqrt(max(1.0 - cosine * cosine, 0.0)) == pytest.approx(thickness, abs=2e-4)
            assert length * cosine == pytest.approx(x, abs=1e-7)
        for x in (-1e3, -5.0, -0.1, 0.0, 0.05, 0.1, 1e3):
            length, cosine, turning = fibre(x, thickness)
            assert length >= SHORTEST
            assert 0.0 <= cosine <= 1.0
            assert math.isfinite(turning)


def test_power_at_the_tendon_is_power_of_the_fibre() -> None:
    """Protects the transmission: force times path speed is fibre force times fibre speed, for any x."""
    muscles = MUSCLES._replace(fibre_damping=np.zeros(N))
    for m, length, speed in states(5, 60, -0.2, 1.8):
        optimal, full = muscles.optimal_fibre_length[m], muscles.max_isometric_force[m]
        x = (length - muscles.tendon_slack_length[m]) / optimal
        h, thickness = 1e-6, math.sin(muscles.pennation_at_optimal[m])
        rate = (fibre(x + h, thickness)[0] - fibre(x - h, thickness)[0]) / (2 * h) * speed
        normalised = rate / (optimal * muscles.max_contraction_speed[m])
        fibre_length = fibre(x, thickness)[0]
        power = full * hill.force_length(fibre_length) * hill.force_velocity(normalised) * rate
        strength = rigid_tendon(muscles, m, length, speed)[0]
        assert strength * speed == pytest.approx(power, rel=1e-6, abs=1e-7 * full * optimal)


def test_passive_muscle_creates_no_energy() -> None:
    """Protects dissipation: lengthening meets more passive force, shortening less; cycles cost work."""
    for m, length, speed in states(6, 100):
        moving = rigid_tendon(MUSCLES, m, length, speed)[1]
        still = rigid_tendon(MUSCLES, m, length, 0.0)[1]
        assert (moving - still) * speed >= 0.0
    time = np.linspace(0.0, 2.0 * math.pi, 201)[:-1]
    for m in range(N):
        optimal, slack = MUSCLES.optimal_fibre_length[m], MUSCLES.tendon_slack_length[m]
        path, rate = slack + optimal * (1.2 + 0.3 * np.sin(time)), 0.3 * optimal * np.cos(time)
        pull = [rigid_tendon(MUSCLES, m, p, r)[1] for p, r in zip(path, rate, strict=True)]
        assert np.mean(pull * rate) > 0.0


def test_strength_rises_with_speed() -> None:
    """Protects the force-velocity law at the tendon: lengthening is stronger than shortening."""
    for m in range(N):
        optimal = MUSCLES.optimal_fibre_length[m]
        length = MUSCLES.tendon_slack_length[m] + optimal
        speeds = np.linspace(-1.5, 1.5, 61) * optimal * MUSCLES.max_contraction_speed[m]
        assert (np.diff([rigid_tendon(MUSCLES, m, length, s)[0] for s in speeds]) > 0.0).all()


def test_units_do_not_matter() -> None:
    """Protects dimensions: kilonewtons and millimetres scale forces and slopes, nothing else."""
    scaled = MUSCLES._replace(
        max_isometric_force=MUSCLES.max_isometric_force * 1e-3,
        optimal_fibre_length=MUSCLES.optimal_fibre_length * 1e3,
        tendon_slack_length=MUSCLES.tendon_slack_length * 1e3,
    )
    factors = np.array([1e-3, 1e-3, 1e-6, 1e-6, 1e-6, 1e-6])
    for m, length, speed in states(7, 30, 0.3, 1.8):
        here = np.array(rigid_tendon(MUSCLES, m, length, speed))
        there = np.array(rigid_tendon(scaled, m, length * 1e3, speed * 1e3))
        np.testing.assert_allclose(there, here * factors, rtol=1e-9, atol=1e-12)


def test_beyond_the_range_everything_is_flat() -> None:
    """Protects agreement of slopes and forces where lengths and speeds are held: no change, slope 0."""
    optimal, slack = MUSCLES.optimal_fibre_length[0], MUSCLES.tendon_slack_length[0]
    fastest = optimal * MUSCLES.max_contraction_speed[0]
    near, far = (rigid_tendon(MUSCLES, 0, slack + x * optimal, 0.1) for x in (1.5e3, 3e3))
    assert near == far
    assert near[2] == near[4] == 0.0
    for sign in (-1.0, 1.0):
        near, far = (rigid_tendon(MUSCLES, 0, slack + optimal, sign * u * fastest) for u in (1.5e3, 3e3))
        assert near == far
        assert near[3] == near[5] == 0.0


anywhere = st.floats(allow_nan=False, allow_infinity=False)


@settings(derandomize=True, deadline=None, database=None, max_examples=200)
@given(m=st.integers(0, N - 1), length=anywhere, speed=anywhere)
def test_every_finite_input_gives_finite_pull(m: int, length: float, speed: float) -> None:
    """Protects robustness: no NaN, no infinity, no pushing, whatever the path does."""
    found = rigid_tendon(MUSCLES, m, length, speed)
    assert all(math.isfinite(x) for x in found)
    assert found[0] >= 0.0
    assert found[1] >= 0.0


def test_right_angle_of_pennation_is_survived() -> None:
    """Protects extremes of the parameters: fibres almost across the tendon."""
    muscles: Muscles = hill.random_muscles(np.random.default_rng(8), 1, pennation_at_optimal=1.57)
    for x in (-1.0, 0.0, 0.1, 1.0, 3.0):
        length = muscles.tendon_slack_length[0] + x * muscles.optimal_fibre_length[0]
        assert all(math.isfinite(v) for v in rigid_tendon(muscles, 0, length, 0.1))
