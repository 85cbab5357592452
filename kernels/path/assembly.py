"""Assembly of a model: search for coordinates that satisfy the hard constraints and, if asked for, give one
angle a wanted value.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import entry
from kernels.dynamics.constraints import add_transposed, constraint_rows, factor_rows
from kernels.dynamics.rolling import GAPS, rolling_rows
from kernels.joints.tree import integrate, pose
from kernels.path.angles import angle_value

OK, NOT_CONVERGED, NON_FINITE = 0, 1, 2


@entry
def assemble(tree, constraints, angles, angle, target, max_iterations, tolerance, pose_work, work, q):
    """Change q by least-norm Newton steps until the constraints Phi(q) = 0 and the angle theta(q) = target
    hold; return (status, residual).

    The status is OK, NOT_CONVERGED or NON_FINITE; the residual is the largest |Phi| or |theta - target| [m,
    rad].

    tree : Tree - the joint tree
    constraints : Constraints - the hard constraints
    angles : Angles - terms of all angles
    angle : int - index of the angle that is given a value, -1 = none
    target : float - value of the angle [rad]
    max_iterations : int - largest number of Newton steps
    tolerance : float - largest |Phi| and |theta - target| that count as satisfied [m, rad]
    pose_work : Pose - positions and orientations of the bodies, written
    work : ConstraintWork - rows of the constraints, and one more row that the angle takes; written
    q : (n_q,) - generalized coordinates [rad, m], changed
    """
    residual = math.inf
    for iteration in range(max_iterations + 1):
        pose(tree, q, pose_work)
        n = constraint_rows(tree, constraints, pose_work, q, work)
        n = rolling_rows(tree, constraints.rolls, pose_work, GAPS, n, work)
        if angle >= 0:
            work.value[n] = angle_value(tree, angles, angle, q, work.row[n]) - target
            work.reach[n] = 1.0
            n += 1
        residual = 0.0
        for k in range(n):
            if not math.isfinite(work.value[k]):
                return NON_FINITE, residual
            residual = max(residual, abs(work.value[k]))
            work.multiplier[k] = work.value[k]
        if residual <= tolerance:
            return OK, residual
        if iteration == max_iterations:
            break
        factor_rows(n, work.row, work.reach, work.compliance, work.kernel)
        for d in range(work.step.shape[0]):
            work.step[d] = 0.0
        add_transposed(n, work.row, work.kernel, work.multiplier, -1.0, work.step)
        integrate(tree, q, work.step, 1.0, q)
    return NOT_CONVERGED, residual
