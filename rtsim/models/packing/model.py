"""Build kernel parameters from a model and a subject."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.constraints import DISTANCE, HARD, OFF, SOFT, SPHERE_ON_PLANE, Elements, Roles
from kernels.joint_angles import JointAxes
from kernels.markers import Markers
from kernels.tree import Tree
from rtsim.config.joint_schema import coordinates_of
from rtsim.config.model_schema import Element, MethodSpec, ModelSpec
from rtsim.config.place_schema import GROUND
from rtsim.errors import ConfigError
from rtsim.models.anatomy import Anatomy
from rtsim.models.natural import unit
from rtsim.models.packing.functions import FunctionTable
from rtsim.models.packing.joints import joints_of, neutral_coordinates, pack_coordinates
from rtsim.models.packing.tree import build_tree
from rtsim.models.subject import Subject

Array = NDArray[np.float64]
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
    found = dependence(spec, how)
    if found is not None:
        raise ConfigError(
            f"{found[1]}, which no method that follows markers knows",
            where=f"bodies.{found[0]}",
            remedy="use it for dynamics and moment arms, or give it a joint without functions and couplers",
        )
    anatomy = Anatomy(spec, subject)
    index = body_index(spec)
    rows = scalar_elements(spec)
    joints = joints_of(spec, how, anatomy, index, FunctionTable())
    tree = build_tree(joints)
    markers, marker_names = pack_markers(spec, subject)
    points, point_body = pack_points(spec, anatomy)
    jointed = [body for body in spec.bodies if body.angles]
    return Packed(
        tree=tree,
        markers=markers,
        elements=pack_elements(rows, anatomy, index, tree),
        roles=pack_roles(rows, how, subject),
        joints=pack_joints(spec, anatomy, index),
        q_neutral=neutral_coordinates(tree, pack_coordinates(spec, how, joints)),
        neutral_length=np.array([neutral_length(row.element) for row in rows]),
        polynomial=np.array([pad(row.element.length_polynomial) for row in rows]).reshape(-1, N_POLYNOMIAL),
        points=points,
        point_body=point_body,
        angle_signs=np.array([body.angles.signs for body in jointed if body.angles]).reshape(-1, 3),
        body_names=tuple(body.name for body in spec.bodies),
        marker_names=marker_names,
        element_names=tuple(row.name for row in rows),
        angle_names=tuple(name for body in jointed if body.angles for name in body.angles.names),
        ligaments=np.array([e for e, row in enumerate(rows) if row.element.ligament], np.int64),
        contacts=np.array(
            [e for e, row in enumerate(rows) if row.element.name in spec.contact_elements], np.int64
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


def body_index(spec: ModelSpec) -> dict[str, int]:
    """Number of every segment; ground is -1."""
    return {GROUND: -1, **{body.name: b for b, body in enumerate(spec.bodies)}}


def dependence(spec: ModelSpec, how: MethodSpec) -> tuple[str, str] | None:
    """A body whose coordinates move it by functions or follow couplers, and how, if there is one.

    Methods that follow markers know neither; dynamics and moment arms do.
    """
    coupled = {coupler.coordinate for coupler in spec.couplers}
    for body in spec.bodies:
        kind = how.joints.get(body.name, body.joint)
        names = [coordinate.name for coordinate in coordinates_of(body, kind)]
        if kind == "custom" and (
            len(body.motion) > len(names) or not all(m.is_identity for m in body.motion)
        ):
            return body.name, "its joint moves by functions of a coordinate"
        follower = next((name for name in names if name in coupled), None)
        if follower is not None:
            return body.name, f"its coordinate {follower} follows a coupler"
    return None


@dataclass(frozen=True)
class ScalarElement:
    """One scalar constraint of an element: its only one, or one of the three of a point."""

    element: Element
    name: str
    kind: int
    normal: Array  # (3,) - in body B, unit; zeros without a plane


def scalar_elements(spec: ModelSpec) -> list[ScalarElement]:
    """All scalar constraints in order; two points that coincide lie in three planes of body B."""
    rows = []
    for element in spec.elements:
        if element.kind == "point":
            for axis, normal in zip("xyz", np.eye(3), strict=True):
                rows.append(ScalarElement(element, f"{element.name}.{axis}", SPHERE_ON_PLANE, normal))
        else:
            normal = unit(np.array(element.normal)) if element.normal else np.zeros(3)
            rows.append(ScalarElement(element, element.name, ELEMENT_KINDS[element.kind], normal))
    return rows


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


def pack_elements(rows: list[ScalarElement], anatomy: Anatomy, index: dict[str, int], tree: Tree) -> Elements:
    n = len(rows)
    kind, body_a, body_b = (np.zeros(n, np.int64) for _ in range(3))
    point_a, point_b, normal = (np.zeros((n, 3)) for _ in range(3))
    paths: list[list[tuple[int, float]]] = []
    for e, row in enumerate(rows):
        where, a, b = f"elements.{row.element.name}", row.element.a, row.element.b
        kind[e], normal[e] = row.kind, row.normal
        body_a[e], body_b[e] = index[a.segment], index[b.segment]
        point_a[e] = anatomy.place(a, a.segment, where)
        point_b[e] = anatomy.place(b, b.segment, where)
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


def pack_roles(rows: list[ScalarElement], how: MethodSpec, subject: Subject | None) -> Roles:
    n = len(rows)
    mode, weight, target = np.full(n, OFF, np.int64), np.zeros(n), np.zeros(n)
    for e, row in enumerate(rows):
        element = row.element
        if element.name in how.hard:
            mode[e] = HARD
        elif element.name in how.soft:
            mode[e], weight[e] = SOFT, how.soft[element.name]
        if element.kind == "point":
            continue
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


def target_of(element: Element, how: MethodSpec, subject: Subject | None) -> float:
    """Target in millimetres: the subject's mean length, the model's mean, or the fixed length."""
    if how.target == "mean" and element.name in how.soft:
        own = subject.ligament_mean_mm if subject else {}
        return own.get(element.name, element.mean_mm or 0.0)
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
