"""An ellipsoidal joint: a rotation by a unit quaternion whose centre glides over an ellipsoid of the parent.

With R the child's axes in the joint's frame on the parent and n = R e_z, the child's origin is at D n, D =
diag(radii), radii [m] in tree.parameter: the point to which a stretch of the unit sphere by D moves n. n is
the normal of the ellipsoid there only along its axes, or where it is a sphere. The speeds are those of a ball
joint. (This is OpenSim's EllipsoidJoint, Simbody's mobilizer of that name.) In ground axes, with the child's
axes c_d and the matrix M of D resolved in ground, the twists of the dofs are S_d = (c_d, M (c_d x n)) about
the child's origin, and
  dS_d/dq_e = S_e x S_d + (0, K(c_d, c_e)),  K(a, c) = M (c x (a x n)) - c x M (a x n)
so that all equations are those of a ball joint with additional terms in K.
"""

from __future__ import annotations

from kernels.algebra.copying import copy_frame
from kernels.algebra.rotation import multiply
from kernels.algebra.spatial import crossed, vector_product
from kernels.compiler.jit import njit
from kernels.joints.ball import ball_velocity
from kernels.joints.motions import DRIVEN, ROTATES, JointSizes, group_rates
from kernels.joints.turning import order_turning, turn_by, turning_jerks

ELLIPSOIDAL_LAYOUT = JointSizes(4, (DRIVEN, DRIVEN, ROTATES), (0, 0, 0))


@njit
def ellipsoidal_motion(chains, tree, b, q, pose_out):
    """Write rotation and position of body b, and the twists of ellipsoidal joint b about the origin of
    ground, into pose_out.

    chains : Chains - tree.chains, the table of chain joints; None in a tree without chain and ellipsoidal
        joints: this function then does nothing, and as it sees None in the type of the argument, the compiler
        leaves its code out
    tree : Tree - the joint tree
    b : int - index of the body that the joint carries
    q : (n_q,) - generalized coordinates
    pose_out : Pose - positions, axes and twists at the coordinates, written
    """
    if chains is None:
        return
    k, v, frame, x = tree.q_start[b], tree.v_start[b], pose_out.rotation[b], pose_out.position[b]
    turn_by(frame, q[k : k + 4], pose_out.work)
    R, F, radii, twist = pose_out.work[0], pose_out.work[1], tree.parameter[b], pose_out.twist
    for i in range(3):
        for d in range(3):
            twist[v + d, i], twist[v + d, 3 + i] = frame[i, d], 0.0
        for j in range(3):
            along = F[i, j] * radii[j]
            x[i] += along * R[j, 2]
            twist[v, 3 + i] -= along * R[j, 1]
            twist[v + 1, 3 + i] += along * R[j, 0]
    for d in range(v, v + 3):
        carried = vector_product(first_three(x), first_three(twist[d]))
        for i in range(3):
            twist[d, 3 + i] += carried[i]
    for i in range(3):
        pose_out.axis[v + 2, i], pose_out.centre[v + 2, i] = frame[i, 2], x[i]


@njit
def ellipsoidal_twists(chains, tree, b, pose_out):
    """Convert the twists of ellipsoidal joint b, about the origin of ground, to those about the origin of
    body 0; nothing is done if chains is None.
    """
    if chains is None:
        return
    twist, origin = pose_out.twist, pose_out.position[0]
    for d in range(tree.v_start[b], tree.v_start[b + 1]):
        carried = vector_product(first_three(origin), first_three(twist[d]))
        for i in range(3):
            twist[d, 3 + i] -= carried[i]


@njit
def find_tensor(tree, b, pose):
    """Write the matrix M of ellipsoidal joint b into pose.work[1] : (3, 3): diag(radii), given in the joint's
    frame on the parent, resolved in ground axes.
    """
    p, F, M, radii = tree.parent[b], pose.work[0], pose.work[1], tree.parameter[b]
    if p < 0:
        copy_frame(tree.rotation_in_parent[b], F)
    else:
        multiply(pose.rotation[p], tree.rotation_in_parent[b], F)
    for i in range(3):
        for j in range(3):
            M[i, j] = (
                F[i, 0] * radii[0] * F[j, 0] + F[i, 1] * radii[1] * F[j, 1] + F[i, 2] * radii[2] * F[j, 2]
            )


@njit
def product(M, a):
    """Return the product M a of a matrix : (3, 3) and a vector of three numbers."""
    return (
        M[0, 0] * a[0] + M[0, 1] * a[1] + M[0, 2] * a[2],
        M[1, 0] * a[0] + M[1, 1] * a[1] + M[1, 2] * a[2],
        M[2, 0] * a[0] + M[2, 1] * a[1] + M[2, 2] * a[2],
    )


@njit
def first_three(a):
    """Return the first three numbers of an array as a tuple."""
    return a[0], a[1], a[2]


@njit
def bend(M, n, a, c):
    """Return K(a, c) = M (c x (a x n)) - c x M (a x n), the part of dS_d/dq_e that an ellipsoidal joint has
    beyond that of a ball joint (see the module). M : (3, 3); n, a, c : three numbers each.
    """
    moved = vector_product(a, n)
    turned, carried = product(M, vector_product(c, moved)), vector_product(c, product(M, moved))
    return turned[0] - carried[0], turned[1] - carried[1], turned[2] - carried[2]


@njit
def angular(twist, start, v):
    """Return the angular velocity of a joint, the sum of speed v_d times angular part of the twist over the
    three dofs from start on.
    """
    return (
        v[start] * twist[start, 0] + v[start + 1] * twist[start + 1, 0] + v[start + 2] * twist[start + 2, 0],
        v[start] * twist[start, 1] + v[start + 1] * twist[start + 1, 1] + v[start + 2] * twist[start + 2, 1],
        v[start] * twist[start, 2] + v[start + 1] * twist[start + 1, 2] + v[start + 2] * twist[start + 2, 2],
    )


@njit
def ellipsoidal_velocity(tree, pose, b, v, carrier, velocity, bias):
    """Add the motion of ellipsoidal joint b to the parent's spatial velocity and bias acceleration, as for a
    ball joint; the bias also gets (0, K(w, w)), with the joint's angular velocity w and K of the module.

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    v : (n_v,) - generalized speeds [rad/s]
    carrier : (6,) - working space
    velocity : (6,) - spatial velocity of the parent, changed to that of the body [rad/s, m/s]
    bias : (6,) - spatial acceleration at zero v_dot, likewise changed [rad/s^2, m/s^2]
    """
    ball_velocity(tree, pose, b, v, carrier, velocity, bias)
    start = tree.v_start[b]
    find_tensor(tree, b, pose)
    w = angular(pose.twist, start, v)
    K = bend(pose.work[1], first_three(pose.twist[start + 2]), w, w)
    for i in range(3):
        bias[3 + i] += K[i]


@njit
def ellipsoidal_twist_rates(tree, pose, b, v, before, psi_dot_out):
    """Write psi_dot = V x S_e + (0, K(w, c_e)) of the dofs e of ellipsoidal joint b: the vectors with which
    dV_i/dq_e = psi_dot_e + S_e x V_i for the velocity V_i of every body i that dof e moves. V is the velocity
    before the joint, w its angular velocity; S_e are the twists, c_e the axes, K is that of the module.

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    v : (n_v,) - generalized speeds [rad/s]
    before : (6,) - spatial velocity of the parent [rad/s, m/s]
    psi_dot_out : (n_v, 6) - psi_dot of kernels/dynamics/twist_rates, written
    """
    start, twist = tree.v_start[b], pose.twist
    group_rates(twist, start, start + 3, before, psi_dot_out)
    find_tensor(tree, b, pose)
    M, w, n = pose.work[1], angular(twist, start, v), first_three(twist[start + 2])
    for e in range(start, start + 3):
        K = bend(M, n, w, first_three(twist[e]))
        for i in range(3):
            psi_dot_out[e, 3 + i] += K[i]


@njit
def ellipsoidal_shift(tree, pose, b, d, e, w):
    """Return (dS_d/dq_e) . w of two dofs of ellipsoidal joint b: the derivative, with respect to coordinate
    e, of the power of a wrench w at unit speed of dof d, which has the twist S_d.

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    d, e : int - indices of the two dofs
    w : (6,) - moment about the origin of body 0 and force [N m, N]
    """
    twist = pose.twist
    n = first_three(twist[tree.v_start[b] + 2])
    find_tensor(tree, b, pose)
    K = bend(pose.work[1], n, first_three(twist[d]), first_three(twist[e]))
    return crossed(twist[e], twist[d], w) + K[0] * w[3] + K[1] * w[4] + K[2] * w[5]


@njit
def ellipsoidal_jerks(tree, pose, b, v, v_dot, velocity, own):
    """Write two terms from which derivatives of accelerations are formed, for the dofs of ellipsoidal joint
    b: own.psi_ddot and own.psi_s_dot.

    With V_i and A_i, the spatial velocity and acceleration of a body i that dof e moves, and S_e, the twist
    of the dof, they are defined by
      dA_i/dq_e = psi_ddot_e + psi_dot_e x V_i + S_e x A_i,   dA_i/dv_e = psi_s_dot_e = psi_dot_e + dS_e/dt
    (kernels/dynamics/derivatives).

    They are those of a ball joint and, with m = w x n,
      psi_s_dot += (0, K(c_e, w))
      psi_ddot += (0, W x K(w, c_e) + K(w_dot, c_e)
                      + M (c_e x (w x m)) - (c_e x w) x M m - w x M (c_e x m) - c_e x K(w, w))
    where w is the angular velocity of the joint and W that of the body; c_e are the axes of the dofs, n, M
    and K are those of the module.

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    v : (n_v,) - generalized speeds [rad/s]
    v_dot : (n_v,) - generalized accelerations [rad/s^2]
    velocity : (6,) - spatial velocity of that body [rad/s, m/s]
    own : DerivativeWork - results, written; its before contains velocity and acceleration of the parent
    """
    turning_jerks(tree, pose.twist, velocity, b, own)
    find_tensor(tree, b, pose)
    start, twist, M = tree.v_start[b], pose.twist, pose.work[1]
    w, w_dot, n = angular(twist, start, v), angular(twist, start, v_dot), first_three(twist[start + 2])
    m = vector_product(w, n)
    K, T, curved = bend(M, n, w, w), product(M, m), vector_product(w, m)
    for e in range(start, start + 3):
        c = first_three(twist[e])
        gained = bend(M, n, c, w)
        carried = vector_product(first_three(velocity), bend(M, n, w, c))
        driven, outer = bend(M, n, w_dot, c), product(M, vector_product(c, curved))
        first = vector_product(vector_product(c, w), T)
        second, third = vector_product(w, product(M, vector_product(c, m))), vector_product(c, K)
        for i in range(3):
            own.psi_s_dot[e, 3 + i] += gained[i]
            own.psi_ddot[e, 3 + i] += carried[i] + driven[i] + outer[i] - first[i] - second[i] - third[i]


@njit
def ellipsoidal_within(tree, pose, b, force, tau_q_out):
    """Add K(c_d, c_e) . force for the dofs d, e of ellipsoidal joint b to tau_q_out: the terms that arise
    because its dofs change each other's twists. c_d, c_e are the axes of the dofs, K is that of the module.

    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    force : (6,) - wrench that the joint transmits, about the origin of body 0 [N m, N]
    tau_q_out : (n_v, n_v) - derivative of the generalized forces with respect to q, changed
    """
    find_tensor(tree, b, pose)
    start, twist, M = tree.v_start[b], pose.twist, pose.work[1]
    n = first_three(twist[start + 2])
    for d in range(start, start + 3):
        for e in range(start, start + 3):
            K = bend(M, n, first_three(twist[d]), first_three(twist[e]))
            tau_q_out[d, e] += K[0] * force[3] + K[1] * force[4] + K[2] * force[5]


@njit
def ellipsoidal_order(chains, tree, pose, b, factor, wrench, H):
    """Correct a Hessian H with respect to steps of the coordinates, computed as if dof i moved before dof j,
    to simultaneous rotations of ellipsoidal joint b (see kinds.order_joint).

    Two terms are added to each entry ij of the three dofs: - (S_i x S_j) . w / 2, the whole correction of a
    ball joint, and (K(c_i, c_j) + K(c_j, c_i)) . f / 2. S are the twists of the dofs and c their axes, w is
    the wrench and f its force, K is that of the module.

    chains : Chains - tree.chains, the table of chain joints; None in a tree without chain and ellipsoidal
        joints: this function then does nothing, and as it sees None in the type of the argument, the compiler
        leaves its code out
    tree : Tree, pose : Pose - the joint tree, and positions and twists at its coordinates
    b : int - index of the body that the joint carries
    factor : float - factor of the wrench [1]
    wrench : (6,) - moment about the origin of body 0 [N m] and force f [N]
    H : (n_v, n_v) - second derivative along the tangent, of which the lower triangle is changed
    """
    if chains is None:
        return
    find_tensor(tree, b, pose)
    start, twist, M = tree.v_start[b], pose.twist, pose.work[1]
    order_turning(twist, start, factor, wrench, H)
    n = first_three(twist[start + 2])
    for i in range(start, start + 3):
        for j in range(i, start + 3):
            one = bend(M, n, first_three(twist[i]), first_three(twist[j]))
            other = bend(M, n, first_three(twist[j]), first_three(twist[i]))
            for k in range(3):
                H[j, i] += 0.5 * factor * (one[k] + other[k]) * wrench[3 + k]
