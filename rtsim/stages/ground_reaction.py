"""Ground reaction of a whole person from the motion of all segments, without force plates.

The external force that moves and supports all segments is the sum of mass times (acceleration minus gravity)
over the segments; the moment is computed in the same way. Both equal the residual of inverse dynamics at the
pelvis without foot forces. This requires a model of the whole body: both legs and a trunk with markers, which
includes head and arms (rtsim/subjects/calibration/upper_body). All results have the delay of the filter that
gives speeds and accelerations. If there are force plates, the difference from them is reported.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.methods.foot.foot_contact import centre_on
from rtsim.methods.inverse_dynamics import InverseDynamics, dynamics_of_methods
from rtsim.quantity import AXES, GROUND, Quantity
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import MASS, PERSON, StageDeclaration
from rtsim.stages.loads.filtered_loads import FilteredLoads
from rtsim.stages.plates import FootLoads
from rtsim.stages.rates import FilteredMotion
from rtsim.stages.stage import FINE, Stage, StageOutcome
from rtsim.subjects.calibration.masses import BodyMeasures, load_inertia_table, person_of
from rtsim.subjects.calibration.trunk import TRUNK
from rtsim.subjects.subject import Subject
from streams.messages import Curves, Session
from streams.receiving.ring import ReceivedFrame

Array = NDArray[np.float64]

LOST = "whole_body_unseen"
NOT_SEEN = (
    "A part of the body is hidden, or was hidden until a moment ago, so the ground reaction of the whole "
    "body is unknown (NaN)."
)
LEAST_N = 1.0
"""Least vertical force for which a centre of pressure is computed [N]."""


class GroundReaction(Stage):
    """Force and moment of the ground on a whole person; NaN while the filter of the motion has not settled,
    and if the markers of a frame do not determine the root or the trunk.

    Attributes
    ----------
    force : (3,) force, in the axes of the laboratory [N]
    moment : (3,) moment of the ground reaction about the origin of the laboratory [N m]
    person : person with the segment masses
    weight : weight [N]
    """

    def __init__(
        self,
        of: Mapping[str, InverseDynamics],
        person: BodyMeasures,
        motion: FilteredMotion,
        plates: FilteredLoads | None = None,
    ) -> None:
        """Combine the inverse dynamics of a whole person with the filtered motion.

        of : inverse dynamics of each kinematic method, by name; plates : filtered plate loads to compare with
        """
        super().__init__()
        self._of, self.person, self.motion, self._plates = of, person, motion, plates
        self.weight = next(iter(of.values())).weight
        self.force: Array = np.full(3, math.nan)
        self.moment: Array = np.full(3, math.nan)
        self._up = self.force[1:2]
        self._error = np.full(3, math.nan)
        self.counters[LOST] = 0

    def centre_on(self, height: float) -> Array:
        """Return the centre of pressure (3,) of the ground reaction, if the ground is level and at this
        height [m]; NaN if the vertical force is too small to have one.
        """
        return centre_on(self.moment, self.force, height, LEAST_N)

    def warm(self) -> None:
        """Call all kernels once."""
        for method, dynamics in self._of.items():
            model, *_ = self.motion.kinematics.estimator.placed_by(method)
            dynamics.compute(model.q_neutral.copy(), np.zeros(model.n_v), np.zeros(model.n_v))

    def begin(self, session: Session, anew: bool) -> None:
        """Begin a session of the input stream; in a new one (anew), report how the body's mass is
        distributed."""
        if anew:
            notes = "; ".join(self.person.notes)
            self.sentences.append(
                "The ground reaction is computed from the motion of a body mass of "
                f"{self.person.mass:.1f} kg; head and arms move with the "
                f"trunk{f'; {notes}' if notes else ''}."
            )
        if self._plates is not None:
            self._plates.begin(anew)

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Compute the ground reaction of the whole body at the time of the filtered motion."""
        self.n_frame += 1
        self.force[:] = self.moment[:] = self._error[:] = math.nan
        kinematics = self.motion.kinematics
        if self._plates is not None:
            self._plates.take(frame.time)
        if not self.motion.settled:
            return FINE
        if kinematics.unknown.any() or self.motion.unsettled.any():
            self.count(LOST, NOT_SEEN)
            return FINE
        dynamics = self._of[kinematics.estimator.method]
        dynamics.compute(*self.motion.rates)
        self.moment[:], self.force[:] = dynamics.lacking
        if self._plates is not None:
            self._error[:] = (self.force - self._plates.wrench[:, 3:].sum(axis=0)) / self.weight
        return FINE

    def quantities(self) -> list[Quantity]:
        """Declare the published quantities of this stage.

        These are the force of the ground on the whole person [N], its vertical component [N], and its moment
        about the origin of the laboratory [N m]. If there are force plates, the force minus the sum of the
        plates' forces, in body weights, is published, too.
        """
        told = [
            Quantity("ground_reaction_force", self.force, "N", AXES, frame=GROUND,
                     meaning="force of the ground on the whole person, computed from the motion of all "
                         "segments; filtered"),
            Quantity("ground_reaction_moment", self.moment, "N m", AXES, frame=GROUND,
                     meaning="moment of ground_reaction_force about the origin of ground; filtered"),
            Quantity("ground_reaction_load", self._up, "N", ("whole body",),
                     curves=Curves("Whole body", "vertical force", 1, 100.0),
                     meaning="vertical part of ground_reaction_force"),
        ]  # fmt: skip
        if self._plates is not None:
            told.append(
                Quantity("ground_reaction_error", self._error, "1", AXES, frame=GROUND,
                         meaning="ground_reaction_force minus the force of all plates, in body weights; NaN "
                                 "= "
                         "the load of a foot is not known")
            )  # fmt: skip
        return told

    def meta(self) -> dict[str, Any]:
        """Return the mass [kg] and the stature [m] of the person for the descriptor (first message) of the
        result stream.
        """
        return {"mass_kg": self.person.mass, "stature_m": self.person.stature}


def check_whole(subject: Subject) -> None:
    """Raise ConfigError if not the whole person is tracked."""
    lacking = TRUNK if TRUNK not in subject.segments else "both legs" if subject.side != "both" else ""
    if lacking:
        raise ConfigError(
            f"the ground reaction of the whole body needs {lacking}, and the subject has only "
            f"{', '.join(subject.segments)}",
            where="stages: ground_reaction",
            remedy="put markers on both legs, pelvis, shoulders and thorax, or remove the stage and give "
            "force plates",
        )


def make(setting: StageContext) -> GroundReaction:
    """Return the stage for a person whose mass is known. The stage `rates`, which filters the motion and
    computes its speeds and accelerations, must come before it; LookupError otherwise. ConfigError if the
    whole body is not tracked.
    """
    motion, loads, subject = setting.stage(FilteredMotion), setting.find(FootLoads), setting.subject
    assert subject is not None
    check_whole(subject)
    person = person_of(subject, load_inertia_table(), setting.mass_kg)
    of = dynamics_of_methods(setting.spec, subject, person, motion.kinematics.estimator)
    plates = FilteredLoads(motion, loads) if loads is not None else None
    return GroundReaction(of, person, motion, plates)


STAGE = StageDeclaration(
    make=make, needs=("kinematics", "rates"), inputs=(MASS, PERSON), weighs=True, kernels={"forces": ()}
)
