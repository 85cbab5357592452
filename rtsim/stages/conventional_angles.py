"""Angles of the conventional gait model (Plug-in Gait), in addition to those of the ISB convention.

They are computed from the measured markers only, frame by frame, with parameters from a static trial
(rtsim/subjects/conventional). Clinics compare them with their norms. Their names begin with cgm; they do not
depend on the fitted model.
"""

from __future__ import annotations

import math

import numpy as np

from kernels.compiler.jit import bind
from kernels.conventional.leg import ANGLES, AS_MARKED, CENTRES, FLAT, WALKING, Legs, conventional_legs
from rtsim.config.models.both_sides_schema import SUFFIXES
from rtsim.methods.walking_axis import WalkingAxis
from rtsim.quantity import AXES, GROUND, Quantity
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import PERSON, StageDeclaration
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.stage import FINE, Stage, StageOutcome
from rtsim.subjects.conventional.axes import SIGNS
from rtsim.subjects.conventional.chord import TURNS
from rtsim.subjects.conventional.record import ROLES, ConventionalLeg
from rtsim.units import DEGREES
from streams.addresses import is_stream
from streams.messages import Curves, Session
from streams.receiving.ring import ReceivedFrame

FEET = {"": WALKING, "as marked": AS_MARKED, "flat": FLAT}
"""Ways to compute the axes of the foot (kernels/conventional/leg), by `ConventionalLeg.stands`."""
JOINTS = ("pelvis", "hip", "knee", "ankle", "foot")
"""Joints in the order of ANGLES, which contains three angles for each of them."""
MEANING = {
    "pelvis": "pelvis relative to the direction of walking: anterior tilt, obliquity (this side up), "
    "rotation (this side ahead)",
    "hip": "thigh relative to the pelvis",
    "knee": "shank relative to the thigh",
    "ankle": "foot relative to the shank, with the foot offsets measured in standing",
    "foot": "foot relative to the direction of walking: pitch (-90 degrees = horizontal), inversion, "
    "inward rotation",
}
LEAST = 10.0 / DEGREES


class ConventionalAngles(Stage):
    """Angles and joint centres of the conventional gait model; NaN where a marker for them is not seen."""

    rehearses = True

    def __init__(
        self,
        kinematics: Kinematics,
        records: dict[str, ConventionalLeg],
        *,
        itself: bool,
        walk: np.ndarray | None = None,
    ) -> None:
        """Prepare the angles of the legs that have parameters of the conventional gait model.

        records : parameters of each leg by side
        itself : whether the frames are those of the recording for which the parameters were prepared, so that
            `ConventionalLeg.stands` is true of them (see `legs_of`); False for a stream
        walk : (3,) - direction of walking in a recording that is oblique to the laboratory; else None
        """
        super().__init__()
        self.kinematics = kinematics
        self.sides = tuple(records)
        n_marker = len(kinematics.reference_length.names)
        self._with_none = np.full(
            (n_marker + 1, 3), math.nan
        )  # the last row is that of markers that are not on
        self._markers = self._with_none[:n_marker]
        self._legs = legs_of(records, kinematics.reference_length.names, itself=itself)
        self._axis = WalkingAxis(walk)
        n = len(records)
        self._angles, self._centres = np.full((n, len(ANGLES)), math.nan), np.full((n, 3, 3), math.nan)
        self._shown = {joint: np.full(3 * n, math.nan) for joint in JOINTS}
        self._points = self._centres.reshape(3 * n, 3)
        self._run = bind(conventional_legs, self._arguments())

    def _arguments(self) -> tuple[object, ...]:
        return (self._legs, self._with_none, self._axis.axes, self._angles, self._centres)

    def warm(self) -> None:
        """Call the kernels once, with all angles NaN."""
        self._run(*self._arguments())

    def begin(self, session: Session, anew: bool) -> None:
        """In a new session of the input stream (anew), forget the direction of walking found so far."""
        if anew:
            self._axis.begin()

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Compute the angles of the frame from its measured markers, with exchanged labels corrected."""
        self.n_frame += 1
        self._markers[:] = self.kinematics.measured if self.kinematics.admitted else math.nan
        if self.kinematics.reference_length.mirrors:
            self._markers[:, 2] *= -1.0
        front, back = (
            self._markers[rows].sum(axis=0) for rows in (self._legs.role[0, :2], self._legs.role[0, 2:4])
        )
        if told := self._axis.look(frame.time, front - back, 0.5 * front):
            self.sentences.append(told)
        self._run(*self._arguments())
        return FINE

    def report(self) -> None:
        """Publish the angles, ordered by joint."""
        for k, joint in enumerate(JOINTS):
            self._shown[joint].reshape(-1, 3)[:] = self._angles[:, 3 * k : 3 * k + 3]

    def quantities(self) -> list[Quantity]:
        """Return the angles of the legs that have parameters of the conventional gait model; with both legs,
        names end with the side."""
        both = self.kinematics.subject is not None and self.kinematics.subject.side == "both"
        ends = [SUFFIXES[side] if both else "" for side in self.sides]
        known = self.kinematics.by_joint.names
        found = []
        for k, joint in enumerate(JOINTS):
            labels = tuple(f"cgm_{name}{end}" for end in ends for name in ANGLES[3 * k : 3 * k + 3])
            of = tuple(
                (f"{joint}{end}",) if f"{joint}{end}" in known else () for end in ends for _ in range(3)
            )
            found.append(
                Quantity(
                    f"cgm_{joint}_angles", self._shown[joint], "rad", labels,
                    curves=Curves(f"CGM {joint}", "angle", 2, LEAST),
                    meaning=f"conventional gait model, Y-X-Z, as Plug-in Gait: {MEANING[joint]}", joints=of,
                )
            )  # fmt: skip
        names = tuple(f"{name}{end}" for end in ends for name in CENTRES)
        found.append(
            Quantity(
                name="cgm_joint_centres", array=self._points, unit="m", labels=names, parts=AXES,
                frame=GROUND,
                meaning="joint centres of the conventional gait model, by Davis's regression and the "
                    "chord function",
            )
        )  # fmt: skip
        return found


def legs_of(records: dict[str, ConventionalLeg], names: tuple[str, ...], *, itself: bool) -> Legs:
    """Return the parameters of the legs for the conventional gait model in the form that its kernel uses.

    records : side of a leg -> its parameters
    names : names of the rows in the array of markers; one more row after them is NaN, for missing markers
    itself : whether the frames are those of the recording for which the parameters were prepared; False for a
        stream. If it is True, the entry `stands` of the parameters states how the axes of the foot are found.
        "flat" and "as marked" are for a static trial: from the heel and toe markers, with the sole assumed
        level, or as inclined as these markers are. "" is for walking: from ankle and toe, with the foot
        offsets of the static trial. If `itself` is False, the axes are always found as for walking
    """
    role = np.zeros((len(records), len(ROLES)), np.int64)
    for k, (side, leg) in enumerate(records.items()):
        rows = {own: names.index(leg.markers[own]) if own in leg.markers else len(names) for own in ROLES}
        order = ROLES if side == "right" else ("asis_opposite", "asis", *ROLES[2:])
        role[k] = [rows[own] for own in order]
    sides, legs = list(records), list(records.values())
    turn = np.array([TURNS[side] for side in sides])
    outwards = np.array([SIGNS[side] for side in sides])

    def known(angle: float | None) -> float:
        return math.nan if angle is None else math.radians(angle)

    return Legs(
        role=role,
        outwards=outwards,
        hip=1e-3 * np.array([leg.hip_mm for leg in legs]),
        radius=1e-3 * np.array([(leg.knee_radius_mm, leg.ankle_radius_mm) for leg in legs]),
        rotation=np.radians([(leg.thigh_rotation_deg, leg.shank_rotation_deg) for leg in legs])
        * turn[:, None],
        torsion=np.radians([leg.tibial_torsion_deg for leg in legs]) * outwards,
        plant_flexion=np.array([known(leg.plant_flexion_deg) for leg in legs]),
        foot_rotation=np.array([known(leg.foot_rotation_deg) for leg in legs]) * outwards,
        sole_delta=1e-3 * np.array([leg.sole_delta_mm for leg in legs]),
        foot=np.array([FEET.get(leg.stands, WALKING) if itself else WALKING for leg in legs]),
    )


def make(setting: StageContext) -> ConventionalAngles | None:
    """Return the stage for a person with parameters for legs of the conventional gait model; None without
    such legs.
    """
    subject = setting.subject
    assert subject is not None
    names = set(subject.marker_names)
    records: dict[str, ConventionalLeg] = {
        side: leg
        for side, leg in sorted(subject.conventional.items(), reverse=True)
        if subject.side in (side, "both") and set(leg.markers.values()) <= names
    }
    if not records:
        return None
    itself = not is_stream(setting.run.source)
    return ConventionalAngles(setting.stage(Kinematics), records, itself=itself, walk=setting.oblique_walk)


STAGE = StageDeclaration(make=make, needs=("kinematics",), inputs=(PERSON,), usual=(), order=20)
"""Its kernels are no group of every run, as few persons have a record of the conventional gait model."""
