"""Speeds and accelerations from coordinates in time, frame by frame or over a whole recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import bind
from kernels.rates.butterworth import (
    Butterworth,
    ButterworthState,
    butterworth,
    butterworth_damping,
    new_butterworth_state,
)
from kernels.rates.manifold import OK, Manifold, Rates, new_rates, plain
from kernels.rates.savitzky_golay import SavitzkyGolay, new_savitzky_golay_state, savitzky_golay
from rtsim.config.runs.rate_schema import ButterworthSpec, RateSpec, SavitzkyGolaySpec
from rtsim.errors import ConfigError

Array = NDArray[np.float64]

FASTEST = 5000.0
"""Highest frame rate that is accepted [Hz], as a filter stores all frames within its memory."""
HIGHEST = 0.4
"""Highest cut-off frequency as a fraction of the frame rate; 0.5 is the Nyquist frequency."""
N_TIME_CONSTANT = 5.0
"""Number of time constants of the slowest pole after which a Butterworth filter counts as settled: exp(-5)
is 0.7 %."""
DECAYED = 50.0
"""Number of time constants after which its impulse response, times the cube of time, counts as zero: exp(-50)
is 2e-22."""


class _Kernel(NamedTuple):
    """A filter at one frame rate: the kernel, its options, a function that makes its initial state, for how
    long an impulse affects its output [s], and how long after a start its output has the stated delay [s].
    """

    run: Any
    options: Any
    new_state: Callable[[int, int], Any]  # (n_q, n_v)
    memory_s: float  # how long an impulse is seen
    settling_s: float  # after a start


class Response(NamedTuple):
    """Delay of a filter for slow motion [s], and its gain for white noise, (3,) each: of value, speed and
    acceleration.
    """

    delay_s: Array  # (3,) - at low frequency
    noise_gain: Array  # (3,) [1, 1/s, 1/s^2] - standard deviation of the output over that of white input


class RateEstimator:
    """Filter of coordinates that also gives their speeds and accelerations, with the same delay, frame by
    frame.

    Parameters
    ----------
    spec : the filter
    manifold : description of the coordinates, kernels/rates/manifold.manifold_of(tree); or plain(n) for n
        plain numbers such as forces
    rate : expected frames per second [Hz]; frames at another rate are filtered by their time stamps
    """

    def __init__(self, spec: RateSpec, manifold: Manifold, rate: float) -> None:
        self.spec, self.manifold = spec, manifold
        self._kernel = kernel_of(spec, rate)
        self._n_q = int(manifold.q_start[-1])
        self.rates: Rates = new_rates(self._n_q, int(manifold.v_start[-1]))
        self.restart()
        arguments = (manifold, self._kernel.options, 0.0, np.zeros(self._n_q), self._state, self.rates)
        self._run = bind(self._kernel.run, arguments)

    def take(self, t: float, q: Array) -> int:
        """Filter one frame, time [s] and coordinates (n_q,); return a status of kernels/rates/manifold, such
        as OK or SETTLING.

        `rates` then contains the results for the time t - delay_s.
        """
        return int(self._run(self.manifold, self._kernel.options, t, q, self._state, self.rates))

    @property
    def settling_s(self) -> float:
        """Time after a start from which on results have the stated delay [s]."""
        return self._kernel.settling_s

    def rest(self, q: Array, of_q: NDArray[np.bool_], of_v: NDArray[np.bool_]) -> None:
        """Let some of the coordinates start anew, as if they had been at rest until now; others go on.

        q : (n_q,) coordinates at which they rest; of_q : (n_q,) which coordinates of q; of_v : (n_v,) which
            speeds belong to them
        """
        self._state.q[:, of_q] = q[of_q]
        if isinstance(self._state, ButterworthState):
            self._state.v[:, of_v] = self._state.v_dot[:, of_v] = 0.0

    def restart(self) -> None:
        """Discard all frames that were filtered so far."""
        self._state = self._kernel.new_state(self._n_q, int(self.manifold.v_start[-1]))


def filter_of(told: Mapping[str, Any]) -> RateSpec:
    """Return the filter of speeds and accelerations that the descriptor of a session of results states; it
    delays values, speeds and accelerations equally.
    """
    options = {key: value for key, value in told.items() if key not in ("delay_s", "noise_gain")}
    if options["kind"] == "savitzky_golay" and options["order"] > 2:  # of order 2 it is that of the middle
        options["delay_s"] = told["delay_s"][0]
    return msgspec.convert(options, RateSpec)


def kernel_of(spec: RateSpec, rate: float) -> _Kernel:
    """Return the kernel of a filter for a frame rate [Hz]; ConfigError where the rate is invalid, or too low
    for the filter.
    """
    if not 0.0 < rate <= FASTEST:
        raise ConfigError(
            f"the frame rate, {rate:g} Hz, is outside the range in which filters work",
            where="the session's rate",
            allowed=f"a frame rate above 0, up to {FASTEST:g} Hz",
        )
    if isinstance(spec, ButterworthSpec):
        return butterworth_kernel(spec, rate)
    return savitzky_golay_kernel(spec, rate)


def butterworth_kernel(spec: ButterworthSpec, rate: float) -> _Kernel:
    """Return the kernel of a Butterworth filter for a frame rate [Hz]; its cut-off must be well below half
    the rate.
    """
    if spec.cutoff_hz > HIGHEST * rate:
        raise ConfigError(
            f"a cut-off of {spec.cutoff_hz:g} Hz is too high for {rate:g} frames per second",
            where="rates.cutoff_hz",
            allowed=f"a cut-off of up to {HIGHEST * rate:g} Hz",
        )
    damping = butterworth_damping(spec.order)
    w = 2.0 * rate * np.tan(np.pi * spec.cutoff_hz / rate)
    slowest = 1.0 / (damping.min() * w)
    options = Butterworth(float(w), damping, spec.longest_gap_s, float(N_TIME_CONSTANT * slowest))

    def new_state(n_q: int, n_v: int) -> Any:
        return new_butterworth_state(len(damping), n_q, n_v)

    return _Kernel(butterworth, options, new_state, DECAYED * slowest, options.settling)


def savitzky_golay_kernel(spec: SavitzkyGolaySpec, rate: float) -> _Kernel:
    """Return the kernel of a Savitzky-Golay filter for a frame rate [Hz]; its window is a whole number of
    frames.
    """
    n_step = round(spec.window_s * rate)
    if n_step < spec.order:
        raise ConfigError(
            f"{n_step + 1} frames of {rate:g} per second in {spec.window_s:g} s are too few for a polynomial "
            f"of order {spec.order}",
            where="rates.window_s",
            allowed=f"a window of at least {spec.order / rate:.3g} s",
        )
    window = n_step / rate
    delay = 0.5 * window if spec.delay_s is None else min(spec.delay_s, window)
    options = SavitzkyGolay(window, spec.order, delay, 0.5 / rate, spec.longest_gap_s)
    n_ring = 2 * (n_step + 1)  # a stream that is faster than it says

    def new_state(n_q: int, n_v: int) -> Any:
        return new_savitzky_golay_state(n_ring, n_q, n_v)

    return _Kernel(savitzky_golay, options, new_state, window, window - options.slack)


def response(spec: RateSpec, rate: float) -> Response:
    """Compute delay and noise gain of a filter from its impulse response h_k, k steps after the impulse.

    With the step T, the delay of the d-th derivative is the response to t^(d+1) / (d+1)!: (-1)^d sum h_k (k
    T)^(d+1) / (d+1)!.
    """
    h = impulse_response(spec, rate)
    t = np.arange(len(h)) / rate
    delay = [h[:, 0] @ t, -(h[:, 1] @ t**2) / 2.0, h[:, 2] @ t**3 / 6.0]
    return Response(np.array(delay), np.sqrt(np.sum(h**2, axis=0)))


@lru_cache(maxsize=8)
def impulse_response(spec: RateSpec, rate: float) -> Array:
    """Compute the impulse response (n, 3): value, speed and acceleration in each step after one frame of 1
    among zeros.

    The array is read-only and computed only once, as sessions may begin while frames arrive.
    """
    estimator = RateEstimator(spec, plain(1), rate)
    n = round(kernel_of(spec, rate).memory_s * rate) + 2
    h = np.zeros((n, 3))
    for k in range(-n, n):
        estimator.take(k / rate, np.array([1.0 if k == 0 else 0.0]))
        if k >= 0:
            h[k] = [rows[0] for rows in estimator.rates]
    h.flags.writeable = False
    return h


class FilteredRows(NamedTuple):
    """Filtered coordinates of a recording, with their speeds and accelerations."""

    q: Array  # (n, n_q)
    v: Array  # (n, n_v)
    v_dot: Array  # (n, n_v)
    settled: NDArray[np.bool_]  # (n,) whether the filter had settled, so that the row has the stated delay


def track(spec: RateSpec, manifold: Manifold, rate: float, times: Array, rows: Array) -> FilteredRows:
    """Filter the coordinates (n, n_q) of a recording as in a live run, with its delay; NaN for frames with
    unknown coordinates.
    """
    estimator = RateEstimator(spec, manifold, rate)
    found = new_track(len(times), manifold)
    for k, (t, q) in enumerate(zip(times, np.ascontiguousarray(rows, float), strict=True)):
        status = estimator.take(float(t), q)
        if np.isfinite(q).all():
            for out, now in zip(found, estimator.rates, strict=False):
                out[k] = now
        found.settled[k] = status == OK
    return found


def new_track(n: int, manifold: Manifold) -> FilteredRows:
    """Return filtered coordinates of n frames, filled with NaN."""
    n_v = int(manifold.v_start[-1])
    q, v, v_dot = (np.full((n, width), np.nan) for width in (int(manifold.q_start[-1]), n_v, n_v))
    return FilteredRows(q, v, v_dot, np.zeros(n, bool))
