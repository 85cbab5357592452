"""Foot contact: the ground reaction of each foot, by a contact model of the foot in the filtered motion.

The foot's frame is that of its markers at heel and metatarsals (kernels/contact, docs/foot.md). All results
have the delay of the filter of the motion; the plates' forces pass the same filter.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rtsim.config.runs.foot_schema import FootSpec
from rtsim.config.runs.lab_schema import LabMap
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.methods.foot.foot_contact import FootContact, centre_on, contact_foot
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.named_feet import feet_of
from rtsim.quantity import AXES, GROUND, Quantity
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import PERSON, WHOLE_BODY, StageDeclaration
from rtsim.stages.ground_reaction import GroundReaction
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.loads.filtered_loads import FilteredLoads
from rtsim.stages.loads.followed_feet import FollowedFeet, axes_of
from rtsim.stages.loads.shared_loads import SharedGroundForce
from rtsim.stages.plates import FootLoads
from rtsim.stages.rates import FilteredMotion, stated
from rtsim.stages.stage import FINE, Stage, StageOutcome
from rtsim.subjects.feet.foot_marks import UP
from rtsim.subjects.markers.labs import SIDES, lab_of
from rtsim.subjects.markers.persons import read_one, share_of_labs
from rtsim.subjects.subject import Subject
from streams.messages import Curves, Image, Session
from streams.receiving.ring import ReceivedFrame

GRAVITY, TOUCH_N = 9.81, 1.0
"""Gravity on a person [m/s^2]; load of a foot that just touches, where the weight is not known [N]."""
COMPARED_N = 50.0
"""Least force of a plate with which its centre of pressure is compared with that of the contact model [N]."""
LEVELLED = "foot_not_level"
UNCOVERED = "The pressure grid is smaller than a foot and cuts off pressure at its edge: enlarge foot.grid."
BEYOND_REACH = (
    "The contact model of this foot cannot carry the load on the foot, so the contact results are NaN."
)
IN_THE_AIR = "foot_not_found"
NO_FOOT = (
    "The person is on the ground, but both feet are high or fast, or one foot is not visible, so the "
    "load of each foot is unknown. On a treadmill give foot.ground_m_s, the belt velocity."
)
LEVELS = {
    "plates": "raised or lowered until the contact force equals that of its force plate",
    "whole_body": "raised or lowered until the contact force equals the foot's share of the ground "
    "reaction that whole-body motion requires",
    "given": "placed at the height that its markers give",
}
Plane = tuple[np.ndarray, np.ndarray]


class FootContacts(Stage):
    """Force, centre of pressure, free moment and pressure of each foot; NaN while the filter of the motion
    has not settled.
    """

    def __init__(
        self,
        spec: FootSpec,
        motion: FilteredMotion,
        loads: FootLoads | None,
        lab: LabMap,
        subject: Subject,
        static: MarkerTrial | None = None,
        mass_kg: float = 0.0,
        total: GroundReaction | None = None,
    ) -> None:
        """Prepare the contact of both feet of a person with the ground.

        loads : plate loads of the feet; static : static trial that shows the soles; mass_kg : mass of the
            person
        total : ground reaction of the whole body, if the load of each foot is derived from it; else None
        """
        super().__init__()
        self.spec, self.motion, self.loads = spec, motion, loads
        model = motion.kinematics.estimator.model
        self._mass, load = mass_kg, max(0.5 * mass_kg * GRAVITY, TOUCH_N)
        found = axes_of(model, subject, lab, spec, static, load)
        self._axes = [(foot.body, foot.axes) for foot in found]
        self._stood, self._notes = [foot.stood for foot in found], [foot.notes for foot in found]
        self._mirrors = subject.side == "left"
        self._feet = [FootContact(contact_foot(spec, a.length, a.side), spec) for _, a in self._axes]
        for foot in self._feet:
            foot.foot.contacts.contacts.surface_velocity[:, 2] *= -1.0 if self._mirrors else 1.0
        self._sides = [1 - a.side if self._mirrors else a.side for _, a in self._axes]
        bodies, segments = model.names.bodies, subject.segments
        said = dict(feet_of(bodies, subject.side))
        self._marked = [
            (segments[bodies[b]].markers_mm if bodies[b] in segments else (), said[b]) for b, _ in self._axes
        ]
        self._bearers = [SIDES.index(side) for _, side in self._marked]
        self._followed = FollowedFeet(motion, self._axes)
        self._plates = FilteredLoads(motion, loads) if loads is not None else None
        self._delay = 0.0
        self._last: list[tuple[Plane, float] | None] = [None] * len(self._feet)
        self.shared = self._sharing(total) if total is not None else None
        self._ground = np.array([0.0, 1e-3 * spec.ground_mm, 0.0])
        rows, columns = spec.grid
        self._force, self._centre = np.full((2, 3), np.nan), np.full((2, 3), np.nan)
        self._free, self._raised = np.full(2, np.nan), np.full(2, np.nan)
        self._normal = np.full((2, len(self._feet[0].normal)), np.nan)
        self._pressure = np.full((2, rows, columns), np.nan)
        self._up, self._error = self._force[:, 1], np.full(2, np.nan)
        self._beside = np.full((2, 2), np.nan)
        self.counters[LEVELLED] = self.counters[IN_THE_AIR] = 0

    def warm(self) -> None:
        """Call every kernel once, with a foot in contact."""
        self._followed.warm()
        place = self._followed.place
        for k, foot in enumerate(self._feet):
            for target in (0.0, 300.0):
                foot.take(place, k, place.position[k] - 0.03 * UP, UP, target)
            foot.forget()
        if self.shared is not None:
            self.shared.share(self._ground[1])

    def begin(self, session: Session, anew: bool) -> None:
        """Find which plate forces belong to each foot. In a new session of the input stream (anew), also
        create filters like that of the motion, and report model, size and inclination of each foot."""
        if self.loads is not None:
            self._bearers = [self.loads.bearer_with(marks, side) for marks, side in self._marked]
        if anew:
            for k, notes in enumerate(self._notes):
                self.sentences += [self._said(k), *(self._noted(k, note) for note in notes)]
            if not all(foot.covered for foot in self._feet):
                self.sentences.append(UNCOVERED)
        if anew or not self._delay:
            rate = self.motion.rate
            self._delay = float(stated(self.motion.spec, rate).delay_s[0]) if rate else 0.0
            self._last = [None] * len(self._feet)
        self._followed.begin(anew)
        if self._plates is not None:
            self._plates.begin(anew)
        if self.shared is not None:
            self.shared.begin(anew)

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Compute the contact of both feet at the time of the filtered motion."""
        self.n_frame += 1
        followed = self._followed
        followed.take(frame)
        if self._plates is not None:
            self._plates.take(frame.time)
        if self.shared is not None and not self.shared.share(self._ground[1]):
            self.count(IN_THE_AIR, NO_FOOT)
        for k, foot in enumerate(self._feet):
            point, normal = self._plane(frame, k)
            if not followed.settled[k]:
                foot.forget()
                continue
            target = self._target(k, normal)
            foot.take(followed.place, k, point, normal, target)
            if self.spec.level != "given" and math.isnan(foot.force[1]) and not math.isnan(target):
                self.count(LEVELLED, BEYOND_REACH)
        if self.shared is not None:
            self.shared.lay()
        return FINE

    def report(self) -> None:
        """Publish the contacts by side of the body; those of a left leg, which is solved as a right one, are
        mirrored back.
        """
        for k, foot in enumerate(self._feet):
            side = self._sides[k]
            self._force[side], self._centre[side] = foot.force, foot.centre
            self._free[side], self._raised[side] = foot.free[0], foot.raised[0]
            self._normal[side] = foot.normal
            self._pressure[side] = foot.pressure
            if self._mirrors:
                self._force[side, 2] *= -1.0
                self._centre[side, 2] *= -1.0
                self._free[side] *= -1.0
                self._pressure[side] = foot.pressure[:, ::-1]
            if self._plates is not None:
                wrench = self._plates.wrench[self._bearers[k]]
                self._error[side] = foot.force[1] - wrench[4]
                self._beside[side] = self._away(k, wrench)

    def quantities(self) -> list[Quantity]:
        """Return the contacts of the right and the left foot; NaN for a foot that is not tracked."""
        names = self._feet[0].foot.names
        across, along = self.spec.cell_mm[1], self.spec.cell_mm[0]
        told = [
            Quantity(name="foot_contact_forces", array=self._force, unit="N", labels=SIDES, parts=AXES,
                     frame=GROUND,
                     meaning="force of the ground on the foot from the foot contact model; shear is not "
                         "validated; filtered"),
            Quantity("foot_contact_loads", self._up, "N", SIDES,
                     curves=Curves("Feet, contact model", "vertical force", 1, 100.0),
                     meaning="vertical part of foot_contact_forces"),
            Quantity(name="foot_contact_centres", array=self._centre, unit="m", labels=SIDES, parts=AXES,
                     frame=GROUND,
                     meaning="centre of pressure of the contact model; NaN = no contact"),
            Quantity("foot_contact_free_moments", self._free, "N m", SIDES,
                     meaning="free moment about the normal through the centre of pressure; not validated"),
            Quantity("foot_contact_normals", self._normal, "N", SIDES, names,
                     meaning="normal force of each contact of the model"),
            Quantity("foot_contact_raised", self._raised, "m", SIDES,
                     meaning="how far the foot model was raised above the height given by the markers"),
            Quantity("foot_pressure", self._pressure, "Pa", SIDES,
                     image=Image("Pressure", across, along),
                     meaning="pressure under the foot; rows from heel to toes, columns from left to right"),
        ]  # fmt: skip
        if self._plates is not None:
            told.append(
                Quantity("foot_contact_errors", self._error, "N", SIDES,
                         meaning="foot_contact_loads minus the forces of the force plates; NaN = not known")
            )  # fmt: skip
            told.append(
                Quantity("foot_contact_centre_errors", self._beside, "m", SIDES, ("along", "across"),
                         meaning="foot_contact_centres minus those of the force plates: towards the "
                             "toes, to the right")
            )  # fmt: skip
        return told

    def meta(self) -> dict[str, Any]:
        """Return the foot model, its scaling, and the mass of the person, where it is known, for the
        descriptor (first message) of the result stream."""
        sizes = {SIDES[s]: f.foot.size for s, f in zip(self._sides, self._feet, strict=True)}
        person = {"mass_kg": self._mass} if self._mass else {}
        return {**person, "foot": {"model": self.spec.model, "level": self.spec.level, "size": sizes}}

    def _said(self, k: int) -> str:
        foot = self._feet[k]
        level = LEVELS[self.spec.level]
        sole = ", with the inclination of the sole in the static trial" if self._stood[k] else ""
        return (
            f"The {SIDES[self._sides[k]]} foot is represented by the model {self.spec.model}, "
            f"scaled to {100.0 * foot.foot.size:.0f} % of its size, {level}{sole}."
        )

    def _noted(self, k: int, note: str) -> str:
        return f"The {SIDES[self._sides[k]]} foot: {note}."

    def _away(self, k: int, wrench: np.ndarray) -> np.ndarray:
        """Return the distance of foot k's centre of pressure from that of a plate wrench (6,), along and
        across the foot, (2,) [m].
        """
        centre, forward = self._centre[self._sides[k]], self._followed.place.rotation[k, :, 0].copy()
        if self._mirrors:
            forward[2] *= -1.0
        x, _, z = centre - centre_on(wrench[:3], wrench[3:], centre[1], COMPARED_N)
        fx, fz = forward[[0, 2]] / max(math.hypot(forward[0], forward[2]), 1e-9)
        return np.array([fx * x + fz * z, fx * z - fz * x])

    def _sharing(self, total: GroundReaction) -> SharedGroundForce:
        if len(self._feet) != len(SIDES):
            raise ConfigError(
                f"only the {SIDES[self._sides[0]]} foot has markers", where="foot.level",
                allowed="whole_body with markers on both feet", remedy="put markers on the other foot too",
            )  # fmt: skip
        return SharedGroundForce(total, self._followed, self._feet, self._sides)

    def _target(self, k: int, normal: np.ndarray) -> float:
        """Return the load that is known for foot k, along the normal of the ground under it, filtered like
        the motion [N]; NaN = not known.
        """
        if self.shared is not None:
            return float(self.shared.vertical[k])
        if self._plates is None:
            return math.nan
        x, y, z = self._plates.wrench[self._bearers[k], 3:]
        return float(normal @ (x, y, -z if self._mirrors else z))

    def _plane(self, frame: ReceivedFrame, k: int) -> Plane:
        """Return a point and the normal of the surface on which foot k stands, in the solver's axes.

        The filtered motion is older than the plate forces by the delay of the filter. So during this delay a
        foot still counts as standing on a plate that it has already left.
        """
        of_plates = self.loads if self.shared is None else None
        found = of_plates.plane_under(self._bearers[k]) if of_plates is not None else None
        last = self._last[k]
        if found is not None:
            self._last[k] = found, frame.time
        elif last is not None and 0.0 <= frame.time - last[1] <= self._delay:
            found = last[0]
        else:
            return self._ground, UP
        point, normal = found
        if self._mirrors:
            return point * [1.0, 1.0, -1.0], normal * [1.0, 1.0, -1.0]
        return point, normal


def call_foot_contacts(run: RunConfig, estimator: MultibodyEstimator, subject: Subject) -> None:
    """Call every kernel of the foot contact of a person once, so that it is compiled before a run."""
    motion = FilteredMotion(Kinematics(estimator, subject), run.rates)
    FootContacts(run.foot, motion, None, lab_of("", subject.marker_names), subject).warm()


def make(setting: StageContext) -> FootContacts:
    """Return the stage for a tracked person. The stage `rates`, which filters the motion and computes its
    speeds and accelerations, must come before it; LookupError otherwise.

    ConfigError if `foot.level` states that the height of the foot model above the ground follows from force
    plates, or from the stage ground_reaction, and the run does not have them.
    """
    motion, plates = setting.stage(FilteredMotion), setting.find(FootLoads)
    assert setting.subject is not None
    if setting.run.foot.level == "plates" and plates is None:
        raise ConfigError(
            "the height of the foot model above the ground needs force plates, and the run has none",
            where="foot.level",
            remedy='give --forces, or level = "given"',
        )  # fmt: skip
    total = setting.find(GroundReaction)
    if setting.run.foot.level == WHOLE_BODY and total is None:
        raise ConfigError(
            "whole_body takes the load of the feet from the stage ground_reaction, which is missing",
            where="foot.level",
            remedy='put "ground_reaction" before "foot_contact" in stages',
        )  # fmt: skip
    run, subject = setting.run, setting.subject
    lab = lab_of(run.lab, subject.marker_names)
    static = None
    if run.static:
        whose, known = run.person or subject.person, (run.up or None, run.units or None)
        static = read_one(run.static, share_of_labs(lab), whose, *known)
    shared = total if run.foot.level == WHOLE_BODY else None
    return FootContacts(
        spec=run.foot,
        motion=motion,
        loads=plates,
        lab=lab,
        subject=subject,
        static=static,
        mass_kg=setting.mass_kg,
        total=shared,
    )


STAGE = StageDeclaration(
    make=make, needs=("kinematics", "rates"), inputs=(PERSON,), weighs=True, kernels={"foot": ()}
)
