"""The envelope of an electromyogram, live: high-passed, rectified, low-passed, each filter causal.

The usual steps are a high-pass filter against motion of the electrodes (20 Hz), full-wave rectification, and
a low-pass filter of 3 to 6 Hz for the linear envelope (D. A. Winter, Biomechanics and Motor Control of Human
Movement, 4th ed. 2009, ch. 10). Both are Butterworth filters of second order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError

FloatArray = NDArray[np.float64]
HIGH_PASS_HZ, LOW_PASS_HZ = 20.0, 6.0
ORDER = 2
SETTLED = 4.0 * math.sqrt(2.0)
"""Periods over 2 pi until the step response of such a filter is within 2 % of its end."""
LARGEST = 1e12
"""Largest accepted sample, in any unit: a sample such as 1e308 would make the state of the filter
infinite."""
LEAST_PER_PASS = 4.0
"""Samples per second over the frequency of the high-pass filter: below, hardly any of the signal is left."""


class EmgEnvelope:
    """Envelope filter: high-passes, rectifies and low-passes the samples of n_channel channels as they
    arrive.

    rate : samples per second [Hz]
    n_channel : number of channels
    high_pass, low_pass : cut-off frequencies (half power) [Hz]

    Attributes
    ----------
    delay_s : delay of slow changes by the low-pass filter [s]
    settle_s : time from the first sample until the filters have settled [s]

    Raises ConfigError for a rate that is too low for raw signals.
    """

    def __init__(
        self, rate: float, n_channel: int, high_pass: float = HIGH_PASS_HZ, low_pass: float = LOW_PASS_HZ
    ) -> None:
        from scipy.signal import butter, sosfilt  # half a second that runs without EMG do not wait

        if not rate >= LEAST_PER_PASS * high_pass:
            raise ConfigError(
                f"the sampling rate of the electromyogram, {rate:g} Hz, is too low for its high-pass filter",
                allowed=f"a sampling rate of at least {LEAST_PER_PASS * high_pass:g} Hz",
                remedy="send the raw electromyogram, not its envelope",
            )  # fmt: skip
        if not 0.0 < low_pass < high_pass:
            raise ConfigError(
                f"the low-pass cut-off is {low_pass:g} Hz",
                allowed=f"above 0 and below the high-pass cut-off of {high_pass:g} Hz",
            )
        self._high = butter(ORDER, high_pass, "highpass", fs=rate, output="sos")
        self._low = butter(ORDER, low_pass, "lowpass", fs=rate, output="sos")
        self._states = [np.zeros((sos.shape[0], 2, n_channel)) for sos in (self._high, self._low)]
        self._filter = sosfilt
        self.delay_s = math.sqrt(2.0) / (2.0 * math.pi * low_pass)
        self.settle_s = SETTLED / math.tau * (1.0 / low_pass + 1.0 / high_pass)
        self._n_settle = math.ceil(self.settle_s * rate)
        self._owed = np.full(n_channel, self._n_settle)  # samples until each channel tells something

    def __call__(self, samples: FloatArray) -> FloatArray:
        """Return the envelope of samples (n, n_channel), in the same unit. Samples that are not finite, or
        larger than LARGEST, count as missing.

        At a missing sample the envelope is NaN, and the filters receive zero. The envelope is also NaN until
        the filters, which begin at rest, have settled, and for the same time after a gap.
        """
        gone = ~(np.abs(samples) <= LARGEST)
        raw = np.where(gone, 0.0, samples)
        passed, self._states[0] = self._filter(self._high, raw, axis=0, zi=self._states[0])
        envelope, self._states[1] = self._filter(self._low, np.abs(passed), axis=0, zi=self._states[1])
        return np.where(gone | self._unsettled(gone), np.nan, envelope)

    def _unsettled(self, gone: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a mask (n, n_channel) of samples at which filters have not settled; gone : mask of invalid
        samples."""
        n = len(gone)
        if not gone.any():
            unsettled: NDArray[np.bool_] = np.arange(n)[:, None] < self._owed
            self._owed = np.maximum(self._owed - n, 0)
            return unsettled
        unsettled = np.empty_like(gone)
        for row, missing in enumerate(gone):
            unsettled[row] = self._owed > 0
            self._owed = np.clip(self._owed + np.where(missing, 1, -1), 0, self._n_settle)
        return unsettled
