"""Tables of model files: constraints, couplers, angles, methods, and all tables of a model without its
checks.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rtsim.config.models.contact_schema import Contact
from rtsim.config.models.driven_generators_schema import DrivenGeneratorSpec
from rtsim.config.models.force_schema import Ligament, Load, LoadedFriction, SimulationSpec, Spring
from rtsim.config.models.function_schema import MOTION, TIME, FunctionSpec, require_function
from rtsim.config.models.joint_schema import Body, PlainJoint
from rtsim.config.models.marker_schema import Marker
from rtsim.config.models.muscle_schema import Muscle, WrappingSurface
from rtsim.config.models.place_schema import Name, NonNegative, Place, Positive, Vector


class Element(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A constraint between points a and b of two segments.

    distance : the distance of the points is constant (one equation)
    plane : point a has a constant distance from the plane through b (one equation)
    point : the points coincide (three equations)
    point_on_line : point a stays on the line through b (two equations)
    """

    name: Name
    kind: Literal["distance", "plane", "point", "point_on_line"]
    a: Place
    b: Place
    normal: Vector | None = None
    # of the line through b, in the axes of its segment
    direction: Vector | None = None
    # of a plane: the point that it holds is this far from a, in the axes of a's segment; as a part of no
    # anatomy the lever keeps its length where a model is scaled
    lever_mm: Vector | None = None
    target_mm: NonNegative | None = None


class Reaction(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The force of a constraint that acts in one direction only, such as that of a surface that can only
    push.

    If a method enforces the element as a constraint, muscle recruitment determines this force like that of
    one more muscle, whose strength is stated here.
    """

    name: Name
    element: str
    strength_N: Positive
    # pushes: the force drives both points apart, or a point out of the plane; pulls: it draws them together
    acts: Literal["pushes", "pulls"] = "pushes"


class Roll(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A disc, or a ball if it has no axis, that rolls on a plane without slipping."""

    name: Name
    # centre of the disc; a point of the plane
    a: Place
    b: Place
    # of the plane, towards the disc, in the axes of b's segment
    normal: Vector
    radius_mm: Positive
    axis: Vector | None = None

    def __post_init__(self) -> None:
        for key, x in (("normal", self.normal), ("axis", self.axis)):
            if x is not None and not any(x):
                raise ValueError(f"the {key} of {self.name} has no direction; give a vector that is not zero")
        if self.a.segment == self.b.segment:
            raise ValueError(
                f"{self.name} rolls on a plane of the same segment; give a plane on another segment"
            )


class Coupler(FunctionSpec, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A rule that determines a coordinate: a function of another coordinate [rad, m] or of time [s], a
    constant, or a motion from a file or a stream.
    """

    coordinate: str
    of: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.of == MOTION and self.is_identity:
            return
        require_function(self, f"the coupler of {self.coordinate}")
        if bool(self.of) == (self.constant is not None):
            raise ValueError(
                f"the coupler that determines {self.coordinate} needs the key `of` with linear, polynomial "
                "or spline, or only a constant"
            )

    @property
    def driver(self) -> str:
        """Name of the coordinate on which the coupled coordinate depends; its own name if it is
        prescribed.
        """
        return self.coordinate if self.of in ("", TIME, MOTION) else self.of


class AngleTerm(FunctionSpec, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One term of an angle: a coordinate, or a function of one [rad, m], times a weight."""

    of: str
    weight: float = 1.0


class Angle(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A named angle: the sum of its terms. Every coordinate is a named angle by itself."""

    name: Name
    terms: Annotated[tuple[AngleTerm, ...], msgspec.Meta(min_length=1)]


class MethodSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A marker method: the elements of the model that are constraints when the pose is fitted to markers.

    Hard elements are satisfied exactly; soft ones enter the objective with a weight. `joints` replaces kinds
    of joints of the model.
    """

    hard: tuple[str, ...] = ()
    soft: dict[str, Positive] = {}
    target: Literal["fixed", "mean", "polynomial"] = "fixed"
    follows: str = ""
    joints: dict[str, PlainJoint] = {}
    about: str = ""
    # angle, without its side -> error that the method has even with exact markers (docs/methods.md): for
    # persons to whose calibrated pose its joints were adapted (BodyRecord.registered_by), and for others
    bias_deg: dict[str, NonNegative] = {}
    bias_unregistered_deg: dict[str, NonNegative] = {}


class ModelTables(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """All tables of a model file; whether they fit each other is checked in ModelSpec."""

    name: str
    source: str
    bodies: Annotated[tuple[Body, ...], msgspec.Meta(min_length=1)]
    # bodies that exist only if the subject has a segment of that name; they follow all others
    optional: tuple[Body, ...] = ()
    methods: dict[str, MethodSpec] = {}
    elements: tuple[Element, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    rolls: tuple[Roll, ...] = ()
    couplers: tuple[Coupler, ...] = ()
    surfaces: tuple[WrappingSurface, ...] = ()
    muscles: tuple[Muscle, ...] = ()
    markers: tuple[Marker, ...] = ()
    angles: tuple[Angle, ...] = ()
    ligaments: tuple[Ligament, ...] = ()
    springs: tuple[Spring, ...] = ()
    contacts: tuple[Contact, ...] = ()
    frictions: tuple[LoadedFriction, ...] = ()
    loads: tuple[Load, ...] = ()
    torque_generators: DrivenGeneratorSpec | None = None
    simulation: SimulationSpec = SimulationSpec()
    gravity_m_s2: Vector = (0.0, -9.81, 0.0)
    # flexion angle on which the lengths of ligaments depend (Length.polynomial); one for each side if the
    # model has both
    flexion: str | tuple[str, ...] = ""

    @property
    def flexions(self) -> tuple[str, ...]:
        """Names of the flexion angles on which the lengths of ligaments depend."""
        return (*([self.flexion] if self.flexion else []),) if isinstance(self.flexion, str) else self.flexion

    @property
    def has_both_sides(self) -> bool:
        """Whether some bodies of the model are the mirror images of others."""
        return any(body.mirrored for body in self.bodies)

    @property
    def held_contacts(self) -> tuple[Contact, ...]:
        """Contacts that marker methods can enforce as constraints: those that a method names, and those
        without a force law.
        """
        named = {name for method in self.methods.values() for name in (*method.hard, *method.soft)}
        return tuple(x for x in self.contacts if x.name in named or not x.presses)

    @property
    def held_ligaments(self) -> tuple[Ligament, ...]:
        """Ligaments with a length that marker methods can enforce as a constraint."""
        return tuple(ligament for ligament in self.ligaments if ligament.length)

    @property
    def held(self) -> tuple[str, ...]:
        """Names of the exact constraints of a simulation: those that the model states for simulations, else
        the hard elements of its first method.
        """
        named = self.simulation.holds
        return next(iter(self.methods.values())).hard if named is None else named

    @property
    def wrapping(self) -> tuple[Ligament, ...]:
        """Ligaments that act along a path over points and wrapping surfaces."""
        return tuple(ligament for ligament in self.ligaments if ligament.through)
