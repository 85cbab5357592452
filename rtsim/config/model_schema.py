"""Schema of configs/models/*.toml: bodies, joints, elements between them, and the methods."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.model_names import check_names

Vector = Annotated[tuple[float, ...], msgspec.Meta(min_length=3, max_length=3)]
Positive = Annotated[float, msgspec.Meta(gt=0.0)]
NonNegative = Annotated[float, msgspec.Meta(ge=0.0)]
JointKind = Literal["weld", "hinge", "slider", "ball", "free"]
Direction = Literal["u", "v", "w"]


class Scale(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """An offset that grows with the length of a segment."""

    offset_mm: Vector
    segment: str
    reference_length_mm: Positive


class Place(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A point of a segment: at its proximal or distal end plus an offset in its axes, or a landmark."""

    segment: str = ""
    origin: Literal["proximal", "distal"] = "proximal"
    point: str = ""
    offset_mm: Vector = (0.0, 0.0, 0.0)
    scaled: Scale | None = None


class AnatomicalAxes(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Axes of the joint coordinate system on both bodies: the direction kept exactly, then the one that
    completes the plane (u, v, w of the segment)."""

    proximal: tuple[Direction, Direction]
    distal: tuple[Direction, Direction]
    names: tuple[str, str, str]
    signs: tuple[float, float, float] = (1.0, 1.0, 1.0)


class Body(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A segment and the joint that carries it."""

    name: str
    joint: JointKind
    parent: str = ""
    in_parent: Place = Place()
    in_child: Place = Place()
    axis: Direction = "w"
    angles: AnatomicalAxes | None = None


class Element(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A scalar constraint between two segments."""

    name: str
    kind: Literal["sphere_on_plane", "distance"]
    a: Place
    b: Place
    normal: Vector | None = None
    target_mm: NonNegative | None = None
    mean_mm: Positive | None = None
    # d(theta)/d(0) = 1 + a1 theta + ... + a7 theta^7, theta in degrees, flexion negative
    length_polynomial: tuple[float, ...] = ()
    ligament: bool = False


class MethodSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a method asks of the elements; joints replaces joint kinds of the model."""

    hard: tuple[str, ...] = ()
    soft: dict[str, Positive] = {}
    target: Literal["fixed", "mean", "polynomial"] = "fixed"
    follows: str = ""
    joints: dict[str, JointKind] = {}
    about: str = ""


class ModelSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A model file."""

    name: str
    source: str
    bodies: Annotated[tuple[Body, ...], msgspec.Meta(min_length=1)]
    methods: dict[str, MethodSpec]
    elements: tuple[Element, ...] = ()
    contacts: tuple[str, ...] = ()
    flexion: str = ""
    displacement: str = ""

    def __post_init__(self) -> None:
        check_names(self)
