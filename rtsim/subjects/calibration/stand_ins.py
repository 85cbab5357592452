"""Replacement of landmarks that a marker set lacks, and notes on the replacements.

Positions are those of a right leg, or of a mirrored left one, in the frames of its calibration. Joint
centres lie half a joint's width medially of the lateral markers (`conventional.chord`); medial landmarks lie
the same distance beyond the centre.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.lab_schema import LabSide
from rtsim.errors import ConfigError
from rtsim.files.markers.landmarks import middle_of
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration.frames_used import MOVES, way_of
from rtsim.subjects.calibration.landmarks import (
    DEVICE,
    METATARSALS,
    Positions,
    back_of,
    has_device,
    role_positions,
)
from rtsim.subjects.calibration.natural import unit
from rtsim.subjects.calibration.plausible import notes_on_leg_length, notes_on_width
from rtsim.subjects.conventional.alignment import check_device, device_origin
from rtsim.subjects.conventional.chord import chord_centre
from rtsim.subjects.conventional.measures import (
    USUAL_MARKER_DIAMETER,
    ConventionalMeasures,
    check_both_widths,
    stored_measures,
    usable_rotation,
)
from rtsim.subjects.feet.foot_without_toe import WITHOUT_TOE, toe_by_heel
from rtsim.subjects.hip_centre import hip_centres
from rtsim.subjects.knee_centre import centre_offset, width_name, width_of
from rtsim.units import DEGREES

Array = NDArray[np.float64]

FOREFOOT_WIDTH = 0.48
"""Distance between the heads of the first and the fifth metatarsal, divided by the distance from the heel to
their middle: mean of the legs from which `misplaced.USUAL` was computed."""
INSIDE = 0.08
"""A lateral marker of thigh or shank that lies medially by more than this times the segment's length is on
the wrong side."""
BEYOND = (-0.15, 1.15)
"""Range of a marker's position along its segment (0 = upper end, 1 = lower end): outside this range it is on
another segment."""
EXCHANGED = 0.3
"""Difference between the cosines of a device's axis and the pelvis' by both orders of its labels: the
right order, up to 50 degrees of rotation, differs by less, and exchanged labels by 0.67 without any
rotation [1]."""
DIAMETER = "MarkerDiameter"


class StandIns(NamedTuple):
    """Landmarks that replace missing markers of a leg.

    roles : landmark without a marker, such as "toe" -> (n, 3) [m]; notes : notes on the replacements
    """

    roles: dict[str, Array]
    notes: tuple[str, ...]


class LegMeasures(NamedTuple):
    """Measures of a leg that its landmarks need in addition to its markers.

    stored : measures of the person, as stored with a trial [m, rad]: RKneeWidth, RAnkleWidth,
        MarkerDiameter, ...
    label_side : right or left, as the markers are labelled
    regression : hip regression; person : measures that it needs, with left and right exchanged for a left
        leg
    conventional : whether the marker set is that of the conventional gait model, whose markers have a usual
        size if none is stored; markers of other sets count as points
    knee_width_mm : replaces the stored width, if given; standoff : from skin to marker centre [m]
    near : text for errors that names files with measures in the trial's folder; names : role -> marker name
    """

    stored: Mapping[str, float]
    label_side: str
    regression: str
    person: ConventionalMeasures
    conventional: bool = True
    knee_width_mm: float | None = None
    standoff: float = 0.0
    near: str = ""
    names: Mapping[str, str] = {}

    def rotation(self, field: str, where: str) -> float:
        """Return a rotation offset of the leg, or its tibial torsion [rad]; 0 if none is stored; ConfigError
        for an impossible one.
        """
        return usable_rotation(
            stored_measures(self.stored).of(self.label_side), field, self.label_side, where
        )

    @property
    def takes_usual_markers(self) -> bool:
        """Return whether the usual marker size is assumed because no size is stored."""
        return self.conventional and not self.stored.get(DIAMETER)

    def lacks(self, joint: str) -> bool:
        """Return whether the width of the knee or the ankle is unknown."""
        return not width_of(self.stored, self.label_side, joint, self.given(joint))

    def widths(self, joint: str) -> tuple[float, float]:
        """Return the width of the knee or the ankle, and that of the other leg [m]; 0 = not known."""
        other = "left" if self.label_side == "right" else "right"
        given = self.given(joint)
        return (
            width_of(self.stored, self.label_side, joint, given),
            0.0 if given else width_of(self.stored, other, joint, None),
        )

    def given(self, joint: str) -> float | None:
        """Return the width that the user gives in place of the stored one [mm]; None if there is none."""
        return self.knee_width_mm if joint == "knee" else None

    def radius(self, joint: str, where: str) -> float:
        """Return the distance from the lateral marker of knee or ankle to the joint centre [m]; ConfigError
        if it is not known.
        """
        known = {**self.stored, **({DIAMETER: USUAL_MARKER_DIAMETER} if self.takes_usual_markers else {})}
        return centre_offset(known, self.label_side, joint, self.given(joint), where)


def stand_ins(known: Positions, measures: LegMeasures, where: str) -> StandIns:
    """Return replacements for epicondyles, medial malleolus, fibula head and metatarsals without markers.

    known : landmark -> (n, 3) [m], of a right leg, or of a mirrored left one, with its pelvis, in the frames
        that show all anatomical markers. ConfigError where a width is needed and not known, and where the
        labels of a knee alignment device seem to be exchanged.
    """
    check_widths(known, measures, where)
    check_wands(known, measures, where)
    found, notes = stand_in_knee(known, measures, where)
    for joint, (_, medial_role) in MEDIAL.items():
        notes += notes_on_width(joint, *measures.widths(joint)) if medial_role not in known else []
    both = {**known, **found}
    notes += notes_on_leg_length(both, measures.person.right.leg_length)
    knee = 0.5 * (both["epicondyle_lateral"] + both["epicondyle_medial"])
    if "malleolus_medial" not in known:
        medial, told = medial_malleolus(known, knee, measures, where)
        both["malleolus_medial"] = found["malleolus_medial"] = medial
        notes.append(told)
    notes += [told for told in told_markers(measures) if found and told not in notes]
    across_ankle = both["malleolus_lateral"] - both["malleolus_medial"]
    lacks_head = "fibula_head" not in known
    if lacks_head and (torsion := measures.rotation("tibial_torsion", where)):
        ankle = 0.5 * (both["malleolus_lateral"] + both["malleolus_medial"])
        found["fibula_head"] = ankle + turned(across_ankle, unit(knee - ankle), -torsion)
        notes.append(
            "no fibula head marker: the frontal plane of the shank is that of the malleoli, rotated "
            f"back by the measured tibial torsion of {DEGREES * torsion:.1f} degrees"
        )
    if not known.keys() >= {*METATARSALS} and "toe" not in known:
        ankle = 0.5 * (both["malleolus_lateral"] + both["malleolus_medial"])
        toe = toe_by_heel(known, knee, ankle, measures.names.get("toe", "toe"), where)
        found |= metatarsals({**known, "toe": toe}, across_ankle)
        notes.append(WITHOUT_TOE)
    elif not known.keys() >= {*METATARSALS}:
        found |= metatarsals(known, across_ankle)
        notes.append(told_metatarsals(known))
    if found.keys() >= {*METATARSALS} and (way := way_of(known["asis"])) > MOVES:
        notes.append(
            f"check the calibration: the person moves by {way:.1f} m in the calibration trial, but "
            "the axes of the foot are defined for a standing person; give a static trial"
        )
    return StandIns(found, tuple(notes))


MEDIAL = {
    "knee": ("epicondyle_lateral", "epicondyle_medial"), "ankle": ("malleolus_lateral", "malleolus_medial"),
}  # fmt: skip
"""Roles between which a width is measured by markers."""


def check_widths(known: Positions, measures: LegMeasures, where: str) -> None:
    """Raise ConfigError with all widths that are needed and unknown and the places where they are usually
    stored, or with two widths that seem to be exchanged.
    """
    pairs = MEDIAL
    missing = [
        joint for joint, pair in pairs.items() if not known.keys() >= {*pair} and measures.lacks(joint)
    ]
    if not missing:
        used = [joint for joint, pair in pairs.items() if not known.keys() >= {*pair}]
        if len(used) == len(pairs):
            knee, ankle = (
                width_of(measures.stored, measures.label_side, joint, measures.given(joint))
                for joint in pairs
            )
            check_both_widths(knee, ankle, measures.label_side, where)
        return
    raise missing_widths(measures.label_side, missing, where, measures.near)


def missing_widths(side: str, joints: Sequence[str], where: str, near: str = "") -> ConfigError:
    """Return the error for widths that are required and unknown; near : hint at files that may contain
    them.
    """
    stored = [width_name(side, joint) for joint in joints]
    options = [f"{joint}_width_mm (--{joint}-width)" for joint in joints]
    return ConfigError(
        f"without medial markers the width of the {side} {' and '.join(joints)} is needed; no "
        f"{' and no '.join(stored)} is stored in the trial",
        where=where,
        remedy=f"measure the width and give {' and '.join(options)}, or give --measures with the .vsk of "
        f"Nexus, an .mp or a .toml file{near}; in C3D files the width is in PROCESSING; or use "
        "medial markers",
    )


def check_wands(known: Positions, measures: LegMeasures, where: str) -> None:
    """Raise ConfigError for a lateral marker of thigh or shank that is not on the outer side of the
    segment.
    """
    out = known["asis"] - known["asis_opposite"]
    wands: dict[str, tuple[str, Array, str]] = {}
    if "epicondyle_lateral" in known and "epicondyle_medial" not in known:
        wands["thigh"] = ("thigh_lateral", hip_of(known, measures), "epicondyle_lateral")
    if "malleolus_medial" not in known:
        knee = lateral_of_device(known) if has_device(known) else known["epicondyle_lateral"]
        wands["shank"] = ("shank_lateral", knee, "malleolus_lateral")
    for segment, (role, upper, lower) in wands.items():
        line = known[lower] - upper
        along, length = unit(line), np.linalg.norm(line, axis=-1)
        square = unit(out - np.sum(out * along, axis=-1, keepdims=True) * along)
        outside, down = (np.sum((known[role] - upper) * axis, axis=-1) / length for axis in (square, along))
        share = float(np.median(down))
        if float(np.median(outside)) < -INSIDE:
            inside = -1e3 * float(np.median(outside * length))
            fault = f"lies {inside:.0f} mm on the inner side of the {measures.label_side} {segment}"
        elif not BEYOND[0] <= share <= BEYOND[1]:
            fault = f"lies {'above' if share < 0.0 else 'below'} the {measures.label_side} {segment}"
        else:
            continue
        raise ConfigError(
            f"{measures.names.get(role, role)} {fault}, but the plane in which joint centres are "
            "computed goes through this marker",
            where=where,
            allowed=f"on the outside of the {segment}",
            remedy="correct exchanged labels, or move the marker to the correct position",
        )


def hip_of(known: Positions, measures: LegMeasures) -> Array:
    """Return the hip centre of the leg by the hip regression that `measures` names, (n, 3) [m]."""
    asis, back = (known["asis"], known["asis_opposite"]), back_of(known)
    hip, _ = hip_centres(*asis, back, measures.regression, measures.person, measures.standoff)
    return hip


def lateral_of_device(known: Positions) -> Array:
    """Return the lateral epicondyle from a knee alignment device, whose axis marker lies far outside, (n, 3)
    [m].
    """
    return device_origin(known[DEVICE[0]], known[DEVICE[1]], known[DEVICE[2]], "right")


def check_device_order(known: Positions, measures: LegMeasures, where: str) -> None:
    """Raise ConfigError for a knee alignment device whose axis would be mediolateral only with its labels in
    another order.
    """
    kax, one, two = (known[role] for role in DEVICE)
    across = unit(known["asis"] - known["asis_opposite"])
    as_is, exchanged = (
        float(np.median(np.sum(unit(kax - device_origin(kax, *pair, "right")) * across, axis=-1)))
        for pair in ((one, two), (two, one))
    )
    if exchanged <= as_is + EXCHANGED:
        return
    names = [measures.names.get(role, role) for role in DEVICE[1:]]
    raise ConfigError(
        f"the axis of the {measures.label_side} knee alignment device does not lie across the body "
        f"with the present labels, but does if {names[0]} and {names[1]} are exchanged",
        where=where,
        remedy="exchange these labels in the file",
    )


def stand_in_knee(known: Positions, measures: LegMeasures, where: str) -> tuple[dict[str, Array], list[str]]:
    """Return the epicondyles without markers, from a knee alignment device or by the chord construction, and
    notes for the user.
    """
    if "epicondyle_medial" in known and "epicondyle_lateral" in known:
        return {}, []
    hip, offset = hip_of(known, measures), measures.radius("knee", where)
    if has_device(known):
        device = known[DEVICE[0]], known[DEVICE[1]], known[DEVICE[2]]
        odd = check_device(*device, "right", where)
        lateral = lateral_of_device(known)
        check_device_order(known, measures, where)
        medial = 2.0 * chord_centre(hip, lateral, device[0], offset) - lateral
        told = (
            "no lateral epicondyle marker: the epicondyle and the axis of the knee are placed by the "
            "knee alignment device"
        )
        roles = {"epicondyle_lateral": lateral, "epicondyle_medial": medial}
        return roles, [f"{told}; {odd}" if odd else told]
    offset, turn, notes = chord_of_knee(measures, where)
    lateral = known["epicondyle_lateral"]
    medial = 2.0 * chord_centre(hip, lateral, known["thigh_lateral"], offset, turn) - lateral
    return {"epicondyle_medial": medial}, notes


def chord_of_knee(measures: LegMeasures, where: str) -> tuple[float, float, list[str]]:
    """Return the distance of the knee centre from the lateral marker [m] and the stored rotation of the thigh
    [rad] for a leg without a medial epicondyle, and notes; ConfigError where one is unknown or impossible.
    """
    offset, turn = measures.radius("knee", where), measures.rotation("thigh_rotation", where)
    told = f"no medial epicondyle: knee centre put {1e3 * offset:.1f} mm from the lateral marker"
    return offset, turn, [told + told_turn(turn, "thigh"), *told_markers(measures)]


def told_markers(measures: LegMeasures) -> list[str]:
    """Return a note if the usual size of markers is assumed."""
    said = f"markers of {1e3 * USUAL_MARKER_DIAMETER:.0f} mm were assumed: no {DIAMETER} is stored"
    return [said] if measures.takes_usual_markers else []


def medial_malleolus(known: Positions, knee: Array, measures: LegMeasures, where: str) -> tuple[Array, str]:
    """Return the medial malleolus (n, 3) [m] by the chord construction, and a note. knee : (n, 3) - knee
    centre [m]
    """
    lateral, turn = known["malleolus_lateral"], measures.rotation("shank_rotation", where)
    offset = measures.radius("ankle", where)
    medial: Array = 2.0 * chord_centre(knee, lateral, known["shank_lateral"], offset, turn) - lateral
    told = f"no medial malleolus: ankle centre put {1e3 * offset:.1f} mm from the lateral marker"
    return medial, f"{told}, in the direction given by the marker on the outside of the shank" + told_turn(
        turn, "shank"
    )


def told_turn(turn: float, segment: str) -> str:
    """Return a note on a stored rotation offset [rad]; "" if it is 0."""
    return f", with the stored {segment} rotation of {DEGREES * turn:.1f} degrees" if turn else ""


def turned(v: Array, axis: Array, angle: float) -> Array:
    """Return the components of vectors perpendicular to unit axes (n, 3), rotated about these axes by an
    angle [rad], (n, 3).
    """
    flat = v - np.sum(v * axis, axis=-1, keepdims=True) * axis
    rotated: Array = np.cos(angle) * flat + np.sin(angle) * np.cross(axis, flat)
    return rotated


def metatarsals(known: Positions, across_ankle: Array) -> dict[str, Array]:
    """Return the heads of the first and the fifth metatarsal, (n, 3) each [m], placed around the toe marker.

    across_ankle : (n, 3) - vector from the medial to the lateral malleolus [m]; its component perpendicular
        to the foot is the vector from the first to the fifth metatarsal
    """
    along = known["toe"] - known["calcaneus"]
    length = np.linalg.norm(along, axis=-1, keepdims=True)
    forward = along / length
    to_right = unit(across_ankle - np.sum(across_ankle * forward, axis=-1, keepdims=True) * forward)
    half = 0.5 * FOREFOOT_WIDTH * length * to_right
    return dict(zip(METATARSALS, (known["toe"] - half, known["toe"] + half), strict=True))


def told_metatarsals(known: Positions) -> str:
    """Return the note on a toe marker in place of the metatarsals; known : landmark -> (n, 3) [m]."""
    words = zip(METATARSALS, ("first", "fifth"), strict=True)
    lacking = [word for role, word in words if role not in known]
    both = "their middle" if len(lacking) > 1 else "the midpoint of the first and the fifth"
    return (
        f"no marker on the {' and the '.join(lacking)} metatarsal: the toe marker replaces {both}, "
        "and the line across the metatarsals is assumed to be parallel to the ankle axis in the standing "
        "pose, so that inversion is 0 in this pose, whatever its true value"
    )


def check_movement(trial: MarkerTrial, table: LabSide, where: str, near: str) -> None:
    """Raise ConfigError for a movement trial that lacks landmarks of its map although a static trial lies in
    its folder, because replacements are meant for recordings whose static trial lacks the landmarks, too.

    near : a hint at static trials, "" = there is none
    """
    known = role_positions(trial, table)
    others = {"shank_lateral": ("malleolus_medial",), "toe": METATARSALS}
    lacking = [f"{r} ({table.named[r]})" for spare in table.spare for r in others[spare] if r not in known]
    if near and lacking and way_of(middle_of(trial.positions)) > MOVES:
        raise ConfigError(
            f"no frame shows {', '.join(lacking)}", where=where,
            remedy="give a static trial in which these markers are worn, or a static trial of this "
                f"session without these markers{near}",
        )  # fmt: skip
