"""Bodies of a model into joints, and the coordinates that move them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.tree import BALL, CHAIN, FREE, HINGE, N_Q, SLIDER, WELD, Tree
from rtsim.config.joint_schema import Axis, Body, JointKind, coordinates_of, is_angular
from rtsim.config.model_schema import MethodSpec, ModelSpec
from rtsim.config.place_schema import GROUND, Frame
from rtsim.errors import ConfigError
from rtsim.models.packing.functions import FunctionTable
from rtsim.models.packing.tree import Joint, Motion
from rtsim.subjects.anatomy import Anatomy
from rtsim.subjects.natural import unit

Array = NDArray[np.float64]
KINDS = {
    "weld": WELD, "hinge": HINGE, "slider": SLIDER, "ball": BALL, "free": FREE,
    "universal": CHAIN, "planar": CHAIN, "custom": CHAIN,
}  # fmt: skip


@dataclass(frozen=True)
class Coordinates:
    """All coordinates of a model, joint by joint; ball and free joints have none."""

    names: tuple[str, ...]
    q: NDArray[np.int64]  # (n_coordinate,) - index in q
    dof: NDArray[np.int64]  # (n_coordinate,) - index in v
    is_angle: NDArray[np.bool_]  # (n_coordinate,)
    range: Array  # (n_coordinate, 2) [rad, m], infinite where none is given
    neutral: Array  # (n_coordinate,) [rad, m]

    def find(self, name: str, where: str) -> int:
        """Number of a coordinate; a method may have another joint in its place, which has none."""
        try:
            return self.names.index(name)
        except ValueError:
            raise ConfigError(
                f"coordinate {name!r} is not there with the joints of the method",
                where=where,
                allowed=", ".join(self.names) or "none",
                remedy="choose a method that keeps the joint",
            ) from None


def joints_of(
    spec: ModelSpec, how: MethodSpec, anatomy: Anatomy, index: dict[str, int], functions: FunctionTable
) -> list[Joint]:
    """The joints of all bodies, with the kinds that a method chooses."""
    joints = []
    for body in spec.bodies:
        where = f"bodies.{body.name}"
        kind = how.joints.get(body.name, body.joint)
        # directions of the parent (for a root, its own), which turn with the joint's frame
        basis = anatomy.bases[body.parent or body.name]
        joints.append(
            Joint(
                parent=index[body.parent or GROUND],
                kind=KINDS[kind],
                axis=axis_of(body.axis or "w", basis),  # read by hinges and sliders, which name it
                position_in_parent=anatomy.place(body.in_parent, body.parent or GROUND, f"{where}.in_parent"),
                rotation_in_parent=turned(body.in_parent),
                position_in_child=anatomy.place(body.in_child, body.name, f"{where}.in_child"),
                rotation_in_child=turned(body.in_child),
                motions=motions_of_joint(body, kind, basis, functions),
            )
        )
    return joints


def axis_of(axis: Axis, basis: Array) -> Array:
    """(3,) - an axis, unit, in the joint's frame."""
    return unit(basis[:, "uvw".index(axis)]) if isinstance(axis, str) else unit(np.array(axis))


def turned(frame: Frame) -> Array:
    """(3, 3) - R = Rx Ry Rz of the angles of a frame; exactly the unit matrix where they are zero."""
    (cx, cy, cz), (sx, sy, sz) = np.cos(np.radians(frame.turned_deg)), np.sin(np.radians(frame.turned_deg))
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, cx, -sx], [0.0, sx, cx]])
    about_y = np.array([[cy, 0.0, sy], [0.0, 1.0, 0.0], [-sy, 0.0, cy]])
    about_z = np.array([[cz, -sz, 0.0], [sz, cz, 0.0], [0.0, 0.0, 1.0]])
    return about_x @ about_y @ about_z


def motions_of_joint(
    body: Body, kind: JointKind, basis: Array, functions: FunctionTable
) -> tuple[Motion, ...]:
    """Elementary motions of a universal, planar or custom joint; none of another."""
    if kind == "custom":
        own = [coordinate.name for coordinate in coordinates_of(body)]
        return tuple(
            Motion(
                rotates=motion.rotates is not None,
                axis=axis_of(motion.axis, basis),
                dof=own.index(motion.of) if motion.of else 0,
                function=functions.add(motion),
            )
            for motion in body.motion
        )
    if kind not in ("universal", "planar"):
        return ()
    assert body.axes is not None
    first, second = (axis_of(axis, basis) for axis in body.axes)
    if kind == "universal":
        return Motion(True, first, 0), Motion(True, second, 1)
    normal = unit(np.cross(first, second))
    return Motion(False, first, 0), Motion(False, second, 1), Motion(True, normal, 2)


def pack_coordinates(spec: ModelSpec, how: MethodSpec, joints: Sequence[Joint]) -> Coordinates:
    """The coordinates of all joints, where they are in q and v, and their neutral values."""
    names, q, dof, angular, ranges, neutral = [], [], [], [], [], []
    n_q = n_v = 0
    for body, joint in zip(spec.bodies, joints, strict=True):
        kind = how.joints.get(body.name, body.joint)
        for k, coordinate in enumerate(coordinates_of(body, kind)):
            names.append(coordinate.name)
            q.append(n_q + k)
            dof.append(n_v + k)
            angular.append(is_angular(body, k, kind))
            ranges.append(coordinate.range)
            neutral.append(coordinate.neutral or 0.0)
        n_q, n_v = n_q + joint.n_q, n_v + joint.n_v
    return Coordinates(
        tuple(names),
        np.array(q, np.int64),
        np.array(dof, np.int64),
        np.array(angular, np.bool_),
        np.array(ranges, float).reshape(-1, 2),
        np.array(neutral, float),
    )


def n_coordinates(tree: Tree) -> int:
    """Length of q."""
    speeds = np.diff(tree.v_start)
    return int(sum(n if k == CHAIN else N_Q[k] for k, n in zip(tree.kind, speeds, strict=True)))


def neutral_coordinates(tree: Tree, coordinates: Coordinates | None = None) -> Array:
    """(n_q,) - joint frames on top of each other, or where the coordinates start."""
    q = np.zeros(n_coordinates(tree))
    for b, kind in enumerate(tree.kind):
        if kind in (BALL, FREE):
            q[tree.q_start[b] + (3 if kind == FREE else 0)] = 1.0
    if coordinates is not None:
        q[coordinates.q] = coordinates.neutral
    return q
