"""What the slopes of an element are judged against: rows that are only rounding hold nothing."""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.solver.constraints import element_wrench, is_angle

SLIGHT = 1e-11
"""Part of an element's lever, squared, below which its slopes, or what they add to other rows, are rounding.

The angle is 3e-6: the last digits of an axis or a frame in a file, beside turns that a mechanism makes.
"""
NO_ROD = 4e-14
"""Square of the force of a rod whose ends are 1e-7 m apart [m^2]: of shorter ones no slope says anything."""
BORNE = math.pi * math.sqrt(SLIGHT)
"""Part of the lever by which such an element may be off [1]: its slopes at half a turn of everything."""


@njit
def lever_of(elements, pose, e, work):
    """Square of the slopes that element e, no length of a path, could have: its force along the whole motion
    of its end by each dof of its path, as if they were in line, after element_values.

    elements : Elements
    pose : Pose
    e : int - element
    work : ElementWork
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
