"""Torque of a generator: the twin, all derivatives, the inverse, and laws."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.muscle.activation import activation_rate
from kernels.torque_generator.torque import (
    BY_ACTIVATION,
    BY_ANGLE,
    BY_FIT,
    BY_SPEED,
    N_FIT,
    N_TORQUE,
    S_TAU,
    STRENGTH,
    TORQUE,
    activation_of,
    activations,
    parts,
    torque,
    torques,
)
from tests.kernels.torque_generator.generators import random_fits, random_generators, table
from tests.naive import torque_generators

N = 6
RNG = np.random.default_rng(5)
TWINS = random_generators(RNG, N)
FITS = random_fits(RNG, N)
STATES = np.column_stack(
    [RNG.uniform(-1.5, 2.5, 40), RNG.uniform(-25.0, 25.0, 40), RNG.uniform(-0.2, 1.2, 40)]
)


def of(generators, g, state):
    """A torque with its derivatives."""
    out = np.zeros(N_TORQUE)
    torque(generators, g, np.asarray(state, float), out)
    return out


@pytest.mark.parametrize("g", range(N))
def test_a_torque_is_that_of_the_twin(g):
    """Protects eqs 3 to 6 with both blendings, both signs, offset and factor."""
    generators = table(TWINS, FITS)
    for q, qd, a in STATES:
        naive = torque_generators.torque(TWINS[g], q, qd, a, FITS[g])
        assert of(generators, g, (q, qd, a))[TORQUE] == pytest.approx(naive, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("g", range(N))
def test_derivatives_are_the_differences(g):
    """Protects derivatives by angle, speed and activation."""
    generators, h = table(TWINS, FITS), 1e-6
    for state in STATES:
        found = of(generators, g, state)
        for k, column in enumerate((BY_ANGLE, BY_SPEED, BY_ACTIVATION)):
            step = h * np.eye(3)[k]
            difference = (
                of(generators, g, state + step)[TORQUE] - of(generators, g, state - step)[TORQUE]
            ) / (2 * h)
            assert found[column] == pytest.approx(difference, rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("g", range(N))
def test_derivatives_by_the_fit_are_the_differences(g):
    """Protects derivatives by the five parameters that are fitted."""
    generators, h = table(TWINS, FITS), 1e-6
    for state in STATES:
        found = of(generators, g, state)
        for k in range(N_FIT):
            values = []
            for side in (1.0, -1.0):
                generators.fit[g, k] = FITS[g, k] + side * h
                values.append(of(generators, g, state)[TORQUE])
            generators.fit[g, k] = FITS[g, k]
            difference = (values[0] - values[1]) / (2 * h)
            assert found[BY_FIT + k] == pytest.approx(difference, rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("g", range(N))
def test_the_inverse_gives_the_activation_back(g):
    """Protects the assessment: activation to torque and back, below 0 and above 1 too, and the twin's."""
    generators, scratch = table(TWINS, FITS), np.zeros(4)
    for q, qd, a in STATES:
        tau = of(generators, g, (q, qd, a))[TORQUE]
        found = activation_of(generators, g, np.array([q, qd, tau]), scratch)
        per_activation = of(generators, g, (q, qd, a))[BY_ACTIVATION]
        assert found == pytest.approx(a, abs=1e-12 + abs(1e-13 * tau / per_activation))
        naive = torque_generators.activation(TWINS[g], q, qd, 20.0, FITS[g])
        found = activation_of(generators, g, np.array([q, qd, 20.0]), scratch)
        assert found == pytest.approx(naive, rel=1e-7, abs=1e-7)
        assert scratch == pytest.approx(
            torque_generators.multipliers(TWINS[g], q, qd, FITS[g]), rel=1e-9, abs=1e-10
        )


def test_tables_are_worked_through():
    """Protects both entries: every row is what the single kernels give."""
    generators = table(TWINS, FITS)
    out = np.zeros((N, N_TORQUE))
    torques(generators, STATES[:N], out)
    for g in range(N):
        assert (out[g] == of(generators, g, STATES[g])).all()
    activation, pieces, piece = np.zeros(len(STATES)), np.zeros((len(STATES), 4)), np.zeros(4)
    activations(generators, 2, STATES, activation, pieces)
    for k, state in enumerate(STATES):
        assert activation[k] == activation_of(generators, 2, state, piece)
        assert (pieces[k] == piece).all()


def test_isometric_torque_at_the_optimal_angle_is_the_strength():
    """Protects tau_o: a = 1 at theta_o without speed gives s_tau tau_o, where nothing is stretched."""
    twin = torque_generators.Generator(150.0, 10.0, 0.3, 0.8, 1.2, 0.2, 1.0, 2.0)
    generators = table([twin], np.array([[1.4, 1.3, 0.1, 0.2, 1.7]]))
    assert of(generators, 0, (0.3, 0.0, 1.0))[TORQUE] == pytest.approx(1.7 * 150.0, rel=1e-12)
    assert of(generators, 0, (0.3, 0.0, 0.0))[TORQUE] == 0.0


def test_blending_goes_where_it_is_told():
    """Protects both readings of eq. 5: at rest 1, or 1 + lambda (t^V_E - 1)."""
    twin = torque_generators.Generator(100.0, 10.0, 0.0, 1.0, 1.3, 0.2, 1.0, 2.0, blend=0.1)
    made = np.zeros(4)
    parts(table([twin]), 0, np.zeros(2), made)
    assert made[1] == pytest.approx(1.0 + 0.1 * 0.3, rel=1e-12)
    parts(table([twin._replace(to_one=True)]), 0, np.zeros(2), made)
    assert made[1] == pytest.approx(1.0, rel=1e-12)


def test_mirrored_joints_give_mirrored_torques():
    """Protects signs: a coordinate that counts the other way has the opposite torque."""
    twin = torque_generators.Generator(100.0, 10.0, 0.4, 0.9, 1.3, 0.2, 0.2, 1.0, torque_sign=1.0)
    mirrored = twin._replace(angle_sign=-1.0, torque_sign=-1.0)
    both = table([twin, mirrored])
    for q, qd, a in STATES:
        assert of(both, 1, (-q, -qd, a))[TORQUE] == pytest.approx(-of(both, 0, (q, qd, a))[TORQUE], rel=1e-12)


def test_damping_takes_power():
    """Protects energy: the damper adds to a lengthening torque and takes from a shortening one."""
    twin = torque_generators.Generator(100.0, 10.0, 0.0, 1.0, 1.3, 0.2, 0.0, 1.0, beta=0.1)
    generators = table([twin])
    still = of(generators, 0, (1.0, 0.0, 0.0))[TORQUE]
    assert of(generators, 0, (1.0, -10.0, 0.0))[TORQUE] == pytest.approx(still + 0.1 * 100.0, rel=1e-12)
    assert of(generators, 0, (1.0, 10.0, 0.0))[TORQUE] == pytest.approx(still - 0.1 * 100.0, rel=1e-12)


def test_strength_scales_torque():
    """Protects s_tau: twice as strong is twice the torque, whatever the rest is."""
    generators = table(TWINS, FITS)
    once = of(generators, 1, STATES[0])
    generators.fit[1, S_TAU] *= 2.0
    assert of(generators, 1, STATES[0])[TORQUE] == pytest.approx(2.0 * once[TORQUE], rel=1e-12)
    generators.fit[1, S_TAU] *= 0.5
    generators.parameter[1, STRENGTH] *= 2.0
    assert of(generators, 1, STATES[0])[TORQUE] == pytest.approx(2.0 * once[TORQUE], rel=1e-12)


def test_activation_follows_excitation_as_that_of_muscles_does():
    """Protects forward simulations: a table of generators is one that activation dynamics can read."""
    generators = table(TWINS)
    assert activation_rate(generators, 0, 1.0, 0.2)[0] > 0.0 > activation_rate(generators, 0, 0.0, 0.2)[0]
