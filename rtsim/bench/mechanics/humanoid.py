"""A male body for benchmarks: a free pelvis and 28 hinges, 34 degrees of freedom.

Masses, lengths, centres of mass and radii of gyration: de Leva (1996), J Biomech 29(9), 1223-1230, table 4,
men of 1.741 m and 73.0 kg. The positions of hips, shoulders, neck and heels are defined here. X forward, Y
up, Z right, arms hanging. Joints with several axes are chains of hinges with massless links between them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.inertia import Bodies
from kernels.dynamics.system import System
from kernels.joints.kinds import FREE, HINGE
from rtsim.models.packing.tree import JointRow, build_tree

Array = NDArray[np.float64]

WEIGHT = 73.0  # kg
GRAVITY = (0.0, -9.81, 0.0)  # m/s^2
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
UP, DOWN, FORWARD = (0.0, 1.0, 0.0), (0.0, -1.0, 0.0), (1.0, 0.0, 0.0)
HIP_Z, SHOULDER_Z, NECK_Y, SHOULDER_Y, HEEL_X = 0.085, 0.19, 0.08, -0.03, -0.05  # m


class HumanoidSegment(NamedTuple):
    """A body segment that extends from its joint in one direction."""

    direction: tuple[float, float, float]
    mass: float  # fraction of the mass of the body
    length: float  # m
    centre: float  # centre of mass, as a fraction of the length from the joint
    radii: tuple[float, float, float]  # of gyration / length: sagittal, transverse, longitudinal


# centres that the table counts from the far end are counted from the joint
SEGMENTS = {
    "pelvis": HumanoidSegment(UP, 0.1117, 0.1457, 1.0 - 0.6115, (0.615, 0.551, 0.587)),
    "abdomen": HumanoidSegment(UP, 0.1633, 0.2155, 1.0 - 0.4502, (0.482, 0.383, 0.468)),
    "chest": HumanoidSegment(UP, 0.1596, 0.1707, 1.0 - 0.2999, (0.716, 0.454, 0.659)),
    "head": HumanoidSegment(UP, 0.0694, 0.2033, 1.0 - 0.5976, (0.362, 0.376, 0.312)),
    "thigh": HumanoidSegment(DOWN, 0.1416, 0.4222, 0.4095, (0.329, 0.329, 0.149)),
    "shank": HumanoidSegment(DOWN, 0.0433, 0.4340, 0.4459, (0.255, 0.249, 0.103)),
    "foot": HumanoidSegment(FORWARD, 0.0137, 0.2581, 0.4415, (0.257, 0.245, 0.124)),
    "upper_arm": HumanoidSegment(DOWN, 0.0271, 0.2817, 0.5772, (0.285, 0.269, 0.158)),
    "forearm": HumanoidSegment(DOWN, 0.0162, 0.2689, 0.4574, (0.276, 0.265, 0.121)),
    "hand": HumanoidSegment(DOWN, 0.0061, 0.0862, 0.7900, (0.628, 0.513, 0.401)),
}


class HingeRow(NamedTuple):
    """The chain of hinges that carries a segment: the segment on which the chain is placed (`carrier`), its
    place there, its axes in order (such as "zxy"), and the name of the segment at its end (a key of
    SEGMENTS).
    """

    carrier: str
    place: Array  # m
    axes: str
    segment: str


def end_of(name: str) -> Array:
    """Return the distal end of a segment in the segment's own frame, (3,) [m]."""
    segment = SEGMENTS[name]
    return segment.length * np.array(segment.direction)


def rows() -> dict[str, HingeRow]:
    """Return all chains of hinges, by the name of the segment that each carries, such as "left thigh".

    Each segment comes later in the mapping than the one that carries it, so that the body can be built in
    this order.
    """
    found = {
        "abdomen": HingeRow("pelvis", end_of("pelvis"), "z", "abdomen"),
        "chest": HingeRow("abdomen", end_of("abdomen"), "x", "chest"),
        "head": HingeRow("chest", end_of("chest") + np.array([0.0, NECK_Y, 0.0]), "zy", "head"),
    }
    for side, sign in (("left", -1.0), ("right", 1.0)):
        shoulder = end_of("chest") + np.array([0.0, SHOULDER_Y, sign * SHOULDER_Z])
        for name, place, axes, carrier in (
            ("thigh", np.array([0.0, 0.0, sign * HIP_Z]), "zxy", "pelvis"),
            ("shank", end_of("thigh"), "z", f"{side} thigh"),
            ("foot", end_of("shank"), "zx", f"{side} shank"),
            ("upper_arm", shoulder, "zxy", "chest"),
            ("forearm", end_of("upper_arm"), "zy", f"{side} upper_arm"),
            ("hand", end_of("forearm"), "z", f"{side} forearm"),
        ):
            found[f"{side} {name}"] = HingeRow(carrier, place, axes, name)
    return found


def mass_of(name: str) -> tuple[float, Array, Array]:
    """Return the mass properties of a segment: its mass [kg], its centre of mass in the segment's frame (3,)
    [m], and its inertia about that centre (3, 3) [kg m^2].
    """
    segment = SEGMENTS[name]
    sagittal, transverse, longitudinal = segment.radii
    # in the table's own posture segments stand upright; a foot's long axis lies forward
    lying = segment.direction == FORWARD
    radii = (longitudinal, sagittal, transverse) if lying else (sagittal, longitudinal, transverse)
    mass = WEIGHT * segment.mass
    heel = np.array([HEEL_X, 0.0, 0.0]) if lying else np.zeros(3)
    inertia = np.diag(mass * (segment.length * np.array(radii)) ** 2)
    return mass, heel + segment.centre * end_of(name), inertia


def humanoid() -> System:
    """Return the whole body as a system under gravity."""
    masses = [mass_of("pelvis")]
    joints, last = [JointRow(-1, FREE)], {"pelvis": 0}
    for name, row in rows().items():
        body = last[row.carrier]
        for i, axis in enumerate(row.axes):
            place = row.place if i == 0 else np.zeros(3)
            joints.append(JointRow(body, HINGE, np.array(AXES[axis]), place))
            body = len(joints) - 1
            carries = i == len(row.axes) - 1
            masses.append(mass_of(row.segment) if carries else (0.0, np.zeros(3), np.zeros((3, 3))))
        last[name] = body
    mass, centre, inertia = (np.array(column) for column in zip(*masses, strict=True))
    return System(build_tree(joints), Bodies(mass, centre, inertia), np.array(GRAVITY))
