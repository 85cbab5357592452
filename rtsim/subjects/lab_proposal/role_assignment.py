"""The landmark of each marker by its position alone, and how much more the best other assignment costs.

Two markers that are mirror images of each other are on the same landmark of both legs, so both get the mean
of their costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from rtsim.subjects.lab_proposal.body_pose import (
    GATE,
    LEG_ROLES,
    SIDES,
    SLOTS,
    all_costs,
    leg_frames,
    on_side,
)

Array = NDArray[np.float64]

MIRRORED = 0.03
"""Largest distance between a marker and the mirror image of the other one of a pair, over the stature."""
ON_FOOT, ON_PELVIS = 0.07, 0.5
"""Heights below which positions are compared along the foot, and above which about the hips."""


class PlacedMarker(NamedTuple):
    """A marker with the landmark at whose typical position it lies.

    slot : the landmark, as role and side; cost : squared distance from its typical position in standard
        deviations
    margin : additional total cost of the best assignment in which this marker is not on this landmark
    other, rival : in that assignment, the landmark of this marker, and the index of the marker that is on
        this landmark instead; None = none
    """

    slot: tuple[str, str]
    cost: float
    margin: float
    other: tuple[str, str] | None
    rival: int | None


def place_costs(x: Array) -> tuple[Array, dict[int, int]]:
    """Return the costs (n_slot, n_marker) of assigning markers to landmarks by position, and the pairs of
    markers that are mirror images of each other: index of the right one -> index of the left one. On the same
    landmark of both legs, the two markers of a pair get the mean of their costs.

    x : (n_marker, 3) marker coordinates divided by the stature: forwards, up, to the right of the body's
        middle
    """
    costs = all_costs(x)
    pairs = mirrored(x)
    n = len(LEG_ROLES)
    for right, left in pairs.items():
        mean = 0.5 * (costs[:n, right] + costs[n : 2 * n, left])
        costs[:n, right] = costs[n : 2 * n, left] = mean
    return costs, pairs


def mirrored(x: Array) -> dict[int, int]:
    """Return the pairs of markers of the right and the left leg that are mirror images of each other, as a
    map from the index of the right marker to that of the left one.

    x : (n, 3) marker coordinates divided by the stature: forwards, up, to the right of the body's middle
    """
    places, rows = [], []
    for sign in SIDES.values():
        own = x * np.array([1.0, 1.0, sign])
        frames = leg_frames(own)
        if frames is None:
            return {}
        height = own[:, 1, None]
        place = np.where(
            height < ON_FOOT, frames["foot"], np.where(height > ON_PELVIS, frames["pelvis"], frames["leg"])
        )
        there = np.flatnonzero(on_side(own) & (own[:, 2] > 0.0))
        places.append(place[there])
        rows.append(there)
    if not rows[0].size or not rows[1].size:
        return {}
    apart = np.linalg.norm(places[0][:, None] - places[1][None], axis=2)
    nearest = apart.argmin(axis=1)
    return {
        int(rows[0][k]): int(rows[1][m])
        for k, m in enumerate(nearest)
        if apart[k, m] < MIRRORED and apart[:, m].argmin() == k
    }


def assign(costs: Array) -> dict[int, PlacedMarker]:
    """Assign landmarks to markers one to one, so that the sum of GATE - cost over the assigned pairs is
    largest; GATE is the largest cost with which a pair may be assigned. Return for each assigned marker, by
    its index, the landmark and how clear the assignment is.

    costs : (n_slot, n_marker) cost of each marker at each landmark
    """
    gain = np.where(costs <= GATE, GATE - costs, 0.0)
    best = solved(gain)
    backs = [slot for slot, (role, _) in enumerate(SLOTS) if role == "psis"]
    if sum(slot in backs for slot in best.values()) == 1:  # of no use alone: it may be the sacrum
        gain[backs] = 0.0
        best = solved(gain)
    total = sum(gain[slot, marker] for marker, slot in best.items())
    result = {}
    for marker, slot in best.items():
        without = gain.copy()
        without[slot, marker] = 0.0
        second = solved(without)
        margin = total - sum(without[s, m] for m, s in second.items())
        rival = next((m for m, s in second.items() if s == slot), None)
        other = SLOTS[second[marker]] if marker in second else None
        result[marker] = PlacedMarker(SLOTS[slot], float(costs[slot, marker]), float(margin), other, rival)
    return result


def solved(gain: Array) -> dict[int, int]:
    """Return the landmark (row) of each marker (column) in the one-to-one assignment with the largest sum of
    gains.

    gain : (n_slot, n_marker); pairs without a positive gain are left out
    """
    rows, columns = linear_sum_assignment(gain, maximize=True)
    return {int(m): int(s) for s, m in zip(rows, columns, strict=True) if gain[s, m] > 0.0}
