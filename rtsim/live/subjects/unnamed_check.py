"""A check after the last frame whether markers without names belonged to the expected person."""

from __future__ import annotations

from collections.abc import Sequence

from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.stages.building.first_stage import kinematics_if_any
from rtsim.stages.markers.unnamed_markers import UnnamedMarkers
from rtsim.stages.stage import Stage

LEAST_CERTAIN = 0.5
"""Part of the markers that must have been certain in some frame."""
FEWEST_FRAMES = 200
"""Number of frames from which on this is required: labels are certain after half a second at the earliest."""


def unnamed_of(stages: Sequence[Stage]) -> UnnamedMarkers | None:
    """Return the labeller of markers without names, if a run requests it; None for a run with a prescribed
    motion.
    """
    kinematics = kinematics_if_any(stages)
    return None if kinematics is None else kinematics.unnamed


def check_named(stages: Sequence[Stage], run: RunConfig, where: str) -> None:
    """Raise ConfigError if the person was found in no frame, or if fewer than half of the markers ever had a
    certain label.
    """
    unnamed = unnamed_of(stages)
    if unnamed is None or not unnamed.n_frame:
        return
    of = run.subject or run.static or run.model
    remedy = "give the static trial or the subject of this person and session, or add --anyway"
    if not unnamed.n_found:
        raise ConfigError(
            f"no set of markers with the mutual distances of {of} was found among the markers without names "
                f"in {unnamed.n_frame} frames", where=where, remedy=remedy,
        )  # fmt: skip
    n_marker, most = unnamed.n_marker, unnamed.most_certain
    if unnamed.n_frame >= FEWEST_FRAMES and most < LEAST_CERTAIN * n_marker:
        raise ConfigError(
            f"of the {n_marker} markers of {of}, never more than {most} were found with certainty "
            f"among the markers without names in {unnamed.n_frame} frames; is this another person, or "
            "were markers re-applied",
            where=where, remedy=remedy,
        )  # fmt: skip
