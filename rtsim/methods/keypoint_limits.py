"""Limits for keypoints of markerless video systems in place of markers: their usual error, and the error
above which they count as faulty.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from rtsim.config.runs.run_schema import MarkerCheck, RunConfig, Uncertainty

OFF_MM = 20.0
"""Standard deviation along each axis of a joint centre by several cameras without markers [mm]: of the
size that comparisons with markers found, 10 to 30 mm, from memory."""
UNCERTAINTY = Uncertainty(
    most_noise_mm=OFF_MM, pelvis_mm=OFF_MM, thigh_mm=OFF_MM, shank_mm=OFF_MM, foot_mm=OFF_MM, other_mm=OFF_MM
)
CHECK = MarkerCheck(
    downweight=False,  # of most segments there is one alone
    floor_mm=6.0 * OFF_MM,
    unknown_mm=7.0 * OFF_MM,
    agreement_mm=5.0 * OFF_MM,
    swap_distance_mm=3.0 * OFF_MM,
)


Limits = TypeVar("Limits", Uncertainty, MarkerCheck)


def for_keypoints(run: RunConfig) -> RunConfig:
    """Replace the default limits of a run by the limits for keypoints, each by itself: a value of a config
    that differs from the default has priority, and leaves the other limits as they are for keypoints.
    """
    return msgspec.structs.replace(
        run, uncertainty=_merged(run.uncertainty, UNCERTAINTY), markers=_merged(run.markers, CHECK)
    )


def _merged(limits: Limits, of_keypoints: Limits) -> Limits:
    """Return the limits for keypoints with those values of `limits` that differ from the defaults."""
    usual = type(limits)()
    own = {
        name: value for name, value in msgspec.structs.asdict(limits).items() if value != getattr(usual, name)
    }
    return msgspec.structs.replace(of_keypoints, **own)
