"""Slopes of the second time derivative of constraints, against differences along coordinates and speeds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.dynamics.constraint_slopes import N_CHANGE, N_MOTION, element_motion, onset_slopes
from kernels.dynamics.derivatives import inverse_dynamics_derivatives, new_derivative_work
from kernels.dynamics.inertia import spatial_inertia
from kernels.dynamics.motion import velocities
from kernels.dynamics.system import new_dynamics_work
from kernels.joints.tree import pose
from kernels.solver.constraints import element_values, new_element_work
from tests.naive.constrained import rates_along, values
from tests.naive.mechanisms import Mechanism, dirty, moved, not_rolling, random_mechanism, with_targets

Array = NDArray[np.floating]

HARD = 2
SEEDS = range(3)


def all_hard(seed: int) -> tuple[Mechanism, Array, Array, Array]:
    """Return a mechanism whose elements are all hard, without couplers; q, v, v_dot."""
    some, rng = random_mechanism(seed), np.random.default_rng([seed, 7])
    elements = some.constraints.elements
    roles = with_targets(some.tree, elements, [HARD] * len(elements.kind), some.q)
    none = type(some.constraints.couplers)(*(column[:0] for column in some.constraints.couplers))
    q = moved(some.tree, some.q, rng.normal(0.0, 0.3, some.n_v))
    v, v_dot = rng.normal(size=(2, some.n_v))
    return some._replace(constraints=not_rolling(elements, roles, none)), q, v, v_dot


def slopes(some: Mechanism, q: Array, v: Array, v_dot: Array) -> tuple[Array, Array]:
    """Return dPhi-double-dot / dq and / dv (n_element, n_v) by the kernels, on dirty working space."""
    system, tree, elements = some.system, some.tree, some.constraints.elements
    work, rates = dirty(new_dynamics_work(tree)), dirty(new_derivative_work(tree))
    ends = dirty(new_element_work(*elements.path.shape))
    pose(tree, q, work.pose)
    velocities(tree, work.pose, v, work.velocities)
    spatial_inertia(system.bodies, work.pose, work.inertia)
    inverse_dynamics_derivatives(system, q, v, v_dot, work, rates, *np.zeros((2, some.n_v, some.n_v)))
    element_values(elements, work.pose, some.constraints.roles.target, ends)
    by_q, by_v = np.full((2, len(elements.kind), some.n_v), np.nan)
    motion, change = np.full((N_MOTION, 3), np.nan), np.full((N_CHANGE, 3), np.nan)
    bodies = work.velocities.body, rates.acceleration
    for e in range(len(elements.kind)):
        element_motion(elements, work.pose, bodies, system.gravity, e, ends, motion)
        onset_slopes(elements, e, work.pose.twist, rates, motion, change, by_q[e], by_v[e])
    return by_q, by_v


def onsets(some: Mechanism, q: Array, v: Array, v_dot: Array) -> Array:
    """Return Phi-double-dot (n_element,) by differences of the values along the motion."""
    return rates_along(lambda there: values(some.tree, some.constraints, there), some.tree, q, v, v_dot)[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_slopes_against_differences(seed: int) -> None:
    """Protects the Jacobian of a held step: every kind of joint and element, with ground on either side."""
    some, q, v, v_dot = all_hard(seed)
    by_q, by_v = slopes(some, q, v, v_dot)
    step = 1e-3
    for d, e in enumerate(np.eye(some.n_v)):
        along_q = [onsets(some, moved(some.tree, q, s * step * e), v, v_dot) for s in (-2, -1, 1, 2)]
        along_v = [onsets(some, q, v + s * e, v_dot) for s in (-1, 1)]  # a parabola in v
        a, b, c, f = along_q
        np.testing.assert_allclose(by_q[:, d], (a - 8 * b + 8 * c - f) / (12 * step), rtol=1e-5, atol=3e-5)
        np.testing.assert_allclose(by_v[:, d], 0.5 * (along_v[1] - along_v[0]), rtol=1e-6, atol=1e-6)
    assert (np.abs(by_q).max(axis=1) > 1e-3).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_gravity_does_not_matter(seed: int) -> None:
    """Protects the accelerations in use, those against gravity: what both bodies fall with drops out."""
    some, q, v, v_dot = all_hard(seed)
    found = slopes(some, q, v, v_dot)
    some.system.gravity[:] = 0.0
    for one, other in zip(found, slopes(some, q, v, v_dot), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
