"""Muscles: lengths and moment arms about joint angles or coordinates, at the pose of the kinematics."""

from __future__ import annotations

import numpy as np

from rtsim.methods.muscles.muscle_arms import CoordinateArms, MuscleArms, arms_at
from rtsim.quantity import Quantity
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import MUSCLES, OWN_MARKERS, PERSON, StageDeclaration
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.stage import FINE, Stage, StageOutcome
from streams.receiving.ring import ReceivedFrame

N_NAMED = 8
"""Largest number of muscles without a length that a message names."""
ABOUT_ANGLES = "moment arms about the angles of joint_angles: "
ABOUT_COORDINATES = (
    "moment arms about the coordinates of the model, without unit if a coordinate is a length: "
)
SIGN = "-d(length)/d(angle), positive where tension increases the angle; NaN where undefined"


class MuscleLengths(Stage):
    """Lengths and moment arms of a model's muscles. A muscle whose path cannot be computed has NaN, and is
    counted and named in a message.
    """

    rehearses = True

    def __init__(self, kinematics: Kinematics) -> None:
        super().__init__()
        self.kinematics = kinematics
        estimator = kinematics.estimator
        self._of = {method: arms_at(*estimator.placed_by(method)) for method in estimator.methods}
        self.counters["failed_paths"] = 0
        self._arms = self._signs = self._deviations = np.zeros(0)
        self._covariance_version = -1

    @property
    def arms(self) -> MuscleArms | CoordinateArms:
        """The object that computes lengths and moment arms for the model of the kinematic method in use."""
        return self._of[self.kinematics.estimator.method]

    def warm(self) -> None:
        """Compute lengths and moment arms once by every method, to compile the kernels."""
        for arms in self._of.values():
            arms.measure()

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Compute lengths and moment arms at the newest pose."""
        self.n_frame += 1
        if self.kinematics.admitted and self.arms.measure():
            failed = [f"{name} ({why})" for name, why in self.arms.failures()]
            self.count(
                "failed_paths",
                f"No length and no moment arms in this pose: {', '.join(failed[:N_NAMED])}. They are NaN; "
                "check the paths of these muscles in the model, and the size of the subject.",
            )
        return FINE

    def report(self) -> None:
        """Publish the moment arms, with signs that refer to the published (clinical) angles, and standard
        deviations of the lengths whenever the covariance of the pose was computed anew.
        """
        np.multiply(self.arms.arms, self._signs, out=self._arms)
        found = self.kinematics.estimator.deviations
        if found is not None and found.covariance_version != self._covariance_version:
            self._covariance_version = found.covariance_version
            slopes = self.arms.gradient
            variance = ((slopes @ found.covariance) * slopes).sum(axis=1)
            self._deviations[:] = np.sqrt(np.maximum(variance, 0.0))
            self._deviations[np.isnan(self.arms.lengths)] = np.nan

    def quantities(self) -> list[Quantity]:
        """Return the lengths, and moment arms with a column for each joint angle, as quantities."""
        self._arms = np.zeros(self.arms.arms.shape)
        self._deviations, self._covariance_version = np.full(len(self.arms.names), np.nan), -1
        known = self.kinematics.estimator.deviations is not None
        model = self.kinematics.estimator.model
        anatomical = bool(model.names.joint_angles)
        angles = model.names.joint_angles if anatomical else model.names.angles
        signs = model.joint_signs.ravel() if anatomical else np.ones(len(angles))
        self._signs = np.tile(signs, (len(self.arms.names), 1))  # a row is multiplied slower
        return [
            Quantity(
                "muscle_lengths", self.arms.lengths, "m", self.arms.names,
                meaning="length of muscle and tendon along the path; NaN = the path fails",
                deviation=self._deviations if known else None,
            ),
            Quantity(
                "moment_arms", self._arms, "m", self.arms.names, angles,
                meaning=(ABOUT_ANGLES if anatomical else ABOUT_COORDINATES) + SIGN,
            ),
        ]  # fmt: skip


def make(setting: StageContext) -> MuscleLengths:
    """Return the stage for the muscles of the run's model."""
    return MuscleLengths(setting.stage(Kinematics))


STAGE = StageDeclaration(
    make=make, needs=("kinematics",), inputs=(MUSCLES,), usual=(), order=30,
    kernels={"muscles": (PERSON,), "moment-arms": (OWN_MARKERS,)},
)  # fmt: skip
