"""Contact of an ellipsoid on body A with a plane on body B: geometry, normal force, friction, patch torques.

With the ellipsoid's matrix Q = R diag(r^2) R', the plane's normal n and s = Q n, the ellipsoid reaches
h = sqrt(n . s) towards the plane, which lies g below its centre: the depth is d = 1 - g/h of that height.
Volumetric contact acts at the centroid of the volume beyond the plane, centre - kappa s/h with
kappa = 3 (2 - d)^2/(4 (3 - d)) (thesis, eqs 5.1-5.17, and its errata), point contact at the deepest point,
kappa = 1.
"""

from __future__ import annotations

import math

from kernels._jit import inlined
from kernels.contact.elements import (
    AXIS,
    CENTRE,
    DEPTHS,
    FORCE,
    GYRATION,
    POINT,
    PRESSING,
    RUBBING,
    SLIP,
    SUPPORT,
)
from kernels.contact.patch import add_patch_torque
from kernels.contact.pressure import VOLUMETRIC, normal_force
from kernels.forces.pairs import VELOCITY
from kernels.forces.places import add_force, direction, place
from kernels.friction import friction_force


@inlined
def add_contacts(pairs, contacts, pose, work, pair_work):
    """Wrenches of all contacts, and work.state.

    pairs : Pairs
    contacts : Contacts
    pose : Pose
    work : ContactWork - written
    pair_work : PairWork - written
    """
    for e in range(contacts.pair.shape[0]):
        p, law, row = contacts.pair[e], contacts.law[e], work.state[e]
        b = pairs.body_b[p]
        nx, ny, nz = direction(pose, b, contacts.normal[e])
        d, h, reach = approach(pairs, contacts, e, pose, (nx, ny, nz), row, work.Q[e])
        if law == VOLUMETRIC and d > 0.0:
            deep = min(d, 2.0)
            reach *= 0.75 * (2.0 - deep) ** 2 / (3.0 - deep)
        x, y, z = (
            row[CENTRE] - reach * row[SUPPORT],
            row[CENTRE + 1] - reach * row[SUPPORT + 1],
            row[CENTRE + 2] - reach * row[SUPPORT + 2],
        )
        V = pair_work.motion[p, VELOCITY]
        vx, vy, vz = direction(pose, b, contacts.drift[e])
        vx, vy, vz = (
            V[3] + V[1] * z - V[2] * y - vx,
            V[4] + V[2] * x - V[0] * z - vy,
            V[5] + V[0] * y - V[1] * x - vz,
        )
        v_n = vx * nx + vy * ny + vz * nz
        row[DEPTHS], row[DEPTHS + 1], row[DEPTHS + 2] = d, h, v_n
        row[GYRATION] = 0.0
        if d <= 0.0:
            continue
        vx, vy, vz = vx - v_n * nx, vy - v_n * ny, vz - v_n * nz
        N, N_d, N_h, N_v = normal_force(law, contacts.pressure[e], d, h, v_n)
        speed = math.sqrt(vx * vx + vy * vy + vz * vz)
        drag, F_v, F_N = 0.0, 0.0, 0.0
        if contacts.friction_law[e] >= 0 and N > 0.0:
            F, F_v, F_N = friction_force(contacts.friction_law[e], contacts.friction[e], speed, N)
            drag = F / speed if speed > 0.0 else F_v
        fx, fy, fz = N * nx - drag * vx, N * ny - drag * vy, N * nz - drag * vz
        add_force(x, y, z, fx, fy, fz, pair_work.wrench[p])
        row[AXIS], row[AXIS + 1], row[AXIS + 2] = nx, ny, nz
        row[POINT], row[POINT + 1], row[POINT + 2] = x, y, z
        row[SLIP], row[SLIP + 1], row[SLIP + 2] = vx, vy, vz
        row[FORCE], row[FORCE + 1], row[FORCE + 2] = fx, fy, fz
        row[PRESSING], row[PRESSING + 1], row[PRESSING + 2], row[PRESSING + 3] = N, N_d, N_h, N_v
        row[RUBBING], row[RUBBING + 1], row[RUBBING + 2], row[RUBBING + 3] = drag, F_v, F_N, speed
        if contacts.rolls[e] or contacts.spins[e]:
            patch = contacts.rolls[e], contacts.spins[e], contacts.friction_law[e]
            wrench, change = pair_work.wrench[p], work.change
            add_patch_torque(
                patch, contacts.pressure[e], contacts.friction[e], row, work.Q[e], V, change, wrench
            )


@inlined
def approach(pairs, contacts, e, pose, normal, row, Q):
    """(d, h, 1/h) of contact e; centre and support vector in row; Q of an ellipsoid.

    pairs : Pairs
    contacts : Contacts
    e : int - contact
    pose : Pose
    normal : (nx, ny, nz) - of the plane in ground, unit
    row : (N_STATE,) - of ContactWork.state, written
    Q : (3, 3) - of the ellipsoid in ground axes, written [m^2]
    """
    p = contacts.pair[e]
    nx, ny, nz = normal
    cx, cy, cz = place(pose, pairs.body_a[p], contacts.centre[e])
    x, y, z = place(pose, pairs.body_b[p], contacts.point[e])
    g = (cx - x) * nx + (cy - y) * ny + (cz - z) * nz
    row[CENTRE], row[CENTRE + 1], row[CENTRE + 2] = cx, cy, cz
    if contacts.round[e] and not (contacts.rolls[e] or contacts.spins[e]):
        h = contacts.radii[e, 0]
        row[SUPPORT], row[SUPPORT + 1], row[SUPPORT + 2] = h * h * nx, h * h * ny, h * h * nz
        inverse = 1.0 / h
        return 1.0 - g * inverse, h, inverse
    shape(pose, pairs.body_a[p], contacts.rotation[e], contacts.radii[e], Q)
    sx = Q[0, 0] * nx + Q[0, 1] * ny + Q[0, 2] * nz
    sy = Q[1, 0] * nx + Q[1, 1] * ny + Q[1, 2] * nz
    sz = Q[2, 0] * nx + Q[2, 1] * ny + Q[2, 2] * nz
    row[SUPPORT], row[SUPPORT + 1], row[SUPPORT + 2] = sx, sy, sz
    h = math.sqrt(sx * nx + sy * ny + sz * nz)
    inverse = 1.0 / h
    return 1.0 - g * inverse, h, inverse


@inlined
def shape(pose, body, rotation, radii, Q_out):
    """Q_out : (3, 3) = sum over the axes of r^2 axis axis' of an ellipsoid on a body, in ground axes.

    pose : Pose
    body : int - that carries the ellipsoid, -1 = ground
    rotation : (3, 3) - axes of the ellipsoid on its body, as columns
    radii : (3,) [m]
    """
    for i in range(3):
        for j in range(3):
            Q_out[i, j] = 0.0
    for k in range(3):
        x, y, z = direction(pose, body, (rotation[0, k], rotation[1, k], rotation[2, k]))
        xx = radii[k] * radii[k]
        Q_out[0, 0] += xx * x * x
        Q_out[0, 1] += xx * x * y
        Q_out[0, 2] += xx * x * z
        Q_out[1, 1] += xx * y * y
        Q_out[1, 2] += xx * y * z
        Q_out[2, 2] += xx * z * z
    Q_out[1, 0], Q_out[2, 0], Q_out[2, 1] = Q_out[0, 1], Q_out[0, 2], Q_out[1, 2]
