"""Calibration of a subject for the conventional gait model, from a static trial and the measures stored with
it.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.both_sides_schema import SUFFIXES
from rtsim.config.runs.lab_schema import LabMap, LabSide
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial, name_some
from rtsim.subjects.calibration.landmarks import back_of, role_positions
from rtsim.subjects.conventional.axes import pelvis_frame
from rtsim.subjects.conventional.device_marker import with_epicondyle
from rtsim.subjects.conventional.leg import LegMarkers
from rtsim.subjects.conventional.measures import (
    USUAL_MARKER_DIAMETER,
    ConventionalMeasures,
    check_measures,
    needed,
)  # fmt: skip
from rtsim.subjects.conventional.record import OPTIONAL, ConventionalLeg
from rtsim.subjects.conventional.static_offsets import Source, StandingFoot, aligned, person_of, standing_foot
from rtsim.subjects.hip_centre import hip_centres, notes_on_lengths, notes_on_pelvis
from rtsim.subjects.markers.labs import SIDES, side_of
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.markers.spellings import as_spelled, with_names_of
from rtsim.subjects.subject import Subject, kind_of_segment

Array = NDArray[np.float64]

OF_LAB = {
    "asis": "asis", "asis_opposite": "asis_opposite", "thigh": "thigh_lateral", "knee": "epicondyle_lateral",
    "shank": "shank_lateral", "ankle": "malleolus_lateral", "toe": "toe", "heel": "calcaneus",
}  # fmt: skip
"""Role of a marker in the record of a leg -> its role in a marker map."""
WALKING = ("thigh", "knee", "shank", "ankle", "toe")
"""Roles of the markers below the pelvis that a leg needs in a walking trial."""
TAKEN = (
    f"markers of {1e3 * USUAL_MARKER_DIAMETER:.0f} mm diameter were assumed, because no "
    "MarkerDiameter is stored"
)
WALKING_ASIS = (
    "conventional gait model: no InterAsisDistance is stored: the hip centres are computed from the "
    "{:.1f} mm between the ASIS markers in this movement, while Plug-in Gait takes the distance of its "
    "static trial; each mm more moves both hip centres 0.5 mm outwards: give --static, or --measures "
    "FILE.toml with inter_asis_mm"
)
DAVIS = "davis1991"
"""The regression of the hip centre in the conventional gait model."""
WIDTHS = ("knee_width", "ankle_width")
WITHOUT_TOE = (
    "no angles of the {} ankle and foot by the conventional gait model, because {} is not among the "
    "tracked markers"
)
NONE_OF = "no angles of the conventional gait model of the"


def with_conventional_legs(
    subject: Subject, lab: LabMap, walk: MarkerTrial, static: MarkerTrial | None
) -> Subject:
    """Return a subject with the records of its legs for the conventional gait model, and notes on them.

    lab : the marker map of the subject; walk, static : trials from which the subject was calibrated
    """
    legs, said = conventional_legs(subject, lab, walk, static)
    return msgspec.structs.replace(subject, conventional=legs, notes=(*subject.notes, *said))


def conventional_legs(
    subject: Subject, lab: LabMap, walk: MarkerTrial, static: MarkerTrial | None
) -> tuple[dict[str, ConventionalLeg], list[str]]:
    """Return the records of a subject's legs for the conventional gait model by side, and sentences for the
    user.

    lab : the marker map of the subject; walk, static : trials from which the subject was calibrated
    """
    spelled = as_spelled(lab, walk.names, *([static.names] if static else []))
    still = with_names_of(static, lab, spelled) if static else walk
    legs: dict[str, ConventionalLeg] = {}
    notes: list[str] = []
    for label_side in SIDES:
        table: LabSide = side_of(spelled, label_side)
        if side := side_of_labels(subject, table):
            source = Source(walk, with_epicondyle(still, table, side), table, side, label_side)
            leg, said = conventional_leg(source, subject.marker_names)
            notes += said
            legs |= {} if leg is None else {side: leg}
    return legs, [note for note in dict.fromkeys(notes) if not any(note in told for told in subject.notes)]


def side_of_labels(subject: Subject, table: LabSide) -> str:
    """Return the side of the body (right or left) on which the markers of one leg in a marker map are: not
    the side that the labels state if they are exchanged; "" if the subject does not have that leg.
    """
    wanted = (*table.tracking.shank, *table.tracking.foot)
    for name, segment in subject.segments.items():
        if kind_of_segment(name) == "shank" and find_markers(wanted, tuple(segment.markers_mm)):
            suffixed = [side for side, suffix in SUFFIXES.items() if name.endswith(suffix)]
            return suffixed[0] if suffixed else subject.side
    return ""


def conventional_leg(source: Source, tracked: tuple[str, ...]) -> tuple[ConventionalLeg | None, list[str]]:
    """Return the record of a leg for the conventional gait model, and notes for the user. There is no record
    (None) if a marker that the model needs is not tracked, or if a measure is missing.

    tracked : names of the markers that a run tracks
    """
    if (names := labels_of(source.table, tracked)) is None:
        lacking = not_followed(source.table, tracked)
        return None, [f"{NONE_OF} {source.side} leg: {lacking}"] if lacking else []
    try:
        return _record(source, names)
    except ConfigError as fault:
        where = None if fault.where == source.where else fault.where  # notes of a calibration name its file
        why = ConfigError(fault.what, where=where, allowed=fault.allowed, remedy=fault.remedy)
        return None, [f"{NONE_OF} {source.side} leg: {why}"]


def labels_of(table: LabSide, tracked: tuple[str, ...]) -> dict[str, str] | None:
    """Return for each marker that a leg of the conventional gait model needs, such as "thigh" or "toe", the
    name of the tracked marker; None if one that a walking trial needs is missing.
    """
    roles = {role: table.named.get(own, "") for role, own in OF_LAB.items()}
    if table.psis and table.psis_opposite and find_markers([table.psis], tracked):
        roles |= {"psis": table.psis, "psis_opposite": table.psis_opposite}
    else:
        roles |= {"psis": table.sacrum, "psis_opposite": table.sacrum}
    found = find_markers([name for name in roles.values() if name], tracked)
    names = {role: tracked[found[name]] for role, name in roles.items() if name in found}
    return names if set(roles) - set(names) <= {*OPTIONAL} else None


def not_followed(table: LabSide, tracked: tuple[str, ...]) -> str:
    """Return which markers of the conventional gait model are not tracked, as text for the note that its
    angles are missing; "" if the map is of another marker set, for which nobody expects these angles.
    """
    if any(role not in table.named for role in (OF_LAB[role] for role in WALKING)):
        return ""
    names = [table.named[own] for role, own in OF_LAB.items() if role not in OPTIONAL]
    lacking = [name for name in names if not find_markers([name], tracked)]
    if not lacking:
        return "both PSIS, or a sacrum, are not among the tracked markers"
    return f"{name_some(lacking)} {'are' if len(lacking) > 1 else 'is'} not among the tracked markers"


def _record(source: Source, names: dict[str, str]) -> tuple[ConventionalLeg, list[str]]:
    """Build the record of a leg for the conventional gait model, and notes for the user; ConfigError if a
    measure is missing or impossible.

    names : role, such as "thigh" or "toe" -> name of the marker that a run tracks
    """
    side, where = source.side, source.where
    measures = person_of(source)
    check_measures(measures, where, side)
    needed(measures, side, "leg_length", where)
    x = role_positions(source.static, source.table)
    hip, local = _hip(x, measures, side)
    found = aligned(source, x, hip, measures)
    check_measures(found.measures, where, side)
    foot = StandingFoot(None, "", [WITHOUT_TOE.format(side, source.table.toe)])
    if "toe" in names:
        thigh, knee, shank, ankle, toe = (found.x[OF_LAB[role]] for role in WALKING)
        markers = LegMarkers(
            thigh=thigh, knee=knee, shank=shank, ankle=ankle, toe=toe, heel=found.x.get("calcaneus")
        )
        foot = standing_foot(source, hip, markers, found.measures)
    own, radius = found.measures.of(side), measures.marker_radius
    knee_width, ankle_width = (needed(found.measures, side, name, where) for name in WIDTHS)
    record = ConventionalLeg(
        markers=names,
        hip_mm=(float(local[0]), float(local[1]), float(local[2])),
        knee_radius_mm=1e3 * (radius + 0.5 * knee_width),
        ankle_radius_mm=1e3 * (radius + 0.5 * ankle_width),
        thigh_rotation_deg=in_degrees(own.thigh_rotation or 0.0),
        shank_rotation_deg=in_degrees(own.shank_rotation or 0.0),
        tibial_torsion_deg=in_degrees(own.tibial_torsion or 0.0),
        plant_flexion_deg=in_degrees(foot.offsets.plant_flexion) if foot.offsets else None,
        foot_rotation_deg=in_degrees(foot.offsets.rotation) if foot.offsets else None,
        sole_delta_mm=1e3 * (own.sole_delta or 0.0),
        stands=foot.stands,
    )
    seen_as_right = measures.mirrored if side == "left" else measures
    lengths = [f"conventional gait model: {told}" for told in notes_on_lengths(seen_as_right, DAVIS, side)]
    between = np.linalg.norm(x["asis"] - x["asis_opposite"], axis=1)
    apart = float(np.nanmedian(between))
    lengths += [f"conventional gait model: {told}" for told in notes_on_pelvis(measures, side, apart)]
    if measures.inter_asis is None and not foot.stands and source.walk.source == source.static.source:
        lengths.append(WALKING_ASIS.format(1e3 * float(np.nanmean(between))))
    notes = [*lengths, *found.notes, *foot.notes]
    if measures.marker_diameter is None:
        notes.insert(0, TAKEN)
    return record, notes


def _hip(x: dict[str, Array], measures: ConventionalMeasures, side: str) -> tuple[Array, Array]:
    """Return the hip centre (n, 3) [m] by Davis, and its position in the pelvis (3,) [mm]: forwards, to the
    left, up.
    """
    asis = (x["asis"], x["asis_opposite"])
    right, left = asis if side == "right" else asis[::-1]
    back = back_of(x)
    hips = hip_centres(right, left, back, DAVIS, measures)
    hip = hips[0] if side == "right" else hips[1]
    away = hip - 0.5 * (right + left)
    local: Array = 1e3 * np.nanmean(np.einsum("nij,ni->nj", pelvis_frame(right, left, back), away), axis=0)
    return hip, local


def in_degrees(angle: float) -> float:
    """Convert an angle [rad] to degrees for the record of a calibrated leg; an angle of at most 1e-9 degrees,
    zero except for rounding errors, becomes 0.
    """
    degrees = float(np.degrees(angle))
    return degrees if abs(degrees) > 1e-9 else 0.0
