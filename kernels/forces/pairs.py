"""Pairs of bodies between which force elements act: sums over the elements of each pair, and their
generalized forces.

Every element of a pair exerts a wrench on body A, and the opposite one on body B, which depends on pose and
velocity of A relative to B. Wrenches and twists are in ground axes about the point where the origin of body 0
is at this instant (kernels/joints/tree.Pose). Derivatives are taken with B held fixed: slopes[BY_PLACE] . xi
is the change of the wrench where A is displaced by the small twist xi, and slopes[BY_SPEED] . eta its change
where the relative velocity changes by eta. A common motion of both bodies only rotates the wrench with them,
so only the dofs between the two bodies matter.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.algebra.spatial import power
from kernels.compiler.jit import inlined
from kernels.dynamics.twist_rates import twist_shift
from kernels.joints.motions import DRIVEN
from kernels.joints.tree import Tree

VELOCITY, ONSET, JERK = 0, 1, 2
"""Rows of PairWork.motion: the velocity of A relative to B, its rate by the joints' accelerations alone, and
the rate of that where a step asks for it."""
BY_PLACE, BY_SPEED = 0, 1
"""Indices of PairWork.slopes: the derivative by the place of A, and that by its velocity."""
STAYS, TURNS, SHIFTS = 0, 1, 2
"""Effect of a dof e on the twist of another dof d: nothing, S_e x S_d, or twist_rates.twist_shift."""
N_TWIST = 6


class Pairs(NamedTuple):
    """Pairs of bodies, each with its path: the dofs that move only one of the two bodies."""

    body_a: np.ndarray  # (n_pair,) int64 - -1 = ground
    body_b: np.ndarray  # (n_pair,) int64
    n_path: Annotated[np.ndarray, Integers("n_pair")]
    path: Annotated[np.ndarray, Integers("n_pair", "n_path_max")]  # dofs, ground first on either side
    side: Annotated[np.ndarray, Floats("n_pair", "n_path_max")]  # +1 moves A, -1 moves B


class PairWork(NamedTuple):
    """Wrenches and their derivatives, summed over the elements of each pair, and working space to project
    these onto the dofs.
    """

    motion: Annotated[np.ndarray, Floats("n_pair", 3, N_TWIST)]
    wrench: Annotated[np.ndarray, Floats("n_pair", N_TWIST)]  # on A
    # transposed: the change by each unit twist is a row
    slopes: Annotated[np.ndarray, Floats("n_pair", 2, N_TWIST, N_TWIST)]
    loaded: Annotated[np.ndarray, Integers("n_pair")]  # 1 = some element has slopes
    change: Annotated[np.ndarray, Floats(4, N_TWIST)]
    # what dof e (column) does to the twist of dof d (row) of one branch
    turning: Annotated[np.ndarray, Integers("n_v", "n_v")]


def new_pair_work(n_pair: int, tree: Tree) -> PairWork:
    """Allocate a PairWork: sums of wrenches and derivatives over the elements of each pair."""
    return allocate(PairWork, n_pair=n_pair, turning=turning_table(tree))


def turning_table(tree: Tree) -> np.ndarray:
    """Return a table (n_v, n_v) int64 that states how a motion of dof e (column) changes the twist of dof d
    (row).

    STAYS: there is none. TURNS: e rotates and moves the axis of d. SHIFTS: both are dofs of one joint, and
    one of them at least is neither a rotation nor a translation; the effect is that of
    twist_rates.twist_shift. The table is valid for two dofs of one branch of the tree.
    """
    n_v = len(tree.dof_body)
    table = np.zeros((n_v, n_v), np.int64)
    order = motion_order(tree)
    for d in range(n_v):
        for e in range(n_v):
            if tree.dof_body[d] != tree.dof_body[e]:
                table[d, e] = TURNS if d > e else STAYS
            elif DRIVEN in tree.dof_rotates[[d, e]]:
                table[d, e] = SHIFTS
            else:
                table[d, e] = TURNS if order[e] <= order[d] else STAYS
    return table


def motion_order(tree: Tree) -> np.ndarray:
    """Return for each dof its place in the order in which the dofs of its joint act, (n_v,) int64.

    Dofs that act at once, such as the rotations of a ball joint, have the same place. In a joint that is a
    chain of elementary rotations and translations, the place of a dof is the index of its motion; that of a
    dof which drives several motions has no meaning.
    """
    order, chains = tree.dof_group.copy(), tree.chains
    for b in range(len(tree.parent)):
        for m in range(chains.start[b], chains.start[b + 1]):
            order[tree.v_start[b] + chains.dof[m]] = m
    return order


@inlined
def clear_slopes(work):
    """Set the summed derivatives of the wrenches of all pairs (work.slopes) to zero, and work.loaded to 0: no
    element has added any yet.
    """
    for p in range(work.loaded.shape[0]):
        work.loaded[p] = 0
        for k in range(2):
            for c in range(6):
                for i in range(6):
                    work.slopes[p, k, c, i] = 0.0


@inlined
def relative_motion(pairs, twist, rate, motion, row):
    """Write motion[:, row], the relative motion of the two bodies of each pair: the sum over the dofs of its
    path of sign * twist * rate.

    pairs : Pairs - the two bodies of every pair
    twist : (n_v, 6) - twists of all dofs about the origin of body 0
    rate : (n_v,) - generalized speeds, accelerations, or rates of the accelerations
    motion : (n_pair, 3, 6) - PairWork.motion, written
    row : int - VELOCITY, ONSET or JERK, depending on what rate contains
    """
    for p in range(pairs.body_a.shape[0]):
        out = motion[p, row]
        x0, x1, x2, y0, y1, y2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(pairs.n_path[p]):
            d = pairs.path[p, k]
            speed = pairs.side[p, k] * rate[d]
            x0 += speed * twist[d, 0]
            x1 += speed * twist[d, 1]
            x2 += speed * twist[d, 2]
            y0 += speed * twist[d, 3]
            y1 += speed * twist[d, 4]
            y2 += speed * twist[d, 5]
        out[0], out[1], out[2], out[3], out[4], out[5] = x0, x1, x2, y0, y1, y2


@inlined
def add_pair_forces(pairs, twist, wrench, tau):
    """Project the wrench of each pair onto the dofs of its path, and add the result to the generalized
    forces.

    pairs : Pairs - the two bodies of every pair
    twist : (n_v, 6) - twists of all dofs
    wrench : (n_pair, 6) - wrenches on bodies A [N m, N]
    tau : (n_v,) - generalized forces [N m, N], added to
    """
    for p in range(pairs.body_a.shape[0]):
        for k in range(pairs.n_path[p]):
            d = pairs.path[p, k]
            tau[d] += pairs.side[p, k] * power(twist[d], wrench[p])


@inlined
def add_pair_derivatives(tree, pairs, pose, velocities, rates, work, tau_q, tau_v):
    """Add the derivatives of the generalized forces of all pairs (see add_pair_forces) with respect to small
    steps of the dofs to tau_q, and with respect to the speeds v to tau_v.

    A dof that moves A also moves the axes of the dofs between itself and A; a dof that moves B also moves the
    wrench and the axes of the dofs between itself and B.

    tree : Tree - the joint tree
    pairs : Pairs - the two bodies of every pair
    pose : Pose - positions and orientations of all bodies in ground
    velocities : (n_body, 6) - spatial velocities of all bodies [rad/s, m/s]
    rates : (n_v, 6) - from kernels/dynamics/twist_rates; dV/dq_e = rates[e] + twist[e] x V for a body's
        velocity V
    work : PairWork - motions, wrenches and slopes of the pairs, written
    tau_q, tau_v : (n_v, n_v) - derivatives of the generalized forces with respect to q (tangent steps) and v
    """
    twist, by_q, by_v, turned = pose.twist, work.change[0], work.change[1], work.change[2]
    for p in range(pairs.body_a.shape[0]):
        if work.loaded[p] == 0:
            continue
        for k in range(pairs.n_path[p]):
            e, side_e = pairs.path[p, k], pairs.side[p, k]
            passing_speed(twist[e], rates[e], velocities, pairs.body_a[p], work.change[3])
            wrench_changes(twist[e], side_e, work.wrench[p], work.slopes[p], work.change)
            for j in range(pairs.n_path[p]):
                d, side_d = pairs.path[p, j], pairs.side[p, j]
                s = twist[d]
                x, z = power(s, by_q), power(s, turned)
                if side_e < 0.0:
                    x += z
                if side_d == side_e:
                    if work.turning[d, e] == TURNS:
                        x -= z
                    elif work.turning[d, e] == SHIFTS:
                        x += twist_shift(tree, pose, d, e, work.wrench[p])
                tau_q[d, e] += side_d * x
                tau_v[d, e] += side_d * power(s, by_v)


@inlined
def passing_speed(s, rate, velocities, body, out):
    """Write the derivative of a body's spatial velocity with respect to the coordinate of a dof that moves
    the body: rate + s x velocity.

    s : (6,) - twist of the dof
    rate : (6,) - row of the dof in twist_rates
    velocities : (n_body, 6) - spatial velocities of the bodies [rad/s, m/s]
    body : int - index of the body, -1 = ground
    out : (6,) - derivative of the velocity, written
    """
    for i in range(6):
        out[i] = rate[i]
    if body >= 0:
        v = velocities[body]
        out[0] += s[1] * v[2] - s[2] * v[1]
        out[1] += s[2] * v[0] - s[0] * v[2]
        out[2] += s[0] * v[1] - s[1] * v[0]
        out[3] += s[1] * v[5] - s[2] * v[4] + s[4] * v[2] - s[5] * v[1]
        out[4] += s[2] * v[3] - s[0] * v[5] + s[5] * v[0] - s[3] * v[2]
        out[5] += s[0] * v[4] - s[1] * v[3] + s[3] * v[1] - s[4] * v[0]


@inlined
def wrench_changes(s, side, w, slopes, change):
    """Write the derivatives of a pair's wrench, in axes fixed in body B, with respect to one dof.

    Row 0 of change is the derivative with respect to the dof's coordinate, row 1 that with respect to its
    speed; row 2 is s x* w, the cross product of a twist and a wrench: the change of the wrench if the dof
    carries it along.

    s : (6,) - twist of the dof
    side : float - +1 = the dof moves A, -1 = B
    w : (6,) - wrench on A [N m, N]
    slopes : (2, 6, 6) - derivatives of the pair's wrench with respect to position and velocity, transposed
    change : (4, 6) - rows 0 to 2 are written; row 3 is read: the result of passing_speed
    """
    speed, turned = change[3], change[2]
    x0, x1, x2, x3, x4, x5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    y0, y1, y2, y3, y4, y5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(6):
        K, C = slopes[BY_PLACE, c], slopes[BY_SPEED, c]
        placed, moved = side * s[c], side * speed[c]
        x0 += K[0] * placed + C[0] * moved
        x1 += K[1] * placed + C[1] * moved
        x2 += K[2] * placed + C[2] * moved
        x3 += K[3] * placed + C[3] * moved
        x4 += K[4] * placed + C[4] * moved
        x5 += K[5] * placed + C[5] * moved
        y0 += C[0] * placed
        y1 += C[1] * placed
        y2 += C[2] * placed
        y3 += C[3] * placed
        y4 += C[4] * placed
        y5 += C[5] * placed
    by_q, by_v = change[0], change[1]
    by_q[0], by_q[1], by_q[2], by_q[3], by_q[4], by_q[5] = x0, x1, x2, x3, x4, x5
    by_v[0], by_v[1], by_v[2], by_v[3], by_v[4], by_v[5] = y0, y1, y2, y3, y4, y5
    turned[0] = s[1] * w[2] - s[2] * w[1] + s[4] * w[5] - s[5] * w[4]
    turned[1] = s[2] * w[0] - s[0] * w[2] + s[5] * w[3] - s[3] * w[5]
    turned[2] = s[0] * w[1] - s[1] * w[0] + s[3] * w[4] - s[4] * w[3]
    turned[3] = s[1] * w[5] - s[2] * w[4]
    turned[4] = s[2] * w[3] - s[0] * w[5]
    turned[5] = s[0] * w[4] - s[1] * w[3]
