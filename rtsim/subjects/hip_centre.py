"""Hip joint centres from the pelvis by published regressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.subjects.calibration.natural import unit
from rtsim.subjects.conventional.measures import ConventionalMeasures, check_measures, stored_measures

Array = NDArray[np.float64]

UNKNOWN = ConventionalMeasures()
BASE_PLATE = 0.002
"""Usual thickness of the base plate between a marker's sphere and the skin [m]."""
DAVIS_THETA, DAVIS_BETA = 0.5, 0.314
"""Angles of the hip in the pelvis [rad], as Plug-in Gait rounds 28.4 and 18 degrees."""


class Predictors(NamedTuple):
    """Predictors of a regression for a pelvis and one leg [mm]; unknown lengths are NaN.

    width : (n, 1) - distance between the markers on both ASIS in each frame
    depth : (n, 1) - distance from mid-PSIS to mid-ASIS in each frame: between the bony landmarks under the
        markers or, for a regression whose `of_markers` is true, between the markers
    leg_length : length of the leg; mean_leg_length : mean length of both legs; asis_trochanter : distance
        from ASIS to trochanter
    inter_asis : distance between both ASIS as stored with the trial, else the mean of `width` over the frames
    marker_radius : radius of the markers
    """

    width: Array
    depth: Array
    leg_length: float
    mean_leg_length: float
    asis_trochanter: float
    inter_asis: float
    marker_radius: float


# -> hip from mid-ASIS [mm]: forwards, upwards, outwards, each (n, 1)
Regression = Callable[[Predictors], tuple[Array, Array, Array]]


class HipRegression(NamedTuple):
    """A published regression of the hip centre from measures of pelvis and leg.

    of : the function that computes it; source : publication
    needs_leg : whether it needs the length of the leg
    of_markers : whether the pelvic depth that it needs, and the position of the hip centre that it returns,
        refer to the markers on ASIS and PSIS, not to the bony landmarks under them
    """

    source: str
    of: Regression
    needs_leg: bool = False
    of_markers: bool = False


def harrington2007(p: Predictors) -> tuple[Array, Array, Array]:
    """Regression of Harrington et al. (2007) by pelvic depth and width, from magnetic resonance images of
    adults, healthy children and children with cerebral palsy. Returns the position of the hip centre relative
    to the middle of the ASIS: forwards, upwards, outwards, (n, 1) each [mm].
    """
    return -0.24 * p.depth - 9.9, -0.30 * p.width - 10.9, 0.33 * p.width + 7.3


def harrington2007_full(p: Predictors) -> tuple[Array, Array, Array]:
    """Regression of Harrington et al. (2007) with the best predictors of each direction, including the leg's
    length. Returns the position of the hip centre relative to the middle of the ASIS: forwards, upwards,
    outwards, (n, 1) each [mm].
    """
    upwards = -0.16 * p.width - 0.04 * p.leg_length - 7.1
    return -0.24 * p.depth - 9.9, upwards, 0.28 * p.depth + 0.16 * p.width + 7.9


def sangeux2015(p: Predictors) -> tuple[Array, Array, Array]:
    """Regression of Sangeux (2015) by the pelvic width alone, for a pelvis without PSIS markers. Returns the
    position of the hip centre relative to the middle of the ASIS: forwards, upwards, outwards, (n, 1) each
    [mm].
    """
    return -0.138 * p.width - 10.4, -0.305 * p.width - 10.9, 0.33 * p.width + 7.3


def sangeux2015_leg(p: Predictors) -> tuple[Array, Array, Array]:
    """Regression of Sangeux (2015) by the length of the leg alone, where the ASIS are hard to find. Returns
    the position of the hip centre relative to the middle of the ASIS: forwards, upwards, outwards, (n, 1)
    each [mm].
    """
    still = np.ones_like(p.width)
    forwards, upwards = -0.041 * p.leg_length - 6.3, -0.083 * p.leg_length - 7.9
    return forwards * still, upwards * still, (0.0874 * p.leg_length + 5.4) * still


def hara2016(p: Predictors) -> tuple[Array, Array, Array]:
    """Regression of Hara et al. (2016) by the length of the leg alone, for adults and children. Returns the
    position of the hip centre relative to the middle of the ASIS: forwards, upwards, outwards, (n, 1) each
    [mm].
    """
    still = np.ones_like(p.width)
    forwards, upwards = 11.0 - 0.063 * p.leg_length, -9.0 - 0.078 * p.leg_length
    return forwards * still, upwards * still, (8.0 + 0.086 * p.leg_length) * still


def bell1990(p: Predictors) -> tuple[Array, Array, Array]:
    """Regression of Bell et al. (1990) for adults: the hip centre lies 14 % of the pelvic width inwards from
    the ASIS, 19 % backwards and 30 % downwards. Returns its position relative to the middle of the ASIS:
    forwards, upwards, outwards, (n, 1) each [mm].
    """
    return -0.19 * p.width, -0.30 * p.width, 0.36 * p.width


def bell1989(p: Predictors) -> tuple[Array, Array, Array]:
    """Regression of Bell et al. (1989) for adults: the hip centre lies 14 % of the pelvic width inwards from
    the ASIS, 22 % backwards and 30 % downwards. Returns its position relative to the middle of the ASIS:
    forwards, upwards, outwards, (n, 1) each [mm].
    """
    return -0.22 * p.width, -0.30 * p.width, 0.36 * p.width


def usual_trochanter(leg_length: float) -> float:
    """Return the usual distance from the ASIS back to the trochanter for a length of the leg, if it was not
    measured [mm].
    """
    return 0.1288 * leg_length - 48.56


def davis1991(p: Predictors) -> tuple[Array, Array, Array]:
    """Regression of Davis et al. (1991) from radiographs of 25 hips, in the form that Plug-in Gait uses.
    Returns the position of the hip centre relative to the middle of the ASIS: forwards, upwards, outwards,
    (n, 1) each [mm].
    """
    reach = 0.115 * p.mean_leg_length - 15.3
    back = p.marker_radius + (
        p.asis_trochanter if p.asis_trochanter == p.asis_trochanter else usual_trochanter(p.leg_length)
    )
    along = reach * np.cos(DAVIS_THETA)
    forwards = along * np.sin(DAVIS_BETA) - back * np.cos(DAVIS_BETA)
    upwards = -along * np.cos(DAVIS_BETA) - back * np.sin(DAVIS_BETA)
    outwards = 0.5 * p.inter_asis - reach * np.sin(DAVIS_THETA)
    still = np.ones_like(p.width)
    return forwards * still, upwards * still, outwards * still


MOST_OFF_TROCHANTER = 40.0
"""A distance that differs by more from the usual one for the length of the leg was probably measured wrongly
[mm]. A choice."""
USUAL_INTER_ASIS = (0.7, 1.1)
"""Usual ratio of the stored distance of both ASIS to that of their markers, which on a soft belly are
farther apart: of three persons in two labs 0.86 to 1.00 [1]."""
HARRINGTON, SANGEUX = (
    "Harrington et al. (2007) J Biomech 40, 595-602",
    "Sangeux (2015) Gait Posture 42, 402-405",
)
REGRESSIONS = {
    "harrington2007": HipRegression(HARRINGTON, harrington2007),
    "bell1990": HipRegression("Bell et al. (1990) J Biomech 23, 617-621", bell1990),
    "bell1989": HipRegression("Bell et al. (1989) Hum Mov Sci 8, 3-16", bell1989),
    "davis1991": HipRegression("Davis et al. (1991) Hum Mov Sci 10, 575-587", davis1991, True, True),
    "harrington2007_full": HipRegression(HARRINGTON, harrington2007_full, True),
    "hara2016": HipRegression("Hara et al. (2016) Sci Rep 6, 37707", hara2016, True),
    "sangeux2015": HipRegression(SANGEUX, sangeux2015),
    "sangeux2015_leg": HipRegression(SANGEUX, sangeux2015_leg, True),
}


def find_regression(name: str) -> HipRegression:
    """Return the regression with this name; ConfigError lists the available names."""
    try:
        return REGRESSIONS[name]
    except KeyError:
        raise ConfigError(
            f"unknown regression {name!r}", where="hip centre", allowed=", ".join(REGRESSIONS)
        ) from None


def pelvis_axes(asis_right: Array, asis_left: Array, psis_middle: Array) -> tuple[Array, Array, Array, Array]:
    """Return the origin between the ASIS (n, 3) [m] and the axes (n, 3) of the pelvis: X forwards in the
    plane of the ASIS and psis_middle, Y upwards, Z from the left to the right ASIS.
    """
    origin = 0.5 * (asis_right + asis_left)
    z = unit(asis_right - asis_left)
    y = unit(np.cross(z, origin - psis_middle))
    return origin, np.cross(y, z), y, z


def hip_centres(
    asis_right: Array,
    asis_left: Array,
    psis_middle: Array,
    name: str = "harrington2007",
    measures: ConventionalMeasures = UNKNOWN,
    standoff: float = 0.0,
) -> tuple[Array, Array]:
    """Return right and left hip centre, (n, 3) each [m], of a pelvis in right-handed axes.

    asis_right, asis_left, psis_middle : (n, 3) - markers on both ASIS, and the middle of the PSIS [m]
    name : name of the regression
    measures : lengths of the legs and offsets, for the regressions that use them
    standoff : distance from the skin to the centre of a marker, its radius plus base plate [m]. The bone lies
        this far behind the ASIS markers and in front of the PSIS markers, which regressions from images do
        not include; Plug-in Gait's own regression includes the radius and ignores `standoff`. ConfigError for
        a regression that needs the length of a leg if none is known.
    """
    origin, x, y, z = pelvis_axes(asis_right, asis_left, psis_middle)
    across, ahead = asis_right - asis_left, origin - psis_middle
    width, depth = (1e3 * np.linalg.norm(v, axis=-1, keepdims=True) for v in (across, ahead))
    regression = find_regression(name)
    skin = 0.0 if regression.of_markers else 1e3 * standoff
    depth = depth - 2.0 * skin
    centres = []
    for side, sign in (("right", 1.0), ("left", -1.0)):
        predictors = _predictors(width, depth, measures, side, name)
        forwards, upwards, outwards = (1e-3 * c for c in regression.of(predictors))
        middle = origin + (forwards - 1e-3 * skin) * x + upwards * y
        centres.append(middle + sign * outwards * z)
    return centres[0], centres[1]


def hip_measures(stored: Mapping[str, float], name: str, label_side: str, where: str) -> ConventionalMeasures:
    """Return the measures stored with a trial, with those of the leg as the right ones; they are checked
    where they are used.

    name : name of the regression; where : the file, for a ConfigError
    label_side : right or left, as the markers of the leg are labelled: measures are stored by these names, as
        joint widths are, also if the markers are on the other side of the body
    """
    measures = stored_measures(stored)
    if find_regression(name).needs_leg:
        check_measures(measures, where)
    return measures.mirrored if label_side == "left" else measures


def notes_on_lengths(measures: ConventionalMeasures, name: str, side: str) -> list[str]:
    """Return notes if the length of another leg, or an estimate, replaces the leg length that a regression
    needs.

    measures : of the person, with those of the leg as the right ones; name : name of the regression; side :
        side of the leg by which its measures are named
    """
    own, other = measures.right.leg_length, measures.left.leg_length
    if not find_regression(name).needs_leg or (own is None) == (other is None):
        return []
    opposite = "left" if side == "right" else "right"
    if own is None:
        return [
            f"no {side} leg length is known: the hip centre was computed from the length of the "
            f"{opposite} leg; give --leg-length RIGHT,LEFT"
        ]
    if name != "davis1991":
        return []
    return [
        f"no {opposite} leg length is known: the {side} hip centre was computed from the length of "
        f"the {side} leg alone, although Davis uses the mean of both legs; give --leg-length "
        "RIGHT,LEFT"
    ]


def notes_on_pelvis(measures: ConventionalMeasures, side: str, apart: float) -> list[str]:
    """Return notes on measures of the pelvis used by Davis' regression that do not match this person.

    side : side of the leg; apart : distance between the markers on both ASIS [m]
    """
    own, notes = measures.of(side), []
    if own.asis_trochanter is not None and own.leg_length is not None:
        stored, usual = 1e3 * own.asis_trochanter, usual_trochanter(1e3 * own.leg_length)
        if abs(stored - usual) > MOST_OFF_TROCHANTER:
            notes.append(
                f"check the {side} distance from the ASIS to the trochanter: the stored value is "
                f"{stored:.3g} mm, but {usual:.0f} mm is usual if the leg is {1e3 * own.leg_length:.4g} mm "
                "long; is the value in another unit?"
            )
    if measures.inter_asis is not None and np.isfinite(apart):
        low, high = USUAL_INTER_ASIS
        if not low <= measures.inter_asis / apart <= high:
            notes.append(
                "check the distance between both ASIS: the stored value is "
                f"{1e3 * measures.inter_asis:.4g} mm, but the ASIS markers are {1e3 * apart:.0f} mm "
                "apart"
            )
    return notes


def _predictors(
    width: Array, depth: Array, measures: ConventionalMeasures, side: str, name: str
) -> Predictors:
    """Return what a regression of the hip centre needs of one leg; an unknown length of the leg is replaced
    by that of the other one, and ConfigError is raised if both are unknown but needed.

    width, depth : (n, 1) distances between the ASIS markers, and from mid-PSIS to mid-ASIS [mm]
    name : name of the regression
    """
    own, mean = measures.of(side), measures.mean_leg_length
    if mean is None and REGRESSIONS[name].needs_leg:
        raise ConfigError(
            f"the hip regression {name} needs the length of the leg, from the ASIS to the medial malleolus",
            where="hip centre",
            allowed="without it: " + ", ".join(n for n, r in REGRESSIONS.items() if not r.needs_leg),
            remedy="give --leg-length, or a file in which LLegLength and RLegLength are stored",
        )

    def in_mm(x: float | None) -> float:
        return np.nan if x is None else 1e3 * x

    inter_asis = in_mm(measures.inter_asis)
    if measures.inter_asis is None and np.isfinite(width).any():
        inter_asis = float(np.nanmean(width))
    return Predictors(
        width=width,
        depth=depth,
        leg_length=in_mm(mean if own.leg_length is None else own.leg_length),
        mean_leg_length=in_mm(mean),
        asis_trochanter=in_mm(own.asis_trochanter),
        inter_asis=inter_asis,
        marker_radius=1e3 * measures.marker_radius,
    )
