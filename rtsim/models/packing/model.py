"""Build kernel parameters from a model and a subject."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.constraints import DISTANCE, HARD, OFF, SOFT, SPHERE_ON_PLANE, Elements, Roles
from kernels.joint_angles import JointAxes
from kernels.markers import Markers
from kernels.tree import BALL, CHAIN, FREE, HINGE, N_Q, SLIDER, WELD, Tree
from rtsim.config.model_schema import Element, MethodSpec, ModelSpec
from rtsim.errors import ConfigError
from rtsim.models.anatomy import Anatomy
from rtsim.models.natural import unit
from rtsim.models.packing.tree import Joint, build_tree
from rtsim.models.subject import Subject

Array = NDArray[np.float64]
KINDS = {"weld": WELD, "hinge": HINGE, "slider": SLIDER, "ball": BALL, "free": FREE}
ELEMENT_KINDS = {"sphere_on_plane": SPHERE_ON_PLANE, "distance": DISTANCE}
N_POLYNOMIAL = 7


@dataclass(frozen=True)
class Packed:
    """One model, one subject, one method, ready for the kernels."""

    tree: Tree
    markers: Markers
    elements: Elements
    roles: Roles
    joints: JointAxes
    q_neutral: Array  # (n_q,)
    neutral_length: Array  # (n_element,) [m], NaN for planes
    polynomial: Array  # (n_element, 7), zero where a length does not follow eq. 1
    points: Array  # (n_point, 3) - joint centres for pictures
    point_body: NDArray[np.int64]  # (n_point,)
    angle_signs: Array  # (n_joint, 3)
    body_names: tuple[str, ...]
    marker_names: tuple[str, ...]
    element_names: tuple[str, ...]
    angle_names: tuple[str, ...]
    ligaments: NDArray[np.int64]  # (n_ligament,) - elements reported as ligaments
    contacts: NDArray[np.int64]  # (n_contact,) - elements reported as contacts

    @property
    def n_v(self) -> int:
        return len(self.tree.dof_body)


def pack(spec: ModelSpec, subject: Subject, method: str) -> Packed:
    """Kernel parameters of a model scaled to a subject, solved by one of the model's methods."""
    how = find_method(spec, method)
    anatomy = Anatomy(spec, subject)
    index = {body.name: b for b, body in enumerate(spec.bodies)}
    tree = pack_tree(spec, how, anatomy, index)
    markers, marker_names = pack_markers(spec, subject)
    elements = pack_elements(spec, anatomy, index, tree)
    points, point_body = pack_points(spec, anatomy)
    jointed = [body for body in spec.bodies if body.angles]
    return Packed(
        tree=tree,
        markers=markers,
        elements=elements,
        roles=pack_roles(spec, how, subject),
        joints=pack_joints(spec, anatomy, index),
        q_neutral=neutral_coordinates(tree),
        neutral_length=np.array([neutral_length(element) for element in spec.elements]),
        polynomial=np.array([pad(element.length_polynomial) for element in spec.elements]).reshape(
            -1, N_POLYNOMIAL
        ),
        points=points,
        point_body=point_body,
        angle_signs=np.array([body.angles.signs for body in jointed if body.angles]).reshape(-1, 3),
        body_names=tuple(index),
        marker_names=marker_names,
        element_names=tuple(element.name for element in spec.elements),
        angle_names=tuple(name for body in jointed if body.angles for name in body.angles.names),
        ligaments=np.array([e for e, element in enumerate(spec.elements) if element.ligament], np.int64),
        contacts=np.array(
            [e for e, element in enumerate(spec.elements) if element.name in spec.contacts], np.int64
        ),
    )


def find_method(spec: ModelSpec, method: str) -> MethodSpec:
    """The method of that name in a model; ConfigError names the allowed ones."""
    try:
        return spec.methods[method]
    except KeyError:
        raise ConfigError(
            f"unknown method {method!r}", where=f"model {spec.name}", allowed=", ".join(spec.methods)
        ) from None


def pack_tree(spec: ModelSpec, how: MethodSpec, anatomy: Anatomy, index: dict[str, int]) -> Tree:
    joints = []
    for body in spec.bodies:
        in_parent = np.zeros(3)
        if body.parent:
            in_parent = anatomy.place(body.in_parent, body.parent, f"bodies.{body.name}.in_parent")
        # joint frames keep the segments' axes, so the axis is the parent's direction (ground's for a root)
        basis = anatomy.bases[body.parent or body.name]
        joints.append(
            Joint(
                parent=index[body.parent] if body.parent else -1,
                kind=KINDS[how.joints.get(body.name, body.joint)],
                axis=unit(basis[:, "uvw".index(body.axis)]),
                position_in_parent=in_parent,
                position_in_child=anatomy.place(body.in_child, body.name, f"bodies.{body.name}.in_child"),
            )
        )
    return build_tree(joints)


def n_coordinates(tree: Tree) -> int:
    speeds = np.diff(tree.v_start)
    return int(sum(n if k == CHAIN else N_Q[k] for k, n in zip(tree.kind, speeds, strict=True)))


def neutral_coordinates(tree: Tree) -> Array:
    """(n_q,) - joint frames on top of each other."""
    q = np.zeros(n_coordinates(tree))
    for b, kind in enumerate(tree.kind):
        if kind in (BALL, FREE):
            q[tree.q_start[b] + (3 if kind == FREE else 0)] = 1.0
    return q


def pack_markers(spec: ModelSpec, subject: Subject) -> tuple[Markers, tuple[str, ...]]:
    rows = [
        (name, b, np.array(position))
        for b, body in enumerate(spec.bodies)
        for name, position in subject.segments[body.name].markers_mm.items()
    ]
    if not rows:
        raise ConfigError("no markers", where=f"subject {subject.name}", remedy="calibrate again")
    names = [name for name, *_ in rows]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(
            f"{', '.join(twice)} on more than one segment",
            where=f"subject {subject.name}",
            remedy="calibrate again",
        )
    body_of = np.array([b for _, b, _ in rows], np.int64)
    return Markers(body_of, 1e-3 * np.array([x for *_, x in rows])), tuple(name for name, *_ in rows)


def pack_elements(spec: ModelSpec, anatomy: Anatomy, index: dict[str, int], tree: Tree) -> Elements:
    n = len(spec.elements)
    kind, body_a, body_b = (np.zeros(n, np.int64) for _ in range(3))
    point_a, point_b, normal = (np.zeros((n, 3)) for _ in range(3))
    paths: list[list[tuple[int, float]]] = []
    for e, element in enumerate(spec.elements):
        where = f"elements.{element.name}"
        kind[e] = ELEMENT_KINDS[element.kind]
        body_a[e], body_b[e] = index[element.a.segment], index[element.b.segment]
        point_a[e] = anatomy.place(element.a, element.a.segment, where)
        point_b[e] = anatomy.place(element.b, element.b.segment, where)
        if element.normal:
            normal[e] = unit(np.array(element.normal))
        paths.append(path_between(tree, int(body_a[e]), int(body_b[e])))
    width = max((len(path) for path in paths), default=0) or 1
    path = np.zeros((n, width), np.int64)
    side = np.zeros((n, width))
    for e, steps in enumerate(paths):
        for k, (dof, sign) in enumerate(steps):
            path[e, k], side[e, k] = dof, sign
    n_path = np.array([len(p) for p in paths], np.int64)
    return Elements(kind, body_a, body_b, point_a, point_b, normal, n_path, path, side)


def path_between(tree: Tree, body_a: int, body_b: int) -> list[tuple[int, float]]:
    """Dofs that move one of two bodies but not the other, ground first: (dof, +1 moves A, -1 moves B)."""
    moves_a, moves_b = dofs_towards_ground(tree, body_a), dofs_towards_ground(tree, body_b)
    return [(d, 1.0) for d in sorted(moves_a - moves_b)] + [(d, -1.0) for d in sorted(moves_b - moves_a)]


def dofs_towards_ground(tree: Tree, body: int) -> set[int]:
    dofs: set[int] = set()
    while body >= 0:
        dofs |= {d for d, b in enumerate(tree.dof_body) if b == body}
        body = int(tree.parent[body])
    return dofs


def pack_roles(spec: ModelSpec, how: MethodSpec, subject: Subject) -> Roles:
    names = [element.name for element in spec.elements]
    mode, weight, target = np.full(len(names), OFF, np.int64), np.zeros(len(names)), np.zeros(len(names))
    for e, element in enumerate(spec.elements):
        if element.name in how.hard:
            mode[e] = HARD
        elif element.name in how.soft:
            mode[e], weight[e] = SOFT, how.soft[element.name]
        # (a - b) . n = R with n as printed, divided by |n|: normals are unit on load without moving the plane
        size = np.linalg.norm(element.normal) if element.normal else 1.0
        target[e] = 1e-3 * target_of(element, how, subject) / size
        if mode[e] != OFF and not target[e] > 0.0:
            raise ConfigError(
                "the method needs a target",
                where=f"elements.{element.name}",
                remedy="give target_mm or mean_mm",
            )
    return Roles(mode, weight, target)


def target_of(element: Element, how: MethodSpec, subject: Subject) -> float:
    """Target in millimetres: the subject's mean length, the model's mean, or the fixed length."""
    if how.target == "mean" and element.name in how.soft:
        return subject.ligament_mean_mm.get(element.name, element.mean_mm or 0.0)
    return element.target_mm or element.mean_mm or 0.0


def neutral_length(element: Element) -> float:
    """Length [m] where both segments' origins and axes coincide (d(0) of eq. 1), for ligaments."""
    if element.kind != "distance":
        return float("nan")
    return float(1e-3 * np.linalg.norm(np.array(element.a.offset_mm) - np.array(element.b.offset_mm)))


def pad(coefficients: tuple[float, ...]) -> Array:
    if len(coefficients) > N_POLYNOMIAL:
        raise ConfigError(
            f"{len(coefficients)} coefficients", where="length_polynomial", allowed=f"at most {N_POLYNOMIAL}"
        )
    return np.pad(np.array(coefficients, dtype=float), (0, N_POLYNOMIAL - len(coefficients)))


def pack_joints(spec: ModelSpec, anatomy: Anatomy, index: dict[str, int]) -> JointAxes:
    jointed = [(body, body.angles) for body in spec.bodies if body.angles]
    parents = [body.parent or body.name for body, _ in jointed]
    return JointAxes(
        np.array([index[name] for name in parents], np.int64),
        np.array([index[body.name] for body, _ in jointed], np.int64),
        np.array(
            [
                anatomy.segments[p].axes(*angles.proximal)
                for p, (_, angles) in zip(parents, jointed, strict=True)
            ]
        ),
        np.array([anatomy.segments[body.name].axes(*angles.distal) for body, angles in jointed]),
        np.array([anatomy.place(body.in_parent, body.parent, body.name) for body, _ in jointed]),
        np.array([anatomy.place(body.in_child, body.name, body.name) for body, _ in jointed]),
    )


def pack_points(spec: ModelSpec, anatomy: Anatomy) -> tuple[Array, NDArray[np.int64]]:
    """Proximal end of every segment and the distal end of the last: the line of a stick figure."""
    points = [np.zeros(3) for _ in spec.bodies] + [-anatomy.bases[spec.bodies[-1].name][:, 1]]
    return np.array(points), np.array([*range(len(spec.bodies)), len(spec.bodies) - 1], np.int64)
