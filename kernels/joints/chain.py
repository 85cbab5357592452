"""A chain joint: a row of elementary motions, each a rotation about, or a translation along, an axis that is
fixed in the frame reached by the motions before it.

Each motion is driven by a coordinate, or by a function of one (universal, planar and custom joints; Seth et
al. 2010, Nonlinear Dynamics 62, 291-303). The speeds of a chain are the time derivatives of its coordinates.
All is computed motion by motion: motion n, driven by dof e, has the unit twist (screw) s_n and the speed f_n'
v_e, with the derivative f_n' of its function.
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
    """Compute the pose of the body that a chain joint carries, motion by motion, from the joint's frame on
    the parent, which is given in frame and pose_out.position[b].

    Axis and point of every motion (pose_out.screw) and the first and second derivative of its function
    (pose_out.rate) are written as well.

    chains, functions : Chains, Functions - tree.chains and tree.functions, the tables of chain joints and of
      the functions of their motions; None in a tree without joints of these tables: this function then
      does nothing, and as it sees None in the type of the argument, the compiler leaves its code out
    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    q : (n_q,) - generalized coordinates [rad, m]
    frame : (3, 3) - axes of the joint's frame on the parent, changed to those of its frame on the child
    pose_out : Pose - positions, axes and twists at the coordinates, written
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
    """Write the unit twists of all motions of chain joint b into pose_out.screw, and the twists of its dofs,
    sums of f' screw with the derivatives f' of the motions' functions, into pose_out.twist.
    """
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
    """Add the motions of a chain joint to the parent's spatial velocity and bias acceleration, with the term
    f'' v^2 of motions that are driven by a function f of their coordinate.

    tree : Tree - the joint tree
    pose : Pose - positions and orientations of all bodies in ground
    b : int - index of the body that the joint carries
    v : (n_v,) - generalized speeds [rad/s, m/s]
    velocity : (6,) - spatial velocity of the parent, changed to that of the body [rad/s, m/s]
    bias : (6,) - spatial acceleration at zero v_dot, likewise changed [rad/s^2, m/s^2]
    """
    for m in range(tree.chains.start[b], tree.chains.start[b + 1]):
        speed = v[tree.v_start[b] + tree.chains.dof[m]]
        curving = pose.rate[m, 1] * speed * speed
        add_motion(pose.screw, m, pose.rate[m, 0] * speed, velocity, bias)
        for i in range(6):
            bias[i] += curving * pose.screw[m, i]


@inlined
def chain_twist_rates(tree, pose, b, v, before, psi_dot_out):
    """Write psi_dot of the dofs e of chain joint b: the vectors with which dV_i/dq_e = psi_dot_e + S_e x V_i
    for the velocity V_i of every body i that dof e moves, with its twist S_e.

    tree : Tree - the joint tree
    pose : Pose - positions and orientations of all bodies in ground
    b : int - index of the body that the joint carries
    v : (n_v,) - generalized speeds [rad/s, m/s]
    before : (6,) - spatial velocity of the parent, overwritten [rad/s, m/s]
    psi_dot_out : (n_v, 6) - psi_dot of kernels/dynamics/twist_rates, written
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
    """Return (dS_d/dq_e) . w of two dofs of chain joint b: the derivative, with respect to coordinate e, of
    the power of a wrench w at unit speed of dof d, which has the twist S_d.

    dS_d/dq_e is the sum of f_n' f_m' s_n x s_m over all motions n of e that come before a motion m of d, with
    unit twists s and functions f. A coordinate also changes its own twist, by the curvatures of its
    functions, the sum of f_n'' s_n.

    tree : Tree - the joint tree
    pose : Pose - positions and orientations of all bodies in ground
    b : int - index of the body that the joint carries
    d, e : int - indices of the two dofs
    w : (6,) - moment about the origin of body 0 and force, held fixed in ground [N m, N]
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
    """Write two terms from which derivatives of accelerations are formed, for the dofs of chain joint b:
    own.psi_ddot and own.psi_s_dot.

    With V_i and A_i, the spatial velocity and acceleration of a body i that dof e moves, and S_e, the twist
    of the dof, they are defined by
      dA_i/dq_e = psi_ddot_e + psi_dot_e x V_i + S_e x A_i,   dA_i/dv_e = psi_s_dot_e = psi_dot_e + dS_e/dt
    (kernels/dynamics/derivatives).

    psi_ddot is the sum, over the motions that a coordinate drives, of f' (A x s + V x (V x s)) + 2 f'' v V x
    s + (f'' v_dot + f''' v^2) s, with the motion's unit twist s, its function f, and the velocity V and
    acceleration A before the motion. psi_s_dot is 2 psi_dot.

    tree : Tree - the joint tree
    pose : Pose - positions and orientations of all bodies in ground
    b : int - index of the body that the joint carries
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    v_dot : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    own : DerivativeWork - results, written; its before contains V and A of the parent, overwritten
    """
    V, A, turned = own.before[0], own.before[1], own.before[2]
    chains, first = tree.chains, tree.v_start[b]
    for d in range(first, tree.v_start[b + 1]):
        for i in range(6):
            own.psi_ddot[d, i] = 0.0
            own.psi_s_dot[d, i] = 2.0 * own.psi_dot[d, i]
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
    """Correct a Hessian H with respect to steps of the coordinates, computed as if dof i moved before dof j,
    to the order of the motions of chain joint b (see kinds.order_joint).

    Added are - f_n' f_m' (s_n x s_m) . w for every pair in which motion n of dof i comes after motion m of
    dof j, and f_n'' s_n . w on the diagonal; s are unit twists, f functions, w is the wrench.

    chains : Chains - tree.chains, the table of chain joints; None in a tree without joints of this
        table: this function then does nothing, and as it sees None in the type of the argument, the compiler
        leaves its code out
    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    factor : float - factor of the wrench [1]
    wrench : (6,) - moment about the origin of body 0 [N m] and force [N]
    H : (n_v, n_v) - second derivative along the tangent, of which the lower triangle is changed
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
    """Correct tau_q_out, the derivatives of the generalized forces with respect to q, for the order of the
    motions in chain joint b.

    Entry [d, e] is the derivative of the force along dof d with respect to the coordinate of dof e. Its other
    terms are computed as if every dof of the joint moved the axes of all others, but a motion moves only the
    axes of the motions after it. So each pair of a motion m, driven by dof d, and a later motion n, driven by
    dof e, adds - f_m' f_n' (s_n x s_m) . force to entry [d, e]. In addition, each motion n adds f_n'' s_n .
    force to the diagonal entry [e, e] of its dof e. s are the unit twists of the motions, and f' and f'' the
    derivatives of the functions that drive them.

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    force : (6,) - wrench that the joint transmits, about the origin of body 0 [N m, N]
    tau_q_out : (n_v, n_v) - derivative of the generalized forces with respect to q, changed
    """
    chains, start = tree.chains, tree.v_start[b]
    for n in range(chains.start[b], chains.start[b + 1]):
        e = start + chains.dof[n]
        tau_q_out[e, e] += pose.rate[n, 1] * power(pose.screw[n], force)
        for m in range(chains.start[b], n):
            slopes = pose.rate[m, 0] * pose.rate[n, 0]
            tau_q_out[start + chains.dof[m], e] -= slopes * crossed(pose.screw[n], pose.screw[m], force)
