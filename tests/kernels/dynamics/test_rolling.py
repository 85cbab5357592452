"""Rolling without slipping: rows and bias by differences, dynamics, energy, steady circling, moment arms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.dynamics.constrained import constrained_dynamics, drift, joint_reactions, pose, velocities
from kernels.dynamics.constraints import Constraints, constraint_rows, new_constraint_work
from kernels.dynamics.inertia import Bodies
from kernels.dynamics.rolling import GAPS, SLIPS, Rolls, rolling_bias, rolling_rows
from kernels.dynamics.system import System, new_dynamics_work
from kernels.joints.kinds import FREE
from kernels.joints.tree import new_pose
from kernels.path.angles import Angles
from kernels.path.assembly import assemble
from rtsim.models.packing.tree import JointRow, build_tree
from tests.kernels.dynamics.flight import moved, tangent_rate
from tests.naive import constrained, random_models, rolling
from tests.naive.dynamics import kinetic_energy, potential_energy
from tests.naive.mechanisms import dirty, point, posed, random_mechanism, without_constraints
from tests.naive.tree import matrix_quaternion

Array = NDArray[np.floating]

GRAVITY = 9.81
RADIUS, MASS = 0.3, 2.0
AXIAL, ACROSS = 0.5 * MASS * RADIUS**2, 0.25 * MASS * RADIUS**2  # of a thin disc


def rolls_of(rows: list[tuple[int, int]], rng: np.random.Generator) -> Rolls:
    """Return a disc, then a ball, and so on, between these bodies (A, B), at random places."""
    n = len(rows)
    axis = random_models.unit_rows(rng, n)
    axis[1::2] = 0.0
    return Rolls(
        np.array([a for a, _ in rows], np.int64),
        np.array([b for _, b in rows], np.int64),
        rng.uniform(-0.3, 0.3, (n, 3)),
        axis,
        rng.uniform(0.1, 0.4, n),
        rng.uniform(-0.3, 0.3, (n, 3)),
        Rotation.random(n, rng).as_matrix(),
    )


class Rolling(NamedTuple):
    """A system with rolls in motion."""

    system: System
    constraints: Constraints
    q: Array
    v: Array


def some_rolling(seed: int) -> Rolling:
    """Return a mechanism with elements and couplers and three rolls, on a moving and a resting plane."""
    some, rng = random_mechanism(seed), np.random.default_rng([seed, 9])
    rolls = rolls_of([(3, -1), (6, 8), (9, 4)], rng)
    return Rolling(some.system, some.constraints._replace(rolls=rolls), some.q, rng.normal(size=some.n_v))


def evaluated(case: Rolling) -> tuple[Array, Array, Array, int]:
    """Return values, rows and bias of the rolls, and how many rows come before them."""
    tree, work = case.system.tree, dirty(new_dynamics_work(case.system.tree, 40))
    rows = dirty(new_constraint_work(case.constraints, len(case.v)))
    pose(tree, case.q, work.pose)
    velocities(tree, work.pose, case.v, work.velocities)
    drift(tree, work.velocities.bias, work.acceleration)
    n = constraint_rows(tree, case.constraints, work.pose, case.q, rows)
    rolls = case.constraints.rolls
    rolling_bias(rolls, work.pose, work.velocities.body, work.acceleration, n, rows)
    end = rolling_rows(tree, rolls, work.pose, GAPS, n, rows)
    end = rolling_rows(tree, rolls, work.pose, SLIPS, end, rows)
    return rows.value[n:end], rows.row[n:end], rows.bias[n:end], n


@pytest.mark.parametrize("seed", range(4))
def test_rows_and_bias_are_differences(seed: int) -> None:
    """Protects G and d/dt G u of discs and balls on resting and moving planes, and the gaps."""
    case = some_rolling(seed)
    tree, rolls = case.system.tree, case.constraints.rolls
    value, row, bias, _ = evaluated(case)
    gaps = [rolling.gap(posed(tree, case.q), rolls, r) for r in range(3)]
    np.testing.assert_allclose(value, [*gaps, *np.zeros(6)], atol=1e-12)
    np.testing.assert_allclose(row, rolling.rows(tree, rolls, case.q), atol=1e-8)
    expected = rolling.bias(tree, rolls, case.q, case.v)
    np.testing.assert_allclose(bias, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(2))
def test_the_normal_row_is_the_rate_of_the_gap_and_a_slip_of_nothing(seed: int) -> None:
    """Protects the split: gaps are of position, slips of velocity alone.

    The rows of a position are gradients: their slopes are symmetric on plain coordinates.
    """
    case = some_rolling(seed)
    tree, rolls = case.system.tree, case.constraints.rolls
    _, row, _, _ = evaluated(case)

    def gaps(q: Array) -> Array:
        return np.array([rolling.gap(posed(tree, q), rolls, r) for r in range(3)])

    np.testing.assert_allclose(row[:3], constrained.gradient(gaps, tree, case.q), atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_motion_and_multipliers_solve_the_dense_equations(seed: int) -> None:
    """Protects constrained dynamics with slips: v_dot and all multipliers against a dense solution."""
    case = some_rolling(seed)
    system, constraints, q = case.system, case.constraints, case.q
    tree, n_v = system.tree, len(case.v)
    G = np.vstack([constrained.rows(tree, constraints, q), rolling.rows(tree, constraints.rolls, q)])
    v = case.v - np.linalg.pinv(G, rcond=1e-9) @ (G @ case.v)
    b = [constrained.bias(tree, constraints, q, v), rolling.bias(tree, constraints.rolls, q, v)]
    rng = np.random.default_rng(seed)
    tau, wrench = rng.normal(size=n_v), rng.normal(size=(len(tree.parent), 6))
    work, rows = dirty(new_dynamics_work(tree, 40)), dirty(new_constraint_work(constraints, n_v))
    v_dot, multiplier = np.full(n_v, np.nan), np.full(len(rows.value), np.nan)
    constrained_dynamics(system, constraints, q, v, tau, wrench, work, rows, v_dot, multiplier)
    M = constrained.mass(system, q)
    h = constrained.inverse(system, q, v, np.zeros(n_v), wrench)
    np.testing.assert_allclose(G @ v_dot, -np.concatenate(b), atol=1e-6 * max(1.0, np.abs(v_dot).max()))
    pushed = tau - h + G.T @ multiplier[: len(G)]
    np.testing.assert_allclose(M @ v_dot, pushed, rtol=0, atol=1e-6 * np.abs(multiplier[: len(G)]).max())


def disc(inclination: float, radius: float = RADIUS, ball: bool = False) -> Rolling:
    """Return a free thin disc, or ball, on the level ground z = 0, its axis inclined from the vertical."""
    inertia = np.diag([ACROSS, ACROSS, AXIAL]) if not ball else 0.4 * MASS * radius**2 * np.eye(3)
    tree = build_tree([JointRow(-1, FREE)])
    bodies = Bodies(np.array([MASS]), np.zeros((1, 3)), inertia[None])
    system = System(tree, bodies, np.array([0.0, 0.0, -GRAVITY]))
    roll = Rolls(
        np.array([0]), np.array([-1]), np.zeros((1, 3)), np.array([[0.0, 0.0, 0.0 if ball else 1.0]]),
        np.array([radius]), np.zeros((1, 3)), np.eye(3)[[2, 0, 1]][None].copy(),
    )  # fmt: skip
    turn = Rotation.from_rotvec([0.0, inclination, 0.0])
    height = radius if ball else radius * np.sin(inclination)
    q = np.array([0.0, 0.0, height, *matrix_quaternion(turn.as_matrix())])
    return Rolling(system, without_constraints(tree)._replace(rolls=roll), q, np.zeros(6))


def rolling_at(case: Rolling, spin: Array) -> Rolling:
    """Return the case with an angular velocity (3,) in ground and the velocity that rolls."""
    at = posed(case.system.tree, case.q)
    arm = rolling.contact(at, case.constraints.rolls, 0) - at.position[0]
    return case._replace(v=np.concatenate([-np.cross(spin, arm), at.rotation[0].T @ spin]))


def accelerations(case: Rolling, q: Array, v: Array) -> Array:
    """Return v_dot (n_v,) without other forces."""
    work, rows = new_dynamics_work(case.system.tree, 4), new_constraint_work(case.constraints, len(v))
    v_dot, multiplier = np.zeros(len(v)), np.zeros(len(rows.value))
    still = np.zeros((len(case.system.tree.parent), 6))
    constrained_dynamics(
        case.system, case.constraints, q, v, np.zeros(len(v)), still, work, rows, v_dot, multiplier
    )
    return v_dot


def flown(case: Rolling, duration: float, n_step: int) -> Rolling:
    """Return the state after a duration [s], by Runge-Kutta of order four in the tangent space."""
    q, v, h, tree = case.q, case.v, duration / n_step, case.system.tree
    for _ in range(n_step):
        u_rates, v_rates = np.zeros((2, 4, len(v)))
        for stage, share in enumerate((0.0, 0.5, 0.5, 1.0)):
            before = max(stage - 1, 0)
            u, speed = h * share * u_rates[before], v + h * share * v_rates[before]
            u_rates[stage] = tangent_rate(tree, u, speed)
            v_rates[stage] = accelerations(case, moved(tree, q, u), speed)
        weights = np.array([1.0, 2.0, 2.0, 1.0]) * h / 6.0
        q, v = moved(tree, q, weights @ u_rates), v + weights @ v_rates
    return case._replace(q=q, v=v)


def energy(case: Rolling) -> float:
    """Return kinetic and potential energy [J]."""
    return kinetic_energy(case.system, case.q, case.v) + potential_energy(case.system, case.q)


@pytest.mark.parametrize("ball", [False, True])
def test_a_rolling_disc_keeps_its_energy_and_never_slips(ball: bool) -> None:
    """Protects the law of workless constraints: over half a second of wobbling, energy and contact hold."""
    case = rolling_at(disc(1.1, ball=ball), np.array([2.0, -5.0, 1.0]))
    start = energy(case)
    drift = []
    for n in (200, 400):
        end = flown(case, 0.5, n)
        slip = rolling.slip(end.system.tree, end.constraints.rolls, 0, end.q, end.v)
        height = rolling.gap(posed(end.system.tree, end.q), end.constraints.rolls, 0)
        drift.append(max(abs(energy(end) - start) / start, np.abs(slip).max(), abs(height)))
        assert np.linalg.norm(end.q[:2] - case.q[:2]) > 0.1
    assert drift[1] < 1e-5
    assert ball or drift[1] < drift[0] / 8.0  # order four, but for rounding of differences


def test_a_ball_on_a_level_plane_rolls_straight_on() -> None:
    """Protects a known motion: no acceleration, whatever its spin about the vertical."""
    case = rolling_at(disc(0.3, ball=True), np.array([3.0, -2.0, 7.0]))
    np.testing.assert_allclose(accelerations(case, case.q, case.v)[:3], 0.0, atol=1e-12)


def test_a_ball_rolls_down_a_slope_with_five_sevenths_of_gravity() -> None:
    """Protects multipliers' share: acceleration 5/7 g sin(slope) of a solid ball."""
    case = disc(0.0, ball=True)
    tilted = GRAVITY * np.array([np.sin(0.2), 0.0, -np.cos(0.2)])
    case = case._replace(system=case.system._replace(gravity=tilted))
    np.testing.assert_allclose(
        accelerations(case, case.q, case.v)[:3], [5.0 / 7.0 * GRAVITY * np.sin(0.2), 0.0, 0.0], atol=1e-12
    )


@pytest.mark.parametrize(("inclination", "circle"), [(1.2, 1.5), (0.6, 0.4)])
def test_steady_circling_is_the_closed_form(inclination: float, circle: float) -> None:
    """Protects the bias with a known motion: a disc that circles steadily, its contact at this radius.

    Balance of moments about its centre, which circles at b = circle - R cos(i):
    Omega^2 = m g R cos(i) / (sin(i) (A cos(i) + (C / R + m R) b)), A, C across and along the axis.
    """
    sine, cosine = np.sin(inclination), np.cos(inclination)
    b = circle - RADIUS * cosine
    against = sine * (ACROSS * cosine + (AXIAL / RADIUS + MASS * RADIUS) * b)
    rate = np.sqrt(MASS * GRAVITY * RADIUS * cosine / against)
    case = disc(inclination)
    case.q[0] = b  # about the vertical through ground's origin; the axis leans away from it
    axis = np.array([sine, 0.0, cosine])
    case = rolling_at(case, np.array([0.0, 0.0, rate]) - rate * circle / RADIUS * axis)
    np.testing.assert_allclose(case.v[:3], [0.0, rate * b, 0.0], atol=1e-12)
    v_dot = accelerations(case, case.q, case.v)
    np.testing.assert_allclose(v_dot[:3], [-(rate**2) * b, 0.0, 0.0], atol=1e-9)
    # the angular velocity seen in the disc turns with its spin alone
    end = flown(case, 2.0 * np.pi / rate / 3.0, 300)
    assert np.hypot(*end.q[:2]) == pytest.approx(b, rel=1e-6)
    assert np.arctan2(end.q[1], end.q[0]) == pytest.approx(2.0 * np.pi / 3.0, rel=1e-6)
    assert end.q[2] == pytest.approx(RADIUS * sine, rel=1e-6)


def test_a_disc_is_set_down_on_its_plane() -> None:
    """Protects assembly: the gap is closed, slips are no matter of position."""
    case = disc(0.9)
    q = case.q.copy()
    q[2] += 0.2
    n_v = 6
    none = (np.zeros(1, np.int64), *(np.zeros(0, np.int64),) * 3, np.zeros(0))
    status, residual = assemble(
        case.system.tree, case.constraints, Angles(*none), -1, 0.0, 50, 1e-12, new_pose(1, n_v),
        new_constraint_work(case.constraints, n_v), q,
    )  # fmt: skip
    assert status == 0
    assert residual <= 1e-12
    assert abs(rolling.gap(posed(case.system.tree, q), case.constraints.rolls, 0)) < 1e-12


def test_a_disc_that_lies_flat_has_no_contact() -> None:
    """Protects the singularity: NaN, which every caller sees, not a point picked by rounding."""
    case = disc(0.0)
    value, row, _, _ = evaluated(case)
    assert np.isnan(value[0])
    assert np.isnan(row).any()


def test_reactions_of_a_rolling_disc_carry_nothing() -> None:
    """Protects the split of reactions: a free joint transmits nothing, the multipliers are the plane's."""
    case = rolling_at(disc(1.1), np.array([2.0, -5.0, 1.0]))
    work, rows = new_dynamics_work(case.system.tree, 4), new_constraint_work(case.constraints, 6)
    v_dot, multiplier, still = np.zeros(6), np.zeros(len(rows.value)), np.zeros((1, 6))
    constrained_dynamics(
        case.system, case.constraints, case.q, case.v, np.zeros(6), still, work, rows, v_dot, multiplier
    )
    reaction = np.full((1, 6), np.nan)
    joint_reactions(
        case.system, case.constraints, case.q, case.v, v_dot, still, multiplier, work, rows, reaction
    )
    np.testing.assert_allclose(reaction, 0.0, atol=1e-11)
    assert multiplier[0] > 0.0  # the plane pushes
    x = rolling.contact(posed(case.system.tree, case.q), case.constraints.rolls, 0)
    assert point(posed(case.system.tree, case.q), 0, np.zeros(3))[2] > x[2]
