"""A chain: a row of elementary motions, each a rotation or a translation along an axis of the frame reached
so far, driven by a coordinate or by a function of one (universal, planar and custom joints; Seth et al. 2010,
Nonlinear Dynamics 62, 291-303).

It has as many coordinates as drive it, and they are their own tangent. Everything is taken motion by motion,
the motion n of dof e with its screw s_n at the rate f_n' v_e.
"""

from __future__ import annotations

from kernels.algebra.copying import copy_vector
from kernels.algebra.functions import evaluate
from kernels.algebra.rotation import rotate, turn_about
from kernels.algebra.spatial import add_scaled_cross, cross, crossed, power
from kernels.compiler.jit import inlined, njit
from kernels.dynamics.third_derivative import third_derivative
from kernels.joints.motions import DRIVEN, add_motion, pass_motion


@inlined
def chain_motion(chains, functions, tree, b, q, frame, pose_out):
    """frame : (3, 3) and pose_out.position[b] moved through a chain joint; axes, points, rates on the way.

    chains, functions : Chains, Functions - of the tree, arguments of their own so that None prunes the rest
    tree : Tree
    b : int - body of the chain joint
    q : (n_q,) - coordinates [rad, m]
    pose_out : Pose - written
    """
    if chains is None:
        return
    x = pose_out.position[b]
    for m in range(chains.start[b], chains.start[b + 1]):
        value, slope, curvature = q[tree.q_start[b] + chains.dof[m]], 1.0, 0.0
        if chains.function[m] >= 0:  # a call costs more than the rest of most motions
            value, slope, curvature = evaluate(functions, chains.function[m], value)
        pose_out.rate[m, 0], pose_out.rate[m, 1] = slope, curvature
        axis = pose_out.screw[m]
        if chains.rotates[m]:
            turn_about(frame, chains.axis[m], value, frame, axis)
        else:
            rotate(frame, chains.axis[m], axis)
            for i in range(3):
                x[i] += value * axis[i]
        axis[3], axis[4], axis[5] = x[0], x[1], x[2]
        v = tree.v_start[b] + chains.dof[m]
        if tree.dof_rotates[v] != DRIVEN:
            copy_vector(axis, pose_out.axis[v])
            copy_vector(x, pose_out.centre[v])


@inlined
def chain_twists(chains, tree, b, pose_out):
    """pose_out.screw of the motions of chain joint b as twists, and the twists of its dofs: sum f' screw."""
    if chains is None:
        return
    screw, rate, twist, origin = pose_out.screw, pose_out.rate, pose_out.twist, pose_out.position[0]
    start = tree.v_start[b]
    for d in range(start, tree.v_start[b + 1]):
        for i in range(6):
            twist[d, i] = 0.0
    for m in range(chains.start[b], chains.start[b + 1]):
        s, slope, S = screw[m], rate[m, 0], twist[start + chains.dof[m]]
        ax, ay, az = s[0], s[1], s[2]
        if chains.rotates[m]:
            x, y, z = s[3] - origin[0], s[4] - origin[1], s[5] - origin[2]
            s[3], s[4], s[5] = y * az - z * ay, z * ax - x * az, x * ay - y * ax
        else:
            s[0], s[1], s[2], s[3], s[4], s[5] = 0.0, 0.0, 0.0, ax, ay, az
        for i in range(6):
            S[i] += slope * s[i]


@inlined
def chain_velocity(tree, pose, b, v, velocity, bias):
    """velocity, bias : (6,) through the motions of a chain joint, f'' v^2 of driven ones included.

    tree : Tree
    pose : Pose
    b : int - body of the chain joint
    v : (n_v,) - speeds [rad/s, m/s]
    velocity : (6,) - carried on [rad/s, m/s]
    bias : (6,) - acceleration at zero v_dot, carried on [rad/s^2, m/s^2]
    """
    for m in range(tree.chains.start[b], tree.chains.start[b + 1]):
        speed = v[tree.v_start[b] + tree.chains.dof[m]]
        curving = pose.rate[m, 1] * speed * speed
        add_motion(pose.screw, m, pose.rate[m, 0] * speed, velocity, bias)
        for i in range(6):
            bias[i] += curving * pose.screw[m, i]


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
def chain_twist_shift(tree, pose, b, d, e, w):
    """(dS_d/dq_e) . w of dofs d and e of chain joint b: sum of f_n' f_m' s_n x s_m, n of e before m of d.

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


@inlined
def chain_jerks(tree, pose, b, q, v, v_dot, own):
    """own.psi_ddot and own.sway of the dofs of chain joint b; own.before : V and A of the parent, used up.

    Sum over the motions n that a coordinate drives of
    f' (A x s + V x (V x s)) + 2 f'' v V x s + (f'' v_dot + f''' v^2) s, with V and A before n.

    tree : Tree
    pose : Pose
    b : int - body of the chain joint
    q : (n_q,) - coordinates [rad, m]
    v : (n_v,) - speeds [rad/s, m/s]
    v_dot : (n_v,) - accelerations [rad/s^2, m/s^2]
    own : DerivativeWork - written
    """
    V, A, turned = own.before[0], own.before[1], own.before[2]
    chains, first = tree.chains, tree.v_start[b]
    for d in range(first, tree.v_start[b + 1]):
        for i in range(6):
            own.psi_ddot[d, i] = 0.0
            own.sway[d, i] = 2.0 * own.psi_dot[d, i]
    for m in range(chains.start[b], chains.start[b + 1]):
        d, s = first + chains.dof[m], pose.screw[m]
        slope, curvature, psi_ddot = pose.rate[m, 0], pose.rate[m, 1], own.psi_ddot[d]
        third = third_derivative(tree.functions, chains.function[m], q[tree.q_start[b] + chains.dof[m]])
        cross(V, s, turned)
        add_scaled_cross(slope, A, s, psi_ddot)
        add_scaled_cross(slope, V, turned, psi_ddot)
        twice, jerk = 2.0 * curvature * v[d], curvature * v_dot[d] + third * v[d] * v[d]
        for i in range(6):
            psi_ddot[i] += twice * turned[i] + jerk * s[i]
        pass_motion(slope, s, v[d], v_dot[d], V, A)
        for i in range(6):
            A[i] += curvature * v[d] * v[d] * s[i]


@njit
def chain_order(chains, tree, pose, b, factor, wrench, H):
    """As kinds.order_joint, of a chain joint: - f_n' f_m' (s_n x s_m) . w of every pair in which the motion n
    of i comes after the motion m of j, and the functions' curvatures f_n'' s_n . w on the diagonal.

    chains : Chains - of the tree, apart so that None prunes the rest
    tree : Tree, pose : Pose
    b : int - body that the joint carries
    factor : float - scales the wrench
    wrench : (6,) - moment [N m] and force [N]
    H : (n_v, n_v) - lower triangle, changed
    """
    if chains is None:
        return
    first, screw, rate = tree.v_start[b], pose.screw, pose.rate
    for n in range(chains.start[b], chains.start[b + 1]):
        i = first + chains.dof[n]
        H[i, i] += factor * rate[n, 1] * power(screw[n], wrench)
        for m in range(chains.start[b], n):
            j = first + chains.dof[m]
            if j < i:
                continue  # in the order of the dofs already
            slopes = factor * rate[n, 0] * rate[m, 0]
            H[j, i] -= slopes * crossed(screw[n], screw[m], wrench)


@inlined
def chain_within(tree, pose, b, force, tau_q_out):
    """tau_q_out : (n_v, n_v) - of every motion m of d before n of e - f_m' f_n' (s_n x s_m) . force, and the
    curvatures of one's own motions, f'' s . force.

    tree : Tree, pose : Pose
    b : int - body of the chain joint
    force : (6,) - what the joint transmits
    tau_q_out : (n_v, n_v) - changed
    """
    chains, start = tree.chains, tree.v_start[b]
    for n in range(chains.start[b], chains.start[b + 1]):
        e = start + chains.dof[n]
        tau_q_out[e, e] += pose.rate[n, 1] * power(pose.screw[n], force)
        for m in range(chains.start[b], n):
            slopes = pose.rate[m, 0] * pose.rate[n, 0]
            tau_q_out[start + chains.dof[m], e] -= slopes * crossed(pose.screw[n], pose.screw[m], force)
