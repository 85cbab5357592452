"""Exact derivatives of contact wrenches with respect to position and velocity of A's surface, and the data by
which a time step finds touch-down and the reversal of sliding.

Let the patch change (ContactWork.moved): its point by x, its normal by m, its depth by d_depth and its volume
by d_V. The force then changes by B W~ x + C m + g (N_depth d_depth + N_V d_V), with the relative angular
velocity W (W~ is the matrix of its cross product), the normal n and the normal force N. The velocity of the
point is y = u + v_n n, with the sliding velocity u, the sliding speed v = |u| and the normal velocity v_n; F
is the friction. Subscripts are derivatives: N_v with respect to v_n, F_v to v, F_N to N. B is the derivative
of the force with respect to y: B = N_v g n' - (F/v) (1 - n n') - (F_v - F/v) u u'/v^2, g = n - F_N u/v. C is
that with respect to the normal alone: C = (N_v g + (F/v) n) y' + (N + (F/v) v_n) 1 + (F_v - F/v) v_n u
u'/v^2. Body B is held fixed (kernels/forces/pairs).
"""

from __future__ import annotations

import math

from kernels.compiler.jit import inlined, njit
from kernels.contact.elements import (
    AXIS,
    CENTRE,
    D_DEPTH,
    D_VOLUME,
    DEPTH,
    FORCE,
    FRICTION,
    LIMIT,
    N_CONTACT_OUT,
    NORMAL,
    PATCH,
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
)
from kernels.contact.geometries import find_moved
from kernels.contact.patch_torques import add_patch_slopes
from kernels.forces.pairs import BY_PLACE, BY_SPEED, ONSET, VELOCITY
from kernels.forces.places import add_stiffness

RAMP_PART = 0.25
"""Fraction of the depth over which viscous friction sets in, of which a contact may cross no more in one
substep (kernels/forces/kinks) [1]."""


@inlined
def add_contact_slopes(contacts, origin, step, work, pair_work):
    """Add the derivatives of all contact wrenches to those of their pairs, and write the results of the
    contacts.

    Call it after add_contacts. The derivatives are with respect to position and velocity of body A, and are
    added to pair_work.slopes. Depth, force, place and sliding velocity of each contact are written to
    work.out. Sliding speed, its rate, and the time until touch-down are written to work.kink: from them a
    time step finds where a derivative jumps. kernels/contact/elements lists the columns of both.

    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    origin : (3,) - position of the origin of body 0 in ground [m]
    step : float - length of the time step for the secant slope of friction (see friction_slope) [s],
      0 = exact
    work : ContactWork - results and working space of the contacts, written
    pair_work : PairWork - motions, wrenches and slopes of the pairs, written
    """
    for e in range(contacts.pair.shape[0]):
        p, row, out, kink = contacts.pair[e], work.state[e], work.out[e], work.kink[e]
        depth, v_n = row[PATCH], row[PATCH + 2]
        out[DEPTH] = depth
        if depth <= 0.0:
            for i in range(1, N_CONTACT_OUT):
                out[i] = 0.0
            kink[SPEED], kink[LIMIT] = -1.0, depth / v_n if v_n < 0.0 else math.inf
            continue
        write_results(row, origin, pair_work.motion[p, ONSET], out, kink)
        ramp = contacts.ramp[e]
        kink[LIMIT] = math.inf
        if ramp > 0.0 and depth < 1.2 * ramp and v_n < 0.0:
            kink[LIMIT] = -RAMP_PART * ramp / v_n
        pair_work.loaded[p] = 1
        V, slopes = pair_work.motion[p, VELOCITY], pair_work.slopes[p]
        leans = find_moved(contacts, e, row, work.Q[e], work.moved, work.meshes)
        steepness = friction_slope(step, row, kink)
        contact_slopes(contacts.round[e], leans, steepness, row, V, work.moved, slopes)
        if contacts.rolls[e] or contacts.spins[e]:
            secant = spin_kink(step, row, V, pair_work.motion[p, ONSET], kink)
            add_patch_slopes(contacts, e, secant, row, work.Q[e], V, work.moved, work.change, slopes)


@inlined
def write_results(row, origin, onset, out, kink):
    """Write normal force, friction, place and sliding velocity of a contact that touches into out, and its
    sliding speed and sliding acceleration into kink.

    row : (N_STATE,) - the contact's row of ContactWork.state
    origin : (3,) - position of the origin of body 0 in ground [m]
    onset : (6,) - part of the acceleration of A relative to B that is linear in the generalized accelerations
        [rad/s^2, m/s^2]
    out : (N_CONTACT_OUT,) - the contact's row of ContactWork.out
    kink : (N_KINK,) - the contact's row of ContactWork.kink
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
    """Return the slope with which a time step should linearise the friction force F over the sliding speed v
    [N s/m].

    It is the derivative dF/dv, or the secant F/v if that is larger and sliding would reverse within the step.
    With dF/dv, which is about 0 above the transition velocity of the friction law, such a step would keep the
    friction unchanged through the reversal, and so jump across the range of speeds in which the contact
    sticks.

    step : float - length of the time step [s], 0 = the exact slope
    row : (N_STATE,) - the contact's row of ContactWork.state
    kink : (N_KINK,) - the contact's row of ContactWork.kink
    """
    drag, F_v, speed = row[RUBBING], row[RUBBING + 1], row[RUBBING + 3]
    if step > 0.0 and speed > 0.0 and drag > F_v:
        closing = row[SLIP] * kink[RATE] + row[SLIP + 1] * kink[RATE + 1] + row[SLIP + 2] * kink[RATE + 2]
        if speed * speed + 2.0 * step * closing <= 0.0:
            return drag
    return F_v


@njit
def spinning(motion, row):
    """Return the component of an angular motion about the contact normal; 0 for a contact without normal
    force.

    motion : (6,) - velocity or acceleration of A relative to B, the angular part first
    row : (N_STATE,) - the contact's row of ContactWork.state
    """
    if not row[PRESSING] > 0.0:
        return 0.0
    n = row[AXIS : AXIS + 3]
    return motion[0] * n[0] + motion[1] * n[1] + motion[2] * n[2]


@inlined
def spin_kink(step, row, V, onset, kink):
    """Return whether the spinning of a contact would reverse within the time step, so that the secant of
    spinning friction is needed; write the spinning velocity and its rate into kink.

    step : float - length of the time step [s], 0 = the exact slope
    row : (N_STATE,) - the contact's row of ContactWork.state
    V : (6,) - velocity of the ellipsoid relative to the plane [rad/s, m/s]
    onset : (6,) - part of the acceleration of A relative to B that is linear in the generalized accelerations
        [rad/s^2, m/s^2]
    kink : (N_KINK,) - the contact's row of ContactWork.kink, of which SPIN and SPIN_RATE are written
    """
    v, a = spinning(V, row), spinning(onset, row)
    kink[SPIN], kink[SPIN_RATE] = v, a
    return step > 0.0 and v != 0.0 and v * (v + 2.0 * step * a) <= 0.0


@njit
def contact_slopes(round_, leans, steepness, row, V, moved, slopes):
    """Add the derivatives of a contact's wrench to slopes; rolling resistance and spinning friction are left
    out.

    round_ : int - 1 = A's surface is a sphere, for which the first three rows of moved are not written
    leans : bool - whether the contact's normal changes as A moves
    steepness : float - slope of friction with respect to the sliding speed [N s/m]
    row : (N_STATE,) - the contact's row of ContactWork.state
    V : (6,) - velocity of A relative to B, about the origin of body 0 [rad/s, m/s]
    moved : (6, N_MOVED) - ContactWork.moved, how the patch changes as A moves
    slopes : (2, 6, 6) - PairWork.slopes: derivatives of the wrench with respect to position and velocity,
      transposed
    """
    c, x = (row[CENTRE], row[CENTRE + 1], row[CENTRE + 2]), (row[POINT], row[POINT + 1], row[POINT + 2])
    B, g, bend = force_slopes(steepness, row)
    add_stiffness(B, x, x, slopes[BY_SPEED])
    D = swept(B, V)
    by_place = slopes[BY_PLACE]
    for k in range(3, 6):
        w = moved_wrench(D, g, moved[k], row, leans, bend)
        i, j = (k + 1) % 3, (k + 2) % 3
        add_wrench(1.0, w, by_place[k])
        add_wrench(c[j], w, by_place[i])  # the centre's way where A turns about body 0's origin
        add_wrench(-c[i], w, by_place[j])
    if not round_:
        for k in range(3):
            add_wrench(1.0, moved_wrench(D, g, moved[k], row, leans, bend), by_place[k])


@njit
def force_slopes(steepness, row):
    """Return (B, g, bend), three derivatives of a contact's force from which its changes with the patch are
    computed.

    B (nine numbers, row by row) is the derivative of the force with respect to the velocity of the point of
    contact [N s/m]. g (three numbers) is the derivative of the force with respect to the normal force [1].
    bend is (F_v - F/v)/|u|^2 [N s^3/m^3], with the sliding velocity u, the speed v = |u|, the friction force
    F and its derivative F_v = dF/dv.

    steepness : float - slope of friction with respect to the sliding speed [N s/m]
    row : (N_STATE,) - the contact's row of ContactWork.state
    """
    drag, F_N, speed, N_v = row[RUBBING], row[RUBBING + 2], row[RUBBING + 3], row[PRESSING + 3]
    nx, ny, nz = row[AXIS], row[AXIS + 1], row[AXIS + 2]
    vx, vy, vz = row[SLIP], row[SLIP + 1], row[SLIP + 2]
    grip, bend = 0.0, 0.0
    if speed > 0.0:
        grip, bend = F_N / speed, (steepness - drag) / (speed * speed)
    g = gx, gy, gz = nx - grip * vx, ny - grip * vy, nz - grip * vz
    mx, my, mz = N_v * gx + drag * nx, N_v * gy + drag * ny, N_v * gz + drag * nz
    rx, ry, rz = bend * vx, bend * vy, bend * vz
    B = (
        mx * nx - rx * vx - drag, mx * ny - rx * vy, mx * nz - rx * vz,
        my * nx - ry * vx, my * ny - ry * vy - drag, my * nz - ry * vz,
        mz * nx - rz * vx, mz * ny - rz * vy, mz * nz - rz * vz - drag,
    )  # fmt: skip
    return B, g, bend


@njit
def swept(B, V):
    """Return D = B W~ : (9,), the derivative of the contact force with respect to the position of the point
    of contact, row by row [N/m].

    W~ is the matrix of the cross product with the relative angular velocity W.

    B : (9,) - derivative of the force with respect to the velocity of the point, row by row [N s/m]
    V : (6,) - velocity of A relative to B, about the origin of body 0 [rad/s, m/s]
    """
    xx, xy, xz, yx, yy, yz, zx, zy, zz = B
    return (
        xy * V[2] - xz * V[1], xz * V[0] - xx * V[2], xx * V[1] - xy * V[0],
        yy * V[2] - yz * V[1], yz * V[0] - yx * V[2], yx * V[1] - yy * V[0],
        zy * V[2] - zz * V[1], zz * V[0] - zx * V[2], zx * V[1] - zy * V[0],
    )  # fmt: skip


@njit
def moved_wrench(D, g, change, row, leans, bend):
    """Return the change of the wrench of a contact between bodies A and B that a change of its patch (place,
    normal, depth and volume of the overlap) causes: moment and force, six floats, about the origin
    of body 0.

    D : (9,) - derivative of the force with respect to the position of the point of contact, row by row [N/m]
    g : (3,) - derivative of the force with respect to the normal force [1]
    change : (N_MOVED,) - change of the patch: of point, normal, depth and volume; a row of ContactWork.moved
    row : (N_STATE,) - the contact's row of ContactWork.state
    leans : bool - whether the contact's normal changes as A moves
    bend : float - (dF/dv - F/v)/v^2 of the friction force F at the sliding speed v [N s^3/m^3]
    """
    xx, xy, xz, yx, yy, yz, zx, zy, zz = D
    gx, gy, gz = g
    dx, dy, dz = change[0], change[1], change[2]
    push = row[PRESSING + 1] * change[D_DEPTH] + row[PRESSING + 2] * change[D_VOLUME]
    fx = xx * dx + xy * dy + xz * dz + push * gx
    fy = yx * dx + yy * dy + yz * dz + push * gy
    fz = zx * dx + zy * dy + zz * dz + push * gz
    if leans:
        mx, my, mz = change[3], change[4], change[5]
        ux, uy, uz, v_n, drag = row[SLIP], row[SLIP + 1], row[SLIP + 2], row[PATCH + 2], row[RUBBING]
        nx, ny, nz = row[AXIS], row[AXIS + 1], row[AXIS + 2]
        across = ux * mx + uy * my + uz * mz  # v . m, as a unit normal turns at right angles to itself
        press, hold, turn = row[PRESSING + 3] * across, row[PRESSING] + drag * v_n, bend * v_n * across
        rub = drag * across
        fx += press * gx + rub * nx + hold * mx + turn * ux
        fy += press * gy + rub * ny + hold * my + turn * uy
        fz += press * gz + rub * nz + hold * mz + turn * uz
    x, y, z = row[POINT], row[POINT + 1], row[POINT + 2]
    Fx, Fy, Fz = row[FORCE], row[FORCE + 1], row[FORCE + 2]
    return (
        y * fz - z * fy + dy * Fz - dz * Fy,
        z * fx - x * fz + dz * Fx - dx * Fz,
        x * fy - y * fx + dx * Fy - dy * Fx,
        fx,
        fy,
        fz,
    )


@inlined
def add_wrench(share, w, wrench):
    """Add a multiple of the wrench w, `share` times its six numbers, to wrench : (6,)."""
    wrench[0] += share * w[0]
    wrench[1] += share * w[1]
    wrench[2] += share * w[2]
    wrench[3] += share * w[3]
    wrench[4] += share * w[4]
    wrench[5] += share * w[5]
