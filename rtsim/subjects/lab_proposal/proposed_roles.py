"""Assignment of a role to each marker of a standing person, from the meaning of its name and from its
position.

A role is certain if name and position agree. Roles that follow from the position alone, and contradictions,
are reported for each marker. If they contradict each other, the name has priority, because a map works by
labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.lab_proposal.body_pose import GATE, SLOTS, StandingPose, all_costs, leg_frames
from rtsim.subjects.lab_proposal.landmark_places import MIDDLE, PLACES
from rtsim.subjects.lab_proposal.marker_reading import NameReading
from rtsim.subjects.lab_proposal.role_assignment import PlacedMarker, assign, place_costs

Array = NDArray[np.float64]

CERTAIN, BY_PLACE, UNSURE = "certain", "by place", "unsure"
FITS = 6.0
"""Cost of a position (see body_pose) up to which it fits the landmark well."""
CLEAR = 6.0
"""Margin (see PlacedMarker) from which a landmark is clear by position: odds of 20 to 1."""
LIKE_ANOTHER = 10.0
"""Position and name contradict each other if another landmark costs less by this much."""
POSE = 25.0
"""A pose is certain if its score exceeds those of other headings or statures by this."""
BY_NAME_ALONE = (
    "metatarsal_2",
    "metatarsal_3",
    "hallux",
    "greater_trochanter",
    "tibial_tuberosity",
    "fibula_head",
)
"""Optional roles that only a name can show, as cluster and midfoot markers lie at the same positions."""
REGIONS = {
    "thigh_lateral": ((-0.06, 0.30, 0.02), (0.06, 0.52, 0.14)),
    "shank_lateral": ((-0.06, 0.06, 0.01), (0.06, 0.26, 0.13)),
    "knee_device_axis": ((-0.08, 0.20, 0.02), (0.08, 0.36, 0.20)),
    "knee_device_1": ((-0.12, 0.18, 0.00), (0.12, 0.40, 0.20)),
    "knee_device_2": ((-0.12, 0.18, 0.00), (0.12, 0.40, 0.20)),
}
"""Ranges of positions along a leg, divided by the stature, of roles without a typical position."""
OTHER = {"right": "left", "left": "right", "": ""}
EXCHANGED = 4
"""Sides count as exchanged if the names of at least so many markers state a side, and more than 80 % of these
markers are on the other side."""
SIDEWAYS = 0.02
"""Markers nearer to the middle of the body show no side (distance divided by the stature)."""


class MarkerRole(NamedTuple):
    """The role of a marker (the landmark on which it is, such as "calcaneus"), and the side of the body that
    its label states ("" = both sides).

    certainty : CERTAIN, BY_PLACE (only the position shows the role) or UNSURE
    why : reason for the uncertainty
    """

    marker: str
    role: str
    side: str
    certainty: str = CERTAIN
    why: str = ""


class ProposedRoles(NamedTuple):
    """The roles (landmarks, such as "calcaneus") that are proposed for the markers of a static trial.

    roles : roles of the markers that have one; exchanged : whether right labels are on the left leg
    told : notes on other markers and on the whole set
    """

    roles: tuple[MarkerRole, ...]
    exchanged: bool
    told: tuple[str, ...]


def propose_roles(
    names: Sequence[str], readings: Sequence[NameReading], pose: StandingPose, points: Array
) -> ProposedRoles:
    """Assign roles (landmarks, such as "calcaneus") to the markers of a standing person, by what their names
    mean and by their positions.

    readings, points : meaning of the name, and position (n_marker, 3) [m], of each marker; pose : the
        person's standing pose
    """
    x = pose.seen(points)
    exchanged = are_exchanged(readings, x)
    costs, pairs = place_costs(x)
    twins = {**pairs, **{left: right for right, left in pairs.items()}}
    by_place = assign(np.where(costs <= GATE, costs, np.inf))
    named = named_roles(readings, costs, exchanged)
    rest = np.array([not reading.says_nothing for reading in readings])
    taken = [SLOTS.index(slot) for slot in named.values() if slot in SLOTS]
    free = np.where(costs <= GATE, costs, np.inf)
    free[:, rest] = np.inf
    free[taken] = np.inf
    told, roles = [], []
    raw = all_costs(x)
    for k, slot in named.items():
        fault = against_name(k, slot, raw, x, by_place)
        roles.append(with_side(names[k], slot, readings[k], exchanged, fault))
    for k, placed in assign(free).items():
        one = by_its_place(names, k, placed, exchanged)
        if placed.slot[1] and k not in twins and one.certainty == BY_PLACE:
            one = one._replace(
                certainty=UNSURE, why=f"{one.why}, and no marker of the other leg is its mirror image"
            )
        if placed.slot[0] not in BY_NAME_ALONE:
            roles.append(one)
        elif placed.margin >= CLEAR:
            told.append(
                f"{one.marker} might be on the {of_side((one.role, one.side))}, but its name does not say "
                "so, and it could be a cluster marker; it got no role (landmark) in the marker map"
            )
    roles = without_spare(roles)
    if pose.score - pose.doubt < POSE:
        told.append(
            "the markers do not show for certain which way the person faces or how tall the person is, so "
            "the role (landmark) of every marker is unsure"
        )
        roles = [doubted(role, "the pose of the person is not certain") for role in roles]
    if exchanged:
        told.append(
            "check the sides: the markers named right stand on the left. Either labels are exchanged, or "
            "the axes of the file are left-handed. The map follows the names and marks the side of every "
            "marker as unsure"
        )
        other = "the name says {0}, but the marker is on the other side"
        roles = [doubted(role, other.format(role.side)) if role.side else role for role in roles]
    told += twice_named(names, readings, named)
    return ProposedRoles(tuple(roles), exchanged, tuple(told))


def doubted(role: MarkerRole, why: str) -> MarkerRole:
    """Return the role (anatomical landmark) that is proposed for a marker, marked as uncertain for this
    reason, unless it already has a reason."""
    return role._replace(certainty=UNSURE, why=role.why or why)


def without_spare(roles: Sequence[MarkerRole]) -> list[MarkerRole]:
    """Remove uncertain roles (anatomical landmarks) without an effect on the leg: a sacrum beside both PSIS,
    a toe beside both metatarsals."""
    known = {(role.role, role.side) for role in roles}
    backs = {("psis", "right"), ("psis", "left")} <= known
    return [
        role
        for role in roles
        if not (
            role.certainty == UNSURE
            and (
                (role.role == "sacrum" and backs)
                or (role.role == "toe" and {(f"metatarsal_{n}", role.side) for n in (1, 5)} <= known)
            )
        )
    ]


def are_exchanged(readings: Sequence[NameReading], x: Array) -> bool:
    """Return whether most markers whose names state a side are on the other side of the body.

    x : (n, 3) marker coordinates divided by the stature: forwards, up, to the right of the body's middle
    """
    aside = [(reading.side == "right") == (place[2] > 0.0) for reading, place in zip(readings, x, strict=True)
             if reading.side and abs(place[2]) > SIDEWAYS]  # fmt: skip
    return len(aside) >= EXCHANGED and sum(aside) < 0.2 * len(aside)


def named_roles(readings: Sequence[NameReading], costs: Array, exchanged: bool) -> dict[int, tuple[str, str]]:
    """Return role (landmark, such as "calcaneus") and side of the body for each marker whose name means a
    role, by the marker's index.

    If a name may mean several roles, or several markers may have one role, their positions decide.

    costs : (n_slot, n_marker) cost of each marker at each landmark by its position
    exchanged : whether right and left labels are exchanged
    """
    found: dict[int, tuple[str, str]] = {}
    candidates = []
    for k, reading in enumerate(readings):
        side = OTHER[reading.side] if exchanged else reading.side
        for role in reading.roles:
            sides = ("",) if role in MIDDLE else (side,) if side else ("right", "left")
            for s in sides:
                cost = costs[SLOTS.index((role, s)), k] if (role, s) in SLOTS else 0.0
                candidates.append((min(float(cost), 1e6), k, (role, s)))
    for _, k, slot in sorted(candidates):
        if k not in found and slot not in found.values():
            found[k] = slot
    return found


def against_name(
    k: int, slot: tuple[str, str], costs: Array, x: Array, by_place: Mapping[int, PlacedMarker]
) -> str:
    """Return a note on how the position of marker k contradicts its name, "" if it does not.

    slot : role and side of the body that the name means; by_place : roles of the markers by their positions
    costs : (n_slot, n_marker) cost of each marker at each landmark; x : (n_marker, 3) marker coordinates
        divided by the stature: forwards, up, to the right of the middle of the body
    """
    role, side = slot
    if role in REGIONS:
        place = leg_frames(x * np.array([1.0, 1.0, 1.0 if side == "right" else -1.0]))
        low, high = REGIONS[role]
        inside = place is not None and (place["leg"][k] >= low).all() and (place["leg"][k] <= high).all()
        return "" if inside else f"the name says {role}, but the marker is somewhere else"
    if role not in PLACES:
        return f"the name says {role}, which the position cannot confirm"
    cost, nearest = float(costs[SLOTS.index(slot), k]), float(costs[:, k].min())
    stands = by_place[k].slot if k in by_place else SLOTS[int(costs[:, k].argmin())]
    if cost > GATE and nearest > GATE:
        return f"the name says {role}, but the marker is far from this landmark"
    if (cost > GATE or cost - nearest > LIKE_ANOTHER) and stands != slot:
        return f"the name says {of_side(slot)}, but the marker is at the {of_side(stands)}"
    return "" if cost <= GATE else f"the name says {role}, but the marker is far from this landmark"


def with_side(
    name: str, slot: tuple[str, str], reading: NameReading, exchanged: bool, fault: str
) -> MarkerRole:
    """Return the role of a marker whose name states a role.

    slot : role, and side of the body where the marker is
    exchanged : whether right and left labels are exchanged, so that the label states the other side
    fault : reason for doubt about the role, "" = none
    """
    role, side = slot
    side = OTHER[side] if exchanged else side
    if fault:
        return MarkerRole(name, role, side, UNSURE, fault)
    if len(reading.roles) > 1:
        others = ", ".join(sorted(reading.roles - {role}))
        return MarkerRole(
            name, role, side, BY_PLACE, f"the name can also mean {others}; the position of the marker decided"
        )
    if side and not reading.side:
        return MarkerRole(name, role, side, BY_PLACE, f"the name states no side; the marker is on the {side}")
    return MarkerRole(name, role, side)


def by_its_place(names: Sequence[str], k: int, placed: PlacedMarker, exchanged: bool) -> MarkerRole:
    """Return the role (anatomical landmark) of marker k from its position, as its name has no meaning.

    placed : the landmark nearest to it; exchanged : whether right and left labels are exchanged
    """
    role, side = placed.slot
    side = OTHER[side] if exchanged else side
    if placed.margin >= CLEAR and placed.cost <= FITS:
        return MarkerRole(
            names[k], role, side, BY_PLACE, "the name of the marker is not known; only its position was used"
        )
    if placed.rival is not None:
        why = f"{names[placed.rival]} might be on this landmark as well"
    elif placed.other is not None:
        why = f"the marker might be on the landmark {placed.other[0]} as well"
    else:
        why = "the marker is at the edge of the usual region of this landmark, and might not be on a landmark"
    return MarkerRole(names[k], role, side, UNSURE, f"the name is not known; judged by its position, {why}")


def twice_named(
    names: Sequence[str], readings: Sequence[NameReading], named: Mapping[int, tuple[str, str]]
) -> list[str]:
    """Return notes on markers whose names mean a role (a landmark, such as "calcaneus") that another marker
    has.

    readings : meaning of each name; named : marker -> role and side that it has
    """
    return [
        f"{names[k]}: by its name this marker is on the landmark {' or '.join(sorted(reading.roles))}, but "
        "another marker with such a name lies nearer to it; this marker got no role in the marker map"
        for k, reading in enumerate(readings)
        if reading.roles and k not in named
    ]


def of_side(slot: tuple[str, str]) -> str:
    """Return a role (anatomical landmark) and its side as text; slot : (role, side)."""
    return f"{slot[1]} {slot[0]}".strip()
