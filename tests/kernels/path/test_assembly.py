"""Assembly: constraints closed, angles reached, what cannot be reached reported."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.dynamics.constraints import Constraints, new_constraint_work
from kernels.joints.kinds import BALL, FREE
from kernels.joints.tree import Tree, difference, new_pose
from kernels.path.angles import Angles
from kernels.path.assembly import NON_FINITE, NOT_CONVERGED, OK, assemble
from tests.kernels.path.couplings import ANGLES, angles_of, coupled, only_couplers, slider_crank
from tests.naive import constrained
from tests.naive.mechanisms import COUPLED, IDENTITY, dirty, moved, random_mechanism, twice

Array = NDArray[np.floating]

SEEDS = range(3)
TOLERANCE = 1e-12


def assembled(
    tree: Tree,
    constraints: Constraints,
    q: Array,
    angles: Angles | None = None,
    angle: int = -1,
    target: float = 0.0,
    max_iterations: int = 20,
) -> tuple[int, float, Array]:
    """Return status, residual and the coordinates."""
    n_v, there = len(tree.dof_body), q.copy()
    rows = dirty(new_constraint_work(constraints, n_v))
    rows.compliance[:] = 0.0
    wanted = angles if angles is not None else angles_of(tree, ())
    pose = new_pose(len(tree.parent), n_v, len(tree.chains.dof))
    status, residual = assemble(
        tree, constraints, wanted, angle, target, max_iterations, TOLERANCE, pose, rows, there
    )
    return status, residual, there


def step_between(tree: Tree, q_from: Array, q_to: Array) -> Array:
    """Return the tangent step (n_v,) from one to the other."""
    step = np.zeros(len(tree.dof_body))
    difference(tree, q_from, q_to, step)
    return step


@pytest.mark.parametrize("seed", SEEDS)
def test_constraints_are_closed_from_some_way_off(seed: int) -> None:
    """Protects convergence: all elements and couplers hold in the end, quaternions stay unit."""
    some, rng = random_mechanism(seed), np.random.default_rng([seed, 8])
    away = moved(some.tree, some.q, rng.normal(0.0, 0.1, some.n_v))
    assert np.abs(constrained.values(some.tree, some.constraints, away)).max() > 0.02
    status, residual, q = assembled(some.tree, some.constraints, away)
    assert status == OK
    found = np.abs(constrained.values(some.tree, some.constraints, q)).max()
    assert found <= TOLERANCE
    assert residual == pytest.approx(found, abs=1e-14)
    for b in np.flatnonzero((some.tree.kind == BALL) | (some.tree.kind == FREE)):
        start = some.tree.q_start[b] + (3 if some.tree.kind[b] == FREE else 0)
        assert np.linalg.norm(q[start : start + 4]) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("angle", range(len(ANGLES)))
def test_an_angle_reaches_its_target(seed: int, angle: int) -> None:
    """Protects the angle's row: theta as wanted, together with all constraints."""
    some = random_mechanism(seed)
    angles = angles_of(some.tree, ANGLES)
    now = coupled(some.tree, some.constraints, angles, some.q).value[angle]
    status, residual, q = assembled(some.tree, some.constraints, some.q, angles, angle, now + 0.03)
    assert status == OK
    assert residual <= TOLERANCE
    reached = coupled(some.tree, some.constraints, angles, q).value[angle]
    assert reached == pytest.approx(now + 0.03, abs=2 * TOLERANCE)
    assert np.abs(constrained.values(some.tree, some.constraints, q)).max() <= TOLERANCE


@pytest.mark.parametrize("seed", SEEDS)
def test_the_way_to_the_constraints_is_the_shortest(seed: int) -> None:
    """Protects the least norm: from a little way off the step is -G^+ Phi, up to second order."""
    some, rng = random_mechanism(seed), np.random.default_rng([seed, 9])
    direction, errors = rng.normal(size=some.n_v), []
    for size in (1e-3, 5e-4):
        away = moved(some.tree, some.q, direction, size)
        _, _, q = assembled(some.tree, some.constraints, away)
        G, phi = (
            constrained.rows(some.tree, some.constraints, away),
            constrained.values(some.tree, some.constraints, away),
        )
        expected = -np.linalg.pinv(G, rcond=1e-9) @ phi
        errors.append(np.abs(step_between(some.tree, away, q) - expected).max())
    assert errors[1] < 1e-4
    assert errors[0] == pytest.approx(4.0 * errors[1], rel=0.1)


def test_redundant_rows_change_nothing() -> None:
    """Protects dependent rows: everything written twice ends at the same coordinates."""
    some = random_mechanism(1)
    away = moved(some.tree, some.q, np.random.default_rng(10).normal(0.0, 0.05, some.n_v))
    status, _, q = assembled(some.tree, twice(some.constraints), away)
    assert status == OK
    np.testing.assert_allclose(q, assembled(some.tree, some.constraints, away)[2], rtol=0, atol=1e-10)


def test_what_nothing_couples_stays_where_it_is() -> None:
    """Protects other coordinates: with couplers alone only those that they tie to each other move."""
    some = random_mechanism(0)
    tree, constraints = some.tree, only_couplers(some.tree, COUPLED[:2])
    away = moved(tree, some.q, np.full(some.n_v, 0.2))
    angles = angles_of(tree, (((9, 0, IDENTITY, 1.0),),))
    _, _, q = assembled(tree, constraints, away, angles, 0, 0.123)
    changed = {int(tree.q_start[b]) for b in (1, 2, 5, 8, 9)}
    assert set(np.flatnonzero(q != away)) == changed
    assert q[tree.q_start[9]] == pytest.approx(0.123, abs=1e-15)


def test_what_is_satisfied_is_left_alone() -> None:
    """Protects the start: no step is taken where none is needed, and none where none is allowed."""
    some = random_mechanism(2)
    status, residual, q = assembled(some.tree, some.constraints, some.q)
    assert (status, residual <= TOLERANCE) == (OK, True)
    np.testing.assert_array_equal(q, some.q)
    away = moved(some.tree, some.q, np.full(some.n_v, 0.1))
    status, residual, q = assembled(some.tree, some.constraints, away, max_iterations=0)
    assert status == NOT_CONVERGED
    assert residual == pytest.approx(
        np.abs(constrained.values(some.tree, some.constraints, away)).max(), rel=1e-12
    )
    np.testing.assert_array_equal(q, away)


def test_what_cannot_be_satisfied_is_reported() -> None:
    """Protects the status: a rod out of reach, an angle held, a target beyond the mechanism."""
    crank = slider_crank()
    angles = angles_of(crank.tree, (((0, 0, IDENTITY, 1.0),), ((1, 0, IDENTITY, 1.0),)))
    apart = crank.constraints._replace(roles=crank.constraints.roles._replace(target=np.array([0.05])))
    status, residual, q = assembled(crank.tree, apart, crank.q)
    assert status == NOT_CONVERGED
    assert residual > 1e-3
    assert np.isfinite(q).all()
    held = only_couplers(random_mechanism(0).tree, [((1, 0), (1, 0), 0)])
    some = random_mechanism(0)
    locked = angles_of(some.tree, (((1, 0, IDENTITY, 1.0),),))
    status, residual, _ = assembled(some.tree, held, some.q, locked, 0, 1.0)
    assert (status, residual > 0.1) == (NOT_CONVERGED, True)
    status, residual, _ = assembled(crank.tree, crank.constraints, crank.q, angles, 1, 2.0)
    assert (status, residual > 0.1) == (NOT_CONVERGED, True)
    status, _, q = assembled(crank.tree, crank.constraints, crank.q, angles, 0, 2.5)
    assert status == OK


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_coordinates_that_are_no_numbers_are_reported(bad: float) -> None:
    """Protects the status: no loop over NaN, and it is not taken for success."""
    crank = slider_crank()
    with np.errstate(invalid="ignore"):  # without the compiler NumPy warns of inf - inf
        status, _, _ = assembled(crank.tree, crank.constraints, np.array([0.3, bad]))
    assert status == NON_FINITE
