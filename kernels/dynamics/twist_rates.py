"""How the coordinates move the twists of the dofs, and with them the velocities of all bodies.

A dof e carries round everything beyond it. Two facts say all of it, about one point at rest (the reference
point of kernels/joints/tree.Pose.twist) and in ground axes:
  dV_i/dq_e = psi_dot_e + S_e x V_i   for every body i that e moves (`twist_rates` gives psi_dot)
  dS_d/dq_e = S_e x S_d               where e carries dof d; inside a joint see `twist_shift`
with S the twists, V the velocities of the bodies, and steps of q along the tangent
(kernels/joints/tree.integrate). Singh, Russo, Wensing 2022 (IEEE Robotics and Automation Letters 7(2),
1776-1783) for joints whose dofs act at once; a chain is taken motion by motion, s_n at the rate f_n' v_e.
"""

from __future__ import annotations

from kernels.algebra.spatial import crossed
from kernels.compiler.jit import inlined, njit
from kernels.joints.kinds import joint_twist_rates, joint_twist_shift


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
    before = velocities.carrier
    for b in range(tree.parent.shape[0]):
        p = tree.parent[b]
        for i in range(6):
            before[i] = velocities.body[p, i] if p >= 0 else 0.0
        joint_twist_rates(tree, pose, b, v, before, psi_dot_out)


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
        return joint_twist_shift(tree, pose, b, d, e, w)
    above = tree.dof_parent[tree.v_start[b]]
    while above > e:
        above = tree.dof_parent[above]
    if above != e:
        return 0.0
    return crossed(pose.twist[e], pose.twist[d], w)
