"""Joints of the bodies of a model, and their coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import kernels.joints.kinds
from kernels.joints.kinds import CHAIN
from kernels.joints.tree import N_PARAMETER, Tree
from rtsim.config.joint_kinds import KINDS
from rtsim.config.models.joint_schema import Axis, Body, JointKind, coordinates_of, in_degrees, is_angular
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.model_tables import MethodSpec
from rtsim.config.models.place_schema import GROUND, Frame
from rtsim.errors import ConfigError
from rtsim.models.packing.functions import FunctionTable
from rtsim.models.packing.tree import ChainMotion, JointRow
from rtsim.subjects.anatomy import Anatomy
from rtsim.subjects.calibration.natural import unit

Array = NDArray[np.float64]
NUMBERS: dict[str, int] = {
    name: CHAIN if kind.steps else getattr(kernels.joints.kinds, name.upper()) for name, kind in KINDS.items()
}
"""Constant of each kind in kernels/joints/kinds; a row of motions is a chain, whatever it is called."""
ROWS = {NUMBERS[name]: kind for name, kind in KINDS.items()}


@dataclass(frozen=True)
class Coordinates:
    """All coordinates of a model, joint by joint; joints with free rotation have none."""

    names: tuple[str, ...]
    q: NDArray[np.int64]  # (n_coordinate,) - index in q
    dof: NDArray[np.int64]  # (n_coordinate,) - index in v
    is_angle: NDArray[np.bool_]  # (n_coordinate,)
    in_degrees: NDArray[np.bool_]  # (n_coordinate,) - whether it is in degrees in files with inDegrees=yes
    range: Array  # (n_coordinate, 2) [rad, m], infinite where none is given
    neutral: Array  # (n_coordinate,) [rad, m]

    @property
    def coupled(self) -> tuple[str, ...]:
        """Names of the angles that OpenSim's storage files state in radians even if the other angles there
        are in degrees (coordinates of coupled motion).
        """
        kept = (self.is_angle & ~self.in_degrees).tolist()
        return tuple(name for name, one in zip(self.names, kept, strict=True) if one)

    def find(self, name: str, where: str) -> int:
        """Return the index of a coordinate; ConfigError if no joint of the method has this coordinate."""
        try:
            return self.names.index(name)
        except ValueError:
            raise ConfigError(
                f"coordinate {name!r} does not exist with the joints of the chosen solution method",
                where=where,
                allowed=", ".join(self.names) or "none",
                remedy="choose a method that does not leave this joint out",
            ) from None


def joints_of(
    spec: ModelSpec, how: MethodSpec, anatomy: Anatomy, index: dict[str, int], functions: FunctionTable
) -> list[JointRow]:
    """Return the joints of all bodies, with the kinds that a method chooses."""
    joints = []
    for body in spec.bodies:
        where = f"bodies.{body.name}"
        kind = how.joints.get(body.name, body.joint)
        # directions of the parent (for a root, its own), which turn with the joint's frame
        basis = anatomy.bases[body.parent or body.name]
        joints.append(
            JointRow(
                parent=index[body.parent or GROUND],
                kind=NUMBERS[kind],
                parameter=numbers_of(body, kind, basis),
                position_in_parent=anatomy.place(body.in_parent, body.parent or GROUND, f"{where}.in_parent"),
                rotation_in_parent=turned(body.in_parent),
                position_in_child=anatomy.place(body.in_child, body.name, f"{where}.in_child"),
                rotation_in_child=turned(body.in_child),
                motions=motions_of_joint(body, kind, basis, functions),
            )
        )
    return joints


def axis_of(axis: Axis, basis: Array) -> Array:
    """Return the unit vector (3,) of an axis; basis : (3, 3) - columns u, v, w in the joint's frame."""
    return unit(basis[:, "uvw".index(axis)]) if isinstance(axis, str) else unit(np.array(axis))


def turned(frame: Frame) -> Array:
    """Return the rotation (3, 3) Rx Ry Rz by the angles of a frame; exactly the unit matrix if they are
    zero."""
    (cx, cy, cz), (sx, sy, sz) = np.cos(np.radians(frame.turned_deg)), np.sin(np.radians(frame.turned_deg))
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, cx, -sx], [0.0, sx, cx]])
    about_y = np.array([[cy, 0.0, sy], [0.0, 1.0, 0.0], [-sy, 0.0, cy]])
    about_z = np.array([[cz, -sz, 0.0], [sz, cz, 0.0], [0.0, 0.0, 1.0]])
    return about_x @ about_y @ about_z


def numbers_of(body: Body, kind: JointKind, basis: Array) -> Array:
    """Return the parameters (N_PARAMETER,) of a body's joint, in the form that the kernels read; basis : (3,
    3) axes of the joint's frame
    """
    numbers = np.zeros(N_PARAMETER)
    given = KINDS[kind].parameter(body, lambda axis: axis_of(axis, basis))
    numbers[: len(given)] = given
    return numbers


def motions_of_joint(
    body: Body, kind: JointKind, basis: Array, functions: FunctionTable
) -> tuple[ChainMotion, ...]:
    """Return the rotations and translations of which a joint consists, in their order, if it is of a kind
    that is defined by such a sequence (custom, universal, planar); an empty tuple for all other kinds."""
    steps = KINDS[kind].steps
    if steps is None:
        return ()
    return tuple(
        ChainMotion(step.rotates, step.axis, step.dof, functions.add(step.function) if step.function else -1)
        for step in steps(body, lambda axis: axis_of(axis, basis))
    )


def pack_coordinates(spec: ModelSpec, how: MethodSpec, joints: Sequence[JointRow]) -> Coordinates:
    """Pack the coordinates of all joints, their indices in q and v, and their neutral values."""
    names, q, dof, angular, degrees, ranges, neutral = [], [], [], [], [], [], []
    n_q = n_v = 0
    for body, joint in zip(spec.bodies, joints, strict=True):
        kind = how.joints.get(body.name, body.joint)
        for k, coordinate in enumerate(coordinates_of(body, kind)):
            names.append(coordinate.name)
            q.append(n_q + k)
            dof.append(n_v + k)
            angular.append(is_angular(body, k, kind))
            degrees.append(in_degrees(body, k, kind))
            ranges.append(coordinate.range)
            neutral.append(coordinate.neutral or 0.0)
        n_q, n_v = n_q + joint.n_q, n_v + joint.n_v
    return Coordinates(
        names=tuple(names),
        q=np.array(q, np.int64),
        dof=np.array(dof, np.int64),
        is_angle=np.array(angular, np.bool_),
        in_degrees=np.array(degrees, np.bool_),
        range=np.array(ranges, float).reshape(-1, 2),
        neutral=np.array(neutral, float),
    )


def neutral_coordinates(tree: Tree, coordinates: Coordinates | None = None) -> Array:
    """Return the neutral values of the coordinates, (n_q,); joints without named coordinates have zero
    translation and the identity rotation."""
    q = np.zeros(tree.q_start[-1])
    for b, number in enumerate(tree.kind):
        given = ROWS[number].neutral
        q[tree.q_start[b] : tree.q_start[b] + len(given)] = given
    if coordinates is not None:
        q[coordinates.q] = coordinates.neutral
    return q


def translations(tree: Tree) -> list[tuple[int, int, int]]:
    """List the joints that translate without named coordinates: for each the index of its body, and of the
    first entry of its translation in q and in v."""
    rows = ((b, ROWS[number].translation) for b, number in enumerate(tree.kind))
    return [(b, tree.q_start[b] + k, tree.v_start[b] + k) for b, k in rows if k is not None]


def rotations(tree: Tree) -> list[tuple[int, int, int]]:
    """List the joints whose rotation is a quaternion: for each the index of its body, of the first entry of
    the quaternion in q, and of the first entry of the angular velocity in v."""
    rows = ((b, ROWS[number].rotation) for b, number in enumerate(tree.kind))
    return [(b, tree.q_start[b] + at[0], tree.v_start[b] + at[1]) for b, at in rows if at is not None]
