"""Calibration: from a trial with all anatomical markers to the subject's model.

Landmarks and natural coordinates are computed in every usable frame; the segment parameters and the local
coordinates of the tracked markers are averaged over the frames (Sancisi et al. 2017, eqs 12, 13).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.lab_schema import LabMap, LabSide
from rtsim.errors import ConfigError
from rtsim.files.markers.markers import near_statics
from rtsim.files.markers.trial import MarkerTrial, count_of, name_some, with_axis_told, with_names_told
from rtsim.subjects.calibration import plausible, proportions
from rtsim.subjects.calibration.frames_used import (
    fitting_frames,
    notes_on_frames,
    notes_on_static,
    thin,
)
from rtsim.subjects.calibration.keypoints import NOTES, landmarks_about
from rtsim.subjects.calibration.landmarks import (
    back_of,
    check_alone,
    find_landmarks,
    lacks_pelvis,
    lone_leg,
    role_positions,
    usable_frames,
)
from rtsim.subjects.calibration.legs_there import legs_that_are_there
from rtsim.subjects.calibration.lone_leg import (
    BY_STRAIGHT_LEG,
    ROOT_IS_THIGH,
    middle_of_thigh,
    straight_frames,
    told_hip,
)
from rtsim.subjects.calibration.misplaced import Leg, leg_of, notes_on_moves, notes_on_places
from rtsim.subjects.calibration.natural import known_frames, segment_parameters
from rtsim.subjects.calibration.pelvis_back import with_back_of
from rtsim.subjects.calibration.person_measures import (
    NOTHING_ASKED,
    AskedMeasures,
    all_measures,
    near_measures,
    with_measures_of_both,
)
from rtsim.subjects.calibration.segment_axes import natural_coordinates
from rtsim.subjects.calibration.segment_records import SEGMENTS, local_markers, segment_records, turned_shanks
from rtsim.subjects.calibration.stand_ins import LegMeasures, check_movement, chord_of_knee, stand_ins
from rtsim.subjects.calibration.standing import check_pose
from rtsim.subjects.calibration.trunk import TRUNK, fault_of_trunk, lumbosacral_centre, trunk_coordinates
from rtsim.subjects.conventional.calibrate import with_conventional_legs
from rtsim.subjects.conventional.device_marker import with_epicondyle
from rtsim.subjects.conventional.measures import ConventionalMeasures
from rtsim.subjects.feet.foot_without_toe import check_toe
from rtsim.subjects.hip_centre import find_regression, hip_measures, notes_on_lengths
from rtsim.subjects.markers.labs import check_map, cover, find_lab, load_lab, side_of
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.markers.markers_of import tracked_markers
from rtsim.subjects.markers.persons import read_one, share_of_labs
from rtsim.subjects.markers.sides import MIRROR, check_same_side, find_side, shows_pelvis
from rtsim.subjects.markers.spellings import as_spelled, with_names_of
from rtsim.subjects.subject import Subject, SubjectSegment, check_person

Array = NDArray[np.float64]

PELVIS = "pelvis"


class Request(NamedTuple):
    """The leg to be calibrated, and the options of its calibration: the leg's table in the marker map and its
    labelled side, the hip regression, and a knee width that replaces the stored one (None = as stored)."""

    table: LabSide
    label_side: str  # as the markers are labelled
    regression: str
    knee_width_mm: float | None
    standoff: float = 0.0  # from the skin to the centre of a marker on the pelvis [m]


class CalibrationFrames(NamedTuple):
    """Segments, markers and landmarks of a leg in the n frames of its calibration, mirrored if left."""

    Q: dict[str, Array]  # segment -> (n, 4, 3) - natural coordinates u, rP, rD, w (natural.py)
    positions: Array  # (n, n_marker, 3) - of all markers [m]
    side: str  # of the body
    notes: tuple[str, ...]
    leg: Leg | None = None  # landmarks of the leg; None if only a trunk was calibrated


def subject_for(
    trial: str | Path | MarkerTrial,
    static: str | Path | MarkerTrial | None = None,
    *,
    lab: str | LabMap | None = None,
    side: str = "right",
    hip_regression: str = "harrington2007",
    name: str = "",
    units: str | None = None,
    up: str | None = None,
    person: str = "",
    measures: AskedMeasures = NOTHING_ASKED,
) -> Subject:
    """Calibrate the subject of a trial, from the static trial if there is one, else from the trial itself.

    trial, static : files, or trials already read
    side : right, left or both; empty: both legs, or the only one that has markers
    lab : a marker map, its file or its shipped name; found by the names of the markers if not given
    hip_regression, name : regression of the hip centre, and name of the subject
    units, up : unit of length and axis that points up, which override the files
    person : whose markers are used from files of several persons; "" = the only one with the needed markers
    measures : measures of the person, which override those stored with the trials
    """
    marker_map = load_lab(lab) if isinstance(lab, str) else lab
    share, still = share_of_labs(marker_map, side), static
    moving = read_one(trial, share, person, up, units) if isinstance(trial, (str, Path)) else trial
    if isinstance(static, (str, Path)):
        still = read_one(static, share, person or moving.person, up, units)
    assert still is None or isinstance(still, MarkerTrial)
    asked, stored = all_measures(measures)
    moving, still = with_measures_of_both(moving, still, stored)

    legs: dict[str, Leg] = {}

    def leg(of: str) -> Subject:
        return calibrate(
            moving, marker_map, of, still,
            hip_regression=asked.hip or hip_regression, name=name, legs=legs,
            standoff_mm=asked.marker_standoff_mm or 0.0,
        )  # fmt: skip

    try:
        if marker_map is not None:
            check_map(marker_map, side, moving.names, file_name(moving))
        if side not in ("", "both"):
            found = leg(side)
        else:
            marker_map = marker_map or find_lab(moving.names)
            found = legs_that_are_there(
                leg, partial(cover, marker_map, names=moving.names), all_of_them=side == "both"
            )
    except ConfigError as fault:
        raise with_names_told(with_axis_told(fault, moving, still), moving, still) from None
    stature = proportions.stored_stature((still or moving).subject)
    notes = (*found.notes, *notes_on_places(legs), *turned_shanks(found.segments))
    found = msgspec.structs.replace(
        found,
        notes=(*(still.notes if still is not None else ()), *notes),
        stature_mm=1e3 * stature if stature else None,
    )
    return with_conventional_legs(found, marker_map or find_lab(moving.names, side), moving, still)


def calibrate(
    trial: MarkerTrial,
    lab: LabMap | None = None,
    side: str = "right",
    static: MarkerTrial | None = None,
    *,
    hip_regression: str = "harrington2007",
    knee_width_mm: float | None = None,
    name: str = "",
    legs: dict[str, Leg] | None = None,
    standoff_mm: float = 0.0,
) -> Subject:
    """Calibrate the subject model of one leg.

    Parameters
    ----------
    trial : trial whose markers will be tracked; also used for the calibration without a static trial
    lab : marker map; found by the names of the trial's markers if not given
    side : right or left, as the markers are labelled. The subject's side follows from their positions
    static : trial with all anatomical markers on
    hip_regression : a name of `REGRESSIONS` in rtsim/subjects/hip_centre.py
    knee_width_mm : knee width, needed without a medial epicondyle marker; replaces the width in the file
    name : name of the subject; that of the file if not given
    legs : map to which the leg's landmarks are added, by side; `notes_on_places` then compares both legs
    standoff_mm : distance from the skin to the centre of a pelvis marker: its radius plus base plate

    Markers keep the names of the trial. ConfigError if markers are missing, if markers indicate different
    sides of the body, or if dimensions are impossible for a person.
    """
    find_regression(hip_regression)
    as_mapped = lab or find_lab(trial.names, side)
    lab = as_spelled(as_mapped, trial.names, *([static.names] if static else []))
    static = with_names_of(static, as_mapped, lab) if static else None
    request = Request(side_of(lab, side), side, hip_regression, knee_width_mm, 1e-3 * standoff_mm)
    if static is None:
        near = near_statics(trial.source)
        check_movement(trial, request.table, file_name(trial), near)
        source, remedy = trial, f"give a static trial in which these markers are worn{near}"
    else:
        source = static._replace(subject={**trial.subject, **static.subject})
        check_toe(trial, source, request.table)
        remedy = "use a static trial with these markers, or name substitutes in a marker map of your own"
    source, of_back = with_back_of(source, trial, request.table, file_name(source))
    source = with_epicondyle(source, request.table, side)
    anatomy = measure(source, request, remedy)
    if static is not None:
        check_same_side(role_positions(trial, request.table), side, anatomy.side, file_name(trial))
    segments, notes = build_segments(trial, source, request.table, anatomy)
    n_frame = len(anatomy.positions)
    subject = Subject(
        name=name or Path(source.source).stem,
        source=f"{count_of(n_frame, 'frame')} of {file_name(source)}, marker map {lab.name}",
        segments=segments,
        side="left" if anatomy.side == "left" else "right",
        hip_regression=hip_regression if PELVIS in anatomy.Q and not request.table.is_keypoints else "",
        keypoints=request.table.is_keypoints,
        n_frame=n_frame,
        notes=(*of_back, *anatomy.notes, *notes, *notes_on_static(trial, static)),
        person=trial.person,
    )
    try:
        check_person(subject)
    except ValueError as error:  # a marker far away on a single frame will do
        raise ConfigError(str(error), where=file_name(source), remedy=plausible.REMEDY) from None
    if legs is not None and anatomy.leg is not None:
        legs[anatomy.side] = anatomy.leg
    return subject


def measure(source: MarkerTrial, request: Request, remedy: str) -> CalibrationFrames:
    """Compute a leg's landmarks and natural coordinates in the frames of a trial, `source`, that show all
    anatomical markers and agree with each other; remedy : advice in the error if no frame does."""
    where = file_name(source)
    known = role_positions(source, request.table)
    usable = usable_frames(request.table, known, where, remedy)
    frames = thin(usable)
    known = {role: x[frames] for role, x in known.items()}
    keypoints = request.table.is_keypoints
    known |= landmarks_about(known) if keypoints else {}
    found = find_side(known, request.label_side, where)
    mirror = MIRROR if found.side == "left" else np.ones(3)
    known = {role: mirror * x for role, x in known.items()}
    notes, offset, turn = [*notes_on_frames(source, len(usable)), *found.notes], None, 0.0
    notes += NOTES if keypoints else ()
    added: dict[str, Array] = {}
    person = hip_measures(source.subject, request.regression, request.label_side, where)
    if not lacks_pelvis(known) and not keypoints:
        notes += notes_on_lengths(person, request.regression, request.label_side)
    if lacks_pelvis(known):
        check_alone(known, where)
        leg = lone_leg(known)
        if leg.way == BY_STRAIGHT_LEG:
            straight = straight_frames(leg, mirror * middle_of_thigh(source, request.table)[frames])
            frames, known = frames[straight], {role: x[straight] for role, x in known.items()}
        notes.append(told_hip(leg.way, len(frames)))
        if "epicondyle_medial" not in known:
            offset, turn, of_knee = chord_of_knee(measures_of_leg(source, request, person), where)
            notes += of_knee
    else:
        added, told = stand_ins(known, measures_of_leg(source, request, person), where)
        if request.table.psis and "psis" not in known and "sacrum" in known:
            notes.append("no PSIS markers: the marker on the sacrum was used as their midpoint")
        if request.standoff:
            notes.append(f"the pelvis bone was assumed {1e3 * request.standoff:g} mm behind its markers")
        notes += told
    if "fibula_head" not in {**known, **added} and not keypoints:
        notes.append(
            "no fibula head marker: the malleoli define the frontal plane of the shank, so tibial "
            "torsion appears as external rotation of the knee"
        )
    landmarks = find_landmarks({**known, **added}, offset, request.regression, person, request.standoff, turn)
    Q = natural_coordinates(landmarks)
    plausible.check_axes(Q, where)
    good, said = plausible.agreeing_frames(Q, landmarks, where)
    positions = mirror * source.positions[frames]
    good, odd = fitting_frames(positions, source.names, request.table, landmarks, good)
    notes += [*said, *odd]
    notes += plausible.check_widths(
        landmarks, where, added.keys() if not keypoints else plausible.ACROSS.values()
    )
    notes += plausible.check_landmarks(landmarks, Q["shank"], known)
    notes += proportions.check_skew(known, where)
    notes += check_pose({name: q[good] for name, q in Q.items()}, where)
    pelvis = landmarks.pelvis
    if pelvis is not None:
        lumbosacral = lumbosacral_centre(pelvis.asis, pelvis.asis_opposite, pelvis.psis_middle)
        trunk = trunk_coordinates(source, request.table.trunk, positions, lumbosacral)
        if trunk is not None and known_frames(trunk[good]).any():
            Q[TRUNK] = trunk
    placed = leg_of(request.table, {role: x[good] for role, x in known.items()}, landmarks.hip[good])
    Q = {name: q[good] for name, q in Q.items()}
    return CalibrationFrames(Q, positions[good], found.side, tuple(notes), placed)


def measures_of_leg(source: MarkerTrial, request: Request, person: ConventionalMeasures) -> LegMeasures:
    """Return the measures, such as joint widths, by which landmarks of a leg without markers are placed."""
    return LegMeasures(
        stored=source.subject,
        label_side=request.label_side,
        regression=request.regression,
        person=person,
        conventional=bool(request.table.shank_lateral),
        knee_width_mm=request.knee_width_mm,
        standoff=request.standoff,
        near=near_measures(source.source),
        names=request.table.named,
    )


def build_segments(
    trial: MarkerTrial, source: MarkerTrial, table: LabSide, anatomy: CalibrationFrames
) -> tuple[dict[str, SubjectSegment], list[str]]:
    """Build a person's segments from the frames `anatomy` of the trial `source`, with the markers that the
    trial to be solved (`trial`) shows; also return notes for the user."""
    names = [name for name in SEGMENTS if name in anatomy.Q]
    parameters = {name: segment_parameters(anatomy.Q[name]) for name in names}
    plausible.check_lengths(parameters, file_name(source))
    lengths = {name: segment.length for name, segment in parameters.items()}
    notes = proportions.check_ratios(lengths, file_name(source))
    if stature := proportions.stored_stature(source.subject):
        notes += proportions.check_stature(lengths, stature, file_name(source))
    wanted = {name: tracked_markers(trial, getattr(table.tracking, name)) for name in names}
    if PELVIS in names and not wanted[PELVIS]:
        names.remove(PELVIS)
        del wanted[PELVIS]
        notes.append(f"{file_name(trial)} shows no marker of the pelvis: {ROOT_IS_THIGH}")
    tracks = {name: tracks_of(source, group, anatomy) for name, group in wanted.items()}
    markers = local_markers(anatomy.Q, parameters, tracks)
    for name, placed in markers.items():
        if not placed:
            raise ConfigError(
                f"the trial has none of the markers by which the marker map tracks the {name} in movement",
                where=file_name(trial) if trial is source else f"{file_name(trial)} and {file_name(source)}",
                allowed=name_some(getattr(table.tracking, name)),
                remedy="check the lab's marker map",
            )
    unplaced = [label for name in names for label in wanted[name].values() if label not in markers[name]]
    if unplaced:
        notes.append(f"not tracked, because no calibration frame shows them: {name_some(unplaced)}")
    notes += plausible.check_spread(markers)
    if TRUNK in anatomy.Q and PELVIS in names and table.trunk is not None:
        group = tracked_markers(trial, table.trunk.tracking)
        parameters[TRUNK] = segment_parameters(anatomy.Q[TRUNK])
        of_trunk = {TRUNK: tracks_of(source, group, anatomy)}
        placed = local_markers(anatomy.Q, parameters, of_trunk)[TRUNK]
        fault = fault_of_trunk(anatomy.Q[TRUNK], anatomy.Q[PELVIS], parameters[TRUNK], placed)
        if trial is not source and not fault and plausible.check_distances({TRUNK: placed}, trial):
            moving = trunk_of_trial(trial, table, anatomy.side)
            if moving is not None:
                anew = {TRUNK: segment_parameters(moving.Q[TRUNK])}
                there = local_markers(moving.Q, anew, {TRUNK: tracks_of(trial, group, moving)})[TRUNK]
                if not fault_of_trunk(moving.Q[TRUNK], None, anew[TRUNK], there):  # sides are known
                    parameters[TRUNK], placed = anew[TRUNK], there
                    notes += moving.notes
        if fault:
            notes.append(f"no trunk: {fault}")
        else:
            markers[TRUNK] = placed
    if trial is not source:
        apart = plausible.check_distances(markers, trial)
        notes += apart or notes_on_moves(markers, trial)
    segments = segment_records(anatomy.Q, parameters, markers)
    if trial is not source and segments["shank"].in_parent_deg is None:
        notes.append(
            f"the knee is not still and straight in {file_name(source)}, so its contacts and ligaments keep "
            "the positions that they have in the model and are not fitted to this person's bones"
        )
    return segments, notes


def trunk_of_trial(trial: MarkerTrial, table: LabSide, side: str) -> CalibrationFrames | None:
    """Return the trunk in the frames of the movement trial. It replaces that of a static trial in which trunk
    markers lie elsewhere (such as with raised arms); None if no frame shows trunk and pelvis together."""
    mirror = MIRROR if side == "left" else np.ones(3)
    known = {role: mirror * x for role, x in role_positions(trial, table).items()}
    if not shows_pelvis(known):
        return None
    positions = mirror * trial.positions
    lumbosacral = lumbosacral_centre(known["asis"], known["asis_opposite"], back_of(known))
    Q = trunk_coordinates(trial, table.trunk, positions, lumbosacral)
    told = "trunk markers lie otherwise in the static trial (raised arms?): trunk calibrated by the movement"
    return None if Q is None else CalibrationFrames({TRUNK: Q}, positions, side, (told,))


def tracks_of(source: MarkerTrial, group: dict[str, str], anatomy: CalibrationFrames) -> dict[str, Array]:
    """Return the positions (n, 3) [m] of markers in the calibration's frames, by their names in the trial.

    group : marker of the map -> its name in the trial; markers that the source lacks are left out
    """
    found = find_markers(group, source.names)
    return {label: anatomy.positions[:, found[m]] for m, label in group.items() if m in found}


def file_name(trial: MarkerTrial) -> str:
    """Return the name of a trial's file, without its folder."""
    return Path(trial.source).name
