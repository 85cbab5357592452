"""Angles and coupling vectors: by differences, by the paper's procedure, by closed solutions and limits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.dynamics.constraints import constraint_rows, factor_rows, new_constraint_work
from kernels.joints.kinds import HINGE
from kernels.path.angles import LOCKED, OK, STUCK, UNDETERMINED, Angles, coupling, new_angle_work
from kernels.solver.constraints import DISTANCE, HARD
from rtsim.models.packing.tree import linear
from tests.kernels.path.couplings import (
    ANGLES,
    angles_of,
    coupled,
    hinges,
    only_couplers,
    slider_crank,
    slider_speed,
)
from tests.naive import constrained, random_models
from tests.naive.functions import evaluated
from tests.naive.mechanisms import (
    CONSTANT,
    COUPLED,
    IDENTITY,
    LINEAR,
    POLYNOMIAL,
    SPLINE,
    Mechanism,
    couplers,
    dirty,
    not_rolling,
    posed,
    random_mechanism,
    twice,
    with_targets,
)

Array = NDArray[np.floating]

SEEDS = range(3)


def random_angles(seed: int) -> tuple[Mechanism, Angles]:
    """Return a mechanism and four angles of it."""
    some = random_mechanism(seed)
    return some, angles_of(some.tree, ANGLES)


@pytest.mark.parametrize("seed", SEEDS)
def test_value_and_gradient_are_those_of_the_sum(seed: int) -> None:
    """Protects theta and its gradient: the terms added up, and differences along the manifold."""
    some, angles = random_angles(seed)

    def values(q: Array) -> Array:
        starts = (some.tree.q_start[body] + dof for row in ANGLES for body, dof, _, _ in row)
        terms = [term for row in ANGLES for term in row]
        parts = [
            w * evaluated(some.tree.functions, f, q[k])[0]
            for (_, _, f, w), k in zip(terms, starts, strict=True)
        ]
        return np.add.reduceat(parts, angles.start[:-1])

    found = coupled(some.tree, some.constraints, angles, some.q)
    np.testing.assert_allclose(np.sum(found.gradient * found.alone, axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(found.value, values(some.q), rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        found.gradient, constrained.gradient(values, some.tree, some.q), rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_coupling_is_that_of_the_paper(seed: int) -> None:
    """Protects C: theta-dot = 1 alone, projected by least squares in NumPy, divided by what is left of it."""
    some, angles = random_angles(seed)
    found, G = (
        coupled(some.tree, some.constraints, angles, some.q),
        constrained.rows(some.tree, some.constraints, some.q),
    )
    for a in range(len(ANGLES)):
        g = found.gradient[a]
        expected = constrained.coupling_of_paper(G, g, g / (g @ g))
        np.testing.assert_allclose(found.coupling[a], expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    single = constrained.coupling_of_paper(G, found.gradient[0], np.eye(some.n_v)[some.tree.v_start[1]])
    np.testing.assert_allclose(found.coupling[0], single, rtol=0, atol=1e-8 * np.abs(single).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_coupling_turns_the_angle_at_unit_rate_within_the_constraints(seed: int) -> None:
    """Protects the two laws of C to rounding: G C = 0, and g . C = 1."""
    some, angles = random_angles(seed)
    found, G = (
        coupled(some.tree, some.constraints, angles, some.q),
        constrained.rows(some.tree, some.constraints, some.q),
    )
    np.testing.assert_array_equal(found.status, OK)
    size = np.abs(found.coupling).max(axis=1)
    np.testing.assert_allclose(G @ found.coupling.T / size, 0.0, atol=1e-9)
    np.testing.assert_allclose(
        np.sum(found.gradient * found.coupling, axis=1), 1.0, rtol=0, atol=1e-12 * size.max()
    )


def test_what_nothing_couples_stays_at_rest() -> None:
    """Protects the definition of the moment arm: what no row leads to has C = 0."""
    some = random_mechanism(0)
    tree = some.tree
    constraints = only_couplers(tree, COUPLED)
    angles = angles_of(tree, (((1, 0, IDENTITY, 1.0),), ((9, 0, IDENTITY, 1.0),), ((4, 0, IDENTITY, 1.0),)))
    found = coupled(tree, constraints, angles, some.q).coupling
    # joint 2 follows 1; joint 9 follows joint 3's first coordinate, as does its second
    reached = (
        [tree.v_start[1], tree.v_start[2]],
        [tree.v_start[3], tree.v_start[3] + 1, tree.v_start[9]],
        [10],
    )
    for C, dofs in zip(found, reached, strict=True):
        assert (C[dofs] != 0.0).all()
        np.testing.assert_array_equal(np.delete(C, dofs), 0.0)
    assert found[2, 10] == 1.0


def test_a_wrist_of_two_equal_hinges_turns_half_in_each() -> None:
    """Protects the paper's wrist: the total of two coupled hinges, however it is written down."""
    tree = hinges(2, [linear(1.0), linear(2.0)])
    pair = only_couplers(tree, [((1, 0), (0, 0), 0)])
    q = np.array([0.2, 0.2])
    total = (
        ((0, 0, IDENTITY, 1.0), (1, 0, IDENTITY, 1.0)),
        ((0, 0, IDENTITY, 2.0),),
        ((0, 0, 1, 1.0),),
        ((1, 0, IDENTITY, 2.0),),
    )
    found = coupled(tree, pair, angles_of(tree, total), q)
    np.testing.assert_allclose(found.coupling, 0.5, rtol=0, atol=1e-15)
    np.testing.assert_allclose(found.value, 0.4, rtol=0, atol=1e-15)
    both = coupled(tree, only_couplers(tree, ()), angles_of(tree, total), q)
    np.testing.assert_allclose(both.coupling, [[0.5, 0.5], [0.5, 0.0], [0.5, 0.0], [0.0, 0.5]], atol=1e-15)


def test_redundant_rows_do_not_change_the_coupling() -> None:
    """Protects dependent rows: everything written twice gives the same C."""
    some, angles = random_angles(1)
    once = coupled(some.tree, some.constraints, angles, some.q).coupling
    doubled = coupled(some.tree, twice(some.constraints), angles, some.q)
    np.testing.assert_array_equal(doubled.status, OK)
    np.testing.assert_allclose(doubled.coupling, once, rtol=0, atol=1e-9 * np.abs(once).max())


def test_an_angle_that_no_coordinate_changes_is_undetermined() -> None:
    """Protects the status: a constant function has no motion, C is zero."""
    some = random_mechanism(0)
    angles = angles_of(
        some.tree, (((1, 0, CONSTANT, 1.0),), ((1, 0, IDENTITY, 0.0),), ((1, 0, IDENTITY, 1.0),))
    )
    found = coupled(some.tree, some.constraints, angles, some.q)
    np.testing.assert_array_equal(found.status, (UNDETERMINED, UNDETERMINED, OK))
    np.testing.assert_array_equal(found.coupling[:2], 0.0)
    assert found.value[0] == 0.4


def test_an_angle_that_constraints_hold_is_locked() -> None:
    """Protects the status: a prescribed coordinate, what follows it, a stiff triangle; others still turn."""
    some = random_mechanism(2)
    locked = only_couplers(some.tree, [((1, 0), (1, 0), CONSTANT), ((2, 0), (1, 0), POLYNOMIAL)])
    rows = (((1, 0, IDENTITY, 1.0),), ((2, 0, IDENTITY, 1.0),), ((1, 0, SPLINE, 1.0), (2, 0, LINEAR, 1.0)))
    found = coupled(some.tree, locked, angles_of(some.tree, (*rows, ((8, 0, IDENTITY, 1.0),))), some.q)
    np.testing.assert_array_equal(found.status, (LOCKED,) * 3 + (OK,))
    np.testing.assert_array_equal(found.coupling[:3], 0.0)
    # a rod from the tip of the crank to ground makes a stiff triangle; the block is free then
    crank = slider_crank()
    elements = crank.constraints.elements._replace(
        body_b=np.array([-1]), point_b=np.array([[0.4, 0.1, 0.0]]), n_path=np.array([1])
    )
    triangle = crank.constraints._replace(elements=elements)
    both = angles_of(crank.tree, (((0, 0, IDENTITY, 1.0),), ((1, 0, IDENTITY, 1.0),)))
    held = coupled(crank.tree, triangle, both, crank.q)
    np.testing.assert_array_equal(held.status, (LOCKED, OK))
    np.testing.assert_array_equal(held.coupling, [[0.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize("seed", SEEDS)
def test_angles_of_a_structure_are_locked(seed: int) -> None:
    """Protects the threshold: as many rods as dofs, rounding alone is left of every angle's motion."""
    rng = np.random.default_rng([seed, 14])
    tree = random_models.tree_of(rng, (HINGE, HINGE, HINGE), (-1, 0, 1))
    rods = random_models.elements_between(rng, tree, (DISTANCE,) * 3, ((1, -1), (2, 0), (2, -1)))
    q = rng.uniform(-1.0, 1.0, 3)
    structure = not_rolling(rods, with_targets(tree, rods, (HARD,) * 3, q), couplers(tree, ()))
    rows = (
        ((0, 0, IDENTITY, 1.0),),
        ((1, 0, IDENTITY, 1.0),),
        ((0, 0, IDENTITY, 0.3), (2, 0, IDENTITY, 1.7)),
    )
    found = coupled(tree, structure, angles_of(tree, rows), q)
    np.testing.assert_array_equal(found.status, LOCKED)
    np.testing.assert_array_equal(found.coupling, 0.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_element_that_no_dof_changes_locks_nothing(seed: int) -> None:
    """Protects rows of rounding: a rod from the hinge's own axis leaves the angle free."""
    rng = np.random.default_rng([seed, 15])
    tree = random_models.tree_of(rng, (HINGE,), (-1,))
    rod = random_models.elements_between(rng, tree, (DISTANCE,), ((0, -1),))
    axis = tree.rotation_in_parent[0] @ tree.parameter[0]
    rod = rod._replace(point_b=(tree.position_in_parent[0] + 0.2 * axis)[np.newaxis])
    angles = angles_of(tree, (((0, 0, IDENTITY, 1.0),),))
    for turned in np.linspace(-3.0, 3.0, 7):
        q = np.array([turned])
        held = not_rolling(rod, with_targets(tree, rod, (HARD,), q), couplers(tree, ()))
        found = coupled(tree, held, angles, q)
        assert found.status[0] == OK
        assert found.coupling[0, 0] == 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_an_angle_with_a_motion_of_its_own_keeps_to_it(seed: int) -> None:
    """Protects angles that are not of coordinates: nearest to any given motion, under rows and unit rate."""
    some, rng = random_mechanism(seed), np.random.default_rng([seed, 12])
    n_v, rows = some.n_v, new_constraint_work(some.constraints, some.n_v)
    n = constraint_rows(some.tree, some.constraints, posed(some.tree, some.q), some.q, rows)
    factor_rows(n, rows.row, rows.reach, rows.compliance, rows.kernel)
    work, G = dirty(new_angle_work(1, n_v, n)), constrained.rows(some.tree, some.constraints, some.q)
    g, alone = rng.normal(size=(2, n_v))
    found = np.full(n_v, np.nan)
    assert coupling(n, rows.row, rows.kernel, g, alone, work, found) == OK
    expected = constrained.soft_coupling(G, np.zeros((0, n_v)), np.zeros(0), g, alone)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    # without rows it is that motion, at unit rate; where that motion does not turn the angle, none
    assert coupling(0, rows.row, rows.kernel, g, alone, work, found) == OK
    np.testing.assert_allclose(found, alone / (g @ alone), rtol=1e-13)
    across = alone - g * (g @ alone) / (g @ g)
    assert coupling(0, rows.row, rows.kernel, g, across, work, found) == LOCKED
    np.testing.assert_array_equal(found, 0.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_soft_rows_are_the_compromise_they_are_meant_to_be(seed: int) -> None:
    """Protects compliance: the minimiser of motion and strain under the hard rows, by a dense solution."""
    some, angles = random_angles(seed)
    G = constrained.rows(some.tree, some.constraints, some.q)
    compliance = np.array([0.3, 0.02, 1.5])
    found = coupled(some.tree, some.constraints, angles, some.q, compliance)
    for a in range(len(ANGLES)):
        g = found.gradient[a]
        expected = constrained.soft_coupling(G[3:], G[:3], compliance, g, g / (g @ g))
        np.testing.assert_allclose(found.coupling[a], expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_a_soft_row_becomes_hard_or_nothing_in_its_limits() -> None:
    """Protects both limits: error in proportion to c as c -> 0, and to 1 / c as c grows."""
    some, angles = random_angles(0)
    hard = coupled(some.tree, some.constraints, angles, some.q).coupling
    mode = some.constraints.roles.mode.copy()
    mode[np.flatnonzero(mode == HARD)[0]] = 0
    without = some.constraints._replace(roles=some.constraints.roles._replace(mode=mode))
    ignored = coupled(some.tree, without, angles, some.q).coupling
    assert np.abs(hard - ignored).max() > 1e-3
    for limit, steps in ((hard, (1e-6, 1e-8)), (ignored, (1e6, 1e8))):
        errors = [
            np.abs(coupled(some.tree, some.constraints, angles, some.q, [c]).coupling - limit).max()
            for c in steps
        ]
        assert errors[1] < 1e-5
        assert errors[0] / errors[1] == pytest.approx(100.0, rel=0.02)


def test_where_constraints_determine_the_motion_units_do_not_matter() -> None:
    """Protects least squares over metres and radians: a slider-crank in millimetres moves as in metres."""
    metres, millimetres = slider_crank(), slider_crank(1000.0)
    angles = angles_of(metres.tree, (((0, 0, IDENTITY, 1.0),),))
    found = coupled(metres.tree, metres.constraints, angles, metres.q).coupling[0]
    scaled = coupled(millimetres.tree, millimetres.constraints, angles, millimetres.q).coupling[0]
    np.testing.assert_allclose(found, [1.0, slider_speed(metres.q)], rtol=1e-13)
    np.testing.assert_allclose(scaled, [1.0, 1000.0 * found[1]], rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize(("left", "status"), [(4.0, OK), (0.25, LOCKED)])
def test_the_unit_of_an_angle_does_not_decide_whether_it_is_locked(
    scale: float, left: float, status: int
) -> None:
    """Protects near-locked angles whose gradient is not unit: what counts is the part that the rows leave."""
    e = np.sqrt(left * STUCK)  # sine of the angle between the gradient and the row that holds it
    g = scale * np.array([1.0, 0.0])
    row = np.array([[np.cos(e), np.sin(e)]])
    work, C = new_angle_work(1, 2, 1), np.zeros(2)
    factor = np.zeros((1, 1))
    factor_rows(1, row, np.ones(1), np.zeros(1), factor)
    assert coupling(1, row, factor, g, g / scale**2, work, C) == status
    if status == OK:
        assert C @ g == pytest.approx(1.0, rel=1e-9)
        assert abs(row @ C) < 1e-9 * np.linalg.norm(C)
    else:
        np.testing.assert_array_equal(C, 0.0)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("left", "status"), [(4.0, OK), (0.25, LOCKED)])
def test_a_motion_across_the_gradient_does_not_turn_the_angle(
    scale: float, size: float, left: float, status: int
) -> None:
    """Protects angles with a motion of their own, in any units: it turns the angle unless it lies across."""
    sine = np.sqrt(left * STUCK)
    g = scale * np.array([1.0, 0.0, 0.0])
    alone = size * np.array([sine, np.sqrt(1.0 - sine**2), 0.0])
    row = np.array([[0.0, 0.0, 1.0]])
    work, C = new_angle_work(1, 3, 1), np.zeros(3)
    assert coupling(1, row, np.eye(1), g, alone, work, C) == status
    if status == OK:
        np.testing.assert_allclose(C, alone / (g @ alone), rtol=1e-12)
