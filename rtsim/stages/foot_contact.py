"""Foot contact: the ground under each foot, by the contact model of a foot in a person's filtered motion.

The foot's frame is that of its markers at heel and metatarsals (kernels/contact, docs/foot.md). Everything
has the delay of the rates, and the plates' forces are filtered equally.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from kernels.contact.prescribed import new_motion
from kernels.contact.standing_foot import Followed, follow
from kernels.dynamics.motion import new_velocities
from kernels.rates.manifold import OK, plain
from kernels.tree import new_pose
from rtsim.config.foot_schema import FootSpec
from rtsim.config.lab_schema import Lab
from rtsim.errors import ConfigError
from rtsim.files.markers import read_markers
from rtsim.files.trial import MarkerTrial
from rtsim.methods.foot_contact import UP, FootAxes, FootContact, contact_foot, foot_axes, on_sole
from rtsim.methods.rates import RateEstimator
from rtsim.models.model import Model
from rtsim.quantity import AXES, GROUND, Quantity
from rtsim.stages.find import Setting
from rtsim.stages.inverse_dynamics import feet_of
from rtsim.stages.plates import FootLoads
from rtsim.stages.rates import FilteredMotion, stated
from rtsim.stages.stage import FINE, Outcome, Stage
from rtsim.subjects.foot_sole import LEAST, stand_on
from rtsim.subjects.labs import SIDES, find_lab, load_lab, side_of
from rtsim.subjects.marker_names import find_markers
from rtsim.subjects.subject import Subject
from streams.messages import Curves, Image, Session
from streams.ring import Frame

GRAVITY, TOUCH_N = 9.81, 1.0
"""On a person [m/s^2]; of a foot that just touches, where the weight is not known."""
LEVELLED = "foot_not_level"
Plane = tuple[np.ndarray, np.ndarray]
UNCOVERED = "The grid of pressure is smaller than a foot and cuts what presses there: enlarge foot.grid."
BEYOND_REACH = "A foot does not reach what the plates tell it bears: its contact is NaN."


class FootContacts(Stage):
    """Force, centre of pressure, free moment and pressure of each foot; NaN without settled rates."""

    needs = ("kinematics", "rates")

    def __init__(
        self,
        spec: FootSpec,
        motion: FilteredMotion,
        loads: FootLoads | None,
        lab: Lab,
        subject: Subject,
        static: MarkerTrial | None = None,
        mass_kg: float = 0.0,
    ) -> None:
        super().__init__()
        self.spec, self.motion, self.loads = spec, motion, loads
        model = motion.kinematics.estimator.model
        load = max(0.5 * mass_kg * GRAVITY, TOUCH_N)
        found = axes_of(model, subject, lab, spec, static, load)
        self._axes = [(body, axes) for body, axes, _ in found]
        self._stood = [stood for *_, stood in found]
        self._mirrors = subject.side == "left"
        self._feet = [FootContact(contact_foot(spec, a.length, a.side), spec) for _, a in self._axes]
        self._sides = [1 - a.side if self._mirrors else a.side for _, a in self._axes]
        bodies, segments = model.names.bodies, subject.segments
        said = dict(feet_of(bodies, subject.side))
        self._marked = [
            (segments[bodies[b]].markers_mm if bodies[b] in segments else (), said[b]) for b, _ in self._axes
        ]
        self._bearers = [SIDES.index(side) for _, side in self._marked]
        self._followed = Followed(
            np.array([body for body, _ in self._axes], np.int64),
            np.array([a.origin for _, a in self._axes]),
            np.array([a.axes for _, a in self._axes]),
        )
        n_foot = len(self._feet)
        self._place, self._model = new_motion(n_foot), model
        self._at = new_pose(len(model.tree.parent), model.n_v, len(model.tree.chains.dof))
        self._speeds = new_velocities(len(model.tree.parent))
        self._filters: list[RateEstimator] = []
        self._borne = np.zeros(3)
        self._delay = 0.0
        self._last: list[tuple[Plane, float] | None] = [None] * n_foot
        self._ground = np.array([0.0, 1e-3 * spec.ground_mm, 0.0])
        rows, columns = spec.grid
        self._force, self._centre = np.full((2, 3), np.nan), np.full((2, 3), np.nan)
        self._free, self._raised = np.full(2, np.nan), np.full(2, np.nan)
        self._normal = np.full((2, len(self._feet[0].normal)), np.nan)
        self._pressure = np.full((2, rows, columns), np.nan)
        self._up = self._force[:, 1]
        self.counters[LEVELLED] = 0

    def warm(self) -> None:
        """Every kernel once, of a foot that presses."""
        q, v = self._model.q_neutral.copy(), np.zeros(self._model.n_v)
        follow(self._model.tree, q, v, self._followed, self._at, self._speeds, self._place)
        for k, foot in enumerate(self._feet):
            for target in (0.0, 300.0):
                foot.take(self._place, k, self._place.position[k] - 0.03 * UP, UP, target)
            foot.forget()
        self._filters = []

    def begin(self, session: Session, anew: bool) -> None:
        """Filters for the forces like that of the motion; what the feet were taken for is said."""
        if self.loads is not None:
            self._bearers = [self.loads.bearer_with(marks, side) for marks, side in self._marked]
        if anew:
            self.sentences += [self._said(k) for k in range(len(self._feet))]
            if not all(foot.covered for foot in self._feet):
                self.sentences.append(UNCOVERED)
        if anew or not self._filters:
            rate = self.motion.rate
            self._filters = [self.motion.estimator_of(plain(3), rate) for _ in self._feet] if rate else []
            self._delay = float(stated(self.motion.spec, rate).delay_s[0]) if rate else 0.0
            self._last = [None] * len(self._feet)

    def run(self, frame: Frame) -> Outcome:
        """Both feet at the time of the filtered motion."""
        self.n_frame += 1
        settled = self.motion.settled
        if settled:
            rates = self.motion.rates
            follow(self._model.tree, rates.q, rates.v, self._followed, self._at, self._speeds, self._place)
        for k, foot in enumerate(self._feet):
            point, normal = self._plane(frame, k)
            target = self._target(frame, k, normal)
            if not settled:
                foot.forget()
                continue
            foot.take(self._place, k, point, normal, target)
            if self.spec.level == "plates" and math.isnan(foot.force[1]) and not math.isnan(target):
                self.count(LEVELLED, BEYOND_REACH)
        return FINE

    def report(self) -> None:
        """By sides; turned back across the body for a left leg, which is solved as a right one."""
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

    def quantities(self) -> list[Quantity]:
        """Of the right and the left foot; a foot that is not followed is NaN."""
        names = self._feet[0].foot.names
        across, along = self.spec.cell_mm[1], self.spec.cell_mm[0]
        return [
            Quantity("foot_contact_forces", self._force, "N", SIDES, AXES, GROUND,
                     meaning="of the ground on the foot by its model; shear is not validated; filtered"),
            Quantity("foot_contact_loads", self._up, "N", SIDES,
                     curves=Curves("Feet, contact model", "vertical force", 1, 100.0),
                     meaning="vertical part of foot_contact_forces"),
            Quantity("foot_contact_centres", self._centre, "m", SIDES, AXES, GROUND,
                     meaning="centre of pressure of the contact model; NaN = no contact"),
            Quantity("foot_contact_free_moments", self._free, "N m", SIDES,
                     meaning="about the normal through the centre of pressure; not validated"),
            Quantity("foot_contact_normals", self._normal, "N", SIDES, names,
                     meaning="normal force of each contact of the model"),
            Quantity("foot_contact_raised", self._raised, "m", SIDES,
                     meaning="how far the foot was raised above its markers' height"),
            Quantity("foot_pressure", self._pressure, "Pa", SIDES,
                     image=Image("Pressure", across, along),
                     meaning="under the foot; rows from heel to toes, columns from left to right"),
        ]  # fmt: skip

    def meta(self) -> dict[str, Any]:
        """The foot, and how it was scaled."""
        sizes = {SIDES[s]: f.foot.size for s, f in zip(self._sides, self._feet, strict=True)}
        return {"foot": {"model": self.spec.model, "level": self.spec.level, "size": sizes}}

    def _said(self, k: int) -> str:
        foot = self._feet[k]
        level = "raised until it bears what its plate tells" if self.spec.level == "plates" else "as marked"
        sole = ", its sole as in the static trial" if self._stood[k] else ""
        return (
            f"The {SIDES[self._sides[k]]} foot is the model {self.spec.model}, "
            f"{100.0 * foot.foot.size:.0f} % of its size, {level}{sole}."
        )

    def _target(self, frame: Frame, k: int, normal: np.ndarray) -> float:
        """Force of the plates on foot k along the normal of its plane, filtered as the motion is [N]; NaN =
        not known.
        """
        if self.loads is None or k >= len(self._filters):
            return math.nan
        self._borne[:] = self.loads.force[self._bearers[k]]
        if self._mirrors:
            self._borne[2] *= -1.0
        smooth = self._filters[k]
        return float(normal @ smooth.rates.q) if smooth.take(frame.time, self._borne) == OK else math.nan

    def _plane(self, frame: Frame, k: int) -> Plane:
        """A point and the normal of what foot k stands on, as the solver has it.

        The motion is that of a delay ago: so long is a foot on the plate that it has left.
        """
        found = self.loads.plane_under(self._bearers[k]) if self.loads is not None else None
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


def axes_of(
    model: Model,
    subject: Subject,
    lab: Lab,
    spec: FootSpec,
    static: MarkerTrial | None,
    load: float,
) -> list[tuple[int, FootAxes, bool]]:
    """Body and frame of every foot of a model, and whether a static trial tells its sole, under a load [N].

    ConfigError where markers of none are there.
    """
    own = "right" if subject.side == "left" else subject.side  # solved as a right one
    found: list[tuple[int, FootAxes, bool]] = []
    lacking = beside = ""
    names, ground = list(model.names.markers), 1e-3 * spec.ground_mm
    for body, side in feet_of(model.names.bodies, own):
        marked = subject.side if subject.side in SIDES else side
        if static is not None:
            rows = np.flatnonzero(model.markers.body == body)
            tracked, local = [names[k] for k in rows], model.markers.position[rows]
            roles = markers_of(lab, marked, static.names)
            stood = stand_on(static, list(roles.values()), tracked, local, ground, subject.side == "left")
            if stood is not None and roles.keys() >= set(NEEDED):
                axes = foot_axes(dict(zip(roles, stood.marks, strict=True)))
                if spec.sole:
                    axes = on_sole(axes, stood.up, float(stood.heights[0]), spec, load)
                found.append((body, axes, spec.sole))
                continue
        roles = markers_of(lab, marked, names)
        missing = [role for role in NEEDED if role not in roles]
        if missing:
            lacking = f": {getattr(side_of(lab, marked), missing[0])} is not there"
            if static is not None:
                beside = f", and {static.source} does not show it beside {LEAST} markers that follow its foot"
            continue
        places = {role: model.markers.position[names.index(name)] for role, name in roles.items()}
        found.append((body, foot_axes(places), False))
    if not found:
        raise ConfigError(
            f"no foot has its markers{lacking}{beside}", where="stages",
            allowed="heel, first and fifth metatarsal, in the trial or the static one",
            remedy="give --static, name the lab, or leave foot_contact out",
        )  # fmt: skip
    return found


NEEDED = ("calcaneus", "metatarsal_1", "metatarsal_5")
"""Marks that the frame of a foot needs, the heel first."""


def markers_of(lab: Lab, side: str, names: Collection[str]) -> dict[str, str]:
    """Role -> marker among these names, of the marks that the frame of a foot is made of."""
    table = side_of(lab, side)
    roles = {role: str(getattr(table, role)) for role in (*NEEDED, "metatarsal_2", "metatarsal_3")}
    found = find_markers([name for name in roles.values() if name], list(names))
    return {role: name for role, name in roles.items() if name in found}


def make(setting: Setting) -> FootContacts | None:
    """The feet of a person whose motion has rates."""
    motion, loads = setting.before.get("rates"), setting.before.get("plates")
    if not isinstance(motion, FilteredMotion) or setting.subject is None:
        return None
    plates = loads if isinstance(loads, FootLoads) else None
    if setting.run.foot.level == "plates" and plates is None:
        raise ConfigError(
            "the height of the feet is to come from force plates, and the run has none", where="foot.level",
            remedy='give --forces, or level = "given"',
        )  # fmt: skip
    run, subject = setting.run, setting.subject
    lab = load_lab(run.lab) if run.lab else find_lab(subject.marker_names)
    static = read_markers(run.static, run.up or None, run.units or None) if run.static else None
    return FootContacts(run.foot, motion, plates, lab, subject, static, setting.mass_kg)
