"""Estimation of a person's standing pose from markers without names.

The pose consists of the heading (the direction in which the person faces), the stature, and the middle: where
the plane of symmetry between right and left lies along the person's axis to the right. For each pose that is
tried, a line from the ankle to the hip of each leg is estimated, too.

Headings all around in steps of 5 degrees and statures in steps of 3 % are tried; for each heading one or two
positions of the middle, each halfway between markers that could mirror each other (`middles_of`). The pose
whose typical landmark positions (`landmark_places`) explain most markers is selected and refined. How certain
it is follows from the score of the best pose with a clearly different heading or stature.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from rtsim.subjects.lab_proposal.landmark_places import (
    ANKLE,
    ANKLE_AHEAD,
    HIP,
    HIP_ASIDE,
    MIDDLE,
    PLACES,
)

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

ROLES = tuple(PLACES)
LEG_ROLES = tuple(role for role in ROLES if role not in MIDDLE)
SLOTS = (*((role, side) for side in ("right", "left") for role in LEG_ROLES), *((r, "") for r in MIDDLE))
"""Landmarks on which a marker can be: a role and a side of the body; "" = in the middle of the body."""
LEG_ROWS = [ROLES.index(role) for role in LEG_ROLES]
MIDDLE_ROWS = [ROLES.index(role) for role in MIDDLE]
FRAMES = ("leg", "foot", "pelvis")
FRAME_ROWS = [FRAMES.index(place.frame) for place in PLACES.values()]
MEANS = np.array([place.mean for place in PLACES.values()])[:, None]
SPREADS = np.array([place.spread for place in PLACES.values()])[:, None]
ODDS = np.array([place.odds for place in PLACES.values()])[:, None]
SIDES = {"right": 1.0, "left": -1.0}
GATE = 14.0
"""Largest cost with which a marker may be on a landmark: squared distance from the typical position in
standard deviations, plus `odds`. Chi-square of three degrees of freedom is larger in 0.3 % of cases."""
STATURES = np.geomspace(0.8, 2.15, 34)  # [m], steps of 3 %
STATURE = (1.6, 0.25)
"""Prior mean and standard deviation of the stature, of children and adults [m]."""
TALL = (0.5, 1.15)
"""Range of the highest marker divided by the stature: from pelvis and legs alone to raised arms [1]."""
STEP = 5.0
"""Step between headings that are tried first [deg]."""
FINE = (np.arange(-3.0, 4.0, 1.0), np.linspace(-0.02, 0.02, 5), np.linspace(0.97, 1.03, 5))
"""Changes of heading [deg] and middle [m], and factors of the stature, that are tried on the best pose."""
PAIRED = (0.03, 0.045, 0.7)
"""Tolerances of markers that mirror each other: differences in height and depth, and distance [m]."""
NEAR = 0.02
"""Standard deviation of the position of the middle that two such markers show [m]."""
SAME_MIDDLE = 0.04
OTHER_WAY = 40.0
"""A heading that differs by more is another one [deg]."""
OTHER_SIZE = 0.1
"""A stature whose logarithm differs by more is another one."""
LOW = 0.055
"""Height below which markers are on the foot, in parts of the stature."""
BEHIND = 0.03
"""Distance from the rearmost marker within which the lowest is that of the heel: the others are wands."""
FOREFOOT = 0.07
"""Distance in front of the heel's marker from which a marker is on the forefoot, in parts of the stature."""
OUTSIDE = 0.16
"""Markers farther from the middle, in parts of the stature, are on no leg."""
INWARDS = -0.015
"""Distance that a leg's marker may be on the other side of the middle, in parts of the stature."""
MOST_TURNED = 0.8
"""Sine of the largest angle between a foot and the heading."""
WAIST = (0.535, 0.63, 0.115)
"""Heights of the lowest and highest pelvis marker, and largest distance from the middle, over the stature."""


class LegLine(NamedTuple):
    """Horizontal positions of the heel marker, the ankle and the hip of a leg, (2,) each: forwards, and
    outwards from the middle of the body, divided by the stature (as by StandingPose.seen, mirrored for a left
    leg); `along` is the unit direction of the foot.
    """

    heel: Array
    along: Array
    ankle: Array
    hip: Array


class StandingPose(NamedTuple):
    """Pose of a person in a static trial.

    heading : direction in which the person faces, an angle about Y [deg]
    middle : position of the body's plane of symmetry along the person's axis to the right [m]
    stature : body height [m]; score : how well the pose explains the markers
    doubt : score of the best pose with another heading or stature
    """

    heading: float
    middle: float
    stature: float
    score: float = -np.inf
    doubt: float = -np.inf

    def axes(self) -> Array:
        """Return the person's axes in ground as rows: forwards, upwards, to the right, (3, 3)."""
        angle = np.radians(self.heading)
        c, s = np.cos(angle), np.sin(angle)
        return np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])

    def seen(self, points: Array) -> Array:
        """Transform points (n, 3) [m] in ground to coordinates along the person's axes, divided by the
        stature: forwards (from the origin of ground), above the lowest point, and to the right of `middle`.
        """
        x = points @ self.axes().T
        x[:, 1] -= x[:, 1].min()
        x[:, 2] -= self.middle
        return x / self.stature


def find_pose(points: Array, allowed: Bools | None = None) -> StandingPose:
    """Estimate the standing pose of the person whose markers are the points (n, 3) [m], Y up.

    allowed : (n_slot, n) whether each marker may be on each landmark (such as "calcaneus", and a side of the
        body) by its name; None = it may be on any
    """
    allowed = np.ones((len(SLOTS), len(points)), dtype=np.bool_) if allowed is None else allowed
    tall = float(np.ptp(points[:, 1]))
    statures = STATURES[(tall / TALL[1] <= STATURES) & (tall / TALL[0] >= STATURES)]
    statures = statures if statures.size else STATURES
    coarse = []
    for heading in np.arange(0.0, 360.0, STEP):
        middles = middles_of(StandingPose(heading, 0.0, 1.0).seen(points))
        coarse.append(best_of(points, allowed, ((heading, m, s) for m in middles for s in statures)))
    best = max(coarse, key=lambda pose: pose.score)
    turned = [abs((pose.heading - best.heading + 180.0) % 360.0 - 180.0) for pose in coarse]
    doubt = max(pose.score for pose, angle in zip(coarse, turned, strict=True) if angle > OTHER_WAY)
    others = statures[np.abs(np.log(statures / best.stature)) > OTHER_SIZE]
    middles = middles_of(StandingPose(best.heading, 0.0, 1.0).seen(points))
    doubt = max(
        doubt, best_of(points, allowed, ((best.heading, m, s) for m in middles for s in others)).score
    )
    fine = (
        (best.heading + h, best.middle + m, best.stature * s)
        for h in FINE[0]
        for m in FINE[1]
        for s in FINE[2]
    )
    # the middle is that of the axes of each heading: turned about the middle of the feet, not of the room
    centre = points[:, [0, 2]].mean(axis=0)
    return best_of(points, allowed, (shifted(best, pose, centre) for pose in fine))._replace(doubt=doubt)


def shifted(
    best: StandingPose, pose: tuple[float, float, float], centre: Array
) -> tuple[float, float, float]:
    """Correct the middle of a pose for its heading, so that the distance of the middle of the body from the
    centre of the markers, along the person's axis to the right, is the same for all headings.

    best : pose for whose heading the middle is given
    pose : heading [deg], middle [m], stature [m]; centre : (2,) - centre of the markers, X and Z [m]
    """
    heading, middle, stature = pose
    before, after = best.axes()[2, [0, 2]], StandingPose(heading, 0.0, 1.0).axes()[2, [0, 2]]
    return heading, middle + float((after - before) @ centre), stature


def best_of(points: Array, allowed: Bools, poses: Iterable[tuple[float, float, float]]) -> StandingPose:
    """Return the pose that best explains the markers, among `poses` (heading [deg], middle [m], stature [m]).

    points : (n, 3) markers [m]
    allowed : (n_slot, n) whether each marker may be on each landmark (a role and a side) by its name
    """
    best = StandingPose(0.0, 0.0, 1.0)
    for heading, middle, stature in poses:
        pose = StandingPose(heading, middle, stature)
        usual = ((stature - STATURE[0]) / STATURE[1]) ** 2
        score = score_of(costs_of(pose.seen(points), allowed), best.score + usual) - usual
        if score > best.score:
            best = pose._replace(score=score)
    return best


def middles_of(x: Array) -> list[float]:
    """Return candidates for the position of the middle of the body along its axis to the right [m]: midpoints
    of pairs of markers that could mirror each other, at most the two positions with most pairs.

    x : (n, 3) markers along the person's axes: forwards, up, to the right [m]
    """
    low = x[:, 1] < 0.75 * np.ptp(x[:, 1])
    x = x[low]
    a, b = np.triu_indices(len(x), 1)
    off = np.abs(x[a] - x[b])
    alike = (off[:, 1] < PAIRED[0]) & (off[:, 0] < PAIRED[1]) & (off[:, 2] > NEAR) & (off[:, 2] < PAIRED[2])
    middles = 0.5 * (x[a, 2] + x[b, 2])[alike]
    if not middles.size:
        return [float(np.median(x[:, 2]))]
    votes = np.exp(-0.5 * ((middles[:, None] - middles) / NEAR) ** 2).sum(axis=1)
    first = float(middles[np.argmax(votes)])
    votes[np.abs(middles - first) < SAME_MIDDLE] = 0.0
    return [first, float(middles[np.argmax(votes)])] if votes.any() else [first]


def costs_of(x: Array, allowed: Bools) -> Array:
    """Return the costs (n_slot, n_marker) of assigning markers to the landmarks SLOTS (a role and a side of
    the body): squared distances from the typical positions in standard deviations, plus a cost for rare
    roles; infinite where that exceeds GATE, or the marker's name does not permit the landmark.

    x : (n_marker, 3) marker coordinates divided by the stature, from StandingPose.seen
    allowed : (n_slot, n_marker) whether the marker's name permits the landmark
    """
    costs = all_costs(x)
    costs[(costs > GATE) | ~allowed] = np.inf
    return costs


def all_costs(x: Array) -> Array:
    """Return the costs (n_slot, n) of assigning markers to all landmarks by position: squared distances from
    the typical positions in standard deviations, plus a cost for rare roles; infinite only where a marker
    cannot be on that side of the body, or no foot is found there.

    x : (n, 3) marker coordinates divided by the stature, from StandingPose.seen
    """
    right, left = (side_costs(x * np.array([1.0, 1.0, sign])) for sign in SIDES.values())
    shared = np.minimum(right[MIDDLE_ROWS], left[MIDDLE_ROWS])
    return np.vstack([right[LEG_ROWS], left[LEG_ROWS], shared])


def side_costs(x: Array) -> Array:
    """Return the costs (n_role, n) of assigning markers to the landmarks of a right leg, or a mirrored left
    one: squared distances from the typical positions in standard deviations, plus a cost for rare roles.

    x : (n, 3) marker coordinates divided by the stature, from StandingPose.seen; mirrored for a left leg
    """
    result = np.full((len(PLACES), len(x)), np.inf)
    frames = leg_frames(x)
    if frames is None:
        return result
    able = on_side(x)
    places = np.stack([frames[name][able] for name in FRAMES])[FRAME_ROWS]
    off = (places - MEANS) / SPREADS
    result[:, able] = (off**2).sum(axis=2) + ODDS
    return result


def on_side(x: Array) -> Bools:
    """Return a mask (n,) of the markers that can belong to the right leg or the right half of the pelvis, by
    their distance from the middle of the body. For a left leg x is mirrored first.

    x : (n, 3) marker coordinates divided by the stature, from StandingPose.seen
    """
    able: Bools = (x[:, 2] > INWARDS) & (x[:, 2] < OUTSIDE)
    return able


def leg_frames(x: Array) -> dict[str, Array] | None:
    """Return markers in three frames, "leg", "foot" and "pelvis", in which typical positions of landmarks are
    given, (n, 3) each; None if no foot is found on the right side.

    x : (n, 3) marker coordinates divided by the stature, from StandingPose.seen; mirrored for a left leg
    """
    line = leg_line(x, on_side(x))
    if line is None:
        return None
    return {"leg": along_leg(x, line), "foot": along_foot(x, line), "pelvis": about_hips(x, line)}


def leg_line(x: Array, able: Bools) -> LegLine | None:
    """Estimate heel, direction of the foot, ankle and hip of a leg from its markers; None if no marker is
    near the floor.

    x : (n, 3) marker coordinates divided by the stature, from StandingPose.seen; mirrored for a left leg
    able : (n,) mask of the markers that can be on this leg
    """
    low = able & (x[:, 1] < LOW)
    if not low.any():
        return None
    flat = x[:, [0, 2]]
    rear = low & (flat[:, 0] < flat[low, 0].min() + BEHIND)
    heel = flat[rear][np.argmin(x[rear, 1])]
    front = flat[low & (flat[:, 0] > heel[0] + FOREFOOT)]
    along = front.mean(axis=0) - heel if len(front) else np.array([1.0, 0.0])
    length = float(np.hypot(*along))
    along = along / length
    if abs(along[1]) > MOST_TURNED:
        along = np.array([np.sqrt(1.0 - MOST_TURNED**2), np.copysign(MOST_TURNED, along[1])])
    ankle = heel + ANKLE_AHEAD * along
    waist = (np.abs(x[:, 2]) < WAIST[2]) & (x[:, 1] > WAIST[0]) & (x[:, 1] < WAIST[1])
    ahead = 0.5 * (x[waist, 0].max() + x[waist, 0].min()) if waist.sum() > 1 else ankle[0] + 0.025
    return LegLine(heel, along, ankle, np.array([ahead - 0.008, HIP_ASIDE]))


def along_leg(x: Array, line: LegLine) -> Array:
    """Return positions of markers (n, 3) relative to the line from ankle to hip of a leg, divided by the
    stature: forwards from the line at the marker's height, this height, and outwards from the line.

    x : (n, 3) marker coordinates divided by the stature, from StandingPose.seen
    """
    part = (x[:, 1] - ANKLE) / (HIP - ANKLE)
    on_line = line.ankle + part[:, None] * (line.hip - line.ankle)
    return np.column_stack([x[:, 0] - on_line[:, 0], x[:, 1], x[:, 2] - on_line[:, 1]])


def along_foot(x: Array, line: LegLine) -> Array:
    """Return positions of markers (n, 3) relative to a foot, divided by the stature: distance from the heel
    marker along the foot, height, and distance outwards from the line along the foot through this marker.

    x : (n, 3) marker coordinates divided by the stature, from StandingPose.seen
    """
    flat = x[:, [0, 2]] - line.heel
    return np.column_stack([flat @ line.along, x[:, 1], flat @ np.array([-line.along[1], line.along[0]])])


def about_hips(x: Array, line: LegLine) -> Array:
    """Return positions of markers (n, 3) relative to the pelvis, divided by the stature: forwards from the
    hips, height, and outwards from the middle of the body.

    x : (n, 3) marker coordinates divided by the stature, from StandingPose.seen
    """
    return np.column_stack([x[:, 0] - line.hip[0], x[:, 1], x[:, 2]])


def score_of(costs: Array, least: float) -> float:
    """Return the score of the best one-to-one assignment of markers to landmarks: the sum of GATE - cost over
    the assigned pairs, larger is better. Return -inf without a search if it cannot exceed `least`.

    costs : (n_slot, n_marker) cost of each marker at each landmark
    """
    gain = np.where(np.isfinite(costs), GATE - costs, 0.0)
    if min(gain.max(axis=1).sum(), gain.max(axis=0).sum()) <= least:
        return -np.inf
    columns = gain.max(axis=0) > 0.0
    rows, picked = linear_sum_assignment(gain[:, columns], maximize=True)
    return float(gain[:, columns][rows, picked].sum())
