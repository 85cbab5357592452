"""Contact of two triangle surfaces: the wrench between them, size of the contact, and derivative of the
wrench.

All results are about the origin of body A's surface, in its axes. R and p are rotation and position of body
B's surface in these axes; the wrench (moment, force) acts on A; the stiffness is the derivative of the wrench
with respect to a small twist of B (rotation about A's origin, translation), with A held fixed.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import inlined, njit
from kernels.mesh.meshes import OF_A, OF_B, OF_BOTH, PRESSED_AT, VOLUME
from kernels.mesh.pressing import add_pressed, add_stiffness_of, add_turned
from kernels.mesh.touching import find_touching

OK, NON_FINITE = 0, 1
"""Status of a contact. NON_FINITE stands for a pose that is not finite, for which no vertex is in contact."""


@njit
def mesh_contact(meshes, contacts, e, modulus, R, p, work):
    """Compute contact e: write its wrench, its patch (area, depth, centre of pressure) and its vertices in
    contact into work.

    Returns OK, or NON_FINITE if the pose is not finite; then all results are zero.

    meshes : Meshes - the surfaces of all meshes
    contacts : MeshContacts - pairs of surfaces, and how they press on each other
    e : int - index of the contact
    modulus : float - pressure per depth [N/m^3]
    R : (3, 3), p : (3,) - rotation and position of B's surface in the axes of A's [m]
    work : MeshWork - results, and data stored from the last call that make the search fast if the pose has
        changed little; both written
    """
    a, b, passes = contacts.mesh_a[e], contacts.mesh_b[e], contacts.passes[e]
    clear_contact(e, work)
    if not finite_pose(R, p):
        work.motion[e, 0], work.motion[e, 1] = -1.0, -1.0
        return NON_FINITE
    weight = 0.5 if passes == OF_BOTH else 1.0
    wrench, patch = work.wrench[e], work.patch[e]
    if passes != OF_B:
        turn_back(R, p, work.turn, work.shift)
        find_touching(meshes, contacts, e, 0, a, b, work.turn, work.shift, work)
        volume = patch[VOLUME]
        add_pressed(work.touch, contacts.vertex[e, 0], work.n_touch[e, 0], modulus, weight, patch, work.sums)
        volume = patch[VOLUME] - volume
        carry_wrench(R, p, work.sums, work.by_a[e])
        for i in range(6):
            wrench[i] = work.by_a[e, i]
        for i in range(3):
            patch[PRESSED_AT + i] = dot3(R[i], work.sums[6:]) + volume * p[i]
    if passes != OF_A:
        find_touching(meshes, contacts, e, 1, b, a, R, p, work)
        work.sums[:] = 0.0
        add_pressed(work.touch, contacts.vertex[e, 1], work.n_touch[e, 1], modulus, weight, patch, work.sums)
        for i in range(6):
            wrench[i] -= work.sums[i]
        for i in range(3):
            patch[PRESSED_AT + i] += work.sums[6 + i]
    if patch[VOLUME] > 0.0:
        for i in range(3):
            patch[PRESSED_AT + i] /= patch[VOLUME]
    return OK


@inlined
def clear_contact(e, work):
    """Set the results of contact e in work : MeshWork to zero, as for surfaces that do not touch."""
    work.wrench[e, :], work.by_a[e, :], work.patch[e, :] = 0.0, 0.0, 0.0
    work.sums[:] = 0.0
    work.n_touch[e, 0], work.n_touch[e, 1] = 0, 0


@njit
def mesh_stiffness(contacts, e, modulus, R, p, work):
    """Write work.stiffness[e] : (6, 6), the derivative of the wrench on A with respect to a small twist of B,
    after mesh_contact at the same pose.

    The forces on A's vertices are computed in B's axes. If B is displaced by x, these forces move with B, and
    their components in B's axes change as if A were displaced by -x.

    contacts : MeshContacts - pairs of surfaces, and how they press on each other
    e : int - index of the contact
    modulus : float - pressure per depth [N/m^3]
    R : (3, 3), p : (3,) - rotation and position of B's surface in the axes of A's [m]
    work : MeshWork - results and working space of the mesh contacts, written
    """
    G, J, passes = work.change[0], work.stiffness[e], contacts.passes[e]
    weight = 0.5 if passes == OF_BOTH else 1.0
    G[:, :] = 0.0
    if passes != OF_B:
        n, way = work.n_touch[e, 0], contacts.direction[e, 0]
        add_stiffness_of(way, work.touch, contacts.vertex[e, 0], n, modulus * weight, G)
        carry_stiffness(R, p, work.change[1], G)
    if passes != OF_A:
        n, way = work.n_touch[e, 1], contacts.direction[e, 1]
        add_stiffness_of(way, work.touch, contacts.vertex[e, 1], n, modulus * weight, G)
    for i in range(6):
        for j in range(6):
            J[i, j] = -G[i, j]
    add_turned(work.by_a[e], J)


@inlined
def finite_pose(R, p):
    """Return whether all entries of the rotation R : (3, 3) and the position p : (3,) are finite."""
    total = 0.0
    for i in range(3):
        total += abs(p[i])
        for j in range(3):
            total += abs(R[i, j])
    return total < math.inf


@inlined
def dot3(x, y):
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]


@inlined
def turn_back(R, p, R_out, p_out):
    """Write the inverse of a pose (R, p): R_out : (3, 3) = R', p_out : (3,) = -R' p."""
    for i in range(3):
        for j in range(3):
            R_out[i, j] = R[j, i]
        p_out[i] = -(R[0, i] * p[0] + R[1, i] * p[1] + R[2, i] * p[2])


@inlined
def carry_wrench(R, p, w, out):
    """Transform a wrench to another origin and other axes, and write it into out.

    R : (3, 3), p : (3,) - rotation and position of the wrench's own axes in those of out [m]
    w : (9,) - moment [N m], force [N], and three numbers that are not read
    out : (6,) - moment [N m] and force [N], written
    """
    fx, fy, fz = dot3(R[0], w[3:]), dot3(R[1], w[3:]), dot3(R[2], w[3:])
    out[3], out[4], out[5] = fx, fy, fz
    out[0] = dot3(R[0], w) + p[1] * fz - p[2] * fy
    out[1] = dot3(R[1], w) + p[2] * fx - p[0] * fz
    out[2] = dot3(R[2], w) + p[0] * fy - p[1] * fx


@njit
def carry_stiffness(R, p, half, G):
    """Transform a stiffness matrix G to another origin and other axes, in place.

    G becomes X G X', where X is the matrix by which `carry_wrench` transforms a wrench.

    R : (3, 3), p : (3,) - rotation and position of the axes in which G is given [m]
    half : (6, 6) - working space
    G : (6, 6) - matrix that gives a wrench from a twist, changed
    """
    for i in range(6):
        carry_wrench(R, p, G[i], half[i])  # G X'
    for j in range(6):
        column = half[:, j]
        carry_wrench(R, p, column, G[j])
    # what stands there is transposed
    for i in range(6):
        for j in range(i):
            G[i, j], G[j, i] = G[j, i], G[i, j]
