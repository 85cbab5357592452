"""Resampling of a signal at other times: the mean of the linear interpolant x of its samples over a time
span.

    y(start, stop) = 1 / (stop - start) * integral of x from start to stop, x(start) where both are the same
x is linear between samples, so that spans may begin and end between samples. The span (t - T, t] has the
delay T / 2; the span t +- T / 2 has no delay, but its result is available T / 2 later; start = stop = t has
no delay and does not average. All spans need a sample at or after their end.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.compiler.jit import njit

TAKEN = 0
EARLY = 1
WAITING = 2
GAP = 3


class RecentSamples(NamedTuple):
    """The newest samples of several signals with their times, in a ring buffer."""

    times: Annotated[np.ndarray, Floats("n_keep")]  # in a ring, increasing from the oldest [s]
    values: Annotated[np.ndarray, Floats("n_keep", "n_value", fill=math.nan)]
    ends: Annotated[np.ndarray, Integers(2)]  # index of the oldest sample in the ring, and number of samples


def new_held(n_keep: int, n_value: int) -> RecentSamples:
    """Allocate an empty RecentSamples: the buffer that stores the newest n_keep samples, each of n_value
    numbers.
    """
    return allocate(RecentSamples, n_keep=n_keep, n_value=n_value)


@njit
def hold_samples(times, values, held):
    """Store n new samples in the buffer, in place of the oldest ones where it is full.

    times : (n,) - times of the samples [s]
    values : (n, n_value) - values of the samples, NaN = missing
    held : RecentSamples - the newest samples, updated
    Return how many samples were not stored because their time is not finite or not after that of the newest.
    """
    n_keep = held.times.shape[0]
    n_out = 0
    for s in range(times.shape[0]):
        n = held.ends[1]
        newest = held.times[(held.ends[0] + n - 1) % n_keep] if n > 0 else -math.inf
        if not (math.isfinite(times[s]) and times[s] > newest):
            n_out += 1
            continue
        at = (held.ends[0] + n) % n_keep
        if n == n_keep:
            held.ends[0] = (held.ends[0] + 1) % n_keep
        else:
            held.ends[1] = n + 1
        held.times[at] = times[s]
        for i in range(values.shape[1]):
            held.values[at, i] = values[s, i]
    return n_out


@njit
def forget_samples(held):
    """Remove all stored samples, as at the start of a new session."""
    held.ends[0] = held.ends[1] = 0


@njit
def mean_between(held, start, stop, longest, y_out):
    """Compute the mean of the samples' linear interpolant from start to stop.

    held : RecentSamples - the newest samples
    start, stop : float - limits of the span [s]
    longest : float - longest interval between samples over which they are interpolated; longer ones are gaps
        [s]
    y_out : (n_value,) - means; NaN unless TAKEN is returned
    Return TAKEN where means are computed; EARLY where start is before the oldest sample; WAITING where there
    is no sample at or after stop; GAP where two samples of the span are farther apart than `longest`. A value
    that is missing in a sample of the span is missing in the mean.
    """
    n_keep = held.times.shape[0]
    for i in range(y_out.shape[0]):
        y_out[i] = math.nan
    last = find_after(held, stop)
    if last < 0:
        return WAITING
    first = last
    while first > 0 and held.times[(held.ends[0] + first) % n_keep] > start:
        first -= 1
    if held.times[(held.ends[0] + first) % n_keep] > start:
        return EARLY
    for k in range(first, last):
        a, b = (held.ends[0] + k) % n_keep, (held.ends[0] + k + 1) % n_keep
        if held.times[b] - held.times[a] > longest:
            return GAP
    if first == last:  # start = stop = the time of a sample
        for i in range(y_out.shape[0]):
            y_out[i] = held.values[(held.ends[0] + first) % n_keep, i]
        return TAKEN
    integrate(held, first, last, start, stop, y_out)
    return TAKEN


@njit
def wrenches_at(held, longest, slack, wrench, t, force_out, moment_out):
    """Interpolate forces and moments of all force plates at time t.

    held : RecentSamples - force and moment of each plate in turn
    longest : float - longest interval between samples over which they are interpolated [s]
    slack : float - longest time before the oldest sample at which that sample is used [s]
    wrench : (6 n_plate,) - working space
    t : float - time [s]
    force_out : (n_plate, 3) - force of each plate; NaN unless TAKEN is returned
    moment_out : (n_plate, 3) - moment of each plate; NaN unless TAKEN is returned
    Return TAKEN where they are known; EARLY where t is more than slack before the oldest sample; WAITING
    where there is no sample at or after t; GAP where the samples before and after t are farther apart than
    longest.
    """
    if held.ends[1] > 0:
        oldest = held.times[held.ends[0]]
        if 0.0 < oldest - t <= slack:
            t = oldest
    status = mean_between(held, t, t, longest, wrench)
    for p in range(force_out.shape[0]):
        for i in range(3):
            force_out[p, i], moment_out[p, i] = wrench[6 * p + i], wrench[6 * p + 3 + i]
    return status


@njit
def find_after(held, time):
    """Return the index, counted from the oldest sample in the buffer held, of the first sample at or after a
    time [s]; -1 if there is none.
    """
    n_keep = held.times.shape[0]
    found = -1
    for k in range(held.ends[1] - 1, -1, -1):
        if held.times[(held.ends[0] + k) % n_keep] < time:
            break
        found = k
    return found


@njit
def integrate(held, first, last, start, stop, y_out):
    """Compute the mean of the samples' linear interpolant from start to stop, times between the samples first
    and last.

    held : RecentSamples - the newest samples
    first, last : int - indices of these two samples, counted from the oldest
    start, stop : float - limits of the span [s]
    y_out : (n_value,) - means
    """
    n_keep = held.times.shape[0]
    for i in range(y_out.shape[0]):
        y_out[i] = 0.0
    for k in range(first, last):
        a, b = (held.ends[0] + k) % n_keep, (held.ends[0] + k + 1) % n_keep
        t_a, t_b = held.times[a], held.times[b]
        low, high = max(start, t_a), min(stop, t_b)
        weight = (high - low) / (stop - start) if stop > start else 1.0
        share = (0.5 * (low + high) - t_a) / (t_b - t_a)
        if weight == 0.0:
            continue
        for i in range(y_out.shape[0]):
            if share > 0.0 and share < 1.0:
                y_out[i] += weight * ((1.0 - share) * held.values[a, i] + share * held.values[b, i])
            else:
                y_out[i] += weight * held.values[b if share >= 1.0 else a, i]
