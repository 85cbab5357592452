"""A device whose joint is beside the limb's: against the places of bar and cuff, and against virtual work."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy.spatial.transform import Rotation

from kernels.compiler.jit import allow_compilation
from kernels.forces.lines import TENSION
from rtsim.config.runs.hil_schema import Controller, MisalignmentSpec
from rtsim.device.misalignment import Misalignment
from rtsim.device.stability import check_stable
from rtsim.errors import ConfigError
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.simulation.simulator import Simulator
from rtsim.stages.device.misaligned import joint_of, with_straps
from tests.rtsim.device.straight import IDEAL, load_limb, plain_hil

CUFF_MM, STRAPS = (30.0, -200.0, 15.0), 5000.0
offsets = st.tuples(st.floats(-50.0, 50.0), st.floats(-50.0, 50.0), st.floats(-50.0, 50.0))
angles = st.floats(-2.0, 2.0)
AXIS = np.array([0.2, -0.1, -1.0]) / np.linalg.norm([0.2, -0.1, -1.0])


def made(offset_mm: tuple[float, ...], stiffness: float = STRAPS) -> Misalignment:
    """Return a device's joint at an offset, its hinge not along an axis of the body."""
    return Misalignment(MisalignmentSpec(offset_mm, CUFF_MM, stiffness), AXIS, "test")


def bar(offset_mm: tuple[float, ...], angle: float) -> np.ndarray:
    """Return the bar from the device's joint to the cuff (3,) [m], by turning the cuff about the axis."""
    ends = Rotation.from_rotvec(angle * AXIS).apply(CUFF_MM) - np.array(offset_mm)
    return 1e-3 * (ends - (ends @ AXIS) * AXIS)


@given(offset_mm=offsets, angle=angles, torque=st.floats(-30.0, 30.0))
def test_it_is_the_bar_from_joint_to_cuff(offset_mm: tuple[float, ...], angle: float, torque: float) -> None:
    """Protects angle, ratio and forces: the bar's turn from its pose at zero, and the work of the device's
    torque at the limb's joint, by vectors in space."""
    joint = made(offset_mm)
    start, now = bar(offset_mm, 0.0), bar(offset_mm, angle)
    turn = math.atan2(np.cross(start, now) @ AXIS, start @ now)
    apart = (joint.angle(angle) - turn + math.pi) % (2.0 * math.pi) - math.pi
    assert apart == pytest.approx(0.0, abs=1e-9)
    across, along = joint.forces(angle, torque)
    outwards = now / np.linalg.norm(now)
    force = across * np.cross(AXIS, outwards)
    cuff = Rotation.from_rotvec(angle * AXIS).apply(CUFF_MM) * 1e-3
    assert np.cross(cuff, force) @ AXIS == pytest.approx(joint.ratio(angle) * torque, abs=1e-9)
    assert along == pytest.approx(-STRAPS * (np.linalg.norm(now) - np.linalg.norm(start)), abs=1e-6)
    h = 1e-6
    slope = (joint.angle(angle + h) - joint.angle(angle - h)) / (2.0 * h)
    assert joint.ratio(angle) == pytest.approx(slope, abs=1e-7)
    worst = joint.worst(-2.0, 2.0)
    assert joint.ratio(angle) <= worst.ratio * (1.0 + 1e-4)


def test_no_offset_changes_nothing() -> None:
    """Protects the aligned device, also where only the axis lies between the two joints."""
    joint = made(tuple(30.0 * AXIS))
    assert joint.angle(0.7) == pytest.approx(0.7, abs=1e-15)
    assert joint.ratio(0.7) == pytest.approx(1.0, abs=1e-15)


def test_straps_press_the_limb_as_their_potential_says() -> None:
    """Protects the model's side: about the joint the spring gives the slope of k (rho - rest)^2 / 2."""
    allow_compilation()
    config = plain_hil(misalignment=MisalignmentSpec((0.0, 20.0, 0.0), (120.0, 0.0, 0.0), STRAPS))
    limb = load_limb()
    joint = joint_of(limb, config)
    assert joint is not None
    simulator = Simulator(build(with_straps(limb, config)), limb.simulation)
    for angle in (-0.6, 0.2, 0.9):
        simulator.q[0], simulator.v[0] = angle, 0.0
        trace = simulator.trace(1)
        simulator.run(0, 0, trace, last=True)
        h, energy = 1e-6, []
        for at in (angle - h, angle + h):
            _, force = joint.forces(at, 0.0)
            energy.append(0.5 * force**2 / STRAPS)
        expected = -(energy[1] - energy[0]) / (2.0 * h) / 0.01
        assert trace.v_dot[0, 0] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_what_cannot_be_is_refused() -> None:
    """Protects from a cuff within the device's joint and from axes that move: a sentence each."""
    with pytest.raises(ConfigError, match=r"150 mm from the limb's joint.*less than 0.5"):
        made(tuple(np.cross(AXIS, (0.0, 0.0, 150.0)) / np.linalg.norm(np.cross(AXIS, (0.0, 0.0, 1.0)))))
    wrong = MisalignmentSpec((0.0, 20.0, 0.0), (120.0, 0.0, 0.0))
    config = replace(plain_hil(misalignment=wrong), model="knee", coordinate="adduction")
    with pytest.raises(ConfigError, match="no rotation axis that is fixed"):
        joint_of(load_model("knee"), config)


def test_straps_of_a_knee_are_those_of_its_flexion() -> None:
    """Protects joints of several coordinates: the bar goes from the flexion axis in the femur to a place that
    the tibia carries, whatever its neutral translations."""
    allow_compilation()
    spec = MisalignmentSpec((0.0, 15.0, -10.0), (0.0, -20.0, -250.0), STRAPS)
    config = replace(plain_hil(misalignment=spec), model="knee_braced", coordinate="flexion")
    knee = load_model("knee_braced")
    joint = joint_of(knee, config)
    assert joint is not None
    built = build(with_straps(knee, config))
    simulator, k = Simulator(built, knee.simulation), built.names.lines.index("device_cuff")
    for angle in (0.0, 0.4, 1.3):
        simulator.q[:] = built.q_neutral
        simulator.q[0] = angle
        trace = simulator.trace(1)
        simulator.run(0, 0, trace, last=True)
        assert trace.line[0, k, TENSION] == pytest.approx(-joint.forces(angle, 0.0)[1], abs=1e-6)


def test_stability_counts_the_ratio() -> None:
    """Protects from a device that turns faster than the limb: its stiffness counts by the ratio squared."""
    config = plain_hil(1000.0, controller=Controller(0.0, 20.0, 0.1))
    plain = check_stable(config, IDEAL, 1.0)
    joint = Misalignment(MisalignmentSpec((30.0, 0.0, 0.0), (120.0, 0.0, 0.0)), (0.0, 0.0, 1.0), "test")
    worst = joint.worst(*map(math.radians, config.limits.angle_deg))
    assert worst.ratio == pytest.approx(120.0 / 90.0)
    bent = worst.slope * (config.limits.torque_max_Nm * 1.5e-3 + config.limits.measured_max_Nm * 0.5e-3)
    assert check_stable(config, IDEAL, 1.0, joint) == pytest.approx(worst.ratio**2 * plain + bent)
    with pytest.raises(ConfigError, match="stiffness_N_m_rad of at most") as refused:
        check_stable(config, IDEAL, 0.25, joint)
    most = float(str(refused.value).split("at most ")[1].split(",")[0])
    less = plain_hil(1000.0, controller=Controller(0.0, 0.999 * most, 0.1))
    check_stable(less, IDEAL, 0.25, joint)
