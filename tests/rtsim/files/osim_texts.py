"""Small OpenSim models as text, one description in the layouts of OpenSim 3 and OpenSim 4."""

from __future__ import annotations

from dataclasses import dataclass, field

GROUND = "ground"
ZERO = "0 0 0"
SPLINE = "<SimmSpline><x>-2 -1 0 0.7 2</x><y>0.01 0.03 0.02 0.05 0.04</y></SimmSpline>"


@dataclass(frozen=True)
class Coordinate:
    """A coordinate [rad, m]."""

    name: str
    default: float = 0.0
    range: str = "-1.5 1.5"
    locked: bool = False
    more: str = ""

    def text(self) -> str:
        return (
            f'<Coordinate name="{self.name}"><default_value>{self.default}</default_value>'
            f"<range>{self.range}</range><locked>{str(self.locked).lower()}</locked>{self.more}</Coordinate>"
        )


@dataclass(frozen=True)
class Joint:
    """A joint of a class from parent to child; frames as location and x-y-z angles."""

    kind: str
    parent: str
    child: str
    coordinates: tuple[Coordinate, ...] = ()
    transform: str = ""
    in_parent: tuple[str, str] = ("0.01 0.2 0.03", "0.1 -0.2 0.3")
    in_child: tuple[str, str] = ("0 0.1 0.02", "-0.2 0.1 0.2")

    def text_3(self) -> str:
        return (
            f'<Joint><{self.kind} name="{self.child}_joint"><parent_body>{self.parent}</parent_body>'
            f"<location_in_parent>{self.in_parent[0]}</location_in_parent>"
            f"<orientation_in_parent>{self.in_parent[1]}</orientation_in_parent>"
            f"<location>{self.in_child[0]}</location><orientation>{self.in_child[1]}</orientation>"
            f"<CoordinateSet><objects>{join(self.coordinates)}</objects></CoordinateSet>"
            f"<reverse>false</reverse>{self.transform}</{self.kind}></Joint>"
        )

    def text_4(self) -> str:
        frames = "".join(
            f'<PhysicalOffsetFrame name="{body}_offset"><socket_parent>{path_of(body)}</socket_parent>'
            f"<translation>{place}</translation><orientation>{angles}</orientation></PhysicalOffsetFrame>"
            for body, (place, angles) in ((self.parent, self.in_parent), (self.child, self.in_child))
        )
        return (
            f'<{self.kind} name="{self.child}_joint">'
            f"<socket_parent_frame>{self.parent}_offset</socket_parent_frame>"
            f"<socket_child_frame>{self.child}_offset</socket_child_frame>"
            f"<coordinates>{join(self.coordinates)}</coordinates>"
            f"<frames>{frames}</frames>{self.transform}</{self.kind}>"
        )


@dataclass(frozen=True)
class Point:
    """A point of a path; `coordinate` is the joint's and its own name where something names one."""

    body: str
    location: str = ""
    within: tuple[str, str, str] | None = None  # joint, coordinate, range
    moving: tuple[str, str, str, str, str] | None = None  # joint, coordinate, functions of x, y, z

    def text(self, name: str, version: int) -> str:
        of_body = (
            f"<body>{self.body}</body>"
            if version < 40000
            else f"<socket_parent_frame>{path_of(self.body)}</socket_parent_frame>"
        )
        if self.moving:
            joint, coordinate, *functions = self.moving
            key = coordinate if version < 40000 else f"/jointset/{joint}/{coordinate}"
            tags = "{}_coordinate" if version < 40000 else "socket_{}_coordinate"
            locations = "".join(
                f"<{axis}_location>{function}</{axis}_location>"
                f"<{tags.format(axis)}>{key}</{tags.format(axis)}>"
                for axis, function in zip("xyz", functions, strict=True)
            )
            return f'<MovingPathPoint name="{name}">{of_body}{locations}</MovingPathPoint>'
        location = f"{of_body}<location>{self.location}</location>"
        if self.within is None:
            return f'<PathPoint name="{name}">{location}</PathPoint>'
        joint, coordinate, limits = self.within
        tag, key = "coordinate", coordinate
        if version >= 40000:
            tag, key = "socket_coordinate", f"/jointset/{joint}/{coordinate}"
        return (
            f'<ConditionalPathPoint name="{name}">{location}<range>{limits}</range>'
            f"<{tag}>{key}</{tag}></ConditionalPathPoint>"
        )


@dataclass(frozen=True)
class Muscle:
    """A muscle with a path; wraps are (object, range)."""

    name: str
    points: tuple[Point, ...]
    wraps: tuple[tuple[str, str], ...] = ()
    kind: str = "Thelen2003Muscle"
    more: str = (
        "<max_isometric_force>500</max_isometric_force><optimal_fiber_length>0.1</optimal_fiber_length>"
        "<tendon_slack_length>0.2</tendon_slack_length>"
        "<pennation_angle_at_optimal>0.1</pennation_angle_at_optimal>"
    )

    def text(self, version: int) -> str:
        points = "".join(point.text(f"{self.name}-P{k}", version) for k, point in enumerate(self.points))
        wraps = "".join(
            f'<PathWrap name="w{k}"><wrap_object>{name}</wrap_object><range>{limits}</range></PathWrap>'
            for k, (name, limits) in enumerate(self.wraps)
        )
        path = "path" if version > 40500 else "geometrypath"
        return (
            f'<{self.kind} name="{self.name}"><GeometryPath name="{path}">'
            f"<PathPointSet><objects>{points}</objects></PathPointSet>"
            f"<PathWrapSet><objects>{wraps}</objects></PathWrapSet></GeometryPath>{self.more}</{self.kind}>"
        )


@dataclass(frozen=True)
class Model:
    """A model; wraps are the texts of wrap objects by body."""

    joints: tuple[Joint, ...]
    muscles: tuple[Muscle, ...] = ()
    wraps: dict[str, str] = field(default_factory=dict)
    constraints: str = ""
    forces: str = ""
    more: str = ""

    def text(self, version: int) -> str:
        """The document in the layout of its version."""
        modern = version >= 40000
        bodies = "".join(self.body(joint, version) for joint in self.joints)
        wraps = wrap_set(self.wraps.get(GROUND, ""))
        if modern:
            ground = f'<Ground name="ground">{wraps}</Ground>'
            joints = f"<JointSet><objects>{join(self.joints, 'text_4')}</objects></JointSet>"
        else:
            ground, joints = "", ""
            bodies = f'<Body name="ground"><mass>0</mass><Joint/>{wraps}</Body>{bodies}'
        muscles = "".join(muscle.text(version) for muscle in self.muscles)
        return (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<OpenSimDocument Version="{version}">'
            f'<Model name="small">{ground}<gravity>0 -9.8 0</gravity><credits>by hand</credits>'
            f"<BodySet><objects>{bodies}</objects></BodySet>{joints}"
            f"<ConstraintSet><objects>{self.constraints}</objects></ConstraintSet>"
            f"<ForceSet><objects>{muscles}{self.forces}</objects></ForceSet>{self.more}"
            "</Model></OpenSimDocument>"
        )

    def body(self, joint: Joint, version: int) -> str:
        inertia, inside = "<inertia>0.1 0.11 0.12 0.001 0.002 0.003</inertia>", ""
        if version < 40000:
            numbers = zip(
                ("xx", "yy", "zz", "xy", "xz", "yz"), (0.1, 0.11, 0.12, 0.001, 0.002, 0.003), strict=True
            )
            inertia = "".join(f"<inertia_{axes}>{x}</inertia_{axes}>" for axes, x in numbers)
            inside = joint.text_3()
        return (
            f'<Body name="{joint.child}"><mass>2</mass><mass_center>0.01 0.02 0.03</mass_center>'
            f"{inertia}{inside}{wrap_set(self.wraps.get(joint.child, ''))}</Body>"
        )


def join(items: tuple, method: str = "text") -> str:
    return "".join(getattr(item, method)() for item in items)


def path_of(body: str) -> str:
    return f"/{body}" if body == GROUND else f"/bodyset/{body}"


def wrap_set(objects: str) -> str:
    return f"<WrapObjectSet><objects>{objects}</objects></WrapObjectSet>"


def wrap_object(kind: str, name: str, numbers: str, more: str = "") -> str:
    return (
        f'<{kind} name="{name}"><translation>0.02 0.01 0.03</translation>'
        f"<xyz_body_rotation>0.1 0.2 -0.3</xyz_body_rotation>{numbers}{more}</{kind}>"
    )


def transform_axis(name: str, axis: str, coordinate: str = "", function: str = "") -> str:
    """One axis of a spatial transform, in the layout of 3.x, which 4.x reads as well."""
    return (
        f'<TransformAxis name="{name}"><coordinates>{coordinate}</coordinates><axis>{axis}</axis>'
        f"<function>{function or '<Constant><value>0</value></Constant>'}</function></TransformAxis>"
    )


def spatial_transform(*axes: str) -> str:
    return f"<SpatialTransform>{''.join(axes)}</SpatialTransform>"


LINE = "<LinearFunction><coefficients>1 0</coefficients></LinearFunction>"
KNEE = spatial_transform(
    transform_axis("rotation1", "0.1 0.2 0.9", "bend", LINE),
    transform_axis(
        "rotation2", "0 1 0", "bend",
        "<PolynomialFunction><coefficients>0.2 -0.3 0.01</coefficients></PolynomialFunction>",
    ),
    transform_axis("rotation3", "1 0 0", "", "<Constant><value>0.2</value></Constant>"),
    transform_axis(
        "translation1", "1 0 0", "bend",
        f"<MultiplierFunction><function>{SPLINE}</function><scale>1.5</scale></MultiplierFunction>",
    ),
    transform_axis("translation2", "0 1 0", "glide", LINE),
    transform_axis("translation3", "0 0 1"),
)  # fmt: skip

CHAIN = (
    Joint("PinJoint", GROUND, "a", (Coordinate("pin", 0.2),)),
    Joint("SliderJoint", "a", "b", (Coordinate("slide", 0.05, "-1 1"),)),
    Joint("UniversalJoint", "b", "c", (Coordinate("first", 0.1), Coordinate("second", -0.1))),
    Joint("PlanarJoint", "c", "d", (Coordinate("turn", 0.3), Coordinate("x"), Coordinate("y", 0.1))),
    Joint("GimbalJoint", "d", "e", (Coordinate("g1"), Coordinate("g2", 0.2), Coordinate("g3"))),
    Joint("CustomJoint", "e", "f", (Coordinate("bend", 0.4), Coordinate("glide")), KNEE),
    Joint("WeldJoint", "f", "g"),
)
CHAIN_MUSCLES = (
    Muscle("long", (Point(GROUND, "0.1 0.2 0.3"), Point("g", "0.2 0 0.1"))),
    Muscle(
        "switched",
        (
            Point("d", "0.1 0 0"),
            Point("e", "0.1 0.1 0", within=("f_joint", "bend", "0.1 1.2")),
            Point("f", "0 0.1 0.1"),
        ),
    ),
    Muscle(
        "moved",
        (
            Point("e", "0.1 0 0.2"),
            Point("f", moving=("f_joint", "bend", SPLINE, LINE, "<Constant><value>0.1</value></Constant>")),
        ),
    ),
)
"""Every joint that both name alike, one after the other, and muscles with every kind of point."""
