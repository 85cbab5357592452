"""Detection of markers that were not on their landmark in the calibration, judged by the other leg, by usual
proportions, and by the trial.

Distances between the landmarks of a leg hardly depend on posture. Their deviations r from the distances on
the other leg, or from usual ones, are r = g(d) + e, if d is the displacement of one marker and g(d) its
effect on the distances. The errors e, with covariance C, come from the placement of all markers, from posture
and skin. For each marker generalized least squares find the d that explains r best. The evidence for a
displacement is the decrease of r' C^-1 r when g(d) is subtracted from r: a likelihood ratio, distributed as
chi-square with three degrees of freedom if no marker is displaced. Deviations between the legs of one person
are small, those between persons large. So the comparison with the other leg shows whether a marker is
displaced, and the usual proportions show on which leg.

Only distances are used, so displacements perpendicular to them are detected least. Markers displaced equally
on both legs, or placed elsewhere by intention, are detected only by usual proportions, and only if far off.
Tracked markers that were displaced in only one of static trial and trial are also detected by the shape of
their segment in the trial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.runs.lab_schema import LabSide
from rtsim.files.markers.landmarks import thin
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration.landmarks import Positions, lacks_pelvis
from rtsim.subjects.calibration.trunk import TRUNK
from rtsim.subjects.markers.distances import FEWEST

Array = NDArray[np.float64]
Points = Mapping[str, Array]  # role -> (3,) or (n, 3) [m]

HIP, FIBULA = "hip", "fibula_head"
KNEE = ("epicondyle_lateral", "epicondyle_medial")
ANKLE = ("malleolus_lateral", "malleolus_medial")
FOOT = ("calcaneus", "metatarsal_1", "metatarsal_5")
PAIRS = (
    *((HIP, role) for role in KNEE),
    *combinations((*KNEE, *ANKLE), 2),
    *combinations(FOOT, 2),
    *((a, b) for a in ANKLE for b in FOOT),
    *((FIBULA, role) for role in (*KNEE, *ANKLE)),
)
"""Pairs of landmarks whose distances are compared; the hip is the hip centre of the regression."""
PUT_ON, RIGID, HINGED = 0.005, 0.003, 0.005
"""Standard deviations of a marker on its landmark, each way, by one pair of hands [m], and of distances
within a segment and across the ankle besides. With these r' C^-1 r is 2 to 16 of 16 to 21 distances on nine
sound calibrations of six labs; different hands differ by 6 to 25 mm (Della Croce et al. 2005)."""
UNLIKE, FOOT_UNLIKE, LENGTHS_UNLIKE, DISTANCES_UNLIKE = 0.022, 0.04, 0.06, 0.01
"""Standard deviations from person to person and lab to lab of a landmark, each way, in lengths of the shank:
of knee and ankle, and of the foot, where toes stand in; of thigh and foot in parts of their length; and of
distances besides, in lengths of the shank."""
USUAL: Points = {
    role: np.array(x)
    for role, x in {
        HIP: (0.0, 1.97, 0.05),
        "epicondyle_lateral": (0.0, 1.0, 0.15), "epicondyle_medial": (0.0, 1.0, -0.15),
        "malleolus_lateral": (-0.02, -0.02, 0.105), "malleolus_medial": (0.02, 0.02, -0.105),
        "calcaneus": (-0.17, -0.11, 0.0), "metatarsal_1": (0.34, -0.08, -0.09),
        "metatarsal_5": (0.27, -0.12, 0.13),
    }.items()
}  # fmt: skip
"""Markers of a right leg in standing, in lengths of the shank from the ankle's centre: X forwards, Y towards
the knee. Rounded means of these calibrations."""
EVIDENCE = 12.0
"""Evidence of a shift, by the other leg, from which it is reported: at most 7.0 on the nine sound
calibrations; 11.8 of the one among the recordings in which labels of the forefoot are exchanged on most
frames."""
ALONE = 10.0
"""Evidence of a shift, by proportions alone, from which it is reported: at most 6.0 there, except where a
knee of 170 mm is reported anyhow."""
SKIN, SKIN_OF_THIGH = 0.003, 0.007
"""Standard deviations of a marker from static trial to trial, each way, medians over the trial [m]."""
MOVED = 0.015
"""A shift between static trial and trial that is smaller is not told [m]. With the deviations above the
evidence for one is at most 5 of nine trials with their static ones, and 9 of a knee marker of one more."""
CLEAR = 2.0
"""Evidence beyond that of the other leg, or of the next landmark, from which that one is named alone."""
NEAR = 0.1
"""Prior standard deviation of a displacement along each axis [m]."""
STEPS = 8


class Leg(NamedTuple):
    """Landmarks of a right leg, or of a mirrored left one, as their markers show them.

    points : role (landmark, such as "calcaneus") -> (n, 3) [m], free of NaN; with the hip centre, `hip`, if
        the pelvis is marked
    names : role -> marker name
    """

    points: Points
    names: Mapping[str, str]


class MarkerShift(NamedTuple):
    """A displacement of the marker on the landmark `role`, with its size, and its evidence: how much it
    reduces the sum of the squared deviations of distances, weighted by their inverse covariance.
    """

    role: str
    evidence: float
    size: float  # [m]


def leg_of(table: LabSide, known: Positions, hip: Array) -> Leg:
    """Return the landmarks of a leg whose distances can be compared with those of another leg, in the
    calibration's frames.
    """
    names = {role: name for role, name in table.roles.items() if role in known}
    points = {role: known[role] for role in (*KNEE, *ANKLE, *FOOT, FIBULA) if role in known}
    return Leg(points if lacks_pelvis(known) else {HIP: hip, **points}, names)


def notes_on_places(legs: Mapping[str, Leg]) -> list[str]:
    """Return notes on markers that are not on their landmarks; legs : side -> leg, for one or both sides."""
    if len(legs) == 1:
        return [said for leg in legs.values() for said in alone(leg)]
    if len(legs) != 2:
        return []
    right, left = legs["right"], legs["left"]
    pairs = pairs_of(right.points.keys() & left.points.keys())
    off = lengths(right.points, pairs) - lengths(left.points, pairs)
    found = shifts(off, middle(left.points), pairs, between_legs(left, pairs), NEAR)
    if not found or found[0].evidence < EVIDENCE:
        return []
    likely = [shift for shift in found if shift.evidence > found[0].evidence - CLEAR]
    return [sentence(likely[0], likely[1:], legs, dict(zip(pairs, off.tolist(), strict=True)))]


def sentence(
    worst: MarkerShift,
    others: Sequence[MarkerShift],
    legs: Mapping[str, Leg],
    off: Mapping[tuple[str, str], float],
) -> str:
    """Return a note on the marker that is not on its landmark, found by comparison with the other leg.

    worst : the most probable displacement; others : displacements that are nearly as probable
    legs : side -> leg
    off : pair of landmarks -> difference of their distance between the legs [m]
    """
    role, by_side = worst.role, {side: evidence_alone(leg, worst.role) for side, leg in legs.items()}
    odd = max(by_side, key=lambda side: by_side[side])
    sure = by_side[odd] > min(by_side.values()) + CLEAR
    sides = [odd] if sure else list(legs)
    names = " or ".join(legs[side].names[role] for side in sides)
    if others:
        names += f" (or {', '.join(legs[side].names[o.role] for o in others for side in sides)})"
    pair = max((pair for pair in off if role in pair), key=lambda pair: abs(off[pair]))
    other = pair[0] if pair[1] == role else pair[1]
    found = {side: 1e3 * float(lengths(leg.points, [pair])[0]) for side, leg in legs.items()}
    whose = f"the position on the other leg differs by about {1e3 * worst.size:.0f} mm"
    if sure:
        whose += ", and the usual proportions of a leg show this too"
    return (
        f"check {names}: {whose}; the distance from {role} to {other} is {found['right']:.0f} mm on "
        f"the right and {found['left']:.0f} mm on the left; is a marker not on its landmark?"
    )


def alone(leg: Leg) -> list[str]:
    """Return a note if a marker of a single leg is not on its landmark, judged by the usual proportions of a
    leg.
    """
    found = by_proportions(leg)
    if not found or found[0].evidence < ALONE:
        return []
    likely = [shift for shift in found if shift.evidence > found[0].evidence - CLEAR]
    names = " or ".join(leg.names[shift.role] for shift in likely)
    return [
        f"check {names}: by the usual proportions of a leg, the marker lies about "
        f"{1e3 * found[0].size:.0f} mm off {' or '.join(shift.role for shift in likely)}; is the "
        "marker not on its landmark, or does the leg have another shape?"
    ]


def notes_on_moves(markers: Mapping[str, Points], trial: MarkerTrial) -> list[str]:
    """Return notes on markers whose place on their segment differs between a trial and its static trial.

    markers : segment -> name in the trial -> (3,) in the segment [m]
    """
    notes = []
    for segment, points in markers.items():
        tracks = {name: thin(trial.positions)[:, trial.names.index(name)] for name in points}
        pairs = [pair for pair in combinations(points, 2) if seen_together(tracks, pair)]
        if segment == TRUNK or len(roles_of(pairs)) < FEWEST:  # arms and head move the markers of a trunk
            continue
        skin = SKIN_OF_THIGH if segment == "thigh" else SKIN
        slopes = jacobian(points, pairs, roles_of(pairs))
        covariance = skin**2 * slopes @ slopes.T + RIGID**2 * np.eye(len(pairs))
        worst = shifts(lengths(tracks, pairs) - lengths(points, pairs), points, pairs, covariance, NEAR)[0]
        if worst.evidence >= EVIDENCE and worst.size >= MOVED:
            notes.append(
                f"check {worst.role}: relative to the other markers of the {segment}, this marker "
                f"differs by about {1e3 * worst.size:.0f} mm between the trial and the static trial; "
                "was the marker re-applied, or is it not on its landmark in one of the trials?"
            )
    return notes


def seen_together(tracks: Points, pair: tuple[str, str]) -> bool:
    """Return whether enough frames show both markers of a pair."""
    both = np.isfinite(tracks[pair[0]] + tracks[pair[1]]).all(axis=1)
    return bool(both.sum() >= FEWEST)


def evidence_alone(leg: Leg, role: str) -> float:
    """Return how much of a leg's deviation from usual proportions a displacement of the marker of one
    landmark, `role`, explains (decrease of the weighted sum of squares); 0 for landmarks without usual
    proportions.
    """
    return next((shift.evidence for shift in by_proportions(leg) if shift.role == role), 0.0)


def by_proportions(leg: Leg) -> list[MarkerShift]:
    """Return displacements of the markers of a leg relative to a typical leg of its size, the most probable
    first.
    """
    pairs = pairs_of(leg.points.keys() & USUAL.keys())
    usual, slopes = lengths(USUAL, pairs), jacobian(USUAL, pairs, roles_of(pairs))
    of_role = [FOOT_UNLIKE if role in FOOT else UNLIKE for role in roles_of(pairs)]
    covariance = (slopes * np.repeat(of_role, 3) ** 2) @ slopes.T + DISTANCES_UNLIKE**2 * np.eye(len(pairs))
    for group in ((HIP,), FOOT):  # long thighs, short feet
        part = usual * [bool({a, b} & {*group}) for a, b in pairs]
        covariance += LENGTHS_UNLIKE**2 * np.outer(part, part)
    found = lengths(leg.points, pairs)
    weighted = np.linalg.solve(covariance, usual)
    scale = float(weighted @ found / (weighted @ usual))
    covariance += np.outer(usual, usual)  # the size itself says nothing
    likely = shifts(found / scale - usual, USUAL, pairs, covariance, NEAR / scale)
    return [shift._replace(size=scale * shift.size) for shift in likely]


def between_legs(leg: Leg, pairs: Sequence[tuple[str, str]]) -> Array:
    """Return the covariance (n, n) [m^2] that the n distances between pairs of landmarks, right minus left
    leg, have if no marker is displaced: from the placement of every marker, posture and skin.

    leg : one of the legs; pairs : the two landmarks of each distance
    """
    slopes = jacobian(middle(leg.points), pairs, roles_of(pairs))
    hinged = [bool({*pair} & {*ANKLE} and {*pair} & {*FOOT}) for pair in pairs]
    of_distance = np.diag(np.where(hinged, HINGED, RIGID) ** 2)
    return 2.0 * (PUT_ON**2 * slopes @ slopes.T + of_distance)


def shifts(
    off: Array, points: Points, pairs: Sequence[tuple[str, str]], covariance: Array, near: float
) -> list[MarkerShift]:
    """Return for each marker the displacement that best explains the deviations `off` (n,) [m] of distances
    from the expected ones, with its evidence (see MarkerShift); the most probable first.

    points : landmark, such as "calcaneus" -> (3,) expected position [m]; pairs : the landmarks of each
        distance
    covariance : (n, n) of the deviations without a displacement [m^2]
    near : prior standard deviation of a displacement along each axis [m]
    """
    weights = np.linalg.inv(covariance)
    found = []
    for role in roles_of(pairs):
        if role == HIP:
            continue
        d, moved = np.zeros(3), dict(points)
        for _ in range(STEPS):
            moved[role] = points[role] + d
            gap = off - lengths(moved, pairs) + lengths(points, pairs)
            slopes = jacobian(moved, pairs, [role])
            normal = slopes.T @ weights @ slopes + np.eye(3) / near**2
            d = d + np.linalg.solve(normal, slopes.T @ weights @ gap - d / near**2)
        moved[role] = points[role] + d
        gap = off - lengths(moved, pairs) + lengths(points, pairs)
        evidence = float(off @ weights @ off - gap @ weights @ gap - d @ d / near**2)
        found.append(MarkerShift(role, evidence, float(np.linalg.norm(d))))
    return sorted(found, key=lambda shift: -shift.evidence)


def pairs_of(roles: set[str]) -> list[tuple[str, str]]:
    """Return the pairs of landmarks whose distances are compared, if both landmarks are among `roles`."""
    return [pair for pair in PAIRS if roles.issuperset(pair)]


def roles_of(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return the landmarks in a list of pairs of landmarks, each once."""
    return list(dict.fromkeys(role for pair in pairs for role in pair))


def lengths(points: Points, pairs: Sequence[tuple[str, str]]) -> Array:
    """Return the distances between the landmarks of each pair, (n_pair,) [m], medians over the frames if
    there are several.
    """
    return np.array([np.nanmedian(np.linalg.norm(points[a] - points[b], axis=-1)) for a, b in pairs])


def middle(points: Points) -> dict[str, Array]:
    """Return the positions (3,) [m] of landmarks in the middle frame of a calibration.

    points : landmark -> (n, 3) [m]
    """
    return {role: x[len(x) // 2] for role, x in points.items()}


def jacobian(points: Points, pairs: Sequence[tuple[str, str]], roles: Sequence[str]) -> Array:
    """Return the derivatives of the distances with respect to the positions of the landmarks, (n_pair, 3
    n_role).
    """
    slopes = np.zeros((len(pairs), len(roles), 3))
    for row, (a, b) in zip(slopes, pairs, strict=True):
        along = points[a] - points[b]
        along = along / np.linalg.norm(along)
        for role, sign in ((a, 1.0), (b, -1.0)):
            if role in roles:
                row[roles.index(role)] = sign * along
    return slopes.reshape(len(pairs), -1)
