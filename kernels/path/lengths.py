"""Constraints on the lengths of muscle or ligament paths over surfaces: Phi = L(q) - target, with the length
L.

L and its gradient g = dL/dq, with one entry for each dof, are those of kernels/path/muscle_path. For the
derivative of g, the second derivative of L, no closed form is known for paths over surfaces. It is computed
by central differences of g of the fourth order: by steps of one dof after another for the matrix d2L/dq2, and
by steps along the present motion for d2L/dt2. For paths that bend over a radius of 5 mm, truncation and
rounding errors are 1e-8 of that derivative. Where a path lifts off a surface, g is continuous, but its
derivative jumps.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.copying import copy
from kernels.algebra.linear import inner_product
from kernels.compiler.jit import entry, njit
from kernels.joints.tree import Pose, Tree, integrate, new_pose, pose
from kernels.path.muscle_path import (
    OK,
    PathWork,
    follow_path,
    gradient,
    new_path_work,
)
from kernels.path.stations import Stations
from kernels.path.surfaces import Surfaces
from kernels.path.wrap import place_surfaces

STEP = 5e-5
"""Step of the differences of g, as the largest entry of a step of q [rad, m]."""
AT = (1.0, -1.0, 2.0, -2.0)
PART = (8.0 / 12.0, -8.0 / 12.0, -1.0 / 12.0, 1.0 / 12.0)
"""Steps at which g is taken (AT), and the weights of g there (PART)."""


class PathLengths(NamedTuple):
    """Paths of those elements that constrain the length of a path (elements: kernels/solver/constraints)."""

    path: np.ndarray  # (n_element,) int64 - which path is an element's, -1 = it is of another kind
    stations: Stations
    surfaces: Surfaces


class LengthWork(NamedTuple):
    """Working space of length constraints: paths at the present pose, and at poses displaced by small steps
    for derivatives.
    """

    here: PathWork
    beside: PathWork
    near: Pose
    q: Annotated[np.ndarray, Floats("n_q")]  # of the pose at hand
    q_near: Annotated[np.ndarray, Floats("n_q")]
    move: Annotated[np.ndarray, Floats("n_v")]  # direction of differences
    bend: Annotated[np.ndarray, Floats("n_v")]  # change of a gradient along it


def new_length_work(lengths: PathLengths | None, tree: Tree) -> LengthWork | None:
    """Allocate the working space of length constraints; None in a model without such constraints."""
    if lengths is None:
        return None
    stations, surfaces, n_v, n_q = lengths.stations, lengths.surfaces, len(tree.dof_body), tree.q_start[-1]
    return allocate(
        LengthWork,
        n_q=n_q,
        n_v=n_v,
        here=new_path_work(stations, surfaces, n_v),
        beside=new_path_work(stations, surfaces, n_v),
        near=new_pose(len(tree.parent), n_v, len(tree.chains.dof)),
    )


@entry
def path_lengths(tree, lengths, q, target, work, value_out):
    """Write Phi, length minus target, of all elements that constrain a path's length, at q; NaN where no path
    is found.

    tree : Tree - the joint tree
    lengths : PathLengths - the elements that constrain lengths of paths
    q : (n_q,) - generalized coordinates [rad, m]
    target : (n_element,) - target lengths [m]
    work : LengthWork - paths at this pose and at displaced poses, written
    value_out : (n_element,) - Phi [m], written for those elements
    """
    pose(tree, q, work.near)
    length_values(tree, lengths, work.near, q, target, work, value_out)


@njit
def length_values(tree, lengths, at, q, target, work, value_out):
    """Write Phi, length minus target, of all elements that constrain a path's length, and the gradients into
    work.

    tree : Tree - the joint tree
    lengths : PathLengths - the elements that constrain lengths of paths; None if there are none
    at : Pose - positions and orientations of the bodies at q
    q : (n_q,) - generalized coordinates of that pose [rad, m]
    target : (n_element,) - target lengths [m]
    work : LengthWork - paths at this pose and at displaced poses, written
    value_out : (n_element,) - Phi [m], written for those elements; NaN where no path is found
    """
    if lengths is None:
        return
    copy(q, work.q)
    place_surfaces(lengths.surfaces, at, work.here.wrap)
    for e in range(lengths.path.shape[0]):
        m = lengths.path[e]
        if m < 0:
            continue
        follow_path(tree, lengths.stations, lengths.surfaces, at, q, m, work.here)
        gradient(tree, lengths.stations, at, 1, m, work.here)
        found = work.here.status[m] == OK
        value_out[e] = work.here.length[m] - target[e] if found else math.nan


@njit
def length_slope(lengths, e, d, work):
    """Return the derivative along dof d of the path length that element e constrains; call it after
    length_values.

    lengths : PathLengths - the elements that constrain lengths of paths; None if there are none
    e, d : int - indices of the element and of the dof
    work : LengthWork - gradients of the paths at this pose
    """
    if lengths is None:
        return 0.0
    return work.here.gradient[lengths.path[e], d]


@njit
def add_length_curvature(tree, lengths, e, factor, dofs, work, H):
    """Add a factor times the second derivative of the path length that element e constrains to H; call it
    after length_values.

    In a joint with free rotation, the derivative of the gradient depends on the order of two dofs; the mean
    of both orders is the second derivative along steps of kernels/joints/tree.integrate.

    tree : Tree - the joint tree
    lengths : PathLengths - the elements that constrain lengths of paths; None if there are none
    e : int - index of the element
    factor : float - factor of the second derivative
    dofs : (n,) int64 - dofs that move the path
    work : LengthWork - paths at this pose; beside, move and bend are written
    H : (n_v, n_v) - matrix, of which the lower triangle is changed
    """
    if lengths is None:
        return
    if factor == 0.0:  # as without residuals
        return
    for k in range(dofs.shape[0]):
        p = dofs[k]
        work.move[:] = 0.0
        work.move[p] = 1.0
        bend_along(tree, lengths, lengths.path[e], STEP, work)
        for i in range(dofs.shape[0]):
            r = dofs[i]
            part = 1.0 if p == r else 0.5
            H[max(p, r), min(p, r)] += factor * part * work.bend[r]


@njit
def length_bias(tree, lengths, e, v, work):
    """Return d2L/dt2 at zero generalized accelerations [m/s^2] of the path length L that element e
    constrains; call it after length_values.

    tree : Tree - the joint tree
    lengths : PathLengths - the elements that constrain lengths of paths; None if there are none
    e : int - index of the element
    v : (n_v,) - generalized speeds [rad/s, m/s]
    work : LengthWork - paths at this pose; beside, move and bend are written
    """
    if lengths is None:
        return 0.0
    fastest = 0.0
    for d in range(v.shape[0]):
        fastest = max(fastest, abs(v[d]))
    if fastest == 0.0:
        return 0.0
    copy(v, work.move)
    bend_along(tree, lengths, lengths.path[e], STEP / fastest, work)
    return inner_product(work.bend, v)


@njit
def bend_along(tree, lengths, m, step, work):
    """Write the derivative of the gradient of path m's length along the direction work.move, at the
    coordinates work.q, into work.bend.

    It is computed by central differences; it is NaN if the path is not found at a displaced pose.

    tree : Tree - the joint tree
    lengths : PathLengths - the elements that constrain lengths of paths
    m : int - index of the path
    step : float - step to either side, as a factor of work.move
    work : LengthWork - q and move are read; q_near, near, beside and bend : (n_v,) are written
    """
    stations, surfaces, beside = lengths.stations, lengths.surfaces, work.beside
    work.bend[:] = 0.0
    for k in range(4):
        integrate(tree, work.q, work.move, step * AT[k], work.q_near)
        pose(tree, work.q_near, work.near)
        place_surfaces(surfaces, work.near, beside.wrap)
        follow_path(tree, stations, surfaces, work.near, work.q_near, m, beside)
        gradient(tree, stations, work.near, 1, m, beside)
        part = PART[k] / step if beside.status[m] == OK else math.nan
        for d in range(work.bend.shape[0]):
            work.bend[d] += part * beside.gradient[m, d]
