"""A Lab Streaming Layer stream of force plates beside a stream of markers."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from itertools import takewhile

import numpy as np

from streams.capture.lsl.channels import force_channels
from streams.capture.lsl.inlet import LslInlet, LslSample
from streams.capture.lsl.sender_clock import BACK_NS, SenderClock
from streams.capture.records import CaptureError, ForceSamples, PlateDescription, StampArray

HELD_NS = 5_000_000_000
"""Longest time for which samples wait until the clocks are known [ns]."""
MOST_PULLS = 64
"""Reads of up to 65 samples for a frame of markers, at most, so that fast plates do not delay it."""
MOST_HELD = 1_000_000
"""Numbers in samples that wait, at most."""


class LslForces:
    """Force plates, whose forces are in the axes and about the origin of the markers.

    Parameters
    ----------
    inlet : the stream of plates
    markers : clock of the stamps of the markers, to which those of the forces are converted

    Raises CaptureError for a stream without plates, and closes it.
    """

    def __init__(self, inlet: LslInlet, markers: SenderClock) -> None:
        self._inlet, self._markers = inlet, markers
        self._channels = force_channels(inlet.channels)
        if not self._channels.names:
            self.close()
            raise CaptureError(
                "refused", f"the stream {inlet.words} has no plate with channels Fx, Fy, Fz, Mx, My, Mz"
            )
        self.plates = tuple(PlateDescription(name, (), inlet.rate) for name in self._channels.names)
        self._counters: Counter[str] = Counter()
        self._sentences: list[str] = []
        self._held: deque[LslSample] = deque()
        self._most_held = max(1, MOST_HELD // len(inlet.channels))
        self._last_ns: int | None = None
        self._handed_ns: int | None = None

    def pull(self) -> None:
        """Take the samples that have come since the last call."""
        for _ in range(MOST_PULLS):
            samples = self._inlet.pull(0.0)
            if not samples:
                break
            self._take(samples)
        newest_ns = self._held[-1].arrived_ns if self._held else 0
        n_old = sum(1 for _ in takewhile(lambda held: newest_ns - held.arrived_ns > HELD_NS, self._held))
        self._give_up(max(n_old, len(self._held) - self._most_held))

    def ready(self) -> ForceSamples | None:
        """Return the samples that came and were not returned yet, on the clock of the markers' stamps; None
        if there are none, or while the relation of both clocks is unknown.
        """
        if not (self._held and self._markers.settled and self._inlet.clock.settled):
            return None
        kept = list(self._held)
        self._held.clear()
        values = np.stack([sample.values for sample in kept])[:, self._channels.columns]
        values = np.where(np.isfinite(values), values, np.nan).transpose(1, 0, 2)
        stamps = self._on_clock_of_markers(
            [sample.stamp_ns for sample in kept if sample.stamp_ns is not None]
        )
        return ForceSamples(stamps, values[..., :3].copy(), self._channels.moment_scale * values[..., 3:])

    def counters(self) -> Mapping[str, int]:
        """Number of samples that are left out, by the reason, as counters for the telemetry."""
        return self._counters

    def sentences(self) -> list[str]:
        """Return messages for the user since the last call."""
        told, self._sentences = self._sentences, []
        return told + self._inlet.notices()

    def close(self) -> None:
        """Close the stream."""
        self._inlet.close()

    def _take(self, samples: list[LslSample]) -> None:
        """Keep those samples whose stamps can be used until they are handed on."""
        for sample in samples:
            stamp_ns, last_ns = sample.stamp_ns, self._last_ns
            if stamp_ns is None:  # which the inlet tells
                self._counters["force_samples_without_stamp"] += 1
                continue
            if last_ns is not None and last_ns - BACK_NS <= stamp_ns <= last_ns:
                self._leave_out(
                    "force_samples_out_of_order",
                    "are left out whose time stamps do not increase",
                )
                continue
            if last_ns is not None and stamp_ns < last_ns:  # set back, which ends what was known of the clock
                self._give_up(len(self._held))
            self._last_ns = stamp_ns
            self._held.append(sample)

    def _give_up(self, n: int) -> None:
        """Leave out the oldest n of the samples that wait."""
        for _ in range(n):
            self._held.popleft()
            self._leave_out(
                "force_samples_without_clock",
                "are left out that waited in vain for the clock of their sender or of the markers",
            )

    def _leave_out(self, counter: str, words: str) -> None:
        """Count a sample that is left out, and tell the user when it is the first one."""
        if not self._counters[counter]:
            self._sentences.append(f"Samples of the force plates {self._inlet.words} {words} ({counter}).")
        self._counters[counter] += 1

    def _on_clock_of_markers(self, stamps: list[int]) -> StampArray:
        """Convert stamps of the plates to stamps of the markers, increasing as these do [ns]."""
        clock, markers = self._inlet.clock, self._markers
        if not clock.is_of(markers, stamps[-1]):
            stamps = [markers.stamp_ns(clock.local_ns(stamp_ns)) for stamp_ns in stamps]
        # What is known of the clocks improves between two calls, which moves later samples by microseconds.
        last_ns = self._handed_ns
        if last_ns is not None and stamps[-1] < last_ns - BACK_NS:
            last_ns = None  # the markers' clock was set anew
        increasing = np.array(stamps, np.int64)
        for k, stamp_ns in enumerate(stamps):
            last_ns = stamp_ns if last_ns is None else max(stamp_ns, last_ns + 1)
            increasing[k] = last_ns
        self._handed_ns = last_ns
        return increasing
