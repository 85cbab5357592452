"""Checks of the mechanics of a model file: joints, masses, couplers, units."""

from __future__ import annotations

import math
from collections.abc import Callable

from rtsim.config.joint_kinds import KINDS
from rtsim.config.models.function_schema import MOTION
from rtsim.config.models.joint_schema import Axis, Body, coordinates_of, is_angular, motions_of
from rtsim.config.models.model_tables import ModelTables
from rtsim.errors import ConfigError

Note = Callable[[str], None]

PARALLEL = 1e-6
"""Sine of the angle between two axes below which they count as one."""
OWN_KEYS = sorted({name for kind in KINDS.values() for name in kind.needs} - {"axis"})
"""Keys that only some kinds of joints have; an axis may stay where another kind takes a joint's place."""
ROUNDING = 1e-9
"""Largest violation of an inertia's inequalities, in parts of its size: printed numbers are rounded."""


def check_mechanics(spec: ModelTables) -> None:
    """Raise ValueError, with the key, for impossible joints, couplers or units in a model file."""
    for body in spec.bodies:
        kinds: set[str] = {
            body.joint,
            *(method.joints.get(body.name, body.joint) for method in spec.methods.values()),
        }
        check_joint(body, kinds)
        check_coordinates(body)
        if (n := len(body.inertia_kg_m2)) not in (3, 6):
            key = f"bodies.{body.name}.inertia_kg_m2"
            raise ValueError(
                f"{key}: {n} numbers are given; give 3 (Ixx, Iyy, Izz) or 6 (Ixx, Iyy, Izz, Ixy, Ixz, Iyz)"
            )
    check_couplers(spec)
    check_ranges(spec)


def check_joint(body: Body, kinds: set[str]) -> None:
    """Check that a body has the keys that its kinds of joint need, and no others. A body may have several
    kinds: that of the model, and those that marker methods use in its place.
    """
    key = f"bodies.{body.name}"
    needed = {name: how for kind in sorted(kinds, reverse=True) for name, how in KINDS[kind].needs.items()}
    for name in OWN_KEYS:
        if getattr(body, name) and name not in needed:
            able = " and ".join(kind for kind, row in KINDS.items() if name in row.needs)
            raise ValueError(f"{key}.{name}: only {able} joints have this key; remove the key")
    for name, how in needed.items():
        if not getattr(body, name):
            raise ValueError(f"{key}.{name}: {how}")
    single = () if body.axis is None else (body.axis,)
    for axis in (*single, *(body.axes or ()), *(motion.axis for motion in body.motion)):
        if not any(in_segment(axis)):
            raise ValueError(f"{key}: an axis of [0, 0, 0] has no direction; give a vector that is not zero")
    if body.axes is not None:
        a, b = (in_segment(axis) for axis in body.axes)
        if not norm(cross(a, b)) > PARALLEL * norm(a) * norm(b):
            raise ValueError(f"{key}.axes: the two axes are parallel; change the direction of one of them")


def check_coordinates(body: Body) -> None:
    """Check that a body has as many coordinates as its joint, in suitable units, and that the coordinates of
    a custom joint have an effect.
    """
    key = f"bodies.{body.name}.coordinates"
    angular, given = KINDS[body.joint].angular, len(body.coordinates)
    if given and angular is not None and given != len(angular):
        raise ValueError(
            f"{key}: {given} coordinates are given, but its {body.joint} joint has {len(angular)}"
        )
    for k, coordinate in enumerate(coordinates_of(body)):
        unit = "deg" if is_angular(body, k) else "mm"
        if coordinate.unit not in ("", unit):
            raise ValueError(
                f"{key}: the values of {coordinate.name} must be in {unit}, for example neutral_{unit}"
            )
        if angular is None and not motions_of(body, coordinate.name):
            raise ValueError(
                f"{key}: {coordinate.name} does not move the body; name the coordinate under `of` in a motion"
            )
    if len(coordinates_of(body)) > 1 and any(not m.of and m.constant is None for m in body.motion):
        raise ValueError(f"bodies.{body.name}.motion: `of` is missing; name one of the coordinates there")


def check_inertias(spec: ModelTables, note: Note) -> None:
    """Raise ConfigError for an inertia that is not positive semidefinite; call `note` with a sentence on one
    that no real body can have.

    With a negative principal inertia, the kinetic energy can be negative. If one principal inertia exceeds
    the sum of the two others, a second moment of mass, trace/2 - I, is negative: no mass distribution has
    this, but the equations of motion can still be solved, and published models have such foot segments. Only
    moving bodies are checked.
    """
    for body in spec.bodies:
        where = f"model {spec.name}: bodies.{body.name}.inertia_kg_m2"
        xx, yy, zz, xy, xz, yz = (*body.inertia_kg_m2, 0.0, 0.0, 0.0)[:6]
        if any(body.inertia_kg_m2) and not body.mass_kg:
            raise ConfigError("the body has an inertia but no mass", where=where, remedy="add mass_kg")
        size, half = abs(xx) + abs(yy) + abs(zz), 0.5 * (xx + yy + zz)
        if not is_semidefinite(xx, yy, zz, xy, xz, yz, size):
            raise ConfigError(
                "a principal moment of inertia is negative, which no body has",
                where=where,
                remedy="correct the value",
            )
        if not is_semidefinite(half - xx, half - yy, half - zz, -xy, -xz, -yz, size):
            note(
                f"{where}: no real body has this inertia, because one principal moment exceeds the "
                "sum of the other two; the inertia is used as given"
            )


def is_semidefinite(xx: float, yy: float, zz: float, xy: float, xz: float, yz: float, size: float) -> bool:
    """Return whether a symmetric matrix is positive semidefinite: every principal minor is at least 0.

    size : magnitude of the numbers, which determines the rounding error
    """
    minors = (
        (xx, 1), (yy, 1), (zz, 1),
        (xx * yy - xy * xy, 2), (xx * zz - xz * xz, 2), (yy * zz - yz * yz, 2),
        (xx * yy * zz + 2.0 * xy * xz * yz - xx * yz * yz - yy * xz * xz - zz * xy * xy, 3),
    )  # fmt: skip
    return all(minor >= -ROUNDING * size**power for minor, power in minors)


def check_couplers(spec: ModelTables) -> None:
    """Check that no coordinate depends on itself through couplers, and none has a start value although its
    coupler determines it.
    """
    follows = {coupler.coordinate: coupler.of for coupler in spec.couplers if coupler.of != MOTION}
    for name in follows:
        seen, at = [name], follows[name]
        while at in follows and at not in seen:
            seen.append(at)
            at = follows[at]
        if at == name:
            raise ValueError(
                f"couplers.{name}: the coordinate follows itself ({' depends on '.join([*seen, at])}); "
                "remove one of these couplers"
            )
    for body in spec.bodies:
        for coordinate in coordinates_of(body):
            if coordinate.name in follows and coordinate.neutral is not None:
                raise ValueError(
                    f"bodies.{body.name}.coordinates: the neutral value of {coordinate.name} is "
                    "determined by its coupler; remove it here"
                )


def check_ranges(spec: ModelTables) -> None:
    """Check that the coordinate range of each conditional path point is given in the unit of its coordinate:
    degrees for an angle, millimetres for a length.
    """
    units = {
        coordinate.name: "deg" if is_angular(body, k) else "mm"
        for body in spec.bodies
        for k, coordinate in enumerate(coordinates_of(body))
    }
    for muscle in spec.muscles:
        for s, station in enumerate(muscle.path):
            if station.within:
                unit = units[station.within.coordinate]
                if getattr(station.within, f"range_{unit}") is None:
                    raise ValueError(
                        f"muscles.{muscle.name}.path[{s}].within: the range of this coordinate must "
                        f"be given as range_{unit}"
                    )


def in_segment(axis: Axis) -> tuple[float, ...]:
    """Return an axis as a vector (3,), with u, v, w as orthogonal unit vectors. That suffices to detect zero
    and parallel axes, although u, v, w of a person may be oblique, as they are never nearly parallel.
    """
    if isinstance(axis, str):
        return tuple(float(axis == name) for name in "uvw")
    return axis


def cross(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, ...]:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def norm(a: tuple[float, ...]) -> float:
    return math.sqrt(sum(x * x for x in a))
