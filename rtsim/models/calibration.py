"""Calibration: from a trial with all anatomical markers to the subject's model.

Landmarks and natural coordinates on every usable frame, their parameters and the local coordinates of the
tracked markers averaged over the frames (Sancisi et al. 2017, eqs 12, 13).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.lab_schema import Lab, LabSide
from rtsim.errors import ConfigError
from rtsim.files.markers import MARKER_SUFFIXES, read_markers
from rtsim.files.trial import MarkerTrial, count_of, name_some
from rtsim.models import plausible
from rtsim.models.hip_centre import find_regression
from rtsim.models.knee_centre import knee_offset
from rtsim.models.labs import find_lab, load_lab, side_of
from rtsim.models.landmarks import Landmarks, find_landmarks, role_positions, usable_frames
from rtsim.models.marker_names import find_markers
from rtsim.models.natural import local_points, segment_parameters
from rtsim.models.segment_axes import natural_coordinates
from rtsim.models.sides import MIRROR, check_same_side, find_side
from rtsim.models.subject import Subject, SubjectSegment, subject_segment

Array = NDArray[np.float64]

MAX_FRAME = 400
MAX_DEVIATION = 0.2  # of a segment's length from its median, beyond which a frame is left out [1]


class Anatomy(NamedTuple):
    """What the frames of a calibration say: landmarks, natural coordinates and all markers, on n frames."""

    landmarks: Landmarks
    Q: dict[str, Array]  # segment -> (n, 4, 3)
    positions: Array  # (n, n_marker, 3) [m], mirrored where the leg is a left one
    side: str
    notes: list[str]


def subject_for(
    trial: str | Path | MarkerTrial,
    static: str | Path | MarkerTrial | None = None,
    *,
    lab: str | Lab | None = None,
    side: str = "right",
    hip_regression: str = "harrington2007",
    knee_width_mm: float | None = None,
    name: str = "",
) -> Subject:
    """The subject of a trial, calibrated from the static trial if there is one, else from the trial itself.

    trial, static : files, or trials that have been read
    lab : a marker map, its file or its shipped name; found by the names of the markers if not given
    The other parameters and the errors are those of `calibrate`.
    """
    moving = trial if isinstance(trial, MarkerTrial) else read_markers(trial)
    still = static if static is None or isinstance(static, MarkerTrial) else read_markers(static)
    marker_map = load_lab(lab) if isinstance(lab, str) else lab
    return calibrate(
        moving, marker_map, side, still, hip_regression=hip_regression, knee_width_mm=knee_width_mm, name=name
    )


def calibrate(
    trial: MarkerTrial,
    lab: Lab | None = None,
    side: str = "right",
    static: MarkerTrial | None = None,
    *,
    hip_regression: str = "harrington2007",
    knee_width_mm: float | None = None,
    name: str = "",
) -> Subject:
    """The subject model of one leg.

    Parameters
    ----------
    trial : whose markers will be followed; also calibrated from where there is no static trial
    lab : marker map; found by the names of the trial's markers if not given
    side : right or left, as the markers are labelled. The subject's side is the one they really stand on
    static : trial with all anatomical markers on
    hip_regression : harrington2007 or bell1990
    knee_width_mm : between the epicondyles, for labs without a medial one; replaces the width stored with the file
    name : of the subject; that of the file if not given

    Markers keep the names of the trial. ConfigError names markers that are missing, sides that contradict
    each other, and dimensions that no person has.
    """
    find_regression(hip_regression)
    lab = lab or find_lab(trial.names, side)
    table = side_of(lab, side)
    source = static or trial
    anatomy = measure(source, table, side, hip_regression, knee_width_mm, static is None)
    if static is not None:
        check_same_side(role_positions(trial, table), side, anatomy.side, file_name(trial))
    segments, notes = build_segments(trial, source, table, anatomy)
    n_frame = len(anatomy.positions)
    return Subject(
        name=name or Path(source.source).stem,
        source=f"{count_of(n_frame, 'frame')} of {file_name(source)}, marker map {lab.name}",
        segments=segments,
        side="left" if anatomy.side == "left" else "right",
        hip_regression=hip_regression,
        n_frame=n_frame,
        notes=(*anatomy.notes, *notes),
    )


def measure(
    source: MarkerTrial, table: LabSide, side: str, regression: str, knee_width_mm: float | None, moving: bool
) -> Anatomy:
    """Landmarks and natural coordinates of the leg on the frames that are usable and agree with the rest."""
    where = file_name(source)
    known = role_positions(source, table)
    frames = thin(usable_frames(table, known, where, remedy_for(source, moving)))
    at_frames = {role: x[frames] for role, x in known.items()}
    found = find_side(at_frames, side, where)
    mirror = MIRROR if found.side == "left" else np.ones(3)
    at_frames = {role: mirror * x for role, x in at_frames.items()}
    notes = list(found.notes)
    offset = None
    if "epicondyle_medial" not in at_frames:
        offset = knee_offset(source.subject, side, knee_width_mm, where)
        notes.append(
            f"no medial epicondyle: knee centre constructed {1e3 * offset:.1f} mm from the lateral marker"
        )
    landmarks = find_landmarks(at_frames, offset, regression)
    Q = natural_coordinates(landmarks)
    plausible.check_axes(Q, where)
    notes += plausible.check_widths(landmarks, at_frames, where)
    notes += plausible.check_landmarks(landmarks, Q["shank"], at_frames)
    good = agreeing(Q)
    if not good.all():
        notes.append(
            f"{count_of(int((~good).sum()), 'frame')} left out: a segment was {100 * MAX_DEVIATION:.0f} % longer or "
            "shorter than usual there"
        )
    if not good.any():
        raise ConfigError(
            "no frame has the usual length of all segments", where=where, remedy="check the labels"
        )
    positions = mirror * source.positions[frames[good]]
    return Anatomy(landmarks, {name: q[good] for name, q in Q.items()}, positions, found.side, notes)


def build_segments(
    trial: MarkerTrial, source: MarkerTrial, table: LabSide, anatomy: Anatomy
) -> tuple[dict[str, SubjectSegment], list[str]]:
    """Records of the segments with the markers tracked in the trial, and notes."""
    parameters = {name: segment_parameters(q) for name, q in anatomy.Q.items()}
    plausible.check_lengths(parameters, file_name(source))
    markers: dict[str, dict[str, Array]] = {}
    notes: list[str] = []
    for name, segment in parameters.items():
        tracked, unplaced = tracked_markers(trial, source, getattr(table.tracking, name))
        local = local_points(anatomy.Q[name], segment, anatomy.positions[:, list(tracked.values())])
        placed = {label: x for label, x in zip(tracked, local, strict=True) if np.isfinite(x).all()}
        unplaced += [label for label in tracked if label not in placed]
        if not placed:
            raise ConfigError(
                f"no marker of the {name} is in both files",
                where=file_name(trial),
                allowed=name_some(getattr(table.tracking, name)),
                remedy="check the lab's marker map",
            )
        if unplaced:
            notes.append(f"not tracked, since no calibration frame shows them: {name_some(unplaced)}")
        markers[name] = placed
    hip = local_points(anatomy.Q["pelvis"], parameters["pelvis"], anatomy.Q["thigh"][:, 1:2])[0]
    points = {"pelvis": {"hip_centre": hip}}
    notes += plausible.check_spread(markers)
    segments = {n: subject_segment(s, markers[n], points.get(n, {})) for n, s in parameters.items()}
    return segments, notes


def tracked_markers(
    trial: MarkerTrial, source: MarkerTrial, wanted: tuple[str, ...]
) -> tuple[dict[str, int], list[str]]:
    """Markers of the trial that have data, by the trial's names, with their index in the calibration trial;
    and those that the calibration trial does not have."""
    in_trial = find_markers(wanted, trial.names)
    in_source = find_markers(wanted, source.names)
    with_data = np.isfinite(trial.positions).all(axis=2).any(axis=0)
    tracked, unplaced = {}, []
    for name, index in in_trial.items():
        if not with_data[index]:
            continue
        label = trial.names[index]
        if name in in_source:
            tracked[label] = in_source[name]
        else:
            unplaced.append(label)
    return tracked, unplaced


def agreeing(Q: dict[str, Array]) -> NDArray[np.bool_]:
    """(n,) - frames on which every segment has about its median length: swapped labels do not."""
    lengths = np.stack([np.linalg.norm(q[:, 1] - q[:, 2], axis=1) for q in Q.values()], axis=1)
    ratio = lengths / np.median(lengths, axis=0)
    good: NDArray[np.bool_] = (np.abs(ratio - 1.0) < MAX_DEVIATION).all(axis=1)
    return good


def thin(frames: NDArray[np.int64]) -> NDArray[np.int64]:
    """At most MAX_FRAME of the frames, evenly spread."""
    return frames[np.linspace(0, len(frames) - 1, min(len(frames), MAX_FRAME)).astype(np.int64)]


def remedy_for(source: MarkerTrial, moving: bool) -> str:
    """What to do about anatomical markers that are missing."""
    if not moving:
        return "use a static trial in which they are on, or name stand-ins in a marker map of your own"
    path = Path(source.source)
    near = (
        sorted(p.name for p in path.parent.glob("*") if is_static(p) and p != path) if path.is_file() else []
    )
    hint = f" (next to it: {name_some(near, 3)})" if near else ""
    return f"give a static trial in which they are on{hint}"


def is_static(path: Path) -> bool:
    """Whether a file looks like a static trial by its name."""
    return "static" in path.stem.lower() and path.suffix.lower() in MARKER_SUFFIXES


def file_name(trial: MarkerTrial) -> str:
    """Name of a trial's file, without its folder."""
    return Path(trial.source).name
