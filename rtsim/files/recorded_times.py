"""Times of the frames of a recording on the clock of the trial, also where the trial was played again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.gait.events import GaitEvent
from rtsim.files.markers.ground import LONGEST_S, RATES
from rtsim.files.markers.trial import count_of
from streams.messages import AnyFrame, Session, speed_of, time_rate

FloatArray = NDArray[np.float64]

BACK_MOST = 3.0
"""Largest number of frames by which times may go back without the trial being played again."""
NEAR_S = 0.1
"""Largest time between a mark and the frames of the round of the trial in which it is placed [s]; frames at
the ends of a round may be lost."""


class TrialTimes(NamedTuple):
    """Times of the frames of one session.

    times : (n,) time in the trial [s]. Where the trial was played again, it continues to increase
    own : (n,) time that each frame itself states [s]; equal to `times` in the first round
    starts : index of the first frame of each round in which the trial was played
    notes : sentences for the user on times that are not those of the frames
    """

    times: FloatArray
    own: FloatArray
    starts: tuple[int, ...] = (0,)
    notes: tuple[str, ...] = ()


def trial_times(frames: Sequence[AnyFrame], session: Session) -> TrialTimes:
    """Return the times of the frames of a session in the trial.

    If the frames' own times go back, as when a trial is played again, they continue from there by the
    source's clock, multiplied by the speed of playing. If they merely repeat or go back by up to BACK_MOST
    frames, as rounded times do, all times are those of that clock. If that clock does not increase either,
    they are computed from the rate, or, without a usable rate, are those of the source's clock unchanged.
    """
    own = np.array([frame.time for frame in frames])
    if is_increasing(own):
        return TrialTimes(own, own)
    clock = trial_clock(frames, session)
    if is_increasing(clock):
        steps = np.diff(own)
        back = steps < -BACK_MOST * np.median(np.diff(clock))
        starts = (0, *(np.flatnonzero(back) + 1).tolist())
        repeated = int(((steps <= 0.0) & ~back).sum())
        times = own[0] + clock if repeated else continued(own, clock, back)
        said = []
        if repeated:
            said.append(
                f"{count_of(repeated, 'time')} in the trial not later than the one before, as rounded times "
                "are, so the times are those of the source's clock"
            )
        if back.any():
            n = int(back.sum())
            said.append(
                f"the trial was played more than once: its times go back {n} time{'s' * (n != 1)}; "
                "from there on they were continued by the source's clock"
            )
        if is_increasing(times) and np.abs(times).max() <= LONGEST_S:
            return TrialTimes(times, own, starts, tuple(said))
        words = "the times in the trial cannot be used; the times are those of the source's clock"
        return TrialTimes(clock, own, starts, (words,))
    rate = time_rate(session)
    if RATES[0] <= rate <= RATES[1]:
        words = (
            "neither the times nor the source's clock increase; the times were computed from the "
            f"rate of {rate:g} Hz"
        )
        return TrialTimes(np.arange(len(frames)) / rate, own, notes=(words,))
    words = (
        "neither the times nor the source's clock increase, and the recording states no usable rate; "
        "the times of the source's clock are used unchanged"
    )
    return TrialTimes(clock, own, notes=(words,))


def continued_samples(
    samples: FloatArray, frames: Sequence[AnyFrame], session: Session
) -> tuple[FloatArray, list[str]]:
    """Return the times of samples that continue, as those of `trial_times`, where messages of forces begin
    the trial anew, and notes.

    A new round begins with a message whose time is earlier than that of the message before, and whose samples
    all precede those of that message. If the source's clock does not increase, the times stay as they are.

    samples : (n, n_sample) times of the samples [s], NaN = none
    """
    if samples.ndim != 2:
        return samples, []
    rows = np.flatnonzero(np.isfinite(samples).any(axis=1))
    sent = [frames[k] for k in rows.tolist()]
    own, clock = np.array([frame.time for frame in sent]), trial_clock(sent, session)
    if not len(rows) or not is_increasing(clock):
        return samples, []
    held = np.where(np.isfinite(samples[rows]), samples[rows], np.nan)
    back = (np.nanmax(held, axis=1)[1:] < np.nanmin(held, axis=1)[:-1]) & (own[1:] < own[:-1])
    shift = continued(own, clock, back) - own
    if not back.any() or not (np.abs(shift) <= LONGEST_S).all():
        return samples, []
    later = samples.copy()
    later[rows] += shift[:, None]
    n = int(back.sum())
    return later, [
        f"the forces were sent more than once: their times go back {n} time{'s' * (n != 1)}; from there on "
        "they were continued by the source's clock"
    ]


def trial_clock(frames: Sequence[AnyFrame], session: Session) -> FloatArray:
    """Return the time that has passed in the trial since the first frame by the source's clock, (n,) [s]: at
    twice the speed, twice as much as on the clock.
    """
    ticks = np.array([frame.t_capture for frame in frames], dtype=np.int64)
    return np.asarray(speed_of(session) * (1e-9 * (ticks - ticks[:1])), np.float64)


def continued(own: FloatArray, clock: FloatArray, back: NDArray[np.bool_]) -> FloatArray:
    """Return times (n,) [s] that continue where the frames' own times go back.

    own : (n,) times that the frames state [s]
    clock : (n,) time passed in the trial by the source's clock [s]
    back : (n - 1,) whether a new round of the trial begins between a frame and the next one
    """
    with np.errstate(over="ignore", invalid="ignore"):  # times of a stranger, which the caller checks
        leaps = np.where(back, np.diff(clock) - np.diff(own), 0.0)
        return np.asarray(own + np.concatenate([[0.0], np.cumsum(leaps)]), np.float64)


def is_increasing(times: FloatArray) -> bool:
    """Return whether each time (n,) is later than the previous one."""
    return bool((times[1:] > times[:-1]).all())


def placed_marks(
    marks: Sequence[tuple[GaitEvent, int]], found: TrialTimes, numbers: NDArray[np.int64]
) -> tuple[tuple[GaitEvent, ...], list[str]]:
    """Place marked events on the clock of the results; return them in the order of time, and notes.

    If the trial was played more than once, a mark belongs to the round in which it was made or, if its time
    had not been reached there yet, to the last round before that has this time, else to what follows.

    marks : each event with the number (seq) of the newest frame when it was made, -1 before the first
    found : times of the frames
    numbers : (n,) numbers (seq) of the frames, increasing
    """
    if np.array_equal(found.times, found.own):
        return tuple(sorted((mark for mark, _ in marks), key=lambda mark: mark.time)), []
    starts = [*found.starts, len(found.own)]
    placed = []
    for mark, number in marks:
        newest = max(int(np.searchsorted(numbers, number, side="right")) - 1, 0)
        time = _placed(mark.time, newest, found, starts)
        if time is not None:
            placed.append(mark._replace(time=time))
    notes = []
    if left := len(marks) - len(placed):
        notes.append(
            f"number of marked events left out, because no frame of the trial has their time: {left}"
        )
    return tuple(sorted(placed, key=lambda mark: mark.time)), notes


def _placed(time: float, newest: int, found: TrialTimes, starts: Sequence[int]) -> float | None:
    """Return where a time that was marked after the frame of index `newest` lies on the clock of the results
    [s]; None if no round has this time.

    starts : index of the first frame of each round, and the number of frames
    """
    now = int(np.searchsorted(starts, newest, side="right")) - 1
    passed = [(starts[k], min(starts[k + 1], newest + 1)) for k in range(now, -1, -1)]
    coming = [(starts[k], starts[k + 1]) for k in range(now, len(starts) - 1)]
    for first, end in (*passed, *coming):
        own = found.own[first:end]
        if own[0] - NEAR_S <= time <= own[-1] + NEAR_S:
            at = first + int(np.argmin(np.abs(own - time)))
            if abs(float(found.own[at]) - time) <= NEAR_S:
                return float(found.times[at]) + time - float(found.own[at])
            return float(np.interp(time, own, found.times[first:end]))
    return None
