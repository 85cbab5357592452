"""Check whether the markers still belong to the same person, after every discontinuity.

When the labels move to another person, most markers are decimetres away from their predicted positions in the
next frame. No movement can cause this. Distances between markers do not show to whom the markers belong:
within one person they vary by some millimetres and two percent of their length (soft tissue, a squat), and
those of another person of the same size differ by no more. So after such a jump all frames are in doubt. The
doubt ends when the labels jump back to positions that the person can have reached by then, with distances
that fit the person.

After a gap of all markers no positions can be predicted. Then the markers are taken to be another person's if
distances between them differ by more than they vary within any one person, or if the person cannot have moved
so far during the gap (rtsim/stages/markers/reach.py).

In eighteen recordings and the built-in walker 70 % of the markers were never more than 18 mm (at 25 Hz; 2 mm
at 100 Hz and above) away from the predicted positions. The distances between markers in five frames differed
from their mean over a third of the recording by 0.2 to 8 mm in root mean square.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from rtsim.models.model import Model
from rtsim.stages.markers.reach import Reach

Array = NDArray[np.float64]

OTHER_PERSON = "other_person"
WHOSE = (
    "The markers are suddenly far from the last frame, or their distances from each other have changed since "
    "they were occluded: are the labels on another person now? Frames are suspect until the markers fit "
    "again."
)
"""Name of the counter of frames that may be of another person, and message about them."""
PELVIS = "pelvis"
LEAP, ACCELERATION = 0.06, 100.0
"""Distance from the predicted position [m] that most markers of one person never exceed; the acceleration
[m/s^2] adds to it over the time since the last frame."""
MOST = 0.7
"""Fraction of the markers that must jump at once for a discontinuity."""
DISORDER, DISORDER_S = 0.02, 1.0
"""Like LEAP, but in place of it while frames were lost or are out of order [m], and the longest time for
which this lasts [s]."""
TIMES, OF_USUAL, FAST_S = 4.0, 0.05, 0.02
"""Ratio of that jump to the usual distance from the predicted positions [1], weight of a frame in this mean,
and longest time between frames that contribute to it [s]: at lower rates any motion makes it large."""
FORESEEN_S, FORESEEN_STEPS, N_STEP = 0.06, 1.5, 9
"""Longest time between frames over which a place is predicted, beyond which there is a gap: in seconds, or,
if that is longer, as a multiple of the usual time between frames [1]; the latter is the median of so many,
without those over which the markers were hidden."""
LONG_GAP_S = 1.0
"""Length of a gap of all markers above which somebody else can have taken the person's place [s]."""
REACH, SPEED = 0.15, 2.5
"""Largest distance of a body from where the person was last seen [m], and what its largest speed adds to that
from then on [m/s]."""
KNOWN, SETTLED = 10, 50
"""Number of frames after which the distances between a person's markers are known well enough to detect a
jump, and after which other distances behind a gap show another person."""
EVERY = 10
"""Interval in frames at which these distances are updated from then on."""
WINDOW = 5
"""Least number of frames after a jump or a gap by which it is decided whose the markers are, except that
labels which have jumped back may be accepted at the first frame."""
FEWEST = 6
"""Least number of markers, and of distances, for a comparison."""
SAME_MM, SAME_SIZE = 6.0, 0.008
"""Differences of distances, RMS [mm] and mean relative difference [1], up to which the markers are those of
the same person."""
OTHER_MM, OTHER_SIZE = 14.0, 0.03
"""Differences, as above, beyond which the markers are another person's."""
WRONG_MM, RIGHT = 40.0, 0.5
"""If the distances before a jump differ from the model's by more than the first [mm, RMS], and those after it
by less than the second times that, the labels before the jump were in disorder, not those after it."""


class Identity:
    """Check whether the markers of one stream stay on the same person.

    body : (n_marker,) body of each marker
    local : (n_marker, 3) its position on that body in the model [m]
    pelvis : index of the pelvis, whose motion shows whether a person can have moved so far during a gap of
        all markers; -1 = none
    doubted : whether the newest frame may be of another person
    n_break : number of discontinuities so far after which the markers may well be another person's: leaps,
        long gaps of all markers, beginnings of a doubt after a gap, and ends of a disorder of the labels
    n_gap : number of shorter gaps of all markers so far
    """

    def __init__(self, body: NDArray[np.int64], local: Array, pelvis: int = -1) -> None:
        first, second = np.triu_indices(len(body), 1)
        of_one = body[first] == body[second]
        self._first, self._second = first[of_one], second[of_one]
        self._expected = np.linalg.norm(local[self._first] - local[self._second], axis=1)
        self._bodies = [body == k for k in np.unique(body)]
        self._n_marker, self.n_break, self.n_gap = len(body), 0, 0
        self._pelvis = (body == pelvis) & (pelvis >= 0)
        self._reach = Reach(self._pelvis)
        self.forget()

    def forget(self) -> None:
        """Discard the distances and the motion learned of the person."""
        n_pair = len(self._first)
        self.doubted = self._judging = self._elsewhere = False
        self._most = (OTHER_MM, OTHER_SIZE)
        self._places, self._speeds = np.full((2, self._n_marker, 3), np.nan)
        self._since, self._lost_s, self._n = 0.0, 0.0, 0
        self._steps: deque[float] = deque(maxlen=N_STEP)
        self._hidden = False
        self._lost = np.full(3, np.nan)
        self._gap_s, self._before_gap, self._out_of_reach = 0.0, self._lost, False
        self._disordered, self._usual, self._n_usual = False, 0.0, 0
        self._reach.forget()
        self._known, self._new = _Distances(n_pair), _Distances(n_pair)
        self._new_has_gap = False

    def look(self, markers: Array, dt: float) -> bool:
        """Check a frame; return whether it may be of another person.

        markers : (n_marker, 3) [m], NaN = not seen
        dt : time since the previous frame [s], 0 = unknown
        """
        self._since += dt
        self._lost_s += dt
        self._gap_s += dt
        moved = markers - self._places
        far2 = np.einsum("ij,ij->i", moved, moved)
        n_seen = np.count_nonzero(markers[:, 0] == markers[:, 0])
        # a frame that is sent again tells nothing, and no more does one without a time
        if n_seen < FEWEST or dt <= 0.0 or np.count_nonzero(far2 == 0.0) > MOST * n_seen:
            self._hidden |= bool(n_seen < FEWEST)
            return self.doubted
        foreseen = self._is_foreseen()
        if self._known.n >= KNOWN:
            self._compare(markers, moved, far2, foreseen)
        self._look_beyond(markers)
        if foreseen:
            np.divide(moved, self._since, out=self._speeds)
        else:
            self._speeds[:] = np.nan
        if not self._hidden:  # else gaps with single frames between them would pass for a low rate
            self._steps.append(self._since)
        self._hidden = False
        self._places[:] = markers
        self._since = 0.0
        self._n += 1
        if self._disordered and (self._lost_s > DISORDER_S or not self.doubted):
            self._disordered = self._elsewhere = False
        if self._judging:
            self._new.add(self._distances(markers))
            self._judge()
        elif not self.doubted and (self._known.n < SETTLED or self._n % EVERY == 0):
            self._known.add(self._distances(markers))
        return self.doubted

    def _distances(self, markers: Array) -> Array:
        """Compute the distances between all pairs of markers that are on the same body, (n_pair,) [m];
        markers : (n_marker, 3) [m]
        """
        between = markers[self._first] - markers[self._second]
        return np.sqrt(np.einsum("ij,ij->i", between, between))

    def _is_foreseen(self) -> bool:
        """Return whether the last frame is recent enough for a prediction, as it usually is at any rate."""
        if self._since <= FORESEEN_S or not self._steps:
            return self._since <= FORESEEN_S
        return self._since <= FORESEEN_STEPS * sorted(self._steps)[len(self._steps) // 2]

    def _compare(self, markers: Array, moved: Array, far2: Array, foreseen: bool) -> None:
        """Check whether the frame continues the motion of the previous one, or shows the person at rest after
        a sudden stop.

        moved : (n_marker, 3) - displacement since that frame [m]; far2 : (n_marker,) - square of its size
          [m^2]; foreseen : whether the markers can be predicted from that frame
        """
        if not foreseen:
            self._begin(markers, leaps=False)
            return
        unforeseen = moved - self._since * self._speeds
        far = np.sqrt(np.minimum(np.einsum("ij,ij->i", unforeseen, unforeseen), far2))
        both = far == far
        if np.count_nonzero(both) < FEWEST:
            return
        usual, known = self._usual, self._n_usual >= KNOWN
        self._n_usual += 1
        self._usual += (float(far[both].mean()) - usual) * max(OF_USUAL, 1.0 / self._n_usual)
        added = ACCELERATION * self._since**2
        if self._leap(moved, unforeseen, far, LEAP + added):
            self._begin(markers, leaps=True)
        elif (
            known
            and self._since <= FAST_S
            and (self._disordered or not self.doubted)
            and self._leap(moved, unforeseen, far, max(DISORDER + added, TIMES * usual))
        ):
            self._disordered = not self.doubted
            self._begin(markers, leaps=True)

    def _leap(self, moved: Array, unforeseen: Array, far: Array, limit: float) -> bool:
        """Return whether most markers jump, and with them the pelvis, or all bodies in a model without
        pelvis. Labels that are exchanged within one person leave the pelvis where it is.

        moved, unforeseen : (n_marker, 3) - displacement since the last frame, and its part that was not
          predicted [m]; far : (n_marker,) - the smaller of their sizes [m]; limit : size above which a marker
          has jumped [m]
        """
        both = far == far
        if np.count_nonzero(far > limit) < max(FEWEST, MOST * np.count_nonzero(both)):
            return False
        bodies = [self._pelvis] if (both & self._pelvis).any() else self._bodies
        middles = [
            (moved[k].mean(axis=0), unforeseen[k].mean(axis=0)) for k in (both & b for b in bodies) if k.any()
        ]
        return bool((np.linalg.norm(middles, axis=2).min(axis=1) > limit).all())

    def _begin(self, markers: Array, *, leaps: bool) -> None:
        """Begin after a discontinuity: the distances between markers from now on are compared with those
        before it.

        leaps : whether the markers have jumped; else all of them were missing for a while
        """
        self.n_break += leaps or self._since > LONG_GAP_S
        self.n_gap += not leaps and self._since <= LONG_GAP_S
        # gaps that follow each other closely must not keep the distances from being judged
        self._new_has_gap = self._judging and not leaps and not self.doubted and self._new.n < WINDOW
        self._judging = True
        if not leaps and not self.doubted:
            self._before_gap, self._gap_s = np.nanmean(self._places, axis=0), self._since
            self._reach.begin(self._places, self._speeds)
        if not self._new_has_gap:
            self._new = _Distances(len(self._first))
        if leaps and not self.doubted:
            self._lost, self._lost_s = np.nanmean(self._places, axis=0), self._since
        away = float(np.linalg.norm(np.nanmean(markers, axis=0) - self._lost))
        back = self.doubted and away <= REACH + SPEED * self._lost_s
        self._elsewhere = not back if leaps else self._elsewhere and not back
        self._most = (OTHER_MM, OTHER_SIZE) if leaps or not self.doubted else (SAME_MM, SAME_SIZE)
        self.doubted |= leaps

    def _look_beyond(self, markers: Array) -> None:
        """Check, after a gap of all markers, whether the person can have moved to the present place of the
        pelvis."""
        judging = self._reach.judging
        beyond = self._reach.look(markers, self._since)
        if beyond and not self.doubted:
            self.doubted = self._elsewhere = self._judging = True
            self.n_break += 1
            self._lost, self._lost_s = self._before_gap, self._gap_s
        elif judging and not beyond and self._out_of_reach:
            self.doubted = self._elsewhere = False
        self._out_of_reach = beyond and self._reach.judging

    def _judge(self) -> None:
        """Decide whether the markers are still those of the same person, by comparing the distances between
        them since the last jump or gap with those before it.
        """
        back = self.doubted and not self._elsewhere
        both = (self._new.count >= (1 if back else WINDOW)) & (self._known.count >= KNOWN)
        if np.count_nonzero(both) < FEWEST:
            return
        before, now = self._known.mean[both], self._new.mean[both]
        off_mm = apart_mm(now, before)
        size = abs(float(now.sum() / before.sum()) - 1.0)
        if self._new.n < WINDOW and (off_mm > SAME_MM or size > SAME_SIZE):
            return  # labels are back where the person can be, and more frames have to say whose they are
        if not self._elsewhere and off_mm <= self._most[0] and size <= self._most[1]:
            self._settle()
            return
        wrong_mm = apart_mm(before, self._expected[both])
        if wrong_mm > WRONG_MM and apart_mm(now, self._expected[both]) < RIGHT * wrong_mm:
            self._judging = self.doubted = False
            self._known = self._new
            self.n_break += 1
        elif self._known.n >= SETTLED and (off_mm > OTHER_MM or size > OTHER_SIZE):
            self.n_break += not self.doubted
            self.doubted = True
        elif not self.doubted and self._new.n >= KNOWN:  # too little was known to say whose the markers are
            self._judging = False
            self._known = self._new

    def _settle(self) -> None:
        """Accept the markers since the last jump or gap as those of the same person. If there was another gap
        within the compared frames, those of later frames are compared as well."""
        self.doubted = False
        if self._known.n < SETTLED:
            self._known.join(self._new)
        self._judging = self._new_has_gap
        self._new_has_gap, self._new = False, _Distances(len(self._first))


def identity_of(model: Model) -> Identity:
    """Return the check whether the markers of a model still belong to the same person.

    After a gap of all markers it compares distances between markers, and how far the pelvis has moved;
    without a body named pelvis the distances only.
    """
    bodies = model.names.bodies
    pelvis = bodies.index(PELVIS) if PELVIS in bodies else -1
    return Identity(model.markers.body, model.markers.position, pelvis)


def apart_mm(distances: Array, others: Array) -> float:
    """Return the root mean square difference between two arrays of distances [mm]."""
    return 1e3 * float(np.sqrt(np.mean((distances - others) ** 2)))


class _Distances:
    """Mean distances between markers over frames.

    mean, count : (n_pair,) - means [m] and numbers of the distances that were seen; n : number of frames
    """

    def __init__(self, n_pair: int) -> None:
        self.mean, self.count, self.n = np.zeros(n_pair), np.zeros(n_pair), 0

    def add(self, distances: Array) -> None:
        """Update the means by the distances of a frame (n_pair,) [m], NaN = not seen."""
        there = np.isfinite(distances)
        self.count += there
        self.n += 1
        step = np.where(there, distances - self.mean, 0.0)
        self.mean += step / np.maximum(self.count, 1.0)

    def join(self, others: _Distances) -> None:
        """Add the frames of which other means were taken."""
        share = others.count / np.maximum(self.count + others.count, 1.0)
        self.mean += share * (others.mean - self.mean)
        self.count += others.count
        self.n += others.n
