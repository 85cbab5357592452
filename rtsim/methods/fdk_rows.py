"""Whether an FDK degree of freedom is one that other held elements of the same two bodies fix already.

Elements between two bodies push along wrenches. One that is a sum of others at the neutral pose and beside it
is so at every pose: where forces decide one of them there is no answer. Of what lies between more bodies, or
is fixed by their joints, a run tells in its frames.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.constraints import HARD, SPHERE_ON_PLANE, Roles
from rtsim.errors import ConfigError
from rtsim.models.model import Model
from rtsim.models.neutral import neutral_places, turned_about

Array = NDArray[np.float64]

LENGTH_M = 0.1
"""By which moments are divided beside forces."""
LEAST = 1e-8
"""Of a wrench of size 1, what is left of it beside a sum of others where it is one."""
BESIDE = turned_about(np.array([0.6, 0.48, 0.64]), 0.1), np.array([0.004, -0.003, 0.005])
"""A small motion of the outer body [1], [m], in which nothing is symmetrical."""


def check_rows(model: Model, roles: Roles, dofs: tuple[str, ...]) -> None:
    """ConfigError where elements that the method holds fix one of the FDK degrees of freedom together."""
    names, elements = model.names.elements, model.elements
    hard = np.flatnonzero(roles.mode == HARD).tolist()
    pair = {e: frozenset((int(elements.body_a[e]), int(elements.body_b[e]))) for e in hard}
    for name in dofs:
        own = names.index(name)
        others = [e for e in hard if e != own and pair[e] == pair[own]]
        sums = [sum_of(model, own, others, moved) for moved in (False, True)] if others else []
        if sums and all(share is not None for share in sums):
            share = sums[1]
            assert share is not None
            found = [names[e] for e, x in zip(others, share, strict=True) if abs(x) > LEAST**0.5]
            raise ConfigError(
                f"{name} is fixed already by {', '.join(found)}, which the method holds too",
                where="fdk.dofs",
                remedy="leave one of them out, or take a method that does not hold them",
            )


def check_borne(model: Model, roles: Roles, borne: tuple[str, ...]) -> None:
    """ConfigError for a body that is not there, and where an element is held between bodies of which one is
    borne and its reaction would reach joints that are not.
    """
    names, elements, tree = model.names, model.elements, model.tree
    if not borne:
        return
    unknown = next((name for name in borne if name not in names.bodies), None)
    if unknown is not None:
        raise ConfigError(f"unknown body {unknown!r}", where="fdk.borne", allowed=", ".join(names.bodies))
    for e in np.flatnonzero(roles.mode == HARD).tolist():
        dofs = elements.path[e, : elements.n_path[e]]
        reached = {names.bodies[b] for b in tree.dof_body[dofs]}
        if not reached <= {*borne}:
            raise ConfigError(
                f"the method holds {names.elements[e]}, which pushes on the joints of "
                f"{', '.join(sorted(reached - {*borne}))}, too",
                where="fdk.borne",
                remedy="name these bodies as well, or take a method that does not hold it",
            )


def sum_of(model: Model, own: int, others: list[int], moved: bool) -> Array | None:
    """(n_other,) - shares of other elements that push as element `own` does; None where none do."""
    A = np.column_stack([wrench(model, e, moved) for e in others])
    b = wrench(model, own, moved)
    share = np.asarray(np.linalg.lstsq(A, b, rcond=LEAST)[0], np.float64)
    return share if np.linalg.norm(A @ share - b) < LEAST else None


def wrench(model: Model, e: int, moved: bool) -> Array:
    """(6,) - of size 1, along element e in ground at the neutral pose, or with its outer body moved."""
    elements, (position, rotation) = model.elements, neutral_places(model)
    bodies = int(elements.body_a[e]), int(elements.body_b[e])
    ends, normal = [], elements.normal_b[e]
    for body, point in zip(bodies, (elements.point_a[e], elements.point_b[e]), strict=True):
        R, x = (rotation[body], position[body]) if body >= 0 else (np.eye(3), np.zeros(3))
        if moved and body == max(bodies):
            R, x = R @ BESIDE[0], x + BESIDE[1]
        ends.append(x + R @ point)
        if body == bodies[1]:
            normal = R @ normal
    force = normal if elements.kind[e] == SPHERE_ON_PLANE else ends[0] - ends[1]
    found = np.concatenate([force, np.cross(ends[0], force) / LENGTH_M])
    return found / max(float(np.linalg.norm(found)), LEAST)
