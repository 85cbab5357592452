"""Surfaces of triangles on both bodies (kernels/mesh): their patch, and how that changes as A moves.

With the sum F of area x depth x normal over the vertices that touch and its moment M about A's origin, the
volume is |F|, the normal F/|F|, and the force acts where its line comes closest to the centre of pressure c:
x = F x M/F^2 + n (n . c). What moment is left about the normal itself is left out. x moves along its line as
the vertices of A, or of B, that press; that c wanders among them is left out of the slopes, and of nothing
else.
"""

from __future__ import annotations

from kernels.compiler.jit import inlined
from kernels.contact.elements import CENTRE
from kernels.forces.places import place
from kernels.mesh.contact import mesh_contact, mesh_stiffness
from kernels.mesh.meshes import OF_A, OF_B
from kernels.mesh.patch import relative_pose, write_moved, write_patch

ORIGIN = (0.0, 0.0, 0.0)


@inlined
def mesh_on_mesh(meshes, work, pairs, contacts, e, pose, row, Q):
    """The patch of contact e in row : (N_STATE,); Q : (3, 3) becomes the rotation of A.

    meshes : Meshes - None where no contact has any, so that all this is left out
    work : MeshWork - written
    pairs : Pairs
    contacts : Contacts
    e : int - contact
    pose : Pose
    row : (N_STATE,) - of ContactWork.state, written
    Q : (3, 3) - written
    """
    if meshes is not None:
        p, k = contacts.pair[e], contacts.mesh[e]
        relative_pose(pose, pairs.body_a[p], pairs.body_b[p], Q, work.R[k], work.p[k])
        mesh_contact(meshes, contacts.pressed, k, 1.0, work.R[k], work.p[k], work)
        row[CENTRE], row[CENTRE + 1], row[CENTRE + 2] = place(pose, pairs.body_a[p], ORIGIN)
        write_patch(work.wrench[k], work.patch[k], Q, row)


@inlined
def mesh_on_mesh_moved(meshes, work, contacts, e, Q, moved):
    """moved : (6, N_MOVED) - change of the patch of contact e, as ContactWork.moved.

    meshes : Meshes - or None
    work : MeshWork - written
    contacts : Contacts
    e : int - contact
    Q : (3, 3) - rotation of A
    moved : (6, N_MOVED) - of ContactWork
    """
    if meshes is not None:
        k = contacts.mesh[e]
        mesh_stiffness(contacts.pressed, k, 1.0, work.R[k], work.p[k], work)
        passes = contacts.pressed.passes[k]
        share = 1.0 if passes == OF_A else (0.0 if passes == OF_B else 0.5)
        write_moved(work.wrench[k], work.patch[k], work.stiffness[k], share, Q, moved)
