"""Contact of two triangle meshes on bodies A and B (kernels/mesh): the patch, and its derivatives with
respect to the motion of A.

F is the sum of area x depth x normal over the vertices in contact, and M its moment about A's origin. The
volume of the patch is |F| and its normal F/|F|; the force acts where its line of action comes closest to the
centre of pressure c: x = F x M/F^2 + n (n . c). The moment that remains about the normal itself is left out.
In the derivatives, the point x moves along the line of action together with the vertices in contact, which
belong to A or to B. The derivatives leave out one effect: c also shifts relative to these vertices.
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
    """Write the patch of contact e (normal, point, depth, volume and normal velocity of the overlap) into
    row, and the rotation of body A into Q.

    meshes : Meshes - the meshes of the bodies; None if no contact has any: then this function does nothing,
      and the compiler omits its code
    work : MeshWork - results and working space of the mesh contacts, written
    pairs : Pairs - the two bodies of every pair
    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact
    pose : Pose - positions and orientations of all bodies in ground
    row : (N_STATE,) - the contact's row of ContactWork.state, written
    Q : (3, 3) - rotation of body A in ground, written
    """
    if meshes is not None:
        p, k = contacts.pair[e], contacts.mesh[e]
        relative_pose(pose, pairs.body_a[p], pairs.body_b[p], Q, work.R[k], work.p[k])
        mesh_contact(meshes, contacts.pressed, k, 1.0, work.R[k], work.p[k], work)
        row[CENTRE], row[CENTRE + 1], row[CENTRE + 2] = place(pose, pairs.body_a[p], ORIGIN)
        write_patch(work.wrench[k], work.patch[k], Q, row)


@inlined
def mesh_on_mesh_moved(meshes, work, contacts, e, Q, moved):
    """Write the derivatives of the patch of contact e with respect to the motion of body A into moved.

    meshes : Meshes - the meshes of the bodies; None where no contact has any
    work : MeshWork - results and working space of the mesh contacts, written
    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact
    Q : (3, 3) - rotation of body A in ground
    moved : (6, N_MOVED) - changes of point, normal, depth and volume of the patch, for each unit motion of A,
        written
    """
    if meshes is not None:
        k = contacts.mesh[e]
        mesh_stiffness(contacts.pressed, k, 1.0, work.R[k], work.p[k], work)
        passes = contacts.pressed.passes[k]
        share = 1.0 if passes == OF_A else (0.0 if passes == OF_B else 0.5)
        write_moved(work.wrench[k], work.patch[k], work.stiffness[k], share, Q, moved)
