"""Surfaces of triangles that press on each other in a joint, among its other force elements.

kernels/mesh gives the wrench on body A about its origin, in its axes, and its change where B is displaced
with A held. About the reference point in ground axes, with X the way there, the wrench is w = X w_A; where A
is displaced by a twist x with B held, it turns along and feels B go the other way,

    dw = x x* w - X K X' x

which is what kernels/forces/pairs asks for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels._jit import njit
from kernels.forces.pairs import (
    BY_PLACE,
    Pairs,
    PairWork,
    add_pair_derivatives,
    add_pair_forces,
    clear_slopes,
    new_pair_work,
)
from kernels.mesh.contact import mesh_contact, mesh_stiffness
from kernels.mesh.meshes import MeshContacts, Meshes, MeshWork, new_mesh_work
from kernels.tree import Tree


class Pressing(NamedTuple):
    """Pairs of surfaces in the axes of their bodies."""

    pairs: Pairs
    pair: np.ndarray  # (n_contact,) int64 - the bodies' pair
    meshes: Meshes
    contacts: MeshContacts
    modulus: np.ndarray  # (n_contact,) - pressure by depth [N/m^3]


class PressingWork(NamedTuple):
    """Results and working space."""

    pairs: PairWork
    mesh: MeshWork
    turn: np.ndarray  # (n_contact, 3, 3) - of B in the axes of A
    shift: np.ndarray  # (n_contact, 3) [m]
    wrench: np.ndarray  # (n_contact, 6) - on A, about the reference point in ground axes [N m, N]
    X: np.ndarray  # (6, 6)
    half: np.ndarray  # (6, 6)


def new_pressing_work(pressing: Pressing, tree: Tree) -> PressingWork:
    """Allocate a PressingWork."""
    n, n_pair = len(pressing.modulus), len(pressing.pairs.body_a)
    return PressingWork(
        new_pair_work(n_pair, tree), new_mesh_work(pressing.contacts), np.zeros((n, 3, 3)),
        np.zeros((n, 3)), np.zeros((n, 6)), np.zeros((6, 6)), np.zeros((6, 6)),
    )  # fmt: skip


@njit
def add_pressing(pressing, pose, work, tau):
    """tau : (n_v,) += generalized forces of all pairs of surfaces at a pose; None presses on nothing.

    pressing : Pressing
    pose : Pose
    work : PressingWork - written
    """
    if pressing is None:
        return
    sums = work.pairs.wrench
    sums[:, :] = 0.0
    for e in range(pressing.modulus.shape[0]):
        p = pressing.pair[e]
        a, b = pressing.pairs.body_a[p], pressing.pairs.body_b[p]
        between(pose, a, b, work.turn[e], work.shift[e])
        mesh_contact(
            pressing.meshes, pressing.contacts, e, pressing.modulus[e], work.turn[e], work.shift[e], work.mesh
        )
        to_ground(pose, a, work.X)
        for i in range(6):
            s = 0.0
            for j in range(6):
                s += work.X[i, j] * work.mesh.wrench[e, j]
            work.wrench[e, i] = s
            sums[p, i] += s
    add_pair_forces(pressing.pairs, pose.twist, sums, tau)


@njit
def add_pressing_slopes(pressing, tree, pose, velocities, rates, work, tau_q, tau_v):
    """tau_q : (n_v, n_v) += slopes of add_pressing, right after it.

    pressing : Pressing
    tree : Tree
    pose : Pose
    velocities : (n_body, 6) [rad/s, m/s]
    rates : (n_v, 6) - of kernels/dynamics/twist_rates
    work : PressingWork - written
    tau_v : (n_v, n_v) - nothing is added
    """
    if pressing is None:
        return
    clear_slopes(work.pairs)
    for e in range(pressing.modulus.shape[0]):
        mesh_stiffness(pressing.contacts, e, pressing.modulus[e], work.turn[e], work.shift[e], work.mesh)
        p = pressing.pair[e]
        to_ground(pose, pressing.pairs.body_a[p], work.X)
        slopes = work.pairs.slopes[p, BY_PLACE]
        add_wrench_slopes(work.mesh.stiffness[e], work.wrench[e], work.X, work.half, slopes)
        work.pairs.loaded[p] = 1
    add_pair_derivatives(tree, pressing.pairs, pose, velocities, rates, work.pairs, tau_q, tau_v)


@njit
def between(pose, a, b, turn_out, shift_out):
    """turn_out : (3, 3), shift_out : (3,) - body b in the axes of body a.

    pose : Pose
    a, b : int - bodies
    """
    R, S, x, y = pose.rotation[a], pose.rotation[b], pose.position[a], pose.position[b]
    for i in range(3):
        shift_out[i] = 0.0
        for k in range(3):
            shift_out[i] += R[k, i] * (y[k] - x[k])
        for j in range(3):
            s = 0.0
            for k in range(3):
                s += R[k, i] * S[k, j]
            turn_out[i, j] = s


@njit
def to_ground(pose, a, X_out):
    """X_out : (6, 6) - a wrench about body a's origin in its axes, about the reference point in ground axes.

    pose : Pose
    a : int - body
    """
    R, x, origin = pose.rotation[a], pose.position[a], pose.position[0]
    for j in range(3):
        for i in range(3):
            k, m = (i + 1) % 3, (i + 2) % 3
            X_out[i, j] = X_out[3 + i, 3 + j] = R[i, j]
            X_out[3 + i, j] = 0.0
            X_out[i, 3 + j] = (x[k] - origin[k]) * R[m, j] - (x[m] - origin[m]) * R[k, j]


@njit
def add_wrench_slopes(K, w, X, half, slopes):
    """slopes : (6, 6) += by row c the change of the wrench w : (6,) by unit twist c of A, B held.

    K : (6, 6) - change of the wrench about A's origin by a twist of B
    X : (6, 6) - of to_ground; half : (6, 6) - written
    """
    for i in range(6):
        for j in range(6):
            s = 0.0
            for k in range(6):
                s += K[i, k] * X[j, k]
            half[i, j] = s
    for c in range(6):
        for i in range(6):
            s = 0.0
            for k in range(6):
                s += X[i, k] * half[k, c]
            slopes[c, i] -= s
    for c in range(3):  # turned about axis c both parts turn; shifted along it the force has a moment
        i, j = (c + 1) % 3, (c + 2) % 3
        for part in range(0, 6, 3):
            slopes[c, part + i] -= w[part + j]
            slopes[c, part + j] += w[part + i]
        slopes[3 + c, i] -= w[3 + j]
        slopes[3 + c, j] += w[3 + i]
