"""Centre of mass of all segments that have a mass, at the pose of the kinematics.

Masses are those of the model's file. If the person's mass is known (given, weighed or stored), segments
without a mass get the fraction of it that the table of segment masses states. The centre of mass of these
segments is published. It is that of the whole body only if the model contains the whole body.
"""

from __future__ import annotations

import math

import numpy as np

from rtsim.config.models.model_schema import ModelSpec
from rtsim.methods.kinematics.deviations import mean_place
from rtsim.quantity import AXES, GROUND, Quantity
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import StageDeclaration
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.poses.kinematic_results import mirror
from rtsim.stages.stage import FINE, Stage, StageOutcome
from rtsim.subjects.anatomy import for_person
from rtsim.subjects.calibration.masses import load_inertia_table, person_of, with_masses
from rtsim.subjects.subject import Subject
from streams.receiving.ring import ReceivedFrame

LOST = "centre_of_mass_unseen"
NOT_SEEN = "Too few markers determine the root or the trunk: the centre of mass is NaN meanwhile."


class CentreOfMass(Stage):
    """The centre of mass of a model's segments; NaN where the frame has no pose, or not that of the root or
    the trunk, which has half of the mass. Other segments that too few markers determine stay near their
    last pose, in frames that are degraded.
    """

    def __init__(self, kinematics: Kinematics, mass: np.ndarray, centre: np.ndarray) -> None:
        """Use the pose of a kinematics stage; mass : (n_body,) masses [kg]; centre : (n_body, 3) mass centre
        of each body, in its own axes [m]
        """
        super().__init__()
        self.kinematics, self.total = kinematics, float(mass.sum())
        self.share, self.centre = mass / self.total, centre
        self.point, self.shown = np.full(3, np.nan), np.full((1, 3), np.nan)
        self._place, self._covariance_version = mean_place(self.share, centre), -1
        self.deviation, self._newest = np.full((1, 3), np.nan), np.full((1, 3), np.nan)

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Compute the centre of mass in the newest pose."""
        self.n_frame += 1
        self.point[:] = np.nan
        if self.kinematics.admitted and (self.kinematics.unknown.any() or self.kinematics.lost.any()):
            self.count(LOST, NOT_SEEN)
        elif self.kinematics.admitted:
            position, rotation = self.kinematics.estimator.pose
            self.point[:] = self.share @ (position + (rotation @ self.centre[:, :, None])[:, :, 0])
        return FINE

    def report(self) -> None:
        """Publish the centre of mass; for a left leg, which is solved as a right one, it is mirrored back."""
        self.shown[0] = self.point
        marker_input, found = self.kinematics.marker_input, self.kinematics.estimator.deviations
        if marker_input is not None and marker_input.mirrors:
            mirror(self.shown)
        if found is not None and found.covariance_version != self._covariance_version:
            self._covariance_version = found.covariance_version
            found.write_places(self._place, self._newest)
        self.deviation[:] = math.nan if math.isnan(self.point[0]) else self._newest

    def quantities(self) -> list[Quantity]:
        """Return the centre of mass as a quantity."""
        known, self._covariance_version = self.kinematics.estimator.deviations is not None, -1
        return [
            Quantity(
                name="centre_of_mass", array=self.shown, unit="m", labels=("segments",), parts=AXES,
                frame=GROUND,
                meaning=f"centre of mass of all segments of the model, {self.total:.1f} kg together; NaN "
                    "= no pose was found, or not of the root or the trunk",
                deviation=self.deviation if known else None,
            ),
        ]  # fmt: skip


def masses_of(
    spec: ModelSpec, subject: Subject | None, mass_kg: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return masses (n_body,) [kg], and centres of mass in the axes of the bodies (n_body, 3) [m];
    ConfigError if no mass is given and neither the model's nor the subject's file states one.

    mass_kg : mass of the person, which replaces that of the subject's file [kg]; 0 = not given
    """
    if subject is not None:
        weighed = mass_kg or subject.mass_kg or not any(body.mass_kg for body in spec.bodies)
        of_table = weighed and person_of(subject, load_inertia_table(), mass_kg or None)
        spec = with_masses(spec, subject, of_table) if of_table else for_person(spec, subject)
    mass = np.array([body.mass_kg for body in spec.bodies], float)
    return mass, 1e-3 * np.array([body.mass_centre_mm for body in spec.bodies], float)


def make(setting: StageContext) -> CentreOfMass:
    """Return the stage for a run with a kinematics stage, whose pose it needs."""
    return CentreOfMass(setting.stage(Kinematics), *masses_of(setting.spec, setting.subject, setting.mass_kg))


STAGE = StageDeclaration(make=make, needs=("kinematics",), weighs=True)
