"""The published numbers of a pose (joint angles and displacements, lengthening of ligaments, contact points)
as one vector, in the order of kernels/solver/output_jacobian.
"""

from __future__ import annotations

from kernels.compiler.jit import njit
from kernels.joints.joint_angles import joint_angles
from kernels.solver.frame import report_elements


@njit
def read_outputs(model, displaced, pose, element, out, value_out):
    """Write the published numbers of a pose into one vector; call it after element_values.

    model : Skeleton - geometry of the model: bodies, joints, elements, markers
    displaced : (n_displaced,) int64 - joints with published displacements, ascending
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    element : ElementWork - end points, deviations, derivatives of the elements
    out : Outputs - results of the frame, written
    value_out : (K,) - the numbers [rad, m, 1], written
    """
    joint_angles(model.joints, pose, out.axes, out.angles, out.displacements)
    report_elements(model, pose, element, out)
    k = 0
    for j in range(out.angles.shape[0]):
        for i in range(3):
            value_out[k] = out.angles[j, i]
            k += 1
    for j in displaced:
        for i in range(3):
            value_out[k] = out.displacements[j, i]
            k += 1
    for n in range(out.lengthening.shape[0]):
        value_out[k] = out.lengthening[n]
        k += 1
    for n in range(out.contact_points.shape[0]):
        for i in range(3):
            value_out[k] = out.contact_points[n, i]
            k += 1
