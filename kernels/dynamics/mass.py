"""Joint-space mass matrix by the composite-rigid-body algorithm."""

from __future__ import annotations

from kernels.compiler.jit import inlined, njit
from kernels.dynamics.inertia import MASS, MOMENT, N_INERTIA, XX, XY, XZ, YY, YZ, ZZ, spatial_inertia
from kernels.joints.tree import pose


@njit
def mass_matrix(system, q, work, M_out):
    """Compute the mass matrix M_out : (n_v, n_v), lower triangle, at q : (n_q,).

    Source: Featherstone 2008, table 6.2.
    """
    pose(system.tree, q, work.pose)
    spatial_inertia(system.bodies, work.pose, work.inertia)
    composite_mass(system.tree, work.pose, work.inertia, M_out)


@inlined
def composite_mass(tree, pose, inertia, M_out):
    """Compute the mass matrix M_out : (n_v, n_v), lower triangle, from the spatial inertias of the bodies.

    inertia : (n_body, N_INERTIA) - of each body on its own; summed over subtrees in place
    """
    twist, dof_parent = pose.twist, tree.dof_parent
    for b in range(tree.parent.shape[0] - 1, 0, -1):
        p = tree.parent[b]
        if p >= 0:
            for k in range(N_INERTIA):
                inertia[p, k] += inertia[b, k]
    for d in range(dof_parent.shape[0]):
        row = M_out[d]
        for e in range(d):
            row[e] = 0.0
        b = tree.dof_body[d]
        m = inertia[b, MASS]
        hx, hy, hz = inertia[b, MOMENT], inertia[b, MOMENT + 1], inertia[b, MOMENT + 2]
        xy, xz, yz = inertia[b, XY], inertia[b, XZ], inertia[b, YZ]
        wx, wy, wz, ux, uy, uz = twist[d, 0], twist[d, 1], twist[d, 2], twist[d, 3], twist[d, 4], twist[d, 5]
        f0 = inertia[b, XX] * wx + xy * wy + xz * wz + hy * uz - hz * uy
        f1 = xy * wx + inertia[b, YY] * wy + yz * wz + hz * ux - hx * uz
        f2 = xz * wx + yz * wy + inertia[b, ZZ] * wz + hx * uy - hy * ux
        f3, f4, f5 = m * ux + wy * hz - wz * hy, m * uy + wz * hx - wx * hz, m * uz + wx * hy - wy * hx
        e = d
        while e >= 0:
            row[e] = (
                twist[e, 0] * f0 + twist[e, 1] * f1 + twist[e, 2] * f2
                + twist[e, 3] * f3 + twist[e, 4] * f4 + twist[e, 5] * f5
            )  # fmt: skip
            e = dof_parent[e]
