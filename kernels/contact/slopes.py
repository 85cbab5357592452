"""Derivatives of contacts by the place and the velocity of their ellipsoids, exact, and what a step must
know.

Where the centre moves by x, the point of the force moves by P x, P = 1 + (kappa_d/h^2) s n', and the force
changes by (B W~ P - (N_d/h) g n') x, W the relative angular velocity; with the velocity of the point it
changes by B = N_v g n' - (F/v) (1 - n n') - (F_v - F/v) v v'/|v|^2, g = n - F_N v/|v|. Turning an ellipsoid
also changes its support vector s and its height h. The plane's body is held (kernels/forces/pairs).
"""

from __future__ import annotations

import math

from kernels._jit import inlined, njit
from kernels.contact.elements import (
    AXIS,
    CENTRE,
    DEPTH,
    DEPTHS,
    FORCE,
    FRICTION,
    GYRATION,
    LIMIT,
    N_CONTACT_OUT,
    NORMAL,
    PLACE,
    POINT,
    PRESSING,
    RATE,
    RUBBING,
    SLIDING,
    SLIP,
    SPEED,
    SPIN,
    SPIN_RATE,
    SUPPORT,
)
from kernels.contact.patch import add_patch_slopes
from kernels.contact.pressure import VOLUMETRIC
from kernels.forces.pairs import ONSET, VELOCITY
from kernels.forces.pairs import PLACE as BY_PLACE
from kernels.forces.pairs import SPEED as BY_SPEED
from kernels.forces.places import add_displaced, add_force, add_stiffness

RAMP_PART = 0.25
"""Part of the viscous ramp that one part of a split step may cross [1]."""


@inlined
def add_contact_slopes(contacts, origin, step, work, pair_work):
    """Slopes of all contacts, work.out and work.kink, after add_contacts.

    origin : (3,) - the reference point [m]
    contacts : Contacts
    step : float - length of the step [s] for the secant slope of friction (see friction_slope), 0 = exact
    work : ContactWork - written
    pair_work : PairWork - written
    """
    for e in range(contacts.pair.shape[0]):
        p, row, out, kink = contacts.pair[e], work.state[e], work.out[e], work.kink[e]
        d, h, v_n = row[DEPTHS], row[DEPTHS + 1], row[DEPTHS + 2]
        depth = d * h
        out[DEPTH] = depth
        if d <= 0.0:
            for i in range(1, N_CONTACT_OUT):
                out[i] = 0.0
            kink[SPEED], kink[LIMIT] = -1.0, depth / v_n if v_n < 0.0 else math.inf
            continue
        write_results(row, origin, pair_work.motion[p, ONSET], out, kink)
        ramp = contacts.ramp[e]
        kink[LIMIT] = math.inf
        if ramp > 0.0 and depth < 1.2 * ramp and v_n < 0.0:
            kink[LIMIT] = -RAMP_PART * ramp / v_n
        kappa, kappa_d = 1.0, 0.0
        if contacts.law[e] == VOLUMETRIC:
            deep = min(d, 2.0)
            kappa = 0.75 * (2.0 - deep) ** 2 / (3.0 - deep)
            kappa_d = 0.75 * (2.0 - deep) * (deep - 4.0) / (3.0 - deep) ** 2
        pair_work.loaded[p] = 1
        V, slopes = pair_work.motion[p, VELOCITY], pair_work.slopes[p]
        steepness = friction_slope(step, row, kink)
        contact_slopes(contacts.round[e], kappa, kappa_d, steepness, row, work.Q[e], V, slopes)
        if contacts.rolls[e] or contacts.spins[e]:
            secant = spin_kink(step, row, V, pair_work.motion[p, ONSET], kink)
            patch = contacts.rolls[e], contacts.spins[e], contacts.friction_law[e], secant
            add_patch_slopes(
                patch, (contacts.round[e], kappa, kappa_d), contacts.pressure[e], contacts.friction[e],
                row, work.Q[e], V, work.change, slopes,
            )  # fmt: skip


@inlined
def write_results(row, origin, onset, out, kink):
    """out : (N_CONTACT_OUT,) but for the depth, kink : (N_KINK,) but for the limit, in contact.

    onset : (6,) - acceleration of A relative to B by the joints' accelerations alone
    row : (N_STATE,) - of ContactWork.state
    origin : (3,) - the reference point [m]
    """
    N, drag = row[PRESSING], row[RUBBING]
    out[NORMAL], kink[SPEED] = N, row[RUBBING + 3]
    x, y, z = row[POINT], row[POINT + 1], row[POINT + 2]
    nx, ny, nz = row[AXIS], row[AXIS + 1], row[AXIS + 2]
    for i in range(3):
        out[FRICTION + i], out[SLIDING + i] = -drag * row[SLIP + i], row[SLIP + i]
        out[PLACE + i] = row[POINT + i] + origin[i]
    ax, ay, az = (
        onset[3] + onset[1] * z - onset[2] * y,
        onset[4] + onset[2] * x - onset[0] * z,
        onset[5] + onset[0] * y - onset[1] * x,
    )
    outward = ax * nx + ay * ny + az * nz
    kink[RATE], kink[RATE + 1], kink[RATE + 2] = ax - outward * nx, ay - outward * ny, az - outward * nz


@inlined
def friction_slope(step, row, kink):
    """Slope of friction by sliding speed that a step of this length [s] should reckon with.

    Where the sliding would turn round within the step, the secant F/v if it is steeper: beyond the transition
    velocity the slope at the start is about 0, and a linear step would jump across the sticking zone.
    step 0 = the exact slope
    """
    drag, F_v, speed = row[RUBBING], row[RUBBING + 1], row[RUBBING + 3]
    if step > 0.0 and speed > 0.0 and drag > F_v:
        closing = row[SLIP] * kink[RATE] + row[SLIP + 1] * kink[RATE + 1] + row[SLIP + 2] * kink[RATE + 2]
        if speed * speed + 2.0 * step * closing <= 0.0:
            return drag
    return F_v


@njit
def spinning(motion, row):
    """Part about the normal of a contact's motion : (6,), times r_g of its spinning friction."""
    n = row[AXIS : AXIS + 3]
    return row[GYRATION] * (motion[0] * n[0] + motion[1] * n[1] + motion[2] * n[2])


@inlined
def spin_kink(step, row, V, onset, kink):
    """Whether spinning would turn round within the step: its secant slope is due; its columns of kink.

    step : float - length of the step [s], 0 = exact slope
    row : (N_STATE,) - of ContactWork.state
    V : (6,) - velocity of the ellipsoid relative to the plane [rad/s, m/s]
    onset : (6,) - acceleration of A relative to B by the joints alone [rad/s^2, m/s^2]
    kink : (N_KINK,) - of ContactWork, written
    """
    v, a = spinning(V, row), spinning(onset, row)
    kink[SPIN], kink[SPIN_RATE] = v, a
    return step > 0.0 and v != 0.0 and v * (v + 2.0 * step * a) <= 0.0


@njit
def contact_slopes(round_, kappa, kappa_d, steepness, row, Q, V, slopes):
    """slopes : (2, 6, 6) += those of a contact but for the torques of its patch.

    round_ : int - 1 = a sphere
    kappa : float - place of the point of the force along s/h [1]
    kappa_d : float - its derivative by d [1]
    steepness : float - slope of friction by the sliding speed [N s/m]
    row : (N_STATE,) - of ContactWork.state
    Q : (3, 3) - of the ellipsoid in ground axes [m^2]
    V : (6,) - velocity of the ellipsoid relative to the plane [rad/s, m/s]
    """
    d, h, N_d, N_h, N_v = (
        row[DEPTHS],
        row[DEPTHS + 1],
        row[PRESSING + 1],
        row[PRESSING + 2],
        row[PRESSING + 3],
    )
    drag, F_N, speed = row[RUBBING], row[RUBBING + 2], row[RUBBING + 3]
    nx, ny, nz = row[AXIS], row[AXIS + 1], row[AXIS + 2]
    vx, vy, vz = row[SLIP], row[SLIP + 1], row[SLIP + 2]
    c, x = (row[CENTRE], row[CENTRE + 1], row[CENTRE + 2]), (row[POINT], row[POINT + 1], row[POINT + 2])
    grip, bend = 0.0, 0.0
    if speed > 0.0:
        grip, bend = F_N / speed, (steepness - drag) / (speed * speed)
    g = gx, gy, gz = nx - grip * vx, ny - grip * vy, nz - grip * vz
    mx, my, mz = N_v * gx + drag * nx, N_v * gy + drag * ny, N_v * gz + drag * nz
    rx, ry, rz = bend * vx, bend * vy, bend * vz
    xx, xy, xz = mx * nx - rx * vx - drag, mx * ny - rx * vy, mx * nz - rx * vz
    yx, yy, yz = my * nx - ry * vx, my * ny - ry * vy - drag, my * nz - ry * vz
    zx, zy, zz = mz * nx - rz * vx, mz * ny - rz * vy, mz * nz - rz * vz - drag
    add_stiffness((xx, xy, xz, yx, yy, yz, zx, zy, zz), x, x, slopes[BY_SPEED])
    # B W~
    xx, xy, xz = xy * V[2] - xz * V[1], xz * V[0] - xx * V[2], xx * V[1] - xy * V[0]
    yx, yy, yz = yy * V[2] - yz * V[1], yz * V[0] - yx * V[2], yx * V[1] - yy * V[0]
    zx, zy, zz = zy * V[2] - zz * V[1], zz * V[0] - zx * V[2], zx * V[1] - zy * V[0]
    if not round_:
        shapes = kappa / h, (kappa - kappa_d * (1.0 - d)) / (h * h * h), (N_d * (1.0 - d) / h + N_h) / h
        turn_ellipsoid(shapes, (xx, xy, xz, yx, yy, yz, zx, zy, zz), g, row, Q, slopes[BY_PLACE])
    # kappa grows with the depth, and the force with it
    sx, sy, sz = row[SUPPORT], row[SUPPORT + 1], row[SUPPORT + 2]
    q, stiff = kappa_d / (h * h), N_d / h
    ax = q * (xx * sx + xy * sy + xz * sz) - stiff * gx
    ay = q * (yx * sx + yy * sy + yz * sz) - stiff * gy
    az = q * (zx * sx + zy * sy + zz * sz) - stiff * gz
    D = (
        xx + ax * nx, xy + ax * ny, xz + ax * nz,
        yx + ay * nx, yy + ay * ny, yz + ay * nz,
        zx + az * nx, zy + az * ny, zz + az * nz,
    )  # fmt: skip
    add_stiffness(D, c, x, slopes[BY_PLACE])
    add_displaced(c, row[FORCE], row[FORCE + 1], row[FORCE + 2], slopes[BY_PLACE])
    if kappa_d != 0.0:
        add_sunk(q, row, slopes[BY_PLACE])


@njit
def add_sunk(q, row, by_place):
    """by_place : (6, 6) += moment of the force as its point moves by q s with the centre along n."""
    s, f, n, c = (
        row[SUPPORT : SUPPORT + 3],
        row[FORCE : FORCE + 3],
        row[AXIS : AXIS + 3],
        row[CENTRE : CENTRE + 3],
    )
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        moment = q * (s[i] * f[j] - s[j] * f[i])
        for m in range(3):
            by_place[3 + m, k] += moment * n[m]
            by_place[m, k] += moment * (c[(m + 1) % 3] * n[(m + 2) % 3] - c[(m + 2) % 3] * n[(m + 1) % 3])


@njit
def turn_ellipsoid(shapes, D, g, row, Q, by_place):
    """by_place : (6, 6) += what turning an ellipsoid about its centre changes, beyond what a sphere does.

    Turned by w, s changes by w x s - Q (w x n) and h by (w x s) . n/h.
    shapes : (float, float, float) - shift of the point by the change of s [1/m]; along s, by (w x s) . n
      [1/m^3]; force along g by (w x s) . n
    D : (9,) - change of the force by the shift, row by row [N/m]
    g : (3,) - direction of that force
    row : (N_STATE,) - of ContactWork.state
    Q : (3, 3) - of the ellipsoid in ground axes [m^2]
    """
    by_s, along_s, by_rise = shapes
    xx, xy, xz, yx, yy, yz, zx, zy, zz = D
    s, n, x, f = (
        row[SUPPORT : SUPPORT + 3],
        row[AXIS : AXIS + 3],
        row[POINT : POINT + 3],
        row[FORCE : FORCE + 3],
    )
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        rise = s[i] * n[j] - s[j] * n[i]
        wx, wy, wz = unit_cross(k, s[0], s[1], s[2])
        dx = along_s * rise * s[0] - by_s * (wx + Q[0, i] * n[j] - Q[0, j] * n[i])
        dy = along_s * rise * s[1] - by_s * (wy + Q[1, i] * n[j] - Q[1, j] * n[i])
        dz = along_s * rise * s[2] - by_s * (wz + Q[2, i] * n[j] - Q[2, j] * n[i])
        push = by_rise * rise
        fx = xx * dx + xy * dy + xz * dz + push * g[0]
        fy = yx * dx + yy * dy + yz * dz + push * g[1]
        fz = zx * dx + zy * dy + zz * dz + push * g[2]
        add_force(x[0], x[1], x[2], fx, fy, fz, by_place[k])
        by_place[k, 0] += dy * f[2] - dz * f[1]
        by_place[k, 1] += dz * f[0] - dx * f[2]
        by_place[k, 2] += dx * f[1] - dy * f[0]


@inlined
def unit_cross(k, x, y, z):
    """Axis k crossed with (x, y, z)."""
    if k == 0:
        return 0.0, -z, y
    if k == 1:
        return z, 0.0, -x
    return -y, x, 0.0
