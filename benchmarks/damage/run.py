"""The benchmark: cases are solved one after the other until all are done or it is asked to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.damage.cases import Done, Plan, Workshop, full_cases, parse_case, quick_cases
from benchmarks.damage.kinds import find_kinds
from benchmarks.damage.persons import SIDES, all_methods, recordings
from benchmarks.damage.scene import DamageKind
from benchmarks.damage.scores import deviations, is_flexion, largest
from benchmarks.damage.solving import solve
from benchmarks.damage.summary import Alarms, alarms_of, figures_of, table, worst_cases
from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.progress import BenchProgress
from rtsim.errors import ConfigError
from rtsim.live.processes.signals import noting_requests
from rtsim.units import DEGREES
from streams.messages import Status

SETTLED_DEG = 0.05
"""Frames after the damage that are nearer to the clean run and ok are not listed one by one."""


class DamageOutcome(NamedTuple):
    """The outcome of a run of the bench.

    left_out : recording -> sides and reasons; alarms : counts of frames of clean runs
    interrupted : whether it was ended before all cases were done
    """

    done: list[Done]
    kinds: Mapping[str, DamageKind]
    methods: tuple[str, ...]
    left_out: Mapping[str, list[str]]
    alarms: Alarms
    interrupted: bool

    def figures(self) -> list[BenchFigure]:
        """Return the results of all classes of damage."""
        return figures_of(self.done, self.kinds, self.alarms)

    def table(self) -> str:
        """Return the results as a table in Markdown."""
        return table(self.done, self.kinds, self.methods)

    def worst(self, n: int) -> list[str]:
        """Return the n worst cases of each class as text."""
        return worst_cases(self.done, self.kinds, n)


def run(
    folder: Path | None, full: bool = False, only: str = "", method: str = "", side: str = ""
) -> DamageOutcome:
    """Solve the cases of a quick or a full run; only, method, side : one class, method or side, "" = all.

    ConfigError for an unknown class or method.
    """
    kinds, methods = find_kinds(), all_methods()
    chosen(only, tuple(kinds), "--only")
    chosen(method, methods, "--method")
    kinds = {name: kind for name, kind in kinds.items() if only in ("", name)}
    methods = (method,) if method else methods
    plan = Plan(tuple(recordings(folder)), (side,) if side else SIDES, methods, tuple(kinds))
    workshop = Workshop(folder, kinds)
    say("damage: reading recordings")
    cases = list(full_cases(plan) if full else quick_cases(workshop, plan))
    requests: list[int] = []
    done: list[Done] = []
    alarms: dict[tuple, Alarms] = {}
    with noting_requests(requests.append), BenchProgress("damage", len(cases)) as course:
        for case in cases:
            if requests:
                break
            course.begin(str(case))
            clean, found = workshop.clean(case), workshop.do(case)
            if requests and clean is None:  # Ctrl-C ended the reader, nothing is wrong with the file
                workshop.left_out.pop(case.recording, None)
            if clean is not None:
                alarms[(*case[:3], clean.start)] = alarms_of(clean)
            if found is not None:
                done.append(found)
    total = (
        Alarms._make(map(sum, zip(*alarms.values(), strict=True)))
        if alarms
        else Alarms._make((0,) * len(Alarms._fields))
    )
    return DamageOutcome(
        done=done,
        kinds=kinds,
        methods=methods,
        left_out=workshop.left_out,
        alarms=total,
        interrupted=bool(requests),
    )


def chosen(name: str, allowed: Sequence[str], where: str) -> None:
    """Raise ConfigError for a name that is not allowed."""
    if name and name not in allowed:
        raise ConfigError(f"there is no {name!r}", where=where, allowed=", ".join(allowed))


def repeat(folder: Path | None, words: str) -> str:
    """Repeat one case; return for each frame from the damage on: status, RMS, errors of the flexions, number
    of missing markers, and the markers with reduced weights.

    ConfigError for an impossible case.
    """
    kinds = find_kinds()
    case = parse_case(words, tuple(kinds))
    chosen(case.side, SIDES, "--case")
    chosen(case.method, all_methods(), "--case")
    workshop = Workshop(folder, kinds)
    clean = workshop.clean(case)
    if clean is None:
        raise ConfigError(
            f"recordings that cannot be used: {'; '.join(workshop.left_out[case.recording])}", where="--case"
        )
    damage = workshop.damage(case, clean.scene)
    if damage is None:
        raise ConfigError(f"{case.recording} cannot be damaged in this way", where="--case")
    person = clean.person.damaged(damage)
    person.use(case.method)
    solved = solve(person, clean.scene, damage)
    apart = DEGREES * deviations(solved, clean.solved)
    flexions = [k for k, label in enumerate(solved.labels) if is_flexion(label)]
    off = largest(apart[:, flexions])
    lines = [
        f"{case}: {damage.what}, frames {clean.start + damage.first} to {clean.start + damage.stop - 1}",
        f"frame | status | rms_mm | {' '.join(solved.labels[k] for k in flexions)} [deg] | missing | weights",
    ]
    for k in range(damage.first, clean.scene.n_frame):
        if k >= damage.stop and solved.status[k] == 0 and off[k] < SETTLED_DEG:
            continue
        missing, weights = np.isnan(solved.residuals[k]), solved.weights[k]
        low = [f"{solved.markers[m]} {weights[m]:.2f}" for m in np.flatnonzero(~missing & (weights < 1.0))]
        cells = (
            f"{clean.start + k}{'*' if k < damage.stop else ''}",
            "not sent" if solved.status[k] < 0 else Status(int(solved.status[k])).names(),
            f"{1e3 * solved.rms[k]:.1f}",
            " ".join(f"{apart[k, j]:.1f}" for j in flexions),
            str(missing.sum()),
            ", ".join(low),
        )
        lines.append(" | ".join(cells))
    return "\n".join(lines)
