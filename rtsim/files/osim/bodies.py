"""OpenSim's bodies, each with the joint that carries it, as bodies of a model file, parents first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from typing import Any

from rtsim.files.osim.document import NEWEST_LAYOUT, Node
from rtsim.files.osim.frames import GROUND, OsimFrames, Transform
from rtsim.files.osim.joints import ABOUT, ALONG, OsimCoordinate, OsimJoint

Table = dict[str, Any]
INERTIA_BY_AXES = tuple(f"inertia_{axes}" for axes in ("xx", "yy", "zz", "xy", "xz", "yz"))
DEGREES = (4.0 * math.pi, 720.0)
"""Limits of ranges in radians between these values were meant in degrees; larger ones mean no limit."""


def body_tables(
    frames: OsimFrames, joints: list[OsimJoint], followers: Collection[str], named: Collection[str]
) -> tuple[list[Table], dict[str, Transform]]:
    """Return the bodies of a model file, parents first, and the pose of each in ground at the default
    coordinates.

    followers : coordinates that a coupler, a function of another coordinate, determines
    named : names of coordinates to which constraints or path points refer
    """
    carried: dict[str, OsimJoint] = {}
    for joint in joints:
        if joint.child.body == GROUND:
            joint.node.fail("the ground is the child of a joint", remedy="swap parent and child")
        if joint.child.body in carried:
            joint.node.fail(
                f"{joint.child.body} already has a joint, {carried[joint.child.body].node.name}",
                remedy="close the loop by a WeldConstraint or a PointConstraint",
            )
        carried[joint.child.body] = joint
    tables, poses = [], {GROUND: Transform()}
    names = names_of_their_own(joints, frames.bodies)
    left = list(frames.bodies)
    while left:
        name = next((n for n in left if n not in carried or carried[n].parent.body in poses), "")
        if not name:
            carried[left[0]].node.fail(
                "the parent bodies of this joint carry each other in a closed loop",
                remedy="attach one of these bodies to ground",
            )
        left.remove(name)
        body = frames.bodies[name]
        if name not in carried:
            body.document.note(f"body {name} has no joint, so the body is free, as in OpenSim")
            tables.append({"name": name, "joint": "free", **mass(body)})
            poses[name] = Transform()
            continue
        joint = carried[name]
        called = {"joint_name": joint.node.name} if joint.node.name in names else {}
        tables.append({"name": name, **called, **joint_table(joint, followers, named), **mass(body)})
        X_GF = poses[joint.parent.body] @ joint.parent.transform
        poses[name] = X_GF @ joint.transform @ joint.child.transform.inverse()
    return tables, poses


def names_of_their_own(joints: list[OsimJoint], bodies: Collection[str]) -> set[str]:
    """Return the names of the joints that a model file can use as they are: those that no other joint and no
    other body has.
    """
    count = Counter(joint.node.name for joint in joints)
    others = set(bodies)
    return {
        joint.node.name for joint in joints
        if joint.node.name and count[joint.node.name] == 1
        and (joint.node.name == joint.child.body or joint.node.name not in others)
    }  # fmt: skip


def joint_table(joint: OsimJoint, followers: Collection[str], named: Collection[str]) -> Table:
    """Return the entries of a body's table in a model file that describe the joint between the body and its
    parent.

    followers : coordinates that a coupler, a function of another coordinate, determines
    named : names of coordinates to which constraints or path points refer
    """
    kind, in_parent, coordinates = joint.kind, joint.parent.transform, joint.coordinates
    if joint.node.tag == "FreeJoint" and not any(c.name in named or c.held is not None for c in coordinates):
        kind = "free"
        joint.node.document.note(
            f"{joint.node.label}: in rtsim a free joint has no angles, so the coordinates of this "
            "joint have no names and no ranges; the joint starts at their default values"
        )
    elif joint.node.tag in ("FreeJoint", "BallJoint"):
        joint.node.document.note(
            f"{joint.node.label}: in rtsim the coordinates of this joint are angles about x, y, z, "
            "which are singular where the second angle is 90 degrees; speeds and moment arms refer "
            "to the rates of these angles, not to the angular velocity as in OpenSim"
        )
    elif kind == "ellipsoidal":
        tell_ellipsoidal(joint, followers, named)
    if kind in ("free", "weld"):
        in_parent = in_parent @ joint.transform
    table: Table = {
        "joint": kind,
        "in_parent": in_parent.place(),
        "in_child": joint.child.transform.place(),
    }
    if joint.parent.body != GROUND:
        table["parent"] = joint.parent.body
    axes = [motion.get(ABOUT) or motion.get(ALONG) for motion in joint.motions]
    if kind in ("hinge", "slider"):
        table["axis"] = axes[0]
    elif kind in ("universal", "planar"):
        table["axes"] = axes[:2]
    elif kind == "custom":
        table["motion"] = joint.motions
    elif kind == "ellipsoidal":
        table["radii_mm"] = (1e3 * joint.radii).tolist()
    if kind not in ("free", "weld", "ellipsoidal"):
        if kind != "custom":  # in the order of the motions
            by_name = {coordinate.name: coordinate for coordinate in coordinates}
            coordinates = [by_name[motion["of"]] for motion in joint.motions]
        table["coordinates"] = [coordinate_table(c, followers) for c in coordinates]
    return table


def tell_ellipsoidal(joint: OsimJoint, followers: Collection[str], named: Collection[str]) -> None:
    """Add a note that the angles of an ellipsoidal joint are not coordinates in rtsim; ConfigError if one of
    them is locked, or if other elements of the file refer to it.

    followers : coordinates that a coupler, a function of another coordinate, determines
    named : names of coordinates to which constraints or path points refer
    """
    for coordinate in joint.coordinates:
        if coordinate.name in named or coordinate.name in followers or coordinate.held is not None:
            joint.node.fail(
                f"the coordinate {coordinate.name} of this ellipsoidal joint is locked, prescribed or used "
                "by another element of the model; rtsim supports none of this, because it describes the "
                "rotation of such a joint by a quaternion, without these coordinates",
                remedy="unlock the coordinate, and remove the constraints and path points that refer to it",
            )
    turned = ", and the joint starts without a rotation" if any(c.default for c in joint.coordinates) else ""
    joint.node.document.note(
        f"{joint.node.label}: in rtsim an ellipsoidal joint has no angles, so the coordinates of this "
        f"joint have no names and no ranges{turned}"
    )


def coordinate_table(coordinate: OsimCoordinate, followers: Collection[str]) -> Table:
    """Return a coordinate of an OpenSim model as a table of a model file of rtsim: name, start value and
    range, in degrees or millimetres.

    followers : coordinates that a coupler, a function of another coordinate, determines
    """
    node, name = coordinate.node, coordinate.name
    unit, scale = ("deg", math.degrees(1.0)) if coordinate.angular else ("mm", 1e3)
    table: Table = {"name": name}
    limits = node.numbers("range", finite=False)
    low, high = limits if limits is not None and len(limits) == 2 else (-math.inf, math.inf)
    clamped = node.flag("clamped")
    free = ", and the coordinate, which is clamped to this range, was left free" if clamped else ""
    if limits is not None and len(limits) != 2:
        node.document.note(
            f"coordinate {name}: the range has {len(limits)} numbers, not two, and was left out{free}",
            clamped,
        )
    elif limits is not None and not low < high:
        what = "is empty" if low == high else "begins above its end"
        node.document.note(
            f"coordinate {name}: the range {low:g} to {high:g} {what} and was left out{free}", clamped
        )
        low, high = -math.inf, math.inf
    elif clamped and not (math.isfinite(low) and math.isfinite(high)):
        node.document.note(
            f"coordinate {name}: the coordinate is clamped but has no finite range, so it was left free", True
        )
    elif clamped and coordinate.angular and DEGREES[0] < max(abs(low), abs(high)) <= DEGREES[1]:
        node.document.note(
            f"coordinate {name}: the coordinate is clamped from {low:g} to {high:g} rad, but these "
            "numbers look like degrees",
            True,
        )
    if not low <= coordinate.default <= high:
        node.document.note(f"coordinate {name}: the range was widened to include the default value", clamped)
        low, high = min(low, coordinate.default), max(high, coordinate.default)
    if math.isfinite(low) and math.isfinite(high):
        table[f"range_{unit}"] = [scale * low, scale * high]
        if clamped:
            table["clamped"] = True
    if coordinate.coupled:
        table["coupled"] = True
    if name in followers and coordinate.default != 0.0:
        table[f"default_{unit}"] = scale * coordinate.default
    if name not in followers and coordinate.held is None:
        table[f"neutral_{unit}"] = scale * coordinate.default
        if node.flag("prescribed"):
            node.document.note(
                f"coordinate {name}: the prescribed motion over time was left out, so the coordinate is free"
            )
    return table


def mass(body: Node) -> Table:
    """Return the mass, mass centre and inertia of a body as entries of a model file."""
    kilograms = body.number("mass", 0.0)
    inertia = inertia_of(body, kilograms)
    if kilograms == 0.0 and any(inertia):
        body.document.note(f"body {body.name}: an inertia without mass was left out")
        inertia = [0.0, 0.0, 0.0]
    if kilograms < 0.0:
        body.fail(
            f"the mass is {kilograms:g} kg", allowed="0 or more", remedy="correct this element in the file"
        )
    centre = 1e3 * body.vector("mass_center")
    return {"mass_kg": kilograms, "mass_centre_mm": centre.tolist(), "inertia_kg_m2": inertia}


def states_inertia_by_axes(body: Node) -> bool:
    """Return whether a body has one property for each number of its inertia, as in OpenSim 3."""
    if any(body.child(tag) is not None for tag in INERTIA_BY_AXES):
        return True
    return body.document.version < NEWEST_LAYOUT and body.child("inertia") is None


def inertia_of(body: Node, kilograms: float) -> list[float]:
    """Return the inertia of a body about its mass centre: xx, yy, zz, xy, xz, yz [kg m^2]. ConfigError if one
    of the first three is missing where others are given; a body of OpenSim 3 without any has none.
    """
    if not states_inertia_by_axes(body):
        return body.vector("inertia", 6).tolist()
    missing = [tag for tag in INERTIA_BY_AXES[:3] if body.child(tag) is None]
    if kilograms > 0.0 and not any(body.child(tag) is not None for tag in INERTIA_BY_AXES):
        body.document.note(
            f"body {body.name}: the file states no inertia; 0 was used, where OpenSim takes 1 kg m^2 about "
            "each axis",
            aloud=True,
        )
    elif kilograms > 0.0 and missing:
        body.fail(
            f"{missing[0]} is missing, though other inertias are given",
            remedy="state inertia_xx, inertia_yy and inertia_zz; without one of them OpenSim takes 1 kg m^2",
        )
    return [body.number(tag, 0.0) for tag in INERTIA_BY_AXES]
