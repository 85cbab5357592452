"""The lower limb's tree with a second leg: the same joints, elements and markers again on the same pelvis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.joints.tree import Tree
from kernels.markers.marker_cost import ModelMarkers
from kernels.solver.constraints import Elements, Roles
from kernels.solver.optimality import Work, new_work
from rtsim.models.model import Model
from rtsim.models.packing.elements import path_between
from rtsim.models.packing.tree import JointRow, build_tree

Array = NDArray[np.floating]

N_BODY = 4  # of one leg with its pelvis, which comes first
PELVIS_Q = 7


class TwoLegs(NamedTuple):
    """Both legs, what is asked of them, and working space."""

    tree: Tree
    markers: ModelMarkers
    elements: Elements
    roles: Roles
    work: Work


def second(body: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of the other leg's bodies; pelvis and ground are shared."""
    return np.where(body > 0, body + N_BODY - 1, body)


def joint_of(tree: Tree, b: int, parent: int) -> JointRow:
    """Return joint b of a tree on another parent."""
    return JointRow(
        parent, int(tree.kind[b]), tree.parameter[b], tree.position_in_parent[b], tree.rotation_in_parent[b],
        tree.position_in_child[b], tree.rotation_in_child[b],
    )  # fmt: skip


def two_legs(leg: Model, roles: Roles) -> TwoLegs:
    """Return both legs; the pelvis keeps its markers once."""
    tree, elements = leg.tree, leg.elements
    parents = [*map(int, tree.parent), *map(int, second(tree.parent[1:]))]
    bodies = [*range(N_BODY), *range(1, N_BODY)]
    both = build_tree([joint_of(tree, b, p) for b, p in zip(bodies, parents, strict=True)])
    body_a = np.concatenate([elements.body_a, second(elements.body_a)])
    body_b = np.concatenate([elements.body_b, second(elements.body_b)])
    paths = [path_between(both, int(a), int(b)) for a, b in zip(body_a, body_b, strict=True)]
    path = np.zeros((len(paths), elements.path.shape[1]), np.int64)
    side = np.zeros(path.shape)
    for e, steps in enumerate(paths):
        for k, (dof, sign) in enumerate(steps):
            path[e, k], side[e, k] = dof, sign

    def twice(column: Array) -> Array:
        return np.concatenate([column, column])

    doubled = Elements(
        twice(elements.kind), body_a, body_b, twice(elements.point_a), twice(elements.point_b),
        twice(elements.normal_b), twice(elements.n_path), path, side,
    )  # fmt: skip
    own = leg.markers.body > 0
    markers = ModelMarkers(
        np.concatenate([leg.markers.body, second(leg.markers.body[own])]),
        np.concatenate([leg.markers.position, leg.markers.position[own]]),
    )
    n_v, n_element = len(both.dof_body), len(paths)
    n_q = int(both.q_start[-1])
    return TwoLegs(
        both, markers, doubled, Roles(twice(roles.mode), twice(roles.weight), twice(roles.target)),
        new_work(len(parents), n_q, n_v, len(markers.body), n_element, path.shape[1]),
    )  # fmt: skip


def both(q: Array) -> Array:
    """Return coordinates of both legs alike."""
    return np.concatenate([q, q[PELVIS_Q:]])


def both_markers(leg: Model, measured: Array) -> Array:
    """Return markers of both legs alike."""
    return np.concatenate([measured, measured[leg.markers.body > 0]])
