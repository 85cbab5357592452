"""Every kind of a family through every switch; run as a program, with the compiler off, it prints findings.

A case is called with the number of a kind and returns numbers; the switch has refused the kind where one of
them is NaN. `python -m tests.kernels.switch_cases` prints three lists as JSON: kinds that a switch refused,
switches that took a number which is no kind, and branches whose loss nobody noticed.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

import kernels.joints.tree
from kernels.algebra import functions
from kernels.contact import geometries, pressure
from kernels.conventional import leg
from kernels.dynamics import third_derivative
from kernels.forces import friction, ligament
from kernels.joints.tree import Pose, Tree, new_pose
from kernels.path import geodesic, moment_arms, stations, surfaces, touch
from kernels.solver import constraints
from rtsim.models.packing.tree import build_functions
from tests.kernels.conventional.test_leg import legs, markers_of
from tests.kernels.path.couplings import ANGLES, angles_of
from tests.kernels.path.muscles import random_case
from tests.kernels.path.wrapping import at_origin
from tests.kernels.switch_joints import JOINTS, UNKNOWN, Case, filled
from tests.kernels.switch_sources import Switch, kinds_of, switches, without_branch
from tests.naive import random_models


def contact(call: Callable[[SimpleNamespace, Any, Any], Any]) -> Case:
    """The case of a switch over geometries, whose own kernels write ones here."""

    def found(*arguments: Any) -> Any:
        for array in arguments:
            if isinstance(array, np.ndarray):
                array[:] = 1.0
        return 1.0, 1.0, (1.0, 1.0, 1.0)

    def case(kind: int) -> Any:
        of_geometries = ("ellipsoid_", *(name.lower() for name in kinds_of("geometry")))
        for name in vars(geometries):
            if name.startswith(of_geometries):
                setattr(geometries, name, found)
        geometries.place = lambda *arguments: (0.0, 0.0, 0.0)
        one = np.ones((1, 3))
        table = SimpleNamespace(
            geometry=[kind], meshes=None, radii=one, radii_b=one, round=[1], pair=[0], point=one
        )
        row, moved = np.zeros(20), np.zeros((6, 8))
        return [call(table, row, moved), row, moved]

    return case


BODIES = SimpleNamespace(body_a=[0], body_b=[-1])
FIELD = SimpleNamespace(metric=np.zeros((3, 3)), centre_b=np.zeros(3))
CONTACTS: dict[str, Case] = {
    "find_patch": contact(
        lambda c, row, moved: geometries.find_patch(BODIES, c, 0, None, row, np.eye(3), None)
    ),
    "find_moved": contact(lambda c, row, moved: geometries.find_moved(c, 0, row, np.eye(3), moved, None)),
    "find_grown": contact(lambda c, row, moved: geometries.find_grown(BODIES, c, 0, 0, None, row, moved[0])),
    "find_columns": contact(
        lambda c, row, moved: geometries.find_columns(BODIES, c, 0, None, np.eye(3), FIELD)
    ),
}
REFUSED = {
    "find_grown": {"SPHERE_ON_SPHERE", "MESH_ON_MESH"},  # no fit has their radii
    "find_columns": {"MESH_ON_MESH"},  # whose pressures are found on its triangles
}
"""Kinds that a switch refuses on purpose."""


def table_of(kind: int) -> Any:
    """A function of a kind among those of tests/naive/random_models, and its number."""
    table = build_functions(random_models.FUNCTIONS)
    if kind == UNKNOWN:
        return table._replace(kind=np.full(len(table.kind), UNKNOWN)), 0
    return table, int(np.flatnonzero(table.kind == kind)[0])


SIZE = np.array([0.03, 0.04, 0.05])
ON, ALONG = np.array([0.03, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


def wrapped(kind: int) -> float:
    """How far the ends of a wrap moved; NaN for a status that is not ok."""
    run = at_origin(surfaces.SPHERE, [0.03, 0.04, 0.05])
    table = run.surfaces._replace(kind=np.array([kind]))
    P, Q = np.array([-0.2, 0.02, 0.0]), np.array([0.2, 0.02, 0.01])
    status, moved = touch.wrap_station(table, 0, run.side[0], 0, P, Q, run.work, run.work.chain)
    return moved if status == touch.OK else math.nan


def placed(kind: int) -> Any:
    """Where a station of a muscle is; one that wraps is no point of a body."""
    case, point = random_case(0), np.zeros(3)
    s = int(np.flatnonzero(case.stations.kind == (stations.POINT if kind == UNKNOWN else kind))[0])
    table = case.stations._replace(
        kind=np.where(np.arange(len(case.stations.kind)) == s, kind, case.stations.kind)
    )
    pose = new_pose(len(case.tree.parent), len(case.tree.dof_body), len(case.tree.chains.dof))
    kernels.joints.tree.pose(case.tree, case.some.q, pose)
    there = stations.place_station(case.tree, table, pose, case.some.q, s, np.zeros(3), point, np.zeros(3))
    return point if there else 0.0


def arms(kind: int) -> Any:
    """Moment arms by a method."""
    case = random_case(0)
    leverage = moment_arms.Leverage(
        case.tree, case.some.constraints, case.stations, case.surfaces, angles_of(case.tree, ANGLES)
    )
    out = np.zeros((len(case.stations.start) - 1, len(leverage.angles.start) - 1))
    moment_arms.moment_arms(leverage, case.some.q, kind, 1, moment_arms.new_leverage_work(leverage), out)
    return out


def foot(kind: int) -> Any:
    """Axes of a foot."""
    axes = leg.foot_of(legs("left", kind), 0, markers_of("left"), np.zeros(3), np.eye(3), ALONG)
    return [list(axis) for axis in axes]


@cache
def between() -> tuple[Tree, Pose, Any]:
    """A tree, its pose, and an element of each kind between two of its bodies."""
    rng = np.random.default_rng(8)
    tree = random_models.branched_tree(rng)
    q = random_models.random_coordinates(rng, tree)
    pose = new_pose(len(tree.parent), len(tree.dof_body))
    kernels.joints.tree.pose(tree, q, pose)
    own = tuple(range(len(kinds_of("element"))))
    return tree, pose, random_models.elements_between(rng, tree, own, len(own) * ((4, 6),))


def element(call: Callable[[Tree, Pose, Any, int, Any], Any]) -> Case:
    """The case of a switch over elements, after element_values."""

    def case(kind: int) -> Any:
        constraints.length_slope = lambda *arguments: 1.0
        constraints.add_length_curvature = lambda *arguments: None
        tree, pose, table = between()
        e = constraints.SPHERE_ON_PLANE if kind == UNKNOWN else kind
        work = constraints.new_element_work(len(table.kind), table.path.shape[1])
        constraints.element_values(table, pose, np.full(len(table.kind), 0.1), work)
        table = table._replace(kind=np.where(np.arange(len(table.kind)) == e, kind, table.kind))
        return call(tree, pose, table, e, work)

    return case


def values(tree: Tree, pose: Pose, table: Any, e: int, work: Any) -> Any:
    constraints.element_values(table, pose, np.full(len(table.kind), 0.1), work)
    return work.value[e]


def curvature(tree: Tree, pose: Pose, table: Any, e: int, work: Any) -> Any:
    H = np.zeros((len(tree.dof_body), len(tree.dof_body)))
    constraints.add_curvature(tree, table, pose, e, 1.0, work, H)
    return H


def wrench(tree: Tree, pose: Pose, table: Any, e: int, work: Any) -> Any:
    return (
        0.0 if table.kind[e] == constraints.PATH_LENGTH else constraints.element_wrench(table, pose, e, work)
    )


def angled(call: Callable[[int], Any]) -> Case:
    """The case of a switch over angles between bodies; what is no angle does not get there."""
    angles = (constraints.AZIMUTH, constraints.ELEVATION, UNKNOWN)
    return lambda kind: call(kind) if kind in angles else 0.0


A, B, N = np.array([0.6, 0.8, 0.0]), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
ELEMENTS: dict[str, Case] = {
    "element_values": element(values),
    "element_wrench": element(wrench),
    "add_curvature": element(curvature),
    "angle_from": angled(lambda kind: constraints.angle_from(kind, A, B, N, 0.1)),
    "couple": angled(lambda kind: constraints.couple(kind, A, N)),
    "couple_rate": angled(lambda kind: filled(constraints.couple_rate, 3)(kind, A, N, N, A)),
}
LIGAMENT = np.array([0.1, 9.0, 9.0, 0.03, 1.0, 0.0])
PRESSURE, FRICTION = np.array([100.0, 1.0, 1.5]), np.array([0.6, 0.4, 0.3, 0.5, 20.0, 0.1, 0.2, 2.0, 5.0])
CASES: dict[str, dict[str, Case]] = {
    "joint": JOINTS,
    "geometry": CONTACTS,
    "pressure": {
        "normal_force": lambda kind: pressure.normal_force(kind, PRESSURE, 0.1, 0.01, -0.1),
        "force_by_parameters": lambda kind: pressure.force_by_parameters(kind, PRESSURE, 0.1, 0.01, -0.1),
    },
    "friction": {"friction_force": lambda kind: friction.friction_force(kind, FRICTION, 0.2, 9.0)},
    "line": {"line_force": lambda kind: ligament.line_force(kind, LIGAMENT, 0.12, 0.1)},
    "function": {
        "evaluate": lambda kind: functions.evaluate(*table_of(kind), 0.2),
        "third_derivative": lambda kind: third_derivative.third_derivative(*table_of(kind), 0.2),
    },
    "surface": {
        "clearance": lambda kind: surfaces.clearance(kind, SIZE, ON),
        "quadric": lambda kind: surfaces.quadric(kind, SIZE),
        "flow": lambda kind: geodesic.flow(kind, SIZE, ON, ALONG, 0.01, np.zeros(3), np.zeros(3)),
        "wrap_station": wrapped,
    },
    "station": {"place_station": lambda kind: 0.0 if kind == stations.WRAP else placed(kind)},
    "element": ELEMENTS,
    "method": {"moment_arms": arms},
    "foot": {"foot_of": foot},
}  # fmt: skip


def refuses(case: Case, kind: int) -> bool:
    """Whether NaN comes out of a case."""

    def numbers(found: Any) -> list[float]:
        if isinstance(found, np.ndarray):
            return found.ravel().tolist()
        if isinstance(found, list | tuple):
            return [x for part in found for x in numbers(part)]
        return [] if found is None else [float(found)]

    with np.errstate(all="ignore"):
        return any(map(math.isnan, numbers(case(kind))))


def refused_kinds(family: str) -> set[tuple[str, str]]:
    """Switches and kinds that they have no branch for."""
    kinds_here = kinds_of(family)
    cases = CASES[family].items()
    found = {
        (name, kinds_here[k]) for name, case in cases for k in range(len(kinds_here)) if refuses(case, k)
    }
    return found - {(name, kind) for name, few in REFUSED.items() for kind in few}


def goes_unnoticed(switch: Switch, kind: str) -> bool:
    """Whether a switch without the branch of a kind still takes it, and so do all others."""
    module = importlib.import_module(switch.module)
    whole = getattr(module, switch.name)
    changed: dict[str, Any] = {}
    exec(without_branch(switch, kind), vars(module), changed)
    users = [m for m in list(sys.modules.values()) if getattr(m, switch.name, None) is whole]
    try:
        for user in users:
            setattr(user, switch.name, changed[switch.name])
        number = kinds_of(switch.family).index(kind)
        return not any(
            refuses(case, number)
            for name, case in CASES[switch.family].items()
            if kind not in REFUSED.get(name, ())
        )
    finally:
        for user in users:
            setattr(user, switch.name, whole)


def main() -> None:
    """Print what every switch makes of every kind, of a number that is none, and without its branches."""
    known = [s for s in switches() if s.name in CASES[s.family] or s.name in PREDICATES]
    json.dump(
        {
            "refused": sorted({found for family in CASES for found in refused_kinds(family)}),
            "taken": [
                name
                for family, cases in CASES.items()
                for name, case in cases.items()
                if not refuses(case, UNKNOWN)
            ],
            "tried": len([kind for switch in known for kind in switch.kinds]),
            "unnoticed": [
                (switch.name, kind)
                for switch in known
                for kind in switch.kinds
                if kind not in REFUSED.get(switch.name, ()) and goes_unnoticed(switch, kind)
            ],
        },
        sys.stdout,
    )


PREDICATES = ("moves_one_by_one", "counts_in_numbers", "turns_at_once", "is_angle")
"""They say which kinds are alike, and are run by the switches that ask them."""

if __name__ == "__main__":
    main()
