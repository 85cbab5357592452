"""What the order of the motions inside one joint changes of second derivatives along the tangent.

Of two motions the one nearer to ground turns the other. With twists S and a wrench w, the second derivative
of what works along w is that of dof i before dof j, and the other order differs by
  h_ij - h_ji = (S_i x S_j) . w
(the Lie bracket of two motions; Featherstone 2008, Rigid Body Dynamics Algorithms, section 2.10). Between two
joints the one nearer to ground comes first, and h_ij stands. Inside one joint:
  the rotations of a ball act at once: h_ij - 1/2 (S_i x S_j) . w, the mean of both orders;
  in a chain a coordinate drives motions before and after those of another one (or of its own): of every pair
  in which the motion n of i comes after the motion m of j, the order is put right by
  - f_n' f_m' (s_n x s_m) . w, and the functions' curvatures add f_n'' s_n . w on the diagonal.
"""

from __future__ import annotations

from kernels._jit import njit
from kernels.dynamics.twist_rates import crossed, power
from kernels.tree import BALL, CHAIN, FREE


@njit
def order_joint(tree, pose, b, factor, wrench, H):
    """H : (n_v, n_v), lower triangle, of the dofs of joint b: from i before j to the joint's own order.

    tree : Tree, pose : Pose
    b : int - body that the joint carries
    factor : float - scales the wrench
    wrench : (6,) - moment about the reference point of kernels/tree.Pose.twist [N m] and force [N]
    """
    kind = tree.kind[b]
    if kind == BALL or kind == FREE:
        stop, twist = tree.v_start[b + 1], pose.twist
        for i in range(stop - 3, stop):
            for j in range(i + 1, stop):
                H[j, i] -= 0.5 * factor * crossed(twist[i], twist[j], wrench)
    elif kind == CHAIN:
        order_chain(tree.chains, tree, pose, b, factor, wrench, H)


@njit
def order_chain(chains, tree, pose, b, factor, wrench, H):
    """As order_joint, of a chain joint.

    chains : Chains - of the tree, apart so that None prunes the rest
    tree : Tree, pose : Pose
    b : int - body that the joint carries
    factor : float - scales the wrench
    wrench : (6,) - moment [N m] and force [N]
    H : (n_v, n_v) - upper triangle, changed
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
