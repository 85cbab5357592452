"""A model of the right side joined with its mirror image: two legs on one pelvis, from the parameters of one
leg.

Bodies keep X forwards, Y up, Z to the right on both sides. In such axes a mirror perpendicular to Z changes
the sign of z of points and directions, of x and y of rotation axes, and of Ixz and Iyz.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rtsim.config.joint_kinds import KINDS
from rtsim.config.models.both_sides_schema import SUFFIXES, BothSides
from rtsim.config.models.force_schema import SimulationSpec
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError

RIGHT, LEFT = SUFFIXES["right"], SUFFIXES["left"]
Table = dict[str, Any]

DOUBLED = ("contacts", "ligaments", "elements", "surfaces", "muscles", "markers")
ALONE = ("reactions", "rolls", "couplers", "angles", "springs", "frictions", "loads")
"""Tables that are not mirrored to the other side: nobody has needed that."""
POINTS = ("offset_mm", "normal", "direction", "lever_mm", "velocity_mm_s", "mass_centre_mm", "side")
SEGMENTS = ("segment", "parent", "over")


def both_sides(spec: ModelSpec, how: BothSides) -> ModelSpec:
    """Join a model of one side and its mirror image; ConfigError for a model that cannot be mirrored. how :
    name of the joined model, and its bodies that lie in the middle"""
    check_can_be_mirrored(spec, how)
    model = msgspec.to_builtins(spec)
    sided = {body.name for body in spec.bodies} - set(how.middle)
    sides = [renamed(model, sided, RIGHT), renamed(mirrored(model), sided, LEFT)]
    doubled: Table = {key: [row for side in sides for row in side[key]] for key in DOUBLED}
    doubled["bodies"] = [body for body in model["bodies"] if body["name"] in how.middle]
    doubled["bodies"] += [body for side in sides for body in side["bodies"] if body["name"] not in how.middle]
    methods = {name: on_both_sides(method, sided) for name, method in model["methods"].items()}
    flexions = [f"{name}{suffix}" for suffix in (RIGHT, LEFT) for name in spec.flexions]
    return msgspec.convert(
        {**model, **doubled, "name": how.name, "source": f"{how.source}; {spec.source}", "methods": methods,
         "flexion": flexions},
        ModelSpec,
    )  # fmt: skip


def check_can_be_mirrored(spec: ModelSpec, how: BothSides) -> None:
    """Raise ConfigError for the first element of a model that cannot be mirrored."""

    def refuse(what: str, remedy: str) -> ConfigError:
        return ConfigError(what, where=f"{how.name}: both_sides_of {spec.name}", remedy=remedy)

    for key in ALONE:
        if getattr(spec, key):
            raise refuse(
                f"{key} cannot be mirrored to the other side", "write a complete model of both sides"
            )
    if spec.simulation != SimulationSpec():
        raise refuse(
            "[simulation] cannot be mirrored to the other side", "write a complete model of both sides"
        )
    bodies = [body.name for body in spec.bodies]
    for name in how.middle:
        if name not in bodies:
            raise ConfigError(f"unknown {name!r}", where=f"{how.name}: middle", allowed=", ".join(bodies))
    for body in spec.bodies:
        others = [method.joints.get(body.name, body.joint) for method in spec.methods.values()]
        for joint in (body.joint, *others):
            if not KINDS[joint].mirrors:
                able = ", ".join(name for name, kind in KINDS.items() if kind.mirrors)
                raise refuse(
                    f"the {joint} joint of {body.name} has no mirror image in rtsim",
                    f"use a joint that has a mirror image ({able}), or write a model of both sides out",
                )
        if body.axis is not None and body.axis != "w" and tuple(body.axis)[:2] != (0.0, 0.0):
            raise refuse(
                f"the axis of {body.name} is not perpendicular to the sagittal plane", 'give axis = "w"'
            )
        if body.name in how.middle and body.parent and body.parent not in how.middle:
            raise refuse(
                f"{body.name} is a body in the middle of the model, but its parent {body.parent} is not",
                "attach it to a parent in the middle",
            )
    for muscle in spec.muscles:
        if any(station.within or station.moving for station in muscle.path):
            raise refuse(
                f"points of {muscle.name} depend on coordinates", "write a complete model of both sides"
            )


def mirrored(record: Any) -> Any:
    """Return the mirror image of a part of the model, nested tables included, with Z reversed."""
    if isinstance(record, list | tuple):
        return [mirrored(item) for item in record]
    if not isinstance(record, dict):
        return record
    return {key: image(key, value) for key, value in record.items()}


def image(key: str, value: Any) -> Any:
    """Return the mirrored value of a key of the model: a point, direction, rotation or inertia, according to
    the meaning of the key.
    """
    if key in POINTS and value is not None:
        x, y, z = value
        return [x, y, flipped(z)]
    if key in ("turned_deg", "signs"):  # turned about x, y, z; signs of angles about z, x, y
        first, second, third = value
        if key == "turned_deg":
            return [flipped(first), flipped(second), third]
        return [first, -second, -third]
    if key == "inertia_kg_m2":
        xx, yy, zz, xy, xz, yz = (*value, 0.0, 0.0, 0.0)[:6]
        return [xx, yy, zz, xy, flipped(xz), flipped(yz)]
    if key == "mirrored":
        return not value
    return mirrored(value)


def flipped(x: float) -> float:
    """Return the negative of a number, without negative zero."""
    return 0.0 - x


def renamed(model: Table, sided: set[str], suffix: str) -> Table:
    """Return a model in which bodies, and other elements that exist on both sides, have the suffix of one
    side in their names."""

    def walk(record: Any) -> Any:
        if isinstance(record, list | tuple):
            return [walk(item) for item in record]
        if not isinstance(record, dict):
            return record
        found = {key: walk(value) for key, value in record.items()}
        if record.get("point") and record.get("segment", "") not in sided:
            found["point"] = record["point"] + suffix  # a landmark of the middle is there on each side
        for key in SEGMENTS:
            if record.get(key) in sided or (key == "over" and record.get(key)):
                found[key] = record[key] + suffix
        return found

    out: Table = {key: [named(walk(row), suffix) for row in model[key]] for key in DOUBLED}
    out["bodies"] = []
    for body in model["bodies"]:
        row = walk(body)
        if body["name"] in sided:
            row = named(row, suffix)
            row["registered_by"] = [f"{name}{suffix}" for name in row["registered_by"]]
            row["joint_name"] += suffix if row["joint_name"] else ""
            place = row["in_parent"]
            if body["parent"] in sided and body["in_parent"]["point"]:
                place["point"] = body["in_parent"]["point"]
            row["in_child"]["point"] = body["in_child"]["point"]
            row["coordinates"] = [named(coordinate, suffix) for coordinate in row["coordinates"]]
            if row["angles"]:
                row["angles"]["names"] = [name + suffix for name in body["angles"]["names"]]
        out["bodies"].append(row)
    return out


def named(row: Table, suffix: str) -> Table:
    """Return a table of the model, such as a contact, with the suffix of a side appended to its name."""
    return {**row, "name": row["name"] + suffix}


def on_both_sides(method: Table, sided: set[str]) -> Table:
    """Return a method whose constraints and joint kinds of one leg apply to both legs; sided : names that
    exist on both sides
    """

    def twice(names: Any) -> list[str]:
        return [f"{name}{suffix}" for suffix in (RIGHT, LEFT) for name in names]

    joints = {
        f"{name}{suffix}" if name in sided else name: kind
        for name, kind in method["joints"].items()
        for suffix in (RIGHT, LEFT)
    }
    soft = {f"{name}{suffix}": w for suffix in (RIGHT, LEFT) for name, w in method["soft"].items()}
    return {**method, "hard": twice(method["hard"]), "soft": soft, "joints": joints}
