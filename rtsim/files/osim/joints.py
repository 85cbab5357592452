"""OpenSim's joints and their coordinates converted to successive motions of a model file.

An OpenSim joint first translates the child frame along axes of the parent frame, then rotates it about
body-fixed axes (Seth et al. 2010, Multibody Syst Dyn 24, 291-303).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtsim.files.osim.document import Node
from rtsim.files.osim.frames import OsimFrame, OsimFrames, Transform, about, offset_of
from rtsim.files.osim.functions import KNOWN, function_below, read_function, rough_value

Array = NDArray[np.float64]
Motion = dict[str, Any]

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
ALONG, ABOUT = "translates", "rotates"
TURNS = ((0, ABOUT, X), (1, ABOUT, Y), (2, ABOUT, Z))
# kind, and for each motion the coordinate, what it does and its axis; angles of a ball joint are x-y-z, too
PLAIN = {
    "WeldJoint": ("weld", ()),
    "PinJoint": ("hinge", ((0, ABOUT, Z),)),
    "SliderJoint": ("slider", ((0, ALONG, X),)),
    "UniversalJoint": ("universal", TURNS[:2]),
    "PlanarJoint": ("planar", ((1, ALONG, X), (2, ALONG, Y), (0, ABOUT, Z))),
    "GimbalJoint": ("custom", TURNS),
    "BallJoint": ("custom", TURNS),
    "EllipsoidJoint": ("ellipsoidal", TURNS),
    "FreeJoint": ("custom", ((3, ALONG, X), (4, ALONG, Y), (5, ALONG, Z), *TURNS)),
}
AXES = ("translation1", "translation2", "translation3", "rotation1", "rotation2", "rotation3")


@dataclass(frozen=True)
class OsimCoordinate:
    """A coordinate of a joint.

    default : its default value [rad, m]
    angular : whether it is an angle
    coupled : whether it is an angle of OpenSim's motion type Coupled, which OpenSim never writes in degrees
    """

    node: Node
    default: float
    angular: bool
    coupled: bool

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def held(self) -> float | None:
        """Return the value at which the coordinate is fixed, locked at its default or prescribed by a
        constant [rad, m]; None if it moves.
        """
        if self.node.flag("locked"):
            return self.default
        function = self.prescribed
        return function["constant"] if function and "constant" in function else None

    @property
    def prescribed(self) -> dict[str, Any] | None:
        """Return the prescribed motion as a function of time: constant, linear, polynomial or spline; None
        if there is none.
        """
        holder = self.node.child("prescribed_function") if self.node.flag("prescribed") else None
        found = next(holder.children(), None) if holder is not None else None
        return read_function(found) if found is not None and found.tag in KNOWN else None


@dataclass(frozen=True)
class OsimJoint:
    """A joint between two frames, one on each of two bodies."""

    node: Node
    parent: OsimFrame
    child: OsimFrame
    kind: str
    motions: list[Motion]
    coordinates: list[OsimCoordinate]

    @property
    def radii(self) -> Array:
        """Radii of the ellipsoid of an EllipsoidJoint, (3,) [m]."""
        radii = self.node.vector("radii_x_y_z", default=None)
        if not (radii > 0.0).all():
            self.node.fail(
                f"radii_x_y_z {radii.tolist()}", allowed="above 0", remedy="correct this element in the file"
            )
        return radii

    @property
    def transform(self) -> Transform:
        """Return the pose of the child frame in the parent frame at the default values, approximate for
        splines.

        For an ellipsoidal joint it is the pose in which rtsim starts: without rotation, on the z axis of the
        ellipsoid.
        """
        if self.kind == "ellipsoidal":
            return Transform(position=np.array([0.0, 0.0, self.radii[2]]))
        at = {coordinate.name: coordinate.default for coordinate in self.coordinates}
        X_FM = Transform()
        for motion in self.motions:
            value = rough_value(motion, at.get(motion.get("of", ""), 0.0))
            if ABOUT in motion:
                X_FM = X_FM @ Transform(rotation=about(np.array(motion[ABOUT]), value))
            else:
                axis = np.array(motion[ALONG])
                X_FM = X_FM @ Transform(position=value * axis / np.linalg.norm(axis))
        return X_FM


def read_joints(model: Node, frames: OsimFrames) -> Iterator[OsimJoint]:
    """Yield all joints: of the JointSet (4.x), or inside the bodies that they move (3.x)."""
    for node in model.members("JointSet"):
        path = f"/jointset/{node.name}"
        parent = frames.named(node, path, "socket_parent_frame", "socket_parent")
        yield read_joint(node, parent, frames.named(node, path, "socket_child_frame", "socket_child"))
    for name, body in frames.bodies.items():
        for node in body.children_of("Joint"):
            if node.flag("reverse"):
                node.fail("a reversed joint", remedy="swap parent and child")
            parent = frames.of_body(node.text("parent_body"), node)
            in_parent = offset_of(node, "location_in_parent", "orientation_in_parent")
            in_child = offset_of(node, "location", "orientation")
            yield read_joint(node, OsimFrame(parent.body, in_parent), OsimFrame(name, in_child))


def read_joint(node: Node, parent: OsimFrame, child: OsimFrame) -> OsimJoint:
    """Read one joint; ConfigError for a class that rtsim does not support."""
    if node.tag != "CustomJoint" and node.tag not in PLAIN:
        node.fail(f"a {node.tag} has no counterpart in rtsim", allowed=", ".join(["CustomJoint", *PLAIN]))
    nodes = node.children_of("coordinates") or node.members("CoordinateSet")
    if node.tag == "CustomJoint":
        motions = spatial_transform(node, [coordinate.name for coordinate in nodes])
        kind = "custom" if nodes else "weld"
    else:
        kind, steps = PLAIN[node.tag]
        if len(nodes) != len(steps):
            node.fail(
                f"{len(nodes)} coordinates",
                allowed=str(len(steps)),
                remedy="correct this element in the file",
            )
        motions = [{what: list(axis), "of": nodes[k].name} for k, what, axis in steps]
    turning = {motion["of"] for motion in motions if ABOUT in motion and "of" in motion}
    plain = {name for name in turning if node.tag != "CustomJoint" or is_rotational(node, name)}
    coordinates = [
        OsimCoordinate(n, n.number("default_value", 0.0), n.name in turning, n.name in turning - plain)
        for n in nodes
    ]
    return OsimJoint(
        node=node, parent=parent, child=child, kind=kind, motions=motions, coordinates=coordinates
    )


def spatial_transform(node: Node, own: list[str]) -> list[Motion]:
    """Return the motions of a custom joint, rotations and translations along its six axes, without those that
    are always zero; own : names of the joint's coordinates
    """
    transform = node.child("SpatialTransform")
    if transform is None:
        node.fail("SpatialTransform is missing", remedy="correct this element in the file")
    axes = {axis.name: axis for axis in transform.children() if axis.tag == "TransformAxis"}
    motions = []
    for name in AXES:
        if name in axes:
            motion = transform_axis(axes[name], ABOUT if name.startswith("rotation") else ALONG, own)
            if motion.get("constant") != 0.0:
                motions.append(motion)
    return motions


def is_rotational(node: Node, coordinate: str) -> bool:
    """Return whether OpenSim (4.6) gives a coordinate of a custom joint the motion type Rotational.

    A LinearFunction with a slope of exactly 1 or -1 gives it the motion type of its axis (of the last such
    axis in the file). A coordinate without such a function is Coupled, and OpenSim never writes it in
    degrees.
    """
    transform, found = node.child("SpatialTransform"), ""
    axes = {axis.name: axis for axis in transform.children()} if transform is not None else {}
    for name in (*AXES[3:], *AXES[:3]):  # rotations come first in the file
        axis = axes.get(name)
        if axis is None or axis.text("coordinates").split() != [coordinate]:
            continue
        function = function_below(axis)
        if function is None or function.tag != "LinearFunction":
            continue
        if abs(read_function(function)["linear"][0]) == 1.0:
            found = name
    return found.startswith("rotation")


def transform_axis(node: Node, what: str, own: list[str]) -> Motion:
    names = node.text("coordinates").split()
    if len(names) > 1:
        node.fail(
            f"the function depends on {len(names)} coordinates",
            allowed="one coordinate; none if the function is a Constant",
        )
    if names and names[0] not in own:
        node.fail(f"unknown coordinate {names[0]!r}", allowed=", ".join(own) or "none")
    found = function_below(node)
    function = read_function(found) if found is not None else {} if names else {"constant": 0.0}
    axis = node.vector("axis", default=None)
    if not axis.any():
        node.fail("the axis 0 0 0 has no direction", remedy="correct this element in the file")
    if not names and "constant" not in function:
        node.fail("the function depends on no coordinate", remedy="name one coordinate under coordinates")
    if function.get("linear") == [1.0, 0.0]:
        function = {}
    of = {"of": names[0]} if "constant" not in function else {}
    return {what: axis.tolist(), **of, **function}


def units_of(joints: list[OsimJoint]) -> Mapping[str, str]:
    """Return the unit of every coordinate, deg or mm."""
    return {c.name: "deg" if c.angular else "mm" for joint in joints for c in joint.coordinates}
