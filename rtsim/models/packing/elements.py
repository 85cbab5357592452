"""Constraints between segments one by one into the tables of kernels/constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.constraints import DISTANCE, SPHERE_ON_PLANE, Elements
from kernels.tree import Tree
from rtsim.config.model_schema import Element, ModelSpec
from rtsim.errors import ConfigError
from rtsim.subjects.anatomy import Anatomy
from rtsim.subjects.natural import unit

Array = NDArray[np.float64]
ELEMENT_KINDS = {"sphere_on_plane": SPHERE_ON_PLANE, "distance": DISTANCE}
N_POLYNOMIAL = 7


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


@dataclass(frozen=True)
class Lengths:
    """Lengths of elements over the flexion, Sancisi et al. 2017, eq. 1."""

    neutral: Array  # (n_element,) [m] - d(0); NaN for planes
    polynomial: Array  # (n_element, 7) - a1..a7, angle in degrees; zero where a length does not follow eq. 1


def pack_lengths(rows: list[ScalarElement]) -> Lengths:
    return Lengths(
        np.array([neutral_length(row.element) for row in rows]),
        np.array([pad(row.element.length_polynomial) for row in rows]).reshape(-1, N_POLYNOMIAL),
    )


@dataclass(frozen=True)
class Reported:
    """Elements that results are told of."""

    ligaments: NDArray[np.int64]  # (n_ligament,) - by their lengthening
    contacts: NDArray[np.int64]  # (n_contact,) - by their contact point


def pack_reported(spec: ModelSpec, rows: list[ScalarElement]) -> Reported:
    return Reported(
        np.array([e for e, row in enumerate(rows) if row.element.ligament], np.int64),
        np.array([e for e, row in enumerate(rows) if row.element.name in spec.contact_elements], np.int64),
    )


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
