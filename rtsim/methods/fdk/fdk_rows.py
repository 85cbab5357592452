"""Check whether a degree of freedom of force-dependent kinematics (FDK) is already determined by other
constraints.

A row of the Jacobian contains the derivatives of an element with respect to the relative motion of its
bodies. If a row is a linear combination of other rows in the neutral pose and in a pose next to it, this is
assumed for every pose. The forces cannot determine an FDK degree of freedom with such a row. Elements are
compared with the elements between the same two bodies; path lengths are compared with all constraints,
including couplers. Dependencies between more bodies, or in single poses only, are reported during a run.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.constraints import new_constraint_work
from kernels.fdk.rows import rows_beside
from kernels.joints.motions import TRANSLATES
from kernels.joints.tree import new_pose
from kernels.solver.constraints import DISTANCE, ELEVATION, HARD, PATH_LENGTH, SPHERE_ON_PLANE, Roles
from rtsim.errors import ConfigError
from rtsim.models.model import Model
from rtsim.models.neutral import frame_in_ground, neutral_places, turned_about
from rtsim.models.packing.joints import rotations

Array = NDArray[np.float64]

LENGTH_M = 0.1
"""Length by which translations are divided, so that they can be compared with rotations [m]."""
STEP = 1e-5
"""Step of the differences that give a row: truncation and rounding are both some 1e-10 of the row."""
LEAST = 1e-8
"""Residual norm below which a row of unit norm counts as a linear combination of others."""
BESIDE = np.array([0.06, 0.048, 0.064, -0.05, 0.036, -0.041])
"""A small motion, of rotations and of LENGTH_M, in which nothing is symmetrical."""


def check_rows(model: Model, roles: Roles, dofs: tuple[str, ...]) -> None:
    """Raise ConfigError if the other constraints of the method already determine an FDK degree of freedom, so
    that the forces cannot, or if no joint of the model changes it.

    roles : the elements that the method keeps as constraints
    dofs : names of the elements that are FDK degrees of freedom
    """
    names, elements = model.names.elements, model.elements
    every = np.flatnonzero(roles.mode == HARD).tolist()
    hard = [e for e in every if elements.kind[e] != PATH_LENGTH]
    pair = {e: frozenset((int(elements.body_a[e]), int(elements.body_b[e]))) for e in hard}
    with_paths = any(elements.kind[names.index(name)] == PATH_LENGTH for name in dofs)
    of_all = all_rows(model, roles) if with_paths else []
    for name in dofs:
        own = names.index(name)
        if elements.kind[own] == PATH_LENGTH:
            if not elements.n_path[own]:
                raise unmoved(name)
            k = every.index(own)
            check_sum(name, [names[e] for e in every if e != own], [first(rows, k) for rows in of_all])
            continue
        others = [e for e in hard if e != own and pair[e] == pair[own]]
        both = [rows_of(model, [own, *others], moved) for moved in (False, True)]
        check_sum(name, [names[e] for e in others], both)


def check_sum(name: str, others: list[str], both: list[Array]) -> None:
    """Raise ConfigError if the FDK degree of freedom `name`, to which the first row of each Jacobian belongs,
    cannot be determined by forces: in all poses this row is zero, or a linear combination of the other rows.

    others : names of the constraints of the other rows; the rows of couplers come last and have no names
    both : (n_row, n) Jacobian in each pose; without poses nothing is checked
    """
    if both and not any(rows[0].any() for rows in both):
        raise unmoved(name)
    shares = [sum_of(rows[1:], rows[0]) if len(rows) > 1 else None for rows in both]
    if not shares or any(share is None for share in shares):
        return
    share = shares[-1]
    assert share is not None
    found = [other for other, x in zip(others, share, strict=False) if abs(x) > LEAST**0.5]
    if not found:  # couplers alone
        raise unmoved(name)
    raise ConfigError(
        f"{name} is fixed already by {', '.join(found)}, which are constraints of the method, too",
        where="fdk.dofs",
        remedy=f"remove {name}, or choose a method without these constraints",
    )


def first(rows: Array, k: int) -> Array:
    """Return a Jacobian (n_row, n) with its row k moved to the front, where `check_sum` expects the row that
    it tests."""
    return np.concatenate([rows[k : k + 1], np.delete(rows, k, axis=0)])


def unmoved(name: str) -> ConfigError:
    """Return the error for an FDK degree of freedom that no coordinate of the model changes."""
    return ConfigError(
        f"no joint movement of the model changes {name}",
        where="fdk.dofs",
        remedy="remove it, or free a joint that changes it",
    )


def check_borne(model: Model, roles: Roles, borne: tuple[str, ...]) -> None:
    """Raise ConfigError for an unknown body among `borne`, the bodies at whose joints muscles have to balance
    the load, and for a constraint whose reaction would also load other joints.
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
                f"{names.elements[e]} is a constraint of the method and also acts on the joints of bodies "
                f"that are not in fdk.borne: {', '.join(sorted(reached - {*borne}))}",
                where="fdk.borne",
                remedy="add these bodies to fdk.borne, or choose a method without this constraint",
            )


def check_enough_borne(model: Model, roles: Roles, dofs: tuple[str, ...], borne: tuple[str, ...]) -> None:
    """Raise ConfigError if the joints of `borne`, the bodies at whose joints muscles have to balance the
    load, have fewer degrees of freedom than the method has constraints that can both push and pull.

    dofs : names of the FDK degrees of freedom, which count as such constraints
    """
    names = model.names
    one_way = {names.elements[e] for e in model.reactions.held(roles).element} - {*dofs}
    n_held = int(np.count_nonzero(roles.mode == HARD)) - len(one_way) + len(model.couplers.dof)
    n_borne = sum(names.bodies[b] in borne for b in model.tree.dof_body)
    if n_borne >= n_held:
        return
    raise ConfigError(
        f"the method has {n_held} constraints, but the joints at which muscles balance the load "
        f"({', '.join(borne) or 'none'}) have {n_borne} degrees of freedom; the joint between ground and "
        f"{names.bodies[0]} counts only if it is named, as it takes the residual load otherwise",
        where="fdk.borne",
        remedy=f"name the bodies at whose joints muscles balance the load, {names.bodies[0]} if it is one",
    )


def sum_of(others: Array, own: Array) -> Array | None:
    """Return the coefficients (n_other,) with which the rows `others` (n_other, n) add up to the row `own`
    (n,); None if they cannot.
    """
    share = np.asarray(np.linalg.lstsq(others.T, own, rcond=LEAST)[0], np.float64)
    return share if np.linalg.norm(others.T @ share - own) < LEAST else None


def all_rows(model: Model, roles: Roles) -> list[Array]:
    """Return the Jacobians (n_row, n_v) of all constraints, couplers last, in the neutral pose and in a pose
    next to it if all path lengths can be computed there; each row has unit norm, or is 0.
    """
    tree, constraints = model.tree, model.constraints(roles)
    work = new_constraint_work(constraints, model.n_v, tree)
    at, q = new_pose(len(tree.parent), model.n_v, len(tree.chains.dof)), model.q_neutral.copy()
    unit = np.where(tree.dof_rotates == TRANSLATES, LENGTH_M, 1.0)
    found = []
    for moved in (0.0, 1.0):
        step = moved * unit * np.resize(BESIDE, model.n_v)
        n = rows_beside(tree, constraints, model.q_neutral, step, at, q, work)
        if np.isfinite(work.value[:n]).all():
            found.append(of_size_one(work.row[:n] * unit))
    return found


def of_size_one(rows: Array) -> Array:
    """Scale rows (n_row, n) to unit norm; a row that is zero except for rounding becomes 0."""
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(size > LEAST, rows / np.maximum(size, LEAST), 0.0)


def rows_of(model: Model, own: list[int], moved: bool) -> Array:
    """Return the Jacobian (n_own, n) of constraints between the same two bodies with respect to the n motions
    that the joints between these bodies allow; each row is scaled to unit norm, and a zero row stays 0.

    own : indices of these constraints among the model's elements
    moved : whether the Jacobian is that of a pose next to the neutral one, else that of the neutral pose
    """
    tree, elements = model.tree, model.elements
    path = elements.path[own[0], : elements.n_path[own[0]]]
    free = any(b in tree.dof_body[path] for b, _, _ in rotations(tree))
    if free:  # the outer body moves by itself
        outer = max(int(elements.body_a[own[0]]), int(elements.body_b[own[0]]))
        n, motion = 6, np.eye(6)
        start = BESIDE * moved
    else:
        body = tree.dof_body[path]
        entry = tree.q_start[body] + path - tree.v_start[body]
        unit = np.where(tree.dof_rotates[path] == TRANSLATES, LENGTH_M, 1.0)
        n, motion = len(path), np.diag(unit)
        start = np.resize(BESIDE, n) * unit * moved

    def values(step: Array) -> Array:
        if free:
            position, rotation = neutral_places(model)
            angle = float(np.linalg.norm(step[:3]))
            if angle > 0.0:
                rotation[outer] = rotation[outer] @ turned_about(step[:3] / angle, angle)
            position[outer] += LENGTH_M * step[3:]
        else:
            q = model.q_neutral.copy()
            q[entry] += step
            position, rotation = neutral_places(replace(model, q_neutral=q))
        return np.array([value(model, e, position, rotation) for e in own])

    found = np.zeros((len(own), n))
    for k in range(n):
        found[:, k] = (values(start + STEP * motion[k]) - values(start - STEP * motion[k])) / (2.0 * STEP)
    return of_size_one(found)


def value(model: Model, e: int, position: Array, rotation: Array) -> float:
    """Return the value of the constraint e of model.elements before its target is subtracted [m, m^2, rad].

    position : (n_body, 3) [m]; rotation : (n_body, 3, 3) - of all bodies
    """
    elements, kind = model.elements, model.elements.kind[e]
    x_a, R_a = frame_in_ground(elements.body_a[e], position, rotation)
    x_b, R_b = frame_in_ground(elements.body_b[e], position, rotation)
    a, b, n = R_a @ elements.point_a[e], R_b @ elements.point_b[e], R_b @ elements.normal_b[e]
    if kind in (SPHERE_ON_PLANE, DISTANCE):
        gap = a + x_a - b - x_b
        return float(gap @ (n if kind == SPHERE_ON_PLANE else gap))
    if kind == ELEVATION:
        return float(np.arcsin(a @ n))
    return float(np.arctan2(a @ np.cross(n, b), a @ b))
