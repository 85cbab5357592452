"""Savitzky-Golay filter: a polynomial fitted to a window of poses by least squares, and its derivatives.

Savitzky, Golay (1964), Anal Chem 36, 1627-1639; evaluation away from the middle: Gorry (1990), Anal Chem 62,
570-573. The polynomials are orthogonal over the actual time stamps (Forsythe 1957, J SIAM 5, 74-88), so that
uneven or missing frames need no special treatment. Value, speed and acceleration are those of one polynomial
at t - delay; rotations are tangent steps from the pose nearest to that time.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.compiler.jit import entry, njit
from kernels.joints.tree import difference, integrate
from kernels.rates.arrival import arrival
from kernels.rates.manifold import IGNORED, OK, RESTARTED, SETTLING, at_rest, to_child_frames

TIE = 1e-9
"""Difference of the distances of two frames from the time of evaluation below which the newer frame is the
base, so that rounding errors do not decide [s]."""


class SavitzkyGolay(NamedTuple):
    """Settings of a Savitzky-Golay filter: time window, order of the polynomial, delay, and longest gap."""

    window: float  # from its oldest to its newest frame [s]
    order: int  # of the polynomial
    delay: float  # time before the newest frame at which it is read [s]
    slack: float  # a frame may lie this far beyond the window's end: half a step between frames [s]
    longest_gap: float  # steps longer than this start anew [s]


class SavitzkyGolayState(NamedTuple):
    """State of a Savitzky-Golay filter: a ring buffer of frames."""

    time: Annotated[np.ndarray, Floats("n_ring")]  # [s]
    q: Annotated[np.ndarray, Floats("n_ring", "n_q")]
    at: Annotated[np.ndarray, Integers(2)]  # row of the newest frame; frames since the start, at most n_ring
    n_earlier: Annotated[np.ndarray, Integers(1)]  # frames since the newest one that were much earlier
    start: Annotated[np.ndarray, Floats(1)]  # time of the first frame since the start [s]
    # of value, speed, acceleration; the newest frame first
    weight: Annotated[np.ndarray, Floats(3, "n_ring")]
    polynomial: Annotated[np.ndarray, Floats(2, "n_ring")]  # working space
    step: Annotated[np.ndarray, Floats("n_v")]  # working space
    total: Annotated[np.ndarray, Floats("n_v")]  # working space


def new_savitzky_golay_state(n_ring: int, n_q: int, n_v: int) -> SavitzkyGolayState:
    """Allocate the state of a Savitzky-Golay filter before its first frame; n_ring : largest number of frames
    in a window.
    """
    return allocate(SavitzkyGolayState, n_ring=n_ring, n_q=n_q, n_v=n_v)


@entry
def savitzky_golay(manifold, options, t, q, state, rates_out):
    """Filter a frame with a Savitzky-Golay filter; write coordinates, speeds and accelerations at t - delay
    into rates_out.

    Until the window is full, the polynomial has so low an order that there are two frames for each
    coefficient. Return OK, SETTLING, RESTARTED or IGNORED (kernels/rates/manifold).

    manifold : Manifold - the part of a joint tree that determines tangent steps of coordinates
    options : SavitzkyGolay - options of the Savitzky-Golay filter
    t : float - time of the frame [s]
    q : (n_q,) - coordinates of the frame [rad, m]
    state : SavitzkyGolayState - updated
    rates_out : Rates - filtered coordinates with speeds and accelerations
    """
    before = state.time[state.at[0]]
    said = arrival(t, q, state.at[1] > 0, before, options.longest_gap, state.n_earlier)
    if said == IGNORED:
        return IGNORED
    remember(t, q, said == RESTARTED, state)
    if said == RESTARTED:
        at_rest(q, rates_out.q, rates_out.v, rates_out.v_dot)
        return RESTARTED
    settled = t - state.start[0] >= options.window - options.slack
    n = n_in_window(options, t, state)
    order = options.order
    if not settled or n <= order:
        settled, order = False, min(order, (n - 1) // 2)
    n_ring = state.time.shape[0]
    oldest = state.time[(state.at[0] - n + 1) % n_ring]
    read = max(t - options.delay, oldest)
    weigh(state.time, state.at[0], n, order, read, state.polynomial, state.weight)
    nearest = nearest_frame(state.time, state.at[0], n, read)
    combine(manifold, state, nearest, n, rates_out)
    return OK if settled else SETTLING


@njit
def remember(t, q, restarted, state):
    """Store a frame in the ring buffer; if restarted, discard the frames stored before.

    t : float - time [s]; q : (n_q,) - coordinates; restarted : bool; state : SavitzkyGolayState, updated.
    """
    n_ring = state.time.shape[0]
    newest = (state.at[0] + 1) % n_ring
    state.at[0] = newest
    state.at[1] = 1 if restarted else min(state.at[1] + 1, n_ring)
    if restarted:
        state.start[0] = t
    state.time[newest] = t
    for i in range(q.shape[0]):
        state.q[newest, i] = q[i]


@njit
def n_in_window(options, t, state):
    """Return the number of stored frames in the time window that ends at t [s].

    options : SavitzkyGolay - length of the window; state : SavitzkyGolayState - stored frames.
    """
    n, first = 1, t - options.window - options.slack
    while n < state.at[1] and state.time[(state.at[0] - n) % state.time.shape[0]] >= first:
        n += 1
    return n


@njit
def nearest_frame(time, newest, n, read):
    """Return the row of the stored frame whose time is nearest to the time `read` [s], among the n newest
    frames.

    time : (n_ring,) - times of the frames [s]; newest : int - row of the newest frame.
    """
    n_ring, best = time.shape[0], newest
    for k in range(1, n):
        row = (newest - k) % n_ring
        if abs(time[row] - read) < abs(time[best] - read) - TIE:
            best = row
    return best


@njit
def weigh(time, newest, n, order, read, P, weight_out):
    """Compute the weights with which frames are summed for value, first and second derivative of the fitted
    polynomial.

    For frame i and derivative d they are the sums over k of P_k(t_i) P_k^(d)(read) / |P_k|^2, with the
    orthogonal polynomials P_k+1 = (x - a) P_k - b P_k-1 (Forsythe 1957) and the time x from `read`, over the
    window.

    time : (n_ring,) - times of the frames in the ring buffer [s]
    newest : int - row of the newest frame
    n : int - number of frames used
    order : int - order of the polynomial
    read : float - time at which the polynomial is evaluated [s]
    P : (2, n_ring) - working space: P_k and P_k-1 at the frames
    weight_out : (3, n_ring) - rows of value, first and second derivative, the newest frame first
    """
    n_ring = time.shape[0]
    scale = 1.0 / max(time[newest] - time[(newest - n + 1) % n_ring], 1e-12)
    p, p1, p2, before, before1, before2 = 1.0, 0.0, 0.0, 0.0, 0.0, 0.0
    norm_before = 1.0
    for i in range(n):
        P[0, i], P[1, i] = 1.0, 0.0
        weight_out[0, i], weight_out[1, i], weight_out[2, i] = 0.0, 0.0, 0.0
    for k in range(order + 1):
        norm, a = 0.0, 0.0
        for i in range(n):
            x = scale * (time[(newest - i) % n_ring] - read)
            norm += P[0, i] * P[0, i]
            a += x * P[0, i] * P[0, i]
        a /= norm
        b = norm / norm_before if k > 0 else 0.0
        for i in range(n):
            share = P[0, i] / norm
            weight_out[0, i] += share * p
            weight_out[1, i] += share * p1 * scale
            weight_out[2, i] += share * p2 * scale * scale
            x = scale * (time[(newest - i) % n_ring] - read)
            P[0, i], P[1, i] = (x - a) * P[0, i] - b * P[1, i], P[0, i]
        p, before = -a * p - b * before, p  # at x = 0, with both derivatives
        p1, before1 = before - a * p1 - b * before1, p1
        p2, before2 = 2.0 * before1 - a * p2 - b * before2, p2
        norm_before = norm


@njit
def combine(manifold, state, base, n, rates_out):
    """Compute filtered coordinates, speeds and accelerations as weighted sums of the n newest poses.

    manifold : Manifold - the part of a joint tree that determines tangent steps of coordinates
    state : SavitzkyGolayState - its weight is read; its fields step and total are overwritten
    base : int - row of the pose from which tangent steps to the others are taken
    n : int - number of frames used
    rates_out : Rates - filtered coordinates with speeds and accelerations
    """
    q, v, v_dot = rates_out.q, rates_out.v, rates_out.v_dot
    n_v, n_ring = v.shape[0], state.time.shape[0]
    weight, step, total = state.weight, state.step, state.total
    for d in range(n_v):
        total[d], v[d], v_dot[d] = 0.0, 0.0, 0.0
    for i in range(n):
        difference(manifold, state.q[base], state.q[(state.at[0] - i) % n_ring], step)
        for d in range(n_v):
            total[d] += weight[0, i] * step[d]
            v[d] += weight[1, i] * step[d]
            v_dot[d] += weight[2, i] * step[d]
    integrate(manifold, state.q[base], total, 1.0, q)
    to_child_frames(manifold, total, v, v_dot)
