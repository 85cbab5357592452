"""The hip centre of a leg without pelvis markers, estimated from the leg's own markers, which is less
certain than from a pelvis.

With a marker on the greater trochanter, the hip centre lies medially of it by a quarter of the distance
between both trochanters (Weinhandl, O'Connor (2010) J Biomech 43, 2633-2636). Without one, it lies on the
line of the straight leg, one shank length above the knee. The proportions are of the persons in
docs/trials.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.lab_schema import LabSide
from rtsim.files.markers.landmarks import middle_of
from rtsim.files.markers.trial import MarkerTrial, count_of
from rtsim.subjects.calibration.natural import unit
from rtsim.subjects.conventional.chord import chord_centre
from rtsim.subjects.markers.marker_names import find_markers

Array = NDArray[np.float64]

TROCHANTERS = 0.96
"""Distance of the markers on both trochanters, in lengths of the shank: of four adults, 0.81 to 1.13."""
AHEAD, ABOVE, OUTWARDS = 0.07, 1.0, 0.03
"""Distances of the hip from the knee of a straight leg, in lengths of the shank along its axes: of sixteen
legs of eight persons by the regression of a pelvis, standard deviations 0.065, 0.03 and 0.055."""
BY_TROCHANTER, BY_STRAIGHT_LEG = "greater trochanter", "straight leg"
ACCURACY_MM = {BY_TROCHANTER: 35, BY_STRAIGHT_LEG: 40}
"""Root mean square distance from the regression of a pelvis."""
STRAIGHT = np.radians(3.0)
"""Frames count as straight in which the knee is bent by no more than this beyond the straightest."""
STRAIGHTEST = 97.0
"""Percentile of the extension that is taken for the straightest, as single frames may be wrong."""
N_ROUND = 20
"""Number of iterations between hip and knee centre, which depend on each other where there is no medial
epicondyle."""
ROOT_IS_THIGH = "the thigh is the root segment, and the results contain nothing about the hip"


class LoneLeg(NamedTuple):
    """Markers of a right leg, or of a mirrored left one, each (n, 3) [m]."""

    epicondyle_lateral: Array
    epicondyle_medial: Array | None
    malleolus_lateral: Array
    malleolus_medial: Array
    trochanter: Array | None
    thigh_lateral: Array | None

    @property
    def ankle(self) -> Array:
        """Midpoint of the malleoli, (n, 3) [m]."""
        return 0.5 * (self.malleolus_lateral + self.malleolus_medial)

    @property
    def way(self) -> str:
        """Method by which the hip centre is estimated: from the marker on the greater trochanter, or along
        the line of the straight leg.
        """
        return BY_STRAIGHT_LEG if self.trochanter is None else BY_TROCHANTER


def hip_and_knee(leg: LoneLeg, knee_offset: float | None, thigh_rotation: float = 0.0) -> tuple[Array, Array]:
    """Return hip centre and medial epicondyle of a leg without pelvis markers, (n, 3) each [m].

    knee_offset : distance of the knee centre from the lateral marker [m]; None if there is a medial marker.
        Without one, epicondyle and hip centre depend on each other and are found by iteration.
    thigh_rotation : stored rotation offset from the marker on the outside of the thigh to the knee axis [rad]
    """
    if leg.epicondyle_medial is not None:
        return hip_of(leg, leg.epicondyle_medial), leg.epicondyle_medial
    assert leg.thigh_lateral is not None
    assert knee_offset is not None
    lateral = leg.epicondyle_lateral
    hip = 2.0 * lateral - leg.malleolus_lateral
    for _ in range(N_ROUND):
        centre = chord_centre(hip, lateral, leg.thigh_lateral, knee_offset, thigh_rotation)
        medial = 2.0 * centre - lateral
        hip = hip_of(leg, medial)
    return hip, medial


def hip_of(leg: LoneLeg, medial: Array) -> Array:
    """Return the hip centre (n, 3) [m] of a leg from its markers and the position of its medial epicondyle,
    medial : (n, 3) [m].
    """
    outwards = unit(leg.epicondyle_lateral - medial)
    shank = 0.5 * (leg.epicondyle_lateral + medial) - leg.ankle
    length = float(np.median(np.linalg.norm(shank, axis=1)))
    if leg.trochanter is not None:
        inwards: Array = leg.trochanter - 0.25 * TROCHANTERS * length * outwards
        return inwards
    up = unit(shank)
    right = unit(outwards - np.sum(outwards * up, axis=1, keepdims=True) * up)
    ahead = np.cross(up, right)
    hip: Array = leg.ankle + shank + length * (AHEAD * ahead + ABOVE * up + OUTWARDS * right)
    return hip


def straight_frames(leg: LoneLeg, on_thigh: Array) -> NDArray[np.bool_]:
    """Return a mask (n,) of the frames in which the knee is nearly as straight as in the straightest ones.

    on_thigh : (n, 3) - a point on the thigh above the knee, such as the mean of its markers [m]
    """
    lateral = leg.epicondyle_lateral
    up = unit(lateral - leg.malleolus_lateral)
    across = leg.malleolus_lateral - leg.malleolus_medial
    ahead = unit(np.cross(up, across))
    thigh = on_thigh - lateral
    extension = np.arctan2(np.sum(thigh * ahead, axis=1), np.sum(thigh * up, axis=1))
    seen = np.isfinite(extension)
    if not seen.any():
        return np.ones(len(extension), bool)
    straight: NDArray[np.bool_] = np.asarray(
        np.abs(extension - np.percentile(extension[seen], STRAIGHTEST)) < STRAIGHT
    )
    return straight


def middle_of_thigh(source: MarkerTrial, table: LabSide) -> Array:
    """Return the mean of the thigh markers above the epicondyles, (n, 3) [m]; NaN in frames without such a
    marker.
    """
    knee = (table.epicondyle_lateral, table.epicondyle_medial)
    wanted = [name for name in (*table.tracking.thigh, table.thigh_lateral) if name and name not in knee]
    columns = list(find_markers(dict.fromkeys(wanted), source.names).values())
    return middle_of(source.positions[:, columns])


def told_hip(way: str, n_frame: int) -> str:
    """Return the note on how the hip centre of a person without pelvis markers was estimated.

    way : method, by the trochanter's marker or along the straight leg; n_frame : number of frames with a
        straight leg
    """
    how = {
        BY_TROCHANTER: "hip centre computed from the marker on the greater trochanter",
        BY_STRAIGHT_LEG: f"hip centre assumed in line with the straight leg in {count_of(n_frame, 'frame')}",
    }[way]
    return (
        f"the pelvis has no markers: {how}, which is accurate to about {ACCURACY_MM[way]} mm; {ROOT_IS_THIGH}"
    )
