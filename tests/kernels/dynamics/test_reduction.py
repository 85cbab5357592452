"""Dynamics in what couplers leave: against the twin, against rows, by differences, and by laws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.dynamics import reduction
from kernels.dynamics.constrained import constrained_dynamics
from kernels.dynamics.constraints import new_constraint_work
from kernels.dynamics.derivatives import inverse_dynamics_derivatives, new_derivative_work
from kernels.dynamics.inertia import spatial_inertia
from kernels.dynamics.system import DynamicsWork, System, new_dynamics_work
from kernels.joints.couplers import Couplers
from tests.kernels.dynamics import cases
from tests.naive import dynamics, random_models
from tests.naive.mechanisms import NO_ELEMENT, NO_ROLE, couplers, dirty, not_rolling
from tests.naive.reduction import accelerations, along, independent, left_over, placed, reduced
from tests.naive.tree import integrate

Array = NDArray[np.floating]

SEEDS = range(3)
NUMBER, STRAIGHT, PARABOLA, SPLINE = 0, 1, 2, 3  # rows of random_models.FUNCTIONS
# (body, its coordinate), the same of the driver, function: along a branch, across branches and between roots;
# a follower that drives another one; two of one driver; a constant.
FOLLOWS = (
    ((2, 1), (3, 0), SPLINE),
    ((4, 1), (2, 1), PARABOLA),
    ((8, 2), (4, 1), STRAIGHT),
    ((6, 0), (3, 0), PARABOLA),
    ((9, 0), (9, 0), NUMBER),
)
# The same with motions prescribed over time, of which one drives a follower on another branch.
TIMED = (*FOLLOWS[:4], ((9, 0), (9, 0), PARABOLA), ((1, 0), (1, 0), SPLINE), ((4, 2), (1, 0), PARABOLA))
TIME = 0.2
BRANCH = pytest.mark.parametrize("rows", [FOLLOWS, TIMED], ids=["follow", "timed"])


class Case(NamedTuple):
    """A coupled system in motion under forces; q, v keep its couplers at TIME."""

    system: System
    couplers: Couplers
    q: Array
    v: Array
    tau: Array
    wrench: Array

    @property
    def free(self) -> Array:
        return independent(self.couplers, len(self.v))


class Answer(NamedTuple):
    """What the reduction says, and its working space."""

    status: int
    v_dot: Array
    work: DynamicsWork
    own: reduction.ReductionWork


def some_case(seed: int, rows=FOLLOWS) -> Case:
    """Return a random system with couplers."""
    rng = np.random.default_rng([seed, 71])
    tree = random_models.chained_tree(rng)
    tied, n_v = couplers(tree, rows), len(tree.dof_body)
    q = placed(tied, tree, random_models.random_coordinates(rng, tree), TIME)
    v, tau, wrench = rng.normal(0.0, 0.8, n_v), rng.normal(size=n_v), rng.normal(size=(len(tree.parent), 6))
    v, _ = along(tied, tree, q, TIME, v, np.zeros(n_v))
    return Case(random_models.random_system(rng, tree), tied, q, v, tau, wrench)


def answer(case: Case) -> Answer:
    """Return the kernel's answer on dirty working space; given coordinates and speeds are for it to find."""
    n_v, tied = len(case.v), case.couplers
    work, own = dirty(new_dynamics_work(case.system.tree)), dirty(reduction.new_reduction_work(n_v))
    own.bias[:], own.clock[:] = 0.0, (TIME, 1.0)
    q, v, v_dot = case.q.copy(), case.v.copy(), np.full(n_v, np.nan)
    q[tied.coordinate], v[tied.dof] = np.nan, np.nan
    status = cases.reduced(case.system, tied, q, v, case.tau, case.wrench, work, own, v_dot)
    np.testing.assert_allclose(q, case.q, atol=1e-13)
    np.testing.assert_allclose(v, case.v, atol=1e-9)
    return Answer(status, v_dot, work, own)


@BRANCH
@pytest.mark.parametrize("seed", SEEDS)
def test_motion_is_that_of_the_twin(seed: int, rows) -> None:
    """Protects E'ME, its bias and what is prescribed: dense NumPy on differences of q(q_i, t)."""
    case = some_case(seed, rows)
    found = answer(case)
    expected = accelerations(*case, TIME)
    assert found.status == reduction.OK
    np.testing.assert_allclose(found.v_dot, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_motion_and_forces_are_those_of_rows(seed: int) -> None:
    """Protects both ways of keeping a coupler: the same v_dot, and pulls are the rows' multipliers."""
    case = some_case(seed)
    found = answer(case)
    constraints = not_rolling(NO_ELEMENT, NO_ROLE, case.couplers)
    rows = new_constraint_work(constraints, len(case.v))
    v_dot, multiplier = np.zeros(len(case.v)), np.zeros(len(rows.value))
    constrained_dynamics(
        case.system, constraints, case.q, case.v, case.tau, case.wrench,
        new_dynamics_work(case.system.tree, len(rows.value)), rows, v_dot, multiplier,
    )  # fmt: skip
    np.testing.assert_allclose(found.v_dot, v_dot, rtol=0, atol=1e-9 * np.abs(v_dot).max())
    left = case.tau - dynamics.inverse_dynamics(case.system, case.q, case.v, v_dot, case.wrench)
    pulls(case, found, left)
    n = len(case.couplers.dof)
    np.testing.assert_allclose(
        -found.own.coupler.pull[:n], multiplier[:n], rtol=0, atol=1e-8 * np.abs(multiplier).max()
    )


def pulls(case: Case, found: Answer, left: Array) -> None:
    """Fold what is left of the forces (n_v,); slopes do not matter."""
    found.own.force[:] = left
    blank = np.zeros((3, len(left), len(left)))
    reduction.reduce_slopes(case.couplers, found.own, case.v, found.v_dot, *blank)


@BRANCH
@pytest.mark.parametrize("seed", SEEDS[:1])  # many differences of a slow twin
def test_slopes_are_differences(seed: int, rows) -> None:
    """Protects the Jacobian of a step: by q, v and time of the reduced equations at fixed v_i_dot."""
    case = some_case(seed, rows)._replace(wrench=np.zeros((10, 6)))
    found, free, tree, n_v = answer(case), case.free, case.system.tree, len(case.v)
    work, own = found.work, found.own
    spatial_inertia(case.system.bodies, work.pose, work.inertia)  # of each body on its own again
    tau_q, tau_v = np.full((2, n_v, n_v), np.nan)
    derivatives = new_derivative_work(tree)
    inverse_dynamics_derivatives(case.system, case.q, case.v, found.v_dot, work, derivatives, tau_q, tau_v)
    reduction.remainder(tree, work.pose, derivatives.force, case.tau, own)
    M, tau_q, tau_v = dynamics.mass_matrix(case.system, case.q), -tau_q, -tau_v
    reduction.reduce_slopes(case.couplers, own, case.v, found.v_dot, M, tau_q, tau_v)

    def left(dq: Array, dv: Array, dt: float) -> Array:
        q = integrate(tree, case.q, dq)
        return left_over(case.system, case.couplers, q, case.v + dv, found.v_dot, case.tau, TIME + dt)

    def slope(dq: Array, dv: Array, dt: float, h: float = 4e-4) -> Array:
        a, b, c, d = (left(s * h * dq, s * h * dv, s * h * dt) for s in (-2.0, -1.0, 1.0, 2.0))
        return (a - 8.0 * b + 8.0 * c - d) / (12.0 * h)

    # a direction that no entry escapes, none being small or like another's; the twin is slow
    rng, none, some = np.random.default_rng(seed), np.zeros(n_v), np.zeros(n_v)
    some[free] = rng.choice([-1.0, 1.0], len(free)) * rng.uniform(0.5, 2.0, len(free))
    square = np.ix_(free, free)
    for found_slopes, expected in (
        (tau_q[square] @ some[free], slope(some, none, 0.0)),
        (tau_v[square] @ some[free], slope(none, some, 0.0)),
        (own.onset[free], slope(none, none, 1.0)),
    ):
        np.testing.assert_allclose(found_slopes, expected, rtol=0, atol=2e-5 * max(np.abs(expected).max(), 1))
    E = reduced(case.couplers, tree, case.q, TIME, case.v).E
    np.testing.assert_allclose(
        M[square], E.T @ dynamics.mass_matrix(case.system, case.q) @ E, rtol=0, atol=1e-9 * M.max()
    )
    np.testing.assert_array_equal(M[case.couplers.dof], np.eye(n_v)[case.couplers.dof])
    force = own.onset.copy()
    reduction.find_onset(work.M, own)
    np.testing.assert_allclose(M @ own.onset, force, rtol=0, atol=1e-9 * max(np.abs(force).max(), 1.0))


@pytest.mark.parametrize("seed", SEEDS)
def test_jerks_follow(seed: int) -> None:
    """Protects parts of split steps: the rate of v_dot of what is given, along a motion."""
    case = some_case(seed, TIMED)
    tree, n_v, h = case.system.tree, len(case.v), 1e-3
    rng = np.random.default_rng(seed)
    free, v_dot, jerk = case.free, rng.normal(size=n_v), rng.normal(size=n_v)
    own = reduction.new_reduction_work(n_v)
    own.clock[reduction.TIME] = TIME

    def following(s: float) -> Array:
        delta, v, a = np.zeros(n_v), case.v.copy(), v_dot.copy()
        delta[free] = (s * case.v + s**2 / 2 * v_dot + s**3 / 6 * jerk)[free]
        v[free], a[free] = (case.v + s * v_dot + s**2 / 2 * jerk)[free], (v_dot + s * jerk)[free]
        q = integrate(tree, case.q, delta)
        reduction.follow(case.couplers, tree.functions, s, own, q, v)
        reduction.follow_accelerations(case.couplers, own, v, a)
        return a

    a, b, c, d = (following(s * h) for s in (-2.0, -1.0, 1.0, 2.0))
    here = following(0.0)
    reduction.follow_jerks(case.couplers, own, case.v, here, jerk)
    given = case.couplers.dof
    rate = (a - 8.0 * b + 8.0 * c - d) / (12.0 * h)
    np.testing.assert_allclose(jerk[given], rate[given], rtol=0, atol=1e-8 * np.abs(rate).max())


def test_forces_of_prescribed_motion_are_those_of_inverse_dynamics() -> None:
    """Protects the force that holds a motion: with every scalar coordinate prescribed nothing is left free
    but balls and free joints, and each pull is what inverse dynamics asks for."""
    base = some_case(1)
    tree = base.system.tree
    rows = [
        ((b, k), (b, k), PARABOLA)
        for b in range(len(tree.parent))
        for k in range(tree.v_start[b + 1] - tree.v_start[b])
        if tree.kind[b] in (1, 2, 5)
    ]
    case = some_case(1, rows)
    found = answer(case)
    needed = dynamics.inverse_dynamics(case.system, case.q, case.v, found.v_dot, case.wrench) - case.tau
    pulls(case, found, -needed)
    n = len(rows)
    np.testing.assert_allclose(-found.own.coupler.pull[:n], needed[case.couplers.dof], rtol=1e-12)
    np.testing.assert_allclose(needed[case.free], 0.0, atol=1e-9 * np.abs(needed).max())
    assert np.abs(needed).max() > 1.0


def test_a_stopped_clock_holds_prescribed_motion_at_its_start() -> None:
    """Protects equilibria: without pace coordinates are where time zero puts them, at rest."""
    case = some_case(0, TIMED)
    own, q, v = reduction.new_reduction_work(len(case.v)), case.q.copy(), np.zeros(len(case.v))
    own.clock[:] = 0.7, 0.0
    reduction.follow(case.couplers, case.system.tree.functions, 0.1, own, q, v)
    np.testing.assert_allclose(q, placed(case.couplers, case.system.tree, case.q, 0.0), atol=1e-13)
    np.testing.assert_array_equal(v, 0.0)
    np.testing.assert_array_equal(own.bias, 0.0)


def test_a_coordinate_without_mass_is_told() -> None:
    """Protects the caller: massless where nothing is left to move, but a follower may be without mass."""
    case = some_case(2)
    bodies = case.system.bodies
    light = bodies._replace(mass=np.zeros(10), inertia=np.zeros((10, 3, 3)))
    found = answer(case._replace(system=case.system._replace(bodies=light)))
    assert found.status == reduction.MASSLESS
    assert np.isnan(found.v_dot).all()
    mass, inertia = bodies.mass.copy(), bodies.inertia.copy()
    mass[9], inertia[9] = 0.0, 0.0  # the leaf that keeps its place
    found = answer(
        case._replace(system=case.system._replace(bodies=bodies._replace(mass=mass, inertia=inertia)))
    )
    assert found.status == reduction.OK
