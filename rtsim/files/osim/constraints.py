"""Conversion of the constraints of an OpenSim model into entries of an rtsim model file: couplers (a
coordinate as a function of another, or held fixed) and constraint elements (between points of two bodies).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rtsim.files.osim.document import Node
from rtsim.files.osim.frames import OsimFrame, OsimFrames, offset_of
from rtsim.files.osim.functions import function_below, read_function
from rtsim.files.osim.joints import OsimJoint

Table = dict[str, Any]
SUPPORTED = (
    "CoordinateCouplerConstraint, PointConstraint, PointOnLineConstraint, WeldConstraint, "
    "ConstantDistanceConstraint"
)


def read_constraints(
    model: Node, frames: OsimFrames, joints: list[OsimJoint]
) -> tuple[list[Table], list[Table]]:
    """Return couplers, including those of coordinates held fixed, and constraint elements; disabled
    constraints are left out.
    """
    couplers: list[Table] = []
    elements: list[Table] = []
    for node in model.members("ConstraintSet"):
        if not node.flag("isEnforced", True) or node.flag("isDisabled"):
            node.document.note(f"{node.label}: the constraint is switched off and was left out")
        elif node.tag == "CoordinateCouplerConstraint":
            couplers.append(read_coupler(node))
        else:
            elements += read_elements(node, frames)
    follows = {coupler["coordinate"] for coupler in couplers}
    held = [(c, c.held) for joint in joints for c in joint.coordinates if c.held is not None]
    for coordinate, value in held:
        if coordinate.name in follows:
            coordinate.node.document.note(
                f"coordinate {coordinate.name}: the coordinate is both coupled and locked; the "
                "coupling was used"
            )
        else:
            couplers.append({"coordinate": coordinate.name, "constant": value})
    return couplers, elements


def read_coupler(node: Node) -> Table:
    """Return a coupler for a constraint coordinate = scale * f(another coordinate)."""
    of = node.text("independent_coordinate_names").split()
    if len(of) != 1:
        node.fail(f"{len(of)} independent coordinates", allowed="one")
    holder = node.child("coupled_coordinates_function")
    found = function_below(holder) if holder is not None else None
    if found is None:
        node.fail("the constraint has no function", remedy="correct this element in the file")
    function = read_function(found, node.number("scale_factor", 1.0))
    coordinate = node.text("dependent_coordinate_name")
    return {"coordinate": coordinate, **({} if "constant" in function else {"of": of[0]}), **function}


def read_elements(node: Node, frames: OsimFrames) -> list[Table]:
    """Return the elements of a constraint that makes points or frames coincide, keeps two points at a
    constant distance, or keeps a point on a line.
    """
    if node.tag == "PointOnLineConstraint":
        return [point_on_line(node, frames)]
    if node.tag not in ("PointConstraint", "WeldConstraint", "ConstantDistanceConstraint"):
        node.fail(f"a {node.tag} has no counterpart in rtsim", allowed=SUPPORTED, remedy="leave it out")
    path = f"/constraintset/{node.name}"
    a = frames.named(node, path, "socket_body_1", "socket_frame1", "body_1")
    b = frames.named(node, path, "socket_body_2", "socket_frame2", "body_2")
    if node.tag == "WeldConstraint":
        a, b = (
            OsimFrame(f.body, f.transform @ offset_of(node, f"location_body_{k}", f"orientation_body_{k}"))
            for k, f in ((1, a), (2, b))
        )
        return weld(node.name, a, b)
    at = [f.transform.apply(node.vector(f"location_body_{k}")) for k, f in ((1, a), (2, b))]
    table = {"name": node.name, "a": place(a, at[0]), "b": place(b, at[1])}
    if node.tag == "PointConstraint":
        return [{**table, "kind": "point"}]
    length = 1e3 * node.number("constant_distance")
    return [{**table, "kind": "distance", "target_mm": length}]


def point_on_line(node: Node, frames: OsimFrames) -> Table:
    """Return the model-file element for a constraint that keeps a point of one body on a line of another."""
    path = f"/constraintset/{node.name}"
    line = frames.named(node, path, "socket_line_body", "line_body")
    follower = frames.named(node, path, "socket_follower_body", "follower_body")
    if any(not np.array_equal(f.transform.matrix(), np.eye(4)) for f in (line, follower)):
        node.document.note(
            f"{node.label}: the point and the line are read in the frames that the constraint names, "
            "as specified; OpenSim 4.6 reads them in the bodies of these frames"
        )
    direction = line.transform.rotation @ node.vector("line_direction_vec", default=None)
    return {
        "name": node.name,
        "kind": "point_on_line",
        "a": place(follower, follower.transform.apply(node.vector("point_on_follower"))),
        "b": place(line, line.transform.apply(node.vector("point_on_line"))),
        "direction": direction.tolist(),
    }


def weld(name: str, a: OsimFrame, b: OsimFrame) -> list[Table]:
    """Return the elements of a model file that weld two frames together: their origins coincide, and a point
    on the x axis of `a` is kept in two planes through the origin of `b`, a point on its y axis in one.

    The points are 1 m from the origin, so that a rotation in radians counts as much as a translation in
    metres. This lever is no size of a body, so it stays as it is where the model is scaled.
    """
    A, B = a.transform, b.transform
    origin = {"name": name, "kind": "point", "a": place(a, A.position), "b": place(b, B.position)}
    planes = []
    for tip, across in ("xy", "xz", "yz"):
        direction, normal = A.rotation[:, "xyz".index(tip)], B.rotation[:, "xyz".index(across)]
        plane = {
            "name": f"{name}.{tip}{across}",
            "kind": "plane",
            "a": place(a, A.position),
            "b": place(b, B.position),
            "normal": normal.tolist(),
            "lever_mm": (1e3 * direction).tolist(),
        }
        planes.append(plane)
    return [origin, *planes]


def place(frame: OsimFrame, point: np.ndarray) -> Table:
    return {"segment": frame.body, "offset_mm": (1e3 * point).tolist()}
