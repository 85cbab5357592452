"""Figures of the verdicts, and a line for each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from benchmarks.hil_hostile.case import FAMILIES
from benchmarks.hil_hostile.configs import BUSY_MS
from benchmarks.hil_hostile.judge import Verdict
from rtsim.bench.figures import BenchFigure

LEAST_WAYS = 60.0
ALL_PERCENT = 100.0


def figures_of(verdicts: Sequence[Verdict]) -> list[BenchFigure]:
    """Return all results; if a result concerns named cases, its unit states them."""
    honest = [v for v in verdicts if v.case.family == "honest"]
    hostile = [v for v in verdicts if v.case.family != "honest"]
    lies = [v for v in hostile if v.case.lie]
    unarmed = [v for v in verdicts if v.unarmed]
    wrong = [v for v in verdicts if v.wrong]
    return [
        BenchFigure("cases", float(len(hostile)), "1", LEAST_WAYS, "higher"),
        *(
            BenchFigure(f"cases.{family}", float(sum(v.case.family == family for v in hostile)), "1")
            for family in FAMILIES[1:]
        ),
        *of_torque([v for v in hostile if not math.isnan(v.after_ms)]),
        *of_telling([v for v in hostile if v.told is not None and v.case.promised]),
        BenchFigure("torque_without_arming", float(sum(v.unarmed for v in verdicts)),
               named("samples", unarmed), 0.0, "lower"),
        *of_stops([v for v in hostile if v.stop_heard is not None]),
        *of_crowded_sockets([v for v in hostile if not v.case.promised]),
        BenchFigure("lies", float(len(lies)), "1"),
        BenchFigure("lies_missed", float(sum(v.missed for v in lies)),
               named("lies", [v for v in lies if v.missed]), 0.0, "lower"),
        BenchFigure("otherwise_than_stated", float(len(wrong)), named("cases", wrong), 0.0, "lower"),
        BenchFigure("honest_runs", float(len(honest)), "1"),
        BenchFigure("honest_faults", float(sum(v.faults for v in honest)),
               named("faults", [v for v in honest if v.faults]), 0.0, "lower"),
    ]  # fmt: skip


def of_torque(ended: Sequence[Verdict]) -> list[BenchFigure]:
    """Return how long torque lasted after a fault: the largest time, and the largest beyond the declared
    time.
    """
    if not ended:
        return []
    longest = max(ended, key=lambda v: v.after_ms)
    beyond = max(ended, key=lambda v: v.excess_ms)
    late = [v for v in ended if v.excess_ms > BUSY_MS]
    never = [v for v in ended if not v.ended]
    return [
        BenchFigure("torque_after_fault_ms", longest.after_ms, f"ms: {longest.case.name}"),
        BenchFigure("torque_after_fault_declared_ms", longest.declared_ms, f"ms: {longest.case.name}"),
        BenchFigure(
            "torque_after_fault_excess_ms", beyond.excess_ms, f"ms: {beyond.case.name}", BUSY_MS, "lower"
        ),
        BenchFigure("torque_lasts_too_long", float(len(late)), named("cases", late), 0.0, "lower"),
        BenchFigure("torque_never_ended", float(len(never)), named("cases", never), 0.0, "lower"),
    ]


def of_telling(told: Sequence[Verdict]) -> list[BenchFigure]:
    """Return how many faults were reported by a message."""
    if not told:
        return []
    untold = [v for v in told if not v.told]
    percent = 100.0 * (len(told) - len(untold)) / len(told)
    return [
        BenchFigure("told_percent", percent, "% of cases", ALL_PERCENT, "higher"),
        BenchFigure("untold", float(len(untold)), named("cases", untold), 0.0, "lower"),
    ]


def of_stops(asked: Sequence[Verdict]) -> list[BenchFigure]:
    """Return how many of the mandatory stops took effect, and how soon."""
    asked = [v for v in asked if v.case.promised]
    if not asked:
        return []
    deaf = [v for v in asked if not v.stop_heard]
    times = [v.stop_ms for v in asked if v.stop_heard]
    figures = [
        BenchFigure("stop_heard_percent", 100.0 * len(times) / len(asked), "%", ALL_PERCENT, "higher"),
        BenchFigure("stops_not_heard", float(len(deaf)), named("cases", deaf), 0.0, "lower"),
    ]
    if times:
        slowest = max((v for v in asked if v.stop_heard), key=lambda v: v.stop_ms)
        figures += [
            BenchFigure("stop_ms.median", float(np.median(times)), "ms"),
            BenchFigure("stop_ms.max", slowest.stop_ms, f"ms: {slowest.case.name}"),
        ]
    figures += [BenchFigure(f"stop_ms.{v.case.name}", v.stop_ms, "ms") for v in asked if v.stop_heard]
    return figures


def of_crowded_sockets(asked: Sequence[Verdict]) -> list[BenchFigure]:
    """Return results of stops by the plain command while the control socket is flooded, where nothing is
    promised.
    """
    if not asked:
        return []
    deaf = [v for v in asked if not v.stop_heard]
    percent = 100.0 * (len(asked) - len(deaf)) / len(asked)
    return [BenchFigure("stop_heard_at_a_flooded_socket_percent", percent, named("% not heard", deaf))]


def named(unit: str, verdicts: Iterable[Verdict]) -> str:
    """A unit, and the names of cases."""
    return listed(unit, (v.case.name for v in verdicts))


def listed(unit: str, names: Iterable[str]) -> str:
    """A unit, and names."""
    text = ", ".join(names)
    return f"{unit}: {text}" if text else unit


def line_of(v: Verdict) -> str:
    """A verdict as one line of text."""
    told = (
        []
        if v.told is None
        else [f"message: {v.sentence}" if v.told else f"NO MESSAGE (last one: {v.sentence})"]
    )
    parts = [*told, *v.wrong]
    if not math.isnan(v.after_ms):
        late = v.excess_ms > BUSY_MS
        end = "" if v.ended else " AND CONTINUES"
        parts.insert(
            0, f"torque {v.after_ms:.0f} ms{end}, declared {v.declared_ms:.0f}{' TOO LONG' if late else ''}"
        )
    if v.stop_heard is not None:
        parts.insert(0, f"stop after {v.stop_ms:.1f} ms" if v.stop_heard else "STOP NOT HEARD")
    if v.unarmed:
        parts.append(f"{v.unarmed} samples with torque that NOBODY ARMED")
    if v.faults and v.case.family == "honest":
        parts.append(f"{v.faults} FALSE ALARMS (last message: {v.sentence})")
    if v.missed:
        parts.append("LIE MISSED")
    return f"{v.case.name}: " + "; ".join(parts)
