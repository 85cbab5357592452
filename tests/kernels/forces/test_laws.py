"""Laws of every force element: action and reaction, energy, dissipation, no place or unit preferred."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.contact.elements import FRICTION, NORMAL, SLIDING
from kernels.contact.pressure import HUNT_CROSSLEY, KELVIN_VOIGT, POWER, VOLUMETRIC
from kernels.forces.assembly import ForceElements
from kernels.forces.frictions import FORCE, SLIDING_SPEED
from kernels.forces.lines import TENSION
from kernels.joints.kinds import BALL, FREE, HINGE, SLIDER
from kernels.joints.motions import ROTATES
from tests.kernels.forces import calls
from tests.kernels.forces.cases import (
    CONTACTS,
    LAWS,
    TREES,
    Case,
    ContactPlan,
    aimed_contacts,
    aimed_frictions,
    aimed_lines,
    changed,
    only,
    pair_table,
    some_case,
)
from tests.naive.differences import random_directions
from tests.naive.dynamics import turning
from tests.naive.forces import place_jacobian, potential, twin
from tests.naive.random_models import moved_in_ground, random_coordinates, tree_of
from tests.naive.tree import integrate, slices, state

Array = NDArray[np.floating]

every_tree = pytest.mark.parametrize("name", TREES)


@pytest.mark.parametrize("seed", range(3))
def test_floating_bodies_keep_their_momentum(seed: int) -> None:
    """Protects action and reaction: elements do no work on a common motion of two bodies."""
    rng = np.random.default_rng([seed, 71])
    tree = tree_of(rng, (FREE, FREE), (-1, -1))
    q, v = random_coordinates(rng, tree), rng.normal(size=12)
    at, bodies = state(tree, q), ((0, 1), (1, 0))
    tables = ForceElements(
        pair_table(tree, bodies),
        aimed_lines(rng, at, bodies),
        aimed_contacts(rng, at, v, bodies, CONTACTS),
        aimed_frictions(rng, at, v, bodies),
        *only(some_case("branched"), "lines").forces[4:],
    )
    case = Case(tree, tables, q, v, np.zeros(12), np.zeros(0))
    of_speeds = np.vstack([np.vstack([turning(at, b), place_jacobian(at, b, np.zeros(3))]) for b in (0, 1)])
    common = np.linalg.solve(of_speeds, np.vstack([np.eye(6), np.eye(6)]))  # speeds of six motions of all
    for kind in ("lines", "contacts", "frictions"):
        tau = calls.forces(only(case, kind))
        assert np.abs(tau).max() > 1.0
        np.testing.assert_allclose(common.T @ tau, 0.0, rtol=0.0, atol=1e-12 * np.abs(tau).max())


@every_tree
def test_forces_are_the_gradient_of_the_energy(name: str) -> None:
    """Protects that elements at rest give back what they store: lines, contacts, loads, springs."""
    plans = tuple(plan for plan in CONTACTS if plan.d < 2.0)
    case = some_case(name, 2, plans, speed=0.0)
    rng, lasting = np.random.default_rng(19), np.flatnonzero(case.forces.loads.turns == 0)
    for kind in ("lines", "contacts", "springs", "loads"):
        one = only(case, kind, *lasting) if kind == "loads" else only(case, kind)

        def energy(q: Array, one: Case = one) -> Array:
            """Return what the elements hold."""
            return np.array(potential(one.forces, one.tree, q, one.level))

        found = calls.forces(one)
        for u in random_directions(rng, case.tree, 6):
            slope = calls.difference(lambda s, u=u: energy(integrate(case.tree, case.q, s * u)), 2e-4)
            assert found @ u == pytest.approx(-slope, rel=0.0, abs=1e-9 * np.abs(found).max())


@every_tree
def test_motion_only_takes_energy(name: str) -> None:
    """Protects dissipation of each element alone: what speed adds to its force never drives the motion."""
    case = some_case(name, 2, speed=0.0)
    rng = np.random.default_rng(13)
    resting = np.zeros(len(case.v))
    for kind in ("lines", "contacts", "frictions", "springs"):
        taken = 0
        for e in range(len(getattr(case.forces, kind)[0])):
            one = only(case, kind, e)
            for size in (0.01, 0.3, 5.0):
                v = size * rng.normal(size=len(case.v))
                held, moving = calls.forces(one, v=resting), calls.forces(one, v=v)
                power = float((moving - held) @ v)
                assert power <= 1e-13 * float(np.abs(moving) @ np.abs(v))
                taken += power < 0.0
        assert taken > 2 * len(getattr(case.forces, kind)[0])


@every_tree
@pytest.mark.parametrize("part", ["rolls", "spins"])
def test_patch_torques_only_take_energy(name: str, part: str) -> None:
    """Protects the sign of rolling and of spinning by itself, of spheres and of oblique ellipsoids."""
    plans = tuple(ContactPlan(friction_law=law, patch=True, round=r) for law in LAWS for r in (False, True))
    case = some_case(name, 3, plans, speed=0.0)
    none = np.zeros(len(plans), np.int64)
    without = changed(case, "contacts", rolls=none, spins=none)
    other = "spins" if part == "rolls" else "rolls"
    alone = changed(case, "contacts", **{other: none})
    rng = np.random.default_rng(17)
    for e in range(len(plans)):
        one, plain = only(alone, "contacts", e), only(without, "contacts", e)
        powers = []
        for size in (0.05, 0.5, 5.0):
            v = size * rng.normal(size=len(case.v))
            if twin(one.forces, one.tree, one.q, v).touches[0].N > 0.0:
                powers.append(float((calls.forces(one, v=v) - calls.forces(plain, v=v)) @ v))
        assert len(powers) >= 2
        assert max(powers) < 0.0


@every_tree
def test_contacts_push_and_ligaments_pull(name: str) -> None:
    """Protects the signs at any speed: no sticking together, no pushing rope, friction against sliding."""
    for seed, speed in ((0, 1.0), (1, 30.0)):
        case = some_case(name, seed, speed=speed)
        still = case._replace(v=speed * np.random.default_rng(seed).normal(size=len(case.v)))
        for moving in (case, still):
            work = calls.slopes(moving).work
            assert (work.contacts.out[:, NORMAL] >= 0.0).all()
            assert (work.contacts.out[:, NORMAL] > 0.0).any()
            assert (work.lines.state[case.forces.lines.law == 0, TENSION] >= 0.0).all()
            rubbing, sliding = (work.contacts.out[:, c : c + 3] for c in (FRICTION, SLIDING))
            assert (np.einsum("ij,ij->i", rubbing, sliding) <= 0.0).all()
            assert (np.prod(work.frictions.state[:, [SLIDING_SPEED, FORCE]], axis=1) <= 0.0).all()


@every_tree
def test_no_place_and_no_direction_is_preferred(name: str) -> None:
    """Protects invariance: in a world turned and shifted forces and derivatives stay as they are."""
    case = some_case(name, 1)
    R, x = Rotation.random(None, np.random.default_rng(3)).as_matrix(), np.array([3.0, -7.0, 5.0])
    other = turned_world(case, R, x)
    found, expected = calls.slopes(other), calls.slopes(case)
    pairs = ((calls.forces(other), calls.forces(case)), *zip(found[:2], expected[:2], strict=True))
    for one, two in pairs:
        np.testing.assert_allclose(one, two, rtol=0.0, atol=1e-11 * np.abs(two).max())


def turned_world(case: Case, R: Array, x: Array) -> Case:
    """Return the case with ground and all it carries turned by R (3, 3), then shifted by x (3,) m."""
    forces = case.forces
    A, B = forces.pairs.body_a, forces.pairs.body_b
    lines, contacts, frictions, loads = forces.lines, forces.contacts, forces.frictions, forces.loads
    moved = ForceElements(
        forces.pairs,
        lines._replace(
            point_a=placed(lines.point_a, A[lines.pair] < 0, R, x),
            point_b=placed(lines.point_b, B[lines.pair] < 0, R, x),
        ),
        contacts._replace(
            centre=placed(contacts.centre, A[contacts.pair] < 0, R, x),
            rotation=np.where(
                (A[contacts.pair] < 0)[:, None, None], R @ contacts.rotation, contacts.rotation
            ),
            point=placed(contacts.point, B[contacts.pair] < 0, R, x),
            normal=placed(contacts.normal, B[contacts.pair] < 0, R, 0.0 * x),
            surface_velocity=placed(contacts.surface_velocity, B[contacts.pair] < 0, R, 0.0 * x),
        ),
        frictions._replace(
            point=placed(frictions.point, A[frictions.pair] < 0, R, x),
            direction=placed(frictions.direction, B[frictions.pair] < 0, R, 0.0 * x),
        ),
        loads._replace(force=placed(loads.force, loads.turns == 0, R, 0.0 * x)),
        forces.springs,
    )
    return case._replace(tree=moved_in_ground(case.tree, R, x), forces=moved)


def placed(vectors: Array, on_ground: Array, R: Array, x: Array) -> Array:
    """Return vectors (n, 3), those on ground turned by R and shifted by x."""
    return np.where(on_ground[:, np.newaxis], vectors @ R.T + x, vectors)


def test_no_unit_is_preferred() -> None:
    """Protects the dimensions of all parameters and results: other units, same motion."""
    length, mass, time = 7.0, 0.3, 1.9
    force = mass * length / time**2
    for seed in range(2):
        case = some_case("branched", seed)
        other = in_units(case, length, mass, time)
        turns = case.tree.dof_rotates == ROTATES
        per_dof, per_step = np.where(turns, force * length, force), np.where(turns, 1.0, length)
        found, expected = calls.slopes(other), calls.slopes(case)
        for one, two, scale in (
            (calls.forces(other), calls.forces(case), per_dof),
            (found.tau_q, expected.tau_q, per_dof[:, np.newaxis] / per_step),
            (found.tau_v, expected.tau_v, per_dof[:, np.newaxis] / per_step * time),
        ):
            np.testing.assert_allclose(one / scale, two, rtol=0.0, atol=1e-11 * np.abs(two).max())


def in_units(case: Case, length: float, mass: float, time: float) -> Case:
    """Return the case with all numbers in units so many times smaller."""
    speed, force = length / time, mass * length / time**2
    tree, forces = case.tree, case.forces
    q, v = case.q.copy(), np.where(tree.dof_rotates == ROTATES, 1.0, length) / time * case.v
    for b, kind in enumerate(tree.kind):
        own = slices(tree, b)[0]
        if kind == SLIDER:
            q[own] *= length
        elif kind == FREE:
            q[own.start : own.start + 3] *= length
        assert kind <= FREE  # no functions
    assert {BALL, HINGE} <= set(tree.kind)
    lines, contacts, frictions, loads, springs, _ = forces[1:]
    turns = tree.dof_rotates[springs.dof] == ROTATES
    step = np.where(turns, 1.0, length)
    of_friction = np.array([1.0, 1.0, speed, force / speed, force, 1.0 / speed, speed, 1.0, 1.0 / speed])
    of_spinning = np.array([1.0, 1.0, 1.0 / time, 1.0, force, 1.0, 1.0 / time, 1.0, time])
    of_pressure = {
        VOLUMETRIC: (force / length**3, 1.0 / speed, 1.0),
        KELVIN_VOIGT: (force / length, force / speed, 1.0),
        HUNT_CROSSLEY: (force / length**1.5, force / length**1.5 / speed, 1.0),
        POWER: (force / length**2, 1.0, 1.0),
    }
    scaled = ForceElements(
        forces.pairs,
        lines._replace(
            point_a=length * lines.point_a,
            point_b=length * lines.point_b,
            parameter=lines.parameter
            * [length, force / length**2, force / length, 1.0, force / speed, length],
        ),
        contacts._replace(
            centre=length * contacts.centre,
            radii=length * contacts.radii,
            radii_b=length * contacts.radii_b,
            point=length * contacts.point,
            surface_velocity=speed * contacts.surface_velocity,
            pressure=contacts.pressure * [of_pressure[law] for law in contacts.law],
            friction=contacts.friction * of_friction,
            spin_friction=contacts.spin_friction * of_spinning,
            ramp=length * contacts.ramp,
        ),
        frictions._replace(
            point=length * frictions.point,
            surface_velocity=speed * frictions.surface_velocity,
            load=force * frictions.load,
            parameter=frictions.parameter * of_friction,
        ),
        loads._replace(point=length * loads.point, force=force * loads.force),
        springs._replace(
            rest=springs.rest * step,
            stiffness=springs.stiffness * force * length / step**2,
            damping=springs.damping * force * length / step**2 * time,
            moment=springs.moment * force * length / step,
        ),
    )
    joints = {key: length * getattr(tree, key) for key in ("position_in_parent", "position_in_child")}
    return case._replace(tree=tree._replace(**joints), forces=scaled, q=q, v=v)
