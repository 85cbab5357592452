"""An ellipsoid on body A above a plane on body B: the patch in which they overlap, and its derivatives with
respect to the motion of the ellipsoid.

With the ellipsoid's matrix Q = R diag(r^2) R', the plane's normal n and the support vector s = Q n, the
ellipsoid reaches h = sqrt(n . s) towards the plane, which lies g below its centre: the depth is h - g = h d.
Here d is the depth as a fraction of h, and a, b and c are the radii. The volume beyond the plane is V = a b c
pi d^2 (3 - d)/3, and its centroid is centre - kappa s/h with kappa = 3 (2 - d)^2/(4 (3 - d)) (Brown 2017,
MASc thesis, eqs 5.1-5.17, and its errata); the deepest point has kappa = 1. At d > 2 the whole ellipsoid is
beyond the plane, and its volume grows no more.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import inlined, njit
from kernels.contact.elements import AXIS, CENTRE, D_DEPTH, D_VOLUME, OWN, PATCH, POINT
from kernels.forces.places import direction, place

SUPPORT, HEIGHT = OWN, OWN + 3
"""Columns of ContactWork.state that this geometry defines: the support vector s [m^2], and h [m]."""


@inlined
def ellipsoid_on_plane(pairs, contacts, e, pose, row, Q):
    """Write the patch of contact e (normal, point, depth, volume and normal velocity of the overlap) into
    row, and the matrix of its ellipsoid into Q where that is needed.

    Q is not needed, and not written, for a sphere without rolling resistance and without spinning friction.

    pairs : Pairs - the two bodies of every pair
    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact
    pose : Pose - positions and orientations of all bodies in ground
    row : (N_STATE,) - the contact's row of ContactWork.state, written
    Q : (3, 3) - matrix R diag(r^2) R' of the ellipsoid in ground axes [m^2], written
    """
    p, radii = contacts.pair[e], contacts.radii[e]
    nx, ny, nz = direction(pose, pairs.body_b[p], contacts.normal[e])
    cx, cy, cz = place(pose, pairs.body_a[p], contacts.centre[e])
    x, y, z = place(pose, pairs.body_b[p], contacts.point[e])
    g = (cx - x) * nx + (cy - y) * ny + (cz - z) * nz
    if contacts.round[e] and not (contacts.rolls[e] or contacts.spins[e]):
        h = radii[0]
        sx, sy, sz = h * h * nx, h * h * ny, h * h * nz
    else:
        shape(pose, pairs.body_a[p], contacts.rotation[e], radii, Q)
        sx = Q[0, 0] * nx + Q[0, 1] * ny + Q[0, 2] * nz
        sy = Q[1, 0] * nx + Q[1, 1] * ny + Q[1, 2] * nz
        sz = Q[2, 0] * nx + Q[2, 1] * ny + Q[2, 2] * nz
        h = math.sqrt(sx * nx + sy * ny + sz * nz)
    reach = 1.0 / h
    d = 1.0 - g * reach
    deep = min(d, 2.0)
    if contacts.spread[e] and d > 0.0:
        reach *= 0.75 * (2.0 - deep) ** 2 / (3.0 - deep)
    row[CENTRE], row[CENTRE + 1], row[CENTRE + 2] = cx, cy, cz
    row[AXIS], row[AXIS + 1], row[AXIS + 2] = nx, ny, nz
    row[POINT], row[POINT + 1], row[POINT + 2] = cx - reach * sx, cy - reach * sy, cz - reach * sz
    size = math.pi * radii[0] * radii[1] * radii[2]
    row[PATCH], row[PATCH + 1] = d * h, size * deep * deep * (1.0 - deep / 3.0)
    row[SUPPORT], row[SUPPORT + 1], row[SUPPORT + 2], row[HEIGHT] = sx, sy, sz, h


@inlined
def shape(pose, body, rotation, radii, Q_out):
    """Write the matrix Q of an ellipsoid on a body, the sum over its axes of r^2 axis axis', in ground axes.

    pose : Pose - positions and orientations of all bodies in ground
    body : int - index of the body that carries the ellipsoid, -1 = ground
    rotation : (3, 3) - axes of the ellipsoid on its body, as columns
    radii : (3,) - radii along these axes [m]
    Q_out : (3, 3) - matrix of the ellipsoid [m^2], written
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


@njit
def ellipsoid_on_plane_moved(contacts, e, row, Q, moved):
    """Write the derivatives of the patch of contact e with respect to the motion of body A into moved; the
    normal of the plane does not change.

    When the ellipsoid rotates by the small rotation vector w, the support vector s changes by w x s - Q (w x
    n), and the half height h changes by (w x s) . n/h.

    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact
    row : (N_STATE,) - the contact's row of ContactWork.state
    Q : (3, 3) - matrix R diag(r^2) R' of the ellipsoid in ground axes [m^2]
    moved : (6, N_MOVED) - ContactWork.moved, written: changes of point, normal, depth and volume where A
        turns about the centre (3 rows) and where the centre moves (3); of a sphere only the last three are
        written
    """
    n, s, h = row[AXIS : AXIS + 3], row[SUPPORT : SUPPORT + 3], row[HEIGHT]
    d, radii = row[PATCH] / h, contacts.radii[e]
    deep = min(d, 2.0)
    kappa, kappa_d = 1.0, 0.0
    if contacts.spread[e]:
        kappa = 0.75 * (2.0 - deep) ** 2 / (3.0 - deep)
        kappa_d = 0.75 * (2.0 - deep) * (deep - 4.0) / (3.0 - deep) ** 2
    V_d = math.pi * radii[0] * radii[1] * radii[2] * deep * (2.0 - deep)
    sink = kappa_d / (h * h)
    for k in range(3):
        change = moved[3 + k]
        for i in range(3):
            change[i], change[3 + i] = sink * s[i] * n[k], 0.0
        change[k] += 1.0
        change[D_DEPTH], change[D_VOLUME] = -n[k], -V_d * n[k] / h
    if contacts.round[e]:
        return
    by_s, along_s = kappa / h, (kappa - kappa_d * (1.0 - d)) / (h * h * h)
    for k in range(3):
        change, i, j = moved[k], (k + 1) % 3, (k + 2) % 3
        rise = s[i] * n[j] - s[j] * n[i]
        for m in range(3):
            d_s = Q[m, i] * n[j] - Q[m, j] * n[i]
            change[m], change[3 + m] = along_s * rise * s[m] - by_s * d_s, 0.0
        change[i] += by_s * s[j]
        change[j] -= by_s * s[i]
        change[D_DEPTH], change[D_VOLUME] = rise / h, V_d * (1.0 - d) * rise / (h * h)


@njit
def ellipsoid_on_plane_grown(pairs, contacts, e, k, pose, row, change):
    """Write the derivative of the patch of contact e with respect to radius k of the ellipsoid into change.

    Let r be the radius and u the unit vector along its axis. The derivatives with respect to r are 2 r u u'
    for Q, 2 r (u . n) u for s, and r (u . n)^2/h for h. The height h (1 - d) of the centre above the plane
    does not change. Return three things: the derivative of h [1]; the factor 2 r (u . n) [m], which times u
    is the derivative of s; and u.

    pairs : Pairs - the two bodies of every pair
    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact
    k : int - index of the radius, 0 to 2
    pose : Pose - positions and orientations of all bodies in ground
    row : (N_STATE,) - the contact's row of ContactWork.state
    change : (N_MOVED,) - derivatives of point, normal, depth and volume of the patch, written
    """
    n, s, h, r = row[AXIS : AXIS + 3], row[SUPPORT : SUPPORT + 3], row[HEIGHT], contacts.radii[e, k]
    R = contacts.rotation[e]
    u = direction(pose, pairs.body_a[contacts.pair[e]], (R[0, k], R[1, k], R[2, k]))
    along = u[0] * n[0] + u[1] * n[1] + u[2] * n[2]
    d, by = row[PATCH] / h, 2.0 * r * along
    deep, grown = min(d, 2.0), r * along * along / h
    d_d = (1.0 - d) * grown / h
    kappa, d_kappa = 1.0, 0.0
    if contacts.spread[e]:
        kappa = 0.75 * (2.0 - deep) ** 2 / (3.0 - deep)
        d_kappa = 0.75 * (2.0 - deep) * (deep - 4.0) / (3.0 - deep) ** 2 * d_d
    for i in range(3):
        change[i] = ((kappa * grown / h - d_kappa) * s[i] - kappa * by * u[i]) / h
        change[3 + i] = 0.0
    radii = contacts.radii[e]
    V_d = math.pi * radii[0] * radii[1] * radii[2] * deep * (2.0 - deep)
    change[D_DEPTH], change[D_VOLUME] = grown, row[PATCH + 1] / r + V_d * d_d
    return grown, by, u


@njit
def ellipsoid_metric(round_, radius, Q, M_out):
    """Write the inverse M of an ellipsoid's matrix Q. Points y of the surface, counted from the centre,
    satisfy y' M y = 1.

    round_ : int - 1 = a sphere, for which Q is not read
    radius : float - radius of the sphere [m]
    Q : (3, 3) - matrix R diag(r^2) R' of the ellipsoid in ground axes [m^2]
    M_out : (3, 3) - inverse of Q [1/m^2], written
    """
    if round_:
        for i in range(3):
            for j in range(3):
                M_out[i, j] = 1.0 / (radius * radius) if i == j else 0.0
        return
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for m in range(3):
            p, q = (m + 1) % 3, (m + 2) % 3
            M_out[m, i] = Q[j, p] * Q[k, q] - Q[j, q] * Q[k, p]
    inverse = 1.0 / (Q[0, 0] * M_out[0, 0] + Q[0, 1] * M_out[1, 0] + Q[0, 2] * M_out[2, 0])
    for i in range(3):
        for j in range(3):
            M_out[i, j] *= inverse
