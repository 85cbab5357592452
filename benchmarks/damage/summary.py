"""Summary of finished cases: results, table and worst cases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.damage.cases import Clean, Done
from benchmarks.damage.scene import DamageKind
from benchmarks.damage.scores import WRONG_DEG
from rtsim.bench.figures import BenchFigure
from streams.messages import Status

RECOVERY_S, LATE_RECOVERY_S, FALSE_ALARMS, STATED = 0.1, 1.0, 1.0, 3.0
"""Limits: of the median and the 95th percentile [s], percent, standard deviations."""
LATE = 95.0
"""Percentile of recoveries that is held to a limit: of single ones deviations stand next to theirs."""


class Alarms(NamedTuple):
    """Counts of frames of undamaged recordings: those with all markers of the subject, those of them in
    which every segment keeps its shape, those with gaps, and how many of each are flagged.

    An alarm is false if no angle depends on a single marker (`hang_on_one`).
    """

    n_clean: int
    n_flagged: int
    n_false: int
    n_false_suspect: int
    n_sound: int
    n_sound_false: int
    n_gap: int
    n_gap_flagged: int


def alarms_of(clean: Clean) -> Alarms:
    """Count the frames of one clean solution."""
    complete, status = clean.scene.complete, clean.solved.status
    flagged, suspect = status != 0, status & Status.SUSPECT != 0
    false, sound = complete & flagged & ~clean.hangs, complete & clean.scene.sound
    return Alarms(
        n_clean=int(complete.sum()),
        n_flagged=int((complete & flagged).sum()),
        n_false=int(false.sum()),
        n_false_suspect=int((false & suspect).sum()),
        n_sound=int(sound.sum()),
        n_sound_false=int((sound & false).sum()),
        n_gap=int((~complete).sum()),
        n_gap_flagged=int((~complete & flagged).sum()),
    )


def figures_of(done: Sequence[Done], kinds: Mapping[str, DamageKind], alarms: Alarms) -> list[BenchFigure]:
    """Return the results of every class that has cases."""
    a, clean, sound = alarms, "% of clean frames", "% of clean frames in which segments keep their shape"
    flagged = percent(a.n_gap_flagged, a.n_gap)
    figures = [
        BenchFigure("false_alarm_percent", percent(a.n_false, a.n_clean), clean, FALSE_ALARMS, "lower"),
        BenchFigure("false_suspect_percent", percent(a.n_false_suspect, a.n_clean), clean),
        BenchFigure("false_alarm_sound_percent", percent(a.n_sound_false, a.n_sound), sound),
        BenchFigure("flagged_clean_percent", percent(a.n_flagged, a.n_clean), clean),
        BenchFigure("flagged_with_gaps_percent", flagged, "% of frames with gaps"),
        BenchFigure("cases", float(len(done)), "1"),
    ]
    for kind in kinds.values():
        own = [one for one in done if one.case.kind == kind.name]
        if own:
            figures += figures_of_kind(kind, own)
    return figures


def figures_of_kind(kind: DamageKind, done: Sequence[Done]) -> list[BenchFigure]:
    """Return the results of the cases of one class.

    Percents are of the frames of the damage, missed of those that are wrong; missed_after of the wrong ones
    after it.
    """
    name, scores = kind.name, [one.score for one in done]
    n_damaged = sum(s.n_damaged for s in scores)
    limit = math.inf if kind.in_deviations else WRONG_DEG
    figures = [
        BenchFigure(f"cases.{name}", float(len(done)), "1"),
        limited(f"unflagged_deg.{name}", max(s.unflagged_deg for s in scores), "deg", limit),
        BenchFigure(f"unflagged_all_angles_deg.{name}", max(s.unflagged_all_deg for s in scores), "deg"),
        BenchFigure(f"missed_percent.{name}", missed_percent(done), "% of wrong frames"),
        BenchFigure(f"missed_after_percent.{name}", missed_after_percent(done), "% of wrong frames after it"),
        limited(
            f"needless_percent.{name}", percent(sum(s.n_needless for s in scores), n_damaged),
            "% of damaged frames", kind.needless,
        ),
    ]  # fmt: skip
    recoveries = recoveries_of(done)
    if recoveries:
        never = sum(not one.score.recovered for one in done if not one.lasts)
        figures += [
            BenchFigure(f"recovery_s.{name}", max(recoveries), "s"),
            limited(f"recovery_median_s.{name}", float(np.median(recoveries)), "s", RECOVERY_S),
            limited(f"recovery_p95_s.{name}", late_of(recoveries), "s", LATE_RECOVERY_S),
            BenchFigure(f"never_recovered.{name}", float(never), "cases"),
        ]
    ratios = [s.stated_ratio for s in scores if s.stated_ratio == s.stated_ratio]
    if ratios:
        figures.append(
            limited(f"stated_ratio.{name}", max(ratios), "1", STATED if kind.in_deviations else math.inf)
        )
    return figures


def limited(name: str, value: float, unit: str, limit: float) -> BenchFigure:
    """Return a result that has to be low, unless the limit is infinite."""
    return (
        BenchFigure(name, value, unit, limit, "lower")
        if math.isfinite(limit)
        else BenchFigure(name, value, unit)
    )


def percent(part: int, whole: int) -> float:
    """Return a part as a percentage, 0 of nothing."""
    return 100.0 * part / whole if whole else 0.0


def missed_percent(done: Sequence[Done]) -> float:
    """Share of the wrong frames during the damage that are called ok [%]."""
    return percent(sum(one.score.n_missed for one in done), sum(one.score.n_wrong for one in done))


def missed_after_percent(done: Sequence[Done]) -> float:
    """Share of the wrong frames after the damage that are called ok [%]."""
    return percent(
        sum(one.score.n_missed_after for one in done), sum(one.score.n_wrong_after for one in done)
    )


def recoveries_of(done: Iterable[Done]) -> list[float]:
    """Return the recovery times of the cases whose damage ends [s]."""
    return [one.score.recovery_s for one in done if not math.isnan(one.score.recovery_s)]


def late_of(recoveries: Sequence[float]) -> float:
    """Return the recovery time that LATE percent of the cases do not exceed [s]."""
    return float(np.percentile(recoveries, LATE))


def table(done: Sequence[Done], kinds: Mapping[str, DamageKind], methods: Sequence[str]) -> str:
    """Return the table of all classes."""
    lines = [
        "| damage | cases | largest unflagged error deg | " + " | ".join(methods)
        + " | the same, all angles deg | error / stated deviation | wrong frames % | "
        "of these not flagged % | the same after the damage % | right but flagged % | "
        "recovery s, median (95 %, worst) | not recovered |",
        "|---|" + "---|" * (len(methods) + 10),
    ]  # fmt: skip
    for name in kinds:
        own = [one for one in done if one.case.kind == name]
        if own:
            lines.append(f"| {' | '.join(cells(name, own, methods))} |")
    return "\n".join(lines)


def cells(name: str, own: Sequence[Done], methods: Sequence[str]) -> list[str]:
    """Return the row of a class in the table."""
    scores = [one.score for one in own]
    n_damaged = sum(s.n_damaged for s in scores)
    by_method = [[one.score.unflagged_deg for one in own if one.case.method == m] for m in methods]
    recoveries = recoveries_of(own)
    never = sum(not one.score.recovered for one in own if not one.lasts)
    ratios = [s.stated_ratio for s in scores if s.stated_ratio == s.stated_ratio]
    return [
        name,
        str(len(own)),
        f"{max(s.unflagged_deg for s in scores):.1f}",
        *(f"{max(found):.1f}" if found else "-" for found in by_method),
        f"{max(s.unflagged_all_deg for s in scores):.1f}",
        f"{max(ratios):.1f}" if ratios else "-",
        f"{percent(sum(s.n_wrong for s in scores), n_damaged):.1f}",
        f"{missed_percent(own):.0f}" if any(s.n_wrong for s in scores) else "-",
        f"{missed_after_percent(own):.0f}" if any(s.n_wrong_after for s in scores) else "-",
        f"{percent(sum(s.n_needless for s in scores), n_damaged):.1f}",
        f"{np.median(recoveries):.2f} ({late_of(recoveries):.2f}, {max(recoveries):.2f})"
        if recoveries
        else "lasts",
        str(never) if recoveries else "-",
    ]


def worst_cases(done: Sequence[Done], kinds: Iterable[str], n: int) -> list[str]:
    """Return the n cases of each class with the largest error in frames called ok, and how to repeat each."""
    ordered = sorted(done, key=lambda one: one.score.unflagged_deg, reverse=True)
    return [
        f"{one.score.unflagged_deg:6.1f} deg in frame {one.worst}: {one.what} from frame {one.first}; "
        f"--case {one.case}"
        for kind in kinds
        for one in [one for one in ordered if one.case.kind == kind][:n]
    ]
