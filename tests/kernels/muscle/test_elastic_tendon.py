"""Muscle on an elastic tendon: twin, derivatives, balance, limits, energy, units, extremes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from kernels.muscle import elastic
from kernels.muscle.elastic import (
    NOT_CONVERGED,
    OK,
    elastic_tendon,
    fibre_equilibrium,
    fibre_speed,
    guarded_step,
)
from kernels.muscle.hill import rigid_tendon
from tests.naive import hill

N = 12
MUSCLES = hill.random_muscles(np.random.default_rng(1), N)
FORCE, SPEED, STATUS = 0, 1, 6


def states(seed: int, n: int) -> list[tuple[int, float, float, float]]:
    """Return n of (muscle, path length, activation, x), tendons slack to twice their nominal strain."""
    rng = np.random.default_rng(seed)
    found = []
    for k in range(n):
        m = int(rng.integers(N))
        along = MUSCLES.optimal_fibre_length[m] * rng.uniform(-0.1, 1.8)
        strain = MUSCLES.tendon_strain_at_max_force[m] * rng.uniform(-1.0, 2.0)
        activation = rng.uniform(0.0, 1.0) if k % 5 else 0.0
        found.append((m, along + MUSCLES.tendon_slack_length[m] * (1.0 + strain), activation, along))
    return found


def test_force_and_fibre_speed_are_those_of_the_twin() -> None:
    """Protects the damped equilibrium, solved independently."""
    for m, length, activation, along in states(2, 100):
        found = elastic_tendon(MUSCLES, m, length, activation, along)
        force, speed = hill.elastic_tendon(MUSCLES, m, length, activation, along)
        assert found[STATUS] == OK
        assert found[FORCE] == pytest.approx(force, rel=1e-11, abs=1e-12)
        assert found[SPEED] == pytest.approx(speed, rel=1e-9, abs=1e-10)


def test_fibre_and_tendon_balance_at_the_found_speed() -> None:
    """Protects the solution itself: residual below 1e-11 of the maximum force."""
    for m, length, activation, along in states(3, 100):
        speed = elastic_tendon(MUSCLES, m, length, activation, along)[SPEED]
        optimal = MUSCLES.optimal_fibre_length[m]
        u = speed / (optimal * MUSCLES.max_contraction_speed[m])
        rest = hill.balance(MUSCLES, m, length, activation, along / optimal, u)
        assert abs(rest) < 1e-11 * (1.0 + abs(u))


def test_derivatives_are_the_differences() -> None:
    """Protects what Rosenbrock's Jacobian is built from, slack tendons and too short fibres included."""
    for m, length, activation, along in states(4, 150):
        optimal, slack = MUSCLES.optimal_fibre_length[m], MUSCLES.tendon_slack_length[m]
        full, fastest = MUSCLES.max_isometric_force[m], optimal * MUSCLES.max_contraction_speed[m]
        a = 0.05 + 0.9 * activation
        _, _, force_length, speed_length, speed_along, speed_a, _ = elastic_tendon(
            MUSCLES, m, length, a, along
        )
        step = 1e-4 * MUSCLES.tendon_strain_at_max_force[m] * slack

        def difference(
            k: int, dl: float, da: float, dx: float, m=m, length=length, a=a, along=along
        ) -> float:
            ahead = elastic_tendon(MUSCLES, m, length + dl, a + da, along + dx)[k]
            behind = elastic_tendon(MUSCLES, m, length - dl, a - da, along - dx)[k]
            return (ahead - behind) / 2.0

        # relative to what a whole nominal strain of the tendon would change
        assert force_length * step == pytest.approx(
            difference(FORCE, step, 0.0, 0.0), rel=1e-5, abs=1e-9 * full
        )
        assert -force_length * step == pytest.approx(
            difference(FORCE, 0.0, 0.0, step), rel=1e-5, abs=1e-9 * full
        )
        for slope, moved, size in (
            (speed_length, (step, 0.0, 0.0), step),
            (speed_along, (0.0, 0.0, step), step),
            (speed_a, (0.0, 1e-4, 0.0), 1e-4),
        ):
            found = difference(SPEED, *moved)
            assert slope * size == pytest.approx(found, rel=2e-5, abs=2e-8 * fastest)


def test_equilibrium_balances_and_is_stable() -> None:
    """Protects the initial state: still to 1e-10 of the maximum force, and moved away it comes back."""
    rng = np.random.default_rng(5)
    for m in range(N):
        optimal, slack = MUSCLES.optimal_fibre_length[m], MUSCLES.tendon_slack_length[m]
        for x in (0.3, 0.6, 1.0, 1.3, 1.7):
            length, a = 1.02 * slack + x * optimal, rng.uniform(0.0, 1.0)
            along, status = fibre_equilibrium(MUSCLES, m, length, a)
            assert status == OK
            assert abs(hill.balance(MUSCLES, m, length, a, along / optimal, 0.0)) < 1e-10
            assert min(abs(along - rest) for rest in hill.rests(MUSCLES, m, length, a)) < 1e-9
            found = elastic_tendon(MUSCLES, m, length, a, along)
            assert abs(found[SPEED]) < 1e-8 * optimal
            assert found[4] < 0.0


def test_paths_of_any_length_have_a_rest() -> None:
    """Protects the bracket: far too short, far too long, compliant tendons with several rests."""
    muscles = hill.random_muscles(np.random.default_rng(6), 3, tendon_strain_at_max_force=0.1)
    muscles = muscles._replace(tendon_slack_length=30.0 * muscles.optimal_fibre_length)
    n_several = 0
    for m in range(3):
        optimal = muscles.optimal_fibre_length[m]
        for length in optimal * np.array([-100.0, 0.0, 20.0, 30.5, 31.3, 33.8, 34.0, 60.0, 300.0]):
            along, status = fibre_equilibrium(muscles, m, length, 1.0)
            rests = hill.rests(muscles, m, length, 1.0)
            n_several += len(rests) > 1
            assert status == OK
            balances = [
                hill.balance(muscles, m, length, 1.0, along / optimal + d, 0.0) for d in (-1e-8, 1e-8)
            ]
            assert balances[0] <= 0.0 <= balances[1]
            if 0.2 < along / optimal < 3.9:  # the twin's grid; outside it nothing pulls
                assert min(abs(along - rest) for rest in rests) < 1e-9
    assert n_several > 0


def test_stiff_tendon_is_the_rigid_one() -> None:
    """Protects the limit: where the fibre moves with the path, force tends to the rigid tendon's."""
    rng = np.random.default_rng(7)
    for m in range(N):
        optimal, slack = MUSCLES.optimal_fibre_length[m], MUSCLES.tendon_slack_length[m]
        length, a = slack + rng.uniform(1.0, 1.4) * optimal, rng.uniform(0.2, 1.0)
        speed = rng.uniform(-0.2, 0.5) * optimal * MUSCLES.max_contraction_speed[m]
        strength, passive = rigid_tendon(MUSCLES, m, length, speed)[:2]
        gaps = []
        for strain in (1e-3, 1e-4, 1e-5):
            stiff = MUSCLES._replace(tendon_strain_at_max_force=np.full(N, strain))
            lag = lambda x, stiff=stiff: elastic_tendon(stiff, m, length, a, x)[SPEED] - speed  # noqa: E731, B023
            rigid_along = length - slack
            along = brentq(lag, rigid_along - 3.0 * strain * slack, rigid_along + strain * slack, xtol=1e-16)
            force = elastic_tendon(stiff, m, length, a, along)[FORCE]
            gaps.append(abs(force - a * strength - passive) / MUSCLES.max_isometric_force[m])
        assert gaps[1] < 0.2 * gaps[0] + 1e-7
        assert gaps[2] < 0.2 * gaps[1] + 1e-7


def test_active_shortening_follows_hill_without_damping() -> None:
    """Protects the limit of small damping: the fibre's speed is the inverse of f_V (no pennation)."""
    muscles = hill.random_muscles(
        np.random.default_rng(8),
        1,
        pennation_at_optimal=0.0,
        fibre_damping=1e-9,
        tendon_strain_at_max_force=0.05,
    )
    optimal, slack = muscles.optimal_fibre_length[0], muscles.tendon_slack_length[0]
    for u in (-0.8, -0.3, 0.0, 0.4):
        a, x = 0.6, 1.05
        force = a * hill.force_length(x) * hill.force_velocity(u) + hill.passive_force(x)
        strain = 0.05 * math.log(1.0 + force / 0.2) / math.log(6.0)
        speed = elastic_tendon(muscles, 0, optimal * x + slack * (1.0 + strain), a, optimal * x)[SPEED]
        assert speed == pytest.approx(
            u * optimal * muscles.max_contraction_speed[0], rel=1e-4, abs=1e-4 * optimal
        )


def test_relaxed_muscle_settles_and_only_loses_energy() -> None:
    """Protects dissipation: released from a stretched fibre at a fixed path, stored energy only falls."""
    m, a = 0, 0.0
    optimal, slack = MUSCLES.optimal_fibre_length[m], MUSCLES.tendon_slack_length[m]
    length = slack * 1.01 + 1.3 * optimal
    rest, _ = fibre_equilibrium(MUSCLES, m, length, a)
    for start in (rest - 0.2 * optimal, rest + 0.2 * optimal):
        x = np.linspace(start, rest, 41)[:-1]
        # dE/dx = F_max (parallel - tendon), so the power is that times dx/dt: it must be negative
        for along in x:
            speed = elastic_tendon(MUSCLES, m, length, a, along)[SPEED]
            assert hill.balance(MUSCLES, m, length, a, along / optimal, 0.0) * speed < 0.0


def test_fibre_pulls_back_from_every_state() -> None:
    """Protects forward simulation: no state runs away, neither a fibre too short nor one too long."""
    for m in range(N):
        optimal, slack = MUSCLES.optimal_fibre_length[m], MUSCLES.tendon_slack_length[m]
        for a in (0.0, 0.3, 1.0):
            length = slack * 1.03 + optimal
            rest, _ = fibre_equilibrium(MUSCLES, m, length, a)
            for x in (-50.0, -1.0, 0.0, 0.1):
                assert elastic_tendon(MUSCLES, m, length, a, x * optimal)[SPEED] > 0.0
            for x in (2.0, 3.0, 50.0):
                assert elastic_tendon(MUSCLES, m, length, a, rest + x * optimal)[SPEED] < 0.0


def test_short_path_leaves_the_fibre_slow() -> None:
    """Protects the slack state: an active muscle on too short a path stops, instead of shrinking on."""
    for m in range(N):
        optimal = MUSCLES.optimal_fibre_length[m]
        fastest = optimal * MUSCLES.max_contraction_speed[m]
        speeds = [
            elastic_tendon(MUSCLES, m, 0.5 * MUSCLES.tendon_slack_length[m], 1.0, x * optimal)[SPEED]
            / fastest
            for x in (0.5, 0.1, 0.0, -0.1, -0.3)
        ]
        assert all(-2.0 < s <= 0.0 for s in speeds)
        assert abs(speeds[-1]) < 1e-6


def test_units_do_not_matter() -> None:
    """Protects dimensions: kilonewtons and millimetres scale through."""
    scaled = MUSCLES._replace(
        max_isometric_force=MUSCLES.max_isometric_force * 1e-3,
        optimal_fibre_length=MUSCLES.optimal_fibre_length * 1e3,
        tendon_slack_length=MUSCLES.tendon_slack_length * 1e3,
    )
    factors = np.array([1e-3, 1e3, 1e-6, 1.0, 1.0, 1e3])
    for m, length, activation, along in states(9, 30):
        here = np.array(elastic_tendon(MUSCLES, m, length, activation, along)[:STATUS])
        there = np.array(elastic_tendon(scaled, m, length * 1e3, activation, along * 1e3)[:STATUS])
        np.testing.assert_allclose(there, here * factors, rtol=1e-7, atol=1e-9)
        rest, _ = fibre_equilibrium(MUSCLES, m, length, activation)
        moved, _ = fibre_equilibrium(scaled, m, length * 1e3, activation)
        assert moved == pytest.approx(rest * 1e3, rel=1e-9, abs=1e-9)


def test_beyond_the_range_everything_is_flat() -> None:
    """Protects agreement of derivatives and values where state, strain and activation are held."""
    optimal, slack = MUSCLES.optimal_fibre_length[0], MUSCLES.tendon_slack_length[0]
    near, far = (elastic_tendon(MUSCLES, 0, slack * e, 0.5, optimal) for e in (3e3, 6e3))
    assert near == far
    assert near[2] == near[3] == 0.0
    # state and path together, so that the tendon keeps its length (a power of 2: sums are exact)
    at = [x * optimal for x in (2048.0, 4096.0)]
    near, far = (elastic_tendon(MUSCLES, 0, x + 1.03125 * slack, 0.5, x) for x in at)
    np.testing.assert_allclose(near, far, rtol=1e-9)
    assert near[4] == pytest.approx(-near[3], rel=1e-12)
    for pair in ((-0.5, 0.0), (1.0, 2.0)):
        near, far = (elastic_tendon(MUSCLES, 0, 1.03 * slack + optimal, a, optimal) for a in pair)
        assert near[:5] == far[:5]
    assert far[5] == 0.0


def test_step_is_newtons_unless_it_leaves_or_lingers() -> None:
    """Protects the guarantee of the bracket: Newton where it is good, half the bracket otherwise."""
    assert guarded_step(1.0, 0.5, 1.0, 0.0, 3.0, 3.0) == -0.5
    assert guarded_step(1.0, 0.5, 0.1, 0.0, 3.0, 3000.0) == 0.5  # to -4, outside: to the middle, 1.5
    assert guarded_step(1.0, 0.5, 1.0, 0.0, 3.0, 0.9) == 0.5  # more than half of the step before
    assert guarded_step(1.0, 0.5, 0.0, 0.0, 3.0, 3.0) == 0.5  # no slope
    assert guarded_step(1.0, 0.5, -1.0, 0.0, 1.2, 3.0) == pytest.approx(-0.4)  # up, past the bracket


anywhere = st.floats(allow_nan=False, allow_infinity=False)


@settings(derandomize=True, deadline=None, database=None, max_examples=300)
@given(m=st.integers(0, N - 1), length=anywhere, activation=anywhere, along=anywhere)
def test_every_finite_input_is_solved(m: int, length: float, activation: float, along: float) -> None:
    """Protects robustness: converged, finite, never pushing, for any path, activation and state."""
    found = elastic_tendon(MUSCLES, m, length, activation, along)
    assert found[STATUS] == OK
    assert all(math.isfinite(x) for x in found)
    assert found[FORCE] >= 0.0
    rest, status = fibre_equilibrium(MUSCLES, m, length, activation)
    assert status == OK
    assert math.isfinite(rest)


def test_not_a_number_is_told() -> None:
    """Protects against a silent default: NaN in any argument gives NOT_CONVERGED."""
    for bad in range(3):
        arguments = [0.3, 0.5, 0.1]
        arguments[bad] = math.nan
        assert elastic_tendon(MUSCLES, 0, *arguments)[STATUS] == NOT_CONVERGED
        if bad < 2:
            assert fibre_equilibrium(MUSCLES, 0, *arguments[:2])[1] == NOT_CONVERGED


@pytest.mark.parametrize("most", [1, 2])
def test_iterations_that_do_not_suffice_are_told(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Protects against a root that is none: NOT_CONVERGED where the iterations end before the search does."""
    length = MUSCLES.tendon_slack_length[0] + 1.3 * MUSCLES.optimal_fibre_length[0]
    (along, settled), driven = (
        fibre_equilibrium(MUSCLES, 0, length, 0.7),
        fibre_speed(0.8, 0.1, 0.9, 0.1, 0.2),
    )
    assert settled == driven[1] == OK
    monkeypatch.setattr(elastic, "MAX_ITERATIONS", most)
    rest = getattr(fibre_equilibrium, "py_func", fibre_equilibrium)  # the compiled one holds the constant
    moving = getattr(fibre_speed, "py_func", fibre_speed)
    near, status = rest(MUSCLES, 0, length, 0.7)
    assert status == NOT_CONVERGED
    assert near != pytest.approx(along, rel=1e-9)
    assert moving(0.8, 0.1, 0.9, 0.1, 0.2)[1] == NOT_CONVERGED
