"""The trunk: thorax, head and arms as one segment, where shoulders and thorax are marked.

Its axis runs from the middle of the shoulder markers down to the centre of L5/S1 in the frames of the
calibration; the rule suits all laboratories, as all mark the shoulders. In movement only the tracked markers
determine its pose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.lab_schema import Trunk
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration import plausible
from rtsim.subjects.calibration.natural import Segment, known_frames
from rtsim.subjects.calibration.segment_axes import stack
from rtsim.subjects.hip_centre import pelvis_axes
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.subject import FARTHEST_M, LENGTHS

Array = NDArray[np.float64]

TRUNK, LUMBOSACRAL = "trunk", "lumbosacral"
FEWEST = 3
"""Least number of markers that determine the pose of a segment without a joint."""
FORWARDS, UPWARDS = -0.3375, 0.0085
"""Position of L5/S1 relative to the middle of the ASIS, divided by the distance between them: mean of women
(-0.340, 0.049) and men (-0.335, -0.032) in Dumas, Wojtusch (2018), Handbook of Human Motion, 147-177."""


def lumbosacral_centre(asis: Array, asis_opposite: Array, psis_middle: Array) -> Array:
    """Return the centre of L5/S1 from landmarks (n, 3) of the pelvis of a right leg, or of a mirrored left
    one, (n, 3) [m].
    """
    origin, x, y, _ = pelvis_axes(asis, asis_opposite, psis_middle)
    width = np.linalg.norm(asis - asis_opposite, axis=-1, keepdims=True)
    return origin + width * (FORWARDS * x + UPWARDS * y)


def trunk_coordinates(
    source: MarkerTrial, trunk: Trunk | None, positions: Array, lumbosacral: Array
) -> Array | None:
    """Return the natural coordinates Q (n, 4, 3) = u, rP, rD, w of the trunk, NaN where a shoulder marker is
    hidden; None if the trunk is not marked.

    positions : (n, n_marker, 3) - positions of all markers of the source, mirrored for a left leg [m]
    lumbosacral : (n, 3) - centre of L5/S1 in the same frames [m]
    rP : middle of the shoulders; rD : centre of L5/S1; w : from the opposite shoulder to that of the side;
    u : forwards, perpendicular to both
    """
    if trunk is None:
        return None
    at = find_markers((trunk.shoulder, trunk.shoulder_opposite), source.names)
    if len(at) < 2:
        return None
    own, opposite = (positions[:, at[name]] for name in (trunk.shoulder, trunk.shoulder_opposite))
    middle = 0.5 * (own + opposite)
    Q = stack(np.cross(middle - lumbosacral, own - opposite), middle, lumbosacral, own - opposite)
    return Q if known_frames(Q).any() else None


def fault_of_trunk(Q: Array, pelvis: Array | None, parameters: Segment, placed: dict[str, Array]) -> str:
    """Return the reason why the markers of a trunk are implausible; "" if they are plausible.

    Q, pelvis : (n, 4, 3) - natural coordinates of trunk and pelvis; pelvis None: left and right of the trunk
        are not checked
    placed : tracked markers in the trunk (3,) [m]
    """
    low, high = LENGTHS[TRUNK]
    if not low <= parameters.length <= high:
        return (
            f"the distance from L5/S1 to the shoulders is {parameters.length:.3f} m; allowed: {low:g} "
            f"to {high:g} m"
        )
    if pelvis is not None and np.nanmedian(np.sum(Q[:, 3] * pelvis[:, 3], axis=1)) < 0.0:
        return "right and left shoulder are exchanged: check right and left in the labels"
    if len(placed) < FEWEST or plausible.spread_of(placed) < plausible.MIN_SPREAD:
        seen = ", ".join(placed) or "none"
        return f"the trunk needs {FEWEST} tracked markers that are not on a line; tracked markers: {seen}"
    farthest = max(placed, key=lambda name: float(np.linalg.norm(placed[name])))
    away = float(np.linalg.norm(placed[farthest]))
    if away > FARTHEST_M:
        return (
            f"{farthest} is {away:.2f} m from the midpoint of the shoulders; allowed: up to {FARTHEST_M:g} m"
        )
    return ""
