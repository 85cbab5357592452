"""A subject: the segment parameters, markers and landmarks that scale a model to one person."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.load import load_toml
from rtsim.config.model_schema import Positive, Vector
from rtsim.errors import ConfigError
from rtsim.files.output import write_text
from rtsim.models.natural import Segment


class SubjectSegment(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One segment: eq. 12 of Sancisi et al. 2017, markers and landmarks in its frame (X along u, origin
    at its proximal end)."""

    length_mm: Positive
    alpha_deg: Positive
    beta_deg: Positive
    gamma_deg: Positive
    markers_mm: dict[str, Vector] = {}
    points_mm: dict[str, Vector] = {}

    def segment(self) -> Segment:
        """Parameters in SI."""
        alpha, beta, gamma = np.radians([self.alpha_deg, self.beta_deg, self.gamma_deg])
        return Segment(1e-3 * self.length_mm, float(alpha), float(beta), float(gamma))


class Subject(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A subject file, as `rtsim calibrate` writes it."""

    name: str
    source: str
    segments: dict[str, SubjectSegment]
    side: Literal["right", "left"] = "right"
    hip_regression: str = ""
    n_frame: int = 0
    ligament_mean_mm: dict[str, Positive] = {}
    notes: tuple[str, ...] = ()

    @property
    def marker_names(self) -> tuple[str, ...]:
        """Names of all markers, segment by segment."""
        return tuple(name for segment in self.segments.values() for name in segment.markers_mm)


def subject_segment(
    segment: Segment, markers: dict[str, NDArray[np.float64]], points: dict[str, NDArray[np.float64]]
) -> SubjectSegment:
    """Record of a segment; markers and points in metres in its frame."""
    alpha, beta, gamma = np.degrees([segment.alpha, segment.beta, segment.gamma])
    return SubjectSegment(
        float(1e3 * segment.length),
        float(alpha),
        float(beta),
        float(gamma),
        {name: millimetres(x) for name, x in markers.items()},
        {name: millimetres(x) for name, x in points.items()},
    )


def millimetres(x: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(float(1e3 * c) for c in x)


def load_subject(path: Path) -> Subject:
    """Read and check a subject file."""
    return load_toml(path, Subject)


def save_subject(path: Path, subject: Subject) -> None:
    """Write a subject file (TOML, full precision); ConfigError where it cannot be written."""
    write_text(path, subject_text(subject))


def subject_text(subject: Subject) -> str:
    """The subject as TOML; ConfigError for a point that is not finite."""
    for name, segment in subject.segments.items():
        points = {**segment.markers_mm, **segment.points_mm}
        lost = next((point for point, x in points.items() if not np.isfinite(x).all()), None)
        if lost is not None:
            raise ConfigError(f"{lost} has no position", where=f"subject {subject.name}: segments.{name}")
    lines = [
        "# Subject model: segment parameters and marker positions, in millimetres and degrees.",
        *(
            f"{key} = {literal(getattr(subject, key))}"
            for key in ("name", "source", "side", "hip_regression")
        ),
        f"n_frame = {subject.n_frame}",
        f"notes = {literal(list(subject.notes))}",
    ]
    if subject.ligament_mean_mm:
        lines += ["", "[ligament_mean_mm]", *table_lines(subject.ligament_mean_mm)]
    for name, segment in subject.segments.items():
        lines += ["", f"[segments.{literal(name)}]"]
        lines += [
            f"{key} = {literal(getattr(segment, key))}"
            for key in ("length_mm", "alpha_deg", "beta_deg", "gamma_deg")
        ]
        for table in ("markers_mm", "points_mm"):
            if getattr(segment, table):
                lines += [f"[segments.{literal(name)}.{table}]", *table_lines(getattr(segment, table))]
    return "\n".join(lines) + "\n"


def table_lines(table: dict) -> list[str]:
    return [f"{literal(key)} = {literal(value)}" for key, value in table.items()]


def literal(value: object) -> str:
    """A TOML value: JSON's strings and arrays are TOML's too, but for the delete character."""
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007F")
