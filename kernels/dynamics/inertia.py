"""Mass properties of the bodies, and their spatial inertia in ground axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.compiler.jit import inlined, njit

# Columns of a spatial inertia about the origin of body 0, in ground axes.
MASS = 0
MOMENT = 1  # mass times centre (3) [kg m]
XX, YY, ZZ, XY, XZ, YZ = (
    4,
    5,
    6,
    7,
    8,
    9,
)  # second moment: the rotational inertia about the origin of body 0 [kg m^2]
N_INERTIA = 10


class Bodies(NamedTuple):
    """Mass properties of n_body bodies."""

    mass: np.ndarray  # (n_body,) [kg]
    centre: np.ndarray  # (n_body, 3) - centre of mass in the body [m]
    inertia: np.ndarray  # (n_body, 3, 3) - about the centre of mass, in body axes [kg m^2]


@inlined
def spatial_inertia(bodies, pose, inertia_out):
    """Write the spatial inertias of the bodies into inertia_out : (n_body, N_INERTIA).

    They are about the origin of body 0, in ground axes.
    """
    for b in range(bodies.mass.shape[0]):
        R, J, c, row = pose.rotation[b], bodies.inertia[b], bodies.centre[b], inertia_out[b]
        m = bodies.mass[b]
        r00, r01, r02 = R[0, 0], R[0, 1], R[0, 2]
        r10, r11, r12 = R[1, 0], R[1, 1], R[1, 2]
        r20, r21, r22 = R[2, 0], R[2, 1], R[2, 2]
        j00, j11, j22, j01, j02, j12 = J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]
        x = r00 * c[0] + r01 * c[1] + r02 * c[2] + pose.position[b, 0] - pose.position[0, 0]
        y = r10 * c[0] + r11 * c[1] + r12 * c[2] + pose.position[b, 1] - pose.position[0, 1]
        z = r20 * c[0] + r21 * c[1] + r22 * c[2] + pose.position[b, 2] - pose.position[0, 2]
        # rows of R J
        a0, a1, a2 = (
            r00 * j00 + r01 * j01 + r02 * j02,
            r00 * j01 + r01 * j11 + r02 * j12,
            r00 * j02 + r01 * j12 + r02 * j22,
        )
        b0, b1, b2 = (
            r10 * j00 + r11 * j01 + r12 * j02,
            r10 * j01 + r11 * j11 + r12 * j12,
            r10 * j02 + r11 * j12 + r12 * j22,
        )
        c0, c1, c2 = (
            r20 * j00 + r21 * j01 + r22 * j02,
            r20 * j01 + r21 * j11 + r22 * j12,
            r20 * j02 + r21 * j12 + r22 * j22,
        )
        mx, my, mz = m * x, m * y, m * z
        row[MASS] = m
        row[MOMENT], row[MOMENT + 1], row[MOMENT + 2] = mx, my, mz
        row[XX] = a0 * r00 + a1 * r01 + a2 * r02 + my * y + mz * z
        row[YY] = b0 * r10 + b1 * r11 + b2 * r12 + mx * x + mz * z
        row[ZZ] = c0 * r20 + c1 * r21 + c2 * r22 + mx * x + my * y
        row[XY] = a0 * r10 + a1 * r11 + a2 * r12 - mx * y
        row[XZ] = a0 * r20 + a1 * r21 + a2 * r22 - mx * z
        row[YZ] = b0 * r20 + b1 * r21 + b2 * r22 - my * z


@njit
def momentum(inertia, b, motion, force_out):
    """Compute force_out : (6,) = spatial inertia in row b of inertia times a spatial vector motion : (6,)."""
    m = inertia[b, MASS]
    hx, hy, hz = inertia[b, MOMENT], inertia[b, MOMENT + 1], inertia[b, MOMENT + 2]
    wx, wy, wz, ux, uy, uz = motion[0], motion[1], motion[2], motion[3], motion[4], motion[5]
    xy, xz, yz = inertia[b, XY], inertia[b, XZ], inertia[b, YZ]
    force_out[0] = inertia[b, XX] * wx + xy * wy + xz * wz + hy * uz - hz * uy
    force_out[1] = xy * wx + inertia[b, YY] * wy + yz * wz + hz * ux - hx * uz
    force_out[2] = xz * wx + yz * wy + inertia[b, ZZ] * wz + hx * uy - hy * ux
    force_out[3] = m * ux + wy * hz - wz * hy
    force_out[4] = m * uy + wz * hx - wx * hz
    force_out[5] = m * uz + wx * hy - wy * hx
