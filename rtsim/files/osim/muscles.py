"""OpenSim's muscles: their path points and Hill parameters as those of a model file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rtsim.files.markers.trial import name_some
from rtsim.files.osim.document import Node
from rtsim.files.osim.frames import OsimFrames, Transform
from rtsim.files.osim.functions import function_below, read_function, rough_value
from rtsim.files.osim.wraps import PathPoint, WrapObjects

Table = dict[str, Any]
# property of the tendon's strain at maximum isometric force, and its default
TENDON_STRAIN = {
    "Thelen2003Muscle": ("FmaxTendonStrain", 0.04),
    "Millard2012EquilibriumMuscle": ("strain_at_one_norm_force", 0.049),
    "DeGrooteFregly2016Muscle": ("tendon_strain_at_one_norm_force", 0.049),
}
# time constants of activation and deactivation that are the default [s]
TIME_CONSTANTS = {
    "Thelen2003Muscle": (0.015, 0.050),
    "Millard2012EquilibriumMuscle": (0.010, 0.040),
    "DeGrooteFregly2016Muscle": (0.015, 0.060),
}


ALLOWED = {
    "optimal_fiber_length": (0.0, math.inf, 0.1),
    "max_contraction_velocity": (0.0, math.inf, 10.0),
    "pennation_angle_at_optimal": (-1e-12, 0.5 * math.pi, 0.0),
    "minimum_activation": (-1e-12, 1.0, 0.01),
    "tendon_slack_length": (-1e-12, math.inf, 0.2),
}
"""Properties of a muscle with their smallest, largest and default values."""
TOLERANCE = 1e-5
"""Distance by which a coordinate may be outside the range of a conditional point that is still there, as in
OpenSim [rad, m]: the same limit is often written with fewer digits for the point than for the coordinate."""


class Paths:
    """Converts the paths of muscles to elements of a model file.

    frames : frames of the model
    poses : body -> its pose in ground at the default coordinates
    defaults, units : coordinate -> its default value [rad, m], and its unit in the model file, deg or mm
    """

    def __init__(
        self,
        frames: OsimFrames,
        poses: dict[str, Transform],
        defaults: Mapping[str, float],
        units: Mapping[str, str],
    ) -> None:
        self.frames, self.poses, self.defaults, self.units = frames, poses, defaults, units
        self.wraps = WrapObjects(frames, poses)

    def read(self, muscle: Node) -> list[Table]:
        """Return the elements of the path of a muscle, points and wrapping surfaces, as tables for a model
        file.
        """
        geometry = muscle.child("GeometryPath")
        if geometry is None:
            muscle.fail("the muscle has no GeometryPath", remedy="add a GeometryPath with points")
        nodes = geometry.members("PathPointSet")
        tables = [self.station(node, f"/forceset/{muscle.name}/path/{node.name}") for node in nodes]
        points = [self.point(table) for table in tables]
        return self.wraps.add_to(muscle.name, tables, points, geometry.members("PathWrapSet"))

    def station(self, node: Node, path: str) -> Table:
        """Read a point of a path: fixed, conditional within a range, or moving."""
        frame = self.frames.named(node, path, "socket_parent_frame", "socket_parent", "body")
        if node.tag == "MovingPathPoint":
            return self.moving(node, frame.body, frame.transform)
        position = frame.transform.apply(node.vector("location", default=None))
        table = {"segment": frame.body, "offset_mm": (1e3 * position).tolist()}
        if node.tag == "PathPoint":
            return table
        if node.tag != "ConditionalPathPoint":
            node.fail(
                f"a {node.tag} has no counterpart in rtsim",
                allowed="PathPoint, ConditionalPathPoint, MovingPathPoint",
            )
        name = self.coordinate(node, "socket_coordinate", "coordinate")
        scale = math.degrees(1.0) if self.units[name] == "deg" else 1e3
        limits = (scale * (node.vector("range", 2, None) + TOLERANCE * np.array([-1.0, 1.0]))).tolist()
        return {**table, "within": {"coordinate": name, f"range_{self.units[name]}": limits}}

    def moving(self, node: Node, body: str, transform: Transform) -> Table:
        """Read a moving point of a path, at x, y and z in its body that are functions of one coordinate."""
        if not np.array_equal(transform.rotation, np.eye(3)):
            node.fail(
                "a moving path point is given in a rotated frame",
                remedy="give the locations of the point in the frame of the body",
            )
        functions, of = {}, set()
        for k, axis in enumerate("xyz"):
            holder = node.child(f"{axis}_location")
            found = function_below(holder) if holder is not None else None
            if found is None:
                node.fail(f"{axis}_location has no function", remedy="correct this element in the file")
            function = shifted(read_function(found), float(transform.position[k]))
            functions[axis] = function
            if "constant" not in function:
                of.add(self.coordinate(node, f"socket_{axis}_coordinate", f"{axis}_coordinate"))
        if len(of) > 1:
            node.fail(
                f"the point depends on several coordinates: {' and '.join(sorted(of))}",
                allowed="one coordinate for x, y and z together",
                remedy="make the functions of the other coordinates constant",
            )
        if not of:
            fixed = [1e3 * functions[axis]["constant"] for axis in "xyz"]
            return {"segment": body, "offset_mm": fixed}
        return {"segment": body, "moving": {"of": of.pop(), **functions}}

    def coordinate(self, node: Node, *tags: str) -> str:
        """Return the name of the coordinate to which a property refers; in OpenSim 4.x it holds its path."""
        name = node.text(*tags).rsplit("/", 1)[-1]
        if name not in self.defaults:
            node.fail(f"unknown coordinate {name!r}", allowed=", ".join(self.defaults))
        return name

    def point(self, station: Table) -> PathPoint:
        """Return a point of a path, given as the table of a model file, with its position at the default
        coordinates.
        """
        there = True
        if "moving" in station:
            moving = station["moving"]
            x = self.defaults[moving["of"]]
            local = np.array([rough_value(moving[axis], x) for axis in "xyz"])
        else:
            local = 1e-3 * np.array(station["offset_mm"])
        if "within" in station:
            within = station["within"]
            name = within["coordinate"]
            scale = math.degrees(1.0) if self.units[name] == "deg" else 1e3
            low, high = within[f"range_{self.units[name]}"]
            there = low <= scale * self.defaults[name] <= high
        return PathPoint(self.poses[station["segment"]].apply(local), there)


def usual_value(tag: str) -> float:
    """Return the value of a property of muscles where a file leaves it out."""
    return ALLOWED[tag][2]


def shifted(function: Table, by: float) -> Table:
    """Return a function, as entries of a model file, to whose values the constant `by` is added."""
    if by == 0.0:
        return function
    if "constant" in function:
        return {"constant": function["constant"] + by}
    if "linear" in function:
        slope, intercept = function["linear"]
        return {"linear": [slope, intercept + by]}
    if "polynomial" in function:
        lowest, *others = function["polynomial"]
        return {"polynomial": [lowest + by, *others]}
    if "sine" in function:
        *wave, offset = function["sine"]
        return {"sine": [*wave, offset + by]}
    (kind, points), *_ = function.items()  # spline or lines
    return {kind: {**points, "value": [value + by for value in points["value"]]}}


def read_muscles(model: Node, paths: Paths) -> list[Table]:
    """Return all muscles of the ForceSet; other forces are left out with a note."""
    tables, others, immediate = [], dict[str, list[str]](), []
    for node in model.members("ForceSet"):
        if "Muscle" in node.tag:
            hill = read_hill(node)
            if hill and node.flag("ignore_activation_dynamics"):
                immediate.append(node.name)
            tables.append({"name": node.name, "path": paths.read(node), **({"hill": hill} if hill else {})})
        else:
            others.setdefault(node.tag, []).append(node.name or "without name")
    if immediate:
        model.document.note(
            "muscles with ignore_activation_dynamics, whose activation is the excitation in OpenSim; in "
            f"rtsim it follows with the time constants of the muscle: {name_some(immediate)}",
            aloud=True,
        )
    if others:
        model.document.note(
            "forces left out: "
            + "; ".join(f"{tag} {name_some(names)}" for tag, names in sorted(others.items()))
            + "; these forces have no effect in rtsim, and the lengths of their paths are not computed"
        )
    return tables


def read_hill(node: Node) -> Table | None:
    """Read Hill parameters; None for a muscle that is disabled or has no force.

    The force-length and force-velocity curves are those of kernels/muscle for every class of muscle.
    """
    document = node.document
    for key, (low, high, usual) in ALLOWED.items():
        value = node.number(key, usual)
        if not low < value < high:
            wanted = (
                "above 0"
                if low == 0.0
                else "0 or more"
                if high == math.inf
                else f"0 or more, below {high:.4g}"
            )
            node.fail(f"{key} {value:g}", allowed=wanted, remedy="correct this element in the file")
    force = node.number("max_isometric_force", 1000.0)
    if force < 0.0:
        node.fail(
            f"max_isometric_force {force:g}", allowed="0 or more", remedy="correct this element in the file"
        )
    if not node.flag("appliesForce", True) or node.flag("isDisabled") or force == 0.0:
        document.note(
            f"{node.label}: the muscle is switched off or has no force; only its path and "
            "moment arms are used"
        )
        return None
    document.note(
        f"{node.tag}: the parameters of this muscle model were used but not its curves, because "
        "rtsim uses the same curves for all muscles"
    )
    slack = node.number("tendon_slack_length", usual_value("tendon_slack_length"))
    damping = node.numbers("fiber_damping")
    hill: Table = {
        "max_isometric_force_N": force,
        "optimal_fibre_length_mm": 1e3
        * node.number("optimal_fiber_length", usual_value("optimal_fiber_length")),
        "tendon_slack_length_mm": 1e3 * slack,
        "pennation_deg": math.degrees(node.number("pennation_angle_at_optimal", 0.0)),
        "max_contraction_speed": node.number("max_contraction_velocity", 10.0),
        "min_activation": node.number("minimum_activation", 0.01),
    }
    if damping and damping[0] > 0.0:
        hill["fibre_damping"] = damping[0]
    if node.tag in TENDON_STRAIN:
        key, default = TENDON_STRAIN[node.tag]
        curve = node.child("TendonForceLengthCurve") or node
        hill["tendon_strain"] = curve.number(key, default)
    if node.tag in TIME_CONSTANTS:
        rise, fall = TIME_CONSTANTS[node.tag]
        hill["activation_ms"] = 1e3 * node.number("activation_time_constant", rise)
        hill["deactivation_ms"] = 1e3 * node.number("deactivation_time_constant", fall)
    elastic = slack > 0.0 and node.tag != "RigidTendonMuscle" and not node.flag("ignore_tendon_compliance")
    if elastic and "fibre_damping" not in hill:
        document.note(
            f"{node.tag}: the muscle has no fibre damping; in rtsim an elastic tendon needs "
            "fibre damping, so the default was used"
        )
    return {**hill, "tendon": "elastic" if elastic else "rigid"}
