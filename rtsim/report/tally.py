"""What a subscriber of the results knows about a run: counts, latencies, the last frame."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from streams.messages import Status, Telemetry
from streams.ring import Frame

MM, DEG = 1e3, 180.0 / np.pi
STAGES = ("receive_to_solve", "solve_to_publish", "receive_to_publish", "capture_to_publish", "publish")
N_SENTENCE = 6


class Tally:
    """Follows a result stream from outside the loop."""

    def __init__(self) -> None:
        self.n_frame = 0
        self.first_result_ns = 0
        self.statuses: Counter[str] = Counter()
        self.counters: dict[str, int] = {}
        self.gauges: dict[str, float] = {}
        self.sentences: deque[str] = deque(maxlen=N_SENTENCE)
        self.method = self.subject = ""
        self.values: dict[str, tuple[float, str]] = {}
        self.rms_mm = float("nan")
        self.doubtful: list[str] = []
        self.arrivals: deque[int] = deque(maxlen=200)

    def take_frame(self, frame: Frame) -> None:
        """Count a result frame."""
        self.n_frame += 1
        self.first_result_ns = self.first_result_ns or frame.t_arrived
        self.statuses[Status(frame.status).names()] += 1
        self.arrivals.append(frame.t_arrived)

    def look_at(self, frame: Frame) -> None:
        """Keep what the table shows of the newest frame."""
        data, labels = frame.data, {spec.name: spec.labels for spec in frame.session.fields}
        self.method = str(frame.session.meta.get("method", ""))
        self.subject = str(frame.session.meta.get("subject", ""))
        self.values = {}
        for field, factor, unit, prefix in (
            ("joint_angles", DEG, "deg", ""),
            ("knee_displacements", MM, "mm", "knee "),
            ("ligament_lengthening", 100.0, "%", ""),
        ):
            for label, value in zip(labels.get(field, ()), data.get(field, ()), strict=False):
                self.values[prefix + label] = (factor * float(value), unit)
        if "marker_rms" in data:
            self.rms_mm = MM * float(data["marker_rms"].flat[0])
        self.doubtful = doubtful_markers(labels.get("marker_weights", ()), data)

    def take_telemetry(self, message: Telemetry) -> None:
        """Keep the loop's own account."""
        self.counters, self.gauges = message.counters, message.gauges
        self.sentences.extend(message.text)

    @property
    def rate(self) -> float:
        """Rate of the last frames [Hz]."""
        if len(self.arrivals) < 2 or self.arrivals[-1] == self.arrivals[0]:
            return 0.0
        return (len(self.arrivals) - 1) * 1e9 / (self.arrivals[-1] - self.arrivals[0])

    def summary(self) -> dict:
        """The run in numbers, for --json and for the closing lines."""
        faults = {k: v for k, v in self.counters.items() if v and k not in ("received", "published")}
        rms = self.gauges.get("marker_rms_mm")
        return {
            "frames": self.counters.get("published", self.n_frame),
            "lost": self.counters.get("lost", 0),
            "skipped": self.counters.get("skipped", 0),
            "late": self.counters.get("late", 0),
            "method": self.method,
            "subject": self.subject,
            "marker_rms_mm": None if rms is None else round(rms, 3),  # JSON knows no NaN
            "latency_us": {
                stage: {p: round(self.gauges[f"{stage}_us.{p}"], 1) for p in ("p50", "p99", "p99_9", "max")}
                for stage in STAGES
                if f"{stage}_us.max" in self.gauges
            },
            "statuses": dict(self.statuses),
            "faults": faults,
            "first_result_ns": self.first_result_ns,
        }


def doubtful_markers(names: Sequence[str], data: Mapping[str, NDArray[np.float64]]) -> list[str]:
    """A few words on every marker that is not simply there."""
    weights, ages, partners = (data.get(f"marker_{k}") for k in ("weights", "gap_age", "swap_with"))
    if weights is None or ages is None or partners is None or len(names) != len(weights):
        return []
    words = []
    for name, weight, age, partner in zip(names, weights, ages, partners, strict=True):
        if 0 <= partner < len(names):
            words.append(f"{name} swapped with {names[int(partner)]}?")
        elif age > 0.0:
            words.append(f"{name} not seen for {age:.2f} s")
        elif weight < 1.0:
            words.append(f"{name} out of place (weight {weight:.2f})")
    return words
