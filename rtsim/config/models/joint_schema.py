"""Schema of a body and the joint that carries it, with its coordinates and mass."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from rtsim.config.joint_kinds import KINDS
from rtsim.config.models.function_schema import FunctionSpec
from rtsim.config.models.place_schema import Direction, Frame, Name, NonNegative, Vector

if TYPE_CHECKING:
    JointKind = str
    PlainJoint = str
else:
    JointKind = Literal[tuple(KINDS)]
    PlainJoint = Literal[tuple(name for name, kind in KINDS.items() if kind.angular is not None)]
Axis = Direction | Vector
"""A direction of the parent's segment, or a vector; both are rotated with the joint's frame."""
Range = Annotated[tuple[float, ...], msgspec.Meta(min_length=2, max_length=2)]


class AnatomicalAxes(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Axes of the joint coordinate system on the proximal and the distal body. For each body two of the
    segment's axes u, v, w are named: the first is used as it is, and the second, together with the first,
    spans the plane that defines the other axes.
    """

    proximal: tuple[Direction, Direction]
    distal: tuple[Direction, Direction]
    names: tuple[str, str, str]
    signs: tuple[float, float, float] = (1.0, 1.0, 1.0)
    # body in which the joint centre is fixed, the point about which joint moments are taken
    centre: Literal["distal", "proximal"] = "distal"
    # plausible range of each angle, with the sign that it has in results; a frame with an angle outside is
    # flagged
    ranges_deg: tuple[Range, Range, Range] | None = None

    def __post_init__(self) -> None:
        for name, (low, high) in zip(self.names, self.ranges_deg or (), strict=False):
            check_range(low, high, f"ranges_deg: {name}")

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Range of each angle [rad]; infinite where none is given."""
        if self.ranges_deg is None:
            return ((-math.inf, math.inf),) * len(self.names)
        return tuple((math.radians(low), math.radians(high)) for low, high in self.ranges_deg)


class Coordinate(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A coordinate of a joint, in degrees or in millimetres: its initial value and its range."""

    name: Name
    neutral_deg: float | None = None
    neutral_mm: float | None = None
    # of a coordinate that a coupler determines, so that it starts elsewhere: the default value in its OpenSim
    # file, to which tasks of inverse kinematics can draw it
    default_deg: float | None = None
    default_mm: float | None = None
    range_deg: Range | None = None
    range_mm: Range | None = None
    # whether a fit of the pose to markers keeps the coordinate inside its range
    clamped: bool = False
    # an angle of OpenSim's motion type Coupled, which storage files state in radians even if others are in
    # degrees
    coupled: bool = False

    def __post_init__(self) -> None:
        if self.unit == "both":
            raise ValueError(
                f"{self.name} is given both in degrees and in millimetres; give only one of them"
            )
        low, high = self.range
        check_range(low, high, self.name)
        if self.neutral is not None and not low <= self.neutral <= high:
            raise ValueError(
                f"{self.name}: neutral_{self.unit} starts outside its range_{self.unit}; change one of them"
            )
        if self.clamped and self.range_deg is None and self.range_mm is None:
            raise ValueError(f"{self.name} is clamped, but has no range; add range_deg or range_mm")

    @property
    def unit(self) -> str:
        """Unit in which the values and the range of the coordinate are given: deg, mm, both, or "" if none is
        given.
        """
        deg = any(x is not None for x in (self.neutral_deg, self.default_deg, self.range_deg))
        mm = any(x is not None for x in (self.neutral_mm, self.default_mm, self.range_mm))
        return "both" if deg and mm else "deg" if deg else "mm" if mm else ""

    @property
    def neutral(self) -> float | None:
        """Value of the coordinate in the neutral pose [rad, m]; None if none is given."""
        if self.neutral_deg is not None:
            return math.radians(self.neutral_deg)
        return None if self.neutral_mm is None else 1e-3 * self.neutral_mm

    @property
    def default(self) -> float:
        """Value to which tasks of inverse kinematics draw the coordinate by default [rad, m]: the default in
        its OpenSim file, else the neutral value, else 0.
        """
        if self.default_deg is not None:
            return math.radians(self.default_deg)
        return (self.neutral or 0.0) if self.default_mm is None else 1e-3 * self.default_mm

    @property
    def range(self) -> tuple[float, float]:
        """Lower and upper end of the coordinate's range [rad, m]; infinite if no range is given."""
        return range_in_si(self.range_deg, self.range_mm)


def range_in_si(
    range_deg: tuple[float, ...] | None, range_mm: tuple[float, ...] | None
) -> tuple[float, float]:
    """Return lower and upper end of a coordinate's range, stated in degrees or in millimetres, as [rad, m];
    infinite if none is stated.
    """
    if range_deg is not None:
        return math.radians(range_deg[0]), math.radians(range_deg[1])
    return (1e-3 * range_mm[0], 1e-3 * range_mm[1]) if range_mm is not None else (-math.inf, math.inf)


def check_range(low: float, high: float, key: str) -> None:
    if not low <= high:
        raise ValueError(f"{key}: the lower limit of the range is above the upper limit; give [low, high]")


class ElementaryMotion(FunctionSpec, forbid_unknown_fields=True, frozen=True):
    """One elementary motion of a custom joint, along or about an axis of the frame as the motions before have
    moved it. Its size [rad, m] is one of the joint's coordinates, or a function of one.
    """

    translates: Axis | None = None
    rotates: Axis | None = None
    # may be left out where the joint has one coordinate
    of: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.translates is None) == (self.rotates is None):
            raise ValueError("a motion either translates or rotates; give one of the two axes")

    @property
    def axis(self) -> Axis:
        """The axis of the translation or of the rotation."""
        axis = self.rotates if self.translates is None else self.translates
        assert axis is not None
        return axis


class BodyRecord(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A segment and the joint that carries it; some kinds of joints add keys of their own."""

    name: Name
    joint: JointKind
    # name of the joint in results; by default the body's name
    joint_name: str = ""
    parent: str = ""
    in_parent: Frame = Frame()
    in_child: Frame = Frame()
    # of a hinge or slider
    axis: Axis | None = None
    # universal: the first is fixed in the parent, the second is turned by the first angle;
    # planar: directions of the two translations, before the rotation about their normal
    axes: Annotated[tuple[Axis, ...], msgspec.Meta(min_length=2, max_length=2)] | None = None
    # custom: elementary motions, parent first
    motion: Annotated[tuple[ElementaryMotion, ...], msgspec.Meta(max_length=6)] = ()
    coordinates: tuple[Coordinate, ...] = ()
    mass_kg: NonNegative = 0.0
    mass_centre_mm: Vector = (0.0, 0.0, 0.0)
    # about the centre of mass, in the body's axes: Ixx, Iyy, Izz and, if not zero, Ixy, Ixz, Iyz
    inertia_kg_m2: Annotated[tuple[float, ...], msgspec.Meta(min_length=3, max_length=6)] = (0.0, 0.0, 0.0)
    angles: AnatomicalAxes | None = None
    # whether the body is of the left side; its results have the signs of the right side, lateral positive
    mirrored: bool = False
    # constraint elements that together determine the body's pose in its parent for each flexion. Their points
    # on this body are rotated and moved so that the pose of the person's calibration is one of these poses
    # (rtsim/models/registration)
    registered_by: tuple[str, ...] = ()


if TYPE_CHECKING:
    Body = BodyRecord
else:  # with the keys of each kind of joint
    Body = msgspec.defstruct(
        "Body",
        [(name, own | None, None) for kind in KINDS.values() for name, own in kind.keys.items()],
        bases=(BodyRecord,),
        module=__name__,
        forbid_unknown_fields=True,
        frozen=True,
    )


def free_in_ground(body: Body) -> Body:
    """Return a body of the same name and mass properties on a free joint to ground."""
    return Body(
        name=body.name,
        joint="free",
        mass_kg=body.mass_kg,
        mass_centre_mm=body.mass_centre_mm,
        inertia_kg_m2=body.inertia_kg_m2,
        mirrored=body.mirrored,
    )


def coordinates_of(body: Body, kind: JointKind | None = None) -> tuple[Coordinate, ...]:
    """Return the coordinates of a body's joint, or of joint kind `kind` in its place; unnamed ones get the
    body's name.
    """
    kind = kind or body.joint
    if kind == body.joint and body.coordinates:
        return body.coordinates
    angular = KINDS[kind].angular
    n = 1 if angular is None else len(angular)
    return tuple(Coordinate(body.name if n == 1 else f"{body.name}_{k + 1}") for k in range(n))


def is_angular(body: Body, k: int, kind: JointKind | None = None) -> bool:
    """Return whether coordinate k of a body's joint, or of joint kind `kind` in its place, is an angle.

    For a custom joint, the units of the coordinate's numbers decide; without numbers, it is an angle if it
    drives a rotation.
    """
    kind = kind or body.joint
    angular = KINDS[kind].angular
    if angular is not None:
        return angular[k]
    coordinate = coordinates_of(body, kind)[k]
    if coordinate.unit:
        return coordinate.unit == "deg"
    return any(motion.rotates is not None for motion in motions_of(body, coordinate.name))


def in_degrees(body: Body, k: int, kind: JointKind | None = None) -> bool:
    """Return whether a storage file (.mot, .sto) with inDegrees=yes states coordinate k of a body's joint, or
    of joint kind `kind` in its place, in degrees.
    """
    return is_angular(body, k, kind) and not coordinates_of(body, kind)[k].coupled


def motions_of(body: Body, coordinate: str) -> list[ElementaryMotion]:
    """Return the motions of a custom joint that depend on one of its coordinates."""
    return [m for m in body.motion if (m.of or coordinate) == coordinate and m.constant is None]
