"""Schema of force elements except contacts: ligaments, springs, friction under a load, and loads."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.models.friction_laws import Friction
from rtsim.config.models.muscle_schema import Muscle, Station
from rtsim.config.models.place_schema import Name, NonNegative, Place, Positive, Vector


class Length(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Length of a ligament that a marker method enforces as a hard or soft constraint."""

    target_mm: Positive | None = None
    # mean length over a movement, for methods with the target `mean` and subjects without a mean of their own
    mean_mm: Positive | None = None
    # a1 to a7 of the length d(theta)/d(0) = 1 + a1 theta + ... + a7 theta^7 over the flexion angle theta, in
    # degrees, flexion negative
    polynomial: tuple[float, ...] = ()
    # d(0); by default the distance of the ends in the pose in which the axes of both segments coincide, which
    # is not known across a joint that at zero coordinates moves origins apart and turns axes at once
    neutral_mm: Positive | None = None


class Ligament(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A ligament: a length that marker methods enforce as a constraint, a force law, or both.

    The law has a quadratic toe and a linear region, by one of two sets of numbers: toe_stiffness and
    linear_stiffness (the slack length follows, if it is not given), or the stiffness per strain with a slack
    length or the strain at a reference length (by default that of the neutral pose).
    """

    name: Name
    a: Place
    b: Place
    # points and wrapping surfaces of its path between both ends, in order, as in a muscle's path
    through: tuple[Station, ...] = ()
    length: Length | None = None
    toe_stiffness_N_mm2: Positive | None = None
    linear_stiffness_N_mm: Positive | None = None
    stiffness_N: Positive | None = None
    slack_length_mm: Positive | None = None
    reference_strain: Annotated[float, msgspec.Meta(gt=-1.0)] | None = None
    reference_length_mm: Positive | None = None
    # half of the strain at which the toe region ends
    threshold_strain: Positive = 0.03
    # acts while the ligament is taut
    damping_N_s_m: NonNegative = 0.0
    # elongation beyond the slack length over which damping rises from none to all; 0: at once
    damping_onset_mm: NonNegative = 0.0

    def __post_init__(self) -> None:
        key = f"ligaments.{self.name}"
        if self.through:
            self.check_through(key)
        if not self.pulls:
            self.check_without_law(key)
            return
        if self.damping_onset_mm and not self.damping_N_s_m:
            raise ValueError(f"{key}: damping_onset_mm needs damping_N_s_m; add damping_N_s_m")
        stiffnesses = self.toe_stiffness_N_mm2 is not None, self.linear_stiffness_N_mm is not None
        if (self.stiffness_N is None) != all(stiffnesses) or (self.stiffness_N and any(stiffnesses)):
            raise ValueError(
                f"{key}: give either stiffness_N or both toe_stiffness_N_mm2 and linear_stiffness_N_mm"
            )
        if self.slack_length_mm is not None and self.reference_strain is not None:
            raise ValueError(
                f"{key}: slack_length_mm and reference_strain both state the unloaded length; remove "
                "one of them"
            )
        if self.stiffness_N is not None and self.slack_length_mm is None and self.reference_strain is None:
            raise ValueError(
                f"{key}: the unloaded length is missing; add slack_length_mm or reference_strain"
            )
        if self.reference_length_mm is not None and self.reference_strain is None:
            raise ValueError(f"{key}: reference_length_mm needs reference_strain; add reference_strain")

    def check_without_law(self, key: str) -> None:
        """Raise ValueError for a ligament without a force law if it has no length constraint either, or if
        it has parameters of a law.
        """
        stiffness = "stiffness_N, or toe_stiffness_N_mm2 and linear_stiffness_N_mm"
        if self.length is None:
            raise ValueError(
                f"{key}: the ligament has no effect; give length, which methods keep constant, or {stiffness}"
            )
        for name in ("slack_length_mm", "reference_strain", "reference_length_mm", "damping_N_s_m"):
            if getattr(self, name):
                raise ValueError(f"{key}: {name} needs a force law; add {stiffness}")

    def check_through(self, key: str) -> None:
        """Check a ligament along a path over surfaces; ValueError for keys that such a path cannot have."""
        if not self.pulls:
            raise ValueError(
                f"{key}: only a ligament with a stiffness can have `through`; add a stiffness, or remove "
                "through"
            )
        if self.length is not None:
            raise ValueError(
                f"{key}: only a straight ligament can be kept at a constant length; remove length or through"
            )
        if any(station.within or station.moving for station in self.through):
            raise ValueError(
                f"{key}: the path of a ligament can have only fixed points; remove within and moving"
            )
        if self.reference_strain is not None and self.reference_length_mm is None:
            raise ValueError(
                f"{key}: reference_strain refers to a length of the path; add reference_length_mm"
            )

    @property
    def path(self) -> Muscle:
        """Path of the ligament, represented as a muscle without force."""
        ends = [msgspec.convert(msgspec.to_builtins(place), Station) for place in (self.a, self.b)]
        return Muscle(self.name, (ends[0], *self.through, ends[1]))

    @property
    def pulls(self) -> bool:
        """Whether the ligament has a force law."""
        law = (self.stiffness_N, self.toe_stiffness_N_mm2, self.linear_stiffness_N_mm)
        return any(stiffness is not None for stiffness in law)


class Spring(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A linear spring and damper, between two places or on a coordinate (per radian of an angle)."""

    name: Name
    a: Place | None = None
    b: Place | None = None
    coordinate: str = ""
    rest_mm: float | None = None
    rest_deg: float | None = None
    stiffness_N_m: NonNegative | None = None
    damping_N_s_m: NonNegative | None = None
    stiffness_N_m_rad: NonNegative | None = None
    damping_N_m_s_rad: NonNegative | None = None

    def __post_init__(self) -> None:
        key = f"springs.{self.name}"
        if bool(self.coordinate) == (self.a is not None) or (self.a is None) != (self.b is None):
            raise ValueError(f"{key}: give either the end points a and b or a coordinate")
        if self.stiffness is None and self.damping is None:
            raise ValueError(f"{key}: stiffness and damping are missing; add at least one of them")
        linear = (self.rest_mm, self.stiffness_N_m, self.damping_N_s_m)
        angular = (self.rest_deg, self.stiffness_N_m_rad, self.damping_N_m_s_rad)
        if any(x is not None for x in linear) and any(x is not None for x in angular):
            raise ValueError(f"{key}: some numbers are in mm, some in degrees; choose one")
        if self.a is not None and any(x is not None for x in angular):
            raise ValueError(
                f"{key}: a spring between two points has a length and no angle; give stiffness_N_m and "
                "rest_mm"
            )

    @property
    def is_angular(self) -> bool:
        """Whether the spring acts on an angle, so that stiffness and damping are per radian."""
        angular = (self.rest_deg, self.stiffness_N_m_rad, self.damping_N_m_s_rad)
        return any(x is not None for x in angular)

    @property
    def stiffness(self) -> float | None:
        """Stiffness of the spring [N/m], or if it acts on an angle [N m/rad]; None if none is given."""
        return self.stiffness_N_m if self.stiffness_N_m_rad is None else self.stiffness_N_m_rad

    @property
    def damping(self) -> float | None:
        """Damping of the spring [N s/m], or if it acts on an angle [N m s/rad]; None if none is given."""
        return self.damping_N_s_m if self.damping_N_m_s_rad is None else self.damping_N_m_s_rad


class LoadedFriction(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Friction of a point of one segment along a direction of another, under a constant normal force."""

    name: Name
    a: Place
    b: str
    direction: Vector
    load_N: Positive
    friction: Friction
    # of b's surface along the direction (a belt)
    velocity_mm_s: float = 0.0

    def __post_init__(self) -> None:
        if not any(self.direction):
            raise ValueError(
                f"frictions.{self.name}.direction: [0, 0, 0] has no direction; give a vector that is not zero"
            )
        if self.friction.transition_angular_velocity_rad_s is not None:
            raise ValueError(
                f"frictions.{self.name}.friction.transition_angular_velocity_rad_s: friction at a "
                "point has no spinning part; remove the key"
            )


class Load(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A force on a point of a body for some time, such as a push, a weight, or a command of a device."""

    name: Name
    at: Place
    force_N: Vector
    # axes of the force: fixed in ground, or turning with the body
    axes: Literal["ground", "body"] = "ground"
    start_s: float = 0.0
    # without end if none is given
    duration_s: NonNegative | None = None


class SimulationSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Default settings of a simulation of the model."""

    method: Literal["lieuler", "ros2", "ros3", "ros34pw2", "ros34prw", "ros3prl", "rodas4p", "veldd4"] = (
        "ros34pw2"
    )
    step_ms: Positive = 1.0
    duration_s: Positive = 1.0
    # if sliding reverses within a step: divide the step there, use the secant slope of friction, or nothing
    kinks: Literal["split", "secant", "exact"] = "secant"
    # split: largest change of a sliding speed within a part, as fractions of the speed and of the transition
    # velocity
    split_fraction: Annotated[float, msgspec.Meta(gt=0.0, le=1.0)] = 0.4
    split_floor: Positive = 0.25
    # largest relative difference of the embedded step that counts as small
    tolerance: Positive = 0.1
    # start from the static equilibrium of all coordinates that are not held
    equilibrium: Literal["none", "loaded", "weightless"] = "none"
    hold: tuple[str, ...] = ()
    # names of exact constraints: elements, and contacts and ligaments without a force law; by default the
    # hard elements of the first method
    holds: tuple[str, ...] | None = None
    # initial speeds of coordinates [deg/s, mm/s]
    speeds: dict[str, float] = {}
    # initial velocities and angular velocities of bodies whose joint has no named coordinates for them, such
    # as a ball or free joint
    velocities_mm_s: dict[str, Vector] = {}
    turning_deg_s: dict[str, Vector] = {}
    # coordinates to draw
    plot: tuple[str, ...] = ()
