"""Values and Jacobian rows of all hard constraints at a pose near a given one, to find out whether a row
depends linearly on the others.
"""

from __future__ import annotations

from kernels.compiler.jit import entry
from kernels.dynamics.constraints import constraint_rows
from kernels.joints.tree import integrate, pose


@entry
def rows_beside(tree, constraints, q, step, at, q_out, work):
    """Write the values and Jacobian rows of all hard constraints, those of couplers last, at the coordinates
    q after a step; return their number.

    tree : Tree - joint tree of the bodies
    constraints : Constraints - all hard constraints of the system
    q : (n_q,) - coordinates [rad, m]
    step : (n_v,) - step along the tangent of q [rad, m]
    at : Pose - positions and orientations of the bodies in ground, and twists of all dofs, written
    q_out : (n_q,) - coordinates of the rows, written
    work : ConstraintWork - its value and row are written; a value is NaN where a path is not found
    """
    integrate(tree, q, step, 1.0, q_out)
    pose(tree, q_out, at)
    return constraint_rows(tree, constraints, at, q_out, work)
