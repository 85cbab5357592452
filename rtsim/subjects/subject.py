"""A subject: segment parameters, markers and landmarks that scale a model to one person."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.bounds import check_numbers
from rtsim.config.load import load_toml
from rtsim.config.models.both_sides_schema import SUFFIXES
from rtsim.config.models.place_schema import Positive, Vector
from rtsim.errors import ConfigError
from rtsim.files.output import write_text
from rtsim.files.toml_text import entries, entry, word
from rtsim.subjects.calibration.natural import Segment
from rtsim.subjects.conventional.record import ConventionalLeg

# from small children to very tall adults, markers included [m]
LENGTHS = {
    "pelvis": (0.03, 0.3), "thigh": (0.1, 0.7), "shank": (0.1, 0.7), "foot": (0.03, 0.3), "trunk": (0.1, 0.8),
}  # fmt: skip
ANGLES = (5.0, 175.0)
PERSON = {"mass_kg": (2.0, 400.0), "stature_mm": (400.0, 2500.0)}
"""Ranges from infants to the largest adults."""
FARTHEST_M = 1.0
"""Largest distance of a marker or a landmark from the origin of its segment [m]."""


class SubjectSegment(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One segment of a subject: its length and the angles between its directions u, v, w (Sancisi et al.
    2017, eq. 12), and its markers and landmarks in its frame. The origin of the frame is the proximal end of
    the segment, and X points along its forward direction u.
    """

    length_mm: Positive
    alpha_deg: Positive
    beta_deg: Positive
    gamma_deg: Positive
    markers_mm: dict[str, Vector] = {}
    points_mm: dict[str, Vector] = {}
    # orientation in the parent segment in the static trial, about z, the new x, the new y; None = not known
    in_parent_deg: Vector | None = None

    def segment(self) -> Segment:
        """Return the segment with parameters in SI units."""
        alpha, beta, gamma = np.radians([self.alpha_deg, self.beta_deg, self.gamma_deg])
        return Segment(1e-3 * self.length_mm, float(alpha), float(beta), float(gamma))


class Subject(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A person: the segments, with markers and landmarks, to which a model is scaled, and options and notes
    of the calibration. This is the content of a subject file, as `rtsim calibrate` writes it.
    """

    name: str
    source: str
    segments: dict[str, SubjectSegment]
    side: Literal["right", "left", "both"] = "right"
    hip_regression: str = ""
    n_frame: int = 0
    ligament_mean_mm: dict[str, Positive] = {}
    notes: tuple[str, ...] = ()
    mass_kg: Positive | None = None
    stature_mm: Positive | None = None
    sex: Literal["female", "male", ""] = ""
    # prefix of the marker names in the trial, such as the name of the person; "" = none
    person: str = ""
    # whether the markers are joint centres (keypoints), which determine only simple joints
    keypoints: bool = False
    # records for the conventional gait model, of each leg that has its markers
    conventional: dict[Literal["right", "left"], ConventionalLeg] = {}

    @property
    def marker_names(self) -> tuple[str, ...]:
        """Names of all markers, segment by segment."""
        return tuple(name for segment in self.segments.values() for name in segment.markers_mm)


def kind_of_segment(name: str) -> str:
    """Return the kind of a segment, its name without the side, such as thigh of thigh_l."""
    return name[:-2] if name.endswith(tuple(SUFFIXES.values())) else name


def subject_segment(
    segment: Segment,
    markers: dict[str, NDArray[np.float64]],
    points: dict[str, NDArray[np.float64]],
    in_parent_deg: tuple[float, ...] | None = None,
) -> SubjectSegment:
    """Return the record of a segment for a subject file; markers and points : positions in its frame [m]."""
    alpha, beta, gamma = np.degrees([segment.alpha, segment.beta, segment.gamma])
    return SubjectSegment(
        length_mm=float(1e3 * segment.length),
        alpha_deg=float(alpha),
        beta_deg=float(beta),
        gamma_deg=float(gamma),
        markers_mm={name: millimetres(x) for name, x in markers.items()},
        points_mm={name: millimetres(x) for name, x in points.items()},
        in_parent_deg=in_parent_deg,
    )


def millimetres(x: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(float(1e3 * c) for c in x)


def load_subject(path: Path) -> Subject:
    """Read and check a subject file; ConfigError names the key of an impossible value."""
    subject = load_toml(path, Subject)
    try:
        check_person(subject)
        check_numbers(subject)
    except ValueError as error:
        raise ConfigError(
            str(error), where=str(path), remedy="correct this entry, or calibrate again"
        ) from None
    return subject


def check_person(subject: Subject) -> None:
    """Raise ValueError for a subject without markers, with one marker on two segments, or of impossible
    size.
    """
    names = subject.marker_names
    if not names:
        raise ValueError("segments: no segment has markers_mm; allowed: at least one marker")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        at = ", ".join(key for key, segment in subject.segments.items() if twice in segment.markers_mm)
        raise ValueError(f"segments: the marker {twice!r} is on {at}; allowed: each marker on one segment")
    for key, (low, high) in PERSON.items():
        size = getattr(subject, key)
        if size is not None and not low <= size <= high:
            raise ValueError(f"{key}: {size:g} is impossible for a person; allowed: {low:g} to {high:g}")
    for key, segment in subject.segments.items():
        low, high = (1e3 * x for x in LENGTHS.get(kind_of_segment(key), (0.0, FARTHEST_M)))
        if not low <= segment.length_mm <= high:
            raise ValueError(
                f"segments.{key}.length_mm: {segment.length_mm:g} is not a possible length of a "
                f"{key}; allowed: {low:g} to {high:g} mm"
            )
        for angle in ("alpha_deg", "beta_deg", "gamma_deg"):
            if not ANGLES[0] <= getattr(segment, angle) <= ANGLES[1]:
                raise ValueError(
                    f"segments.{key}.{angle}: {getattr(segment, angle):g} is not a possible angle "
                    f"between two axes of a segment; allowed: {ANGLES[0]:g} to {ANGLES[1]:g} deg"
                )
        for name, x in (*segment.markers_mm.items(), *segment.points_mm.items()):
            away = 1e-3 * math.hypot(*x)
            if away > FARTHEST_M:
                raise ValueError(
                    f"segments.{key}: {name!r} is {away:.3g} m from the segment's origin; "
                    f"allowed: up to {FARTHEST_M:g} m"
                )


def save_subject(path: Path, subject: Subject) -> None:
    """Write a subject file (TOML, full precision); ConfigError if it cannot be written."""
    write_text(path, subject_text(subject))


def subject_text(subject: Subject) -> str:
    """Return the subject as TOML; ConfigError for a point that is not finite."""
    for name, segment in subject.segments.items():
        points = {**segment.markers_mm, **segment.points_mm}
        lost = next((point for point, x in points.items() if not np.isfinite(x).all()), None)
        if lost is not None:
            raise ConfigError(
                f"the marker {lost} has no position", where=f"subject {subject.name}: segments.{name}"
            )
    lines = [
        "# Subject model: segment parameters and marker positions, in millimetres and degrees.",
        *(entry(key, getattr(subject, key)) for key in ("name", "source", "side", "hip_regression")),
        *(
            entry(key, getattr(subject, key))
            for key in ("mass_kg", "stature_mm", "sex", "person", "keypoints")
            if getattr(subject, key)
        ),
        entry("n_frame", subject.n_frame),
        entry("notes", list(subject.notes)),
    ]
    if subject.ligament_mean_mm:
        lines += ["", "[ligament_mean_mm]", *entries(subject.ligament_mean_mm)]
    for name, segment in subject.segments.items():
        lines += ["", f"[segments.{word(name)}]"]
        lines += [
            entry(key, getattr(segment, key)) for key in ("length_mm", "alpha_deg", "beta_deg", "gamma_deg")
        ]
        if segment.in_parent_deg is not None:
            lines.append(entry("in_parent_deg", list(segment.in_parent_deg)))
        for table in ("markers_mm", "points_mm"):
            if getattr(segment, table):
                lines += [f"[segments.{word(name)}.{table}]", *entries(getattr(segment, table))]
    for side, leg in subject.conventional.items():
        lines += ["", f"[conventional.{side}]"]
        own = {key: getattr(leg, key) for key in leg.__struct_fields__ if key not in ("markers", "stands")}
        lines += entries({key: x for key, x in own.items() if x is not None})
        lines += [f"[conventional.{side}.markers]", *entries(leg.markers)]
    return "\n".join(lines) + "\n"


def segments_of(subject: Subject | None) -> dict[str, SubjectSegment]:
    """Return the segments of the tracked person; none if a model with its own markers is tracked."""
    return subject.segments if subject is not None else {}
