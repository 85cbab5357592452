"""Wrench of an elastic foundation on the vertices in contact, and its stiffness: the force on a vertex is
modulus x area x depth. Wrenches and twists are about the origin of the surface that the vertices touch, in
its axes.

The force on vertex i is f_i = p a_i d_i m, with the modulus p, its area a_i and depth d_i and a unit
direction m (Andersen et al. 2017: f_i = p v_i, v_i = a_i d_i). There are two choices of m. With m = n, the
gradient of the distance from the surface, the forces have a potential, the sum of p a_i d_i^2/2. Where the
vertex moves by x, f_i changes by -K x, K = p a_i (n n' - d_i B); the curvature B of the distance is (1 - n n'
- t t')/s at the distance s from an edge along t, (1 - n n')/s at a corner, 0 over a face. With m opposite to
the vertex's own normal, m rotates with its surface, and the sum is that of a pressure p d on that surface: it
is continuous where n jumps from one closest triangle to the next, and has no potential. f_i then changes by
-p a_i m n' x, and by the rotation of m.
"""

from __future__ import annotations

from kernels.compiler.jit import inlined, njit
from kernels.forces.places import add_force
from kernels.mesh.meshes import (
    ALONG,
    AWAY,
    BEND,
    CONTACT_AREA,
    DEEP,
    LARGEST_DEPTH,
    N_TOUCHING,
    OWN_NORMAL,
    PLACE,
    PUSH,
    SHARE,
    VOLUME,
)


@njit
def add_pressed(touch, first, n, modulus, weight, patch, sums):
    """Add the forces on some vertices in contact to a wrench, and their areas, volumes and depths to the
    patch.

    touch : (n_kept, N_TOUCH) - MeshWork.touch, the vertices in contact
    first, n : int - first row of touch, and number of rows
    modulus : float - pressure per depth [N/m^3]
    weight : float - factor of the areas: 1/2 if the vertices of both surfaces are used, else 1
    patch : (N_MESH_PATCH,) - the contact's row of MeshWork.patch; all columns but the centre of pressure are
        added to
    sums : (9,) - wrench on the vertices, about the origin of the surface that they touch and in its axes, and
        first moment of the volume [m^4]; added to
    """
    for j in range(first, first + n):
        row = touch[j]
        x, y, z = row[PLACE], row[PLACE + 1], row[PLACE + 2]
        nx, ny, nz = row[PUSH], row[PUSH + 1], row[PUSH + 2]
        area, depth = weight * row[SHARE], row[DEEP]
        volume = area * depth
        add_force(x, y, z, modulus * volume * nx, modulus * volume * ny, modulus * volume * nz, sums)
        sums[6] += volume * x
        sums[7] += volume * y
        sums[8] += volume * z
        patch[CONTACT_AREA] += area
        patch[VOLUME] += volume
        patch[LARGEST_DEPTH] = max(patch[LARGEST_DEPTH], depth)
        patch[N_TOUCHING] += 1.0


@inlined
def add_stiffness_of(direction, touch, first, n, modulus, G):
    """Add to G : (6, 6) the derivative of the wrench on some vertices in contact with respect to a small
    twist of the surface to which these vertices belong.

    direction : int - GRADIENT or OWN_NORMAL, the direction of the forces
    touch : (n_kept, N_TOUCH) - MeshWork.touch, the vertices in contact
    first, n : int - first row of touch, and number of rows
    modulus : float - pressure per depth, halved if the vertices of both surfaces are used [N/m^3]
    G : (6, 6) - derivative of the wrench with respect to the twist
    """
    if direction == OWN_NORMAL:
        add_slope_of_pressure(touch, first, n, modulus, G)
    else:
        add_slope_of_potential(touch, first, n, modulus, G)


@njit
def add_slope_of_pressure(touch, first, n, modulus, G):
    """Add to G the derivative of the wrench on some vertices in contact, if the force on each vertex acts
    against the vertex's own normal, which rotates with its surface.

    touch : (n_kept, N_TOUCH) - MeshWork.touch, the vertices in contact
    first, n : int - first row of touch, and number of rows
    modulus : float - pressure per depth, halved if the vertices of both surfaces are used [N/m^3]
    G : (6, 6) - derivative of the wrench with respect to a small twist of the vertices' surface
    """
    Mx, My, Mz, Fx, Fy, Fz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(first, first + n):
        row = touch[j]
        y, a = row[PLACE : PLACE + 3], modulus * row[SHARE]
        push = about_origin(y, row[PUSH], row[PUSH + 1], row[PUSH + 2])
        away = about_origin(y, row[AWAY], row[AWAY + 1], row[AWAY + 2])
        for i in range(6):
            x = a * push[i]
            for k in range(6):
                G[i, k] -= x * away[k]
        f = a * row[DEEP]
        Mx, My, Mz = Mx + f * push[0], My + f * push[1], Mz + f * push[2]
        Fx, Fy, Fz = Fx + f * push[3], Fy + f * push[4], Fz + f * push[5]
    add_turned((Mx, My, Mz, Fx, Fy, Fz), G)


@njit
def add_slope_of_potential(touch, first, n, modulus, G):
    """Add to G the derivative of the wrench on some vertices in contact, if the force on each vertex acts
    along n, the gradient of the distance from the surface that it touches; such forces have a potential.

    touch : (n_kept, N_TOUCH) - MeshWork.touch, the vertices in contact
    first, n : int - first row of touch, and number of rows
    modulus : float - pressure per depth, halved if the vertices of both surfaces are used [N/m^3]
    G : (6, 6) - derivative of the wrench with respect to a small twist of the vertices' surface
    """
    for j in range(first, first + n):
        row = touch[j]
        y, nx, ny, nz = row[PLACE : PLACE + 3], row[AWAY], row[AWAY + 1], row[AWAY + 2]
        a, d = modulus * row[SHARE], row[DEEP]
        add_square(-a * (1.0 + d * row[BEND]), y, nx, ny, nz, G)
        if row[BEND] != 0.0:
            bent = a * d * row[BEND]
            t = row[ALONG : ALONG + 3]
            add_square(-bent, y, t[0], t[1], t[2], G)
            add_square(bent, y, 1.0, 0.0, 0.0, G)
            add_square(bent, y, 0.0, 1.0, 0.0, G)
            add_square(bent, y, 0.0, 0.0, 1.0, G)
        add_arm(y, a * d * nx, a * d * ny, a * d * nz, G)


@inlined
def add_square(weight, y, nx, ny, nz, G):
    """Add weight w w' to the matrix G, with the wrench w = (y x n, n) of a unit force along n at the point y.

    weight : float - factor of the product
    y : (3,) - the point [m]
    nx, ny, nz : float - components of the direction n
    G : (6, 6) - derivative of a wrench with respect to a twist
    """
    w = about_origin(y, nx, ny, nz)
    for i in range(6):
        x = weight * w[i]
        for j in range(6):
            G[i, j] += x * w[j]


@inlined
def about_origin(y, nx, ny, nz):
    """Return the wrench (y x n, n), six numbers, of a unit force along n at the point y : (3,) [m]."""
    return (y[1] * nz - y[2] * ny, y[2] * nx - y[0] * nz, y[0] * ny - y[1] * nx, nx, ny, nz)


@inlined
def add_arm(y, fx, fy, fz, G):
    """Add to G the derivative, with respect to a small twist, of the moment of a constant force whose point
    of application moves with the twist.

    y : (3,) - the point [m]
    fx, fy, fz : float - components of the force [N]
    G : (6, 6) - derivative of a wrench with respect to the twist
    """
    f = (fx, fy, fz)
    along = y[0] * fx + y[1] * fy + y[2] * fz
    for i in range(3):
        G[i, i] -= along
        for j in range(3):
            G[i, j] += y[i] * f[j]
    G[0, 4] += fz
    G[0, 5] -= fy
    G[1, 3] -= fz
    G[1, 5] += fx
    G[2, 3] += fy
    G[2, 4] -= fx


@inlined
def add_turned(w, J):
    """Add to J : (6, 6) the derivative, with respect to a small twist, of a wrench w that is constant in axes
    that move with the twist.

    w : (6,) - moment about the origin [N m], and force [N], a tuple.
    """
    for k in range(2):
        x, y, z = w[3 * k], w[3 * k + 1], w[3 * k + 2]
        J[3 * k, 1] += z
        J[3 * k, 2] -= y
        J[3 * k + 1, 0] -= z
        J[3 * k + 1, 2] += x
        J[3 * k + 2, 0] += y
        J[3 * k + 2, 1] -= x
    J[0, 4] += w[5]
    J[0, 5] -= w[4]
    J[1, 3] -= w[5]
    J[1, 5] += w[3]
    J[2, 3] += w[4]
    J[2, 4] -= w[3]
