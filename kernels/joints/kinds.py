"""The only place where the kernels of a joint are chosen by its kind.

A kind consists of one kernel file (its JointSizes, its motion, and whatever differs from a row of simple
rotations and translations), of its branches here, and of its row in rtsim/config/joint_kinds. With the twists
S of its dofs and its parent fixed,
  dS_d/dq_e               how steps of q along the tangent change the twists      (`joint_twist_shift`)
determines two other quantities, which are sums over the dofs with their speeds v:
  bias    sum of dS_d/dq_e v_d v_e, beside V x S v of the parent's velocity V           (`joint_velocity`)
  psi_dot sum over d of dS_d/dq_e v_d - S_e x V_b, V_b the velocity of the body         (`joint_twist_rates`)
and likewise psi_ddot of accelerations. Simple motions in a row, and simultaneous rotations, have closed forms
(kernels/joints/motions, turning). The results of a kind without a branch are NaN.
"""

from __future__ import annotations

import math

from kernels.algebra.copying import copy_frame
from kernels.algebra.spatial import crossed
from kernels.compiler.jit import inlined, njit
from kernels.joints import ball, chain, ellipsoidal, free, hinge, slider
from kernels.joints.motions import (
    JointSizes,
    add_motion,
    axis_twists,
    group_jerks,
    group_rates,
    number_difference,
    number_step,
)
from kernels.joints.turning import order_turning, turning_jerks

WELD, HINGE, SLIDER, BALL, FREE, CHAIN, ELLIPSOIDAL = 0, 1, 2, 3, 4, 5, 6
LAYOUTS = (
    JointSizes(0),
    hinge.HINGE_LAYOUT,
    slider.SLIDER_LAYOUT,
    ball.BALL_LAYOUT,
    free.FREE_LAYOUT,
    JointSizes(0),
    ellipsoidal.ELLIPSOIDAL_LAYOUT,
)
"""Sizes of each kind; those of a chain are the numbers of its motions."""


@inlined
def moves_one_by_one(kind):
    """Return whether each dof of a kind of joint is a single translation or rotation, whose coordinate is a
    length or an angle.
    """
    return kind == WELD or kind == HINGE or kind == SLIDER


@inlined
def counts_in_numbers(kind):
    """Return whether steps of the coordinates of this kind of joint are simply added to them, as lengths and
    angles are but quaternions are not.
    """
    return moves_one_by_one(kind) or kind == CHAIN


@inlined
def turns_at_once(kind):
    """Return whether the last three speeds of a kind of joint are the angular velocity of a unit
    quaternion."""
    return kind == BALL or kind == FREE or kind == ELLIPSOIDAL


@inlined
def joint_motion(tree, b, q, turned, pose_out):
    """Compute the pose of the frame of joint b on the child from the pose of its frame on the parent.

    rotation[b] and position[b] of pose_out contain the second on entry and the first on return. Axes and
    points of the joint's dofs are written, too.

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    q : (n_q,) - generalized coordinates [rad, m]
    turned : bool - whether rotation[b] is the joint's frame already; else that frame is the parent's rotation
    pose_out : Pose - positions, axes and twists at the coordinates, written
    """
    kind, p, frame = tree.kind[b], tree.parent[b], pose_out.rotation[b]
    if kind == HINGE:  # the most frequent joint saves a copy
        hinge.hinge_motion(tree, b, q, frame if turned else pose_out.rotation[p], pose_out)
        return
    if not turned:
        copy_frame(pose_out.rotation[p], frame)
    if kind == BALL:
        ball.ball_motion(tree, b, q, pose_out)
    elif kind == FREE:
        free.free_motion(tree, b, q, pose_out)
    elif kind == SLIDER:
        slider.slider_motion(tree, b, q, pose_out)
    elif kind == CHAIN:
        chain.chain_motion(tree.chains, tree.functions, tree, b, q, frame, pose_out)
    elif kind == ELLIPSOIDAL:
        ellipsoidal.ellipsoidal_motion(tree.chains, tree, b, q, pose_out)
    elif kind != WELD:  # which stays where its parent is
        pose_out.position[b, :] = math.nan


@inlined
def joint_twists(tree, b, pose_out):
    """Write the twists (velocities at unit speed) of the dofs of joint b, about the origin of body 0, into
    pose_out.twist : (n_v, 6).
    """
    kind = tree.kind[b]
    if kind == CHAIN:
        chain.chain_twists(tree.chains, tree, b, pose_out)
    elif kind == ELLIPSOIDAL:
        ellipsoidal.ellipsoidal_twists(tree.chains, tree, b, pose_out)
    elif moves_one_by_one(kind) or kind == BALL or kind == FREE:
        axis_twists(tree, b, pose_out)
    else:
        pose_out.twist[tree.v_start[b] : tree.v_start[b + 1]] = math.nan


@inlined
def joint_step(tree, b, q, delta, scale, q_out):
    """Write the coordinates of joint b after the step scale * delta along the tangent into q_out: lengths and
    angles are added, quaternions rotated.

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    q : (n_q,) - generalized coordinates [rad, m]
    delta : (n_v,) - step along the tangent of q
    scale : float - factor of the step [1]
    q_out : (n_q,) - generalized coordinates after the step, written; may be q itself
    """
    kind = tree.kind[b]
    if kind == BALL or kind == ELLIPSOIDAL:
        ball.ball_step(tree, b, q, delta, scale, q_out)
    elif kind == FREE:
        free.free_step(tree, b, q, delta, scale, q_out)
    elif counts_in_numbers(kind):
        number_step(tree, b, q, delta, scale, q_out)
    else:
        q_out[tree.q_start[b] : tree.q_start[b + 1]] = math.nan


@inlined
def joint_difference(tree, b, q_from, q_to, delta_out):
    """Write the tangent step of joint b from q_from to q_to into delta_out: differences of lengths and
    angles, rotation vectors between quaternions.

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    q_from, q_to : (n_q,) - generalized coordinates at start and end [rad, m]
    delta_out : (n_v,) - step along the tangent of q, written
    """
    kind = tree.kind[b]
    if kind == BALL or kind == ELLIPSOIDAL:
        ball.ball_difference(tree, b, q_from, q_to, delta_out)
    elif kind == FREE:
        free.free_difference(tree, b, q_from, q_to, delta_out)
    elif counts_in_numbers(kind):
        number_difference(tree, b, q_from, q_to, delta_out)
    else:
        delta_out[tree.v_start[b] : tree.v_start[b + 1]] = math.nan


@njit
def joint_coordinates(tree, b, R_joint, x_joint, q_out):
    """Write the coordinates of joint b at which its frame on the child has a given pose in its frame on the
    parent.

    Motion that the joint does not allow is left out: a hinge takes the rotation about its axis, a ball joint
    drops the translation. The coordinates of a chain joint are not changed.

    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    R_joint : (3, 3) - axes of the joint's frame on the child in that on the parent, as columns
    x_joint : (3,) - its origin there [m]
    q_out : (n_q,) - generalized coordinates, of which those of the joint are written
    """
    kind = tree.kind[b]
    if kind == HINGE:
        hinge.hinge_coordinates(tree, b, R_joint, q_out)
    elif kind == SLIDER:
        slider.slider_coordinates(tree, b, x_joint, q_out)
    elif kind == BALL or kind == ELLIPSOIDAL:
        ball.ball_coordinates(tree, b, R_joint, q_out)
    elif kind == FREE:
        free.free_coordinates(tree, b, R_joint, x_joint, q_out)
    elif kind != CHAIN:
        q_out[tree.q_start[b] : tree.q_start[b + 1]] = math.nan


@inlined
def joint_velocity(tree, pose, b, v, carrier, velocity, bias):
    """Add the motion of joint b to the parent's spatial velocity and bias acceleration, which become those of
    the body that it carries.

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    v : (n_v,) - generalized speeds [rad/s, m/s]
    carrier : (6,) - working space
    velocity : (6,) - spatial velocity of the parent, changed to that of the body [rad/s, m/s]
    bias : (6,) - spatial acceleration at zero v_dot, likewise changed [rad/s^2, m/s^2]
    """
    kind = tree.kind[b]
    if kind == CHAIN:
        chain.chain_velocity(tree, pose, b, v, velocity, bias)
    elif kind == FREE:
        free.free_velocity(tree, pose, b, v, carrier, velocity, bias)
    elif kind == BALL:
        ball.ball_velocity(tree, pose, b, v, carrier, velocity, bias)
    elif kind == ELLIPSOIDAL:
        ellipsoidal.ellipsoidal_velocity(tree, pose, b, v, carrier, velocity, bias)
    elif moves_one_by_one(kind):
        for d in range(tree.v_start[b], tree.v_start[b + 1]):
            add_motion(pose.twist, d, v[d], velocity, bias)
    else:
        velocity[:] = math.nan
        bias[:] = math.nan


@inlined
def joint_twist_rates(tree, pose, b, v, before, psi_dot_out):
    """Write psi_dot of the dofs e of joint b: the vectors with which dV_i/dq_e = psi_dot_e + S_e x V_i for
    the velocity V_i of every body i that dof e moves, with its twist S_e (kernels/dynamics/twist_rates).

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    v : (n_v,) - generalized speeds [rad/s, m/s]
    before : (6,) - spatial velocity of the parent, overwritten [rad/s, m/s]
    psi_dot_out : (n_v, 6) - psi_dot of kernels/dynamics/twist_rates, written
    """
    kind = tree.kind[b]
    if kind == CHAIN:
        chain.chain_twist_rates(tree, pose, b, v, before, psi_dot_out)
    elif kind == FREE:
        free.free_twist_rates(tree, pose, b, v, before, psi_dot_out)
    elif kind == ELLIPSOIDAL:
        ellipsoidal.ellipsoidal_twist_rates(tree, pose, b, v, before, psi_dot_out)
    elif moves_one_by_one(kind) or kind == BALL:
        group_rates(pose.twist, tree.v_start[b], tree.v_start[b + 1], before, psi_dot_out)
    else:
        psi_dot_out[tree.v_start[b] : tree.v_start[b + 1]] = math.nan


@inlined
def joint_twist_shift(tree, pose, b, d, e, w):
    """Return (dS_d/dq_e) . w of two dofs of joint b, whose parent is at rest: the derivative, with respect to
    coordinate e, of the power of a wrench w at unit speed of dof d, which has the twist S_d.

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    d, e : int - indices of the two dofs
    w : (6,) - moment about the origin of body 0 and force, held fixed in ground [N m, N]
    """
    kind = tree.kind[b]
    if kind == CHAIN:
        return chain.chain_twist_shift(tree, pose, b, d, e, w)
    if kind == ELLIPSOIDAL:
        return ellipsoidal.ellipsoidal_shift(tree, pose, b, d, e, w)
    if moves_one_by_one(kind) or kind == BALL or kind == FREE:
        return crossed(pose.twist[e], pose.twist[d], w) if tree.dof_group[e] <= tree.dof_group[d] else 0.0
    return math.nan


@inlined
def joint_jerks(tree, pose, b, q, v, v_dot, velocity, own):
    """Write two terms from which derivatives of accelerations are formed, for the dofs of joint b:
    own.psi_ddot and own.psi_s_dot.

    With V_i and A_i, the spatial velocity and acceleration of a body i that dof e moves, and S_e, the twist
    of the dof, they are defined by
      dA_i/dq_e = psi_ddot_e + psi_dot_e x V_i + S_e x A_i,   dA_i/dv_e = psi_s_dot_e = psi_dot_e + dS_e/dt
    (kernels/dynamics/derivatives).

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    v_dot : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    velocity : (6,) - spatial velocity of that body [rad/s, m/s]
    own : DerivativeWork - psi_dot is read; before contains velocity and acceleration of the parent,
      overwritten
    """
    kind = tree.kind[b]
    if kind == CHAIN:
        chain.chain_jerks(tree, pose, b, q, v, v_dot, own)
    elif kind == FREE:
        free.free_jerks(tree, pose, b, v, v_dot, velocity, own)
    elif kind == BALL:
        turning_jerks(tree, pose.twist, velocity, b, own)
    elif kind == ELLIPSOIDAL:
        ellipsoidal.ellipsoidal_jerks(tree, pose, b, v, v_dot, velocity, own)
    elif moves_one_by_one(kind):
        group_jerks(pose.twist, tree.v_start[b], tree.v_start[b + 1], own)
    else:
        own.psi_ddot[tree.v_start[b] : tree.v_start[b + 1]] = math.nan
        own.psi_s_dot[tree.v_start[b] : tree.v_start[b + 1]] = math.nan


@inlined
def joint_within(tree, pose, b, force, tau_q_out):
    """Add (dS_d/dq_e - S_e x S_d) . force to tau_q_out for all dofs d, e of joint b, with their twists S: a
    correction for the order in which the dofs of a joint move.

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    force : (6,) - wrench that the joint transmits, about the origin of body 0 [N m, N]
    tau_q_out : (n_v, n_v) - derivative of the generalized forces with respect to q, changed
    """
    kind = tree.kind[b]
    if kind == FREE:
        free.free_within(tree, pose, b, force, tau_q_out)
    elif kind == CHAIN:
        chain.chain_within(tree, pose, b, force, tau_q_out)
    elif kind == ELLIPSOIDAL:
        ellipsoidal.ellipsoidal_within(tree, pose, b, force, tau_q_out)
    elif not (moves_one_by_one(kind) or kind == BALL):  # of which this is zero
        dofs = slice(tree.v_start[b], tree.v_start[b + 1])
        tau_q_out[dofs, dofs] = math.nan


@njit
def order_joint(tree, pose, b, factor, wrench, H):
    """Correct a Hessian H with respect to steps of the coordinates, computed as if dof i moved before dof j,
    to the order in which the dofs of joint b move.

    Of two motions the one nearer to ground turns the other. With twists S and a wrench w, the second
    derivative of the work along w is that of dof i before dof j, and the other order differs by
      h_ij - h_ji = (S_i x S_j) . w
    (the Lie bracket of two motions; Featherstone 2008, Rigid Body Dynamics Algorithms, section 2.10). Between
    two joints the one nearer to ground comes first, and h_ij stands. Inside one joint it is
      h_ij + (dS_i/dq_j + dS_j/dq_i - S_i x S_j) . w / 2,
    which for simultaneous rotations is the mean of both orders.

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    factor : float - factor of the wrench [1]
    wrench : (6,) - moment about the origin of body 0 [N m] and force [N]
    H : (n_v, n_v) - second derivative along the tangent, of which the lower triangle is changed
    """
    kind = tree.kind[b]
    if kind == BALL or kind == FREE:
        order_turning(pose.twist, tree.v_start[b + 1] - 3, factor, wrench, H)
    elif kind == CHAIN:
        chain.chain_order(tree.chains, tree, pose, b, factor, wrench, H)
    elif kind == ELLIPSOIDAL:
        ellipsoidal.ellipsoidal_order(tree.chains, tree, pose, b, factor, wrench, H)
    elif not moves_one_by_one(kind):
        dofs = slice(tree.v_start[b], tree.v_start[b + 1])
        H[dofs, dofs] = math.nan


GENERAL = (CHAIN, ELLIPSOIDAL)
"""Kinds that a tree without tables does not have: where tree.chains is None, their kernels compile to
nothing."""


@inlined
def is_chain(tree, b):
    """Return whether joint b is a chain joint: several elementary rotations and translations, one after
    another. Its coordinates are fitted to a pose by least squares (kernels/joints/chain_fit).
    """
    return tree.kind[b] == CHAIN


@inlined
def is_loose(tree, b):
    """Return whether joint b is a free joint between two bodies, whose translation only ligaments, contacts
    and other elements restrict.
    """
    return tree.kind[b] == FREE and tree.parent[b] >= 0
