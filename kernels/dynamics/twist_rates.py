"""How the coordinates move the twists of the dofs, and with them the velocities of all bodies.

A dof e carries round everything beyond it. Two facts say all of it, about one point at rest (the reference
point of kernels/tree.Pose.twist) and in ground axes:
  dV_i/dq_e = psi_dot_e + S_e x V_i   for every body i that e moves (`twist_rates` gives psi_dot)
  dS_d/dq_e = S_e x S_d               where e carries dof d; inside a joint see `twist_shift`
with S the twists, V the velocities of the bodies, and steps of q along the tangent (kernels/tree.integrate).
Singh, Russo, Wensing 2022 (IEEE Robotics and Automation Letters 7(2), 1776-1783) for joints whose dofs act
at once; a chain is taken motion by motion, s_n at the rate f_n' v_e.
"""

from __future__ import annotations

from kernels._jit import inlined, njit
from kernels.dynamics.motion import add_cross
from kernels.tree import CHAIN, FREE


@inlined
def twist_rates(tree, pose, v, velocities, psi_dot_out):
    """psi_dot_out : (n_v, 6) with dV_i/dq_e = psi_dot_e + S_e x V_i of every body i that dof e moves.

    psi_dot_e = V x S_e, V the velocity before e and all that acts at once with it; in a chain the sum of
    f_n' V x s_n + f_n'' v_e s_n over the motions n that e drives, each with V before that very motion.

    tree : Tree
    pose : Pose
    v : (n_v,) - speeds [rad/s, m/s]
    velocities : Velocities - at v; its carrier is working space
    """
    twist, before = pose.twist, velocities.carrier
    for b in range(tree.parent.shape[0]):
        p, start = tree.parent[b], tree.v_start[b]
        for i in range(6):
            before[i] = velocities.body[p, i] if p >= 0 else 0.0
        if tree.kind[b] == CHAIN:
            chain_twist_rates(tree, pose, b, v, before, psi_dot_out)
            continue
        for d in range(start, tree.v_start[b + 1]):
            if tree.kind[b] == FREE and d == start + 3:  # its rotations come after its translations
                for i in range(3, 6):
                    before[i] += (
                        v[start] * twist[start, i]
                        + v[start + 1] * twist[start + 1, i]
                        + v[start + 2] * twist[start + 2, i]
                    )
            cross(before, twist[d], psi_dot_out[d])


@inlined
def chain_twist_rates(tree, pose, b, v, before, psi_dot_out):
    """psi_dot_out of the dofs of chain joint b; before : (6,) - velocity of the parent, used up.

    tree : Tree
    pose : Pose
    b : int - body of the chain joint
    v : (n_v,) - speeds [rad/s, m/s]
    psi_dot_out : (n_v, 6)
    """
    chains = tree.chains
    for d in range(tree.v_start[b], tree.v_start[b + 1]):
        for i in range(6):
            psi_dot_out[d, i] = 0.0
    for m in range(chains.start[b], chains.start[b + 1]):
        d = tree.v_start[b] + chains.dof[m]
        slope, curving, screw = pose.rate[m, 0], pose.rate[m, 1] * v[d], pose.screw[m]
        add_scaled_cross(slope, before, screw, psi_dot_out[d])
        for i in range(6):
            psi_dot_out[d, i] += curving * screw[i]
            before[i] += slope * v[d] * screw[i]


@njit
def twist_shift(tree, pose, d, e, w):
    """(dS_d/dq_e) . w : how the power of a wrench on dof d at unit speed changes with coordinate e.

    w : (6,) - moment about the reference point, force, both held fixed in ground
    (S_e x S_d) . w where e carries d, or acts at once with it; zero where it comes after d or on a branch.

    tree : Tree
    pose : Pose
    d, e : int - dof
    """
    b = tree.dof_body[d]
    if tree.dof_body[e] == b:
        if tree.kind[b] == CHAIN:
            return chain_twist_shift(tree, pose, b, d, e, w)
        if tree.dof_group[e] > tree.dof_group[d]:
            return 0.0
    else:
        above = tree.dof_parent[tree.v_start[b]]
        while above > e:
            above = tree.dof_parent[above]
        if above != e:
            return 0.0
    return crossed(pose.twist[e], pose.twist[d], w)


@njit
def chain_twist_shift(tree, pose, b, d, e, w):
    """As twist_shift, of dofs d and e of chain joint b: sum of f_n' f_m' s_n x s_m, n of e before m of d.

    The coordinate itself changes its own twist by the curvatures, sum of f_n'' s_n, too.

    tree : Tree
    pose : Pose
    b : int - body of the chain joint
    d, e : int - dof
    w : (6,) - moment about the reference point and force, held fixed in ground [N m, N]
    """
    chains, first, shift = tree.chains, tree.v_start[b], 0.0
    for m in range(chains.start[b], chains.start[b + 1]):
        if first + chains.dof[m] != d:
            continue
        if d == e:
            shift += pose.rate[m, 1] * power(pose.screw[m], w)
        for n in range(chains.start[b], m):
            if first + chains.dof[n] == e:
                slopes = pose.rate[n, 0] * pose.rate[m, 0]
                shift += slopes * crossed(pose.screw[n], pose.screw[m], w)
    return shift


@njit
def cross(a, b, c_out):
    """c_out : (6,) = a x b, the spatial cross product of two motions (Featherstone 2008, eq. 2.31)."""
    for i in range(6):
        c_out[i] = 0.0
    add_cross(a, b[0], b[1], b[2], b[3], b[4], b[5], c_out)


@njit
def add_scaled_cross(scale, a, b, c_out):
    """c_out : (6,) += scale a x b of two motions : (6,)."""
    w0, w1, w2 = scale * b[0], scale * b[1], scale * b[2]
    add_cross(a, w0, w1, w2, scale * b[3], scale * b[4], scale * b[5], c_out)


@njit
def crossed(a, b, w):
    """(a x b) . w of two motions and a wrench : (6,)."""
    return (
        (a[1] * b[2] - a[2] * b[1]) * w[0]
        + (a[2] * b[0] - a[0] * b[2]) * w[1]
        + (a[0] * b[1] - a[1] * b[0]) * w[2]
        + (a[1] * b[5] - a[2] * b[4] + a[4] * b[2] - a[5] * b[1]) * w[3]
        + (a[2] * b[3] - a[0] * b[5] + a[5] * b[0] - a[3] * b[2]) * w[4]
        + (a[0] * b[4] - a[1] * b[3] + a[3] * b[1] - a[4] * b[0]) * w[5]
    )


@njit
def power(a, w):
    """a . w of a motion and a wrench : (6,)."""
    return a[0] * w[0] + a[1] * w[1] + a[2] * w[2] + a[3] * w[3] + a[4] * w[4] + a[5] * w[5]
