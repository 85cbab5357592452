"""Generalized forces of reactions: of a unit force along a constraint element, which pushes the element's two
ends apart.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import entry, njit
from kernels.joints.tree import along
from kernels.solver.constraints import element_values, element_wrench


@entry
def reaction_rows(elements, which, target, pose, work, rows_out):
    """Write the generalized forces of a unit force along each of several elements into rows_out.

    On body A of an element (kernels/solver/constraints) the force is positive in the direction in which the
    element's value Phi grows. For one row this is C^(R) of Andersen et al. 2017, eqs 11-14, but as a force in
    newtons also where Phi is a squared length.

    elements : Elements - the elements of the model
    which : (n_reaction,) int64 - indices of the elements
    target : (n_element,) - target lengths of the elements [m], for their deviations, which are written into
        work; the forces do not depend on them
    pose : Pose - positions and orientations of all bodies in ground
    work : ElementWork - end points, gaps and path motions, written
    rows_out : (n_reaction, n_v) - generalized forces of a unit force along each element [1, m], written
    """
    element_values(elements, pose, target, work)
    for r in range(which.shape[0]):
        reaction_row(elements, which[r], pose, work, rows_out[r])


@njit
def reaction_row(elements, e, pose, work, row_out):
    """Write the generalized forces of a unit force along element e; zeros if its ends coincide. Call it after
    element_values.

    elements : Elements - the elements of the model
    e : int - index of the element
    pose : Pose - positions and orientations of all bodies in ground
    work : ElementWork - end points, gaps and path motions
    row_out : (n_v,) - generalized forces of a unit force along the element [1, m], written
    """
    for d in range(row_out.shape[0]):
        row_out[d] = 0.0
    mx, my, mz, fx, fy, fz = element_wrench(elements, pose, e, work)
    size = math.sqrt(fx * fx + fy * fy + fz * fz)
    if not size > 0.0:
        return
    for k in range(elements.n_path[e]):
        d = elements.path[e, k]
        row_out[d] = elements.side[e, k] / size * along(pose.twist, d, mx, my, mz, fx, fy, fz)
