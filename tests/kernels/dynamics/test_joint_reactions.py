"""Reactions in joints: every body's equilibrium, power along the dofs, weights that hang."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.dynamics.constrained import OK, joint_reactions
from kernels.dynamics.constraints import new_constraint_work
from kernels.dynamics.system import new_dynamics_work
from kernels.joints.kinds import HINGE
from kernels.solver.constraints import HARD, SPHERE_ON_PLANE
from rtsim.models.packing.tree import JointRow
from tests.kernels.dynamics.moving_mechanisms import Answer, Case, answer, pendulum, some_case
from tests.naive import constrained
from tests.naive.mechanisms import Mechanism, dirty, moved, point, posed

Array = NDArray[np.floating]

SEEDS = range(3)


def reactions(case: Case, found: Answer) -> Array:
    """Return (n_body, 6) of the kernel."""
    some = case.some
    rows = dirty(new_constraint_work(some.constraints, some.n_v))
    work = dirty(new_dynamics_work(some.tree, len(rows.value)))
    out = np.full((len(some.tree.parent), 6), np.nan)
    joint_reactions(
        some.system,
        some.constraints,
        some.q,
        case.v,
        found.v_dot,
        case.wrench,
        found.multiplier,
        work,
        rows,
        out,
    )
    return out


def joint_centres(some: Mechanism) -> Array:
    """Return the joints' centres on their bodies (n_body, 3) in ground."""
    at = posed(some.tree, some.q)
    return np.array([point(at, b, x) for b, x in enumerate(some.tree.position_in_child)])


def rates_of_momentum(some: Mechanism, v: Array, v_dot: Array) -> Array:
    """Return the rate of angular momentum about ground's origin and of momentum, (n_body, 6)."""
    tree, bodies, n = some.tree, some.system.bodies, len(some.tree.parent)

    def places(q: Array) -> Array:
        at = posed(tree, q)
        centres = np.array([point(at, b, bodies.centre[b]) for b in range(n)])
        return np.concatenate([centres[:, np.newaxis], at.rotation], axis=1)

    now = places(some.q)
    speed, rate = constrained.rates_along(places, tree, some.q, v, v_dot)
    out = np.zeros((n, 6))
    for b in range(n):
        R, inertia = now[b, 1:], now[b, 1:] @ bodies.inertia[b] @ now[b, 1:].T
        w, alpha = vector(speed[b, 1:] @ R.T), vector(rate[b, 1:] @ R.T)
        push = bodies.mass[b] * rate[b, 0]
        out[b, :3] = inertia @ alpha + np.cross(w, inertia @ w) + np.cross(now[b, 0], push)
        out[b, 3:] = push
    return out


def vector(S: Array) -> Array:
    """Return the vector of the skew part of a matrix (3, 3)."""
    return 0.5 * np.array([S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]])


def wrench_of(x: Array, moment: Array, force: Array) -> Array:
    """Return a force at x (3,) with a moment as a wrench about ground's origin."""
    return np.concatenate([moment + np.cross(x, force), force])


@pytest.mark.parametrize("seed", SEEDS)
def test_every_body_obeys_newton_and_euler_under_the_reactions(seed: int) -> None:
    """Protects reactions and multipliers: all forces on each body, its joints' among them, move it so."""
    case = some_case(seed)
    some, found = case.some, answer(case)
    at, bodies, elements = posed(some.tree, some.q), some.system.bodies, some.constraints.elements
    total = case.wrench.copy()
    for b, reaction in enumerate(reactions(case, found)):
        through_joint = wrench_of(joint_centres(some)[b], reaction[:3], reaction[3:])
        total[b] += through_joint
        if some.tree.parent[b] >= 0:
            total[some.tree.parent[b]] -= through_joint
        total[b] += wrench_of(
            point(at, b, bodies.centre[b]), np.zeros(3), bodies.mass[b] * some.system.gravity
        )
    hard = np.flatnonzero(some.constraints.roles.mode == HARD)
    for e, strength in zip(hard, found.multiplier, strict=False):
        a, b, n = constrained.element_ends(at, elements, e)
        force = strength * (n if elements.kind[e] == SPHERE_ON_PLANE else 2.0 * (a - b))
        for body, sign in ((elements.body_a[e], 1.0), (elements.body_b[e], -1.0)):
            if body >= 0:
                total[body] += sign * wrench_of(a, np.zeros(3), force)
    expected = rates_of_momentum(some, case.v, found.v_dot)
    np.testing.assert_allclose(total, expected, rtol=0, atol=1e-7 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("seed", SEEDS)
def test_reactions_along_a_dof_are_its_drive_and_its_couplers(seed: int) -> None:
    """Protects the split of reactions: along a joint's own motion only tau and the couplers act."""
    case = some_case(seed)
    some, found = case.some, answer(case)
    at, centres, transmitted = posed(some.tree, some.q), joint_centres(some), reactions(case, found)
    G, n_coupler = constrained.rows(some.tree, some.constraints, some.q), len(some.constraints.couplers.dof)
    expected = case.tau + G[-n_coupler:].T @ found.multiplier[-n_coupler:]
    power = np.zeros(some.n_v)
    for d, b in enumerate(some.tree.dof_body):
        turning, motion = at.twist[d, :3], at.twist[d, 3:]
        at_centre = motion + np.cross(turning, centres[b] - at.position[0])
        power[d] = turning @ transmitted[b, :3] + at_centre @ transmitted[b, 3:]
    np.testing.assert_allclose(power, expected, rtol=0, atol=1e-9 * np.abs(transmitted).max())


def test_a_hanging_chain_of_bodies_pulls_with_its_weight() -> None:
    """Protects units and signs of reactions: at rest, upwards, what hangs below; moments balance the arms."""
    mass, centre = np.array([1.0, 2.0]), np.array([[0.1, -0.2, 0.0], [0.0, -0.3, 0.05]])
    z = np.array([0.0, 0.0, 1.0])
    some = pendulum([JointRow(-1, HINGE, z), JointRow(0, HINGE, z, np.array([0.2, -0.4, 0.0]))], mass, centre)
    at_rest = Case(some._replace(q=np.zeros(2)), np.zeros(2), np.zeros(2), np.zeros((2, 6)))
    found = reactions(at_rest, Answer(OK, np.zeros(2), np.zeros(1)))
    np.testing.assert_allclose(found[:, 3:], [[0, 3 * 9.81, 0], [0, 2 * 9.81, 0]], atol=1e-12)
    # arms of the weights along x about the upper joint: 0.1 and 0.2; along z 0.05 for the lower body
    np.testing.assert_allclose(found[0, :3], [-2 * 9.81 * 0.05, 0.0, 9.81 * (0.1 + 2 * 0.2)], atol=1e-12)
    np.testing.assert_allclose(found[1, :3], [-2 * 9.81 * 0.05, 0.0, 0.0], atol=1e-12)


def test_reactions_do_not_depend_on_where_they_were_computed_before() -> None:
    """Protects the reference point: working space left at another pose gives the same reactions."""
    case = some_case(2)
    some, found = case.some, answer(case)
    rows = new_constraint_work(some.constraints, some.n_v)
    work = new_dynamics_work(some.tree, len(rows.value))
    out, elsewhere = np.zeros((2, len(some.tree.parent), 6))
    for q, target in ((moved(some.tree, some.q, np.ones(some.n_v)), elsewhere), (some.q, out)):
        joint_reactions(
            some.system,
            some.constraints,
            q,
            case.v,
            found.v_dot,
            case.wrench,
            found.multiplier,
            work,
            rows,
            target,
        )
    np.testing.assert_allclose(out, reactions(case, found), rtol=1e-12, atol=1e-12)
    assert np.abs(out - elsewhere).max() > 0.1
