"""Random trees with elements aimed at what they shall feel: depth, sliding, parting, stretch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.contact.elements import Contacts
from kernels.contact.geometries import ELLIPSOID_ON_PLANE, SPHERE_ON_SPHERE
from kernels.contact.pressure import HUNT_CROSSLEY, KELVIN_VOIGT, POWER, VOLUMETRIC
from kernels.forces.assembly import ForceElements
from kernels.forces.friction import ANDERSSON, BROWN_MCPHEE, HOLLARS, SPECKER
from kernels.forces.frictions import Frictions
from kernels.forces.ligament import LINEAR, TOE_LINEAR
from kernels.forces.lines import LineElements
from kernels.forces.loads import PointLoads
from kernels.forces.pairs import Pairs
from kernels.forces.springs import Springs
from kernels.joints.kinds import BALL, FREE, WELD
from kernels.joints.tree import Tree
from tests.naive import volumetric
from tests.naive.constraints import path_between
from tests.naive.forces import axes, place_jacobian
from tests.naive.friction import Parameters
from tests.naive.lens import overlap
from tests.naive.random_models import branched_tree, chained_tree, random_coordinates, unit_rows
from tests.naive.tree import State, slices, state

Array = NDArray[np.floating]

TREES = {"branched": branched_tree, "chained": chained_tree}
# Ground on either side, two branches, an ancestor on either side, another root.
PAIRS = {
    "branched": ((4, -1), (-1, 6), (4, 6), (1, 4), (6, 0), (7, 4)),
    "chained": ((7, -1), (-1, 3), (3, 7), (1, 3), (7, 4), (9, 6)),
}
KINDS = ("lines", "contacts", "frictions", "loads", "springs")
FRICTION = Parameters(mu_s=0.6, mu_d=0.4, v_t=0.3, mu_v=0.5, F_nt=20.0, k_v=0.1, v_d=0.2, p=2.0, k_tanh=5.0)
SPIN_FRICTION = FRICTION._replace(v_t=0.8, mu_v=0.0, k_v=0.0, v_d=0.5, k_tanh=2.0)
# pressure law: stiffness, damping, exponent
PRESSURE = {
    VOLUMETRIC: (2000.0, 0.3, 0.0),
    KELVIN_VOIGT: (80.0, 3.0, 0.0),
    HUNT_CROSSLEY: (300.0, 60.0, 1.5),
    POWER: (400.0, 0.0, 2.0),
}
NO_FRICTION = -1


class Case(NamedTuple):
    """A tree in motion under force elements."""

    tree: Tree
    forces: ForceElements
    q: Array
    v: Array
    v_dot: Array
    level: Array  # (n_load,) part of each load that acts


class ContactPlan(NamedTuple):
    """A contact as it shall be felt."""

    law: int = VOLUMETRIC
    friction_law: int = BROWN_MCPHEE
    round: bool = False
    patch: bool = False  # rolls and spins
    d: float = 0.6
    slip: float = 0.4  # sliding speed [m/s]
    v_n: float = -0.2  # [m/s]
    r_b: float = 0.0  # radius of a sphere on B in place of the plane [m]; d in parts of A's


LAWS = (BROWN_MCPHEE, ANDERSSON, HOLLARS, SPECKER)
CONTACTS = (
    *(ContactPlan(VOLUMETRIC, law, False, True, 0.4 + 0.2 * law, 0.1 + 0.2 * law) for law in LAWS),
    ContactPlan(VOLUMETRIC, BROWN_MCPHEE, True, True, 0.3, 0.05, 0.3),
    ContactPlan(VOLUMETRIC, NO_FRICTION, False, False, 1.2, 0.3, 0.3),
    ContactPlan(VOLUMETRIC, HOLLARS, False, True, 2.3, 0.5, 0.3),  # swallowed
    ContactPlan(KELVIN_VOIGT, SPECKER, False, False, 0.5, 0.4, 0.3),
    ContactPlan(KELVIN_VOIGT, BROWN_MCPHEE, True, False, 0.5, 0.1, -0.2),
    ContactPlan(HUNT_CROSSLEY, ANDERSSON, False, False, 0.7, 0.2, -0.3),
    ContactPlan(HUNT_CROSSLEY, BROWN_MCPHEE, True, False, 0.2, 0.8, 0.2),
    ContactPlan(POWER, HOLLARS, False, False, 0.4, 0.15, 0.3),
    ContactPlan(POWER, BROWN_MCPHEE, True, False, 0.4, 0.6, -0.3),
    ContactPlan(VOLUMETRIC, BROWN_MCPHEE, False, True, -0.1),  # open
    ContactPlan(
        VOLUMETRIC, BROWN_MCPHEE, False, True, 0.5, 0.3, 4.0
    ),  # parts so fast that the damper would pull
    ContactPlan(KELVIN_VOIGT, BROWN_MCPHEE, False, False, 0.1, 0.3, 9.0),
)


def pair_table(tree: Tree, bodies: tuple[tuple[int, int], ...]) -> Pairs:
    """Return the kernels' table of pairs (A, B)."""
    paths = [path_between(tree, a, b) for a, b in bodies]
    path = np.zeros((len(paths), max(len(p) for p in paths)), np.int64)
    side = np.zeros(path.shape)
    for p, steps in enumerate(paths):
        for k, (dof, sign) in enumerate(steps):
            path[p, k], side[p, k] = dof, sign
    A, B = np.array(bodies, np.int64).T
    lengths = np.array([len(p) for p in paths], np.int64)
    return Pairs(np.ascontiguousarray(A), np.ascontiguousarray(B), lengths, path, side)


def some_case(
    name: str, seed: int = 0, plans: tuple[ContactPlan, ...] = CONTACTS, speed: float = 1.0
) -> Case:
    """Return a tree of TREES under elements of all kinds, each aimed at the state; speed 0 = all at rest."""
    rng = np.random.default_rng([seed, len(name), 41])
    tree = TREES[name](rng)
    q, n_v = random_coordinates(rng, tree), len(tree.dof_body)
    v, v_dot = speed * rng.normal(size=n_v), rng.normal(size=n_v)
    bodies = PAIRS[name]
    loaded = tuple((b, -1) for b in range(len(tree.parent)) if (b, -1) not in bodies)[:3]
    at = state(tree, q)
    n = len(bodies)
    forces = ForceElements(
        pair_table(tree, bodies + loaded),
        aimed_lines(rng, at, bodies),
        aimed_contacts(rng, at, v, bodies, plans),
        aimed_frictions(rng, at, v, bodies),
        PointLoads(
            np.array([0, n, n + 1, n + 2], np.int64),
            rng.uniform(-0.3, 0.3, (4, 3)),
            rng.normal(0.0, 4.0, (4, 3)),
            np.array([0, 1, 0, 1], np.int64),
            np.zeros(4),
            np.full(4, np.inf),
        ),
        some_springs(rng, tree),
    )
    return Case(tree, forces, q, v, v_dot, np.array([1.0, 0.6, 0.0, -1.3]))


def aimed_lines(rng: np.random.Generator, at: State, bodies: tuple[tuple[int, int], ...]) -> LineElements:
    """Return a ligament in its toe, one in its linear part, a slack one and a spring on every pair."""
    stretches = (0.05, 0.3, -0.02, 0.1)  # of the slack length; toes end at 0.2
    pair = np.repeat(np.arange(len(bodies)), 4)
    n = len(pair)
    points = rng.uniform(-0.3, 0.3, (2, n, 3))
    length = [np.linalg.norm(at.point(bodies[p][0], a) - at.point(bodies[p][1], b))
              for p, a, b in zip(pair, *points, strict=True)]  # fmt: skip
    slack = np.array(length) / (1.0 + np.tile(stretches, len(bodies)))
    stiffness, strain = rng.uniform(20.0, 40.0, n), np.full(n, 0.1)
    toe = stiffness / (4.0 * strain * slack)
    law = np.tile([TOE_LINEAR, TOE_LINEAR, TOE_LINEAR, LINEAR], len(bodies))
    damping = np.tile([0.5, 1.5, 1.0, 2.0], len(bodies))
    onset = np.tile([0.15, 0.0, 0.1, 0.0], len(bodies)) * slack  # the damping of the one in its toe sets in
    rows = np.column_stack([slack, toe, stiffness, strain, damping, onset])
    return LineElements(pair.astype(np.int64), law.astype(np.int64), points[0], points[1], rows)


def aimed_contacts(
    rng: np.random.Generator,
    at: State,
    v: Array,
    bodies: tuple[tuple[int, int], ...],
    plans: tuple[ContactPlan, ...],
) -> Contacts:
    """Return one contact per plan, on the pairs in turn: ellipsoid and normal random, plane and belt aimed.

    Where nothing moves the belts stand still too, so that sliding is exactly zero.
    """
    n = len(plans)
    pair = rng.permutation(np.arange(n) % len(bodies))
    centre, rotation = rng.uniform(-0.2, 0.2, (n, 3)), Rotation.random(n, rng).as_matrix()
    radii, normal = rng.uniform(0.1, 0.4, (n, 3)), unit_rows(rng, n)
    point, surface_velocity = np.zeros((n, 3)), np.zeros((n, 3))
    for e, plan in enumerate(plans):
        if plan.round or plan.r_b:
            radii[e] = radii[e, 0]
        A, B = bodies[pair[e]]
        E, n_ground = axes(at, A) @ rotation[e], axes(at, B) @ normal[e]
        u, w = volumetric.plane_axes(n_ground)
        h, x = volumetric.height(radii[e], E.T @ n_ground), at.point(A, centre[e])
        g = plan.r_b + (1.0 - plan.d) * h
        on_plane = x - (1.0 - plan.d) * h * n_ground + rng.uniform(-0.2, 0.2, 2) @ np.array([u, w])
        if plan.r_b:
            on_plane = x - g * n_ground
        point[e] = axes(at, B).T @ (on_plane - at.point(B, np.zeros(3)))
        if not np.any(v):
            continue
        touch = x - E @ (radii[e] ** 2 * (E.T @ n_ground)) / h
        if plan.law == VOLUMETRIC and plan.d > 0.0:
            touch = x + E @ volumetric.patch(radii[e], E.T @ n_ground, min(plan.d, 2.0)).centroid
        if plan.r_b:
            way = 0.5 * (g + plan.r_b - h)
            if plan.law == VOLUMETRIC and plan.d > 0.0:
                way = overlap(g, h, plan.r_b)[1]
            touch = on_plane + way * n_ground
        passing = (place_jacobian(at, A, touch) - place_jacobian(at, B, touch)) @ v
        angle = rng.uniform(0.0, 2.0 * np.pi)
        wanted = plan.v_n * n_ground + plan.slip * (np.cos(angle) * u + np.sin(angle) * w)
        surface_velocity[e] = axes(at, B).T @ (passing - wanted)
    has_patch = np.array([plan.patch for plan in plans], np.int64)
    return Contacts(
        pair=pair.astype(np.int64),
        geometry=np.array([SPHERE_ON_SPHERE if x.r_b else ELLIPSOID_ON_PLANE for x in plans], np.int64),
        centre=centre,
        rotation=rotation,
        radii=radii,
        round=np.array([plan.round or plan.r_b > 0.0 for plan in plans], np.int64),
        point=point,
        normal=normal,
        radii_b=np.repeat(np.array([[plan.r_b] for plan in plans]), 3, axis=1),
        surface_velocity=surface_velocity,
        law=np.array([plan.law for plan in plans], np.int64),
        spread=np.array([plan.law == VOLUMETRIC for plan in plans], np.int64),
        pressure=np.array([PRESSURE[plan.law] for plan in plans]),
        friction_law=np.array([plan.friction_law for plan in plans], np.int64),
        friction=np.tile(np.array(FRICTION), (n, 1)),
        spin_friction=np.tile(np.array(SPIN_FRICTION), (n, 1)),
        rolls=has_patch,
        spins=has_patch.copy(),
        ramp=np.full(n, 0.05),
        mesh=np.full(n, -1),
        meshes=None,
        pressed=None,
    )


def aimed_frictions(
    rng: np.random.Generator, at: State, v: Array, bodies: tuple[tuple[int, int], ...]
) -> Frictions:
    """Return one sliding point per law and per pair, its belt aimed at speeds around the transition."""
    pair = np.repeat(np.arange(len(bodies)), len(LAWS))
    n = len(pair)
    point, direction = rng.uniform(-0.3, 0.3, (n, 3)), unit_rows(rng, n)
    # around the transition velocity, never at it
    wanted = FRICTION.v_t * rng.choice([-5.0, -1.6, -0.7, -0.2, 0.3, 0.8, 1.3, 4.5], n)
    surface_velocity = np.zeros(n)
    for e in range(n if np.any(v) else 0):
        A, B = bodies[pair[e]]
        place, t = at.point(A, point[e]), axes(at, B) @ direction[e]
        surface_velocity[e] = (
            t @ (place_jacobian(at, A, place) - place_jacobian(at, B, place)) @ v - wanted[e]
        )
    law = np.tile(np.array(LAWS, np.int64), len(bodies))
    load, rows = rng.uniform(2.0, 9.0, n), np.tile(np.array(FRICTION), (n, 1))
    return Frictions(pair.astype(np.int64), law, point, direction, surface_velocity, load, rows)


def some_springs(rng: np.random.Generator, tree: Tree) -> Springs:
    """Return a spring on every coordinate that is no part of a rotation in space."""
    rows = []
    for b, kind in enumerate(tree.kind):
        own, speeds = slices(tree, b)
        if kind in (BALL, WELD):
            continue
        n = 3 if kind == FREE else speeds.stop - speeds.start
        rows += [(own.start + i, speeds.start + i) for i in range(n)]
    coordinate, dof = np.array(rows, np.int64).T
    rest, stiffness, damping = rng.uniform(0.2, 3.0, (3, len(rows)))
    moment = 0.5 * stiffness[::-1] * rest  # as of a device
    return Springs(
        np.ascontiguousarray(coordinate), np.ascontiguousarray(dof), rest, stiffness, damping, moment
    )


def only(case: Case, kind: str, *numbers: int) -> Case:
    """Return the case with these elements of one kind alone, all of the kind if none is named."""
    chosen: dict[str, Any] = {}
    for other in KINDS:
        table = getattr(case.forces, other)
        keep = np.arange(len(table[0])) if not numbers else np.array(numbers)
        if other != kind:
            keep = np.zeros(0, np.int64)
        chosen[other] = type(table)(*(None if x is None else np.ascontiguousarray(x[keep]) for x in table))
        if other == "loads":
            case = case._replace(level=case.level[keep])
    return case._replace(forces=case.forces._replace(**chosen))


def changed(case: Case, kind: str, **columns: Any) -> Case:
    """Return the case with other columns in the table of one kind."""
    table = getattr(case.forces, kind)._replace(**columns)
    return case._replace(forces=case.forces._replace(**{kind: table}))
