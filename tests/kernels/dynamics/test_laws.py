"""What holds for every mechanical system: energy, momentum, equilibrium, and no place or unit preferred."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.joints.kinds import BALL, CHAIN, ELLIPSOIDAL, FREE, HINGE, SLIDER
from kernels.joints.tree import Tree
from rtsim.models.packing.tree import ChainMotion, build_functions, polynomial
from tests.kernels.dynamics.cases import (
    TREES,
    Case,
    assert_same,
    forward,
    inverse,
    inverse_and_reactions,
    mass,
    some_case,
)
from tests.kernels.dynamics.flight import fly, tangent_rate
from tests.naive import dynamics, random_models
from tests.naive.tree import difference, integrate, slices

Array = NDArray[np.floating]

STEPS = (10, 20, 40)  # in DURATION
DURATION = 0.2  # s


def smooth_case(seed: int, root: int) -> Case:
    """Return a moving tree without wrenches whose joints have all derivatives, as an order of four needs."""
    rng = np.random.default_rng([seed, root])
    axes = random_models.unit_rows(rng, 4)
    rolling = tuple(
        ChainMotion(m < 2, axes[m], 0, m - 1) for m in range(4)
    )  # one coordinate turns and shifts
    motions = {1: rolling, 4: random_models.planar(rng)}
    curves = (polynomial((0.1, 0.5, 0.2)), polynomial((0.0, 0.2, -0.3)), polynomial((0.2, 0.0, 0.1, 0.1)))
    kinds = (root, CHAIN, FREE, HINGE, CHAIN)
    tree = random_models.tree_of(rng, kinds, (-1, 0, 1, 1, 0), motions, build_functions(curves))
    system = random_models.random_system(rng, tree)
    q = random_models.random_coordinates(rng, tree)
    v = rng.normal(size=len(tree.dof_body))
    return Case(system, q, v, np.zeros_like(v), np.zeros((len(kinds), 6)))


def drifts(case: Case, flights: list[Case], of: Callable[[Case], Array]) -> Array:
    """Return how far a quantity went from its start, per flight."""
    start = of(case)
    return np.array([np.abs(of(end) - start).max() for end in flights])


def energy(case: Case) -> Array:
    """Return kinetic and potential energy (1,) J, from the kernel's mass matrix and the bodies' heights."""
    return np.array([0.5 * case.v @ mass(case) @ case.v + dynamics.potential_energy(case.system, case.q)])


def momentum(case: Case) -> Array:
    """Return angular momentum about ground's origin and momentum (6,)."""
    return dynamics.momentum(case.system, case.q, case.v)


@pytest.mark.parametrize("root", [BALL, ELLIPSOIDAL])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_swinging_tree_keeps_its_energy(seed: int, root: int) -> None:
    """Protects v_dot along whole motions: no energy comes or goes, but what the steps lose at order four."""
    case = smooth_case(seed, root)
    ends = [fly(case, np.zeros_like, DURATION, n) for n in STEPS]
    drift = drifts(case, ends, energy)
    kinetic = 0.5 * case.v @ mass(case) @ case.v
    assert drift[-1] < 1e-6 * kinetic
    assert np.all(np.log2(drift[:-1] / drift[1:]) > 3.5)


@pytest.mark.parametrize("root", [BALL, ELLIPSOIDAL])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_steps_converge_with_order_four(seed: int, root: int) -> None:
    """Protects integrate and v_dot together: anything inexact in either would spoil the order."""
    case = smooth_case(seed, root)
    tree, ends = case.system.tree, [fly(case, np.zeros_like, DURATION, n) for n in STEPS]
    gaps = [np.abs([difference(tree, a.q, b.q), a.v - b.v]).max() for a, b in pairwise(ends)]
    assert 3.7 < np.log2(gaps[0] / gaps[1]) < 4.3


@pytest.mark.parametrize("seed", [1, 2])
def test_a_floating_tree_keeps_its_momentum(seed: int) -> None:
    """Protects momentum and angular momentum without gravity, whatever the joints do to each other."""
    case = smooth_case(seed, FREE)
    case = case._replace(system=case.system._replace(gravity=np.zeros(3)))
    inside = np.where(case.system.tree.dof_body > 0, 1.0, 0.0)

    def joint_forces(v: Array) -> Array:
        return inside * (0.5 - 0.2 * v)

    ends = [fly(case, joint_forces, DURATION, n) for n in STEPS]
    drift = drifts(case, ends, momentum)
    assert drift[-1] < 1e-7 * np.abs(momentum(case)).max()
    assert np.all(np.log2(drift[:-1] / drift[1:]) > 3.5)
    # the joints did work: otherwise nothing was shown
    assert np.abs(energy(ends[-1]) - energy(case)).max() > 0.1


def test_the_tangent_rate_is_that_of_the_step() -> None:
    """Protects the integrator of these tests: u and its rate move a ball as its speed does."""
    rng = np.random.default_rng(8)
    tree = random_models.tree_of(rng, (BALL,), (-1,))
    q, u, v = random_models.random_coordinates(rng, tree), rng.normal(size=3), rng.normal(size=3)
    step = 1e-6
    rate = tangent_rate(tree, u, v)
    later, earlier = (integrate(tree, q, u + s * step * rate) for s in (1.0, -1.0))
    np.testing.assert_allclose(difference(tree, earlier, later) / (2.0 * step), v, atol=1e-8)


@pytest.mark.parametrize("name", TREES)
def test_where_ground_lies_does_not_matter(name: str) -> None:
    """Protects against a preferred place or direction: ground, gravity and wrenches moved, v_dot stays."""
    case = some_case(name, 5)
    rng = np.random.default_rng(9)
    R, x = Rotation.random(None, rng).as_matrix(), 3.0 * rng.normal(size=3)
    moment, force = case.wrench[:, :3] @ R.T, case.wrench[:, 3:] @ R.T
    system = case.system._replace(
        tree=random_models.moved_in_ground(case.system.tree, R, x), gravity=R @ case.system.gravity
    )
    there = case._replace(system=system, wrench=np.hstack([moment + np.cross(x, force), force]))
    tau = rng.normal(size=len(case.v))
    assert_same(forward(there, tau), forward(case, tau), 1e-10)
    assert_same(inverse(there), inverse(case), 1e-11)


def scaled(case: Case, length: float, weight: float, pace: float) -> tuple[Case, Array]:
    """Return a case in other units, and the factors (n_v,) of tau: lengths, masses, 1 / times times these."""
    tree = case.system.tree
    per_speed = np.where(tree.dof_rotates == 0, length, 1.0)
    per_coordinate = np.ones(len(case.q))
    for b, kind in enumerate(tree.kind):
        own, speeds = slices(tree, b)
        n = 3 if kind == FREE else own.stop - own.start if kind != BALL else 0
        per_coordinate[own.start : own.start + n] = per_speed[speeds][:n]
    bodies = case.system.bodies
    system = case.system._replace(
        tree=tree._replace(
            position_in_parent=length * tree.position_in_parent,
            position_in_child=length * tree.position_in_child,
        ),
        bodies=bodies._replace(
            mass=weight * bodies.mass,
            centre=length * bodies.centre,
            inertia=weight * length**2 * bodies.inertia,
        ),
        gravity=length * pace**2 * case.system.gravity,
    )
    force = weight * length * pace**2
    wrench = case.wrench * force * np.array([length] * 3 + [1.0] * 3)
    q, v, v_dot = per_coordinate * case.q, pace * per_speed * case.v, pace**2 * per_speed * case.v_dot
    return Case(system, q, v, v_dot, wrench), force * length / per_speed


@pytest.mark.parametrize(
    ("length", "weight", "pace"), [(1000.0, 1.0, 1.0), (1.0, 1000.0, 1.0), (1.0, 1.0, 1e-3), (1e3, 1e3, 1e-3)]
)
def test_units_do_not_matter(length: float, weight: float, pace: float) -> None:
    """Protects against constants with a unit: millimetres, grams, milliseconds scale forces as they must."""
    rng = np.random.default_rng(10)
    motions = {3: random_models.universal(rng), 5: random_models.planar(rng)}
    kinds = (FREE, BALL, HINGE, CHAIN, SLIDER, CHAIN)
    tree = random_models.tree_of(rng, kinds, (-1, 0, 1, 2, 0, 4), motions)
    v, v_dot = rng.normal(size=(2, len(tree.dof_body)))
    system, q = random_models.random_system(rng, tree), random_models.random_coordinates(rng, tree)
    case = Case(system, q, v, v_dot, rng.normal(size=(6, 6)))
    there, of_tau = scaled(case, length, weight, pace)
    assert_same(inverse(there) / of_tau, inverse(case), 1e-12)
    back = forward(there, inverse(there))
    assert_same(back / there.v_dot, np.ones(len(v)), 1e-9)


@pytest.mark.parametrize("name", TREES)
def test_gravity_is_a_force_on_every_body(name: str) -> None:
    """Protects the treatment of gravity as an acceleration of ground: weights as wrenches do the same."""
    case = some_case(name, 6)
    at, bodies = dynamics.state(case.system.tree, case.q), case.system.bodies
    weight = bodies.mass[:, None] * case.system.gravity
    places = np.array([at.point(b, c) for b, c in enumerate(bodies.centre)])
    weights = case.wrench + np.hstack([np.cross(places, weight), weight])
    floating = case._replace(system=case.system._replace(gravity=np.zeros(3)), wrench=weights)
    found, expected = inverse_and_reactions(floating), inverse_and_reactions(case)
    assert_same(found[0], expected[0], 1e-12)
    assert_same(found[1], expected[1], 1e-12)


def roots(tree: Tree) -> Array:
    """Return which bodies hang on ground (n_body,)."""
    return tree.parent < 0


@pytest.mark.parametrize("name", TREES)
def test_ground_carries_what_the_momentum_needs(name: str) -> None:
    """Protects joint reactions: those at ground and all wrenches and weights change the momentum.

    Its rate is a difference along the motion; nothing of the kernels is in it.
    """
    case, step, change = some_case(name, 7), 1e-4, np.zeros(6)
    for sign in (1.0, -1.0):
        along = case.v + 0.5 * sign * step * case.v_dot
        q = integrate(case.system.tree, case.q, sign * step * along)
        change += sign * dynamics.momentum(case.system, q, case.v + sign * step * case.v_dot) / (2.0 * step)
    at, bodies = dynamics.state(case.system.tree, case.q), case.system.bodies
    weight = bodies.mass[:, None] * case.system.gravity
    places = np.array([at.point(b, c) for b, c in enumerate(bodies.centre)])
    acting = np.hstack([np.cross(places, weight), weight]) + case.wrench
    _, reactions = inverse_and_reactions(case)
    carried = reactions[roots(case.system.tree)].sum(axis=0)
    assert_same(carried, change - acting.sum(axis=0), 1e-6)


def test_a_tree_at_rest_weighs_its_weight() -> None:
    """Protects the sign of reactions: a joint pushes its body up, with the weight of all it carries."""
    case = some_case("chained", 8)
    still = np.zeros_like(case.v)
    case = case._replace(v=still, v_dot=still, wrench=np.zeros_like(case.wrench))
    _, reactions = inverse_and_reactions(case)
    mass_above = case.system.bodies.mass.copy()
    for b in range(len(mass_above) - 1, 0, -1):
        if case.system.tree.parent[b] >= 0:
            mass_above[case.system.tree.parent[b]] += mass_above[b]
    assert_same(reactions[:, 3:], -mass_above[:, None] * case.system.gravity, 1e-13)
