"""A leg of the conventional gait model: from markers and measures to joint centres, axes and angles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.conventional.angles import ankle_angles, hip_angles, knee_angles
from rtsim.subjects.conventional.axes import LegAxes, LegCentres, leg_axes
from rtsim.subjects.conventional.chord import TURNS, chord_centre
from rtsim.subjects.conventional.foot import (
    FootOffsets,
    dynamic_foot,
    foot_offsets,
    static_foot,
    static_heel,
    uncorrected_foot,
)  # fmt: skip
from rtsim.subjects.conventional.measures import ConventionalMeasures, needed

Array = NDArray[np.float64]


class LegMarkers(NamedTuple):
    """Markers of a leg, each (n, 3) [m]; the heel is needed in static trials only.

    thigh, shank : lateral marker of the segment, with or without a wand
    knee, ankle : lateral epicondyle, lateral malleolus; toe : second metatarsal head
    """

    thigh: Array
    knee: Array
    shank: Array
    ankle: Array
    toe: Array
    heel: Array | None = None


class LegPose(NamedTuple):
    """Joint centres of a leg, axes of its thigh and shank, and axes of its foot (n, 3, 3), in n frames."""

    centres: LegCentres
    axes: LegAxes
    foot: Array  # (n, 3, 3)


def leg_centres(
    hip: Array, markers: LegMarkers, measures: ConventionalMeasures, side: str, where: str
) -> LegCentres:
    """Return the centres of knee and ankle by the chord construction, with the person's rotation offsets.

    hip : (n, 3) [m]; side : right or left, in right-handed axes. ConfigError for an unknown width.
    """
    own, radius = measures.of(side), measures.marker_radius
    knee_width = needed(measures, side, "knee_width", where)
    ankle_width = needed(measures, side, "ankle_width", where)
    turn = TURNS[side]
    knee = chord_centre(
        hip, markers.knee, markers.thigh, 0.5 * knee_width + radius, turn * (own.thigh_rotation or 0.0)
    )
    ankle = chord_centre(
        knee, markers.ankle, markers.shank, 0.5 * ankle_width + radius, turn * (own.shank_rotation or 0.0)
    )
    return LegCentres(hip, knee, ankle, markers.knee, markers.ankle)


def standing_leg(
    hip: Array,
    markers: LegMarkers,
    measures: ConventionalMeasures,
    side: str,
    up: Array,
    *,
    flat: bool,
    where: str,
) -> tuple[LegPose, FootOffsets]:
    """Compute a leg in a static trial, and the offsets of its foot: plantar flexion and rotation of the
    foot's axes relative to those found without the heel, from toe marker, ankle centre and shank [rad].

    hip : (n, 3) - hip centre [m]; side : right or left; up : (3,) - vertical
    flat : whether the sole is assumed flat on the ground, whatever the heights of the markers
    where : name of the trial or file, for error messages
    """
    centres = leg_centres(hip, markers, measures, side, where)
    axes = leg_axes(centres, side, measures.of(side).tibial_torsion or 0.0)
    assert markers.heel is not None
    heel = static_heel(
        markers.heel, markers.toe, up, flat=flat, sole_delta=measures.of(side).sole_delta or 0.0
    )
    foot = static_foot(heel, markers.toe, axes.torsioned)
    uncorrected = uncorrected_foot(centres.ankle, markers.toe, axes.torsioned)
    return LegPose(centres, axes, foot), foot_offsets(uncorrected, foot, side)


def walking_leg(
    hip: Array,
    markers: LegMarkers,
    measures: ConventionalMeasures,
    side: str,
    offsets: FootOffsets,
    where: str,
) -> LegPose:
    """Compute a leg in any frames; its foot uses the offsets of a static trial."""
    centres = leg_centres(hip, markers, measures, side, where)
    axes = leg_axes(centres, side, measures.of(side).tibial_torsion or 0.0)
    uncorrected = uncorrected_foot(centres.ankle, markers.toe, axes.torsioned)
    return LegPose(centres, axes, dynamic_foot(uncorrected, offsets, side))


def leg_angles(pelvis: Array, pose: LegPose, side: str) -> dict[str, Array]:
    """Return the angles of hip, knee and ankle, each (n, 3) [rad], in the order of Plug-in Gait; pelvis :
    axes (n, 3, 3).
    """
    return {
        "hip": hip_angles(pelvis, pose.axes.thigh, side),
        "knee": knee_angles(pose.axes.thigh, pose.axes.shank, side),
        "ankle": ankle_angles(pose.axes.torsioned, pose.foot, side),
    }
