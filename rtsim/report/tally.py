"""Statistics that a subscriber collects from a result stream: counts of frames, latencies, and the values of
the newest frame.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rtsim.live.latency import PERCENTILES, StageTimes
from rtsim.stages.markers.fault_words import SHORT
from streams.account import bounded, plain
from streams.messages import UNUSABLE, Status, Telemetry
from streams.receiving.ring import ReceivedFrame

Array = NDArray[np.float64]

MM, DEG = 1e3, 180.0 / np.pi
NOTHING = np.empty(0)
TOLD = (*PERCENTILES, "max")
N_SENTENCE = 6
N_TOLD = 32
"""Different sentences of a run that its summary keeps."""
ADDRESSES = ("markers", "forces")
"""Entries of a descriptor: where streams come from."""
N_ANGLE = 64
"""Angles told apart of those that are outside their ranges; a stranger's further ones are not counted."""
N_STATUS = 32
"""Combinations of status bits told apart; there are 2^31, and a stranger may send them all."""
LONGEST_WORD = 64
"""Length of a name that a stranger chose that is shown [characters]."""


def in_full(method: str | None, chosen: Sequence[str]) -> str:
    """Return the name of a solution method ("" for None), followed in brackets by the chosen options of the
    run config.
    """
    return f"{method} ({', '.join(chosen)})" if chosen else str(method or "")


def pace(factor: float) -> str:
    """Return the speed of a computation relative to real time as text; factor : ratio of the two."""
    return f"{factor:.3g} times as fast as real time"


class StreamSummary:
    """Collects statistics of a result stream, outside the loop that computes the results."""

    def __init__(self) -> None:
        self.n_frame = 0
        self.first_result_ns = 0
        self.statuses: Counter[str] = Counter()
        self.implausible: Counter[str] = Counter()
        self.flagged: Counter[str] = Counter()  # frames by joint
        self.counters: dict[str, int] = {}
        self.gauges: dict[str, float] = {}
        self.sentences: deque[str] = deque(maxlen=N_SENTENCE)
        self.method = self.subject = self.side = ""
        self.chosen: list[str] = []
        self.notes: list[str] = []
        self.told: list[str] = []
        self.addresses: dict[str, str] = {}
        self.n_usable = 0
        self.values: dict[str, tuple[float, str]] = {}
        self.rms_mm = float("nan")
        self.doubtful: list[str] = []
        self.arrivals: deque[int] = deque(maxlen=200)

    def take_frame(self, frame: ReceivedFrame) -> None:
        """Count a result frame: its status, whether it is usable, and when it arrived."""
        self.n_frame += 1
        self.first_result_ns = self.first_result_ns or frame.t_arrived
        rms = frame.data.get("marker_rms", NOTHING)
        self.n_usable += not frame.status & UNUSABLE and not np.isnan(rms).any()
        words = Status(frame.status).names()
        self.statuses[words if words in self.statuses or len(self.statuses) < N_STATUS else "others"] += 1
        self.arrivals.append(frame.t_arrived)
        if frame.status & Status.IMPLAUSIBLE:
            for name in implausible_angles(frame):
                if name in self.implausible or len(self.implausible) < N_ANGLE:
                    self.implausible[name] += 1
        if frame.status & ~int(Status.LATE):
            for name in flagged_joints(frame):
                if name in self.flagged or len(self.flagged) < N_ANGLE:
                    self.flagged[name] += 1

    def look_at(self, frame: ReceivedFrame) -> None:
        """Store the values of the newest frame that the live table shows."""
        data, labels = frame.data, {spec.name: spec.labels for spec in frame.session.fields}
        meta = frame.session.meta
        self.method, self.subject, self.side = (
            plain(str(meta.get(key, "")), LONGEST_WORD) for key in ("method", "subject", "side")
        )
        self.chosen = bounded(meta.get("chosen"))
        self.notes = bounded(meta.get("notes"))
        self.addresses = {key: plain(str(meta[key]), LONGEST_WORD) for key in ADDRESSES if meta.get(key)}
        self.values = {}
        for field, factor, unit, prefix in (
            ("joint_angles", DEG, "deg", ""),
            ("knee_displacements", MM, "mm", "knee "),
            ("ligament_lengthening", 100.0, "%", ""),
        ):
            for label, value in zip(labels.get(field, ()), one_axis(data.get(field)), strict=False):
                self.values[prefix + plain(label, LONGEST_WORD)] = (factor * float(value), unit)
        rms = data.get("marker_rms")
        if rms is not None and rms.size:
            self.rms_mm = MM * float(rms.flat[0])
        outside = [f"{name} outside the range of its joint" for name in implausible_angles(frame)]
        self.doubtful = [*outside, *doubtful_markers(labels.get("marker_weights", ()), data)]

    def take_telemetry(self, message: Telemetry) -> None:
        """Store the counters that the loop of the run publishes in a telemetry message."""
        self.counters = message.counters
        self.gauges = {name: value for name, value in message.gauges.items() if math.isfinite(value)}
        self.sentences.extend(message.text)
        for said in message.text:
            if said not in self.told and len(self.told) < N_TOLD:
                self.told.append(said)

    @property
    def rate(self) -> float:
        """Rate at which the newest frames have arrived [Hz]."""
        if len(self.arrivals) < 2 or self.arrivals[-1] == self.arrivals[0]:
            return 0.0
        return (len(self.arrivals) - 1) * 1e9 / (self.arrivals[-1] - self.arrivals[0])

    def latencies_us(self) -> dict[str, dict[str, float]]:
        """Return the percentiles of the duration of each processing stage, stage -> percentile -> [us];
        stages without all percentiles are left out.
        """
        found = {s: {p: self.gauges.get(f"{s}_us.{p}") for p in TOLD} for s in StageTimes.STAGES}
        return {
            stage: {p: us for p, us in values.items() if us is not None}
            for stage, values in found.items()
            if None not in values.values()
        }

    def summary(self) -> dict:
        """Return the statistics of the run for --json and for the closing lines."""
        faults = {k: v for k, v in self.counters.items() if v and k not in ("received", "published")}
        rms = self.gauges.get("marker_rms_mm")
        return {
            "frames": self.counters.get("published", self.n_frame),
            "lost": self.counters.get("lost", 0),
            "skipped": self.counters.get("skipped", 0),
            "late": self.counters.get("late", 0),
            "method": self.method,
            "chosen": self.chosen,
            "subject": self.subject,
            "side": self.side,
            "notes": self.notes,
            "told": self.told,
            "usable": self.n_usable,
            "marker_rms_mm": None if rms is None else round(rms, 3),  # JSON knows no NaN
            "latency_us": {
                stage: {p: round(us, 1) for p, us in values.items()}
                for stage, values in self.latencies_us().items()
            },
            "statuses": dict(self.statuses),
            "implausible": dict(self.implausible),
            "flagged_by_joint": dict(self.flagged),
            "faults": faults,
            "first_result_ns": self.first_result_ns,
        }


def one_axis(values: Array | None) -> Array:
    """Return the values of a field if it is a one-dimensional array, else an empty array, as foreign software
    may send fields of other shapes.
    """
    return values if values is not None and values.ndim == 1 else NOTHING


def implausible_angles(frame: ReceivedFrame) -> list[str]:
    """Return the names of the angles of a frame that are outside the ranges of their joints."""
    outside = one_axis(frame.data.get("joint_angles_implausible"))
    if not outside.any():
        return []
    labels = next((spec.labels for spec in frame.session.fields if spec.name == "joint_angles"), ())
    return [
        plain(label, LONGEST_WORD) for label, is_out in zip(labels, outside, strict=False) if is_out == 1.0
    ]


def flagged_joints(frame: ReceivedFrame) -> list[str]:
    """Return the names of the joints whose status in a frame has flags, where the frame reports it."""
    bits = one_axis(frame.data.get("joint_status"))
    if not bits.any():
        return []
    labels = next((spec.labels for spec in frame.session.fields if spec.name == "joint_status"), ())
    return [plain(label, LONGEST_WORD) for label, bit in zip(labels, bits, strict=False) if bit > 0.0]


def doubtful_markers(names: Sequence[str], data: Mapping[str, Array]) -> list[str]:
    """Return a few words on every marker that is missing, faulty or confused with another, or that has a
    reduced weight in the fit.

    names : names of the markers
    data : arrays of a frame by field, of which those that describe markers are used
    """
    weights, ages, partners = (one_axis(data.get(f"marker_{k}")) for k in ("weights", "gap_age", "swap_with"))
    if not len(names) == len(weights) == len(ages) == len(partners):
        return []
    faults = one_axis(data.get("marker_fault"))
    faults = faults if len(faults) == len(names) else np.zeros(len(names))
    words = []
    for name, weight, age, partner, fault in zip(
        (plain(name, LONGEST_WORD) for name in names), weights, ages, partners, faults, strict=True
    ):
        if 0 <= partner < len(names):
            words.append(f"{name} at the position of {plain(names[int(partner)], LONGEST_WORD)}")
        elif age > 0.0:
            words.append(f"{name} not seen for {age:.2f} s")
        elif fault in SHORT:
            words.append(f"{name} {SHORT[int(fault)]}")
        elif weight < 1.0:
            words.append(f"{name} out of place (weight in the fit {weight:.2f})")
    return words
