"""Which foot bears which plate, once more with sets and vectors: rules of kernels/plates/plate_assignment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.plates.plate_assignment import (
    BEARS,
    CHANGED,
    FAR,
    NONE,
    OFF_PLATE,
    TWO_FEET,
    UNMEASURED,
    UNSEEN,
    UNSURE,
    AssignmentRules,
)
from kernels.plates.plate_contact import LOADED, NOT_MEASURED, Plates

Array = NDArray[np.floating]


class Assigner:
    """Follows the feet from frame to frame."""

    def __init__(self, plates: Plates, rules: AssignmentRules, n_foot: int) -> None:
        self.plates, self.rules, self.n_foot = plates, rules, n_foot
        n_plate = len(plates.centre)
        self.bearer: list[int | None] = [None] * n_plate
        self.rival = [0] * n_plate
        self.former: Array | None = None

    def step(self, force: Array, centre: Array, loaded: Array, feet: Array, dt: float) -> tuple[Array, Array]:
        """Shares (n_plate, n_foot) and status (n_plate,) of one frame."""
        known = self.former is not None and dt > 0.0
        self.speed = (feet - self.former) / dt if known else np.full(feet.shape, np.nan)
        self.former = feet.copy()
        share = np.full((len(self.plates.centre), self.n_foot), NONE)
        status = np.zeros(len(self.plates.centre), int)
        for p in range(len(status)):
            if loaded[p] == LOADED:
                status[p] = self._plate(p, force[p], centre[p], feet, share[p])
                continue
            self.bearer[p], self.rival[p] = None, 0
            if loaded[p] == NOT_MEASURED:
                status[p] = UNMEASURED
                self._spoil(p, feet, share[p])
        idle = [f for f in range(self.n_foot) if not (share[:, f] == BEARS).any()]
        for p in np.flatnonzero(status & FAR):
            away = min(self._distance(p, centre[p], foot) for foot in feet)
            if away > self.rules.stray + self.rules.moment / float(self.plates.axes[p, 2] @ force[p]):
                share[p, [f for f in idle if min(self._height(p, x) for x in feet[f]) <= self.rules.low]] = (
                    UNSURE
                )
        return share, status

    def _plate(self, p: int, force: Array, centre: Array, feet: Array, share: Array) -> int:
        rules = self.rules
        blur = rules.moment / float(self.plates.axes[p, 2] @ force)
        distance = [self._distance(p, centre, foot) for foot in feet]
        seen = [f for f in range(self.n_foot) if not np.isnan(distance[f])]
        status = OFF_PLATE if self._beyond(p, centre) > rules.edge else 0
        nearest = min(seen, key=lambda f: distance[f]) if seen else None
        pairs = [(f, g) for f in range(self.n_foot) for g in range(f)]
        together = any(self._together(p, centre, feet, f, g, distance, blur) for f, g in pairs)
        chosen = self._choose(p, nearest, distance, blur)
        if together:
            self._spoil(p, feet, share)
            return status | TWO_FEET
        if chosen is not None:
            if self.bearer[p] not in (None, chosen):
                status |= CHANGED
            self.bearer[p] = chosen
            share[chosen] = BEARS
            return status
        for f in range(self.n_foot):
            blamed = f == nearest and len(seen) == self.n_foot
            if blamed or f not in seen or distance[f] <= rules.keep + blur:
                share[f] = UNSURE
        return status | (UNSEEN if len(seen) < self.n_foot else FAR)

    def _choose(self, p: int, nearest: int | None, distance: list[float], blur: float) -> int | None:
        old, rules = self.bearer[p], self.rules
        if nearest is None:
            return None
        if old is None or not distance[old] <= rules.keep + blur:
            self.rival[p] = 0
            possible = [f for f, away in enumerate(distance) if away <= rules.reach + blur]
            return nearest if distance[nearest] <= rules.reach or possible == [nearest] else None
        if nearest == old or not distance[nearest] + rules.nearer + blur < distance[old]:
            self.rival[p] = 0
            return old
        self.rival[p] += 1
        if self.rival[p] < rules.patience:
            return old
        self.rival[p] = 0
        return nearest

    def _together(
        self, p: int, centre: Array, feet: Array, f: int, g: int, distance: list[float], blur: float
    ) -> bool:
        if not np.isfinite(self.plates.half[p]).all():
            to_f, to_g = feet[f].mean(axis=0) - centre, feet[g].mean(axis=0) - centre
            cosine = to_f @ to_g / (np.linalg.norm(to_f) * np.linalg.norm(to_g))
            if not (min(distance[f], distance[g]) > self.rules.reach + blur and cosine < -np.sqrt(0.5)):
                return False
        for k in range(2):
            for m in range(2):
                slip = np.linalg.norm(self.speed[f, k] - self.speed[g, m])
                slow = np.isnan(slip) or slip <= self.rules.slip
                if self._touches(p, feet[f, k]) and self._touches(p, feet[g, m]) and slow:
                    return True
        return False

    def _spoil(self, p: int, feet: Array, share: Array) -> None:
        for f in range(self.n_foot):
            if any(np.isnan(point[0]) or self._touches(p, point) for point in feet[f]):
                share[f] = UNSURE

    def _touches(self, p: int, point: Array) -> bool:
        return bool(self._height(p, point) <= self.rules.low and self._beyond(p, point) <= -self.rules.edge)

    def _height(self, p: int, point: Array) -> float:
        return float(self.plates.axes[p, 2] @ (point - self.plates.centre[p]))

    def _beyond(self, p: int, point: Array) -> float:
        along = np.abs(self.plates.axes[p, :2] @ (point - self.plates.centre[p]))
        return float(np.max(along - self.plates.half[p]))

    def _distance(self, p: int, centre: Array, foot: Array) -> float:
        along, across = self.plates.axes[p, :2]
        flat = np.array([[along @ x, across @ x] for x in (centre, foot[0], foot[1])])
        line = flat[2] - flat[1]
        share = np.clip((flat[0] - flat[1]) @ line / (line @ line), 0.0, 1.0)
        return float(np.linalg.norm(flat[0] - flat[1] - share * line))
