"""A scaled model as an .osim file: the original file with the scaled numbers.

Sizes, fibre and tendon lengths are scaled as they stand in the file; masses and markers are those of the
scaled model. Parts that rtsim does not read (controllers, contact, appearance) are unchanged, except the
sizes of bone geometries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.marker_schema import Marker
from rtsim.config.models.model_schema import ModelSpec
from rtsim.files.osim.bodies import INERTIA_BY_AXES, states_inertia_by_axes
from rtsim.files.osim.document import NEWEST_LAYOUT, Node, read_document
from rtsim.files.osim.frames import GROUND, OsimFrame, OsimFrames
from rtsim.files.osim.functions import function_below, read_function
from rtsim.files.osim.joints import OsimJoint, read_joints
from rtsim.files.osim.muscles import usual_value
from rtsim.files.osim.wraps import pose_of

Array = NDArray[np.float64]
ONE = np.ones(3)
POINTS = {
    "PointConstraint": "location_body_{}",
    "WeldConstraint": "location_body_{}",
    "ConstantDistanceConstraint": "location_body_{}",
}


def scaled_text(
    path: Path, factors: Mapping[str, Array], scaled: ModelSpec, ratios: Mapping[str, float]
) -> str:
    """Return the text of the .osim file at `path` with the numbers of the model `scaled`, which was scaled
    from it.

    factors : body -> scale factors (3,) along its axes
    ratios : muscle -> its new path length divided by the former one

    Parts in files of their own become part of this one. ConfigError if one has another version.
    """
    model = read_document(path, comments=True)
    check_parts(model)
    frames = OsimFrames.of_model(model)
    joints = list(read_joints(model, frames))
    # all are looked up before any is changed, as frames stand on each other
    changes = [
        *offset_frames(frames, factors),
        *old_joint_frames(joints, factors),
        *path_points(model, frames, factors),
        *wrap_places(frames, factors),
        *constraint_points(model, frames, factors),
    ]
    scale_moving_points(model, frames, factors)
    scale_wrap_sizes(frames, factors)
    scale_joints(joints, factors)
    scale_couplers(model, joints, factors)
    for node, tag, numbers in changes:
        put(node, tag, numbers)
    put_bodies(frames, scaled, factors)
    put_muscles(model, ratios)
    put_markers(model, scaled.markers)
    root = ElementTree.Element("OpenSimDocument", {"Version": str(model.document.version)})
    root.append(model.element)
    ElementTree.indent(root, "\t")
    return '<?xml version="1.0" encoding="UTF-8" ?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def check_parts(model: Node) -> None:
    """Raise ConfigError for a part of a model in a file of another version, whose layout is not that of the
    file to be written.
    """
    for element, part in model.document.parts.items():
        if part.version != model.document.version and element.tag != "MarkerSet":  # markers are written anew
            model.node(element).fail(
                f"the file has version {part.version} and the model {model.document.version}, so they cannot "
                "be written as one .osim file",
                remedy="write a .toml file, or save both files in the same version of OpenSim",
            )


def put(node: Node, tag: str, numbers: Iterable[float] | float) -> None:
    """Write numbers into a property of an element, and add the property if the file does not contain it."""
    values = [numbers] if isinstance(numbers, float) else list(numbers)
    own = node.element.find(tag)
    if own is None:
        own = ElementTree.SubElement(node.element, tag)
    own.text = " ".join(repr(float(x)) for x in values)


def growth(frame: OsimFrame, factors: Mapping[str, Array]) -> Array:
    """Return the matrix A = R'SR (3, 3) that scales vectors given in a frame of a body, with the frame's
    rotation R in its body and the diagonal matrix S of the body's scale factors.
    """
    R = frame.transform.rotation
    return R.T @ (factors.get(frame.body, ONE)[:, None] * R)


Change = tuple[Node, str, Array]


def offset_frames(frames: OsimFrames, factors: Mapping[str, Array]) -> list[Change]:
    changes = []
    for path, node in frames.offsets.items():
        parent = frames.resolve(node.text("socket_parent"), path, node)
        changes.append((node, "translation", growth(parent, factors) @ node.vector("translation")))
    return changes


def old_joint_frames(joints: list[OsimJoint], factors: Mapping[str, Array]) -> list[Change]:
    """Return the changes for a file of OpenSim 3.x, which stores the positions of joint frames in the joints:
    each position times the scale factors (3,) of its body.
    """
    changes = []
    for joint in joints:
        if joint.node.element.find("parent_body") is not None:
            for tag, body in (("location_in_parent", joint.parent.body), ("location", joint.child.body)):
                changes.append((joint.node, tag, factors.get(body, ONE) * joint.node.vector(tag)))
    return changes


def points_of(model: Node, frames: OsimFrames) -> list[tuple[Node, OsimFrame]]:
    """Return the points of all muscle paths, and the frame in which each is given."""
    found = []
    for force in model.members("ForceSet"):
        geometry = force.child("GeometryPath")
        for node in geometry.members("PathPointSet") if geometry else ():
            path = f"/forceset/{force.name}/path/{node.name}"
            found.append((node, frames.named(node, path, "socket_parent_frame", "socket_parent", "body")))
    return found


def path_points(model: Node, frames: OsimFrames, factors: Mapping[str, Array]) -> list[Change]:
    return [
        (node, "location", growth(frame, factors) @ node.vector("location", default=None))
        for node, frame in points_of(model, frames)
        if node.tag != "MovingPathPoint"
    ]


def scale_moving_points(model: Node, frames: OsimFrames, factors: Mapping[str, Array]) -> None:
    for node, frame in points_of(model, frames):
        if node.tag == "MovingPathPoint":
            for k, axis in enumerate("xyz"):
                holder = node.child(f"{axis}_location")
                if holder is not None:
                    multiply(holder, float(growth(frame, factors)[k, k]))


def wrap_places(frames: OsimFrames, factors: Mapping[str, Array]) -> list[Change]:
    return [
        (node, "translation", growth(frame, factors) @ node.vector("translation"))
        for node, frame in wraps_of(frames)
    ]


def wraps_of(frames: OsimFrames) -> list[tuple[Node, OsimFrame]]:
    return [
        (node, frames.resolve(name, path, node) if name else OsimFrame(GROUND))
        for node, path, name in frames.wraps
    ]


def scale_wrap_sizes(frames: OsimFrames, factors: Mapping[str, Array]) -> None:
    """Scale the radii, lengths and dimensions of wrap objects in the file by the scale factors of their
    bodies along the objects' own axes.

    factors : body -> scale factors (3,) along its axes
    """
    for node, frame in wraps_of(frames):
        R = frame.transform.rotation @ pose_of(node).rotation
        grows = np.linalg.norm(factors.get(frame.body, ONE)[:, None] * R, axis=0)
        if node.tag == "WrapEllipsoid":
            put(node, "dimensions", grows * node.vector("dimensions", default=None))
        elif node.tag == "WrapSphere":
            put(node, "radius", float(factors.get(frame.body, ONE).mean()) * node.number("radius"))
        elif node.tag == "WrapCylinder":
            put(node, "radius", float(grows[:2].mean()) * node.number("radius"))
            if node.child("length") is not None:
                put(node, "length", float(grows[2]) * node.number("length"))
        elif node.tag == "WrapTorus":
            for tag in ("inner_radius", "outer_radius"):
                put(node, tag, float(grows[:2].mean()) * node.number(tag))


def scale_joints(joints: list[OsimJoint], factors: Mapping[str, Array]) -> None:
    """Scale the translation functions of custom joints, and the radii of ellipsoidal joints; factors : body
    -> scale factors (3,) along its axes
    """
    for joint in joints:
        if joint.kind == "ellipsoidal":
            put(joint.node, "radii_x_y_z", factors.get(joint.parent.body, ONE) * joint.radii)
        transform = joint.node.child("SpatialTransform")
        if joint.node.tag != "CustomJoint" or transform is None:
            continue
        A = growth(joint.parent, factors)
        for axis in transform.children():
            if axis.name.startswith("translation"):
                u = axis.vector("axis", default=None)
                u = u / np.linalg.norm(u)
                multiply(axis, float(u @ A @ u), identity=False)


def scale_couplers(model: Node, joints: list[OsimJoint], factors: Mapping[str, Array]) -> None:
    """Scale couplers whose dependent coordinate is a length; factors : body -> scale factors (3,) along its
    axes
    """
    along = {
        motion["of"]: (joint, np.array(motion["translates"]))
        for joint in joints
        for motion in joint.motions
        if "translates" in motion and set(motion) == {"translates", "of"}
    }
    for node in model.members("ConstraintSet"):
        name = node.text("dependent_coordinate_name")
        if node.tag == "CoordinateCouplerConstraint" and name in along:
            joint, u = along[name]
            u = u / np.linalg.norm(u)
            factor = float(u @ growth(joint.parent, factors) @ u)
            put(node, "scale_factor", factor * node.number("scale_factor", 1.0))


def multiply(holder: Node, factor: float, identity: bool = True) -> None:
    """Multiply the function in a property of an element by a factor; nothing changes if there is no function.

    identity : whether the identity function f(q) = q is multiplied, too
    """
    found = function_below(holder)
    if found is None or factor == 1.0:
        return
    if not identity and read_function(found).get("linear") == [1.0, 0.0]:
        return
    if found.tag == "MultiplierFunction":
        put(found, "scale", factor * found.number("scale", 1.0))
        return
    above = next(element for element in holder.element.iter() if found.element in list(element))
    multiplier = ElementTree.Element("MultiplierFunction")
    above[list(above).index(found.element)] = multiplier
    ElementTree.SubElement(multiplier, "function").append(found.element)
    ElementTree.SubElement(multiplier, "scale").text = repr(factor)


def constraint_points(model: Node, frames: OsimFrames, factors: Mapping[str, Array]) -> list[Change]:
    changes = []
    for node in model.members("ConstraintSet"):
        path = f"/constraintset/{node.name}"
        if node.tag in POINTS:
            for k in (1, 2):
                tag = POINTS[node.tag].format(k)
                if node.child(tag) is not None:
                    sockets = (f"socket_body_{k}", f"socket_frame{k}", f"body_{k}")
                    frame = frames.named(node, path, *sockets)
                    changes.append((node, tag, growth(frame, factors) @ node.vector(tag)))
        elif node.tag == "PointOnLineConstraint":
            for tag, body in (("point_on_line", "line_body"), ("point_on_follower", "follower_body")):
                frame = frames.named(node, path, f"socket_{body}", body)
                changes.append((node, tag, growth(frame, factors) @ node.vector(tag)))
    return changes


def put_bodies(frames: OsimFrames, scaled: ModelSpec, factors: Mapping[str, Array]) -> None:
    """Write mass, mass centre and inertia of every body of the model `scaled`, and scale the sizes of their
    geometries;
    factors : body -> scale factors (3,) along its axes
    """
    for body in scaled.bodies:
        node, inertia = frames.bodies[body.name], (*body.inertia_kg_m2, 0.0, 0.0, 0.0)[:6]
        put(node, "mass", body.mass_kg)
        put(node, "mass_center", [1e-3 * x for x in body.mass_centre_mm])
        if states_inertia_by_axes(node):
            for tag, number in zip(INERTIA_BY_AXES, inertia, strict=True):
                put(node, tag, number)
        else:
            put(node, "inertia", inertia)
        for holder in ("attached_geometry", "VisibleObject"):
            found = node.element.find(holder)
            for sizes in found.iter("scale_factors") if found is not None else ():
                old = np.array([float(x) for x in (sizes.text or "1 1 1").split()])
                new = factors.get(body.name, ONE) * old if len(old) == 3 else old
                sizes.text = " ".join(repr(float(x)) for x in new)


def put_muscles(model: Node, ratios: Mapping[str, float]) -> None:
    """Scale the fibre and tendon lengths of all muscles, also of those that are switched off, as somebody may
    switch them on again; ratios : muscle -> its new path length divided by the former one
    """
    for node in model.members("ForceSet"):
        if "Muscle" in node.tag and node.name in ratios:
            for tag in ("optimal_fiber_length", "tendon_slack_length"):
                put(node, tag, ratios[node.name] * node.number(tag, usual_value(tag)))


def put_markers(model: Node, markers: tuple[Marker, ...]) -> None:
    """Write a new marker set, with each marker directly in the frame of its body."""
    old = model.element.find("MarkerSet")
    new = ElementTree.Element("MarkerSet", {"name": "markerset"})
    objects = ElementTree.SubElement(new, "objects")
    modern = model.document.version >= NEWEST_LAYOUT
    for marker in markers:
        element = ElementTree.SubElement(objects, "Marker", {"name": marker.name})
        tag = "socket_parent_frame" if modern else "body"
        ElementTree.SubElement(element, tag).text = f"/bodyset/{marker.segment}" if modern else marker.segment
        ElementTree.SubElement(element, "location").text = " ".join(repr(1e-3 * x) for x in marker.offset_mm)
        ElementTree.SubElement(element, "fixed").text = str(marker.fixed).lower()
    if old is None:
        model.element.append(new)
    else:
        model.element[list(model.element).index(old)] = new
