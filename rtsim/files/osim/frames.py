"""Frames of an OpenSim model: the body to which each belongs, and its pose on that body."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtsim.files.osim.document import Node

Array = NDArray[np.float64]
GROUND = "ground"
OFFSET_FRAME = "PhysicalOffsetFrame"


@dataclass(frozen=True)
class Transform:
    """A rigid transform: x_parent = rotation @ x + position."""

    rotation: Array = field(default_factory=lambda: np.eye(3))
    position: Array = field(default_factory=lambda: np.zeros(3))

    def __matmul__(self, other: Transform) -> Transform:
        return Transform(self.rotation @ other.rotation, self.apply(other.position))

    def apply(self, point: Array) -> Array:
        """Transform a point of this frame to the parent frame, (3,)."""
        return self.rotation @ point + self.position

    def inverse(self) -> Transform:
        return Transform(self.rotation.T, -self.rotation.T @ self.position)

    def matrix(self) -> Array:
        """The transform as a homogeneous matrix (4, 4)."""
        return np.block([[self.rotation, self.position[:, None]], [np.zeros(3), 1.0]])

    def place(self) -> dict[str, Any]:
        """Return the transform as entries of a model file that place a frame: offset and body-fixed x-y-z
        angles.
        """
        return {
            "offset_mm": (1e3 * self.position).tolist(),
            "turned_deg": np.degrees(angles_of(self.rotation)).tolist(),
        }


@dataclass(frozen=True)
class OsimFrame:
    """A frame fixed to a body, or to ground."""

    body: str
    transform: Transform = field(default_factory=Transform)


def about(axis: Array, angle: float) -> Array:
    """Return the rotation by an angle [rad] about an axis (Rodrigues), (3, 3)."""
    x, y, z = axis / np.linalg.norm(axis)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def turned(angles: Array) -> Array:
    """Return the rotation by body-fixed angles about x, y, z [rad], (3, 3)."""
    ex, ey, ez = np.eye(3)
    return about(ex, angles[0]) @ about(ey, angles[1]) @ about(ez, angles[2])


def angles_of(R: Array) -> Array:
    """Return the body-fixed angles about x, y, z of a rotation, the inverse of `turned`, (3,) [rad]; the
    third is 0 if only its sum with the first is determined.
    """
    cosine = np.hypot(R[0, 0], R[0, 1])
    y = np.arctan2(R[0, 2], cosine)
    if cosine < 1e-12:
        return np.array([np.arctan2(R[2, 1], R[1, 1]), y, 0.0])
    return np.array([np.arctan2(-R[1, 2], R[2, 2]), y, np.arctan2(-R[0, 1], R[0, 0])])


class OsimFrames:
    """All frames of a model by their paths, as in OpenSim 4.x; models of 3.x only have bodies."""

    def __init__(self, names: Iterable[str]) -> None:
        """Begin with the frames of the bodies called `names`, without frames that are fixed to them."""
        self.names = list(names)
        self.bodies: dict[str, Node] = {}
        self.offsets: dict[str, Node] = {}
        self.wraps: list[tuple[Node, str, str]] = []  # wrap object, path and name of its frame
        self.strangers: dict[str, str] = {}  # name -> class of frames that have no counterpart

    @classmethod
    def of_model(cls, model: Node) -> OsimFrames:
        """Collect the bodies of a model, and all frames that are fixed to bodies."""
        bodies: dict[str, Node] = {}
        for body in model.members("BodySet"):
            if body.name in bodies:
                body.fail("there is a second body of this name", remedy="rename one of the two bodies")
            bodies[body.name] = body
        bodies.pop(GROUND, None)
        self = cls(bodies)
        self.bodies = bodies
        self.strangers = {
            element.get("name", ""): element.tag
            for element in model.element.iter()
            if str(element.tag).endswith("Frame")
            and element.tag != OFFSET_FRAME  # the tag of a comment is not text
        }
        ground = model.child("Ground") or next(
            (body for body in model.members("BodySet") if body.name == GROUND), None
        )
        if ground is not None:
            self.collect(ground, f"/{GROUND}")
        for body in self.bodies.values():
            self.collect(body, f"/bodyset/{body.name}")
        for tag in ("JointSet", "ConstraintSet"):
            for owner in model.members(tag):
                for frame in owner.children_of("frames"):
                    self.add_offset(frame, f"/{tag.lower()}/{owner.name}/{frame.name}")
        for tag in ("ComponentSet", "components"):
            for frame in model.members(tag) or model.children_of(tag):
                if frame.tag == OFFSET_FRAME:
                    self.add_offset(frame, f"{'/componentset' if tag == 'ComponentSet' else ''}/{frame.name}")
        return self

    def collect(self, node: Node, path: str) -> None:
        """Add all frames and wrap objects below an element to those known; path : path of the element."""
        self.wraps += [(wrap, path, node.name) for wrap in node.members("WrapObjectSet")]
        for frame in node.children_of("components"):
            if frame.tag == OFFSET_FRAME:
                self.add_offset(frame, f"{path}/{frame.name}")

    def add_offset(self, frame: Node, path: str) -> None:
        self.offsets[path] = frame
        self.collect(frame, path)

    def of_body(self, name: str, owner: Node) -> OsimFrame:
        """Return the frame of a body itself, without an offset."""
        if name != GROUND and name not in self.names:
            owner.fail(f"unknown body {name!r}", allowed=", ".join([GROUND, *self.names]))
        return OsimFrame(name)

    def named(self, owner: Node, path: str, *tags: str) -> OsimFrame:
        """Return the frame that a property of an element names.

        OpenSim 4.x states a path, absolute or relative to the owner; 3.x states a body's name.

        owner, path : the element, and its path in the model
        tags : possible names of the property
        """
        name = owner.text(*tags)
        if not name:
            owner.fail(f"{' or '.join(tags)} is missing", remedy="correct this element in the file")
        return self.resolve(name, path, owner)

    def resolve(self, name: str, path: str, owner: Node, depth: int = 0) -> OsimFrame:
        full = posixpath.normpath(posixpath.join(path, name))
        last = posixpath.basename(full)
        if full not in self.offsets:
            if last == GROUND or last in self.names:
                return OsimFrame(last)
            same = [at for at in self.offsets if posixpath.basename(at) == last]
            if len(same) != 1 and last in self.strangers:
                owner.fail(
                    f"frame {name!r} is a {self.strangers[last]}, which has no counterpart in rtsim",
                    allowed=f"bodies, and a {OFFSET_FRAME} that is fixed to a body",
                    remedy=f"replace the frame by a {OFFSET_FRAME}",
                )
            if len(same) != 1:
                owner.fail(
                    f"unknown frame {name!r}",
                    allowed=f"{', '.join([GROUND, *self.names])}, and the frames fixed to them",
                    remedy="correct the name of the frame, or add the frame that it names",
                )
            full = same[0]
        if depth > len(self.offsets):
            owner.fail(f"frame {name!r} is fixed to itself", remedy="correct this element in the file")
        node = self.offsets[full]
        on = node.text("socket_parent")
        if not on:
            node.fail("socket_parent is missing", remedy="correct this element in the file")
        parent = self.resolve(on, full, node, depth + 1)
        return OsimFrame(parent.body, parent.transform @ offset_of(node, "translation", "orientation"))


def offset_of(node: Node, position: str, orientation: str) -> Transform:
    """Return the transform that an element states by two properties.

    position, orientation : names of the properties; they hold a position [m] and body-fixed x-y-z angles
        [rad]
    """
    return Transform(turned(node.vector(orientation)), node.vector(position))
