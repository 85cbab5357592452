"""The verdict on the evidence: how long torque lasted, whether the fault was reported, who had armed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.hil_hostile.case import Evidence, HostileCase, Sample

BEFORE_NS = 20_000_000
"""A sentence may be heard so much earlier than the fault is noted [ns]."""
STOP_HEARD_MS = 1000.0
"""A stop that took longer was not heard."""


class Verdict(NamedTuple):
    """Verdict on a case.

    Attributes
    ----------
    after_ms : from the fault to the last instant with torque, NaN where no fault happened
    declared_ms : time that it may last; ended : whether torque had ended when the case was over
    told : whether a sentence named it, None where nothing has to be told
    sentence : the one that did; else the last one that was told at all
    unarmed : samples with torque that nobody had armed
    stop_ms : from the request to the first sample without torque, infinite where it was not heard, NaN
        where nobody asked
    faults : that latched; wrong : what was otherwise than the protocol says
    """

    case: HostileCase
    after_ms: float
    declared_ms: float
    ended: bool
    told: bool | None
    sentence: str
    unarmed: int
    stop_ms: float
    faults: int
    wrong: tuple[str, ...]

    @property
    def excess_ms(self) -> float:
        """Return the time by which torque lasted longer than declared [ms]; NaN without a fault."""
        return self.after_ms - self.declared_ms

    @property
    def missed(self) -> bool:
        """Return whether it is a lie that was not detected: torque continued, or nothing was reported."""
        return self.case.lie and not (self.ended and self.told)

    @property
    def stop_heard(self) -> bool | None:
        """Return whether a stop took effect; None if none was requested."""
        return None if math.isnan(self.stop_ms) else self.stop_ms <= STOP_HEARD_MS


def judge(case: HostileCase, seen: Evidence) -> Verdict:
    """Return the verdict on a case."""
    after_ms, ended = torque_after(seen)
    naming = [text for t, text in seen.said if names(text, case.words) and in_time(t, seen)]
    sentence = next(iter(naming or [text for _, text in seen.said[-1:]]), "")
    return Verdict(
        case=case, after_ms=after_ms, declared_ms=seen.declared_ms if seen.fault_ns else math.nan,
        ended=ended,
        told=bool(naming) if case.words else None, sentence=sentence, unarmed=without_arming(seen),
        stop_ms=stop_after(seen), faults=seen.faults,
        wrong=seen.wrong,
    )  # fmt: skip


def acts(sample: Sample, nothing: float) -> bool:
    """Whether a sample has torque."""
    return abs(sample.torque) > nothing


def torque_after(seen: Evidence) -> tuple[float, bool]:
    """Return the time from the fault to the end of the last torque [ms], and whether torque had ended when
    the case was over.

    A sample acts until the next one, and no longer than `hold_ms`.
    """
    if not seen.fault_ns:
        return math.nan, True
    times = [sample.t_ns for sample in seen.torque]
    times.append(max(seen.until_ns, times[-1] if times else 0))
    last = next((k for k in reversed(range(len(seen.torque))) if acts(seen.torque[k], seen.nothing)), None)
    if last is None:
        return 0.0, True
    end_ns = min(float(times[last + 1]), times[last] + 1e6 * seen.hold_ms)
    return max(0.0, 1e-6 * (end_ns - seen.fault_ns)), last + 1 < len(seen.torque) or end_ns < times[-1]


def without_arming(seen: Evidence) -> int:
    """Return the number of samples with torque before anybody armed, or again after torque was off without a
    new arming.

    Torque that falls by the safe state counts as off, and is judged by `torque_after`.
    """
    n, may, was_on = 0, False, False
    arms = sorted(seen.arms)
    for sample in seen.torque:
        if was_on and not sample.on:  # who armed while it was on has armed nothing
            may, arms = False, [t for t in arms if t >= sample.t_ns]
        while arms and arms[0] <= sample.t_ns:
            may, _ = True, arms.pop(0)
        n += sample.on and not may and acts(sample, seen.nothing)
        was_on = sample.on
    return n


def stop_after(seen: Evidence) -> float:
    """Return the time from the request of a stop to the first sample that is off [ms]; infinite if there is
    none, NaN if no stop was requested.
    """
    if not seen.stop_ns:
        return math.nan
    off = (sample.t_ns for sample in seen.torque if sample.t_ns >= seen.stop_ns and not sample.on)
    return next((1e-6 * (t - seen.stop_ns) for t in off), math.inf)


def names(text: str, words: Sequence[str]) -> bool:
    """Return whether a message contains one of the words."""
    return any(word in text.lower() for word in words)


def in_time(t_ns: int, seen: Evidence) -> bool:
    """Return whether a message was received after the case began."""
    return t_ns >= (seen.began_ns or seen.fault_ns) - BEFORE_NS
