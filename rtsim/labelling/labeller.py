"""Names for points, frame by frame: sought at the start and after gaps, followed in between.

Nothing is taken for a marker that it is not for certain: a point that could be two markers is none, as if it
were not seen. Names that were just sought are in doubt until they were found again, the same, some frames on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.labelling.body import Array, MarkedBody, SegmentPlacement, fit, fixes
from rtsim.labelling.person_search import FoundPerson, find_person, seen_beside
from rtsim.labelling.segment_search import MISSING
from rtsim.labelling.strangers import Strangers
from rtsim.labelling.tracks import PointTracks, paired

SEEK_S = 0.25
"""Nobody is sought more often [s], and in vain ever more seldom, as it takes longer than a frame has."""
SOON_S, CONFIRM_S, SLOWER, LONGEST_S = 0.01, 0.1, 1.5, 5.0
"""How long after a search it is made again [s], sooner where names could as well be others; while some are in
doubt again and again, each time so many times later."""
VOTES = 3
"""Searches, at frames apart, that must agree on a name, and see no other that would do nearly as well."""
SEGMENT_S = 0.05
"""A segment that was lost is sought no more often [s]."""
LOST = 0.4
"""Part of the markers that were seen when they were sought below which they are sought again."""
FARTHEST_BIAS = 0.05
"""More is no motion of skin [m]."""
NEAR = 0.5
"""A marker that comes back within this part of its reach needs no proof; no two stand so near."""
PROOF_S = 0.1
"""Others are let go where they do not stay near there for so long [s]."""
GAP_S = 0.15
"""After a longer gap between frames nothing is followed [s]."""
USUAL_S = 0.01
"""Between frames whose times say nothing [s]."""


class Labeller:
    """Follows one person's markers in clouds of points.

    Attributes
    ----------
    doubted : whether names of the newest frame are not certain
    following : whether there are names at all
    n_search, n_regained : searches for the person, and markers that came back, so far
    """

    def __init__(self, body: MarkedBody) -> None:
        self.body = body
        self._n = len(body.segment_of)
        self.n_search = self.n_regained = 0
        self._tracks, self._strangers = PointTracks(self._n), Strangers()
        self.forget()

    def forget(self) -> None:
        """Nobody is known."""
        self.doubted, self.following = True, False
        self._tracks.forget()
        self._strangers.forget()
        self._bias = np.zeros((self._n, 3))
        self._wait_s, self._again_s, self._segment_wait_s = 0.0, 0.0, 0.0
        self._pause_s, self._seek_pause_s = SOON_S, SEEK_S
        self._n_seen, self._apart_s = 0, 0.0
        self._votes, self._proof_s = np.zeros(self._n, np.int64), np.zeros(self._n)
        self._followed = np.ones(self._n, bool)

    def label(self, markers: Array, cloud: Array, dt: float) -> None:
        """Give the markers without a place the points that are theirs.

        markers : (n_marker, 3) [m], written: those with names have a place, NaN = none
        cloud : (n, 3) [m] - points without names; dt : since the frame before [s], 0 = unknown
        """
        step = dt if dt > 0.0 else USUAL_S
        self._wait_s -= step
        self._again_s -= step
        self._apart_s += step
        self._segment_wait_s -= step
        self._proof_s -= step
        self._followed = ~np.isfinite(markers[:, 0])
        if step > GAP_S:
            self.following = False
        if self.following:
            self._follow(markers, cloud, step)
        if not self.following and self._wait_s <= 0.0:
            self._seek(markers, cloud)
        elif self.following and self._again_s <= 0.0 and (self.disputed(markers) & ~self.body.weak).any():
            self._seek_again(markers, cloud)
        self.doubted = not self.following or bool(self.disputed(markers).any())
        if not self.doubted:
            self._pause_s, self._seek_pause_s = SOON_S, SEEK_S

    def disputed(self, markers: Array) -> NDArray[np.bool_]:
        """(n_marker,) - which have a name that too few searches agree on, or that too little tells."""
        return np.isfinite(markers[:, 0]) & self._followed & ((self._votes < VOTES) | self.body.weak)

    def _on_proof(self, markers: Array) -> NDArray[np.bool_]:
        """(n_marker,) - which have come back not long ago, and not just where they must be."""
        return np.isfinite(markers[:, 0]) & self._followed & (self._proof_s > 0.0)

    def _seek(self, markers: Array, cloud: Array) -> None:
        """Look for the person among all points."""
        points, given = with_named(markers, cloud)
        if len(points) < LOST * self._n:
            return
        self.n_search += 1
        self._wait_s = self._seek_pause_s
        self._seek_pause_s = min(2.0 * self._seek_pause_s, LONGEST_S)
        found = find_person(self.body, points, given)
        if found is not None:
            self._begin(markers, points, found)

    def _begin(self, markers: Array, points: Array, found: FoundPerson) -> None:
        """Names as they were found."""
        seen = found.points >= 0
        markers[seen] = points[found.points[seen]]
        assert found.disputed is not None
        self.following = True
        doubtful = found.disputed.any() or None in found.placements
        self._again_s = self._pause_s if doubtful else max(CONFIRM_S, self._pause_s)
        self._votes[:] = seen & ~found.disputed
        self._apart_s = 0.0
        self._proof_s[:] = 0.0
        self._n_seen = int(np.count_nonzero(seen))
        self._tracks.forget()
        self._strangers.forget()
        self._bias[:] = 0.0
        self._tracks.take(markers, 0.0)
        self._learn(markers, found.placements)

    def _seek_again(self, markers: Array, cloud: Array) -> None:
        """Whether the names are the same by a search that knows nothing of the frames before."""
        self.n_search += 1
        self._pause_s = min(SLOWER * self._pause_s, LONGEST_S)
        self._again_s = self._pause_s
        named = markers.copy()
        named[self._followed] = np.nan
        points, given = with_named(named, cloud)
        found = find_person(self.body, points, given) if len(points) else None
        if found is None:
            return
        now = np.full((self._n, 3), np.nan)
        now[found.points >= 0] = points[found.points[found.points >= 0]]
        assert found.disputed is not None
        against = elsewhere(markers, now)
        if against.any() and self._is_dearer(markers, points, given, found.cost):
            markers[self._followed] = np.nan
            self._begin(markers, points, found)
            return
        self._votes[against] = 0
        same = (now == markers).all(axis=1)
        if self._apart_s >= CONFIRM_S:  # frames that are nearer to each other say hardly more than one
            self._votes[same & ~found.disputed & self._in_place(markers, found)] += 1
            self._apart_s = 0.0
        new = np.isfinite(now[:, 0]) & ~np.isfinite(markers[:, 0]) & ~found.disputed & ~taken_by(markers, now)
        markers[new] = now[new]
        self._n_seen = max(self._n_seen, int(np.count_nonzero(np.isfinite(markers[:, 0]))))
        self._tracks.places[new] = markers[new]
        self._tracks.speeds[new] = np.nan

    def _in_place(self, markers: Array, found: FoundPerson) -> NDArray[np.bool_]:
        """(n_marker,) - which are so near to where their segments have them that they are nobody else's."""
        near = np.zeros(self._n, bool)
        for shape, placement in zip(self.body.shapes, found.placements, strict=True):
            if placement is not None:
                off = np.linalg.norm(placement.place(shape.local) - markers[shape.markers], axis=1)
                near[shape.markers] = off <= NEAR * self.body.reach[shape.markers]
        return near

    def _is_dearer(self, markers: Array, points: Array, given: NDArray[np.int64], cost: float) -> bool:
        """Whether the names as they are followed fit the frame worse than some that cost so much [m^2]."""
        held = given.copy()
        number = {tuple(place): k for k, place in enumerate(points.tolist())}
        own = np.flatnonzero(np.isfinite(markers[:, 0]) & self._followed)
        held[own] = [number[tuple(place)] for place in markers[own].tolist()]
        followed = find_person(self.body, points, held)
        return followed is None or cost < followed.cost - MISSING**2 / 4.0

    def _follow(self, markers: Array, cloud: Array, dt: float) -> None:
        """Names by where the markers were, then by the segments of those that are there."""
        named = np.isfinite(markers[:, 0])
        rows, foretold, reach = self._tracks.foretold(dt)
        kept = ~named[rows]
        rows = rows[kept]
        pairs = paired(foretold[kept], reach[kept], cloud)
        free = np.ones(len(cloud), bool)
        markers[rows[pairs.rows]] = cloud[pairs.columns]
        free[pairs.columns] = False
        seen = np.isfinite(markers[:, 0])
        if np.count_nonzero(seen) < LOST * self._n_seen:
            self.following = False
            markers[self._followed] = np.nan
            return
        placements = self._placements(markers)
        if self._let_go(markers, placements):
            placements = self._placements(markers)
        if not seen.all() and free.any():
            self._regain(markers, cloud, free, placements, dt)
        self._learn(markers, placements)
        self._tracks.take(markers, dt)

    def _placements(self, markers: Array) -> list[SegmentPlacement | None]:
        """Where the segments are, by their markers, and where these do not do by the joints they share."""
        placements: list[SegmentPlacement | None] = [None] * len(self.body.shapes)
        local = self.body.local + self._bias
        for again in (False, True):
            for k, shape in enumerate(self.body.shapes):
                if placements[k] is not None:
                    continue
                own = shape.markers[np.isfinite(markers[shape.markers, 0])]
                here, there = local[own], markers[own]
                if again:
                    sides = [(j.here, p.place(j.there[None])[0]) for j in shape.joints
                             if not j.slack and (p := placements[j.other]) is not None]  # fmt: skip
                    if not sides or not len(own):
                        continue
                    here = np.vstack([here, [side[0] for side in sides]])
                    there = np.vstack([there, [side[1] for side in sides]])
                if fixes(here):
                    placements[k] = fit(here, there)
        return placements

    def _doubt(self, marker: int) -> None:
        """Searches have to agree anew on a marker that came back, and not just where it must be."""
        self._votes[marker], self._proof_s[marker] = 0, PROOF_S
        self._again_s = min(self._again_s, SEEK_S)

    def _let_go(self, markers: Array, placements: list[SegmentPlacement | None]) -> bool:
        """Let markers go that came back and do not stay where they must be; whether there were any."""
        gone = []
        for m in np.flatnonzero(self._on_proof(markers)).tolist():
            placement = placements[self.body.segment_of[m]]
            if placement is not None:
                off = np.linalg.norm(
                    placement.place((self.body.local[m] + self._bias[m])[None])[0] - markers[m]
                )
                gone += [m] if off > self.body.reach[m] else []
        markers[gone] = np.nan
        return bool(gone)

    def _regain(
        self,
        markers: Array,
        cloud: Array,
        free: NDArray[np.bool_],
        placements: list[SegmentPlacement | None],
        dt: float,
    ) -> None:
        """Give points that are left over to markers that must be there."""
        missing = np.flatnonzero(~np.isfinite(markers[:, 0]))
        placed = [m for m in missing.tolist() if placements[self.body.segment_of[m]] is not None]
        local = self.body.local + self._bias
        places = np.array(
            [placements[self.body.segment_of[m]].place(local[m][None])[0] for m in placed]
        ).reshape(-1, 3)
        left = np.flatnonzero(free)
        index = np.array(placed, np.int64)
        for p, marker in self._strangers.look(cloud[left], index, places, self.body.reach[index], dt):
            markers[marker] = cloud[left[p]]
            free[left[p]] = False
            self.n_regained += 1
            off = np.linalg.norm(places[placed.index(marker)] - markers[marker])
            if off > NEAR * self.body.reach[marker]:
                self._doubt(marker)
        lost = [k for k, placement in enumerate(placements) if placement is None]
        if lost and self._segment_wait_s <= 0.0:
            self._segment_wait_s = SEGMENT_S
            for k in sorted(lost, key=self.body.order.index):
                self._regain_segment(markers, cloud, free, placements, k)

    def _regain_segment(
        self,
        markers: Array,
        cloud: Array,
        free: NDArray[np.bool_],
        placements: list[SegmentPlacement | None],
        k: int,
    ) -> None:
        """Look for a segment of which too little is seen beside its neighbours."""
        shape = self.body.shapes[k]
        own = shape.markers[np.isfinite(markers[shape.markers, 0])]
        points = np.vstack([cloud[free], markers[own]])
        given = np.full(self._n, -1)
        given[own] = np.arange(len(points) - len(own), len(points))
        ways = seen_beside(self.body, given, placements, k, points)
        if not ways:
            return
        best = ways[0]
        if sum(p >= 0 for p in best.points) <= len(own):
            return
        rivals = [way.cost for way in ways[1:] if differ(best.points, way.points)]
        if rivals and min(rivals) < best.cost + MISSING**2:
            return
        index = np.flatnonzero(free)
        for marker, p in zip(shape.markers, best.points, strict=True):
            if 0 <= p < len(index):
                markers[marker] = points[p]
                free[index[p]] = False
                self.n_regained += 1
                self._doubt(marker)
        placements[k] = best.placement

    def _learn(
        self, markers: Array, placements: list[SegmentPlacement | None] | tuple[SegmentPlacement | None, ...]
    ) -> None:
        """What skin moves each marker by, on its segment."""
        for k, placement in enumerate(placements):
            if placement is None:
                continue
            own = self.body.shapes[k].markers
            own = own[np.isfinite(markers[own, 0])]
            here = (markers[own] - placement.origin) @ placement.rotation
            off = here - self.body.local[own]
            off[np.linalg.norm(off, axis=1) > FARTHEST_BIAS] = 0.0
            self._bias[own] += 0.1 * (off - self._bias[own])


def with_named(markers: Array, cloud: Array) -> tuple[Array, NDArray[np.int64]]:
    """The cloud with the markers that have a place behind it, and which point each of those is, -1 = none."""
    named = np.flatnonzero(np.isfinite(markers[:, 0]))
    given = np.full(len(markers), -1)
    given[named] = len(cloud) + np.arange(len(named))
    return np.vstack([cloud, markers[named]]), given


def taken_by(markers: Array, now: Array) -> NDArray[np.bool_]:
    """(n_marker,) - whose place in `now` is that of any marker in `markers`."""
    held = {tuple(place) for place in markers[np.isfinite(markers[:, 0])].tolist()}
    return np.array([tuple(place) in held for place in now.tolist()], bool)


def elsewhere(markers: Array, now: Array) -> NDArray[np.bool_]:
    """(n_marker,) - which have another place in `now`, or one there that another marker has here."""
    both = np.isfinite(markers[:, 0]) & np.isfinite(now[:, 0])
    moved = both & (markers != now).any(axis=1)
    return moved | (np.isfinite(now[:, 0]) & ~np.isfinite(markers[:, 0]) & taken_by(markers, now))


def differ(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two ways to see a segment give a marker, or a point, to different ones."""
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    taken = {p for p in one if p >= 0}
    return any(b >= 0 and (a >= 0 or b in taken) for a, b in pairs)
