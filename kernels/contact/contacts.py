"""Wrenches of contacts in four steps: geometry of the patch, pressure law, friction law, and torques of the
patch.

The patch describes where and how two surfaces overlap: place, normal, depth, volume and velocity. The force
laws read the patch and nothing else of the geometry. So each of the four steps can be replaced without a
change of the others.
"""

from __future__ import annotations

import math

from kernels.compiler.jit import inlined
from kernels.contact.elements import AXIS, FORCE, GYRATION, PATCH, POINT, PRESSING, RUBBING, SLIP
from kernels.contact.geometries import find_patch
from kernels.contact.patch_torques import add_patch_torque
from kernels.contact.pressure import normal_force
from kernels.forces.friction import friction_force
from kernels.forces.pairs import VELOCITY
from kernels.forces.places import add_force, direction


@inlined
def add_contacts(pairs, contacts, pose, work, pair_work):
    """Add the wrench (moment and force) of every contact to the wrench of its pair of bodies, and write the
    state of every contact.

    The wrenches are added to pair_work.wrench. The states (patch, forces and their derivatives) are written
    to work.state; kernels/contact/elements lists its columns.

    pairs : Pairs - the two bodies of every pair
    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    pose : Pose - positions and orientations of all bodies in ground
    work : ContactWork - results and working space of the contacts, written
    pair_work : PairWork - motions, wrenches and slopes of the pairs, written
    """
    for e in range(contacts.pair.shape[0]):
        p, row = contacts.pair[e], work.state[e]
        find_patch(pairs, contacts, e, pose, row, work.Q[e], work.meshes)
        nx, ny, nz = row[AXIS], row[AXIS + 1], row[AXIS + 2]
        x, y, z = row[POINT], row[POINT + 1], row[POINT + 2]
        V = pair_work.motion[p, VELOCITY]
        vx, vy, vz = direction(pose, pairs.body_b[p], contacts.surface_velocity[e])
        vx, vy, vz = (
            V[3] + V[1] * z - V[2] * y - vx,
            V[4] + V[2] * x - V[0] * z - vy,
            V[5] + V[0] * y - V[1] * x - vz,
        )
        v_n = vx * nx + vy * ny + vz * nz
        row[PATCH + 2], row[GYRATION] = v_n, 0.0
        if row[PATCH] <= 0.0:
            continue
        vx, vy, vz = vx - v_n * nx, vy - v_n * ny, vz - v_n * nz
        N, N_depth, N_volume, N_v = normal_force(
            contacts.law[e], contacts.pressure[e], row[PATCH], row[PATCH + 1], v_n
        )
        speed = math.sqrt(vx * vx + vy * vy + vz * vz)
        drag, F_v, F_N = 0.0, 0.0, 0.0
        if contacts.friction_law[e] >= 0 and N > 0.0:
            F, F_v, F_N = friction_force(contacts.friction_law[e], contacts.friction[e], speed, N)
            drag = F / speed if speed > 0.0 else F_v
        fx, fy, fz = N * nx - drag * vx, N * ny - drag * vy, N * nz - drag * vz
        add_force(x, y, z, fx, fy, fz, pair_work.wrench[p])
        row[SLIP], row[SLIP + 1], row[SLIP + 2] = vx, vy, vz
        row[FORCE], row[FORCE + 1], row[FORCE + 2] = fx, fy, fz
        row[PRESSING], row[PRESSING + 1], row[PRESSING + 2], row[PRESSING + 3] = N, N_depth, N_volume, N_v
        row[RUBBING], row[RUBBING + 1], row[RUBBING + 2], row[RUBBING + 3] = drag, F_v, F_N, speed
        if contacts.rolls[e] or contacts.spins[e]:
            add_patch_torque(contacts, e, row, work.Q[e], V, work.change, pair_work.wrench[p])
