"""Forces of muscle paths: internal, and of the power that shortening takes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.dynamics.inverse import transmit
from kernels.dynamics.motion import new_velocities, velocities
from kernels.joints.tree import Pose
from kernels.path.muscle_path import add_forces, lengthening_speed
from tests.kernels.path.muscles import GROUND, Case, at, followed, random_case, stations_of
from tests.naive import constrained
from tests.naive.mechanisms import on_a_ground_body, point, posed
from tests.naive.muscle_path import lengths

Array = NDArray[np.floating]

SEEDS = range(3)
TENSION = 37.0  # [N]
MOVING = (2, 4, 6)  # muscles with moving points


class Forces(NamedTuple):
    """What one muscle does."""

    wrench: Array  # (n_body, 6) about the reference point
    tau: Array  # (n_v,)


def forces(case: Case, m: int, tension: float = TENSION, moving_work: int = 1) -> Forces:
    """Return the forces of muscle m."""
    found = Forces(np.zeros((len(case.tree.parent), 6)), np.zeros(case.some.n_v))
    work = followed(case, case.some.q)
    add_forces(case.stations, m, tension, moving_work, work, found.wrench, found.tau)
    return found


def speeds(case: Case, v: Array) -> tuple[Pose, Array, Array]:
    """Return the pose, the bodies' velocities (n_body, 6) and the lengthening speeds (n_muscle,) at v."""
    pose, moving = posed(case.tree, case.some.q), new_velocities(len(case.tree.parent))
    velocities(case.tree, pose, v, moving)
    work = followed(case, case.some.q)
    lengthening = [lengthening_speed(case.stations, moving.body, v, m, work) for m in range(case.n_muscle)]
    return pose, moving.body, np.array(lengthening)


def random_speeds(case: Case, seed: int) -> Array:
    """Return speeds of all dofs (n_v,)."""
    return np.random.default_rng([seed, 3]).normal(size=case.some.n_v)


@pytest.mark.parametrize("seed", SEEDS)
def test_lengthening_speed_is_that_of_the_length(seed: int) -> None:
    """Protects dl/dt: the gradient times the speeds, and the difference of the length along the motion."""
    case = random_case(seed)
    v, q = random_speeds(case, seed), case.some.q
    _, _, found = speeds(case, v)
    np.testing.assert_allclose(found, followed(case, q).gradient @ v, rtol=0, atol=1e-12)
    along = constrained.first_along(lambda there: followed(case, there).length.copy(), case.tree, q, v, 1e-4)
    np.testing.assert_allclose(found, along, rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_forces_of_a_muscle_are_internal(seed: int) -> None:
    """Protects action and reaction: over all bodies, ground as one of them, force and moment vanish."""
    case = random_case(seed)
    tree = on_a_ground_body(case.tree, np.eye(3), np.zeros(3))
    closed = Case(
        case.some._replace(system=case.some.system._replace(tree=tree)),
        case.stations._replace(body=case.stations.body + 1),
        case.surfaces._replace(body=case.surfaces.body + 1),
    )
    from_body, reference = posed(case.tree, case.some.q).position[0], posed(tree, case.some.q).position[0]
    for m in range(case.n_muscle):
        all_bodies, without_ground = forces(closed, m).wrench, forces(case, m).wrench
        np.testing.assert_allclose(all_bodies.sum(axis=0), 0.0, atol=1e-12 * TENSION)
        moment = without_ground[:, :3] + np.cross(from_body - reference, without_ground[:, 3:])
        same = np.hstack([moment, without_ground[:, 3:]])
        np.testing.assert_allclose(same, all_bodies[1:], rtol=0, atol=1e-12 * TENSION)


@pytest.mark.parametrize("seed", SEEDS)
def test_power_of_the_forces_is_tension_times_shortening(seed: int) -> None:
    """Protects virtual work: forces on bodies and on moving points' coordinates do -s dl/dt, and no more."""
    case = random_case(seed)
    v = random_speeds(case, seed)
    _, moving, lengthening = speeds(case, v)
    for m in range(case.n_muscle):
        found = forces(case, m)
        power = np.sum(found.wrench * moving) + found.tau @ v
        assert power == pytest.approx(-TENSION * lengthening[m], abs=1e-11 * TENSION)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_the_work_of_moving_points_a_muscle_does_spurious_work(seed: int) -> None:
    """Protects the comparison with OpenSim: exactly tension times slip is missing, of moving points only."""
    case = random_case(seed)
    v, q = random_speeds(case, seed), case.some.q
    tree, stations, surfaces = case.tree, case.stations, case.surfaces
    _, moving, lengthening = speeds(case, v)
    slip = constrained.first_along(lambda x: lengths(tree, stations, surfaces, q, x), tree, q, v, 1e-3)
    for m in range(case.n_muscle):
        found = forces(case, m, moving_work=0)
        np.testing.assert_array_equal(found.tau, 0.0)
        np.testing.assert_array_equal(found.wrench, forces(case, m).wrench)
        spurious = np.sum(found.wrench * moving) + TENSION * lengthening[m]
        assert spurious == pytest.approx(TENSION * slip[m], abs=1e-7)
        assert (abs(spurious) > 0.1) == (m in MOVING)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("moving_work", [0, 1])
def test_generalized_forces_are_tension_times_the_gradient(seed: int, moving_work: int) -> None:
    """Protects eq. 17 against eq. 12: J' T s = -s dl/dq, by two ways through the tree."""
    case = random_case(seed)
    pose = posed(case.tree, case.some.q)
    for m in range(case.n_muscle):
        found, through_joints = forces(case, m, moving_work=moving_work), np.zeros(case.some.n_v)
        transmit(case.tree, pose, found.wrench, through_joints)
        gradient = followed(case, case.some.q, moving_work).gradient[m]
        np.testing.assert_allclose(
            through_joints + found.tau, -TENSION * gradient, rtol=0, atol=1e-12 * TENSION
        )


def test_a_straight_muscle_pulls_its_ends_together() -> None:
    """Protects sign and point of attack: each end is pulled towards the other along the line."""
    case, x = random_case(0), np.array([[0.1, -0.2, 0.15], [-0.1, 0.3, 0.05]])
    case = case._replace(stations=stations_of([[at(3, x[0]), at(6, x[1])], [at(GROUND, x[0]), at(6, x[1])]]))
    pose = posed(case.tree, case.some.q)
    for m, a in enumerate((3, GROUND)):
        found = forces(case, m).wrench
        P, Q = point(pose, a, x[0]), point(pose, 6, x[1])
        pull = TENSION * (Q - P) / np.linalg.norm(Q - P)
        expected = np.zeros_like(found)
        for body, place, force in ((a, P, pull), (6, Q, -pull)):
            if body >= 0:
                expected[body] = np.concatenate([np.cross(place - pose.position[0], force), force])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * TENSION)


def test_forces_add_to_those_that_are_there_and_grow_with_tension() -> None:
    """Protects sums of muscles: add_forces adds, in proportion to the tension."""
    case = random_case(1)
    work, found = (
        followed(case, case.some.q),
        Forces(np.ones((len(case.tree.parent), 6)), np.ones(case.some.n_v)),
    )
    for m, tension in ((2, 10.0), (4, -3.0)):
        add_forces(case.stations, m, tension, 1, work, found.wrench, found.tau)
    one, other = forces(case, 2, 1.0), forces(case, 4, 1.0)
    np.testing.assert_allclose(found.wrench, 1.0 + 10.0 * one.wrench - 3.0 * other.wrench, atol=1e-13)
    np.testing.assert_allclose(found.tau, 1.0 + 10.0 * one.tau - 3.0 * other.tau, atol=1e-13)
