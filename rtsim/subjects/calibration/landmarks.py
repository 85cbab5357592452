"""Anatomical landmarks of one leg, frame by frame, from the markers that a marker map assigns to roles, such
as "epicondyle_lateral".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.lab_schema import KEYPOINTS, LabSide
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial, count_of, name_some
from rtsim.subjects.calibration.lone_leg import LoneLeg, hip_and_knee
from rtsim.subjects.conventional.chord import chord_centre
from rtsim.subjects.conventional.measures import ConventionalMeasures
from rtsim.subjects.hip_centre import UNKNOWN, hip_centres
from rtsim.subjects.markers.marker_names import find_markers

Array = NDArray[np.float64]
Positions = Mapping[str, Array]  # role -> (n, 3) [m], NaN = missing

PELVIS = ("asis", "asis_opposite", "psis", "psis_opposite", "sacrum")
"""Roles of the markers on a pelvis."""
METATARSALS = ("metatarsal_1", "metatarsal_5")
DEVICE = ("knee_device_axis", "knee_device_1", "knee_device_2")
"""Roles of a knee alignment device: KAX, KD1, KD2."""


class PelvisLandmarks(NamedTuple):
    """Positions of both ASIS, the midpoint of the PSIS and the opposite hip centre, each (n, 3) [m]."""

    asis: Array
    asis_opposite: Array
    psis_middle: Array
    hip_opposite: Array

    @property
    def asis_middle(self) -> Array:
        """Midpoint of both ASIS, (n, 3) [m]."""
        return 0.5 * (self.asis + self.asis_opposite)


class Landmarks(NamedTuple):
    """Landmarks of a right leg, or of a mirrored left one, each (n, 3) [m]."""

    hip: Array
    epicondyle_lateral: Array
    epicondyle_medial: Array
    malleolus_lateral: Array
    malleolus_medial: Array
    calcaneus: Array
    metatarsal_1: Array
    metatarsal_5: Array
    fibula_head: Array | None = None
    # None if only the leg is marked, not the pelvis
    pelvis: PelvisLandmarks | None = None

    @property
    def knee(self) -> Array:
        """Midpoint of the epicondyles, (n, 3) [m]."""
        return 0.5 * (self.epicondyle_lateral + self.epicondyle_medial)

    @property
    def ankle(self) -> Array:
        """Midpoint of the malleoli, (n, 3) [m]."""
        return 0.5 * (self.malleolus_lateral + self.malleolus_medial)

    @property
    def metatarsals(self) -> Array:
        """Midpoint of the first and the fifth metatarsal head, (n, 3) [m]."""
        return 0.5 * (self.metatarsal_1 + self.metatarsal_5)


def role_positions(trial: MarkerTrial, table: LabSide) -> dict[str, Array]:
    """Return the measured positions (n, 3) [m] of a leg's anatomical markers by role (the landmark on which a
    marker is, such as "epicondyle_lateral"); roles whose marker no frame shows are left out.

    table : the side of the marker map that gives the name of the marker of each role
    """
    found = find_markers(table.named.values(), trial.names)
    positions = {role: trial.positions[:, found[name]] for role, name in table.named.items() if name in found}
    return {role: x for role, x in positions.items() if np.isfinite(x).all(axis=1).any()}


def lacks_pelvis(positions: Positions) -> bool:
    """Return whether the pelvis has no marker at all, so that only a leg is marked."""
    return positions.keys().isdisjoint(PELVIS)


def has_device(positions: Positions) -> bool:
    """Return whether a knee alignment device replaces the marker on the lateral epicondyle."""
    return positions.keys() >= {*DEVICE}


def needed_roles(table: LabSide, positions: Positions) -> tuple[str, ...]:
    """Return the roles of the markers (landmarks, such as "calcaneus") that the calibration of a leg needs
    with this marker set; of alternatives, such as PSIS or sacrum, those that have data.

    table : the side of the marker map; positions : role -> (n, 3) [m], for the markers that have data
    """
    if table.is_keypoints:
        return KEYPOINTS
    roles = [*(DEVICE if has_device(positions) else ("epicondyle_lateral",)), "malleolus_lateral"]
    by_wand = "malleolus_medial" not in positions and table.shank_lateral
    roles += ["shank_lateral" if by_wand else "malleolus_medial", "calcaneus"]
    by_toe = not positions.keys() >= {*METATARSALS} and table.toe
    if not by_toe:
        roles += METATARSALS
    elif "toe" in positions or lacks_pelvis(positions):  # without it the heel tells of a foot that stands
        roles.append("toe")
    if lacks_pelvis(positions):
        roles += ["greater_trochanter"] if "greater_trochanter" in positions else []
    elif "sacrum" in positions and not {"psis", "psis_opposite"} <= positions.keys():
        roles += ["asis", "asis_opposite", "sacrum"]
    else:
        roles += ["asis", "asis_opposite", *(["psis", "psis_opposite"] if table.psis else ["sacrum"])]
    chord = "epicondyle_medial" not in positions and table.thigh_lateral
    if not has_device(positions):
        roles.append("thigh_lateral" if chord else "epicondyle_medial")
    if "fibula_head" in positions:
        roles.append("fibula_head")
    return tuple(roles)


def usable_frames(table: LabSide, positions: Positions, where: str, remedy: str) -> NDArray[np.int64]:
    """Return the frames that show every required marker; ConfigError, with `remedy`, names the markers that
    no frame shows.
    """
    needed = needed_roles(table, positions)
    absent = [f"{role} ({table.named[role]})" for role in needed if role not in positions]
    device = [role for role in DEVICE if role in table.named]
    seen = [role for role in device if role in positions]
    if seen and "epicondyle_lateral" not in positions and seen != device:
        lacking = [table.named[role] for role in device if role not in seen]
        absent.append(f"nor {name_some(lacking)} of the knee alignment device, which could replace it")
    if absent:
        raise ConfigError(f"no frame shows {name_some(absent, 12)}", where=where, remedy=remedy)
    shown = {role: np.isfinite(positions[role]).all(axis=1) for role in needed}
    usable = np.flatnonzero(np.all(list(shown.values()), axis=0))
    if usable.size == 0:
        rarest = sorted(needed, key=lambda role: int(shown[role].sum()))[:3]
        rare = [f"{table.named[role]} ({count_of(int(shown[role].sum()), 'frame')})" for role in rarest]
        raise ConfigError(
            f"no frame shows all anatomical markers at once; visible in the fewest frames: {name_some(rare)}",
            where=where,
            remedy=remedy,
        )
    return usable


def find_landmarks(
    positions: Positions,
    knee_offset: float | None,
    regression: str,
    measures: ConventionalMeasures = UNKNOWN,
    standoff: float = 0.0,
    thigh_rotation: float = 0.0,
) -> Landmarks:
    """Compute the landmarks of a leg, with its hip centre, from the positions of its markers in usable
    frames.

    positions : role, such as "calcaneus" -> (n, 3) position of the marker [m], of a right leg, or of a
        mirrored left one
    knee_offset : distance of the knee centre from the lateral marker [m]; None if there is a medial marker
    regression : name of the regression for the hip centre
    measures : measures of the person, with sides exchanged for a left leg
    standoff : distance from the skin to the centre of a pelvis marker [m]
    thigh_rotation : stored rotation offset of the thigh, used with knee_offset [rad]
    """
    lateral, pelvis = positions["epicondyle_lateral"], None
    if lacks_pelvis(positions):
        hip, medial = hip_and_knee(lone_leg(positions), knee_offset, thigh_rotation)
    else:
        asis, asis_opposite, back = positions["asis"], positions["asis_opposite"], back_of(positions)
        hip, hip_opposite = hip_centres(asis, asis_opposite, back, regression, measures, standoff)
        if "hip_centre" in positions:
            hip, hip_opposite = positions["hip_centre"], positions["hip_centre_opposite"]
        pelvis = PelvisLandmarks(asis, asis_opposite, back, hip_opposite)
        if knee_offset is None:
            medial = positions["epicondyle_medial"]
        else:
            wand = positions["thigh_lateral"]
            medial = 2.0 * chord_centre(hip, lateral, wand, knee_offset, thigh_rotation) - lateral
    return Landmarks(
        hip=hip,
        epicondyle_lateral=lateral,
        epicondyle_medial=medial,
        malleolus_lateral=positions["malleolus_lateral"],
        malleolus_medial=positions["malleolus_medial"],
        calcaneus=positions["calcaneus"],
        metatarsal_1=positions["metatarsal_1"],
        metatarsal_5=positions["metatarsal_5"],
        fibula_head=positions.get("fibula_head"),
        pelvis=pelvis,
    )


def lone_leg(positions: Positions) -> LoneLeg:
    """Return the markers of a leg without pelvis markers from which its hip centre is estimated."""
    return LoneLeg(
        epicondyle_lateral=positions["epicondyle_lateral"],
        epicondyle_medial=positions.get("epicondyle_medial"),
        malleolus_lateral=positions["malleolus_lateral"],
        malleolus_medial=positions["malleolus_medial"],
        trochanter=positions.get("greater_trochanter"),
        thigh_lateral=positions.get("thigh_lateral"),
    )


def back_of(positions: Positions) -> Array:
    """Return the middle of the PSIS, or the sacrum marker that replaces it, (n, 3) [m]."""
    if {"psis", "psis_opposite"} <= positions.keys():
        middle: Array = 0.5 * (positions["psis"] + positions["psis_opposite"])
        return middle
    return positions["sacrum"]


def check_alone(known: Positions, where: str) -> None:
    """Raise ConfigError for a leg without pelvis markers that lacks landmarks whose replacement needs a hip
    centre.
    """
    needed = ("epicondyle_lateral", "malleolus_medial", *METATARSALS)
    lacking = [role for role in needed if role not in known]
    if lacking:
        raise ConfigError(
            "the pelvis has no markers, and without a hip centre there is no substitute for "
            f"{', '.join(lacking)}",
            where=where,
            remedy="put markers on the pelvis, or add the missing markers",
        )
