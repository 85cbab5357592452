"""A limb on an ellipsoidal joint: places, velocities, accelerations are those of OpenSim's EllipsoidJoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.compiler.jit import allow_compilation
from kernels.dynamics.forward import forward_dynamics
from kernels.dynamics.system import DynamicsWork, new_dynamics_work
from rtsim.files.osim.model import read_osim
from rtsim.models.model import Model, build
from tests.naive.tree import matrix_quaternion
from tests.rtsim.models.small_models import built

Array = NDArray[np.floating]
RADII = (0.07, 0.12, 0.1)
IN_PARENT, PARENT_TURNED = (0.1, 0.2, -0.3), (0.3, -0.2, 0.5)
IN_CHILD, CHILD_TURNED = (-0.05, 0.08, 0.02), (-0.4, 0.7, 0.1)
IN_ARM = (0.03, -0.2, 0.01)
CENTRE, INERTIA = (0.01, -0.05, 0.02), (0.004, 0.002, 0.005)


def listed(numbers: tuple[float, ...], scale: float = 1.0) -> str:
    """Return them as TOML."""
    return str([float(scale * x) for x in numbers])


MODEL = f"""
gravity_m_s2 = [0.0, -9.80665, 0.0]
[[bodies]]
name = "blade"
joint = "ellipsoidal"
radii_mm = {listed(RADII, 1e3)}
in_parent = {{ offset_mm = {listed(IN_PARENT, 1e3)}, turned_deg = {listed(PARENT_TURNED, np.degrees(1.0))} }}
in_child = {{ offset_mm = {listed(IN_CHILD, 1e3)}, turned_deg = {listed(CHILD_TURNED, np.degrees(1.0))} }}
mass_kg = 0.7
mass_centre_mm = {listed(CENTRE, 1e3)}
inertia_kg_m2 = {listed(INERTIA)}
[[bodies]]
name = "arm"
parent = "blade"
joint = "hinge"
axis = [0.0, 0.0, 1.0]
in_parent = {{ offset_mm = {listed(IN_ARM, 1e3)} }}
mass_kg = 1.6
mass_centre_mm = {listed(CENTRE, 1e3)}
inertia_kg_m2 = {listed(INERTIA)}
"""


class Motion(NamedTuple):
    """Places, velocities and accelerations of both bodies (2, 3), all in ground, angular ones apart."""

    position: Array
    velocity: Array
    turning: Array
    acceleration: Array
    spin: Array  # rate of turning


class Theirs(NamedTuple):
    """OpenSim's model at some state."""

    model: Any  # keeps the bodies alive
    bodies: list[Any]
    state: Any
    motion: Motion
    blade: Array  # (3, 3) - the blade's axes in ground


def vec(osim: Any, numbers: tuple[float, ...]) -> Any:
    """Return a Vec3."""
    return osim.Vec3(*numbers)


def numbers_of(x: Any) -> list[float]:
    """Return the numbers of a Vec3."""
    return [x.get(k) for k in range(3)]


def theirs_at(osim: Any, angles: Array, speeds: Array) -> Theirs:
    """Return OpenSim's answer: three angles of the joint and one of the arm, and their speeds."""
    model, zero = osim.Model(), vec(osim, (0.0, 0.0, 0.0))
    inertia = osim.Inertia(*INERTIA, 0.0, 0.0, 0.0)
    bodies = [osim.Body(*row, vec(osim, CENTRE), inertia) for row in (("blade", 0.7), ("arm", 1.6))]
    ground = model.getGround()
    glide = osim.EllipsoidJoint(
        "glide", ground, vec(osim, IN_PARENT), vec(osim, PARENT_TURNED), bodies[0], vec(osim, IN_CHILD),
        vec(osim, CHILD_TURNED), vec(osim, RADII),
    )  # fmt: skip
    bend = osim.PinJoint("bend", bodies[0], vec(osim, IN_ARM), zero, bodies[1], zero, zero)
    for body in bodies:
        model.addBody(body)
    for joint in (glide, bend):
        model.addJoint(joint)
    state = model.initSystem()
    coordinates = model.getCoordinateSet()
    for k in range(4):
        coordinates.get(k).setValue(state, angles[k], False)
        coordinates.get(k).setSpeedValue(state, speeds[k])
    model.realizeAcceleration(state)
    poses = [body.getTransformInGround(state) for body in bodies]
    moving = [body.getVelocityInGround(state) for body in bodies]
    pushed = [body.getAccelerationInGround(state) for body in bodies]
    rows = ([numbers_of(x) for x in found] for found in (
        [at.p() for at in poses], [at.get(1) for at in moving], [at.get(0) for at in moving],
        [at.get(1) for at in pushed], [at.get(0) for at in pushed],
    ))  # fmt: skip
    R = poses[0].R()
    blade = np.array([[R.get(i, j) for j in range(3)] for i in range(3)])
    return Theirs(model, bodies, state, Motion(*map(np.array, rows)), blade)


def ours_at(model: Model, theirs: Theirs, angle: float, speed: float) -> Motion:
    """Return our answer at the same place of the blade and with its angular velocity."""
    allow_compilation()
    tree, work = model.tree, new_dynamics_work(model.tree)
    child = theirs.blade @ tree.rotation_in_child[0]
    q = np.array([*matrix_quaternion(tree.rotation_in_parent[0].T @ child), angle])
    v, v_dot = np.array([*child.T @ theirs.motion.turning[0], speed]), np.zeros(4)
    forward_dynamics(model.system, q, v, np.zeros(4), np.zeros((2, 6)), work, v_dot)
    return motion_of(model, work, v, v_dot)


def motion_of(model: Model, work: DynamicsWork, v: Array, v_dot: Array) -> Motion:
    """Return what a pose with velocities moves like."""
    spatial, bodies = work.velocities.body, range(2)
    rate = np.cumsum(work.velocities.bias, axis=0)  # one body carries the other
    for b in bodies:
        own = slice(0, model.tree.v_start[b + 1])
        rate[b] += v_dot[own] @ work.pose.twist[own]
    arm = work.pose.position - work.pose.position[0]
    turning, spin = spatial[:, :3], rate[:, :3]
    velocity = spatial[:, 3:] + np.cross(turning, arm)
    acceleration = rate[:, 3:] + np.cross(spin, arm) + np.cross(turning, velocity)
    return Motion(work.pose.position, velocity, turning, acceleration, spin)


@pytest.mark.parametrize("seed", range(4))
def test_a_limb_on_an_ellipsoidal_joint_moves_as_opensims(seed: int) -> None:
    """Protects which way the child's origin glides, its velocity and the accelerations of a fall."""
    osim = pytest.importorskip("opensim")
    osim.Logger.setLevelString("Error")
    rng = np.random.default_rng([seed, 41])
    angles, speeds = rng.uniform(-0.9, 0.9, 4), rng.normal(size=4)
    theirs = theirs_at(osim, angles, speeds)
    ours = ours_at(built(MODEL), theirs, angles[3], speeds[3])
    for name, found, expected in zip(Motion._fields, ours, theirs.motion, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9 * (1.0 + np.abs(expected).max()), err_msg=name)


def test_the_file_of_opensim_is_read_as_the_same_limb(tmp_path: Path) -> None:
    """Protects the reader: frames, radii and masses of a file that OpenSim wrote."""
    osim = pytest.importorskip("opensim")
    osim.Logger.setLevelString("Error")
    theirs_at(osim, np.zeros(4), np.zeros(4)).model.printToXML(str(tmp_path / "limb.osim"))
    read, ours = build(read_osim(tmp_path / "limb.osim")[0]), built(MODEL)
    for found, expected in ((read.tree, ours.tree), (read.system.bodies, ours.system.bodies)):
        for key in ("parameter", "position_in_parent", "rotation_in_parent", "position_in_child", "kind",
                    "rotation_in_child", "mass", "centre", "inertia"):  # fmt: skip
            if hasattr(expected, key):
                np.testing.assert_allclose(
                    getattr(found, key), getattr(expected, key), atol=1e-12, err_msg=key
                )


def test_neutral_lies_on_the_third_axis() -> None:
    """Protects the start: joint frames parallel, the child's origin at the third radius."""
    model = built(MODEL)
    assert model.q_neutral.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    turned = Rotation.from_euler("XYZ", PARENT_TURNED).as_matrix()
    np.testing.assert_allclose(model.tree.rotation_in_parent[0], turned, atol=1e-15)
    np.testing.assert_allclose(model.tree.parameter[0], RADII, rtol=1e-15)
