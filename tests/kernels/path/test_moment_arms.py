"""Moment arms: three methods against each other, against differences with re-assembly, and in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.dynamics.constraints import Constraints, new_constraint_work
from kernels.joints.kinds import CHAIN
from kernels.joints.tree import Tree
from kernels.path import assembly, muscle_path
from kernels.path.angles import LOCKED, OK, UNDETERMINED, Angles
from kernels.path.moment_arms import (
    FORCE,
    PARTIAL_VELOCITY,
    VELOCITY,
    Leverage,
    LeverageWork,
    moment_arms,
    new_leverage_work,
)
from kernels.path.surfaces import CYLINDER, Surfaces
from rtsim.models.packing.tree import ChainMotion, JointRow, build_functions, build_tree, linear
from tests.kernels.path.couplings import ANGLES, Z, angles_of, hinges, only_couplers
from tests.kernels.path.muscles import GROUND, Case, Station, at, over, random_case, stations_of, surfaces_of
from tests.naive.mechanisms import CONSTANT, IDENTITY, dirty, moved, posed, twice

Array = NDArray[np.floating]

SEEDS = range(3)
METHODS = (FORCE, PARTIAL_VELOCITY, VELOCITY)
NO_SURFACE = surfaces_of([])


def leverage_of(case: Case, angles: Angles) -> Leverage:
    """Return the kernel's parameters."""
    return Leverage(case.tree, case.some.constraints, case.stations, case.surfaces, angles)


def arms(leverage: Leverage, q: Array, method: int, moving_work: int = 1) -> tuple[Array, LeverageWork]:
    """Return the arms (n_muscle, n_angle) and the by-products, on dirty working space."""
    work = dirty(new_leverage_work(leverage))
    work.constraint.compliance[:] = 0.0
    out = np.full((len(leverage.stations.start) - 1, len(leverage.angles.start) - 1), np.nan)
    moment_arms(leverage, q, method, moving_work, work, out)
    return out, work


@pytest.mark.parametrize("seed", SEEDS)
def test_the_three_methods_agree(seed: int) -> None:
    """Protects eqs 11, 15 and 18: three ways from the same path to one number, to rounding."""
    case = random_case(seed)
    leverage = leverage_of(case, angles_of(case.tree, ANGLES))
    by_force, by_gradient, by_speed = (arms(leverage, case.some.q, method)[0] for method in METHODS)
    size = np.abs(by_force).max()
    assert size > 0.1
    np.testing.assert_allclose(by_gradient, by_force, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(by_speed, by_force, rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("seed", SEEDS)
def test_arms_are_the_differences_of_the_length_after_assembly(seed: int) -> None:
    """Protects eq. 10: turn the angle alone, close all constraints, -dl by the angle's true change."""
    case = random_case(seed)
    leverage = leverage_of(case, angles_of(case.tree, ANGLES))
    found, work = arms(leverage, case.some.q, PARTIAL_VELOCITY)
    for a in range(len(ANGLES)):
        alone = work.angle.alone[a].copy()
        coarse, fine = (quotient(leverage, case.some.q, a, alone, h) for h in (2e-4, 1e-4))
        expected = (4.0 * fine - coarse) / 3.0  # without the error of second order
        np.testing.assert_allclose(found[:, a], expected, rtol=0, atol=1e-7)


def quotient(leverage: Leverage, q: Array, a: int, alone: Array, h: float) -> Array:
    """Return -dl / dtheta of all muscles between the assembled poses a step h before and after q."""
    lengths, angles = [], []
    for step in (-h, h):
        there = moved(leverage.tree, q, alone, step)
        close(leverage, there)
        work = arms(leverage, there, PARTIAL_VELOCITY)[1]
        lengths.append(work.path.length)
        angles.append(work.angle.value[a])
    return -(lengths[1] - lengths[0]) / (angles[1] - angles[0])


def close(leverage: Leverage, q: Array) -> None:
    """Assemble q in place."""
    tree, n_v = leverage.tree, len(leverage.tree.dof_body)
    rows = new_constraint_work(leverage.constraints, n_v)
    status, _ = assembly.assemble(
        tree, leverage.constraints, leverage.angles, -1, 0.0, 20, 1e-13, posed(tree, q), rows, q
    )
    assert status == assembly.OK


@pytest.mark.parametrize("seed", SEEDS)
def test_without_the_work_of_moving_points_arms_miss_the_slip(seed: int) -> None:
    """Protects the comparison with OpenSim: two methods leave out the same, VELOCITY nothing."""
    case = random_case(seed)
    leverage = leverage_of(case, angles_of(case.tree, ANGLES))
    whole, work = arms(leverage, case.some.q, PARTIAL_VELOCITY)
    by_force = arms(leverage, case.some.q, FORCE, moving_work=0)[0]
    by_gradient, less = arms(leverage, case.some.q, PARTIAL_VELOCITY, moving_work=0)
    by_speed = arms(leverage, case.some.q, VELOCITY, moving_work=0)[0]
    size = np.abs(whole).max()
    np.testing.assert_allclose(by_force, by_gradient, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(by_speed, whole, rtol=0, atol=1e-12 * size)
    slip = (work.path.gradient - less.path.gradient) @ work.angle.coupling.T
    np.testing.assert_allclose(by_gradient - whole, slip, rtol=0, atol=1e-12 * size)
    np.testing.assert_array_equal(np.flatnonzero(np.abs(slip).max(axis=1) > 1e-3), (2, 4, 6))


def test_redundant_constraints_change_nothing() -> None:
    """Protects dependent rows: everything written twice gives the same arms."""
    case = random_case(1)
    leverage = leverage_of(case, angles_of(case.tree, ANGLES))
    once = arms(leverage, case.some.q, FORCE)[0]
    doubled = arms(leverage._replace(constraints=twice(case.some.constraints)), case.some.q, FORCE)[0]
    np.testing.assert_allclose(doubled, once, rtol=0, atol=1e-9 * np.abs(once).max())


@pytest.mark.parametrize("method", METHODS)
def test_arms_without_an_angle_or_without_a_path_are_zero(method: int) -> None:
    """Protects the statuses: no arm about an angle that cannot turn, none of a muscle without length."""
    case, x = random_case(0), np.full(3, 0.1)
    case = case._replace(stations=stations_of([[at(3, x), at(3, x)], [at(3, x), at(6, x)]]))
    angles = angles_of(
        case.tree, (((1, 0, CONSTANT, 1.0),), ((7, 2, IDENTITY, 1.0),), ((1, 0, IDENTITY, 1.0),))
    )
    found, work = arms(leverage_of(case, angles), case.some.q, method)
    np.testing.assert_array_equal(work.angle.status, (UNDETERMINED, LOCKED, OK))
    np.testing.assert_array_equal(work.path.status, (muscle_path.NO_LENGTH, muscle_path.OK))
    assert (found != 0.0).tolist() == [[False] * 3, [False, False, True]]


def small(
    tree: Tree, constraints: Constraints, muscle: list[Station], surfaces: Surfaces = NO_SURFACE
) -> Leverage:
    """Return one muscle over a tree; the angles are all coordinates, one by one."""
    rows = [
        ((b, d, IDENTITY, 1.0),) for b in range(len(tree.parent)) for d in range(np.diff(tree.v_start)[b])
    ]
    return Leverage(tree, constraints, stations_of([muscle]), surfaces, angles_of(tree, rows))


@pytest.mark.parametrize("angle", [-1.2, 0.0, 0.8, 2.5])
def test_a_muscle_over_a_pin_has_the_distance_of_its_line(angle: float) -> None:
    """Protects the textbook: distance of axis and line, positive where the pull turns it forward."""
    A, b = np.array([0.05, -0.4, 0.02]), np.array([0.2, 0.03, 0.02])
    tree = hinges(1)
    c, s = np.cos(angle), np.sin(angle)
    B = np.array([c * b[0] - s * b[1], s * b[0] + c * b[1], b[2]])
    expected = np.cross(B, A - B)[2] / np.linalg.norm(A - B)
    for method in METHODS:
        muscle = small(tree, only_couplers(tree, ()), [at(GROUND, A), at(0, b)])
        assert arms(muscle, np.array([angle]), method)[0][0, 0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("carrier", [GROUND, 0])
@pytest.mark.parametrize("rise", [0.0, 0.15])
def test_a_muscle_over_a_pulley_has_its_radius(carrier: int, rise: float) -> None:
    """Protects wraps: the radius while the muscle lies on the pulley; on a helix its flat part."""
    tree, radius = hinges(1), 0.04
    pulley = surfaces_of([(CYLINDER, carrier, np.array([0.0, 0.0, 0.3]), np.eye(3), radius)])
    A, b = np.array([-0.3, 0.03, 0.0]), np.array([0.2, 0.02, rise])
    over_top = over(pulley, 0)._replace(side=np.eye(3)[1])
    muscle = small(tree, only_couplers(tree, ()), [at(GROUND, A), over_top, at(0, b)], pulley)
    for angle in (-1.5, -0.9, -0.4):
        found, work = arms(muscle, np.array([angle]), FORCE)
        assert work.path.wrap.touching[1] == 1
        flat = np.sqrt(work.path.length[0] ** 2 - rise**2)
        assert found[0, 0] == pytest.approx(radius * flat / work.path.length[0], rel=1e-12)
    assert arms(muscle, np.array([0.4]), FORCE)[1].path.wrap.touching[1] == 0


def test_a_muscle_over_two_hinges_turns_each_with_the_other_held() -> None:
    """Protects uncoupled coordinates: two arms of one muscle, each as if the other joint were welded."""
    tree, q = hinges(2), np.array([0.4, 0.7])
    A, b = np.array([0.05, 0.06, 0.0]), np.array([0.1, 0.03, 0.0])
    two, _ = arms(small(tree, only_couplers(tree, ()), [at(GROUND, A), at(1, b)]), q, FORCE)
    elbow = np.array([0.3 * np.cos(0.4), 0.3 * np.sin(0.4), 0.0])
    c, s = np.cos(1.1), np.sin(1.1)
    B = elbow + np.array([c * b[0] - s * b[1], s * b[0] + c * b[1], 0.0])
    e = (A - B) / np.linalg.norm(A - B)
    np.testing.assert_allclose(two[0], [np.cross(B, e)[2], np.cross(B - elbow, e)[2]], rtol=1e-12)
    # coupled one to one, the total angle has the mean of both arms
    pair = hinges(2, [linear(1.0)])
    wrist = small(pair, only_couplers(pair, [((1, 0), (0, 0), 0)]), [at(GROUND, A), at(1, b)])
    total = angles_of(pair, (((0, 0, IDENTITY, 1.0), (1, 0, IDENTITY, 1.0)),))
    q = np.array([0.7, 0.7])
    one, _ = arms(wrist._replace(angles=total), q, FORCE)
    apart, _ = arms(small(tree, only_couplers(tree, ()), [at(GROUND, A), at(1, b)]), q, FORCE)
    assert one[0, 0] == pytest.approx(apart[0].mean(), rel=1e-12)


@pytest.mark.parametrize("weight", [0.5, -3.0, 100.0])
def test_a_coordinate_in_other_units_has_the_same_arm(weight: float) -> None:
    """Protects generalized coordinates (after eq. 24): theta = weight times q has the same arm."""
    A, b = np.array([0.05, -0.4, 0.0]), np.array([0.2, 0.03, 0.0])
    plain = hinges(1)
    expected = arms(
        small(plain, only_couplers(plain, ()), [at(GROUND, A), at(0, b)]), np.array([0.6]), FORCE
    )[0]
    joint = JointRow(-1, CHAIN, motions=(ChainMotion(True, Z, 0, 0),))
    tree = build_tree([joint], build_functions((linear(weight),)))
    muscle = small(tree, only_couplers(tree, ()), [at(GROUND, A), at(0, b)])
    theta = angles_of(tree, (((0, 0, IDENTITY, weight),), ((0, 0, 0, 1.0),)))
    for method in METHODS:
        found, work = arms(muscle._replace(angles=theta), np.array([0.6 / weight]), method)
        np.testing.assert_allclose(found[0], expected[0, 0], rtol=1e-12)
        np.testing.assert_allclose(work.angle.coupling[:, 0], 1.0 / weight, rtol=1e-12)
        np.testing.assert_allclose(work.path.gradient[0], -weight * expected[0], rtol=1e-12)


def test_arms_are_the_same_on_every_call() -> None:
    """Protects the working space: a second call, after another pose and method, gives the same numbers."""
    case = random_case(2)
    leverage = leverage_of(case, angles_of(case.tree, ANGLES))
    work = new_leverage_work(leverage)
    first, second = np.zeros((2, case.n_muscle, len(ANGLES)))
    moment_arms(leverage, case.some.q, FORCE, 1, work, first)
    moment_arms(
        leverage, moved(case.tree, case.some.q, np.full(case.some.n_v, 0.1)), VELOCITY, 0, work, second
    )
    assert np.abs(second - first).max() > 1e-3
    moment_arms(leverage, case.some.q, FORCE, 1, work, second)
    np.testing.assert_array_equal(second, first)
