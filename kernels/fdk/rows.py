"""Rows of all that is held, where a model stands beside a pose: what tells whether one repeats others."""

from __future__ import annotations

from kernels.compiler.jit import entry
from kernels.dynamics.constraints import constraint_rows
from kernels.joints.tree import integrate, pose


@entry
def rows_beside(tree, constraints, q, step, at, q_out, work):
    """work.value, work.row : of all hard constraints, couplers behind, at q moved by step; returns how many.

    tree : Tree
    constraints : Constraints
    q : (n_q,) - coordinates [rad, m]
    step : (n_v,) - along the tangent of q [rad, m]
    at : Pose - written
    q_out : (n_q,) - where the rows are
    work : ConstraintWork - written; not a number in value where a path is not found
    """
    integrate(tree, q, step, 1.0, q_out)
    pose(tree, q_out, at)
    return constraint_rows(tree, constraints, at, q_out, work)
