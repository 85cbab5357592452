"""Offsets of a leg from a static trial for its walking trials: rotation offsets, widths, and the neutral
pose of the foot.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.lab_schema import LabSide
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.conventional.alignment import (
    by_device,
    by_medial_marker,
    check_device,
    tibial_torsion,
)  # fmt: skip
from rtsim.subjects.conventional.foot import FootOffsets
from rtsim.subjects.conventional.leg import LegMarkers, standing_leg
from rtsim.subjects.conventional.measures import ConventionalMeasures, needed, stored_measures
from rtsim.subjects.conventional.record import AS_MARKED, FLAT

Array = NDArray[np.float64]
Positions = Mapping[str, Array]

UP = np.array([0.0, 1.0, 0.0])
"""Upward direction of the ground frame."""
DEVICE = ("knee_device_axis", "knee_device_1", "knee_device_2")
SAME = 1e-4
"""Foot offsets that differ by less are the same [rad]."""
CONTRADICTED = np.radians(1.0)
"""A note is given if two values of a thigh's rotation offset differ by more [rad]."""
STILL = 0.06
"""Largest motion of hip, toe and heel of a leg that stands still [m]."""


class Source(NamedTuple):
    """Trials of a leg from which its offsets are computed.

    walk : the walking trial; static : the trial from which the anatomy is calibrated, which may be `walk`
    table : the marker map's names of the leg's markers; side : side of the body on which they are;
        label_side : side that their labels state, which differs if right and left are exchanged
    """

    walk: MarkerTrial
    static: MarkerTrial
    table: LabSide
    side: str
    label_side: str

    @property
    def where(self) -> str:
        """Name of the static trial's file, for errors."""
        return Path(self.static.source).name


class AlignedLeg(NamedTuple):
    """A leg of a static trial after the evaluation of its knee alignment device or medial markers.

    x : role of the marker map, such as "calcaneus" -> (n, 3) position [m], including the lateral epicondyle
        if a device replaced its marker
    measures : measures of the person, with the leg's rotation offsets and widths; notes : notes for the user
    """

    x: dict[str, Array]
    measures: ConventionalMeasures
    notes: list[str]


class StandingFoot(NamedTuple):
    """The foot offsets of a static trial.

    offsets : None = not known; notes : notes for the user
    stands : whether the foot is assumed flat on the ground (FLAT), or its pose taken from the markers
        (AS_MARKED)
    """

    offsets: FootOffsets | None
    stands: str
    notes: list[str]


def person_of(source: Source) -> ConventionalMeasures:
    """Return the measures of a person that are stored with the static trial, by sides of the body. If the
    walking trial stores foot offsets, its foot offsets, tibial torsion and rotation offsets replace those of
    the static trial.
    """
    static, walk = stored_measures(source.static.subject), stored_measures(source.walk.subject)
    if source.side != source.label_side:
        static, walk = static.mirrored, walk.mirrored
    own, other = static.of(source.side), walk.of(source.side)
    if other.static_plant_flexion is None:
        return static
    own = own._replace(
        tibial_torsion=other.tibial_torsion,
        thigh_rotation=other.thigh_rotation,
        shank_rotation=other.shank_rotation,
        static_plant_flexion=other.static_plant_flexion,
        static_rotation=other.static_rotation,
    )
    return static.with_side(source.side, own)


def aligned(source: Source, known: Positions, hip: Array, measures: ConventionalMeasures) -> AlignedLeg:
    """Compute rotation offsets and widths from a knee alignment device or medial markers of the static trial.

    known : role of the marker map, such as "epicondyle_medial" -> (n, 3) position [m]; hip : (n, 3) hip
        centre [m]

    If Plug-in Gait has processed the leg, its stored offsets are kept.
    """
    side, x, notes = source.side, dict(known), []
    own, radius = measures.of(side), measures.marker_radius
    has_device = all(role in x for role in DEVICE)
    if own.static_plant_flexion is not None and not has_device:
        return AlignedLeg(x, measures, [])
    if has_device:
        device = (x[DEVICE[0]], x[DEVICE[1]], x[DEVICE[2]])
        half = 0.5 * needed(measures, side, "knee_width", source.where)
        knee = by_device(hip, device, x["thigh_lateral"], radius + half, side)
        if own.static_plant_flexion is not None:
            return AlignedLeg(x, measures, _as_stored(own.thigh_rotation or 0.0, knee.rotation, side))
        notes += [said] if (said := check_device(*device, side, source.where)) else []
        how = "the knee alignment device"
    elif "epicondyle_medial" in x:
        lateral, medial = x["epicondyle_lateral"], x["epicondyle_medial"]
        knee = by_medial_marker(hip, lateral, medial, x["thigh_lateral"], side)
        own, how = own._replace(knee_width=_width(lateral, medial, radius)), "the medial epicondyle"
    else:
        return AlignedLeg(x, measures, [])
    own = own._replace(thigh_rotation=knee.rotation)
    notes.append(f"{side} thigh rotation offset computed from {how}: {_said(knee.rotation)}")
    if "malleolus_medial" in x:
        lateral, medial = x["malleolus_lateral"], x["malleolus_medial"]
        ankle = by_medial_marker(knee.centre, lateral, medial, x["shank_lateral"], side)
        across = (knee.lateral - knee.centre, lateral - ankle.centre)
        torsion = tibial_torsion(knee.centre, ankle.centre, *across, side)
        if own.tibial_torsion and abs(own.tibial_torsion - torsion) > SAME:
            notes.append(
                f"the given {side} tibial torsion of {_said(own.tibial_torsion)} was used; "
                f"by the markers it is {_said(torsion)}"
            )
            torsion = own.tibial_torsion
        width = _width(lateral, medial, radius)
        own = own._replace(ankle_width=width, shank_rotation=ankle.rotation, tibial_torsion=torsion)
    return AlignedLeg(x, measures.with_side(side, own), notes)


def standing_foot(
    source: Source, hip: Array, markers: LegMarkers, measures: ConventionalMeasures
) -> StandingFoot:
    """Return the offsets of the foot, and its pose in the static trial.

    Stored offsets are kept. The foot is assumed flat, or taken as marked, whichever the stored offsets show
    that Plug-in Gait used; without stored offsets it is assumed flat.
    """
    own, side = measures.of(source.side), source.side
    stored = None
    if own.static_plant_flexion is not None and own.static_rotation is not None:
        stored = FootOffsets(own.static_plant_flexion, own.static_rotation)
    if markers.heel is None or not stands_still(hip, markers.toe, markers.heel):
        still = source.walk.source != source.static.source
        none = "no static trial is given; give one with --static"
        what = f"{source.where} is not a static trial, because the leg moves" if still else none
        told = (
            f"no angles of the {side} ankle and foot by the conventional gait model: the foot offsets "
            f"must be measured in a static trial, and {what}"
        )
        return StandingFoot(stored, "", [] if stored else [told])
    found = {
        how: standing_leg(hip, markers, measures, side, UP, flat=how == FLAT, where=source.where)[1]
        for how in (FLAT, AS_MARKED)
    }
    how = FLAT
    if stored is not None and _apart(found[AS_MARKED], stored) < SAME:
        how = AS_MARKED
    told = f"the {side} sole was assumed horizontal in the static trial (conventional gait model)"
    itself = how if source.walk.source == source.static.source else ""
    return StandingFoot(stored or found[how], itself, [] if stored else [told])


def stands_still(*points: Array) -> bool:
    """Return whether all given markers, (n, 3) each [m], stay in place throughout a trial."""
    seen = [x[np.isfinite(x).all(axis=1)] for x in points]
    return all(len(x) > 0 and float(np.ptp(x, axis=0).max()) < STILL for x in seen)


def _as_stored(stored: float, by_markers: float, side: str) -> list[str]:
    """Return a note if the rotation offset of the thigh by the knee alignment device, `by_markers`, differs
    from the stored one [rad]; an empty list if they agree.
    """
    if abs(stored - by_markers) <= CONTRADICTED:
        return []
    return [
        f"the {side} thigh rotation offset stored by Plug-in Gait, {_said(stored)}, was used; by the knee "
        f"alignment device it is {_said(by_markers)}"
    ]


def _width(lateral: Array, medial: Array, radius: float) -> float:
    """Return the width of a joint [m]: the mean distance of the markers on its two sides, (n, 3) each [m],
    less their radii [m].
    """
    return float(np.nanmean(np.linalg.norm(lateral - medial, axis=-1))) - 2.0 * radius


def _apart(one: FootOffsets, other: FootOffsets) -> float:
    """Return the larger of the differences between two feet's plantar flexion and rotation offsets [rad]."""
    return float(np.abs(np.subtract(one, other)).max())


def _said(angle: float) -> str:
    """Return an angle [rad] as text in degrees."""
    return f"{np.degrees(angle):.1f} degrees"
