"""The zero of live force plates: averaged while they are unloaded, and subtracted from the following
samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import bind, hold
from kernels.plates.plate_contact import Plates, forget_tare, gather_tare, new_tare, settle_tare, take_off
from rtsim.files.forces.force_tare import FINE_S, name_tared, normal_of
from rtsim.files.forces.force_trial import MOST_DRIFT, THRESHOLD
from streams.account import plain

FloatArray = NDArray[np.float64]


class PlateZero:
    """Offsets that are subtracted from the samples of the force plates in one session, and the taring that
    determines them.

    Attributes
    ----------
    normal : (n_plate,) normal force that has been subtracted from each plate so far, by the sender and by
      this object [N]
    words : outcome of the last taring; empty before the first
    sentences : messages for the user, which the owner shows and removes
    """

    def __init__(self, names: tuple[str, ...], plates: Plates, sent: FloatArray, longest: float) -> None:
        """Begin without offsets of its own.

        names, plates : names and records of the plates
        sent : (n_plate, 6) - tare that the sender has subtracted already [N, N m]
        longest : largest step between samples without a gap [s]
        """
        n = len(names)
        self._names, self._plates, self._longest = names, plates, longest
        self._sent = normal_of(plates, sent)
        self.normal = self._sent.copy()
        self.words = ""
        self.sentences: list[str] = []
        self._tare, self._found = new_tare(n), np.zeros(n, np.int64)
        self._needed = self._gathered = 0.0
        self._newest = -np.inf
        values = np.empty((1, 6 * n))
        self._gather = bind(gather_tare, (plates, values, self._tare))
        self._settle = bind(settle_tare, (self._tare, THRESHOLD, MOST_DRIFT, self._found))
        self._forget = bind(forget_tare, (self._tare,))
        self._take_off = hold(take_off, (self._tare, values), given=(1,))

    @property
    def told(self) -> str:
        """Describe the state of the taring in a few words; "" if no taring was requested."""
        return f"taring ({self._gathered:.1f} of {self._needed:g} s)" if self._needed else self.words

    def begin(self, seconds: float) -> None:
        """Average the coming samples for this time [s]; until it is over the former zero is subtracted."""
        self._forget(self._tare)
        self._needed, self._gathered, self._newest = seconds, 0.0, -np.inf

    def apply(self, times: FloatArray, values: FloatArray) -> None:
        """Subtract the offsets from the samples, in place. If taring was requested, samples are also averaged
        to determine new offsets.

        times : (n,) [s]; values : (n, 6 n_plate) - force and moment of each plate in turn [N, N m]
        """
        if self._needed and len(times):
            self._gather(self._plates, values, self._tare)
            self._count(float(times[0]), float(times[-1]), len(times))
        self._take_off(values)

    def _count(self, first: float, last: float, n: int) -> None:
        """Add the time between the first and the last of n averaged samples [s] to the time over which the
        plates were averaged, without gaps and jumps of the clock; finish the taring when it is long enough.
        """
        since = self._newest if 0.0 <= first - self._newest <= self._longest else first
        self._gathered += max(0.0, min(last - since, n * self._longest))
        self._newest = last
        if self._gathered >= self._needed - FINE_S:
            self._finish()

    def _finish(self) -> None:
        """Set the zero of those plates that were empty to the mean of the samples."""
        self._needed = 0.0
        self._settle(self._tare, THRESHOLD, MOST_DRIFT, self._found)
        baseline = normal_of(self._plates, self._tare.baseline)
        self.normal[:] = self._sent + baseline
        done, left = name_tared(self._names, self._found, baseline)
        said = f"zero subtracted for {done}" if done else "no plate was empty, so no zero was subtracted"
        self.words = plain(f"{said}; plates that were loaded or not measured: {left}" if left else said)
        self.sentences.append(f"Force plates: {self.words}.")
