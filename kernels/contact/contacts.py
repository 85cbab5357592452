"""Contact of an ellipsoid on body A with a plane on body B: geometry, normal force, friction, patch torques.

With the ellipsoid's matrix Q = R diag(r^2) R', the plane's normal n and s = Q n, the ellipsoid reaches
h = sqrt(n . s) towards the plane, which lies g below its centre: the depth is d = 1 - g/h of that height.
Volumetric contact acts at the centroid of the volume beyond the plane, centre - kappa s/h with
kappa = 3 (2 - d)^2/(4 (3 - d)) (thesis, eqs 5.1-5.17, and its errata), point contact at the deepest point,
kappa = 1.
"""

from __future__ import annotations

import math

from kernels._jit import inlined, njit
from kernels.contact.elements import (
    AXIS,
    CENTRE,
    DEPTH,
    FORCE,
    FRICTION,
    LIMIT,
    N_CONTACT_OUT,
    NORMAL,
    PLACE,
    POINT,
    SLIDING,
    SLIP,
    SPEED,
    SUPPORT,
    TORQUE,
)
from kernels.contact.patch import add_patch_torque
from kernels.contact.pressure import VOLUMETRIC, normal_force
from kernels.contact.slopes import add_contact_slopes, friction_slope, sliding_onset, write_kink
from kernels.friction import friction_force
from kernels.tree import point_in_ground


@inlined
def add_contacts(pairs, contacts, pose, derive, step, work, pair_work):
    """Wrenches of all contacts; with derive also their derivatives and work.out.

    step : length of the step [s] for the secant slope of friction (see slopes.friction_slope), 0 = exact slope
    """
    row = work.row
    for e in range(contacts.pair.shape[0]):
        p, law, friction_law = contacts.pair[e], contacts.law[e], contacts.friction_law[e]
        d, h = approach(pairs, contacts, e, pose, work)
        if derive:
            work.out[e, DEPTH] = d * h
            for i in range(1, N_CONTACT_OUT):
                work.out[e, i] = 0.0
            work.kink[e, SPEED] = -1.0
        if d <= 0.0:
            if derive:
                touch_down(pairs, contacts, e, pose, d, h, pair_work.relative[p], work)
            continue
        kappa = 1.0
        if law == VOLUMETRIC:
            deep = min(d, 2.0)
            kappa = 0.75 * (2.0 - deep) ** 2 / (3.0 - deep)
        v_n = slip(pairs, contacts, e, pose, kappa / h, pair_work.relative[p], row)
        N, N_d, N_h, N_v = normal_force(law, contacts.pressure[e], d, h, v_n)
        v, n, f = row[SLIP], row[AXIS], row[FORCE]
        speed = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        drag, F_v, F_N = 0.0, 0.0, 0.0
        if friction_law >= 0 and N > 0.0:
            F, F_v, F_N = friction_force(friction_law, contacts.friction[e], speed, N)
            drag = F / speed if speed > 0.0 else F_v
        for i in range(3):
            f[i] = N * n[i] - drag * v[i]
            row[TORQUE, i] = 0.0
        if contacts.rolls[e] or contacts.spins[e]:
            add_patch_torque(contacts, e, d, h, N, row, work.matrix, pair_work.relative[p])
        x, torque, w = row[POINT], row[TORQUE], pair_work.wrench[p]
        w[0] += x[1] * f[2] - x[2] * f[1] + torque[0]
        w[1] += x[2] * f[0] - x[0] * f[2] + torque[1]
        w[2] += x[0] * f[1] - x[1] * f[0] + torque[2]
        w[3] += f[0]
        w[4] += f[1]
        w[5] += f[2]
        if derive:
            out, origin = work.out[e], pose.position[0]
            out[NORMAL] = N
            for i in range(3):
                out[FRICTION + i], out[SLIDING + i] = -drag * v[i], v[i]
                out[PLACE + i] = x[i] + origin[i]
            sliding_onset(pair_work.onset[p], row)
            steepness = friction_slope(drag, F_v, speed, step, row)
            write_kink(d * h, contacts.ramp[e], v_n, speed, row, work.kink[e])
            pressing = N, N_d, N_h, N_v
            rubbing = (drag, steepness, F_N, speed)
            add_contact_slopes(contacts, e, d, h, kappa, pressing, rubbing, work, pair_work)


@inlined
def approach(pairs, contacts, e, pose, work):
    """(d, h) of contact e and, in work.row, centre, normal and support vector about the reference point."""
    p = contacts.pair[e]
    a, b, row, origin = pairs.body_a[p], pairs.body_b[p], work.row, pose.position[0]
    c, n, s, x = row[CENTRE], row[AXIS], row[SUPPORT], row[POINT]
    point_in_ground(pose, a, contacts.centre[e], c)
    point_in_ground(pose, b, contacts.point[e], x)
    direction_in_ground(pose, b, contacts.normal[e], n)
    g = (c[0] - x[0]) * n[0] + (c[1] - x[1]) * n[1] + (c[2] - x[2]) * n[2]
    for i in range(3):
        c[i] -= origin[i]
    if contacts.round[e]:
        h = contacts.radii[e, 0]
        for i in range(3):
            s[i] = h * h * n[i]
        return 1.0 - g / h, h
    shape(pose, a, contacts.rotation[e], contacts.radii[e], work.matrix)
    Q = work.matrix[0]
    square = 0.0
    for i in range(3):
        s[i] = Q[i, 0] * n[0] + Q[i, 1] * n[1] + Q[i, 2] * n[2]
        square += s[i] * n[i]
    h = math.sqrt(square)
    return 1.0 - g / h, h


@njit
def shape(pose, body, rotation, radii, matrix):
    """matrix[0] : (3, 3) = Q of an ellipsoid on a body, in ground axes; matrix[1] its axes."""
    Q, E = matrix[0], matrix[1]
    for i in range(3):
        for j in range(3):
            if body < 0:
                E[i, j] = rotation[i, j]
            else:
                R = pose.rotation[body]
                E[i, j] = R[i, 0] * rotation[0, j] + R[i, 1] * rotation[1, j] + R[i, 2] * rotation[2, j]
    xx, yy, zz = radii[0] * radii[0], radii[1] * radii[1], radii[2] * radii[2]
    for i in range(3):
        for j in range(3):
            Q[i, j] = xx * E[i, 0] * E[j, 0] + yy * E[i, 1] * E[j, 1] + zz * E[i, 2] * E[j, 2]


@njit
def direction_in_ground(pose, body, direction, out):
    """out : (3,) - a direction fixed in a body; body -1 is ground."""
    if body < 0:
        out[0], out[1], out[2] = direction[0], direction[1], direction[2]
        return
    R = pose.rotation[body]
    for i in range(3):
        out[i] = R[i, 0] * direction[0] + R[i, 1] * direction[1] + R[i, 2] * direction[2]


@inlined
def slip(pairs, contacts, e, pose, reach, V, row):
    """Normal velocity at the point of contact, centre - reach s; row[POINT] and the sliding velocity row[SLIP]."""
    c, n, s, x, v = row[CENTRE], row[AXIS], row[SUPPORT], row[POINT], row[SLIP]
    x[0], x[1], x[2] = c[0] - reach * s[0], c[1] - reach * s[1], c[2] - reach * s[2]
    direction_in_ground(pose, pairs.body_b[contacts.pair[e]], contacts.drift[e], v)
    v[0] = V[3] + V[1] * x[2] - V[2] * x[1] - v[0]
    v[1] = V[4] + V[2] * x[0] - V[0] * x[2] - v[1]
    v[2] = V[5] + V[0] * x[1] - V[1] * x[0] - v[2]
    v_n = v[0] * n[0] + v[1] * n[1] + v[2] * n[2]
    for i in range(3):
        v[i] -= v_n * n[i]
    return v_n


@inlined
def touch_down(pairs, contacts, e, pose, d, h, V, work):
    """work.kink of a contact that is open: the time until it closes at the present speed [s]."""
    v_n = slip(pairs, contacts, e, pose, 1.0 / h, V, work.row)
    work.kink[e, LIMIT] = d * h / v_n if v_n < 0.0 else math.inf
