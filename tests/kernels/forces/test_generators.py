"""Torque generators that turn coordinates: their torques at the right place, and slopes by differences."""

from __future__ import annotations

import numpy as np

from kernels.forces.generators import (
    GIVEN_ACTIVATION,
    GIVEN_TORQUE,
    DrivenGenerators,
    add_generator_slopes,
    add_generators,
    new_generator_work,
    set_activations,
)
from kernels.torque_generator.needed import needed_activations
from rtsim.config.models.function_schema import FunctionSpec
from rtsim.models.packing.functions import FunctionTable
from tests.kernels.torque_generator.generators import random_generators, table
from tests.naive.torque_generators import torque

N, N_Q = 5, 4
RNG = np.random.default_rng(8)
TWINS = random_generators(RNG, N)
COORDINATE = np.array([1, 1, 3, 0, 3])
NOBODY = np.zeros(N, np.int64)
UNFITTED = np.array([1.0, 1.0, 0.0, 0.0, 1.0])


def driven() -> DrivenGenerators:
    """Five generators of three coordinates, the first with an activation that grows with time."""
    functions = FunctionTable()
    rows = [functions.add(FunctionSpec(linear=(0.5, 0.1)))]
    rows += [functions.add(FunctionSpec(constant=0.2 * k)) for k in range(1, N)]
    return DrivenGenerators(table(TWINS), COORDINATE, COORDINATE, functions.build(), np.array(rows), NOBODY)


def torques(given, work, q, v):
    tau = np.zeros(N_Q)
    add_generators(given, q, v, work, tau)
    return tau


def test_each_turns_its_coordinate_by_the_twins_torque() -> None:
    """Protects places and sums: generators of one coordinate add up, the activation is that of the time."""
    given = driven()
    work = new_generator_work(given)
    set_activations(given, 0.6, 1e-3, work)
    activations = [0.4, 0.2, 0.4, 0.6, 0.8]
    np.testing.assert_allclose(work.state[:, GIVEN_ACTIVATION], activations, rtol=1e-15)
    q, v = RNG.uniform(-0.5, 1.5, N_Q), RNG.uniform(-8.0, 8.0, N_Q)
    each = [
        torque(m, q[d], v[d], a, UNFITTED) for m, d, a in zip(TWINS, COORDINATE, activations, strict=True)
    ]
    expected = np.bincount(COORDINATE, each, N_Q)
    np.testing.assert_allclose(torques(given, work, q, v), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(work.state[:, GIVEN_TORQUE], each, rtol=1e-9, atol=1e-9)


def test_slopes_are_the_differences() -> None:
    """Protects the Jacobian of a forward step: by angles and by speeds."""
    given = driven()
    work = new_generator_work(given)
    set_activations(given, 0.3, 1e-3, work)
    for _ in range(20):
        q, v = RNG.uniform(-0.5, 1.5, N_Q), RNG.uniform(-8.0, 8.0, N_Q)
        torques(given, work, q, v)
        slopes = np.zeros((N_Q, N_Q)), np.zeros((N_Q, N_Q))
        add_generator_slopes(given, work, *slopes)
        for k, of in enumerate(slopes):
            for d in range(N_Q):
                move = 1e-6 * np.eye(N_Q)[d]
                ends = [
                    torques(given, work, q + (k == 0) * s * move, v + (k == 1) * s * move) for s in (1, -1)
                ]
                np.testing.assert_allclose(of[:, d], (ends[0] - ends[1]) / 2e-6, rtol=2e-5, atol=2e-4)


def test_what_is_needed_is_what_was_given() -> None:
    """Protects the inverse: the activation that made a torque is found again; a generator that works against
    the torque is asked for none of it."""
    given = driven()
    alone = DrivenGenerators(
        table(TWINS[:1]), COORDINATE[:1], COORDINATE[:1], given.functions, given.given[:1], NOBODY[:1]
    )
    work = new_generator_work(alone)
    set_activations(alone, 1.4, 1e-3, work)
    found, asked = np.zeros(1), np.zeros(1)
    q, v = (
        np.full(N_Q, TWINS[0].theta_0 * TWINS[0].angle_sign / TWINS[0].factor + TWINS[0].offset),
        np.zeros(N_Q),
    )
    tau = torques(alone, work, q, v)
    needed_activations(alone, q, v, tau, found, asked, np.zeros(3), np.zeros(4))
    np.testing.assert_allclose(found, work.state[:, GIVEN_ACTIVATION], rtol=1e-12)
    np.testing.assert_allclose(asked, tau[COORDINATE[0]], rtol=1e-15)
    needed_activations(alone, q, v, -tau, found, asked, np.zeros(3), np.zeros(4))
    assert asked[0] == 0.0
    assert abs(found[0]) < 1e-9  # its passive torque begins there
