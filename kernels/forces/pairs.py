"""Pairs of bodies between which force elements act: what the elements add up to, and its way into the joints.

Every element of a pair gives a wrench on body A (B feels the opposite) that depends on where A lies and how
it moves relative to B. Wrenches and twists are about the reference point of kernels/tree.Pose, in ground
axes. Their derivatives are taken with B held: by_place . xi is the change of the wrench where A is displaced
by the twist xi, by_speed . eta its change where the relative velocity grows by eta. A motion of both bodies
only turns the wrench along, so that nothing but the dofs between the two bodies enters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels._jit import inlined, njit
from kernels.dynamics.twist_rates import twist_shift
from kernels.tree import CHAIN, along


class Pairs(NamedTuple):
    """Bodies in pairs, and the dofs that move one of the two but not the other."""

    body_a: np.ndarray  # (n_pair,) int64 - -1 = ground
    body_b: np.ndarray  # (n_pair,) int64
    n_path: np.ndarray  # (n_pair,) int64
    path: np.ndarray  # (n_pair, n_path_max) int64 - dofs, ground first on either side
    side: np.ndarray  # (n_pair, n_path_max) - +1 moves A, -1 moves B


class PairWork(NamedTuple):
    """Sums over the elements of each pair, and working space of the projection."""

    relative: np.ndarray  # (n_pair, 6) - velocity of A relative to B
    onset: np.ndarray  # (n_pair, 6) - its rate by the joints' accelerations alone
    jerk: np.ndarray  # (n_pair, 6) - the rate of onset, where a step asks for it
    wrench: np.ndarray  # (n_pair, 6) - on A
    by_place: np.ndarray  # (n_pair, 6, 6)
    by_speed: np.ndarray  # (n_pair, 6, 6)
    change: np.ndarray  # (4, 6)


def new_pair_work(n_pair: int) -> PairWork:
    """Allocate a PairWork."""
    return PairWork(
        np.zeros((n_pair, 6)),
        np.zeros((n_pair, 6)),
        np.zeros((n_pair, 6)),
        np.zeros((n_pair, 6)),
        np.zeros((n_pair, 6, 6)),
        np.zeros((n_pair, 6, 6)),
        np.zeros((4, 6)),
    )


@inlined
def relative_motion(pairs, twist, rate, out):
    """out : (n_pair, 6) = sum side twist rate over the path of each pair, rate : (n_v,)."""
    for p in range(pairs.body_a.shape[0]):
        row = out[p]
        for i in range(6):
            row[i] = 0.0
        for k in range(pairs.n_path[p]):
            d = pairs.path[p, k]
            speed = pairs.side[p, k] * rate[d]
            for i in range(6):
                row[i] += speed * twist[d, i]


@inlined
def add_pair_forces(pairs, twist, wrench, tau):
    """tau : (n_v,) += side twist . wrench over the path of each pair."""
    for p in range(pairs.body_a.shape[0]):
        w = wrench[p]
        for k in range(pairs.n_path[p]):
            d = pairs.path[p, k]
            tau[d] += pairs.side[p, k] * along(twist, d, w[0], w[1], w[2], w[3], w[4], w[5])


@inlined
def add_pair_derivatives(tree, pairs, pose, velocities, rates, work, tau_q, tau_v):
    """tau_q, tau_v : (n_v, n_v) += derivatives of add_pair_forces by q and v.

    velocities : (n_body, 6) - of all bodies
    rates : (n_v, 6) - of kernels/dynamics/twist_rates: dV/dq_e = rates[e] + twist[e] x V
    """
    for p in range(pairs.body_a.shape[0]):
        for k in range(pairs.n_path[p]):
            wrench_changes(pairs, p, k, pose.twist, velocities, rates, work)
            add_column(tree, pairs, p, k, pose, work, tau_q, tau_v)


@inlined
def wrench_changes(pairs, p, k, twist, velocities, rates, work):
    """work.change : by dof k of a path, seen with B (0) by q and (1) by v; (2) twist x* wrench."""
    e, side, a = pairs.path[p, k], pairs.side[p, k], pairs.body_a[p]
    s, by_q, by_v, turned, speed = twist[e], work.change[0], work.change[1], work.change[2], work.change[3]
    w, by_place, by_speed = work.wrench[p], work.by_place[p], work.by_speed[p]
    for i in range(6):
        speed[i] = rates[e, i]
        turned[i] = 0.0
    if a >= 0:
        add_cross_motion(s, velocities[a], speed)
    add_cross_force(s, w, turned)
    for i in range(6):
        x, y = 0.0, 0.0
        for j in range(6):
            x += by_place[i, j] * s[j] + by_speed[i, j] * speed[j]
            y += by_speed[i, j] * s[j]
        by_q[i] = side * x
        by_v[i] = side * y


@inlined
def add_column(tree, pairs, p, k, pose, work, tau_q, tau_v):
    """Column of dof k of a path, after wrench_changes: the wrench's change, and that of the twists it meets.

    A dof of A carries the later twists of A along, a dof of B the wrench and the later twists of B.
    """
    e, side_e, w = pairs.path[p, k], pairs.side[p, k], work.wrench[p]
    by_q, by_v, turned, twist = work.change[0], work.change[1], work.change[2], pose.twist
    chain = tree.kind[tree.dof_body[e]] == CHAIN
    for j in range(pairs.n_path[p]):
        d, side_d = pairs.path[p, j], pairs.side[p, j]
        s = twist[d]
        x, y, z = 0.0, 0.0, 0.0
        for i in range(6):
            x += s[i] * by_q[i]
            y += s[i] * by_v[i]
            z += s[i] * turned[i]
        if side_e < 0.0:
            x += z
        if side_d == side_e:
            if chain and tree.dof_body[d] == tree.dof_body[e]:
                x += twist_shift(tree, pose, d, e, w)
            elif d > e or tree.dof_group[d] == tree.dof_group[e]:
                x -= z
        tau_q[d, e] += side_d * x
        tau_v[d, e] += side_d * y


@njit
def add_cross_motion(s, v, out):
    """out : (6,) += s x v of two motions."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[i] += s[j] * v[k] - s[k] * v[j]
        out[3 + i] += s[j] * v[3 + k] - s[k] * v[3 + j] + s[3 + j] * v[k] - s[3 + k] * v[j]


@njit
def add_cross_force(s, w, out):
    """out : (6,) += s x* w of a motion and a wrench."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[i] += s[j] * w[k] - s[k] * w[j] + s[3 + j] * w[3 + k] - s[3 + k] * w[3 + j]
        out[3 + i] += s[j] * w[3 + k] - s[k] * w[3 + j]
