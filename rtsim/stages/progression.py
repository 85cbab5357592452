"""Progression: orientation of pelvis and feet relative to the direction of walking, at the pose of the
kinematics.

These angles use the ISB axes of the fitted model; those of the conventional gait model are computed by
another stage. The direction is an axis of the laboratory, or that of an oblique walk
(rtsim/methods/walking_axis.py).
"""

from __future__ import annotations

import math

import numpy as np

from rtsim.methods.walking_axis import WalkingAxis
from rtsim.models.named_feet import feet_of
from rtsim.quantity import Quantity
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import PERSON, StageDeclaration
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.markers.missing_root import angles_at_root
from rtsim.stages.poses.kinematic_results import mirror
from rtsim.stages.stage import FINE, Stage, StageOutcome
from rtsim.units import DEGREES
from streams.messages import Curves, Session
from streams.receiving.ring import ReceivedFrame

PELVIS = "pelvis"
TILTS = ("pelvis_anterior_tilt", "pelvis_obliquity", "pelvis_rotation")
LEAST = 10.0 / DEGREES


class Progression(Stage):
    """Tilt, obliquity and rotation of the pelvis, and the foot progression angles; NaN without a pose."""

    def __init__(
        self, kinematics: Kinematics, feet: list[tuple[int, str]], walk: np.ndarray | None = None
    ) -> None:
        """Use the pose of a kinematics stage.

        feet : index of the body and side of each foot
        walk : (3,) direction of walking in a recording in which it is oblique to the laboratory's axes; else
            None
        """
        super().__init__()
        self.kinematics = kinematics
        self._names = kinematics.estimator.model.names.bodies
        self._bodies = [0, *(body for body, _ in feet)]
        self._inwards = np.array([1.0 if side == "right" else -1.0 for _, side in feet])  # to the left
        self._axis = WalkingAxis(walk)
        self._at_root = np.zeros(0, np.int64)  # angles of the joints there
        self._pelvis, self._feet = np.full(3, math.nan), np.full(len(feet), math.nan)

    def begin(self, session: Session, anew: bool) -> None:
        """In a new session of the input stream (anew), forget the direction of walking found so far."""
        self._at_root = angles_at_root(self.kinematics.estimator.model)
        if anew:
            self._axis.begin()

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Compute the angles in the newest pose."""
        self.n_frame += 1
        self._pelvis[:] = self._feet[:] = math.nan
        if self.kinematics.solved and not self.kinematics.unknown[self._at_root].any():
            position, rotation = (x[self._bodies] for x in self.kinematics.estimator.pose)
            if self.kinematics.reference_length.mirrors:
                mirror(rotation)
                mirror(position)
            if told := self._axis.look(frame.time, rotation[0, :, 0], position[0]):
                self.sentences.append(told)
            self._tell(rotation)
        return FINE

    def quantities(self) -> list[Quantity]:
        """Return the angles of the pelvis, and of each foot that the model has, as quantities."""
        feet = tuple(self._names[body].replace("foot", "foot_progression", 1) for body in self._bodies[1:])
        return [
            Quantity(
                "pelvis_angles", self._pelvis, "rad", TILTS, curves=Curves("Pelvis", "angle", 0, LEAST),
                meaning="angles of the pelvis relative to the direction of walking, mobile Z-X-Y; "
                    "positive: tilted forwards, right side up, right side ahead",
            ),
            Quantity(
                "foot_progression", self._feet, "rad", feet,
                curves=Curves("Foot progression", "angle", 0, LEAST),
                meaning="angle between the long axis of the foot on the floor and the direction of "
                    "walking; positive inwards",
            ),
        ]  # fmt: skip

    def _tell(self, rotation: np.ndarray) -> None:
        """Write the angles of pelvis and feet; rotation : (n, 3, 3) - their axes in ground"""
        forwards, left, up = self._axis.axes.T
        R = np.stack([forwards, up, -left]) @ rotation[0]
        self._pelvis[0] = math.atan2(R[0, 1], R[1, 1])
        self._pelvis[1] = -math.asin(min(1.0, max(-1.0, R[2, 1])))
        self._pelvis[2] = math.atan2(-R[2, 0], R[2, 2])
        along = rotation[1:, :, 0]
        self._feet[:] = self._inwards * np.arctan2(along @ left, along @ forwards)


def make(setting: StageContext) -> Progression | None:
    """Return the stage for a person with a pelvis; None without a pelvis."""
    kinematics, subject = setting.stage(Kinematics), setting.subject
    assert subject is not None
    names = kinematics.estimator.model.names.bodies
    if names[0] != PELVIS:
        return None
    return Progression(kinematics, feet_of(names, subject.side), setting.oblique_walk)


STAGE = StageDeclaration(make=make, needs=("kinematics",), inputs=(PERSON,), usual=(), order=10)
