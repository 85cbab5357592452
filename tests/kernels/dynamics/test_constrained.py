"""Constrained dynamics: against a dense solution, and by the laws of mechanics."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.dynamics.constrained import MASSLESS, OK, constrained_dynamics
from kernels.dynamics.constraints import new_constraint_work
from kernels.dynamics.forward import forward_dynamics
from kernels.dynamics.inertia import Bodies
from kernels.dynamics.system import System, new_dynamics_work
from kernels.joints.kinds import HINGE, SLIDER
from kernels.solver.constraints import DISTANCE, HARD, SPHERE_ON_PLANE
from rtsim.models.packing.tree import JointRow, build_tree
from tests.kernels.dynamics.moving_mechanisms import Case, answer, pendulum, some_case
from tests.naive import constrained
from tests.naive.mechanisms import (
    Mechanism,
    couplers,
    not_rolling,
    point,
    posed,
    twice,
    with_targets,
    without_constraints,
)
from tests.naive.random_models import elements_between

Array = NDArray[np.floating]

SEEDS = range(3)


@pytest.mark.parametrize("seed", SEEDS)
def test_motion_and_multipliers_solve_the_dense_equations(seed: int) -> None:
    """Protects v_dot and lambda: the saddle-point system with rows and bias by differences, in NumPy."""
    case = some_case(seed)
    found = answer(case)
    expected = constrained.dynamics(
        case.some.system, case.some.constraints, case.some.q, case.v, case.tau, case.wrench
    )
    assert found.status == OK
    for x, y in zip((found.v_dot, found.multiplier), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-6 * np.abs(y).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_equations_of_motion_and_constraints_hold(seed: int) -> None:
    """Protects both equations to rounding: M v_dot + h = tau + J' w + G' lambda, and no constraint opens."""
    case = some_case(seed)
    some, found = case.some, answer(case)
    G = constrained.rows(some.tree, some.constraints, some.q)
    needed = constrained.inverse(some.system, some.q, case.v, found.v_dot, case.wrench)
    np.testing.assert_allclose(
        needed, case.tau + G.T @ found.multiplier, rtol=0, atol=1e-9 * np.abs(found.multiplier).max()
    )
    _, opening = constrained.rates_along(
        lambda q: constrained.values(some.tree, some.constraints, q), some.tree, some.q, case.v, found.v_dot
    )
    np.testing.assert_allclose(opening, 0.0, atol=1e-7 * max(1.0, np.abs(found.v_dot).max() ** 2))


def test_without_constraints_it_is_forward_dynamics() -> None:
    """Protects the free part: no rows, the motion of articulated bodies."""
    case = some_case(0)
    free = case._replace(some=case.some._replace(constraints=without_constraints(case.some.tree)))
    expected = np.zeros(case.some.n_v)
    work = new_dynamics_work(case.some.tree)
    forward_dynamics(case.some.system, case.some.q, case.v, case.tau, case.wrench, work, expected)
    found = answer(free)
    assert found.status == OK
    np.testing.assert_allclose(found.v_dot, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_redundant_constraints_do_not_change_the_motion() -> None:
    """Protects dependent rows: everything written twice moves as before, the second copies carry nothing."""
    case = some_case(1)
    once = answer(case)
    doubled = answer(case._replace(some=case.some._replace(constraints=twice(case.some.constraints))))
    n_element = np.count_nonzero(case.some.constraints.roles.mode == HARD)
    n_coupler = len(once.multiplier) - n_element
    first = np.r_[:n_element, 2 * n_element : 2 * n_element + n_coupler]
    second = np.setdiff1d(np.arange(len(doubled.multiplier)), first)
    assert doubled.status == OK
    np.testing.assert_allclose(doubled.v_dot, once.v_dot, rtol=0, atol=1e-8 * np.abs(once.v_dot).max())
    np.testing.assert_allclose(
        doubled.multiplier[first], once.multiplier, rtol=0, atol=1e-8 * np.abs(once.multiplier).max()
    )
    np.testing.assert_array_equal(doubled.multiplier[second], 0.0)


@pytest.mark.parametrize("angle", [0.0, 0.3, 1.1])
def test_an_element_that_no_dof_changes_does_nothing(angle: float) -> None:
    """Protects rows of rounding: a rod from a hinge's axis carries no load, and does not stop the hinge."""
    axis = np.array([0.36, -0.48, 0.8])
    joint = JointRow(
        -1, HINGE, axis, np.array([0.1, -0.3, 0.7]), position_in_child=np.array([0.2, 0.1, -0.3])
    )
    free = pendulum([joint], np.ones(1), np.array([[0.1, 0.2, 0.0]]))._replace(q=np.array([angle]))
    rod = elements_between(np.random.default_rng(0), free.tree, (DISTANCE,), ((0, -1),))
    rod = rod._replace(point_b=np.array([joint.position_in_parent + 0.15 * axis]))
    roles = with_targets(free.tree, rod, (HARD,), free.q)
    held = free._replace(constraints=not_rolling(rod, roles, free.constraints.couplers))
    found, expected = (answer(Case(some, *np.ones((2, 1)), np.zeros((1, 6)))) for some in (held, free))
    np.testing.assert_array_equal(found.multiplier, 0.0)
    np.testing.assert_allclose(found.v_dot, expected.v_dot, rtol=1e-12)


@pytest.mark.parametrize("massless", [0, 1, 2])
def test_dofs_that_move_no_mass_are_reported(massless: int) -> None:
    """Protects the status: a massless leaf, a point mass on its own axis, two dofs that do the same."""
    z, x = np.array([0.0, 0.0, 1.0]), np.array([0.6, 0.8, 0.0])
    link = JointRow(0, HINGE, z, np.array([0.1, 0.2, 0.3]))
    cases = (
        pendulum([JointRow(-1, HINGE, z), link], np.array([1.0, 0.0]), np.full((2, 3), 0.1)),
        pendulum([JointRow(-1, HINGE, z), JointRow(0, HINGE, x)], np.ones(2), np.outer([1, 0.7], x), 0.0),
        pendulum(
            [JointRow(-1, SLIDER, x), JointRow(0, SLIDER, x)], np.array([0.0, 1.0]), np.full((2, 3), 0.1)
        ),
    )
    some = cases[massless]
    assert answer(Case(some, np.ones(2), np.ones(2), np.zeros((2, 6)))).status == MASSLESS
    heavy = pendulum([JointRow(-1, HINGE, z), link], np.array([1.0, 1e-6]), np.full((2, 3), 0.1), 1e-9)
    assert answer(Case(heavy, np.ones(2), np.ones(2), np.zeros((2, 6)))).status == OK


def bars(n: int, lengths: tuple[float, ...], feet: tuple[float, ...], parents: tuple[int, ...]) -> System:
    """Return n slender bars of these lengths [m] in a vertical plane, roots hinged at x = feet."""
    z, joints = np.array([0.0, 0.0, 1.0]), []
    for b in range(n):
        x = feet[b] if parents[b] < 0 else lengths[parents[b]]
        joints.append(JointRow(parents[b], HINGE, z, np.array([x, 0.0, 0.0])))
    length = np.array(lengths)
    centre, inertia = np.zeros((n, 3)), np.zeros((n, 3, 3))
    centre[:, 0] = 0.5 * length
    inertia[:, 1, 1] = inertia[:, 2, 2] = 3.0 * length**3 / 12.0
    inertia[:, 0, 0] = 1e-6
    return System(build_tree(joints), Bodies(3.0 * length, centre, inertia), np.array([0.0, -9.81, 0.0]))


def four_bar_with_rod() -> Mechanism:
    """Return two cranks whose tips a massless rod holds apart."""
    system, q = bars(2, (0.3, 0.4), (0.0, 0.5), (-1, -1)), np.array([1.0, 1.4])
    rod = elements_between(np.random.default_rng(1), system.tree, (DISTANCE,), ((0, 1),))
    rod = rod._replace(point_a=np.array([[0.3, 0.0, 0.0]]), point_b=np.array([[0.4, 0.0, 0.0]]))
    roles = with_targets(system.tree, rod, (HARD,), q)
    return Mechanism(system, not_rolling(rod, roles, couplers(system.tree, ())), q)


def four_bar_with_points() -> Mechanism:
    """Return three bars in a row whose end two planes hold where it is."""
    system, q = bars(3, (0.3, 0.5, 0.4), (0.0, 0.0, 0.0), (-1, 0, 1)), np.array([1.0, -0.8, -1.1])
    ends = elements_between(
        np.random.default_rng(1), system.tree, (SPHERE_ON_PLANE, SPHERE_ON_PLANE), ((2, -1), (2, -1))
    )
    end = point(posed(system.tree, q), 2, np.array([0.4, 0.0, 0.0]))
    ends = ends._replace(
        point_a=np.array([[0.4, 0.0, 0.0]] * 2), point_b=np.array([end] * 2), normal_b=np.eye(3)[:2].copy()
    )
    roles = with_targets(system.tree, ends, (HARD, HARD), q)
    return Mechanism(system, not_rolling(ends, roles, couplers(system.tree, ())), q)


def energy(system: System, q: Array, v: Array) -> float:
    """Return kinetic and potential energy [J]."""
    at, bodies = posed(system.tree, q), system.bodies
    heights = [
        bodies.mass[b] * system.gravity @ point(at, b, bodies.centre[b]) for b in range(len(bodies.mass))
    ]
    return float(0.5 * v @ constrained.mass(system, q) @ v - sum(heights))


def swung(some: Mechanism, n_step: int, time: float) -> tuple[Array, Array]:
    """Return q and v after a time [s] in n_step steps of the classical Runge-Kutta method."""
    tree, n_v, dt = some.tree, some.n_v, time / n_step
    rows = new_constraint_work(some.constraints, n_v)
    work, multiplier = new_dynamics_work(tree, len(rows.value)), np.zeros(len(rows.value))
    none, wrench = np.zeros(n_v), np.zeros((len(tree.parent), 6))

    def rate(y: Array) -> Array:
        v_dot = np.zeros(n_v)
        status = constrained_dynamics(
            some.system, some.constraints, y[:n_v], y[n_v:], none, wrench, work, rows, v_dot, multiplier
        )
        assert status == OK
        return np.concatenate([y[n_v:], v_dot])

    y = np.concatenate([some.q, np.zeros(n_v)])
    for _ in range(n_step):
        k1 = rate(y)
        k2 = rate(y + 0.5 * dt * k1)
        k3 = rate(y + 0.5 * dt * k2)
        y = y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + rate(y + dt * k3))
    return y[:n_v], y[n_v:]


@pytest.mark.parametrize("make", [four_bar_with_rod, four_bar_with_points])
def test_a_swinging_loop_keeps_its_energy_and_its_closure(make: object) -> None:
    """Protects bias and multipliers in motion: errors fall as the step's fourth power."""
    some = make()  # type: ignore[operator]
    start, errors = energy(some.system, some.q, np.zeros(some.n_v)), []
    for n_step in (50, 100):
        q, v = swung(some, n_step, 0.6)
        opening = np.abs(constrained.values(some.tree, some.constraints, q)).max()
        errors.append([abs(energy(some.system, q, v) - start), opening])
        assert 0.5 * v @ constrained.mass(some.system, q) @ v > 1.0  # [J]: it does swing
    ratio = np.array(errors[0]) / np.array(errors[1])
    assert errors[1][0] < 1e-5 * start
    assert ((ratio > 12.0) & (ratio < 20.0)).all()
