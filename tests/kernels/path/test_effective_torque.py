"""Moment arms against dynamics: the torque that a tension exerts about an angle, out of accelerations.

Sherman, Seth, Delp (2010), "Calculating effective joint torque": tau_theta = r s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.dynamics.constrained import OK, constrained_dynamics
from kernels.dynamics.constraints import new_constraint_work
from kernels.dynamics.inertia import Bodies
from kernels.dynamics.system import System, new_dynamics_work
from kernels.joints.kinds import HINGE, SLIDER
from kernels.path.moment_arms import FORCE, Leverage, moment_arms, new_leverage_work
from kernels.path.muscle_path import add_forces
from rtsim.models.packing.tree import JointRow, build_functions, build_tree, linear, polynomial
from tests.kernels.path.couplings import ANGLES, X, Z, angles_of, only_couplers
from tests.kernels.path.muscles import GROUND, Case, at, random_case, stations_of, surfaces_of
from tests.naive import constrained
from tests.naive.mechanisms import IDENTITY, Mechanism

Array = NDArray[np.floating]

SEEDS = range(3)
TENSION = 120.0  # [N]


class Pulled(NamedTuple):
    """What a tension changes, and what it should."""

    v_dot: Array  # (n_v,) - change of acceleration
    force: Array  # (n_v,) - inverse dynamics of that change: M v_dot
    applied: Array  # (n_v,) - the muscle's own generalized forces
    multiplier: Array  # (n_row,) - change of the multipliers
    arm: Array  # (n_angle,)
    coupling: Array  # (n_angle, n_v)


def pulled(case: Case, leverage: Leverage, m: int, tension: float = TENSION) -> Pulled:
    """Return the difference that the tension of muscle m makes to the system at rest."""
    some, work = case.some, new_leverage_work(leverage)
    arms = np.zeros((case.n_muscle, len(leverage.angles.start) - 1))
    moment_arms(leverage, some.q, FORCE, 1, work, arms)
    wrench, tau = np.zeros((len(some.tree.parent), 6)), np.zeros(some.n_v)
    add_forces(case.stations, m, tension, 1, work.path, wrench, tau)
    # the dynamics take moments about ground's origin
    wrench[:, :3] += np.cross(work.pose.position[0], wrench[:, 3:])
    with_pull, without = accelerated(some, tau, wrench), accelerated(some, 0.0 * tau, 0.0 * wrench)
    change, rest = with_pull[0] - without[0], np.zeros(some.n_v)
    weightless = some.system._replace(gravity=np.zeros(3))
    force = constrained.inverse(weightless, some.q, rest, change, 0.0 * wrench)
    applied = tau - constrained.inverse(weightless, some.q, rest, rest, wrench)
    return Pulled(change, force, applied, with_pull[1] - without[1], arms[m], work.angle.coupling.copy())


def accelerated(some: Mechanism, tau: Array, wrench: Array) -> tuple[Array, Array]:
    """Return accelerations and multipliers of the system at rest."""
    rows = new_constraint_work(some.constraints, some.n_v)
    v_dot, multiplier = np.zeros(some.n_v), np.zeros(len(rows.value))
    work = new_dynamics_work(some.tree, len(rows.value))
    status = constrained_dynamics(
        some.system, some.constraints, some.q, np.zeros(some.n_v), tau, wrench, work, rows, v_dot, multiplier
    )
    assert status == OK
    return v_dot, multiplier[:-1]


@pytest.mark.parametrize("seed", SEEDS)
def test_torque_out_of_accelerations_is_arm_times_tension(seed: int) -> None:
    """Protects the definition, eq. 8: C . M (change of v_dot) = r s for every muscle about every angle."""
    case = random_case(seed)
    leverage = Leverage(
        case.tree, case.some.constraints, case.stations, case.surfaces, angles_of(case.tree, ANGLES)
    )
    for m in range(case.n_muscle - 1):
        found = pulled(case, leverage, m)
        parts = found.coupling * found.force
        np.testing.assert_allclose(
            parts.sum(axis=1), found.arm * TENSION, rtol=0, atol=1e-10 * np.abs(parts).max()
        )
        assert np.abs(found.arm).max() > 1e-3


def finger(light: float, over_patella: bool) -> tuple[Case, Leverage, int]:
    """Return figure 3 of the paper: three coupled hinges that add up to theta, and a patella.

    The patella hangs on the first bone by two more coupled joints that are no part of theta; light : its
    mass [kg]. Returns also how many couplers, the first ones, are among the joints of theta.
    """
    bone = 0.4 * X
    joints = [
        JointRow(-1, HINGE, Z),
        JointRow(0, HINGE, Z, bone),
        JointRow(1, HINGE, Z, bone),
        JointRow(0, HINGE, Z, bone),
        JointRow(3, SLIDER, X),
    ]
    tree = build_tree(
        joints, build_functions((linear(0.7), linear(1.6), polynomial((0.9, 0.4, 0.3)), linear(0.05, 0.08)))
    )
    rows = [((1, 0), (0, 0), 0), ((2, 0), (0, 0), 1), ((3, 0), (0, 0), 2), ((4, 0), (1, 0), 3)]
    q = np.array([0.5, 0.35, 0.8, 0.9 + 0.2 + 0.075, 0.05 * 0.35 + 0.08])
    mass = np.array([1.0, 0.6, 0.3, light, light])
    inertia = 0.01 * mass[:, np.newaxis, np.newaxis] * np.eye(3)
    centre = np.array([0.5 * bone, 0.5 * bone, 0.3 * bone, np.zeros(3), np.zeros(3)])
    system = System(tree, Bodies(mass, centre, inertia), np.array([0.0, -9.81, 0.0]))
    some = Mechanism(system, only_couplers(tree, rows), q)
    way = [at(4, np.zeros(3))] if over_patella else []
    stations = stations_of(
        [[at(GROUND, np.array([-0.1, 0.2, 0.0])), *way, at(2, np.array([0.1, 0.03, 0.0]))]]
    )
    case = Case(some, stations, surfaces_of([]))
    theta = angles_of(tree, (tuple((b, 0, IDENTITY, 1.0) for b in range(3)),))
    return case, Leverage(tree, some.constraints, stations, case.surfaces, theta), 2


def torque_of_theta(light: float, over_patella: bool) -> tuple[float, float, float]:
    """Return r s, eq. 24 with the muscle's own forces, and with what the patella's couplers transmit."""
    case, leverage, n_own = finger(light, over_patella)
    found = pulled(case, leverage, 0)
    C_bar = found.coupling[0] * (np.arange(case.some.n_v) < 3)
    G = constrained.rows(case.tree, case.some.constraints, case.some.q)
    transmitted = G[n_own:].T @ found.multiplier[n_own:]
    np.testing.assert_allclose(C_bar @ (found.applied + transmitted), C_bar @ found.force, rtol=1e-9)
    return (
        float(found.arm[0] * TENSION),
        float(C_bar @ found.applied),
        float(C_bar @ (found.applied + transmitted)),
    )


def test_torque_at_the_joints_that_define_theta_is_the_whole_of_it() -> None:
    """Protects eq. 24: C-bar, zero for all but theta's joints, suffices where no others are pulled."""
    whole, own, _ = torque_of_theta(0.1, over_patella=False)
    assert own == pytest.approx(whole, rel=1e-12)
    assert abs(whole) > 1.0  # [N m]


def test_couplers_transmit_what_the_muscle_does_to_other_coordinates() -> None:
    """Protects figure 3: pull on the patella reaches theta through its couplers, but for its inertia."""
    missed = []
    for light in (1e-3, 1e-5):
        whole, own, with_couplers = torque_of_theta(light, over_patella=True)
        assert abs(own - whole) > 0.05 * abs(whole)
        missed.append(abs(with_couplers - whole) / abs(whole))
    assert missed[1] < 1e-4
    assert missed[0] == pytest.approx(100.0 * missed[1], rel=0.05)


def test_couplings_of_the_finger_add_up_to_one() -> None:
    """Protects eq. 20: the constants of theta's joints sum to 1, those of the patella are no part of it."""
    case, leverage, _ = finger(0.1, over_patella=True)
    C = pulled(case, leverage, 0).coupling[0]
    np.testing.assert_allclose(C[:3], np.array([1.0, 0.7, 1.6]) / 3.3, rtol=1e-13)
    q = case.some.q
    np.testing.assert_allclose(C[3:], [(0.4 + 0.6 * q[0]) / 3.3, 0.05 * 0.7 / 3.3], rtol=1e-13)
    np.testing.assert_allclose(constrained.values(case.tree, case.some.constraints, q), 0.0, atol=1e-15)


def test_a_muscle_accelerates_the_angle_the_way_of_its_arm() -> None:
    """Protects the sign: tension turns theta the way of its arm, and all coordinates along C with it."""
    case, leverage, _ = finger(0.1, over_patella=True)
    for tension in (10.0, 500.0):
        found = pulled(case, leverage, 0, tension)
        turning = found.v_dot[:3].sum()
        assert np.sign(turning) == np.sign(found.arm[0])
        np.testing.assert_allclose(found.v_dot, turning * found.coupling[0], rtol=1e-8)
