"""Constraints between segments, written one by one into the tables of kernels/solver/constraints."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from kernels.joints.tree import Tree
from kernels.solver.constraints import DISTANCE, SPHERE_ON_PLANE, Elements
from rtsim.config.models.contact_schema import Contact
from rtsim.config.models.force_schema import Length, Ligament
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.model_tables import Element
from rtsim.config.models.place_schema import Place
from rtsim.errors import ConfigError
from rtsim.models.packing.straight_pose import StraightPose, straight_pose
from rtsim.subjects.anatomy import Anatomy
from rtsim.subjects.calibration.natural import unit

Array = NDArray[np.float64]
NO_LENGTH = Length()
N_POLYNOMIAL = 7


@dataclass(frozen=True)
class ScalarElement:
    """One scalar constraint between two bodies: of a contact, a ligament or an element of the model's file.

    An element of kind point has three of them, one of kind point_on_line two.
    """

    name: str
    record: str  # name in the model, by which methods choose the constraint
    where: str  # its key in the model's file, for errors
    kind: int
    a: Place
    b: Place
    normal: Array  # (3,) - in body B, unit; zeros without a plane
    length: Length = NO_LENGTH  # target: also a radius or the distance of a plane
    needs_length: bool = True


def scalar_elements(spec: ModelSpec) -> list[ScalarElement]:
    """List all scalar constraints: contacts, ligaments, elements, each in the order of the file."""
    rows = [row_of_contact(contact) for contact in spec.held_contacts]
    rows += [row_of_ligament(ligament) for ligament in spec.held_ligaments]
    for element in spec.elements:
        rows += rows_of_element(element)
    return rows


def row_of_contact(contact: Contact) -> ScalarElement:
    """Build the constraint (a - b) . n = R of a contact: the sphere's centre a on one body keeps the distance
    R, the sphere's radius, from the plane through the point b with the normal n on the other body.

    The model's file may state a normal that is not of unit length: n and R are then divided by |n|, which
    does not move the plane.
    """
    normal, radius = np.array(contact.b.normal), contact.held_radius_mm
    assert radius is not None
    return ScalarElement(
        name=contact.name, record=contact.name, where=f"contacts.{contact.name}", kind=SPHERE_ON_PLANE,
        a=contact.a,
        b=contact.b, normal=unit(normal), length=Length(radius / float(np.linalg.norm(normal))),
    )  # fmt: skip


def row_of_ligament(ligament: Ligament) -> ScalarElement:
    assert ligament.length is not None
    return ScalarElement(
        name=ligament.name, record=ligament.name, where=f"ligaments.{ligament.name}", kind=DISTANCE,
        a=ligament.a, b=ligament.b,
        normal=np.zeros(3), length=ligament.length,
    )  # fmt: skip


def rows_of_element(element: Element) -> list[ScalarElement]:
    """Build the scalar constraints of an element.

    Coinciding points have three, one for each coordinate plane of body B; a point on a line has two; all
    other elements have one.
    """
    name, where, length = element.name, f"elements.{element.name}", Length(element.target_mm)
    a, b = element.a, element.b
    if element.kind == "point":
        return [
            ScalarElement(
                name=f"{name}.{axis}",
                record=name,
                where=where,
                kind=SPHERE_ON_PLANE,
                a=a,
                b=b,
                normal=normal,
                needs_length=False,
            )
            for axis, normal in zip("xyz", np.eye(3), strict=True)
        ]
    if element.kind == "point_on_line":
        return [
            ScalarElement(
                name=f"{name}.{k}",
                record=name,
                where=where,
                kind=SPHERE_ON_PLANE,
                a=a,
                b=b,
                normal=normal,
                needs_length=False,
            )
            for k, normal in zip("12", across(element), strict=True)
        ]
    if element.kind == "plane":
        normal = unit(np.array(element.normal))
        if element.lever_mm is not None:
            tip = tuple(x + by for x, by in zip(a.offset_mm, element.lever_mm, strict=True))
            a = msgspec.structs.replace(a, offset_mm=tip)
        return [
            ScalarElement(
                name=name,
                record=name,
                where=where,
                kind=SPHERE_ON_PLANE,
                a=a,
                b=b,
                normal=normal,
                length=length,
                needs_length=False,
            )
        ]
    return [
        ScalarElement(
            name=name, record=name, where=where, kind=DISTANCE, a=a, b=b, normal=np.zeros(3), length=length
        )
    ]


def across(element: Element) -> tuple[Array, Array]:
    """Return two unit vectors in body B that are perpendicular to the element's line and to each other: the
    normals of two planes that intersect in this line.
    """
    along = unit(np.array(element.direction))
    first = unit(np.cross(along, np.eye(3)[np.abs(along).argmin()]))
    return first, np.cross(along, first)


def pack_elements(rows: list[ScalarElement], anatomy: Anatomy, index: dict[str, int], tree: Tree) -> Elements:
    n = len(rows)
    kind, body_a, body_b = (np.zeros(n, np.int64) for _ in range(3))
    point_a, point_b, normal = (np.zeros((n, 3)) for _ in range(3))
    paths: list[list[tuple[int, float]]] = []
    for e, row in enumerate(rows):
        where, a, b = row.where, row.a, row.b
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
    return Elements(
        kind=kind,
        body_a=body_a,
        body_b=body_b,
        point_a=point_a,
        point_b=point_b,
        normal_b=normal,
        n_path=n_path,
        path=path,
        side=side,
    )


def path_between(tree: Tree, body_a: int, body_b: int) -> list[tuple[int, float]]:
    """List the dofs that move only one of two bodies A and B, and so change the position of A relative to B:
    pairs of the dof and +1 if it moves A, -1 if it moves B. Those of A come first, in rising order.
    """
    moves_a, moves_b = dofs_towards_ground(tree, body_a), dofs_towards_ground(tree, body_b)
    return [(d, 1.0) for d in sorted(moves_a - moves_b)] + [(d, -1.0) for d in sorted(moves_b - moves_a)]


def dofs_towards_ground(tree: Tree, body: int) -> set[int]:
    dofs: set[int] = set()
    while body >= 0:
        dofs |= {d for d, b in enumerate(tree.dof_body) if b == body}
        body = int(tree.parent[body])
    return dofs


@dataclass(frozen=True)
class Lengths:
    """Lengths d of ligaments over the flexion angle t [deg]: d = (1 + a1 t + ... + a7 t^7) d(0) (Sancisi et
    al. 2017, eq. 1), with the length d(0) in the neutral pose.
    """

    neutral: Array  # (n_element,) [m] - d(0); NaN for planes, and where it is not known
    polynomial: Array  # (n_element, 7) - a1..a7, angle in degrees; zero where a length does not follow eq. 1


def pack_lengths(spec: ModelSpec, rows: list[ScalarElement], anatomy: Anatomy) -> Lengths:
    """Pack the lengths of all constraint elements; ConfigError for a ligament whose neutral length is neither
    given nor known from the joints that it crosses, but needed: for its lengthening among the results, or for
    its polynomial.
    """
    straight = straight_pose(spec, anatomy)
    needing = [one.name for one in spec.held_ligaments if needs_neutral(spec, one)]
    neutral = [neutral_length(row, straight, anatomy) for row in rows]
    for row, length in zip(rows, neutral, strict=True):
        if row.kind == DISTANCE and row.record in needing and np.isnan(length):
            raise ConfigError(
                f"the neutral length of {row.name} is not known, because it crosses a joint that turns its "
                "body and moves it away at the same time",
                where=f"model {spec.name}: {row.where}.length", remedy="add neutral_mm",
            )  # fmt: skip
    return Lengths(
        np.array(neutral), np.array([pad(row.length.polynomial) for row in rows]).reshape(-1, N_POLYNOMIAL)
    )


@dataclass(frozen=True)
class Reported:
    """Indices of the scalar constraints whose lengthening or contact point is among the results."""

    ligaments: NDArray[np.int64]  # (n_ligament,) - by their lengthening
    contacts: NDArray[np.int64]  # (n_contact,) - by their contact point


def pack_reported(spec: ModelSpec, rows: list[ScalarElement]) -> Reported:
    """Return the indices of the constraint elements that appear in published results: all contacts, and all
    ligaments except those whose length every method keeps constant."""
    contacts = [contact.name for contact in spec.contacts]
    ligaments = [ligament.name for ligament in spec.ligaments if lengthens(spec, ligament.name)]
    return Reported(
        np.array([e for e, row in enumerate(rows) if row.record in ligaments], np.int64),
        np.array([e for e, row in enumerate(rows) if row.record in contacts], np.int64),
    )


def lengthens(spec: ModelSpec, ligament: str) -> bool:
    """Return whether the lengthening of a ligament is a result: true unless all methods that use the ligament
    keep its length exactly.
    """
    methods = spec.methods.values()
    return any(ligament in how.soft for how in methods) or not any(ligament in how.hard for how in methods)


def needs_neutral(spec: ModelSpec, ligament: Ligament) -> bool:
    """Return whether anything is computed from the neutral length of a ligament."""
    follows = ligament.length is not None and bool(ligament.length.polynomial)
    return follows or lengthens(spec, ligament.name)


def neutral_length(row: ScalarElement, straight: StraightPose, anatomy: Anatomy) -> float:
    """Return the length of a distance element [m] when the axes of both segments coincide (d(0) of Sancisi et
    al. 2017, eq. 1); NaN for planes, and where that pose is not known.

    straight : the pose of the model in which the axes of its bodies coincide
    """
    if row.kind != DISTANCE:
        return math.nan
    if row.length.neutral_mm is not None:
        return 1e-3 * row.length.neutral_mm
    if straight.unknown[row.a.segment] != straight.unknown[row.b.segment]:
        return math.nan
    a, b = (straight.origins[p.segment] + anatomy.place(p, p.segment, row.where) for p in (row.a, row.b))
    return float(np.linalg.norm(a - b))


def pad(coefficients: tuple[float, ...]) -> Array:
    if len(coefficients) > N_POLYNOMIAL:
        raise ConfigError(
            f"{len(coefficients)} coefficients", where="length.polynomial", allowed=f"at most {N_POLYNOMIAL}"
        )
    return np.pad(np.array(coefficients, dtype=float), (0, N_POLYNOMIAL - len(coefficients)))
