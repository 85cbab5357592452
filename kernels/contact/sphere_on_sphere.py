"""A sphere on body A against a sphere on body B: the lens in which they overlap, and how the lens changes.

g is the distance of the centres and n the direction from B's centre towards A's. The plane of the lens's rim
lies at x_b = (g^2 + r_b^2 - r_a^2)/(2 g) from B's centre and at x_a = g - x_b from A's. The lens consists of
a cap of either sphere, of the height h = r - x and the volume pi h^2 (3 r - h)/3; its rim has the radius rho
with rho^2 = h (2 r - h) of either cap. As both caps have the same first moment pi rho^4/4 about the centre of
their sphere, the centroid of V = V_a + V_b lies at z = g V_a/V from B's centre. The derivatives with respect
to g are V' = -pi rho^2 and z' = (V_a + pi rho^2 (x_a V_a - x_b V_b)/V)/V. A sphere that lies inside the other
one overlaps with its whole volume. The deepest point is halfway between the two surfaces. Spheres with the
same centre have no normal, and no force acts between them.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import inlined, njit
from kernels.contact.elements import AXIS, CENTRE, D_DEPTH, D_VOLUME, OWN, PATCH, POINT
from kernels.forces.places import place

DISTANCE = OWN
"""Column of ContactWork.state that this geometry defines: the distance g of the centres [m]."""


@njit
def lens(g, r_a, r_b):
    """Return (V, V', z, z') of the lens of two spheres whose centres are g apart, 0 < g < r_a + r_b.

    g : float - distance of the centres [m]
    r_a, r_b : float - radii of the spheres on A and on B [m]
    V is the volume [m^3] and V' its derivative with respect to g [m^2]. z is the distance of the centroid
    from B's centre [m] and z' its derivative with respect to g [1].
    """
    if g <= abs(r_a - r_b):
        r = min(r_a, r_b)
        volume = 4.0 / 3.0 * math.pi * r * r * r
        return (volume, 0.0, g, 1.0) if r_a <= r_b else (volume, 0.0, 0.0, 0.0)
    depth = r_a + r_b - g
    h_a, h_b = (g + r_b - r_a) * depth / (2.0 * g), (g + r_a - r_b) * depth / (2.0 * g)
    V_a, V_b = math.pi * h_a * h_a * (r_a - h_a / 3.0), math.pi * h_b * h_b * (r_b - h_b / 3.0)
    rim, V = math.pi * h_a * (2.0 * r_a - h_a), V_a + V_b
    share = V_a / V
    lag = (r_a - h_a) * share - (r_b - h_b) * (1.0 - share)
    return V, -rim, g * share, share + rim * lag / V


@inlined
def sphere_on_sphere(pairs, contacts, e, pose, row):
    """Write the patch of contact e (normal, point, depth, volume and normal velocity of the overlap) into
    row.

    pairs : Pairs - the two bodies of every pair
    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact
    pose : Pose - positions and orientations of all bodies in ground
    row : (N_STATE,) - the contact's row of ContactWork.state, written
    """
    p, r_a, r_b = contacts.pair[e], contacts.radii[e, 0], contacts.radii_b[e, 0]
    ax, ay, az = place(pose, pairs.body_a[p], contacts.centre[e])
    bx, by, bz = place(pose, pairs.body_b[p], contacts.point[e])
    nx, ny, nz = ax - bx, ay - by, az - bz
    g = math.sqrt(nx * nx + ny * ny + nz * nz)
    if g > 0.0:
        nx, ny, nz = nx / g, ny / g, nz / g
    depth, z, V = r_a + r_b - g, 0.5 * (g + r_b - r_a), 0.0
    if depth > 0.0 and g > 0.0:
        V, _, centroid, _ = lens(g, r_a, r_b)
        if contacts.spread[e]:
            z = centroid
    row[CENTRE], row[CENTRE + 1], row[CENTRE + 2] = ax, ay, az
    row[AXIS], row[AXIS + 1], row[AXIS + 2] = nx, ny, nz
    row[POINT], row[POINT + 1], row[POINT + 2] = bx + z * nx, by + z * ny, bz + z * nz
    row[PATCH], row[PATCH + 1], row[DISTANCE] = depth, V, g


@njit
def sphere_on_sphere_moved(contacts, e, row, moved):
    """Write the derivatives of the patch of contact e with respect to displacements of the centre of A's
    sphere into moved[3:].

    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact
    row : (N_STATE,) - the contact's row of ContactWork.state
    moved : (6, N_MOVED) - ContactWork.moved; its first three rows are not written, as a rotation about its
        centre does not move a sphere
    """
    n, g, r_a, r_b = row[AXIS : AXIS + 3], row[DISTANCE], contacts.radii[e, 0], contacts.radii_b[e, 0]
    z, z_g, V_g, turn = 0.5 * (g + r_b - r_a), 0.5, 0.0, 0.0
    if g > 0.0:
        _, V_g, centroid, centroid_g = lens(g, r_a, r_b)
        turn = 1.0 / g
        if contacts.spread[e]:
            z, z_g = centroid, centroid_g
    for k in range(3):
        change = moved[3 + k]
        for i in range(3):
            across = turn * ((1.0 if i == k else 0.0) - n[i] * n[k])
            change[i], change[3 + i] = z_g * n[i] * n[k] + z * across, across
        change[D_DEPTH], change[D_VOLUME] = -n[k], V_g * n[k]
