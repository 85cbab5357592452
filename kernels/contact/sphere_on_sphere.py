"""A sphere on body A against a sphere on body B: the lens in which they overlap, and how that changes.

With the distance g of the centres and n from B's centre towards A's, the plane of the rim lies
x_b = (g^2 + r_b^2 - r_a^2)/(2 g) from B's centre and x_a = g - x_b from A's. The lens is a cap of either
sphere, h = r - x high, of the volume pi h^2 (3 r - h)/3; its rim has rho^2 = h (2 r - h) of either. As both
caps have the same first moment pi rho^4/4 about their own centres, the centroid of V = V_a + V_b lies
z = g V_a/V from B's centre; V' = -pi rho^2 and z' = (V_a + pi rho^2 (x_a V_a - x_b V_b)/V)/V, by g.
A sphere inside the other overlaps with all it has. The deepest point is halfway between the surfaces.
Spheres about one centre have no direction: nothing acts between them.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import inlined, njit
from kernels.contact.elements import AXIS, CENTRE, D_DEPTH, D_VOLUME, OWN, PATCH, POINT
from kernels.forces.places import place

DISTANCE = OWN
"""Column of ContactWork.state of this geometry: g [m]."""


@njit
def lens(g, r_a, r_b):
    """(V, V', z, z') of two spheres at the distance g of their centres, 0 < g < r_a + r_b.

    g : float [m]
    r_a, r_b : float - radii [m]
    Returns the volume [m^3], its derivative by g [m^2], the centroid's way from B's centre [m], its own [1].
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
    """The patch of contact e in row : (N_STATE,).

    pairs : Pairs
    contacts : Contacts
    e : int - contact
    pose : Pose
    row : (N_STATE,) - of ContactWork.state, written
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
    """moved[3:] : (3, N_MOVED) - change of the patch of contact e as the centre of A's sphere moves.

    contacts : Contacts
    e : int - contact
    row : (N_STATE,) - of ContactWork.state
    moved : (6, N_MOVED) - of ContactWork; a sphere may turn
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
