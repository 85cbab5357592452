"""Derivatives, with respect to the coordinates q, of the twists S of the dofs and of the spatial velocities V
of all bodies.

A dof e carries all bodies distal to it. Two equations, about one point at rest (where the origin of body 0 is
at this instant) and in ground axes, are sufficient:
  dV_i/dq_e = psi_dot_e + S_e x V_i   for every body i that e moves (`twist_rates` gives psi_dot)
  dS_d/dq_e = S_e x S_d               where e carries dof d
where dq are steps along the tangent of q (kernels/joints/tree.integrate). If d and e belong to one joint, the
second equation depends on the kind of the joint; `twist_shift` covers this case, too. Source: Singh, Russo,
Wensing 2022 (IEEE Robotics and Automation Letters 7(2), 1776-1783) for joints whose dofs act at once.
A chain joint (kernels/joints/chain) is a row of elementary rotations and translations, each driven by a dof
directly or by a function of its coordinate. It is treated motion by motion: motion n, driven by dof e through
the function f_n, has the unit twist s_n and the speed f_n' v_e.
"""

from __future__ import annotations

from kernels.algebra.spatial import crossed
from kernels.compiler.jit import inlined, njit
from kernels.joints.kinds import joint_twist_rates, joint_twist_shift


@inlined
def twist_rates(tree, pose, v, velocities, psi_dot_out):
    """Compute psi_dot of every dof: dV_i/dq_e = psi_dot_e + S_e x V_i of every body i that dof e moves.

    S_e is the twist of dof e. psi_dot_e = V x S_e, where V is the velocity that the bodies distal to e would
    have without the motion of e, of the dofs that act at once with e, and of all that come after them. In a
    chain joint, psi_dot_e is the sum of f_n' V x s_n + f_n'' v_e s_n over the motions n, of unit twist s_n,
    that e drives by functions f_n; V is then the velocity without motion n and those after it.

    tree : Tree - joint tree of the bodies
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    v : (n_v,) - generalized speeds [rad/s, m/s]
    velocities : Velocities - at the speeds v; its field carrier is overwritten
    psi_dot_out : (n_v, 6) - psi_dot of every dof, about the origin of body 0
    """
    before = velocities.carrier
    for b in range(tree.parent.shape[0]):
        p = tree.parent[b]
        for i in range(6):
            before[i] = velocities.body[p, i] if p >= 0 else 0.0
        joint_twist_rates(tree, pose, b, v, before, psi_dot_out)


@njit
def twist_shift(tree, pose, d, e, w):
    """Return (dS_d/dq_e) . w, the derivative with respect to coordinate e of the power of a wrench w at unit
    speed of dof d.

    S_d and S_e are the twists of the dofs.

    It is (S_e x S_d) . w where e carries d or acts at once with it, and zero where e comes after d or is on
    another branch of the tree.

    tree : Tree - joint tree of the bodies
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    d, e : int - indices of the dofs
    w : (6,) - moment about the origin of body 0 and force, both fixed in ground
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
