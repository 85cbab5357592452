"""What crosses the joints: twin, energy, Newton's third law, forward dynamics, Pinocchio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.compiler.jit import hold
from kernels.dynamics.kinetics import (
    ALONG_AXES,
    IN_DISTAL,
    IN_GROUND,
    IN_PROXIMAL,
    Cuts,
    Kinetics,
    joint_kinetics,
    new_kinetics,
)
from kernels.dynamics.system import System, new_dynamics_work
from kernels.joints.joint_angles import JointAxes
from kernels.joints.kinds import FREE, HINGE
from rtsim.models.packing.tree import JointRow, build_tree
from tests.kernels.dynamics.cases import Case, assert_same, forward, inverse, mass, some_case
from tests.naive import random_models
from tests.naive.dynamics import inverse_dynamics, motion_by_differences, potential_energy, state
from tests.naive.kinetics import crossing, frame
from tests.naive.tree import integrate

Array = NDArray[np.floating]

CASES = [(name, seed) for name in ("branched", "random", "chained") for seed in range(3)]
every_case = pytest.mark.parametrize(("name", "seed"), CASES)


def joints_of(case: Case, seed: int = 0) -> JointAxes:
    """Return anatomical axes and points of every joint of the tree, at random."""
    rng = np.random.default_rng([seed, 71])
    parents, n = case.system.tree.parent, len(case.system.tree.parent)
    turns = Rotation.random(2 * n, rng).as_matrix()
    points = rng.uniform(-0.3, 0.3, (2, n, 3))
    return JointAxes(parents, np.arange(n), turns[:n].copy(), turns[n:].copy(), points[0], points[1])


def on_proximal(joints: JointAxes) -> NDArray[np.int64]:
    """Return which joints have their centre in the proximal body: every other one inside the tree."""
    return np.where(joints.proximal >= 0, np.arange(len(joints.distal)) % 2, 0)


def measured(
    case: Case, joints: JointAxes, sign: Array | None = None, root: int = 0
) -> tuple[Kinetics, Array]:
    """Return the kernel's results and tau (n_v,)."""
    n = len(joints.distal)
    out, tau = new_kinetics(n), np.full(len(case.v), np.nan)
    cuts = Cuts(joints, np.ones((n, 3)) if sign is None else sign, on_proximal(joints), root, 700.0)
    work = new_dynamics_work(case.system.tree)
    call_kinetics(case.system, cuts, case.q, case.v, case.v_dot, case.wrench, work, out, tau)
    return out, tau


def call_kinetics(*arguments: Any) -> None:
    """Call the kernel as runs do, whose machine code it then is."""
    hold(joint_kinetics, arguments, given=(2, 3, 4))(*arguments[2:5])


@every_case
def test_moments_and_forces_are_sums_over_the_bodies_beyond(name: str, seed: int) -> None:
    """Protects the wrench, the centre, all four resolutions and the powers of every joint, roots included."""
    case = some_case(name, seed)
    joints = joints_of(case, seed)
    found, tau = measured(case, joints)
    assert_same(tau, inverse_dynamics(*case), 1e-12)
    for j in range(len(joints.distal)):
        expected = crossing(case.system, joints, j, *case[1:], on_proximal=bool(on_proximal(joints)[j]))
        np.testing.assert_allclose(found.centre[j], expected.centre, atol=1e-12)
        assert_same(found.moment[j], expected.moment, 1e-11)
        assert_same(found.force[j], expected.force, 1e-11)
        assert found.power[j].sum() == pytest.approx(expected.power, rel=1e-6, abs=1e-6)


@every_case
def test_powers_of_all_joints_and_of_external_forces_move_the_energy(name: str, seed: int) -> None:
    """Protects the powers by the one law they obey: their sum is the rate of kinetic and potential energy."""
    case = some_case(name, seed)
    found, _ = measured(case, joints_of(case, seed))
    at = state(case.system.tree, case.q)
    velocity, turning = motion_by_differences(case.system, case.q, case.v)
    external = 0.0
    for b, wrench in enumerate(case.wrench):  # about ground's origin: moved to the centre of mass
        moment = wrench[:3] - np.cross(at.point(b, case.system.bodies.centre[b]), wrench[3:])
        external += moment @ turning[b] + wrench[3:] @ velocity[b]
    rate, step = 0.0, 1e-4
    for sign in (1.0, -1.0):
        along = case.v + 0.5 * sign * step * case.v_dot
        q = integrate(case.system.tree, case.q, sign * step * along)
        v = case.v + sign * step * case.v_dot
        kinetic = 0.5 * v @ mass(case._replace(q=q)) @ v
        rate += sign * (kinetic + potential_energy(case.system, q)) / (2.0 * step)
    scale = np.abs(found.power).sum()
    assert found.power.sum() + external == pytest.approx(rate, abs=1e-6 * scale)


@every_case
def test_the_power_of_a_moment_is_the_sum_over_the_angles(name: str, seed: int) -> None:
    """Protects the choice of projections: each does the work of its angle, with its sign, and nothing
    else."""
    case = some_case(name, seed)
    joints = joints_of(case, seed)
    sign = np.random.default_rng(seed).choice((-1.0, 1.0), (len(joints.distal), 3))
    found, _ = measured(case, joints, sign)
    by_angles = np.sum(found.moment[:, ALONG_AXES] * found.angle_rate, axis=1)
    np.testing.assert_allclose(by_angles, found.power[:, 0], rtol=1e-9, atol=1e-9)
    plain, _ = measured(case, joints)
    np.testing.assert_allclose(found.moment[:, ALONG_AXES], sign * plain.moment[:, ALONG_AXES], rtol=1e-12)
    np.testing.assert_array_equal(found.force, plain.force)


@every_case
def test_the_same_vector_in_all_axes(name: str, seed: int) -> None:
    """Protects the resolutions: square axes keep the length of a moment and a force."""
    found, _ = measured(case := some_case(name, seed), joints_of(case, seed))
    for rows in (found.moment, found.force):
        size = np.linalg.norm(rows[:, [IN_GROUND, IN_PROXIMAL, IN_DISTAL]], axis=2)
        np.testing.assert_allclose(size, np.broadcast_to(size[:, :1], size.shape), rtol=1e-11)


@every_case
def test_forces_that_the_ground_gives_leave_no_residual(name: str, seed: int) -> None:
    """Protects the residual: with its own wrench added to the external ones, nothing is left at the root."""
    case = some_case(name, seed)
    joints = joints_of(case, seed)
    root = int(np.flatnonzero(case.system.tree.parent < 0)[-1])
    found, _ = measured(case, joints, root=root)
    np.testing.assert_allclose(found.residual_share, found.residual / 700.0, rtol=1e-12)
    at = frame(case.system, case.q, root)[:3, 3]
    wrench = case.wrench.copy()
    moment, force = found.residual
    wrench[root] += np.concatenate([moment + np.cross(at, force), force])
    balanced, tau = measured(case._replace(wrench=wrench), joints, root=root)
    scale = np.abs(found.residual).max()
    np.testing.assert_allclose(balanced.residual, 0.0, atol=1e-11 * max(1.0, scale))
    first, last = case.system.tree.v_start[[root, root + 1]]
    np.testing.assert_allclose(tau[first:last], 0.0, atol=1e-10 * max(1.0, scale))


@every_case
def test_the_motion_of_given_forces_gives_them_back(name: str, seed: int) -> None:
    """Protects inverse after forward dynamics: tau comes back, and the wrenches with it."""
    case = some_case(name, seed)
    tau = np.random.default_rng(seed).normal(size=len(case.v))
    case = case._replace(v_dot=forward(case, tau))
    _, found = measured(case, joints_of(case, seed))
    np.testing.assert_allclose(found, tau, atol=1e-9)


def test_another_ground_turns_the_vectors_and_leaves_the_rest() -> None:
    """Protects frames: with ground turned and moved, what is seen from the body stays."""
    case = some_case("branched", 1)
    joints = joints_of(case)
    R, x = Rotation.from_rotvec([0.3, -1.0, 0.7]).as_matrix(), np.array([1.0, -2.0, 0.5])
    tree = random_models.moved_in_ground(case.system.tree, R, x)
    force = case.wrench[:, 3:] @ R.T
    wrench = np.hstack([case.wrench[:, :3] @ R.T + np.cross(x, force), force])
    turned = Case(System(tree, case.system.bodies, R @ case.system.gravity), *case[1:4], wrench)
    below = joints.proximal < 0
    axes = joints.axes_proximal.copy()
    axes[below] = R @ axes[below]
    one, other = measured(case, joints)[0], measured(turned, joints._replace(axes_proximal=axes))[0]
    for seen in ("moment", "force"):
        a, b = getattr(one, seen), getattr(other, seen)
        within = 1e-11 * np.abs(a).max()
        np.testing.assert_allclose(b[:, IN_GROUND], a[:, IN_GROUND] @ R.T, rtol=0, atol=within)
        np.testing.assert_allclose(b[:, 1:], a[:, 1:], rtol=0, atol=within)
    np.testing.assert_allclose(other.power, one.power, atol=1e-10 * np.abs(one.power).max())
    np.testing.assert_allclose(other.angle_rate, one.angle_rate, rtol=1e-9, atol=1e-11)


def test_a_held_leg_needs_an_extending_moment_at_the_knee() -> None:
    """Protects the sense of internal moments: shank held forwards and level, flexion positive, 20 N m extend.

    X forward, Y up, Z right: knee extension turns the shank about +Z, so flexion has the sign -1.
    """
    joints = [JointRow(-1, FREE), JointRow(0, HINGE, np.array([0.0, 0.0, 1.0]), np.array([0.0, -0.4, 0.0]))]
    bodies = random_models.random_bodies(np.random.default_rng(0), 2)
    centre = np.array([[0, -0.2, 0], [0, -0.2, 0]])
    bodies = bodies._replace(mass=np.array([8.0, 20.0 / (0.2 * 9.81)]), centre=centre)
    system = System(build_tree(joints), bodies, np.array([0.0, -9.81, 0.0]))
    q = np.array([0, 1, 0, 1.0, 0, 0, 0, np.pi / 2])
    case = Case(system, q, np.zeros(7), np.zeros(7), np.zeros((2, 6)))
    knee = JointAxes(
        np.array([0]), np.array([1]), np.eye(3)[None], np.eye(3)[None],
        np.array([[0, -0.4, 0.0]]), np.zeros((1, 3)),
    )  # fmt: skip
    found, tau = measured(case, knee, np.array([[-1.0, 1.0, 1.0]]))
    np.testing.assert_allclose(found.moment[0, ALONG_AXES], [-20.0, 0.0, 0.0], atol=1e-12)
    assert tau[6] == pytest.approx(20.0)
    np.testing.assert_allclose(found.force[0, IN_GROUND], [0.0, 20.0 / 0.2, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.residual[1], [0.0, 8.0 * 9.81 + 100.0, 0.0], atol=1e-11)


def test_what_closes_a_loop_crosses_the_cut() -> None:
    """Protects the statement about muscles and ligaments: inner forces change no net moment.

    A pull between shank and thigh, given as external wrenches, leaves the sum through the knee as it was.
    """
    case = some_case("branched", 2)
    joints = joints_of(case)
    plain = measured(case, joints)[0]
    pull = np.array([0.3, -0.2, 0.5, 40.0, -30.0, 20.0])
    wrench = case.wrench.copy()
    wrench[1] += pull
    wrench[2] -= pull
    inside = measured(case._replace(wrench=wrench), joints)[0]
    at = plain.centre[2]
    np.testing.assert_allclose(inside.force[2, IN_GROUND] - pull[3:], plain.force[2, IN_GROUND], atol=1e-10)
    through = inside.moment[2, IN_GROUND] - (pull[:3] - np.cross(at, pull[3:]))
    np.testing.assert_allclose(through, plain.moment[2, IN_GROUND], atol=1e-10)
    np.testing.assert_allclose(inside.moment[1], plain.moment[1], atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_tau_is_pinocchios(seed: int) -> None:
    """Protects the entry against the peer's recursive Newton-Euler, with wrenches."""
    pytest.importorskip("pinocchio")
    from rtsim.bench.mechanics.pinocchio_mirror import mirror

    case = some_case("branched", seed)
    _, tau = measured(case, joints_of(case))
    assert_same(tau, mirror(case.system).inverse_dynamics(*case[1:]), 1e-10)
    np.testing.assert_array_equal(tau, inverse(case))


def test_a_joint_whose_axes_coincide_has_no_moment_along_a_floating_one() -> None:
    """Protects the singularity of the joint coordinate system: zero, not NaN, and the rest as ever."""
    case = some_case("branched", 0)
    joints = joints_of(case)
    distal = frame(case.system, case.q, 1)[:3, :3]
    proximal = frame(case.system, case.q, 0)[:3, :3]
    # e1, z of the proximal axes, along e3, y of the distal axes
    axes = distal.T @ proximal @ joints.axes_proximal[1] @ np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0.0]])
    joints.axes_distal[1] = axes
    found, _ = measured(case, joints)
    assert np.isfinite(found.moment).all()
    assert found.moment[1, ALONG_AXES, 0] == pytest.approx(found.moment[1, IN_PROXIMAL, 2])
