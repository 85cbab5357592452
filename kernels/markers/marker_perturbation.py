"""Derivative of the gradient of the marker cost with respect to the position of a measured marker."""

from __future__ import annotations

from kernels.compiler.jit import njit
from kernels.joints.couplers import fold_vector


@njit
def perturbation_gradient(tree, b, w, place, i, solver, along_out):
    """Write w J'e_i: the decrease of the marker cost's gradient with respect to the dofs, per metre by which
    the measured marker moves along axis i of ground.

    J is the Jacobian of the model marker's position, e_i the unit vector of that axis.

    tree : Tree - joint tree of the bodies
    b : int - body of the marker
    w : float - weight of the marker
    place : (3,) - position of the model marker in ground [m]
    i : int - axis of ground, 0 to 2
    solver : Work - working space of the solver; its fields pose and coupler are read
    along_out : (n_v,) - w J'e_i, written
    """
    twist, origin = solver.pose.twist, solver.pose.position[0]
    j, k = (i + 1) % 3, (i + 2) % 3
    y, z = place[j] - origin[j], place[k] - origin[k]
    along_out[:] = 0.0
    d = tree.last_dof[b]
    while d >= 0:
        along_out[d] = w * (twist[d, 3 + i] + twist[d, j] * z - twist[d, k] * y)
        d = tree.dof_parent[d]
    fold_vector(tree.couplers, solver.coupler, along_out)
