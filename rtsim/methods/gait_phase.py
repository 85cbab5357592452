"""Phase of the stride of a walking person: heel strikes, duration of a stride, and the phase of each leg.

Its input is the forward position of each foot relative to the pelvis, or the hip flexion of each leg, which
rise in swing and fall in stance. No later samples are used. docs/gait_phase.md describes the rules, their
sources, alternatives and errors."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

WINDOW_S = 0.05
"""Time over which a line is fitted to the samples to compute a speed [s]."""
LEAST_SAMPLES = 4
"""Smallest number of samples of this line, also if they take longer."""
LEAST_STEP_S = 0.004
"""Shortest time between samples that are evaluated [s]; in between only the phase advances."""
DOWN = 0.6
"""Fraction of the backward speed of the last stance from which a foot counts as on the ground."""
SLOWEST = 0.2
"""Backward speed of stance before the first stance, and its lower limit [m/s, rad/s]."""
LEAST_TRAVEL = 0.05
"""Smallest range of a foot's position, or of a hip's flexion, in a step [m, rad]."""
LEAST_PART = 0.3
"""Smallest such range as a fraction of that in the last stride."""
STRIDE_S = (0.4, 3.0)
"""Strides are between these [s]."""
N_BIN = 50
"""Number of bins of the shape of a stride."""
LEARN = 0.5
"""Weight of a new stride in the running means."""
AIDE = 0.35
"""Fraction of a phase error that an event other than the foot's own heel strike corrects."""
PULL_S = 0.07
"""Time constant with which the phase is corrected by comparison with the mean stride [s]."""
FLAT = 0.2
"""Squared slope, relative to that of a sine, below which a position hardly determines the phase."""
MOST_PULL = 0.05
"""Largest correction of the phase by one sample."""
NEAR_S = 0.15
"""Largest time between events from plate and from motion that count as one event [s]."""
ODD = 0.4
"""Relative difference of the durations of two strides above which the means are not updated."""
OVERDUE = (1.1, 1.3)
"""Fractions of the stride after which a heel strike is late, and after which the walk has stopped."""
TRUST = (0.2, 0.5, 1.0)
"""Largest confidence before the first stride, after one, and after two strides of similar duration."""
MISFIT = (0.15, 0.35)
"""Relative deviations of position and speed from the mean stride up to which the confidence is not reduced,
and from which it is 0."""
MISFIT_S = 0.1
"""Time over which the misfit is averaged [s]."""
HEEL_STRIKE, TOE_OFF = 0, 1


class Event(NamedTuple):
    """A foot strike or foot off of one foot: its kind and its time [s]."""

    kind: int
    time: float


class Swing:
    """Heel strikes and toe-offs of one foot, from its forward position relative to the pelvis.

    Zeni et al. (2008) take the foremost position as the heel strike and the rearmost as the toe-off. At these
    the foot is still moving over the ground, or has left it already, and they are only confirmed by later
    samples. Here a heel strike is detected when the foot moves backwards at a fraction (DOWN) of the speed of
    the previous stance, and a toe-off when it moves forwards at this speed. This needs no later samples.

    Attributes
    ----------
    time, place, speed : of a line fitted to the newest samples, at its middle [s], [m, rad], [m/s, rad/s]
    travel : distance from the foremost to the rearmost position in the last stance"""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, float]] = deque()
        self.time, self.place, self.speed = -math.inf, math.nan, 0.0
        self.travel = 0.0
        self._usual = SLOWEST
        self._down = True  # until it is seen to go forwards
        self._front = self._back = (math.nan, 0.0)  # place and time
        self._before: tuple[float, float] | None = None  # time and speed

    def add(self, time: float, place: float) -> Event | None:
        """Add a sample of the foot's forward position; return the event that has happened, if any."""
        if not self._fit(time, place):
            return None
        before, self._before = self._before, (self.time, self.speed)
        if before is None:
            self._front = self._back = (self.place, self.time)
            return None
        if self.place > self._front[0]:
            self._front = (self.place, self.time)
        if self.place < self._back[0]:
            self._back = (self.place, self.time)
        gone = self._front[0] - self._back[0] >= max(LEAST_TRAVEL, LEAST_PART * self.travel)
        limit = DOWN * self._usual
        if not self._down and gone and self.speed < -limit:
            self._down = True
            self._back = (self.place, self.time)
            return self._event(HEEL_STRIKE, before, -limit)
        if self._down and gone and self.speed > limit:
            self._down = False
            self.travel = self._front[0] - self._back[0]
            took_s = self._back[1] - self._front[1]
            self._usual = max(SLOWEST, self.travel / took_s) if took_s > 0.0 else SLOWEST
            self._front = (self.place, self.time)
            return self._event(TOE_OFF, before, limit)
        return None

    def _event(self, kind: int, before: tuple[float, float], level: float) -> Event | None:
        """Return an event if the speed has passed `level` since `before` (time, speed), else None."""
        (t0, v0), (t1, v1) = before, (self.time, self.speed)
        part = (level - v0) / (v1 - v0) if v1 != v0 else math.nan
        if not 0.0 <= part <= 1.0 or t1 - t0 > 2.0 * WINDOW_S:
            return None
        return Event(kind, t0 + (t1 - t0) * part)

    def _fit(self, time: float, place: float) -> bool:
        """Fit a line through the newest samples; return whether there are enough of them."""
        samples = self._samples
        samples.append((time, place))
        while len(samples) > LEAST_SAMPLES and time - samples[0][0] > WINDOW_S:
            samples.popleft()
        n = len(samples)
        if n < LEAST_SAMPLES or time - samples[0][0] < 0.5 * WINDOW_S:
            return False
        middle, mean = sum(t for t, _ in samples) / n, sum(x for _, x in samples) / n
        spread = sum((t - middle) ** 2 for t, _ in samples)
        self.time, self.place = middle, mean
        self.speed = sum((t - middle) * (x - mean) for t, x in samples) / spread
        return True


class StrideShape:
    """Mean forward positions of all feet over the phase of one foot's stride, averaged over past strides."""

    def __init__(self, n_foot: int) -> None:
        self.places: list[list[float]] = [[] for _ in range(n_foot)]
        self.range = [math.nan] * n_foot
        self.known = False

    def learn(self, samples: Sequence[tuple[float, ...]], begin: float, length: float) -> None:
        """Update the mean positions of the feet by the samples of a stride.

        samples : times and positions of all feet
        begin, length : start and duration of the stride [s]

        Strides with gaps, and feet that were not seen throughout, are ignored."""
        rows = np.array(samples)
        ends = (begin, *rows[:, 0], begin + length) if len(rows) else (begin, begin + length)
        if np.diff(ends).max() > NEAR_S:
            return
        at = begin + length * np.arange(N_BIN) / N_BIN
        for k, places in enumerate(self.places):
            new = np.interp(at, rows[:, 0], rows[:, 1 + k])
            if np.isnan(new).any():
                continue
            if places:
                old = np.array(places)
                new = old + LEARN * (new - old)
            self.places[k], self.range[k] = new.tolist(), max(float(np.ptp(new)), LEAST_TRAVEL)
        self.known = True

    def at(self, foot: int, phase: float) -> tuple[float, float]:
        """Return the mean position of a foot at a phase [m or rad], and its slope over the phase."""
        row = self.places[foot]
        x = (phase % 1.0) * N_BIN
        k, part = int(x), x - int(x)
        a, b, c, d = (row[(k + j) % N_BIN] for j in (-1, 0, 1, 2))
        return b + part * (c - b), 0.5 * N_BIN * ((c - a) + part * (d - b - c + a))


class FootStride:
    """The stride of one foot: its phase, its duration, and the confidence in both.

    phase : phase since the heel strike, 0 to 1; NaN if nobody walks, or walking has just begun
    length : duration of a stride [s]: the time from an event to the newest event of the same kind. Before
      there are two, it is twice the time from an event to the same event of the other foot; at first NaN
    confidence : 0 to 1
    n_strike, n_off : number of heel strikes and toe-offs so far
    struck : time of the last heel strike [s]; NaN before"""

    def __init__(self, foot: int, n_foot: int) -> None:
        self.foot = foot
        self.shape = StrideShape(n_foot)
        self.phase = self.length = self.struck = math.nan
        self.confidence = 0.0
        self.n_strike = self.n_off = 0
        self._n_like = 0  # strides on end that were like each other
        self._lasted = math.nan  # the stride before, from strike to strike [s]
        self._total = 0.0  # phase that is not taken modulo 1
        self._misfit = 0.0
        self._events: dict[tuple[int, int], tuple[float, float]] = {}  # (foot, kind): phase, last time
        self._samples: list[tuple[float, ...]] = []

    @property
    def _is_known(self) -> bool:
        """Whether the phase of the stride is known."""
        return not math.isnan(self.length) and not math.isnan(self.struck)

    def go_on(self, time: float, passed_s: float) -> None:
        """Advance the phase to `time` [s] by the present stride duration, without positions of the feet;
        passed_s : time since the previous call [s]."""
        if self._is_known:
            self._total += passed_s / self.length
        self._tell(time)

    def look(self, time: float, passed_s: float, feet: Sequence[Swing]) -> None:
        """Shift the phase towards the one at which mean positions in past strides fit the feet best."""
        at = feet[self.foot].time
        seen = [foot.place if at - foot.time <= WINDOW_S else math.nan for foot in feet]
        self._samples.append((at, *seen))
        if at - self._samples[0][0] > STRIDE_S[1] + 1.0:
            del self._samples[: len(self._samples) // 2]
        if not self.shape.known or self.length != self.length:
            return
        phase = self._total - (time - at) / self.length
        pull = slope_square = misfit = 0.0
        n = 0
        for k, foot in enumerate(feet):
            if math.isnan(seen[k]) or not self.shape.places[k]:
                continue
            place, slope = self.shape.at(k, phase)
            size = self.shape.range[k]
            off, slope = (foot.place - place) / size, slope / size
            pull += slope * off
            slope_square += slope * slope
            misfit += off**2 + ((foot.speed * self.length / size - slope) / (2.0 * math.pi)) ** 2
            n += 1
        if not n:
            return
        told = pull / (slope_square + FLAT * n * math.pi**2)
        told = min(max(told, -MOST_PULL), MOST_PULL)
        self._total += min(1.0, passed_s / PULL_S) * told
        self._misfit += min(1.0, passed_s / MISFIT_S) * (math.sqrt(misfit / n) - self._misfit)

    def take(self, time: float, foot: int, event: Event) -> None:
        """Update phase and stride duration by an event of either foot; time : when it is reported [s]."""
        key, own = (foot, event.kind), foot == self.foot
        usual, last = self._events.get(key, (math.nan, math.nan))
        lasted = event.time - last
        if STRIDE_S[0] <= lasted <= STRIDE_S[1]:
            if self._n_like and abs(lasted - self.length) > ODD * self.length:
                self._n_like = 0  # an event was missed, or another gait begins: the next one tells
            else:
                self.length = lasted
        elif not self._n_like:
            self._guess(key, event.time, time)
        if own and event.kind == HEEL_STRIKE:
            self._strike(event.time)
            usual = 0.0
        self.n_off += own and event.kind == TOE_OFF
        self._events[key] = (usual, event.time)
        if usual == usual and self.length == self.length:
            off = usual + (time - event.time) / self.length - self._total
            off = (off + 0.5) % 1.0 - 0.5
            self._total += off if key == (self.foot, HEEL_STRIKE) else AIDE * off

    def _guess(self, key: tuple[int, int], at: float, time: float) -> None:
        """Set the stride time to twice the time from the other foot's last event of this kind to `at` [s]."""
        _, last = self._events.get((1 - key[0], key[1]), (math.nan, math.nan))
        if not STRIDE_S[0] <= 2.0 * (at - last) <= STRIDE_S[1]:
            return
        self.length = 2.0 * (at - last)
        if self._is_known:
            self._total = (time - self.struck) / self.length

    def mend(self, time: float, foot: int, event: Event) -> None:
        """Correct the time of the newest event of a kind, once a plate or a file reports the same event.

        foot, event : foot, kind and reported time of the event; this time replaces the detected one
        time : present time [s]; after a heel strike of this foot the phase becomes the time since the
            reported strike, in strides"""
        key, at = (foot, event.kind), event.time
        usual, _ = self._events[key]
        self._events[key] = (usual, at)
        if key == (self.foot, HEEL_STRIKE) and self._is_known:
            whole = self._total - self.phase  # NaN before there was a phase
            self.struck = at
            self._total = (round(whole) if whole == whole else 0) + (time - at) / self.length

    def _strike(self, time: float) -> None:
        """Process a strike of the foot at a time [s]: a stride ends; it is learnt if as long as the last."""
        length, before = time - self.struck, self._lasted
        begin, self.struck = self.struck, time
        self.n_strike += 1
        self._lasted = length
        if not STRIDE_S[0] <= length <= STRIDE_S[1]:
            self._n_like = 0
            return
        odd = abs(length - before) > ODD * before
        self._n_like = 1 if odd else self._n_like + 1
        if odd:
            return
        for key, (usual, at) in self._events.items():
            if begin < at < time:
                new = (at - begin) / length
                self._events[key] = (new if usual != usual else usual + LEARN * (new - usual), at)
        self.shape.learn([row for row in self._samples if row[0] >= begin - NEAR_S], begin, length)
        self._samples = [row for row in self._samples if row[0] >= time - NEAR_S]

    def _tell(self, time: float) -> None:
        since = (time - self.struck) / self.length
        if since >= OVERDUE[1]:  # nobody walks: what is known of the stride is kept, where it was is not
            self.length = self.struck = math.nan
            self._n_like, self._misfit = 0, 0.0
            self._samples.clear()
        if not self._is_known:
            self.phase, self.confidence = math.nan, 0.0
            return
        self.phase = self._total % 1.0
        trust = TRUST[min(self._n_like, 2)]
        self.confidence = trust * falling(since, OVERDUE) * falling(self._misfit, MISFIT)


class GaitPhase:
    """Gait phases of one or two feet, from samples of the forward position of each foot.

    Attributes
    ----------
    feet, strides : the Swing (detection of events) and the FootStride of each foot"""

    def __init__(self, n_foot: int) -> None:
        self.feet = [Swing() for _ in range(n_foot)]
        self.strides = [FootStride(k, n_foot) for k in range(n_foot)]
        self._time = self._looked = math.nan
        # by kinds: a witness, as a plate, tells of the event so much later than the foot [s]
        self._late = [[0.0] * n_foot for _ in (HEEL_STRIKE, TOE_OFF)]
        self._seen = [[-math.inf] * n_foot for _ in self._late]  # when the foot told of the newest one [s]
        self._pressed = [[-math.inf] * n_foot for _ in self._late]  # and the witness

    def add(self, time: float, places: Sequence[float]) -> None:
        """Process a sample at a time [s]; places : one number for each foot: its forward position relative to
        the pelvis [m], or the flexion of the hip of its leg [rad]; NaN = not known"""
        passed = time - self._time
        self._time = time
        if passed < 0.0:
            raise ValueError(f"the sample at {time} s follows {time - passed} s; times must increase")
        for stride in self.strides:
            stride.go_on(time, passed if passed == passed else 0.0)
        since = time - self._looked
        if since < LEAST_STEP_S:
            return
        self._looked = time
        events = [
            (k, event)
            for k, (foot, place) in enumerate(zip(self.feet, places, strict=True))
            if place == place and (event := foot.add(time, place)) is not None
        ]
        for stride in self.strides:
            if places[stride.foot] == places[stride.foot] and since == since:
                stride.look(time, since, self.feet)
        for foot, event in events:
            self._take(time, foot, event)

    def press(self, foot: int, at: float, kind: int = HEEL_STRIKE) -> None:
        """Process an event reported by a plate or a file, after `add` has received the sample of that time.

        The reported event replaces the same event detected from the motion of the foot. The delay between the
        two is stored, and is added to detected events in later strides for which none is reported.

        foot : index of the foot; at : time of the event [s]; kind : HEEL_STRIKE or TOE_OFF"""
        before, self._pressed[kind][foot] = self._pressed[kind][foot], at
        if at - before < NEAR_S:  # it trembles
            self._pressed[kind][foot] = before
        elif abs(at - self._seen[kind][foot]) <= NEAR_S:
            self._learn_late(foot, kind)
            for stride in self.strides:
                stride.mend(self._time, foot, Event(kind, at))
        else:
            self._tell(self._time, foot, Event(kind, at))

    def _take(self, time: float, foot: int, event: Event) -> None:
        """Process an event detected from a foot's motion, unless a plate or file has reported it already."""
        kind = event.kind
        self._seen[kind][foot] = event.time
        if abs(event.time - self._pressed[kind][foot]) <= NEAR_S:
            self._learn_late(foot, kind)
        else:
            self._tell(time, foot, Event(kind, event.time + self._late[kind][foot]))

    def _tell(self, time: float, foot: int, event: Event) -> None:
        for stride in self.strides:
            stride.take(time, foot, event)

    def _learn_late(self, foot: int, kind: int) -> None:
        late, new = self._late[kind], self._pressed[kind][foot] - self._seen[kind][foot]
        late[foot] += (LEARN if late[foot] else 1.0) * (new - late[foot])


def falling(x: float, ends: tuple[float, float]) -> float:
    """Return 1 for x below the first end, 0 for x above the second, and a linear transition in between."""
    low, high = ends
    return min(1.0, max(0.0, (high - x) / (high - low)))
