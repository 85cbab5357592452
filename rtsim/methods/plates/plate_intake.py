"""Conversion of any sender's stream of forces to samples in ground, kept until markers request them.

Implausible data are reported in plain language and counted. Order, duplicates, clock jumps and infinities of
messages are checked before, by the subscriber.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from kernels.algebra.resampling import forget_samples, hold_samples, new_held, wrenches_at
from kernels.compiler.jit import hold
from kernels.plates.plate_intake import take_in_samples
from kernels.plates.plate_limits import GREATEST
from rtsim.files.forces.force_stream import describe
from rtsim.files.forces.force_trial import lay_out
from rtsim.methods.plates.plate_zero import PlateZero
from streams.messages import Session

FloatArray = NDArray[np.float64]

HOLD_S = 2.0
"""Length of the samples that are kept [s]."""
MOST_HELD = 20_000
LEAST_HELD = 1000
LONGEST_STEPS = 2.5
"""Multiple of the sample period above which the time between two samples is a gap."""
LONGEST_S = 0.1
"""Time between two samples above which it is a gap, if the sample rate is not known [s]."""
SLACK_S = 1e-6
"""Tolerance with which the times of a sample and of a frame count as equal [s]."""
SAY_EVERY = 500
"""Number of messages after which a persistent fault is reported again."""


class PlateIntake:
    """Receiver of the messages of one session of forces.

    Attributes
    ----------
    usable : whether the session describes plates; otherwise nothing is stored
    names : names of the plates
    corners : (n_plate, 4, 3) - in ground [m]; NaN where not known
    plates : records of the plates for the kernels
    zero : offsets that are subtracted from all samples
    counters : unfit - messages whose shapes differ from the session; samples_out_of_order - samples whose
      time is not later than that of the sample before; samples_restarted - jumps of the samples' clock, after
      which all earlier samples are discarded; samples_in_part - wrenches that are partly missing or too large
    sentences : messages for the user, which the owner shows and removes
    """

    def __init__(self, session: Session, by_time: bool) -> None:
        """Prepare for the samples of a session.

        by_time : whether samples are stored by their time in the trial, else by the sender's clock
            (t_capture)
        """
        self.counters: Counter[str] = Counter(
            unfit=0, samples_out_of_order=0, samples_restarted=0, samples_in_part=0
        )
        self.sentences: list[str] = []
        self._by_time = by_time
        self._told: dict[str, int] = {}
        self._n_message = 0
        said = describe(session)
        self.sentences += said.faults
        self.names, self.corners, self._z_up = said.names, said.corners, said.z_up
        n_sample, n_plate = said.n_sample, len(said.names)
        self.usable = n_plate > 0
        self.plates = lay_out(self.corners, said.level)
        self._longest = LONGEST_STEPS / said.rate if said.rate > 0.0 else LONGEST_S
        self.zero = PlateZero(self.names, self.plates, said.zero, self._longest)
        n_keep = min(MOST_HELD, max(LEAST_HELD, int(HOLD_S * said.rate), n_sample))
        self.held = new_held(n_keep, 6 * n_plate)
        self._behind = math.inf  # newest time of the message before, where all of it was before what is held
        self._times, self._values = np.empty(n_sample), np.empty((n_sample, 6 * n_plate))
        wrench = np.empty((n_plate, n_sample, 3))
        self._shapes = {"sample_times": (n_sample,), "force": wrench.shape, "moment": wrench.shape}
        example = (np.empty(n_sample), wrench, wrench, self._z_up, 0.0, self._times, self._values)
        self._take_in = hold(take_in_samples, example, given=(0, 1, 2, 4))
        self._hold = hold(hold_samples, (self._times, self._values, self.held), given=(0, 1))
        self._forget = hold(forget_samples, (self.held,))
        wrenches = (np.empty((n_plate, 3)), np.empty((n_plate, 3)))
        held = (self.held, self._longest, 2.0 * SLACK_S, np.empty(6 * n_plate), 0.0, *wrenches)
        self._read = hold(wrenches_at, held, given=(4, 5, 6))

    def admit(self, data: Mapping[str, FloatArray], time: float, t_capture: int) -> int:
        """Store the samples of a message; return how many there were.

        data : the message's fields, of the shapes in the session
        time, t_capture : of the message [s], [ns]
        """
        self._n_message += 1
        if not self.usable or not self._fits(data):
            return 0
        shift = 0.0 if self._by_time else 1e-9 * t_capture - time
        n_used, n_odd = self._take_in(data["sample_times"], data["force"], data["moment"], float(shift))
        if n_odd:
            self.counters["samples_in_part"] += n_odd
            self._tell(
                "samples_in_part",
                f"{n_odd} samples of force plates were partly missing, or beyond {GREATEST:g} N, and "
                "were treated as not measured.",
            )
        self.zero.apply(self._times[:n_used], self._values[:n_used])
        n_out = self._hold_all(n_used)
        if n_out:
            self.counters["samples_out_of_order"] += n_out
            self._tell(
                "samples_out_of_order",
                f"{n_out} samples of force plates arrived with times that do not increase, and were "
                "left out.",
            )
        return int(n_used)

    @property
    def newest(self) -> float:
        """Time of the newest sample [s] on the clock by which the samples are stored (time in the trial, or
        the sender's clock); -inf before the first sample.
        """
        first, n = self.held.ends.tolist()
        return float(self.held.times[(first + n - 1) % len(self.held.times)]) if n else -math.inf

    def read(self, t: float, force_out: FloatArray, moment_out: FloatArray) -> int:
        """Interpolate the forces and moments of all plates at the time t, and write them; return the status:
        TAKEN, EARLY, WAITING or GAP of kernels/algebra/resampling.

        t : time [s] on the clock by which the samples are stored: time in the trial, or the sender's clock
        force_out, moment_out : (n_plate, 3) [N], [N m]; NaN unless the status is TAKEN
        """
        status: int = self._read(t, force_out, moment_out)
        return status

    def _hold_all(self, n_used: int) -> int:
        """Store the first `n_used` samples; return how many were left out because of their time.

        Samples earlier than the stored ones are left out. After the sender's clock was set back, or after a
        single time that was too late, that would be all later samples. So two successive messages that are
        earlier than the stored samples are accepted if the second one continues the first.
        """
        times, values = self._times[:n_used], self._values[:n_used]
        n_out: int = self._hold(times, values)
        if not 0 < n_out == n_used:
            self._behind = math.inf
            return n_out
        if times[0] > self._behind:
            self._forget()
            n_out = self._hold(times, values)
            self._behind = math.inf
            self.counters["samples_restarted"] += 1
            self._tell(
                "samples_restarted", "The time of the force plates jumped: earlier samples are discarded."
            )
        else:
            self._behind = float(times[-1])
        return n_out

    def _fits(self, data: Mapping[str, FloatArray]) -> bool:
        """Return whether a message has the arrays that the session describes, as the kernel trusts their
        shapes."""
        for name, shape in self._shapes.items():
            array = data.get(name)
            fits = array is not None and array.shape == shape and array.flags.c_contiguous
            if array is None or not fits or array.dtype != np.float64:
                self.counters["unfit"] += 1
                found = "is missing" if array is None else f"has shape {array.shape}"
                self._tell(
                    "unfit", f"The field {name} of the forces {found}, but the session states {shape}."
                )
                return False
        return True

    def _tell(self, kind: str, sentence: str) -> None:
        """Report a fault, but a lasting one at most once in SAY_EVERY messages."""
        if self._n_message >= self._told.get(kind, -SAY_EVERY) + SAY_EVERY:
            self._told[kind] = self._n_message
            self._say(sentence)

    def _say(self, sentence: str) -> None:
        self.sentences.append(sentence)


def share_time(markers: Session, forces: Session) -> bool:
    """Return whether `time` of both streams has the same origin and pace, as the senders declare by meta
    time_base.

    If they do not, the streams are paired by t_capture, the clock time of capture.
    """
    bases = [session.meta.get("time_base", "") for session in (markers, forces)]
    return isinstance(bases[0], str) and bool(bases[0]) and bases[0] == bases[1]
