"""Velocity-dependent part of the derivative of a body's force, as a matrix B, in ground axes.

For a motion x it is B x = I (x x V) + x x* I V + V x* I x, with spatial inertia I and velocity V of the body;
x and x* are the cross products of motions with motions and with forces.

For a pure translation x the three terms cancel (Jacobi's identity), so that B is stored in twelve numbers.
"""

from __future__ import annotations

from kernels.compiler.jit import njit
from kernels.dynamics.inertia import MASS, MOMENT, XX, XY, XZ, YY, YZ, ZZ

# B (w, u) = (N w, w x P), whatever u. Columns: N row by row (9) [kg m^2/s], then P (3) [kg m/s].
IMPULSE = 9  # P, twice the linear momentum
N_CORIOLIS = 12


@njit
def coriolis(row, velocity, coriolis_out):
    """Compute the matrix B of one body from its spatial inertia row : (N_INERTIA,) and spatial velocity :
    (6,) = (w, u).

    B is stored as a matrix N = 2 (-w X E + (h . u) 1 - u h') and a vector P = 2 (m u + w X h), with which B
    (a, b) = (N a, a X P) for a motion (a, b). m is the mass, h its first moment, E = tr(J)/2 1 - J its second
    moments, J the rotational inertia. E is used in place of J as for symmetric E tr(E) a X b = E (a X b) + E
    a X b + a X E b. The result goes into coriolis_out : (N_CORIOLIS,).
    """
    m, hx, hy, hz = 2.0 * row[MASS], 2.0 * row[MOMENT], 2.0 * row[MOMENT + 1], 2.0 * row[MOMENT + 2]
    wx, wy, wz, ux, uy, uz = velocity[0], velocity[1], velocity[2], velocity[3], velocity[4], velocity[5]
    exx, eyy, ezz = row[YY] + row[ZZ] - row[XX], row[XX] + row[ZZ] - row[YY], row[XX] + row[YY] - row[ZZ]
    exy, exz, eyz = -2.0 * row[XY], -2.0 * row[XZ], -2.0 * row[YZ]
    along = hx * ux + hy * uy + hz * uz
    coriolis_out[0] = wz * exy - wy * exz + along - ux * hx
    coriolis_out[1] = wz * eyy - wy * eyz - ux * hy
    coriolis_out[2] = wz * eyz - wy * ezz - ux * hz
    coriolis_out[3] = wx * exz - wz * exx - uy * hx
    coriolis_out[4] = wx * eyz - wz * exy + along - uy * hy
    coriolis_out[5] = wx * ezz - wz * exz - uy * hz
    coriolis_out[6] = wy * exx - wx * exy - uz * hx
    coriolis_out[7] = wy * exy - wx * eyy - uz * hy
    coriolis_out[8] = wy * exz - wx * eyz + along - uz * hz
    coriolis_out[IMPULSE] = m * ux + wy * hz - wz * hy
    coriolis_out[IMPULSE + 1] = m * uy + wz * hx - wx * hz
    coriolis_out[IMPULSE + 2] = m * uz + wx * hy - wy * hx


@njit
def add_coriolis(B, motion, force_out):
    """Add the product of a body's Coriolis matrix B : (N_CORIOLIS,), stored as the matrix N and the vector P
    of `coriolis`, and a motion : (6,) to force_out : (6,).
    """
    x, y, z = motion[0], motion[1], motion[2]
    force_out[0] += B[0] * x + B[1] * y + B[2] * z
    force_out[1] += B[3] * x + B[4] * y + B[5] * z
    force_out[2] += B[6] * x + B[7] * y + B[8] * z
    force_out[3] += y * B[IMPULSE + 2] - z * B[IMPULSE + 1]
    force_out[4] += z * B[IMPULSE] - x * B[IMPULSE + 2]
    force_out[5] += x * B[IMPULSE + 1] - y * B[IMPULSE]
