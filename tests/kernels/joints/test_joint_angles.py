"""Joint angles and displacements against SciPy's Euler angles and a system of equations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.joints.joint_angles import JointAxes, joint_angles
from kernels.joints.tree import new_pose, pose
from tests.kernels import leg
from tests.naive.joint_angles import angles, axes_of_displacement, displacement, rotated

Array = NDArray[np.floating]


class Joint(NamedTuple):
    """Two bodies in ground, with anatomical axes and reference points of their own."""

    rotation: Array  # (2, 3, 3)
    position: Array  # (2, 3)
    axes: Array  # (2, 3, 3), in the bodies
    points: Array  # (2, 3), in the bodies

    def axes_in_ground(self) -> Array:
        """Return the anatomical axes (2, 3, 3) in ground."""
        return self.rotation @ self.axes

    def gap(self) -> Array:
        """Return the vector (3,) from the proximal to the distal reference point, in ground."""
        places = np.einsum("bij,bj->bi", self.rotation, self.points) + self.position
        return places[1] - places[0]


def random_joint(seed: int) -> Joint:
    """Return a joint anywhere."""
    rng = np.random.default_rng(seed)
    turns = Rotation.random(4, rng).as_matrix()
    return Joint(turns[:2], rng.normal(size=(2, 3)), turns[2:], rng.uniform(-0.3, 0.3, (2, 3)))


def joint_at(turns_deg: tuple[float, float, float], seed: int = 0) -> Joint:
    """Return a joint whose distal axes are turned by mobile Z-X-Y angles."""
    joint = random_joint(seed)
    distal = rotated(joint.axes_in_ground()[0], np.radians(turns_deg))
    rotation = np.array([joint.rotation[0], distal @ joint.axes[1].T])
    return joint._replace(rotation=rotation)


def measured(joint: Joint) -> tuple[Array, Array]:
    """Return the kernel's angles (3,) and displacements (3,) of one joint."""
    placed = new_pose(2, 0)
    placed.rotation[:], placed.position[:] = joint.rotation, joint.position
    body = np.array([0, 1], np.int64)
    axes = JointAxes(
        body[:1], body[1:], joint.axes[:1], joint.axes[1:], joint.points[:1].copy(), joint.points[1:].copy()
    )
    found, displacements = np.zeros((1, 3)), np.zeros((1, 3))
    joint_angles(axes, placed, np.zeros((3, 3, 3)), found, displacements)
    return found[0], displacements[0]


@pytest.mark.parametrize("seed", range(20))
def test_angles_are_those_of_the_mobile_sequence(seed: int) -> None:
    """Protects the Z-X-Y convention and both frames of anatomical axes."""
    joint = random_joint(seed)
    np.testing.assert_allclose(measured(joint)[0], angles(*joint.axes_in_ground()), atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_displacements_reassemble_the_vector(seed: int) -> None:
    """Protects the resolution along oblique axes: a e1 + b e2 + c e3 is the vector again."""
    joint = random_joint(seed)
    found = measured(joint)[1]
    np.testing.assert_allclose(axes_of_displacement(*joint.axes_in_ground()) @ found, joint.gap(), atol=1e-12)
    proximal, distal = joint.axes_in_ground()
    np.testing.assert_allclose(found, displacement(proximal, distal, joint.gap()), atol=1e-11)


@pytest.mark.parametrize(
    "turns_deg",
    [(-60.0, 5.0, -10.0), (170.0, -40.0, 12.0), (0.0, 0.0, 0.0), (10.0, 89.99, -20.0), (10.0, -89.99, 5.0)],
)
def test_angles_come_back(turns_deg: tuple[float, float, float]) -> None:
    """Protects sign and order of the three angles, up to a hundredth of a degree from the singularity."""
    np.testing.assert_allclose(np.degrees(measured(joint_at(turns_deg))[0]), turns_deg, atol=1e-8)


@pytest.mark.parametrize("second", [90.0, -90.0])
@pytest.mark.parametrize("seed", range(4))
def test_singularity_keeps_the_sum_in_the_first_angle(seed: int, second: float) -> None:
    """Protects the documented guard: at |R21| = 1 the third angle is 0, the first holds the whole turn."""
    joint = joint_at((25.0, second, 40.0), seed)
    angles = np.degrees(measured(joint)[0])
    assert np.isfinite(angles).all()
    # arcsine loses half the digits here
    assert angles[1] == pytest.approx(second, abs=1e-5)
    assert angles[2] == pytest.approx(0.0, abs=1e-5)
    assert angles[0] == pytest.approx(25.0 + np.sign(second) * 40.0, abs=1e-5)


def test_rounding_beyond_one_is_no_nan() -> None:
    """Protects the arcsine: R21 a little above 1 by rounding gives a right angle."""
    joint = joint_at((0.0, 90.0, 0.0))
    angles, displacements = measured(joint._replace(rotation=joint.rotation * (1.0 + 1e-15)))
    assert angles[1] == pytest.approx(np.pi / 2)
    assert np.isfinite(displacements).all()


def test_displacement_without_a_floating_axis_is_zero() -> None:
    """Protects e1 parallel to e3, where the resolution has no meaning: zeros, not NaN."""
    # exact right angles, so that the axes coincide to the last digit
    distal = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    joint = Joint(
        np.array([np.eye(3), distal]), np.zeros((2, 3)), np.tile(np.eye(3), (2, 1, 1)), np.ones((2, 3))
    )
    np.testing.assert_array_equal(measured(joint)[1], np.zeros(3))


def test_several_joints_do_not_mix() -> None:
    """Protects the shared working space: two joints at once are the two joints one by one."""
    first, second = random_joint(30), random_joint(31)
    placed = new_pose(4, 0)
    placed.rotation[:] = np.concatenate([first.rotation, second.rotation])
    placed.position[:] = np.concatenate([first.position, second.position])
    axes = JointAxes(
        np.array([0, 2], np.int64),
        np.array([1, 3], np.int64),
        *(
            np.array([getattr(first, name)[k], getattr(second, name)[k]])
            for name in ("axes", "points")
            for k in (0, 1)
        ),
    )
    found, displacements = np.zeros((2, 3)), np.zeros((2, 3))
    joint_angles(axes, placed, np.zeros((3, 3, 3)), found, displacements)
    for k, joint in enumerate((first, second)):
        np.testing.assert_allclose(found[k], measured(joint)[0], atol=1e-15)
        np.testing.assert_allclose(displacements[k], measured(joint)[1], atol=1e-15)


@pytest.mark.parametrize("method", ["zero", "hinge", "free"])
def test_neutral_pose_has_no_displacement(method: str) -> None:
    """Protects the reference points: with the joint frames on top of each other nothing is displaced."""
    built = leg.built(method)
    placed = new_pose(len(built.names.bodies), built.n_v)
    pose(built.tree, built.q_neutral, placed)
    n = len(built.joints.proximal)
    found, displacements = np.zeros((n, 3)), np.zeros((n, 3))
    joint_angles(built.joints, placed, np.zeros((3, 3, 3)), found, displacements)
    np.testing.assert_allclose(displacements, 0.0, atol=1e-15)
    for j in range(n):
        # bodies' axes coincide, the anatomical axes need not
        expected = angles(built.joints.axes_proximal[j], built.joints.axes_distal[j])
        np.testing.assert_allclose(found[j], expected, atol=1e-14)
