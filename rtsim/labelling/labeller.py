"""Labelling of points frame by frame: by a search at the start and after gaps, by tracking in between.

Every point is tracked, with or without a label. A search for the person takes several frame periods: it uses
the points of the frame in which it began, and its result is transferred along their tracks. Labels are
uncertain until searches, or other markers of the segment, have agreed on them for some time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.labelling.body import Array, Indices, MarkedBody
from rtsim.labelling.name_certainty import NameCertainty
from rtsim.labelling.occluded_markers import OccludedMarkers, PredictedMarkers
from rtsim.labelling.person_search import FoundPerson, search_person
from rtsim.labelling.reidentification import SegmentPoints, reidentified, search_lost_segments
from rtsim.labelling.renaming import AGREED, DEARER, SURELY, better_names
from rtsim.labelling.running_search import RunningSearch
from rtsim.labelling.segment_fit import SegmentFits
from rtsim.labelling.tracks import UNKNOWN, PointTracks, assigned

SEEK_S = 0.05
"""Shortest interval of searches while the person is not found [s]; it doubles after each one that fails."""
SOON_S, CONFIRM_S, SLOWER, LONGEST_S = 0.01, 0.1, 1.5, 5.0
"""Time from a search to the next [s]: SOON_S if labels are ambiguous, else CONFIRM_S; while labels remain
uncertain, it grows by the factor SLOWER up to LONGEST_S."""
SEGMENT_S = 0.05
"""Shortest interval of searches for a lost segment, unless new points appear [s]."""
MORE_ROUNDS = 2
"""Number of further searches in a frame for markers near those that have just reappeared."""
LEARN_EVERY = 4
"""Number of frames after which soft tissue displacements are updated."""
LOST = 0.4
"""Fraction of the markers found by the search below which the person counts as lost."""
GAP_S = 0.15
"""Longest time between frames over which points are tracked [s]."""
REMEMBERED_S = 1.5
"""Time after which a lost person is no longer expected near the earlier pose [s]."""
USUAL_S = 0.01
"""Time between frames that is assumed if it is not known [s]."""
STEP_S, ALONE_PART, BESIDE_PART, MOST_STEPS = 0.0015, 0.75, 0.3, 10
"""Duration of a step of a search [s]; fractions of a frame period that a search may take while no marker is
known and otherwise; largest number of steps in a frame."""
ROUNDS = 1e-6
"""Tolerance of the number of steps, as the time between frames has rounding errors."""
LATE, MOST_RESTS = 0.5, 10
"""If a frame has waited for longer than the fraction LATE of a frame period, searches pause, because the loop
is behind schedule; but in at most MOST_RESTS successive frames."""

PersonSearch = RunningSearch[FoundPerson | None]


class Labeller:
    """Labels the markers of one person among points without names.

    Parameters
    ----------
    paced : whether searches extend over several frames, as in real time; else each search ends in its frame

    Attributes
    ----------
    doubted : whether labels of the newest frame are uncertain
    following : whether the person is being tracked
    n_search, n_regained : numbers of searches for the person, and of markers that reappeared, so far
    """

    def __init__(self, body: MarkedBody, paced: bool = False) -> None:
        self.body, self.paced = body, paced
        self._n = len(body.segment_of)
        self.n_search = self.n_regained = 0
        self._tracks = PointTracks(self._n)
        self._hidden, self._fits = OccludedMarkers(body), SegmentFits(body)
        self.certainty = NameCertainty(body)
        assigned(np.zeros((1, 1)), np.ones(1))  # what it imports is not waited for in a frame
        self.forget()

    def forget(self) -> None:
        """Discard all labels and tracks; the next frame starts a new search for the person."""
        self.doubted, self.following = True, False
        self._tracks.forget()
        self._hidden.forget()
        self._fits.forget()
        self.certainty.forget()
        self._search: PersonSearch | None = None
        self._lost_search: RunningSearch[SegmentPoints] | None = None
        self._lost: list[int] = []  # segments that are still to be sought
        self._wait_s, self._again_s = 0.0, 0.0
        self._pause_s, self._seek_pause_s = SOON_S, SEEK_S
        self._n_frame = self._n_rest = 0
        self._late = self._rests = False
        self._n_seen, self._gone_s, self._segment_wait_s = 0, np.inf, 0.0
        self._last = np.full((self._n, 3), np.nan)
        self._followed = np.ones(self._n, bool)

    def label(self, markers: Array, cloud: Array, dt: float, waited: float = 0.0) -> None:
        """Assign points to the markers without positions.

        markers : (n_marker, 3) [m], written; NaN = without a position
        cloud : (n, 3) points without names [m]
        dt : time since the previous frame [s], 0 = unknown
        waited : time that the frame waited before it was processed [s]
        """
        step = dt if dt > 0.0 else USUAL_S
        self._keep_up(step, waited)
        self._wait_s -= step
        self._again_s -= step
        self._gone_s += step
        self._followed = ~np.isfinite(markers[:, 0])
        if step > GAP_S:
            self._lose()
            self._tracks.forget()
        doubtful = self._tracks.go_on(cloud, step)
        self._hidden.lose_strangers(self._tracks.ended, step)
        if self.following:
            self._follow(markers, cloud, doubtful, step)
        self._seek(markers, cloud, step)
        if self.following:
            self._n_frame += 1
            if self._n_frame % LEARN_EVERY == 0:
                self._fits.learn(markers, self.certainty.certain | ~self._followed)
            self._last, self._gone_s = markers.copy(), 0.0
            sure = self.certainty.certain | ~self._followed
            self._tracks.rule_out(sure & np.isfinite(markers[:, 0]))
        self.doubted = not self.following or bool(self.disputed(markers).any())
        if not self.doubted:
            self._pause_s, self._seek_pause_s = SOON_S, SEEK_S

    def _keep_up(self, dt: float, waited: float) -> None:
        """Pause searches while the loop is behind schedule, because they would delay it further."""
        self._late = self.paced and waited > LATE * dt
        self._rests = self._late and self.following and self._n_rest < MOST_RESTS
        self._n_rest = self._n_rest + 1 if self._rests else 0

    def disputed(self, markers: Array) -> NDArray[np.bool_]:
        """Return which markers, (n_marker,), have a position and an uncertain label."""
        return np.isfinite(markers[:, 0]) & self._followed & ~self.certainty.certain

    def named_points(self) -> Indices:
        """Return the marker of each point of the newest frame, (n,), -1 = none; valid until the next
        frame.
        """
        return self._tracks.marker

    def turn_round(self) -> None:
        """Reverse the direction of time, to process the frames backwards from the newest one."""
        self._tracks.speeds *= -1.0
        self._pause_s = SOON_S

    def _lose(self) -> None:
        """Stop tracking the person until a new search succeeds."""
        self.following, self._search, self._lost_search = False, None, None
        self._lost.clear()
        self._wait_s, self._seek_pause_s = 0.0, SEEK_S
        self._tracks.marker[:] = -1
        self.certainty.forget()

    def _follow(self, markers: Array, cloud: Array, doubtful: NDArray[np.bool_], dt: float) -> None:
        """Label points by their tracks, check doubtful labels, and label markers that have reappeared."""
        tracks = self._tracks
        tracks.marker[~self._followed[tracks.marker]] = -1
        rows = np.flatnonzero(tracks.marker >= 0)
        markers[tracks.marker[rows]] = cloud[rows]
        if np.count_nonzero(np.isfinite(markers[:, 0])) < LOST * self._n_seen:
            self._lose()
            markers[self._followed] = np.nan
            return
        self.certainty.pass_by(dt)
        self.certainty.doubt(tracks.marker[rows[doubtful[rows]]])
        if self.disputed(markers).any():
            self._put_right(markers, cloud)
        self._seek_lost(markers, cloud, dt, self._steps(dt, BESIDE_PART))
        foretold = self._regain(markers, cloud, dt)
        self._hidden.take(markers, foretold, self.certainty.certain, dt)
        self._n_seen = max(self._n_seen, int(np.count_nonzero(np.isfinite(markers[:, 0]))))

    def _seek_lost(self, markers: Array, cloud: Array, dt: float, n_step: int) -> None:
        """Search lost segments, one after the other, when new points appear and at intervals."""
        tracks = self._tracks
        self._segment_wait_s -= dt
        free = tracks.marker < 0
        if (free & (tracks.fresh | (self._segment_wait_s <= 0.0))).any():
            lost = self._fits.lost(markers).tolist()
            if lost:
                self._segment_wait_s = SEGMENT_S
            self._lost = [k for k in self._lost if k in lost] + [k for k in lost if k not in self._lost]
        if self._rests:
            return
        if self._lost_search is None and self._lost:
            sought = self._lost[:1] if self.paced else self._lost
            self._lost = self._lost[len(sought) :]
            self._lost_search = search_lost_segments(
                self.body, self._fits, tracks, markers, cloud, np.array(sought)
            )
        if self._lost_search is None:
            return
        search = self._lost_search
        over, found = search.go_on(n_step)
        if not over:
            return
        self._lost_search = None
        sought_markers, points = np.array(found or [], np.int64).reshape(-1, 2).T
        now = search.carried(tracks.numbers, points)
        kept = (now >= 0) & np.isnan(markers[sought_markers, 0])
        kept[kept] = tracks.marker[now[kept]] < 0
        self._take(markers, cloud, list(zip(sought_markers[kept].tolist(), now[kept].tolist(), strict=True)))

    def _regain(self, markers: Array, cloud: Array, dt: float) -> PredictedMarkers:
        """Label markers that have reappeared, then markers beside them; return the predictions of markers
        that are still hidden.
        """
        tracks = self._tracks
        strangers = self._hidden.strangers(markers)
        foretold = self._hidden.foretell(markers)
        for step in (dt, *[0.0] * MORE_ROUNDS):
            pairs = reidentified(tracks, cloud, foretold, strangers, step)
            self._take(markers, cloud, pairs)
            if not pairs or not (tracks.marker < 0).any():
                break
            foretold = self._hidden.foretell(markers)  # beside those that came back
        return foretold

    def _take(self, markers: Array, cloud: Array, pairs: list[tuple[int, int]]) -> None:
        """Give hidden markers the points at which they reappeared, as uncertain; pairs : marker, point."""
        for marker, point in pairs:
            self._tracks.marker[point] = marker
            markers[marker] = cloud[point]
            self.n_regained += 1
            self.certainty.doubt(np.array([marker]))
            self._hidden.rename(np.array([marker]))
            self._again_s = min(self._again_s, CONFIRM_S)

    def _put_right(self, markers: Array, cloud: Array) -> None:
        """Check each marker against the others of its segment: keep its label, remove it, or assign a better
        point.
        """
        tracks = self._tracks
        places, known = self._fits.by_the_others(markers)
        off = np.linalg.norm(places - markers, axis=1)
        free = np.flatnonzero(tracks.marker < 0)
        apart = np.full(self._n, np.inf)
        nearest = np.zeros(self._n, np.int64)
        if len(free):
            between = np.linalg.norm(cloud[free][None] - places[:, None], axis=2)
            between[~known] = np.inf
            nearest, apart = free[between.argmin(axis=1)], between.min(axis=1)
        judged = self.certainty.stay(off, apart, self._fits.reach, known & self._followed)
        for m in judged.exchanged.tolist():
            if tracks.marker[nearest[m]] < 0:
                tracks.marker[tracks.marker == m] = -1
                tracks.marker[nearest[m]], markers[m] = m, cloud[nearest[m]]
        for m in judged.gone.tolist():
            tracks.marker[tracks.marker == m] = -1
            markers[m] = np.nan
        self.certainty.doubt(np.concatenate([judged.exchanged, judged.gone]))
        self.certainty.confirm(self._fits.sure_beside(self.certainty.certain & np.isfinite(markers[:, 0])))

    def _seek(self, markers: Array, cloud: Array, dt: float) -> None:
        """Begin a search for the person when it is due, or continue the running one."""
        if self._rests or self._lost_search is not None:  # one search in a frame
            return
        alone = not self.following and not np.isfinite(markers[:, 0]).any()
        n_step = self._steps(dt, ALONE_PART if alone else BESIDE_PART)
        if self._search is None and not self._begin_search(markers, cloud):
            return
        assert self._search is not None
        search = self._search
        over, found = search.go_on(n_step)
        if not over:
            return
        self._search = None
        if found is None:
            return
        sought = (found.points >= 0) & self._followed & (search.given < 0)
        now = search.carried(self._tracks.numbers, np.where(sought, found.points, -1))
        if not self.following:
            self._begin(markers, cloud, now, found)
            self._seek_lost(markers, cloud, 0.0, n_step)  # beside those that are known now
        else:
            self._compare(markers, cloud, now, found, search)

    def _steps(self, dt: float, part: float) -> int:
        """Return how many steps of a search take the fraction `part` of a frame period; 0 = do all steps."""
        if not self.paced:
            return 0
        return 1 if self._late else min(MOST_STEPS, max(1, int(part * dt / STEP_S + ROUNDS)))

    def _begin_search(self, markers: Array, cloud: Array) -> bool:
        named = markers
        if self.following:
            doubted = self.disputed(markers) | (self._followed & ~np.isfinite(markers[:, 0]))
            if self._again_s > 0.0 or not self.disputed(markers).any() or not doubted.any():
                return False
            self._pause_s = min(SLOWER * self._pause_s, LONGEST_S)
            self._again_s = max(self._pause_s, SOON_S)
            named = markers.copy()
            named[self._followed] = np.nan
        else:
            n = len(cloud) + np.count_nonzero(np.isfinite(markers[:, 0]))
            if self._wait_s > 0.0 or n < LOST * self._n:
                return False
            self._wait_s = self._seek_pause_s
            self._seek_pause_s = min(2.0 * self._seek_pause_s, LONGEST_S)
        self.n_search += 1
        body = self._fits.learned_body()
        if not self.following and self._gone_s < REMEMBERED_S:
            body = body.after_gap(*self._fits.places(self._last), self._gone_s)
        with_name = np.flatnonzero(np.isfinite(named[:, 0]))
        given = np.full(self._n, -1)
        given[with_name] = len(cloud) + np.arange(len(with_name))
        points = np.vstack([cloud, named[with_name]])
        cannot = np.zeros((len(points), self._n), bool)
        cannot[: len(cloud)] = self._tracks.cannot & ~self.certainty.certain
        search = search_person(body, points, given, cannot)
        self._search = RunningSearch(search, points, given, self._tracks.numbers, self._tracks.marker)
        return True

    def _begin(self, markers: Array, cloud: Array, now: Indices, found: FoundPerson) -> None:
        """Begin tracking with the labels of a finished search, `found`. now : (n_marker,) a marker's row in
        cloud (n_point, 3) [m] of this frame, -1 = none; markers : (n_marker, 3) [m] positions, written."""
        seen = np.flatnonzero(now >= 0)
        self._tracks.marker[:] = -1
        self._tracks.near[:] = UNKNOWN
        self._tracks.came_up[:] = True
        self._tracks.marker[now[seen]] = seen
        markers[self._followed] = np.nan
        markers[seen] = cloud[now[seen]]
        self.following, self._pause_s = True, SOON_S
        missing = self._followed & (now < 0)
        self._again_s = SOON_S if found.disputed.any() or missing.any() else CONFIRM_S
        self._n_seen = int(np.count_nonzero(np.isfinite(markers[:, 0])))
        self.certainty.forget()
        self._vote((now >= 0) & ~found.disputed, now)
        self._hidden.begin(markers, self._fits.placed(markers))
        self._regain(markers, cloud, 0.0)

    def _vote(self, agreed: NDArray[np.bool_], now: Indices) -> None:
        """Count a search that found the same labels for the markers `agreed` (n_marker,) as evidence for
        them; now : (n_marker,) point of each marker by this search, -1 = none."""
        missing = self._followed & (now < 0)
        self.certainty.vote(np.flatnonzero(agreed & ~self.body.partly_seen(missing)))

    def _compare(
        self, markers: Array, cloud: Array, now: Indices, found: FoundPerson, search: PersonSearch
    ) -> None:
        """Compare the tracked labels with those of a finished search, which does not use earlier frames, and
        replace them where these fit better; now : (n_marker,) point of each marker by the search, -1 = none.
        """
        tracks, current = self._tracks, self._tracks.points_of(self._n)
        moved = (now >= 0) & (now != current) & ((current >= 0) | np.isin(now, current[current >= 0]))
        new = (now >= 0) & (now != current)
        new[new] = moved[new] | (tracks.marker[now[new]] < 0) & ~tracks.cannot[now[new], new.nonzero()[0]]
        if moved.any():
            left = np.setdiff1d(np.union1d(np.flatnonzero(moved), tracks.marker[now[moved]]), [-1])
            self.certainty.contradict(left)
            tracks.may_be_again(left)
            proven, agreed = self.certainty.proven[left].any(), self.certainty.agreed[left].any()
            if (proven or agreed) and found.disputed[moved].any():
                return
            dearer = SURELY if proven else AGREED if agreed else DEARER
            if not self._rename(markers, cloud, now, found, search, new, dearer):
                return
            current = tracks.points_of(self._n)
        same = (now >= 0) & (now == current) & ~found.disputed & self._fits.in_place(found, search.points)
        self._vote(same, now)
        new &= (now != current) & ~found.disputed
        for k in np.unique(self.body.segment_of[new]).tolist():
            self._rename(markers, cloud, now, found, search, new & (self.body.segment_of == k), DEARER)

    def _rename(
        self,
        markers: Array,
        cloud: Array,
        now: Indices,
        found: FoundPerson,
        search: PersonSearch,
        new: NDArray[np.bool_],
        dearer: float,
    ) -> bool:
        """Replace the labels of the markers `new` (n_marker,) by those of the search, `now` (n_marker,), if
        that lowers the cost of the assignment by `dearer`; return whether they were replaced."""
        followed = search.named(self._tracks.numbers, self._tracks.marker)
        better = better_names(self._fits.learned_body(), followed, found, search.points, new, dearer)
        if better is not None:
            changed = np.flatnonzero((better != followed) & self._followed)
            self._move(markers, cloud, changed, np.where(better >= 0, now, -1))
        return better is not None

    def _move(self, markers: Array, cloud: Array, moved: Indices, now: Indices) -> None:
        """Assign to each marker in `moved` (indices) the point now[marker], -1 = none, in place of its
        present one."""
        self._again_s = min(self._again_s, CONFIRM_S)
        tracks, given = self._tracks, moved[now[moved] >= 0]
        left = np.setdiff1d(np.union1d(tracks.marker[now[given]], moved), [-1])
        self.certainty.doubt(left)
        self._hidden.rename(left)
        self.n_regained += int(np.count_nonzero(np.isnan(markers[given, 0])))
        tracks.marker[np.isin(tracks.marker, left)] = -1
        markers[left] = np.nan
        tracks.marker[now[given]], markers[given] = given, cloud[now[given]]
