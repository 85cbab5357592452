"""The contact patch of two triangle surfaces (depth, volume, normal, point) and its derivatives with the
motion of body A.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import inlined, njit
from kernels.contact.elements import AXIS, CENTRE, D_DEPTH, D_VOLUME, PATCH, POINT
from kernels.mesh.meshes import LARGEST_DEPTH, PRESSED_AT


@njit
def relative_pose(pose, a, b, Q, R, p):
    """Write the rotation of body a in ground, and the pose of body b in the axes of a.

    pose : Pose - positions and orientations of all bodies in ground
    a, b : int - numbers of the bodies, -1 = ground
    Q : (3, 3) - rotation of body a, written
    R : (3, 3) - rotation of body b in the axes of a, written
    p : (3,) - position of body b in the axes of a [m], written
    """
    for i in range(3):
        for j in range(3):
            Q[i, j] = pose.rotation[a, i, j] if a >= 0 else (1.0 if i == j else 0.0)
    for i in range(3):
        p[i] = 0.0
        for j in range(3):
            here = pose.position[a, j] if a >= 0 else 0.0
            p[i] += Q[j, i] * ((pose.position[b, j] if b >= 0 else 0.0) - here)
        for j in range(3):
            R[i, j] = Q[j, i]
            if b >= 0:
                R[i, j] = 0.0
                for m in range(3):
                    R[i, j] += Q[m, i] * pose.rotation[b, m, j]


@njit
def write_patch(w, patch, Q, row):
    """Convert the wrench between two meshes into largest depth, volume, normal and point of a contact patch;
    write them into row.

    w : (6,) - wrench on A for a modulus of 1, about A's origin and in its axes [m^4, m^3]
    patch : (N_MESH_PATCH,) - the contact's row of MeshWork.patch
    Q : (3, 3) - rotation of body A in ground
    row : (N_STATE,) - the contact's row of ContactWork.state, written
    """
    square = w[3] * w[3] + w[4] * w[4] + w[5] * w[5]
    row[PATCH], row[PATCH + 1] = 0.0, 0.0
    for i in range(3):
        row[AXIS + i], row[POINT + i] = 0.0, row[CENTRE + i]
    if not square > 0.0:
        return
    volume = math.sqrt(square)
    row[PATCH], row[PATCH + 1] = patch[LARGEST_DEPTH], volume
    along = 0.0
    for i in range(3):
        along += w[3 + i] * patch[PRESSED_AT + i] / square
    for i in range(3):
        for j in range(3):
            k, m = (j + 1) % 3, (j + 2) % 3
            x = (w[3 + k] * w[m] - w[3 + m] * w[k]) / square + along * w[3 + j]
            row[POINT + i] += Q[i, j] * x
            row[AXIS + i] += Q[i, j] * w[3 + j] / volume


@njit
def write_moved(w, patch, J, share, Q, moved):
    """Write the derivatives of a contact patch with respect to rotations of A about its origin and
    translations of A, along ground's axes.

    w : (6,), J : (6, 6) - wrench on A for a modulus of 1, and its derivative by a twist of B, in A's axes
    patch : (N_MESH_PATCH,) - the contact's row of MeshWork.patch
    share : float - 1 = forces act on vertices of A alone, 0 = on those of B alone, 1/2 = on those of both
    Q : (3, 3) - rotation of body A in ground
    moved : (6, N_MOVED) - rows for 3 rotations and 3 translations (ContactWork.moved), written
    """
    M, F, c = w[:3], w[3:], patch[PRESSED_AT : PRESSED_AT + 3]
    square = F[0] * F[0] + F[1] * F[1] + F[2] * F[2]
    volume = math.sqrt(square)
    for k in range(6):
        axis, change = Q[k % 3], moved[k]
        turn, shift = (1.0, 0.0) if k < 3 else (0.0, 1.0)
        dM = changed(M, F, J, 0, 0 if k < 3 else 3, axis, turn, shift)
        dF = changed(F, F, J, 3, 0 if k < 3 else 3, axis, turn, 0.0)
        rise = F[0] * dF[0] + F[1] * dF[1] + F[2] * dF[2]
        height, d_height = 0.0, 0.0
        for i in range(3):
            j, m = (i + 1) % 3, (i + 2) % 3
            way = turn * (axis[j] * c[m] - axis[m] * c[j]) + shift * axis[i]
            d_height += dF[i] * c[i] + share * F[i] * way
            height += F[i] * c[i]
        height, d_height = height / square, (d_height - 2.0 * height * rise / square) / square
        for i in range(6):
            change[i] = 0.0
        change[D_DEPTH], change[D_VOLUME] = 0.0, rise / volume
        for j in range(3):
            m, n = (j + 1) % 3, (j + 2) % 3
            d_arm = dF[m] * M[n] - dF[n] * M[m] + F[m] * dM[n] - F[n] * dM[m]
            arm = F[m] * M[n] - F[n] * M[m]
            d_x = (d_arm - 2.0 * arm * rise / square) / square + d_height * F[j] + height * dF[j]
            d_n = (dF[j] - F[j] * rise / square) / volume
            for i in range(3):
                change[i] += Q[i, j] * d_x
                change[3 + i] += Q[i, j] * d_n


@inlined
def changed(x, F, J, row, column, axis, turn, shift):
    """Return the derivative of the force or the moment on A, a vector x, with respect to a rotation of A
    about an axis or a translation along it, with body B held fixed.

    x, F : (3,) - the vector, and the force of the same wrench
    J : (6, 6) - derivative of the wrench with respect to a twist of B
    row, column : int - first row of x in J; first column of the rotation (0) or translation (3) in J
    axis : (3,) - the axis, in A's axes
    turn, shift : float - turn = 1: x rotates with A; shift = 1: the point about which a moment x is taken
        moves with A
    """
    out = (
        turn * (axis[1] * x[2] - axis[2] * x[1]) + shift * (axis[1] * F[2] - axis[2] * F[1]),
        turn * (axis[2] * x[0] - axis[0] * x[2]) + shift * (axis[2] * F[0] - axis[0] * F[2]),
        turn * (axis[0] * x[1] - axis[1] * x[0]) + shift * (axis[0] * F[1] - axis[1] * F[0]),
    )
    return (
        out[0] - J[row, column] * axis[0] - J[row, column + 1] * axis[1] - J[row, column + 2] * axis[2],
        out[1]
        - J[row + 1, column] * axis[0]
        - J[row + 1, column + 1] * axis[1]
        - J[row + 1, column + 2] * axis[2],
        out[2]
        - J[row + 2, column] * axis[0]
        - J[row + 2, column + 1] * axis[1]
        - J[row + 2, column + 2] * axis[2],
    )
