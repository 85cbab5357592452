"""Mesh on mesh: the patch stands for the wrench, and its changes are differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kernels.contact.elements import AXIS, CENTRE, D_VOLUME, N_MOVED, N_STATE, PATCH, POINT
from kernels.joints.tree import new_pose
from kernels.mesh.contact import mesh_contact, mesh_stiffness
from kernels.mesh.meshes import GRADIENT, OF_A, OF_B, OF_BOTH, OWN_AREA, new_mesh_contacts, new_mesh_work
from kernels.mesh.patch import relative_pose, write_moved, write_patch
from rtsim.models.packing.meshes import pack_meshes
from rtsim.models.shapes import ball

MESHES = pack_meshes([ball(0.03, 12, 14), ball(0.025, 13, 12)])
SHARE = {OF_A: 1.0, OF_B: 0.0, OF_BOTH: 0.5}


class Bodies:
    """Two bodies with a ball each, A displaced by a twist about its own place."""

    def __init__(self, passes: int) -> None:
        rng = np.random.default_rng(5)
        self.contacts = new_mesh_contacts(
            MESHES, [(0, 1)], [passes], [(OWN_AREA, OWN_AREA)], [(GRADIENT, GRADIENT)], [0.0], [np.inf]
        )
        self.work = new_mesh_work(self.contacts)
        self.R_a, self.R_b = Rotation.from_rotvec(rng.normal(size=(2, 3))).as_matrix()
        self.a = np.array([0.1, -0.2, 0.3])
        self.b = self.a + np.array([0.03, 0.025, 0.02])
        self.Q, self.row = np.zeros((3, 3)), np.zeros(N_STATE)

    def patch(self, twist=(0.0,) * 6):
        """Row of ContactWork.state about the place of A, which stays the reference point."""
        pose = new_pose(2, 1, 0)
        twist, work = np.asarray(twist), self.work
        pose.rotation[0] = Rotation.from_rotvec(twist[:3]).as_matrix() @ self.R_a
        pose.rotation[1], pose.position[0], pose.position[1] = self.R_b, self.a + twist[3:], self.b
        relative_pose(pose, 0, 1, self.Q, work.R[0], work.p[0])
        mesh_contact(MESHES, self.contacts, 0, 1.0, work.R[0], work.p[0], work)
        self.row[CENTRE : CENTRE + 3] = twist[3:]
        write_patch(work.wrench[0], work.patch[0], self.Q, self.row)
        return self.row.copy()


@pytest.mark.parametrize("passes", SHARE)
def test_the_patch_is_the_wrench_but_for_a_small_couple(passes: int) -> None:
    """Protects normal, volume and point: their force and moment are the sums over the vertices."""
    bodies = Bodies(passes)
    row, wrench = bodies.patch(), bodies.work.wrench[0]
    force = row[PATCH + 1] * row[AXIS : AXIS + 3]
    assert force == pytest.approx(bodies.R_a @ wrench[3:], rel=1e-12)
    left = bodies.R_a @ wrench[:3] - np.cross(row[POINT : POINT + 3], force)
    assert np.cross(left, force) == pytest.approx(np.zeros(3), abs=1e-12 * np.linalg.norm(force))
    assert np.linalg.norm(left) < 0.02 * 0.03 * np.linalg.norm(force)
    assert 0.02 < np.linalg.norm(row[POINT : POINT + 3]) < 0.03


@pytest.mark.parametrize("passes", SHARE)
def test_changes_of_the_patch_are_the_differences(passes: int) -> None:
    """Protects the slopes of the step: volume, normal, and the point across the force."""
    bodies, h, moved = Bodies(passes), 1e-7, np.zeros((6, N_MOVED))
    row, work = bodies.patch(), bodies.work
    mesh_stiffness(bodies.contacts, 0, 1.0, work.R[0], work.p[0], work)
    write_moved(
        work.wrench[0].copy(), work.patch[0].copy(), work.stiffness[0], SHARE[passes], bodies.Q.copy(), moved
    )
    normal = row[AXIS : AXIS + 3]
    for k, twist in enumerate(np.eye(6)):
        change = (bodies.patch(h * twist) - bodies.patch(-h * twist)) / (2.0 * h)
        assert moved[k, D_VOLUME] == pytest.approx(
            change[PATCH + 1], rel=1e-5, abs=1e-5 * row[PATCH + 1] / 1e-3
        )
        assert moved[k, 3:6] == pytest.approx(change[AXIS : AXIS + 3], rel=1e-5, abs=1e-4)
        across = np.cross(normal, change[POINT : POINT + 3])
        assert np.cross(normal, moved[k, :3]) == pytest.approx(across, rel=1e-4, abs=1e-5)
