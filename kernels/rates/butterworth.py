"""Butterworth low-pass filter whose state is a pose with its speeds and accelerations.

A filter of even order is a series of second-order sections; each is a mass on a spring and damper, whose
position y follows the input u:
  y'' = w^2 (u - y) - 2 zeta w y'
(Butterworth 1930, Experimental Wireless 7, 536-541). The trapezoidal rule on y and y' is the bilinear
transform; w = 2/h tan(pi f h) is its prewarping, so that the gain at the cut-off frequency f is 1/sqrt(2) at
the expected step h. Value, speed and acceleration are y, y' and y'' of the last section, so all have the same
phase; their delay at low frequency is the sum of 2 zeta / w over the sections. As the state is physical and w
is constant, the filter is valid for uneven steps, too.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.compiler.jit import entry, njit
from kernels.joints.tree import difference, integrate
from kernels.rates.arrival import arrival
from kernels.rates.manifold import IGNORED, OK, RESTARTED, SETTLING, at_rest, to_child_frames


class Butterworth(NamedTuple):
    """Settings of a Butterworth low-pass filter: frequency, damping of its sections, times of restart and
    settling.
    """

    w: float  # angular frequency of the cut-off, prewarped [rad/s]
    damping: np.ndarray  # (n_section,) - zeta of each section
    longest_gap: float  # steps longer than this start anew [s]
    settling: float  # time after a start until the stated delay holds [s]


class ButterworthState(NamedTuple):
    """State of a Butterworth filter: output of each section, with speeds and accelerations."""

    time: Annotated[np.ndarray, Floats(2)]  # of the last frame, of the start [s]
    started: Annotated[np.ndarray, Integers(1)]
    n_earlier: Annotated[np.ndarray, Integers(1)]  # frames since the last one that were much earlier
    q: Annotated[np.ndarray, Floats("n_section", "n_q")]  # output of each section
    v: Annotated[np.ndarray, Floats("n_section", "n_v")]
    v_dot: Annotated[np.ndarray, Floats("n_section", "n_v")]
    step: Annotated[np.ndarray, Floats("n_v")]  # working space


def butterworth_damping(order: int) -> np.ndarray:
    """Return the damping ratios (order/2,) of the second-order sections of a Butterworth filter of even
    order, the most damped first.
    """
    return np.sin((2 * np.arange(order // 2, 0, -1) - 1) * np.pi / (2 * order))


def new_butterworth_state(n_section: int, n_q: int, n_v: int) -> ButterworthState:
    """Allocate the state of a Butterworth filter with n_section sections before its first frame."""
    return allocate(ButterworthState, n_section=n_section, n_q=n_q, n_v=n_v)


@entry
def butterworth(manifold, options, t, q, state, rates_out):
    """Filter a frame with a Butterworth low-pass filter; write coordinates, speeds and accelerations into
    rates_out.

    Return OK, SETTLING, RESTARTED or IGNORED (kernels/rates/manifold).

    manifold : Manifold - the part of a joint tree that determines tangent steps of coordinates
    options : Butterworth - options of the Butterworth filter
    t : float - time of the frame [s]
    q : (n_q,) - coordinates of the frame [rad, m]
    state : ButterworthState - updated
    rates_out : Rates - filtered coordinates with speeds and accelerations
    """
    h = t - state.time[0]
    said = arrival(t, q, state.started[0] != 0, state.time[0], options.longest_gap, state.n_earlier)
    if said == IGNORED:
        return IGNORED
    state.time[0] = t
    if said == RESTARTED:
        state.started[0], state.time[1] = 1, t
        for s in range(state.q.shape[0]):
            at_rest(q, state.q[s], state.v[s], state.v_dot[s])
        at_rest(q, rates_out.q, rates_out.v, rates_out.v_dot)
        return RESTARTED
    for s in range(state.q.shape[0]):
        follow(manifold, q if s == 0 else state.q[s - 1], 0.5 * h, options.w, options.damping[s], s, state)
    last = state.q.shape[0] - 1
    for i in range(q.shape[0]):
        rates_out.q[i] = state.q[last, i]
    for d in range(rates_out.v.shape[0]):
        rates_out.v[d], rates_out.v_dot[d] = state.v[last, d], state.v_dot[last, d]
    return OK if t - state.time[1] >= options.settling else SETTLING


@njit
def follow(manifold, u, half, w, zeta, s, state):
    """Advance one second-order section of the filter by one time step, at the end of which its input is u.

    The step is done in the tangent space at the present output, where each dof is filtered by itself.

    manifold : Manifold - the part of a joint tree that determines tangent steps of coordinates
    u : (n_q,) - input of the section at the end of the step [rad, m]
    half : float - half of the step [s]
    w : float - prewarped angular frequency [rad/s]
    zeta : float - damping ratio [1]
    s : int - index of the section
    state : ButterworthState - updated
    """
    y, v, a, step = state.q[s], state.v[s], state.v_dot[s], state.step
    difference(manifold, y, u, step)
    spring, damper = w * w, 2.0 * zeta * w
    for d in range(v.shape[0]):
        ahead = step[d] - half * v[d]
        rate = (v[d] + half * (a[d] + spring * ahead)) / (1.0 + half * (damper + half * spring))
        moved = half * (v[d] + rate)
        a[d] = spring * (step[d] - moved) - damper * rate
        v[d], step[d] = rate, moved
    integrate(manifold, y, step, 1.0, y)
    to_child_frames(manifold, step, v, a)
