"""Derivatives of a contact by the place and the velocity of its ellipsoid: six columns each, exact.

Each column is a directional derivative along a unit twist; the plane's body is held (kernels/forces/pairs).
"""

from __future__ import annotations

import math

from kernels._jit import njit
from kernels.contact.elements import (
    AXIS,
    CENTRE,
    D_CENTRE,
    D_FORCE,
    D_POINT,
    D_SLIP,
    D_SUPPORT,
    D_TORQUE,
    ETA,
    FORCE,
    LIMIT,
    OMEGA,
    ONSET,
    POINT,
    RATE,
    SLIP,
    SPEED,
    SUPPORT,
)
from kernels.contact.patch import add_patch_slope
from kernels.contact.pressure import VOLUMETRIC

RAMP_PART = 0.2
"""Part of the viscous ramp that one part of a split step may cross [1]."""


@njit
def friction_slope(drag, F_v, speed, step, row):
    """Slope of friction by sliding speed that a step of this length [s] should reckon with.

    Where the sliding would turn round within the step, the secant F/v if it is steeper: beyond the transition
    velocity the slope at the start is about 0, and a linear step would jump across the sticking zone.
    drag : F/v [N s/m]; row[ONSET] : sliding acceleration; step 0 = the exact slope.
    """
    if step > 0.0 and speed > 0.0 and drag > F_v:
        v, a = row[SLIP], row[ONSET]
        if speed * speed + 2.0 * step * (v[0] * a[0] + v[1] * a[1] + v[2] * a[2]) <= 0.0:
            return drag
    return F_v


@njit
def sliding_onset(onset, row):
    """row[ONSET] : (3,) - sliding acceleration at the point of contact, from onset : (6,) the relative twist's rate."""
    n, x, a = row[AXIS], row[POINT], row[ONSET]
    outward = 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        a[i] = onset[3 + i] + onset[j] * x[k] - onset[k] * x[j]
        outward += a[i] * n[i]
    for i in range(3):
        a[i] -= outward * n[i]


@njit
def write_kink(depth, ramp, v_n, speed, row, kink_out):
    """kink_out : (N_KINK,) of one contact, after sliding_onset."""
    kink_out[SPEED] = speed
    for i in range(3):
        kink_out[RATE + i] = row[ONSET, i]
    kink_out[LIMIT] = math.inf
    if ramp > 0.0 and depth < 1.6 * ramp and v_n != 0.0:
        kink_out[LIMIT] = RAMP_PART * ramp / abs(v_n)


@njit
def add_contact_slopes(contacts, e, d, h, kappa, pressing, rubbing, work, pair_work):
    """by_place, by_speed of the contact's pair += the derivatives of contact e.

    pressing : (N, N_d, N_h, N_v) of kernels/contact/pressure; rubbing : (F/v, slope by v, F_N, v) of friction
    """
    p = contacts.pair[e]
    by_place, by_speed, V = pair_work.by_place[p], pair_work.by_speed[p], pair_work.relative[p]
    row, change = work.row, work.change
    round_, patch = contacts.round[e], contacts.rolls[e] or contacts.spins[e]
    kappa_d = 0.0
    if contacts.law[e] == VOLUMETRIC and d < 2.0:
        kappa_d = 0.75 * (2.0 - d) * (d - 4.0) / (3.0 - d) ** 2
    x, f, torque, d_x, d_f = row[POINT], row[FORCE], change[D_TORQUE], change[D_POINT], change[D_FORCE]
    omega, eta = change[OMEGA], change[ETA]
    for c in range(6):
        for i in range(3):
            omega[i], eta[i], torque[i] = 1.0 if i == c else 0.0, 0.0, 0.0
        d_d, d_h = displace(c, d, h, kappa, kappa_d, round_, row, work.matrix[0], V, change)
        d_N = force_change(d_d, d_h, pressing, rubbing, row, change)
        if patch:
            add_patch_slope(contacts, e, d, h, d_d, d_h, pressing[0], d_N, row, work.matrix, V, change)
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            moment = d_x[j] * f[k] - d_x[k] * f[j] + x[j] * d_f[k] - x[k] * d_f[j]
            by_place[i, c] += moment + torque[i]
            by_place[3 + i, c] += d_f[i]
    for c in range(6):
        for i in range(3):
            omega[i], eta[i], torque[i] = 0.0, 1.0 if i == c else 0.0, 0.0
            change[D_SUPPORT, i] = 0.0
        unit_motion(c, x, change[D_SLIP])
        d_N = force_change(0.0, 0.0, pressing, rubbing, row, change)
        if patch:
            add_patch_slope(contacts, e, d, h, 0.0, 0.0, pressing[0], d_N, row, work.matrix, V, change)
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            by_speed[i, c] += x[j] * d_f[k] - x[k] * d_f[j] + torque[i]
            by_speed[3 + i, c] += d_f[i]


@njit
def unit_motion(c, x, out):
    """out : (3,) - velocity of the point x in motion number c: turning about an axis, or moving along one."""
    out[0], out[1], out[2] = 0.0, 0.0, 0.0
    if c > 2:
        out[c - 3] = 1.0
    else:
        j, k = (c + 1) % 3, (c + 2) % 3
        out[j], out[k] = -x[k], x[j]


@njit
def displace(c, d, h, kappa, kappa_d, round_, row, Q, V, change):
    """(change of d, of h) where the ellipsoid is displaced by unit twist c; of its vectors in change."""
    n, s = row[AXIS], row[SUPPORT]
    d_c, d_s, d_x, d_v = change[D_CENTRE], change[D_SUPPORT], change[D_POINT], change[D_SLIP]
    unit_motion(c, row[CENTRE], d_c)
    d_h = 0.0
    for i in range(3):
        d_s[i] = 0.0
    if not round_ and c < 3:
        j, k = (c + 1) % 3, (c + 2) % 3
        # s turns with the ellipsoid, and the normal, seen from it, the other way: w x s - Q (w x n)
        d_s[j], d_s[k] = -s[k], s[j]
        for i in range(3):
            d_s[i] -= Q[i, k] * n[j] - Q[i, j] * n[k]
        d_h = (s[j] * n[k] - s[k] * n[j]) / h
    lift = n[0] * d_c[0] + n[1] * d_c[1] + n[2] * d_c[2]
    d_d = ((1.0 - d) * d_h - lift) / h
    along = kappa_d * d_d / h - kappa * d_h / (h * h)
    for i in range(3):
        d_x[i] = d_c[i] - along * s[i] - kappa * d_s[i] / h
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        d_v[i] = V[j] * d_x[k] - V[k] * d_x[j]
    return d_d, d_h


@njit
def force_change(d_d, d_h, pressing, rubbing, row, change):
    """Change of the normal force; change[D_FORCE] of the whole force; change[D_SLIP] loses its normal part."""
    _, N_d, N_h, N_v = pressing
    drag, slope, F_N, speed = rubbing
    n, v, d_v, d_f = row[AXIS], row[SLIP], change[D_SLIP], change[D_FORCE]
    d_vn = d_v[0] * n[0] + d_v[1] * n[1] + d_v[2] * n[2]
    d_N = N_d * d_d + N_h * d_h + N_v * d_vn
    along, grow = 0.0, 0.0
    for i in range(3):
        d_v[i] -= d_vn * n[i]
        along += v[i] * d_v[i]
    if speed > 0.0:
        grow = F_N * d_N / speed + (slope - drag) * along / (speed * speed)
    for i in range(3):
        d_f[i] = d_N * n[i] - drag * d_v[i] - grow * v[i]
    return d_N
