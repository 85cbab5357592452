"""Schema of muscles: their path over points and wrapping surfaces, and their Hill parameters."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.models.function_schema import FunctionSpec, check_level, require_function
from rtsim.config.models.joint_schema import Range, check_range, range_in_si
from rtsim.config.models.place_schema import Frame, Name, NonNegative, Place, Positive, Vector

SIZES = {
    "sphere": ("radius_mm",),
    "cylinder": ("radius_mm",),
    "ellipsoid": ("radii_mm",),
}


class WrappingSurface(Frame, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A wrapping surface of muscles; the axis of a cylinder is the z axis of its frame, with its centre at
    the origin.
    """

    name: Name
    kind: Literal["sphere", "cylinder", "ellipsoid"]
    radius_mm: Positive | None = None
    radii_mm: Annotated[tuple[Positive, ...], msgspec.Meta(min_length=3, max_length=3)] | None = None
    # of a cylinder; without it it has no ends
    length_mm: Positive | None = None

    def __post_init__(self) -> None:
        for key in dict.fromkeys(key for keys in SIZES.values() for key in keys):
            given, wanted = getattr(self, key) is not None, key in SIZES[self.kind]
            if wanted and not given:
                raise ValueError(f"surface {self.name}: a {self.kind} needs {key}; add it")
            if given and not wanted:
                raise ValueError(
                    f"surface {self.name}: a {self.kind} does not have the key {key}; remove the key"
                )
        if self.length_mm is not None and self.kind != "cylinder":
            raise ValueError(f"surface {self.name}: a {self.kind} has no length_mm; remove it")

    @property
    def sizes_mm(self) -> tuple[float, ...]:
        """Return the radius of a sphere or cylinder, with half the length of a bounded cylinder, or the
        three radii of an ellipsoid.
        """
        half = () if self.length_mm is None else (0.5 * self.length_mm,)
        return self.radii_mm or (*(getattr(self, key) for key in SIZES[self.kind]), *half)


class Within(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A condition for a path point: it is part of the path while a coordinate is inside a range."""

    coordinate: str
    range_deg: Range | None = None
    range_mm: Range | None = None

    def __post_init__(self) -> None:
        if (self.range_deg is None) == (self.range_mm is None):
            raise ValueError(f"{self.coordinate}: give either range_deg or range_mm")
        check_range(*self.range, self.coordinate)

    @property
    def range(self) -> tuple[float, float]:
        """The range of the coordinate in which the point is part of the path [rad, m]."""
        return range_in_si(self.range_deg, self.range_mm)


class Moving(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A path point that moves in its segment with a coordinate; its position is given by functions [m]."""

    of: str
    x: FunctionSpec
    y: FunctionSpec
    z: FunctionSpec

    def __post_init__(self) -> None:
        for key in ("x", "y", "z"):
            require_function(getattr(self, key), key)


class Station(Place, forbid_unknown_fields=True, frozen=True):
    """An element of a muscle path: a fixed, conditional or moving point, or a wrapping surface."""

    within: Within | None = None
    moving: Moving | None = None
    over: str = ""
    # vector in the surface's axes that points to the side on which the path goes round it; by default the
    # shorter way
    side: Vector | None = None
    # whether a surface is ignored while a point of the path lies inside it; else the path has no length then
    yields: bool = False
    # whether a surface has an effect only while the straight line runs through it, whatever `side` says
    passing: bool = False

    def __post_init__(self) -> None:
        if self.over and (self.segment or self.within or self.moving or self.of_subject):
            raise ValueError(
                f"a station of the muscle path has both a position and `over` (the surface {self.over}, "
                "round which the muscle goes); split it into two stations"
            )
        if self.moving and (self.within or self.of_subject or any(self.offset_mm)):
            raise ValueError("a moving point has only the keys segment and moving; remove the other keys")
        if self.side is not None and not (self.over and any(self.side)):
            raise ValueError(
                "`side` (a vector to that side of a surface on which the muscle goes round it) applies only "
                "to a station of the path with `over`, and cannot be [0, 0, 0]; remove the key, or correct "
                "it"
            )
        if (self.yields or self.passing) and not self.over:
            raise ValueError(
                "the keys `yields` and `passing` apply only to a station of the path with `over`, at which "
                "the muscle wraps over a surface; remove them"
            )


class Hill(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Parameters of a Hill-type muscle (see kernels/muscle/hill.py)."""

    max_isometric_force_N: Positive
    optimal_fibre_length_mm: Positive
    tendon_slack_length_mm: NonNegative
    pennation_deg: Annotated[float, msgspec.Meta(ge=0.0, lt=90.0)] = 0.0
    # optimal fibre lengths per second; Zajac (1989) Crit Rev Biomed Eng 17, 359-411
    max_contraction_speed: Positive = 10.0
    tendon: Literal["rigid", "elastic"] = "rigid"
    # of the tendon at maximum isometric force; Millard et al. (2013) J Biomech Eng 135, 021005
    tendon_strain: Positive = 0.049
    # maximum isometric forces per maximum speed; ibidem
    fibre_damping: NonNegative = 0.1
    # De Groote et al. (2016) Ann Biomed Eng 44, 2922-2936
    activation_ms: Positive = 15.0
    deactivation_ms: Positive = 60.0
    min_activation: Annotated[float, msgspec.Meta(ge=0.0, lt=1.0)] = 0.01

    def __post_init__(self) -> None:
        if self.tendon == "elastic" and not (self.tendon_slack_length_mm > 0.0 and self.fibre_damping > 0.0):
            raise ValueError("an elastic tendon needs tendon_slack_length_mm and fibre_damping above 0")


class Muscle(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A muscle; without Hill parameters it has a path and moment arms, but no force."""

    name: Name
    path: Annotated[tuple[Station, ...], msgspec.Meta(min_length=2)]
    hill: Hill | None = None
    # excitation in a simulation: a number from 0 to 1, or a function of time [s]
    excitation: float | FunctionSpec = 0.0

    def __post_init__(self) -> None:
        self.check_excitation()
        for end, station in (("begins", self.path[0]), ("ends", self.path[-1])):
            if station.over or station.within:
                raise ValueError(
                    f"the path of {self.name} {end} at a station that is conditional or goes "
                    "over a surface; use a fixed point there"
                )

    def check_excitation(self) -> None:
        """Raise ValueError for an excitation that is invalid, or has no effect."""
        given = self.excitation
        if given == 0.0:
            return
        if self.hill is None:
            raise ValueError(
                f"{self.name} has an excitation but no muscle force; add hill, or remove excitation"
            )
        check_level(given, f"excitation of {self.name}", "excitation")
