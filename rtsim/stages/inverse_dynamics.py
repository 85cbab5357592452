"""Inverse dynamics: joint moments, forces and powers, from filtered motion and equally filtered forces."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kernels.compiler.jit import hold
from kernels.solver.published_values import new_published_loads, publish_loads
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.methods.inverse_dynamics import dynamics_of_methods, dynamics_of_model
from rtsim.models.entries import coordinate_names, turning
from rtsim.models.named_feet import feet_of
from rtsim.quantity import AXES, GROUND, Quantity
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import FORCES, MASS, StageDeclaration
from rtsim.stages.foot_contact import FootContacts
from rtsim.stages.loads.applied_loads import AppliedLoads
from rtsim.stages.loads.filtered_loads import FilteredLoads, FootWrenches
from rtsim.stages.loads.joint_loads import JointLoads, take_over
from rtsim.stages.markers.reference_length import LEG
from rtsim.stages.poses.joint_status import joint_names
from rtsim.stages.poses.kinematic_results import lateral_signs
from rtsim.stages.rates import FilteredMotion
from rtsim.subjects.calibration.masses import BodyMeasures, load_inertia_table, person_of
from rtsim.subjects.markers.labs import SIDES
from rtsim.subjects.subject import Subject, kind_of_segment
from streams.messages import Curves, Session

MIRROR = np.array([-1.0, -1.0, 1.0, 1.0, 1.0, -1.0])
"""Signs of a moment and a force mirrored across the plane normal to Z."""


class PersonLoads(JointLoads):
    """Net joint moments, forces and powers of a person, and the residual at the pelvis."""

    def __init__(
        self, spec: ModelSpec, subject: Subject, person: BodyMeasures, motion: FilteredMotion,
        wrenches: FootWrenches,
    ) -> None:  # fmt: skip
        self.person = person
        estimator = motion.kinematics.estimator
        self._bodies, self._subject = estimator.model.names.bodies, subject
        feet = [(b, SIDES.index(side)) for b, side in feet_of(self._bodies, "right")]
        if not feet:
            raise ConfigError(
                f"the model {spec.name} has no body with the name of a foot, on which force plates could act",
                where="stages",
                remedy="give the body of the foot one of the names foot, foot_r, foot_l, calcn_r, calcn_l",
            )  # fmt: skip
        super().__init__(dynamics_of_methods(spec, subject, person, estimator), motion, wrenches, feet)
        self._sign = MIRROR if subject.side == "left" else np.ones(6)
        self._of_leg = kind_of_segment(self._bodies[0]) in LEG  # whose root bears what the hip does
        model = estimator.model
        self._lateral = lateral_signs(model.mirrored[model.joints.distal], 2)

    @property
    def told(self) -> tuple[str, ...]:
        return (f"Inverse dynamics for a body mass of {self.person.mass:.1f} kg", *self.person.notes)

    def warm(self) -> None:
        """Call all kernels once."""
        super().warm()
        self.quantities()

    def begin(self, session: Session, anew: bool) -> None:
        """Begin a session of the input stream: find for each foot of the model the plate forces that act on
        it, and prepare their filters.

        anew : whether this is a new session; False = the same one continues after a change of settings
        """
        segments, feet = self._subject.segments, feet_of(self._bodies, self._subject.side)
        markers = {b: segments[self._bodies[b]].markers_mm for b, _ in feet if self._bodies[b] in segments}
        self._feet = [(b, self.wrenches.bearer_with(markers.get(b, ()), side)) for b, side in feet]
        super().begin(session, anew)

    def report(self) -> None:
        """Publish the loads of the joints, with lateral forces (Z) positive on both sides of the body, and
        the residual. For a left leg, which is solved as a right one, the residual is mirrored back.
        """
        self._show()

    def quantities(self) -> list[Quantity]:
        """Return the moments, forces, speeds and powers of all joints and, unless only one leg is modelled,
        the residual at the pelvis.
        """
        dynamics = self.dynamics
        angles = self.kinematics.estimator.model.names.joint_angles
        joints = joint_names(angles)
        below = self.kinematics.by_joint.joints_below()
        of_angles = tuple(own for own in below for _ in range(3))
        shown = new_published_loads(len(joints))
        sides = self._sign.reshape(2, 3)
        self._show = hold(
            publish_loads,
            (
                dynamics.results, dynamics.deviations, self.kinematics.unknown, self._lateral, sides,
                dynamics.weight, shown,
            ),
        )  # fmt: skip
        return [
            Quantity(
                "joint_moments", shown.moment, "N m", angles,
                curves=Curves("", "moment", 2, 10.0),
                meaning="internal joint moment on the distal body, projected on the axes of "
                    "joint_angles, positive where it increases the angle; filtered",
                deviation=self.stated(shown.of_moment), joints=of_angles,
            ),
            Quantity(
                name="joint_forces", array=shown.force, unit="N", labels=joints, parts=AXES,
                frame="the anatomical frame of the distal body",
                meaning="net joint force on the distal body: X forward, Y up, Z lateral; filtered",
                deviation=self.stated(shown.of_force), joints=below,
            ),
            Quantity(
                "joint_angle_speeds", dynamics.angle_rate.reshape(-1), "rad/s", angles,
                meaning="time derivatives of joint angles; filtered", deviation=self.stated(shown.of_rate),
                joints=self.kinematics.by_joint.joints_of_angles,
            ),
            Quantity(
                "joint_powers", dynamics.power, "W", joints, ("moment", "force"),
                meaning="joint power: net moment times angular velocity, plus net force times translational "
                    "velocity; filtered",
                deviation=self.stated(shown.of_power), joints=below,
            ),
            *([] if self._of_leg else residuals(shown.residual, self.stated(shown.of_residual))),
        ]  # fmt: skip

    def meta(self) -> dict[str, Any]:
        """Return mass [kg] and stature [m] of the person, and the mass of the modelled segments [kg], for the
        descriptor (first message) of the result stream.
        """
        person = {"mass_kg": self.person.mass, "stature_m": self.person.stature}
        return {**person, "model_mass_kg": self.dynamics.mass}


class ModelLoads(JointLoads):
    """Generalized forces of a model's coordinates, net forces and moments of its joints, and the
    residual at its root.

    Names are those of the model's coordinates and joints.
    """

    def __init__(self, motion: FilteredMotion, loads: AppliedLoads) -> None:
        estimator = motion.kinematics.estimator
        placed = {method: estimator.placed_by(method) for method in estimator.methods}
        of_model = {id(model): dynamics_of_model(model) for model, *_ in placed.values()}
        of = {method: of_model[id(model)] for method, (model, *_) in placed.items()}
        super().__init__(of, motion, FilteredLoads(motion, loads), loads.pressed)
        self.mass = float(estimator.model.system.bodies.mass.sum())
        self._pressed = [estimator.model.names.bodies[body] for body, _ in loads.pressed]
        self._turns = np.zeros(0, np.bool_)
        self._moments, self._forces = np.zeros(0), np.zeros(0)
        self._external = np.full((2, len(loads.pressed), 3), math.nan)
        self._of_external = self._external.copy()
        self._of_moments, self._of_forces = np.zeros(0), np.zeros(0)
        self._of_residual = np.full((2, 3), math.nan)

    @property
    def told(self) -> tuple[str, ...]:
        pressed = ", ".join(self._pressed)
        return (
            f"Inverse dynamics for the model's mass of {self.mass:.1f} kg; force plates act on {pressed}",
        )

    def report(self) -> None:
        """Publish the generalized forces, in one array for coordinates that are angles and one for lengths,
        and the filtered wrenches of the plates.
        """
        tau = self.dynamics.tau
        self._moments[:], self._forces[:] = tau[self._turns], tau[~self._turns]
        for k, (body, _) in enumerate(self._feet):
            wrench = self.dynamics.external[body]
            self._external[0, k], self._external[1, k] = wrench[3:], wrench[:3]
            of_wrench = np.sqrt(np.sum(self.dynamics.errors.wrench[body] ** 2, axis=0))
            take_over(of_wrench[3:], wrench[3:], self._of_external[0, k])
            take_over(of_wrench[:3], wrench[:3], self._of_external[1, k])
        deviations, results = self.dynamics.deviations, self.dynamics.results
        for found, value in (
            (deviations.moment, results.moment), (deviations.force, results.force),
            (deviations.power, results.power),
        ):  # fmt: skip
            found[np.isnan(value)] = math.nan  # a force on a foot is not known any more
        of_tau = deviations.tau
        take_over(of_tau[self._turns], self._moments, self._of_moments)
        take_over(of_tau[~self._turns], self._forces, self._of_forces)
        take_over(self.dynamics.residual_share_deviation, self.dynamics.residual_share, self._of_residual)

    def quantities(self) -> list[Quantity]:
        """Return the generalized forces of all coordinates, then loads of all joints, and the residual at the
        root."""
        model, dynamics = self.kinematics.estimator.model, self.dynamics
        joints, names = model.names.joints, np.array(coordinate_names(model)[1], object)
        self._turns = turning(model)
        self._moments = np.full(int(self._turns.sum()), math.nan)
        self._forces = np.full(int((~self._turns).sum()), math.nan)
        self._of_moments, self._of_forces = self._moments.copy(), self._forces.copy()
        reactions = [
            Quantity(
                name=f"reaction_{what}_{told}", array=values(axes), unit=unit, labels=joints, parts=AXES,
                frame=frame,
                meaning=f"{said}; filtered", deviation=self.stated(deviations(axes)),
            )
            for told, axes, frame in FRAMES_TOLD
            for what, values, deviations, unit, said in (
                ("forces", dynamics.force, dynamics.force_deviation, "N",
                 "reaction force of the joint, with its actuators, on the child body"),
                ("moments", dynamics.moment, dynamics.moment_deviation, "N m",
                 "reaction moment of the joint, with its actuators, about the joint centre on the child"),
            )
        ]  # fmt: skip
        return [
            Quantity(
                "coordinate_moments", self._moments, "N m", tuple(names[self._turns].tolist()),
                curves=Curves("Moments", "moment", 2, 10.0),
                meaning="generalized forces of coordinates that are angles, positive where they increase "
                    "the angle; filtered",
                deviation=self.stated(self._of_moments),
            ),
            Quantity(
                "coordinate_forces", self._forces, "N", tuple(names[~self._turns].tolist()),
                meaning="generalized forces of coordinates that are lengths; filtered",
                deviation=self.stated(self._of_forces),
            ),
            *reactions,
            Quantity(
                "joint_powers", dynamics.power, "W", joints, ("moment", "force"),
                meaning="joint power: reaction moment times angular velocity, plus reaction force times "
                    "translational velocity; filtered",
                deviation=self.stated(dynamics.deviations.power),
            ),
            Quantity(
                name="external_forces", array=self._external[0], unit="N", labels=tuple(self._pressed),
                parts=AXES, frame=GROUND,
                meaning="force of all force plates on each foot, as used in inverse dynamics; filtered",
                deviation=self.stated(self._of_external[0]),
            ),
            Quantity(
                name="external_moments", array=self._external[1], unit="N m", labels=tuple(self._pressed),
                parts=AXES, frame=GROUND,
                meaning="moment of external_forces about the origin of ground; filtered",
                deviation=self.stated(self._of_external[1]),
            ),
            *residuals(dynamics.residual_share, self.stated(self._of_residual)),
        ]  # fmt: skip

    def meta(self) -> dict[str, Any]:
        """Return the mass of the model for the descriptor (first message) of the result stream."""
        return {"mass_kg": self.mass}


FRAMES_TOLD = (
    ("ground", "ground", GROUND),
    ("parent", "proximal", "the parent body"),
    ("child", "distal", "the child body"),
)
"""Axes in which joint forces and moments are published: ending of the field's name, name of the axes in the
method, and text."""


def residuals(share: np.ndarray, stated: np.ndarray | None) -> list[Quantity]:
    """Return the residual of inverse dynamics at the root segment as quantities.

    share : (2, 3) residual moment about the origin of the root segment [m] and residual force [1], both
        divided by the body weight
    stated : (2, 3) standard deviations of moment and force, divided likewise; None if none are published
    """
    of_moment, of_force = (None, None) if stated is None else stated
    return [
        Quantity(
            "residual_moment", share[0], "m", AXES, frame=GROUND,
            meaning="residual moment about the origin of the root segment, divided by body weight; filtered",
            deviation=of_moment,
        ),
        Quantity(
            "residual_force", share[1], "1", AXES, frame=GROUND,
            meaning="residual force at the root segment, divided by body weight; filtered",
            deviation=of_force,
        ),
    ]  # fmt: skip


def make(setting: StageContext) -> JointLoads | None:
    """Return the stage for a run with a known mass: for a person with forces on the feet from plates or from
    the motion of the whole body, or for a model with loads of its own; None without forces.
    """
    motion, subject = setting.stage(FilteredMotion), setting.subject
    loads, feet = setting.find(AppliedLoads), setting.find(FootContacts)
    if subject is None:
        return ModelLoads(motion, loads) if loads is not None else None
    wrenches: FootWrenches | None = feet.shared if feet is not None else None
    if wrenches is None and loads is not None:
        wrenches = FilteredLoads(motion, loads)
    if wrenches is None:
        return None
    person = person_of(subject, load_inertia_table(), setting.mass_kg)
    return PersonLoads(setting.spec, subject, person, motion, wrenches)


STAGE = StageDeclaration(
    make=make, needs=("kinematics", "rates"), either=("plates", "foot_contact"), inputs=(MASS,),
    usual=(FORCES, MASS), order=60, kernels={"forces": ()},
)  # fmt: skip
