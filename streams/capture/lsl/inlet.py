"""Reader of one Lab Streaming Layer stream. A separate thread compares the clock of the stream's sender with
this machine's clock, so that reading never waits for the comparison.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streams.capture.lsl.channels import LslChannel
from streams.capture.lsl.library import correction, lsl, to_ours_ns
from streams.capture.lsl.sender_clock import SenderClock
from streams.capture.records import FASTEST, MOST_MARKERS, CaptureError, ClockPair, believed_rate
from streams.clock import now_ns

MOST_CHANNELS = 4 * MOST_MARKERS
MOST_NUMBERS = 3_000_000
"""Numbers of all channels in a second, at most: liblsl reserves memory for them as soon as a stream is
opened."""
AT_ONCE, NUMBERS_AT_ONCE = 64, 1 << 16
"""Largest number of samples, and of values in them, that are read at once, to limit memory."""
BUFFER_S, WIDE_BUFFER_S, WIDE = 2, 1, 4096
"""Seconds of samples that liblsl keeps for a reader that stalls (of irregular streams, hundreds of
samples): the first below WIDE channels, the second from there on."""
OPEN_S = 3.0
CORRECT_S = 1.0
"""Interval between two comparisons of the clocks [s]."""
SO_MANY_TRIPS = 60
WORST_S = 200e-6
"""Clock comparisons are not used if their round trip exceeds the shortest recent one by more [s]."""
SILENT_NS = 1_200_000_000
"""Time without a sample after which it is checked whether the stream is still there [ns]."""
LOOK_S = 0.5
FARTHEST_S = 9e9
"""Time stamps from this value on are impossible [s]: later than Unix time until 2255, and than what fits into
nanoseconds.
"""


class LslSample(NamedTuple):
    """A sample: values (n_channel,), its stamp on the sender's clock [ns] or None, and its time of arrival
    [ns].
    """

    values: NDArray[np.float64]
    stamp_ns: int | None
    arrived_ns: int


class LslInlet:
    """One Lab Streaming Layer stream that was found, opened to be read.

    Parameters
    ----------
    info : description of the stream, as a search returns it

    Attributes
    ----------
    clock : clock of the stamps of its samples, which learns from what is pulled

    Raises CaptureError if the stream cannot be opened, or if its values are texts.
    """

    def __init__(self, info: Any) -> None:
        self._lsl = lsl()
        self.words = f"{info.name()} of {info.hostname() or 'an unknown computer'}"
        if not 1 <= info.channel_count() <= MOST_CHANNELS or info.channel_format() == self._lsl.cf_string:
            raise CaptureError(
                "refused",
                f"the stream {self.words} is not a marker stream: its {info.channel_count()} channels are of "
                f"texts, or more than {MOST_CHANNELS}",
            )
        rate = info.nominal_srate()
        if rate > FASTEST or rate * info.channel_count() > MOST_NUMBERS:
            raise CaptureError(
                "refused",
                f"the stream {self.words} states {rate:.6g} samples of {info.channel_count()} channels in a "
                f"second; {FASTEST:.6g} samples and {MOST_NUMBERS} numbers are the most that are read",
            )
        # A lost stream is searched for anew by who opened this: that takes milliseconds, liblsl's own three
        # seconds, and it would not take a stream with other channels for the same.
        buffer_s = BUFFER_S if info.channel_count() < WIDE else WIDE_BUFFER_S
        try:
            self._inlet = self._lsl.StreamInlet(info, buffer_s, 0, False)
        except RuntimeError as fault:
            raise CaptureError("refused", f"the stream {self.words} cannot be opened: {fault}") from fault
        self._at_once = max(1, min(AT_ONCE, NUMBERS_AT_ONCE // info.channel_count()))
        self.rate = believed_rate(float(rate))
        self.uid, self.source_id = info.uid(), info.source_id()
        self.clock = SenderClock(info.hostname())
        self._heard_ns = now_ns()
        self._pairs: deque[ClockPair] = deque(maxlen=16)
        self._notices: list[str] = []
        self._is_impossible_told = False
        self._lost = threading.Event()
        self._closing = threading.Event()
        try:
            full = self._inlet.info(OPEN_S)
            self._inlet.open_stream(OPEN_S)
        except RuntimeError as fault:
            self._inlet.close_stream()
            raise CaptureError("unreachable", f"the stream {self.words} cannot be opened: {fault}") from fault
        self.channels = _channels(full)
        self.up = _up(full)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def notices(self) -> list[str]:
        """Return messages for the user since the last call, on the stamps and their clock."""
        told, self._notices = self._notices, []
        if words := self.clock.notice():
            told.append(f"The time stamps of the stream {self.words} {words}.")
        return told

    def pull(self, timeout_s: float) -> list[LslSample]:
        """Return the samples that have arrived, after a wait for the first one. Raises CaptureError where the
        stream has ended.
        """
        if self._lost.is_set():
            raise CaptureError("closed", f"the stream {self.words} is gone")
        while self._pairs:
            self.clock.compare(self._pairs.popleft())
        try:
            first, stamp = self._inlet.pull_sample(timeout_s)
            arrived_ns = now_ns()
            if first is None:
                return []
            others, stamps = self._inlet.pull_chunk(0.0, self._at_once)
        except RuntimeError as fault:
            raise CaptureError("closed", f"the stream {self.words} has ended: {fault}") from fault
        self._heard_ns = arrived_ns
        stamps = [stamp, *stamps]
        samples = [
            LslSample(np.array(row, np.float64), _stamp_ns(at), arrived_ns)
            for row, at in zip([first, *others], stamps, strict=True)
        ]
        for sample, at in zip(samples, stamps, strict=True):
            if sample.stamp_ns is not None:
                self.clock.take(sample.stamp_ns, arrived_ns)
            elif not self._is_impossible_told:
                self._is_impossible_told = True
                self._notices.append(
                    f"Time stamps of the stream {self.words} are impossible (the first one is {at:g} s, "
                    f"possible are 0 to {FARTHEST_S:g} s): such samples go by their arrival, and are left "
                    "out if they are of force plates."
                )
        return samples

    def close(self) -> None:
        """End the thread and close the stream."""
        self._closing.set()
        with contextlib.suppress(RuntimeError):
            self._inlet.close_stream()

    def _watch(self) -> None:
        """Compare the clocks, which may wait for the network, and check whether a silent stream still exists;
        the thread's loop."""
        ours_ns = to_ours_ns(self._lsl)
        trips: deque[float] = deque(maxlen=SO_MANY_TRIPS)
        while not self._closing.is_set():
            try:
                behind_s, trip_s = correction(self._lsl, self._inlet, CORRECT_S)
                local_ns = now_ns()
                theirs_ns = local_ns - ours_ns - round(1e9 * behind_s)
                trips.append(trip_s)
                if trip_s <= min(trips) + WORST_S:
                    self._pairs.append(ClockPair(theirs_ns, local_ns))
            except (RuntimeError, ValueError, OverflowError):
                pass  # the network is slow, and the next one follows; or the stream is gone, as `pull` finds
            if now_ns() - self._heard_ns > SILENT_NS and not self._there():
                self._lost.set()
                return
            self._closing.wait(CORRECT_S)

    def _there(self) -> bool:
        """Search for the stream on the network; return whether it is found."""
        predicate = f"uid='{self.uid}'"
        try:
            return any(self._lsl.resolve_bypred(predicate, 1, LOOK_S) for _ in range(2))
        except RuntimeError:  # what it calls itself cannot be searched for
            return False


def _stamp_ns(stamp: float) -> int | None:
    return round(1e9 * stamp) if math.isfinite(stamp) and 0.0 < stamp < FARTHEST_S else None


def _channels(info: Any) -> tuple[LslChannel, ...]:
    """Return the channels as the stream describes them; a channel that it does not describe gets an empty
    description."""
    found = []
    node = info.desc().child("channels").child("channel")
    for _ in range(info.channel_count()):
        if node.empty():
            break
        found.append(LslChannel(*(node.child_value(key) for key in LslChannel._fields)))
        node = node.next_sibling("channel")
    return (*found, *(LslChannel() for _ in range(info.channel_count() - len(found))))


def _up(info: Any) -> str:
    """Return the axis that points up, if the stream's description states it at the customary place,
    desc/setup/up; else "".
    """
    return str(info.desc().child("setup").child_value("up")).strip().upper().lstrip("+")
