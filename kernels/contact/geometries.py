"""The only place where the kernels of a contact are chosen by its geometry.

A geometry needs three things. One kernel file computes the patch of two surfaces (CENTRE, AXIS, POINT and
PATCH of ContactWork.state) and the derivatives of that patch with respect to the motion of body A
(ContactWork.moved). A branch in each function of this module calls that file. A row in
rtsim/config/contact_geometries gives the geometry its name. Without a branch, the patch and the force of a
geometry are NaN.
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
    """Write the patch of contact e (normal, point, depth, volume and normal velocity of the overlap) into
    row.

    pairs : Pairs - the two bodies of every pair
    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact
    pose : Pose - positions and orientations of all bodies in ground
    row : (N_STATE,) - the contact's row of ContactWork.state, written
    Q : (3, 3) - matrix R diag(r^2) R' of an ellipsoid on A, in ground axes [m^2], written
    meshes : MeshWork - ContactWork.meshes, written; None where no contact has a mesh
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
    """Write the derivatives of the patch of contact e with respect to the motion of A's surface into moved;
    return whether the contact's normal rotates with A.

    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact
    row : (N_STATE,) - the contact's row of ContactWork.state
    Q : (3, 3) - matrix R diag(r^2) R' of an ellipsoid on A, in ground axes [m^2]
    moved : (6, N_MOVED) - ContactWork.moved, written: the change of the patch where A's surface turns about
      its centre (3 rows), and where that centre moves (3)
    meshes : MeshWork - ContactWork.meshes, written; None where no contact has a mesh
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
    """Write the derivative of the patch of contact e with respect to radius k of A's surface into change.

    Return three things: the derivative of the ellipsoid's half height h along the normal [1], the factor 2 r
    (u . n) [m] of the radius r and the normal n, and the unit vector u along the radius's axis.

    Only the radii of an ellipsoid on a plane can be parameters of a fit. For all other geometries, the change
    that is written and the numbers that are returned are NaN.

    pairs : Pairs - the two bodies of every pair
    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact
    k : int - index of the radius, 0 to 2
    pose : Pose - positions and orientations of all bodies in ground
    row : (N_STATE,) - the contact's row of ContactWork.state
    change : (N_MOVED,) - derivatives of point, normal, depth and volume of the patch, written
    """
    if contacts.geometry[e] == ELLIPSOID_ON_PLANE:
        return ellipsoid_on_plane_grown(pairs, contacts, e, k, pose, row, change)
    change[:] = math.nan
    return math.nan, math.nan, (math.nan, math.nan, math.nan)


@inlined
def find_columns(pairs, contacts, e, pose, Q, work):
    """Write the data of both surfaces from which columns along the normal are computed; return B's radius
    [m].

    A column is a line along the normal through one cell of a pressure grid. Written are work.metric, the
    matrix of A's ellipsoid, and work.centre_b, the centre of B's surface. The returned radius of B's surface
    is 0 for a plane, and NaN for surfaces of triangles, which have pressures of their own.

    pairs : Pairs - the two bodies of every pair
    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact
    pose : Pose - positions and orientations of all bodies in ground
    Q : (3, 3) - matrix R diag(r^2) R' of an ellipsoid on A, in ground axes [m^2]
    work : FieldWork - working space, written
    """
    ellipsoid_metric(contacts.round[e], contacts.radii[e, 0], Q, work.metric)
    x, y, z = place(pose, pairs.body_b[contacts.pair[e]], contacts.point[e])
    work.centre_b[0], work.centre_b[1], work.centre_b[2] = x, y, z
    if contacts.geometry[e] == ELLIPSOID_ON_PLANE:
        return 0.0
    return contacts.radii_b[e, 0] if contacts.geometry[e] == SPHERE_ON_SPHERE else math.nan
