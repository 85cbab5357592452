"""Bounds below which the derivatives of an element count as rounding errors, so that the element constrains
nothing.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.solver.constraints import element_wrench, is_angle

SLIGHT = 1e-11
"""Part of lever_of below which the sum of an element's squared derivatives is rounding error, and likewise
the part of it that other constraint rows do not contain [1].

The corresponding angle is 3e-6 rad: the last digits of an axis or a frame in a file, against the rotations of
a mechanism."""
NO_ROD = 4e-14
"""Square of the force of a rod whose ends are 1e-7 m apart [m^2]:
a shorter one has no meaningful derivatives."""
BORNE = math.pi * math.sqrt(SLIGHT)
"""Part of the square root of the lever by which an element with such derivatives may deviate [1]: what they
change over a rotation of half a turn."""


@njit
def lever_of(elements, pose, e, work):
    """Return the lever of element e: an upper bound of the sum of squares of its derivatives along the dofs
    of its path.

    Derivatives are rounding errors if the sum of their squares is less than the fraction SLIGHT of the lever.
    The derivative along a dof is the force of the element times the part of its end's motion that is parallel
    to the force. The bound takes the whole motion, as if motion and force were parallel. Call it after
    element_values, and not for path lengths.

    elements : Elements - geometry of the constraint elements
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    e : int - index of the element
    work : ElementWork - end points, deviations, derivatives of the elements
    """
    mx, my, mz, fx, fy, fz = element_wrench(elements, pose, e, work)
    twist, a, origin, turns = pose.twist, work.end_a[e], pose.position[0], is_angle(elements.kind[e])
    x, y, z = a[0] - origin[0], a[1] - origin[1], a[2] - origin[2]
    motion = 0.0
    for k in range(elements.n_path[e]):
        d = elements.path[e, k]
        wx, wy, wz = twist[d, 0], twist[d, 1], twist[d, 2]
        if turns:
            motion += wx * wx + wy * wy + wz * wz
        else:
            vx = twist[d, 3] + wy * z - wz * y
            vy = twist[d, 4] + wz * x - wx * z
            vz = twist[d, 5] + wx * y - wy * x
            motion += vx * vx + vy * vy + vz * vz
    if turns:
        return motion * (mx * mx + my * my + mz * mz)
    return motion * max(fx * fx + fy * fy + fz * fz, NO_ROD)
