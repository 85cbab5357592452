"""C3D marker files: real markers, separated from unlabelled ones and from model outputs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.markers.marker_limits import FARTHEST
from rtsim.errors import ConfigError
from rtsim.files.c3d_bytes.frame_size import check_frames
from rtsim.files.c3d_bytes.readable import readable_copy
from rtsim.files.markers.c3d_check import check_c3d
from rtsim.files.markers.c3d_frames import with_all_frames, without_rotations
from rtsim.files.markers.c3d_labels import POSITION, REAL, SCALAR, UNLABELLED, classify, strip_subjects
from rtsim.files.markers.c3d_process import Content, read_content
from rtsim.files.markers.ground import to_ground
from rtsim.files.markers.persons import parted
from rtsim.files.markers.trial import (
    LISTED,
    MarkerTrial,
    RawTrial,
    name_some,
    samples_seen,
    unique_names,
)

Group = Mapping[str, list[Any]]
Z_UP_MAKERS = ("vicon", "qualisys")  # their laboratory frames are Z up when the file does not say
AXIS = re.compile(r"[+-]?[XYZ]", re.IGNORECASE)
UNLABELLED_KEPT = "unlabelled, kept"
COMPUTED_LISTED = f"positions computed by a model, left out {LISTED}"
MOST_PLATES = 64
# Endings of Vicon subject parameters that are lengths in millimetres, and those in kilograms.
LENGTHS = ("height", "length", "width", "thickness", "distance", "diameter", "shoulderoffset")
MASSES = ("bodymass", "mass")
# And those that are angles in radians, of Plug-in Gait.
ANGLES = ("rotation", "torsion", "plantflex", "rotoff", "ankleabadd")


def read_c3d(
    path: str | Path,
    *,
    up: str | None = None,
    units: str | None = None,
    person: str = "",
    virtual: bool = False,
    unnamed: bool = False,
) -> MarkerTrial:
    """Read the markers of a C3D file in the ground frame, with the subject's measures stored in it.

    Samples with residual -1 are missing. These are left out and listed in the notes: outputs of a model
    (angles, forces, moments, powers, scalars), positions that a model computed unless `virtual` is set, and
    trajectories without a label unless `unnamed` is set. Times are (first frame + i) / rate with frames
    counted from 0. ConfigError for an invalid C3D file.
    """
    path = Path(path)
    content, announced = whole_content(path)
    raw = raw_markers(content, path, announced, virtual, unnamed)
    return to_ground(raw, up=up, units=units, person=person)


def whole_content(path: Path, *, with_analogs: bool = False) -> tuple[Content, int]:
    """Return the whole content of a C3D file, and the number of frames in its header; ConfigError if it is
    damaged or has no rate. with_analogs : whether the analog samples are read, too
    """
    head = check_c3d(path)
    with readable_copy(path, head) as copy:
        content = read_content(copy, head.n_byte, with_analogs=with_analogs)
        if content.rate == 0.0 and head.n_point == 0:  # as Kistler's programs write plates alone
            raise ConfigError(
                "the file contains no points, and no point rate, from which the times of the samples "
                "would follow",
                where=str(path),
                remedy="export the trial with its markers, or its force plates with a point rate",
            )
        if not 0.0 < content.rate < math.inf:
            raise ConfigError(
                f"the point rate is {content.rate:g} Hz", where=str(path), remedy="export the trial again"
            )
        of_copy, content = without_rotations(check_c3d(copy), content)
        content = check_frames(copy, of_copy, content, path)
        return with_all_frames(copy, of_copy, content), head.n_frame


def raw_markers(
    content: Content, path: Path, announced: int, virtual: bool = False, unnamed: bool = False
) -> RawTrial:
    """Return the markers of a C3D file's content, in its own units and axes.

    announced : number of frames in its header
    virtual : whether positions that a model computed are kept
    unnamed : whether trajectories without a name are kept
    """
    n_frame, n_point, _ = content.points.shape
    if n_point == 0 or n_frame == 0:
        raise ConfigError(
            "the file contains no points", where=str(path), remedy="export the trial with its markers"
        )
    rate, parameters = content.rate, content.parameters
    point = parameters["POINT"]
    keep, names, person, notes = _choose(point, content.points, (virtual, unnamed), path)
    if announced > n_frame:
        notes.append(
            f"the header states {announced} frames, but the file ends after {n_frame} frames; "
            f"all {n_frame} frames were read"
        )
    notes += content.notes
    up, up_key = _up(parameters)
    return RawTrial(
        names=names,
        times=(content.first + np.arange(n_frame)) / rate,
        positions=np.ascontiguousarray(content.points[:, keep]),
        rate=rate,
        source=str(path),
        units=(_texts(point, "UNITS") or [""])[0],
        up=up,
        up_key=up_key,
        notes=tuple(notes),
        subject=_subject(parameters),
        person=person,
        surfaces=_surfaces(parameters),
        subject_name=_subject_name(parameters),
    )


def is_unnamed(content: Content) -> bool:
    """Return whether no marker of a file has a name."""
    point = content.parameters["POINT"]
    groups = {name: _texts(point, name) for name in _type_groups(point)}
    return REAL not in classify(_texts(point, "LABELS")[: content.points.shape[1]], groups)


def _choose(
    point: Group, points: NDArray[np.float64], kept: tuple[bool, bool], path: Path
) -> tuple[list[int], tuple[str, ...], str, list[str]]:
    """Select the points (n, n_point, 3) that are markers: return their indices, unique names, the only named
    person ("" = none or several), and notes for the user.

    point : parameters of the group POINT
    kept : whether computed positions, and whether unnamed trajectories, are kept
    """
    virtual, unnamed = kept
    n_point = points.shape[1]
    labels = _texts(point, "LABELS")[:n_point]
    labels += [""] * (n_point - len(labels))
    groups = {name: _texts(point, name) for name in _type_groups(point)}
    labels, groups, person, notes = strip_subjects(labels, groups, seen := samples_seen(points))
    kinds = classify(labels, groups)
    wanted = {REAL, *([POSITION] if virtual else []), *([UNLABELLED] if unnamed else [])}
    keep = [index for index, kind in enumerate(kinds) if kind in wanted]
    if not keep:
        raise ConfigError(
            "the file contains no labelled markers",
            where=str(path),
            remedy="label the markers of the trial first",
        )
    # one without a label is numbered, as two of the same label would be taken for one marker
    called = [labels[k] if kinds[k] != UNLABELLED else f"*{k + 1}" for k in keep]
    names, said = unique_names(called, [seen[k] for k in keep])
    dropped = _tell_dropped(
        labels, [UNLABELLED_KEPT if unnamed and k == UNLABELLED else k for k in kinds], virtual
    )
    return keep, names, person, [*notes, *dropped, *said]


def _texts(group: Group, name: str) -> list[str]:
    """Return a text parameter with its continuations (LABELS, LABELS2, LABELS3, ...)."""
    result: list[str] = []
    key, number = name, 2
    while key in group:
        result += [str(text).strip() for text in group[key]]
        key, number = f"{name}{number}", number + 1
    return result


def _type_groups(point: Group) -> Sequence[str]:
    """Return the names of the parameters of the group POINT that list model outputs: the usual ones (ANGLES,
    FORCES, ...), and further ones that the file declares in TYPE_GROUPS.
    """
    said = _texts(point, "TYPE_GROUPS")[::2]
    usual = ["ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS", "MODELED_MARKERS"]
    return [*usual, *(name for name in said if name not in usual)]


def _tell_dropped(labels: Sequence[str], kinds: Sequence[str], virtual: bool) -> list[str]:
    notes = []
    for kind, what in ((UNLABELLED, "unlabelled trajectories"), (SCALAR, "model outputs"), (POSITION, "")):
        names = [label or "(no label)" for label, found in zip(labels, kinds, strict=True) if found == kind]
        if not names:
            continue
        if kind == POSITION:
            bare = classify(names, {})  # whether their names alone tell that they were computed
            listed = [name for name, found in zip(names, bare, strict=True) if found == REAL and not virtual]
            names = [name for name in names if name not in listed]
            fate = "kept, as asked" if virtual else "left out"
            notes += (
                [f"positions computed by a model, {fate} ({len(names)}): {name_some(names)}"] if names else []
            )
            notes += [f"{COMPUTED_LISTED} ({len(listed)}): {name_some(listed)}"] if listed else []
        else:
            notes.append(f"{what} left out ({len(names)}): {name_some(names)}")
    return notes


def _up(parameters: Mapping[str, Group]) -> tuple[str, str]:
    """Return the axis that points up, and the parameter that says so: the vertical axis of the screen
    (POINT:Y_SCREEN), else the convention of the manufacturer; two empty texts if neither is known.
    """
    screen = _texts(parameters["POINT"], "Y_SCREEN")
    if screen and AXIS.fullmatch(screen[0]):
        return screen[0], "POINT:Y_SCREEN"
    company = " ".join(_texts(parameters["MANUFACTURER"], "COMPANY"))
    if any(maker in company.lower() for maker in Z_UP_MAKERS):
        return "+Z", f"MANUFACTURER:COMPANY {company}"
    return "", ""


def _surfaces(parameters: Mapping[str, Group]) -> np.ndarray | None:
    """Return the corners (n_plate, 4, 3) of the force plates in use, in the file's units and axes; None = no
    plates.
    """
    group = parameters["FORCE_PLATFORM"]
    used, corners = (group.get(name, []) for name in ("USED", "CORNERS"))
    n = int(used[0]) if used and isinstance(used[0], (int, float)) and 0 < used[0] <= MOST_PLATES else 0
    if not n or len(corners) < 12 * n or any(isinstance(x, str) for x in corners[: 12 * n]):
        return None
    surfaces = np.array(corners[: 12 * n], dtype=np.float64).reshape(n, 4, 3)
    return surfaces if (np.abs(surfaces) <= FARTHEST).all() else None


def _subject_name(parameters: Mapping[str, Group]) -> str:
    """Return the name in SUBJECTS:NAMES if there is only one; else ""."""
    names = [name for name in dict.fromkeys(_texts(parameters["SUBJECTS"], "NAMES")) if name]
    return names[0] if len(names) == 1 else ""


def _subject(parameters: Mapping[str, Group]) -> dict[str, float]:
    """Return masses [kg], lengths [m] and angles [rad] of the PROCESSING group by their names, such as
    `Anna:Bodymass`; parameters of unknown unit are left out.
    """
    subject: dict[str, float] = {}
    for name, values in parameters["PROCESSING"].items():
        plain = parted(name)[1]
        if len(values) != 1 or isinstance(values[0], str) or not plain[:1].isalpha():
            continue
        if plain.lower() in MASSES:
            subject[name] = float(values[0])
        elif plain.lower().endswith(LENGTHS):
            subject[name] = 1e-3 * float(values[0])
        elif plain.lower().endswith(ANGLES):
            subject[name] = float(values[0])
    return subject
