"""Inverse dynamics: joint moments, forces and powers, from filtered motion and equally filtered forces."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernels.rates.manifold import OK, plain
from rtsim.config.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.methods.inverse_dynamics import InverseDynamics, inverse_dynamics_of
from rtsim.methods.rates import RateEstimator
from rtsim.quantity import AXES, GROUND, Quantity
from rtsim.stages.find import Setting
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.plates import FootLoads
from rtsim.stages.rates import FilteredMotion
from rtsim.stages.stage import FINE, Outcome, Stage
from rtsim.subjects.masses import Person, load_inertia_table, person_of
from rtsim.subjects.subject import Subject
from streams.messages import Curves, Session
from streams.ring import Frame

FOOT = re.compile(r"(?:(?P<before>r|l|right|left)_)?(?:foot|calcn)(?:_(?P<after>r|l|right|left))?")
LETTERS = {"r": 0, "right": 0, "l": 1, "left": 1}
MIRROR = np.array([-1.0, -1.0, 1.0, 1.0, 1.0, -1.0])
"""Of a moment and a force, in a mirror square to Z."""


class JointLoads(Stage):
    """Net joint moments, forces and powers of the person, and what is left at the pelvis.

    Where the force on a foot is not known, all that it reaches is NaN.
    """

    needs = ("kinematics", "rates", "plates")

    def __init__(
        self, spec: ModelSpec, subject: Subject, person: Person, motion: FilteredMotion, loads: FootLoads
    ) -> None:
        super().__init__()
        self.person, self.motion, self.loads = person, motion, loads
        self.kinematics: Kinematics = motion.kinematics
        self._mirror = MIRROR if subject.side == "left" else np.ones(6)
        estimator = self.kinematics.estimator
        of_model: dict[int, InverseDynamics] = {}
        self._of: dict[str, InverseDynamics] = {}
        for method in estimator.methods:
            model, *_ = estimator.placed_by(method)
            if id(model) not in of_model:
                of_model[id(model)] = inverse_dynamics_of(spec, subject, person, method)
            self._of[method] = of_model[id(model)]
        self._bodies, self._subject = tuple(body.name for body in spec.bodies), subject
        self._feet = feet_of(self._bodies, 0)
        if not self._feet:
            raise ConfigError(
                f"{spec.name} has no foot for the forces of plates", where="stages",
                remedy="call a body foot, foot_r, foot_l, calcn_r or calcn_l",
            )  # fmt: skip
        self._filters: list[RateEstimator] = []
        self._wrench, self._residual = np.zeros(6), np.full((2, 3), math.nan)
        self._moments = np.full(0, math.nan)
        self.counters["moments_unknown"] = 0

    @property
    def dynamics(self) -> InverseDynamics:
        """Of the method in use."""
        return self._of[self.kinematics.estimator.method]

    def warm(self) -> None:
        """Call everything once."""
        for method, dynamics in self._of.items():
            model, *_ = self.kinematics.estimator.placed_by(method)
            dynamics.compute(model.q_neutral.copy(), np.zeros(model.n_v), np.zeros(model.n_v))

    def begin(self, session: Session, anew: bool) -> None:
        """Filters for the forces like that of the motion."""
        foot = self._subject.segments.get("foot")
        markers = foot.markers_mm if foot is not None else ()
        self._feet = feet_of(self._bodies, self.loads.foot_with(markers, self._subject.side))
        if anew:
            told = (f"Inverse dynamics of {self.person.mass:.1f} kg", *self.person.notes)
            self.sentences.append(f"{'; '.join(told)}.")
        if anew or not self._filters:
            rate = self.motion.rate
            self._filters = [self.motion.estimator_of(plain(6), rate) for _ in self._feet] if rate else []

    def run(self, frame: Frame) -> Outcome:
        """Moments at the time that motion and forces are filtered for."""
        self.n_frame += 1
        dynamics = self.dynamics
        dynamics.clear()
        known = self.motion.settled and bool(self._filters)
        for (body, foot), smooth in zip(self._feet, self._filters, strict=False):
            self._wrench[:3], self._wrench[3:] = self.loads.moment[foot], self.loads.force[foot]
            if smooth.take(frame.time, self._wrench) == OK:
                dynamics.external[body] = self._mirror * smooth.rates.q
            else:
                dynamics.external[body] = math.nan
                self.counters["moments_unknown"] += known
        if known:
            dynamics.compute(*self.motion.rates)
        else:
            for array in dynamics.results:
                array[...] = math.nan
        return FINE

    def report(self) -> None:
        """Moments in a row, and the residual on the side of the body."""
        self._moments[:] = self.dynamics.moment().reshape(-1)
        np.multiply(self.dynamics.residual_share, self._mirror.reshape(2, 3), out=self._residual)

    def quantities(self) -> list[Quantity]:
        """Moments, forces, speeds and powers of all joints, and the residual."""
        dynamics = self.dynamics
        angles = self.kinematics.estimator.model.names.joint_angles
        joints = joint_names(angles)
        self._moments = np.full(len(angles), math.nan)
        return [
            Quantity(
                "joint_moments", self._moments, "N m", angles,
                curves=Curves("", "moment", 2, 10.0),
                meaning="internal, on the distal body, along the axes of joint_angles (projections), "
                "positive where it raises the angle; filtered",
            ),
            Quantity(
                "joint_forces", dynamics.force("distal"), "N", joints, AXES, "the distal body's anatomy",
                meaning="net joint force on the distal body: X forward, Y up, Z lateral; filtered",
            ),
            Quantity(
                "joint_angle_speeds", dynamics.angle_rate.reshape(-1), "rad/s", angles,
                meaning="rates of the joint angles; filtered",
            ),
            Quantity(
                "joint_powers", dynamics.power, "W", joints, ("moment", "force"),
                meaning="of the net moment on the turning, of the net force on the sliding; filtered",
            ),
            Quantity(
                "residual_moment", self._residual[0], "m", AXES, frame=GROUND,
                meaning="moment about the root's origin that nothing explains, in body weights; filtered",
            ),
            Quantity(
                "residual_force", self._residual[1], "1", AXES, frame=GROUND,
                meaning="force at the root that nothing explains, in body weights; filtered",
            ),
        ]  # fmt: skip

    def meta(self) -> dict[str, Any]:
        """The mass of the person."""
        return {"mass_kg": self.person.mass, "stature_m": self.person.stature}


def joint_names(angles: Sequence[str]) -> tuple[str, ...]:
    """The joints whose angles, three of each, have these names."""
    return tuple(name.partition("_")[0] for name in angles[::3])


def feet_of(bodies: Sequence[str], own: int) -> list[tuple[int, int]]:
    """Body and foot (0 right, 1 left) of all feet of a model; one without a side is the foot `own`."""
    found = []
    for b, name in enumerate(bodies):
        match = FOOT.fullmatch(name)
        if match:
            said = match["before"] or match["after"]
            found.append((b, LETTERS[said] if said else own))
    return found


def make(setting: Setting) -> JointLoads | None:
    """Inverse dynamics of a run with plates and a person of known mass."""
    motion, loads = setting.before.get("rates"), setting.before.get("plates")
    subject = setting.subject
    if not isinstance(motion, FilteredMotion) or not isinstance(loads, FootLoads) or subject is None:
        return None
    if not setting.mass_kg:
        return None
    person = person_of(subject, load_inertia_table(), setting.mass_kg)
    return JointLoads(setting.spec, subject, person, motion, loads)
