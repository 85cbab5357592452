"""Which geometry a contact has: the one place where the kernels of geometries are chosen.

A geometry is one kernel file that brings the patch of two surfaces (CENTRE, AXIS, POINT and PATCH of
ContactWork.state) and its changes (ContactWork.moved), its branches here, and its row in
rtsim/config/contact_geometries. A geometry without a branch has a patch of NaN, and so a force of NaN.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import inlined
from kernels.contact.ellipsoid_on_plane import (
    ellipsoid_metric,
    ellipsoid_on_plane,
    ellipsoid_on_plane_grown,
    ellipsoid_on_plane_moved,
)
from kernels.contact.mesh_on_mesh import mesh_on_mesh, mesh_on_mesh_moved
from kernels.contact.sphere_on_sphere import sphere_on_sphere, sphere_on_sphere_moved
from kernels.forces.places import place

ELLIPSOID_ON_PLANE, SPHERE_ON_SPHERE, MESH_ON_MESH = 0, 1, 2


@inlined
def find_patch(pairs, contacts, e, pose, row, Q, meshes):
    """The patch of contact e in row : (N_STATE,), of ContactWork.state.

    pairs : Pairs
    contacts : Contacts
    e : int - contact
    pose : Pose
    row : (N_STATE,) - written
    Q : (3, 3) - of an ellipsoid on A in ground axes, written [m^2]
    meshes : MeshWork - of ContactWork, written, or None
    """
    if contacts.geometry[e] == ELLIPSOID_ON_PLANE:
        ellipsoid_on_plane(pairs, contacts, e, pose, row, Q)
    elif contacts.geometry[e] == MESH_ON_MESH:
        mesh_on_mesh(contacts.meshes, meshes, pairs, contacts, e, pose, row, Q)
    elif contacts.geometry[e] == SPHERE_ON_SPHERE:
        sphere_on_sphere(pairs, contacts, e, pose, row)
    else:
        row[:] = math.nan


@inlined
def find_moved(contacts, e, row, Q, moved, meshes):
    """moved : (6, N_MOVED) of contact e, as ContactWork.moved; whether the normal turns with A.

    contacts : Contacts
    e : int - contact
    row : (N_STATE,) - of ContactWork.state
    Q : (3, 3) - of an ellipsoid on A in ground axes [m^2]
    meshes : MeshWork - of ContactWork, written, or None
    """
    if contacts.geometry[e] == ELLIPSOID_ON_PLANE:
        ellipsoid_on_plane_moved(contacts, e, row, Q, moved)
        return False
    if contacts.geometry[e] == MESH_ON_MESH:
        mesh_on_mesh_moved(contacts.meshes, meshes, contacts, e, Q, moved)
        return True
    if contacts.geometry[e] == SPHERE_ON_SPHERE:
        sphere_on_sphere_moved(contacts, e, row, moved)
    else:
        moved[:] = math.nan
    return True


@inlined
def find_grown(pairs, contacts, e, k, pose, row, change):
    """As ellipsoid_on_plane_grown, of the one geometry whose radii are parameters of a fit; NaN of others.

    pairs : Pairs
    contacts : Contacts
    e : int - contact
    k : int - of its radii
    pose : Pose
    row : (N_STATE,) - of ContactWork.state
    change : (N_MOVED,) - as a row of ContactWork.moved, written
    """
    if contacts.geometry[e] == ELLIPSOID_ON_PLANE:
        return ellipsoid_on_plane_grown(pairs, contacts, e, k, pose, row, change)
    change[:] = math.nan
    return math.nan, math.nan, (math.nan, math.nan, math.nan)


@inlined
def find_columns(pairs, contacts, e, pose, Q, work):
    """What a column along the normal needs of both surfaces: work.metric, work.centre_b; radius of B's, or 0.

    NaN of surfaces without columns: those of triangles have pressures of their own.

    pairs : Pairs
    contacts : Contacts
    e : int - contact
    pose : Pose
    Q : (3, 3) - of an ellipsoid on A in ground axes [m^2]
    work : FieldWork - written
    """
    ellipsoid_metric(contacts.round[e], contacts.radii[e, 0], Q, work.metric)
    x, y, z = place(pose, pairs.body_b[contacts.pair[e]], contacts.point[e])
    work.centre_b[0], work.centre_b[1], work.centre_b[2] = x, y, z
    if contacts.geometry[e] == ELLIPSOID_ON_PLANE:
        return 0.0
    return contacts.radii_b[e, 0] if contacts.geometry[e] == SPHERE_ON_SPHERE else math.nan
