"""The stage `sagittal`: position and angle of a person's pelvis, and angles of the thighs, in the vertical
plane of the direction of walking.

They are computed from the filtered motion. A simulation of a leg in that plane can take its pelvis and thighs
from them: `rtsim hil leg_swing --motion tcp://HOST:PORT` (docs/limbs.md).
"""

from __future__ import annotations

import math

import numpy as np

from kernels.joints.tree import new_pose, pose
from rtsim.config.models.both_sides_schema import SUFFIXES
from rtsim.errors import ConfigError
from rtsim.methods.sagittal import UP, ForwardDistance, faced, inclined, moved
from rtsim.models.model import Model
from rtsim.models.packing.joints import rotations, translations
from rtsim.quantity import Quantity
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import StageDeclaration
from rtsim.stages.markers.missing_root import angles_at_root
from rtsim.stages.rates import FilteredMotion
from rtsim.stages.stage import FINE, Stage, StageOutcome
from streams.messages import Session
from streams.receiving.ring import ReceivedFrame

PELVIS, THIGH = "pelvis", "thigh"
TRUNK = ("pelvis_x", "pelvis_y", "pelvis_tilt")


class SagittalMotion(Stage):
    """Position and angle of the pelvis and angles of the thighs, with their rates, in the vertical plane of
    the pelvis's forward direction; NaN while the filter settles, and where no marker shows the pelvis.
    """

    def __init__(self, motion: FilteredMotion) -> None:
        super().__init__()
        self.motion = motion
        model = motion.kinematics.estimator.model
        self._thighs = thighs_of(model)
        names = [model.names.bodies[b] for b in self._thighs]
        self.labels = (*TRUNK, *(f"hip_flexion{name[len(THIGH) :]}" for name in names))
        tree = model.tree
        self._pose = new_pose(len(tree.parent), model.n_v, len(tree.chains.dof))
        self._values = np.full((3, len(self.labels)), math.nan)
        self._at_pelvis, self._shown = angles_at_root(model), np.array([0, *self._thighs])
        self._progress = ForwardDistance()

    def warm(self) -> None:
        """Compute the coordinates once, to compile the kernels."""
        model = self.motion.kinematics.estimator.model
        pose(model.tree, model.q_neutral.copy(), self._pose)

    def begin(self, session: Session, anew: bool) -> None:
        """In a new session of the input stream (anew), forget the direction of walking found so far."""
        if anew:
            self._progress = ForwardDistance()

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Compute positions, speeds and accelerations of pelvis and thighs in the sagittal plane, at the time
        of the filtered motion."""
        self.n_frame += 1
        self._values[:] = math.nan
        unknown = self.motion.kinematics.unknown[self._at_pelvis]
        unsettled = self.motion.unsettled[self._shown]
        if self.motion.settled and not (unknown.any() or unsettled.any()):
            self._place(frame.time)
        return FINE

    def quantities(self) -> list[Quantity]:
        """Return the coordinates, speeds and accelerations as quantities. Their labels are the names of the
        coordinates in the planar leg models, which a simulation can prescribe by them."""
        plane = "in the vertical plane that the pelvis faces; filtered"
        return [
            Quantity("sagittal_coordinates", self._values[0], "rad, m", self.labels,
                     meaning="pelvis position forwards and up, backward tilt of the pelvis, and hip "
                         f"angles {plane}"),
            Quantity("sagittal_speeds", self._values[1], "rad/s, m/s", self.labels,
                     meaning="time derivatives of sagittal_coordinates, at the same instant"),
            Quantity("sagittal_accelerations", self._values[2], "rad/s^2, m/s^2", self.labels,
                     meaning="time derivatives of sagittal_speeds, at the same instant"),
        ]  # fmt: skip

    def _place(self, time: float) -> None:
        """Write the coordinates of a planar limb (position of the middle of the hips, tilt of the pelvis,
        flexion of the thighs) with their rates, from the newest filtered motion at a time [s].
        """
        model, rates = self.motion.kinematics.estimator.model, self.motion.rates
        pose(model.tree, rates.q, self._pose)
        position, rotation = self._pose.position, self._pose.rotation
        at = {b: v for b, _, v in rotations(model.tree)}
        _, _, v = next(row for row in translations(model.tree) if row[0] == 0)
        forwards = faced(rotation[0])
        turn, spin = (rotation[0] @ row[at[0] : at[0] + 3] for row in (rates.v, rates.v_dot))
        middle = position[self._thighs].mean(axis=0) - position[0]
        hips = moved(position[0], rates.v[v : v + 3], rates.v_dot[v : v + 3], middle, turn, spin)
        out = self._values
        out[1:, 0] = hips[1:] @ forwards
        out[0, 0] = self._progress.add(time, float(out[1, 0]))
        out[:, 1] = hips @ UP
        out[:, 2] = inclined(rotation[0, :, 1], turn, spin, forwards)
        for k, b in enumerate(self._thighs):
            own = rotation[b] @ rates.v[at[b] : at[b] + 3]
            of_thigh = turn + own
            gained = spin + np.cross(turn, own) + rotation[b] @ rates.v_dot[at[b] : at[b] + 3]
            out[:, len(TRUNK) + k] = inclined(rotation[b, :, 1], of_thigh, gained, forwards) - out[:, 2]


def thighs_of(model: Model) -> list[int]:
    """Return the thighs with ball joints at the pelvis; ConfigError where the model has none."""
    bodies, parents = model.names.bodies, model.tree.parent
    ball = {b for b, _, _ in rotations(model.tree)}
    names = (THIGH, *(THIGH + suffix for suffix in SUFFIXES.values()))
    found = [b for b, name in enumerate(bodies) if name in names and b in ball and parents[b] == 0]
    free = {b for b, _, _ in translations(model.tree)}
    if bodies[0] != PELVIS or 0 not in ball & free or not found:
        raise ConfigError(
            "the sagittal motion needs a pelvis, and thighs that are joined to it by ball joints",
            where=f"model {model.name}",
            allowed="the model lower_limb, or a model with a pelvis and thighs of the same names",
        )  # fmt: skip
    return found


def make(setting: StageContext) -> SagittalMotion:
    """Return the stage for a tracked person. The stage `rates`, which filters the motion and computes its
    speeds and accelerations, must come before it; LookupError otherwise.
    """
    return SagittalMotion(setting.stage(FilteredMotion))


STAGE = StageDeclaration(make=make, needs=("kinematics", "rates"))
