"""Strengths of all muscles of a model in one call, rigid and elastic together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernels.muscle.elastic import NOT_CONVERGED, OK
from kernels.muscle.strengths import all_strengths
from tests.naive.hill import (
    PASSIVE_CORNER,
    Array,
    Muscles,
    fibre,
    force_velocity,
    random_muscles,
    rests,
    rigid_tendon,
    soft,
    tendon_force,
)

N = 10


def model(seed: int) -> tuple[Muscles, Array, Array]:
    """Return muscles, every other one elastic, with path lengths and speeds."""
    rng = np.random.default_rng(seed)
    muscles = random_muscles(rng, N)._replace(elastic=np.arange(N, dtype=np.int64) % 2)
    length = muscles.tendon_slack_length * 1.02 + muscles.optimal_fibre_length * rng.uniform(0.4, 1.5, N)
    speed = muscles.optimal_fibre_length * muscles.max_contraction_speed * rng.uniform(-0.8, 0.8, N)
    return muscles, length, speed


def strengths(muscles: Muscles, length: Array, speed: Array) -> tuple:
    """Return status, strengths and passive forces by the kernel."""
    strength, passive = np.full(N, np.nan), np.full(N, np.nan)
    return all_strengths(muscles, length, speed, strength, passive), strength, passive


@pytest.mark.parametrize("seed", range(3))
def test_each_muscle_is_its_twin(seed: int) -> None:
    """Protects both kinds: rigid forces, and those between the rests of an elastic one."""
    muscles, length, speed = model(seed)
    status, strength, passive = strengths(muscles, length, speed)
    assert status == OK
    for m in range(N):
        full = muscles.max_isometric_force[m]
        expected = rigid_tendon(muscles, m, length[m], speed[m])
        if muscles.elastic[m]:
            relaxed_at, tense_at = (
                rests(muscles, m, length[m], 0.0),
                rests(muscles, m, length[m], 1.0),
            )
            assert len(relaxed_at) == len(tense_at) == 1
            slack, at_max = muscles.tendon_slack_length[m], muscles.tendon_strain_at_max_force[m]
            relaxed = tendon_force((length[m] - relaxed_at[0]) / slack - 1.0, at_max)
            tense = tendon_force((length[m] - tense_at[0]) / slack - 1.0, at_max)
            optimal = muscles.optimal_fibre_length[m]
            u = speed[m] / (optimal * muscles.max_contraction_speed[m])
            cosine = fibre(muscles, m, tense_at[0] / optimal)[1]
            expected = (
                full * (tense - relaxed) * force_velocity(cosine * u),
                full * soft(relaxed + muscles.fibre_damping[m] * u, PASSIVE_CORNER),
            )
        assert strength[m] == pytest.approx(expected[0], rel=1e-9, abs=1e-11 * full)
        assert passive[m] == pytest.approx(expected[1], rel=1e-9, abs=1e-11 * full)


def test_a_stiff_tendon_is_a_rigid_one() -> None:
    """Protects the agreement of both kinds when still: the difference goes with the tendon's strain."""
    muscles, length, _ = model(5)
    _, rigid, rigid_passive = strengths(muscles._replace(elastic=np.zeros(N, np.int64)), length, np.zeros(N))
    gaps = []
    for strain in (1e-3, 1e-4, 1e-5):
        stiff = muscles._replace(elastic=np.ones(N, np.int64), tendon_strain_at_max_force=np.full(N, strain))
        status, strength, passive = strengths(stiff, length, np.zeros(N))
        assert status == OK
        gap = np.abs(strength + passive - rigid - rigid_passive) / muscles.max_isometric_force
        gaps.append(gap.max())
    assert gaps[1] < 0.15 * gaps[0]
    # what remains are the rounded corners of the rigid muscle's passive force
    assert gaps[2] < 1e-3


def test_slack_and_overlong_paths_are_survived() -> None:
    """Protects recruitment from any path: finite, never negative."""
    muscles, length, speed = model(6)
    for factor in (-1e300, -10.0, 0.0, 0.5, 3.0, 1e5, 1e300):
        status, strength, passive = strengths(muscles, length * factor, speed * factor)
        assert status == OK
        assert np.isfinite(strength).all()
        assert np.isfinite(passive).all()
        assert min(strength.min(), passive.min()) >= 0.0


def test_missing_length_of_an_elastic_muscle_is_told() -> None:
    """Protects against a silent default: NaN gives NOT_CONVERGED, other muscles keep their forces."""
    muscles, length, speed = model(7)
    expected = strengths(muscles, length, speed)
    length[3] = math.nan
    status, strength, passive = strengths(muscles, length, speed)
    assert status == NOT_CONVERGED
    others = np.arange(N) != 3
    np.testing.assert_array_equal(strength[others], expected[1][others])
    np.testing.assert_array_equal(passive[others], expected[2][others])
