"""Runs a parameter study for `rtsim study`, with messages on plan, progress and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from rtsim.bench.progress import BenchProgress, duration
from rtsim.cli.terminal.compiling import compile_first
from rtsim.cli.terminal.console import LastingConsole
from rtsim.cli.terminal.lines import tell
from rtsim.errors import ConfigError
from rtsim.live.processes.signals import exit_code, noting_requests
from rtsim.studies.drive import StudyDrive, shard_of
from rtsim.studies.estimate import StudyCost, cost_of
from rtsim.studies.executors import StudyWorkers, by_scheduler, in_processes, in_this_process
from rtsim.studies.plan import StudyPlan, read_plan
from rtsim.studies.solving import OK, SolvedCase
from rtsim.studies.store import StudyStore
from rtsim.studies.table import write_table

N_SHOWN = 5
"""Largest number of printed cases, and of printed reasons."""
MANY = 1_000_000


def studied(
    path: Path, workers: int, scheduler: str, shard: tuple[int, int], plan_only: bool, out: Path | None
) -> None:
    """Plan a parameter study and, unless only the plan is requested, solve the open cases of one shard.

    path : file of the study
    workers : number of processes; 0 = this one
    scheduler : name of a batch system that runs the workers, "" = none
    shard : number of the part to solve, and number of parts
    out : folder of the results, None = beside the study
    """
    console = LastingConsole(stderr=True)
    with console.status("planning"):
        plan = read_plan(path)
    folder = out if out is not None else path.with_suffix(".study")
    store = StudyStore(folder, plan)
    numbers = shard_of(len(plan.cases), *shard)
    rows = store.rows()
    compile_first(console, plan.task.groups)
    if plan_only:
        with console.status("solving one case, to estimate time and memory"):
            cost, tried = cost_of(plan, rows, numbers, workers)
        click.echo(plan_in_words(plan, cost, workers, shard, folder))
        if tried is not None and tried.status != OK:
            tell(f"the first case has no results: {tried.reason}")
        return
    left = [number for number in numbers if number not in rows]
    store.make()
    complete = True
    if left:
        where = workers_of(workers, scheduler)
        if rows:
            tell(
                f"the study in {folder} is continued: {len(numbers) - len(left)} of {len(numbers)} cases "
                "are done"
            )
        complete = driven(plan, store, where, left, shard, console)
    paths = write_table(store)
    done = store.rows()
    click.echo(in_words(plan, done, paths, folder))
    if done and not any(row.status == OK for row in done.values()):
        raise ConfigError(
            "no case has a result", where=f"study {plan.spec.name}", remedy="see the reasons above"
        )
    if not complete:
        tell(
            f"interrupted; run the same command again to solve the {sum(n not in done for n in numbers)} "
            "cases left"
        )
        raise SystemExit(exit_code() or 130)


def workers_of(n: int, scheduler: str) -> StudyWorkers:
    """Return the workers that solve the cases: a scheduler's jobs, n processes, or this process for n = 0."""
    if scheduler:
        return by_scheduler(scheduler)
    return in_processes(n) if n else in_this_process()


def driven(
    plan: StudyPlan, store: StudyStore, workers: StudyWorkers, left: Sequence[int], shard: tuple[int, int],
    console: Any,
) -> bool:  # fmt: skip
    """Solve the open cases of a study with a progress bar; return whether all of them are done.

    left : numbers of the open cases
    shard : number of the part that is solved, and number of parts
    """
    name = f"{shard[0]}-of-{shard[1]}"
    with BenchProgress(f"study {plan.spec.name}", len(left), console) as progress:
        progress.begin()
        drive = StudyDrive(plan, store, workers, left, name, lambda row: progress.begin())
        with noting_requests(drive.stop):
            complete = drive.run()
    if drive.n_break:
        tell(f"a worker process ended {drive.n_break} times; its cases were solved again")
    return complete


def plan_in_words(
    plan: StudyPlan, cost: StudyCost, workers: int, shard: tuple[int, int], folder: Path
) -> str:
    """Return a text on the cases of a study, their cost and the remaining time.

    shard : number of the part that is solved, and number of parts
    folder : folder of the results
    """
    names = [one.name for one in plan.spec.parameters]
    lines = [
        f"study {plan.spec.name}, hash {plan.digest}, in {folder}",
        f"{cost.n_case} cases, a {plan.spec.design.kind} of {len(names)} parameters: {', '.join(names)}",
    ]
    lines += [case_in_words(plan, number) for number in range(min(N_SHOWN, cost.n_case))]
    lines += [f"  ... to {case_in_words(plan, cost.n_case - 1).strip()}"] if cost.n_case > N_SHOWN else []
    if shard[1] > 1:
        lines.append(f"part (shard) {shard[0]} of {shard[1]} of the study has {cost.n_shard} cases")
    per = "" if workers <= 1 else f" on {workers} workers"
    lines.append(
        f"{cost.n_shard - cost.n_left} cases done, {cost.n_left} left; a case takes {cost.case_s:.3g} s"
    )
    lines.append(f"about {duration(cost.left_s)} left{per}, plus the start of the workers")
    return "\n".join(lines)


def case_in_words(plan: StudyPlan, number: int) -> str:
    """Return a line with the number of a case and the values of its parameters."""
    pairs = zip(plan.spec.parameters, plan.cases[number], strict=True)
    shown = (f"{x:.6g}" if isinstance(x, float) else str(x) for _, x in pairs)
    names = (one.name for one in plan.spec.parameters)
    return f"  {number}: " + ", ".join(f"{name} {x}" for name, x in zip(names, shown, strict=True))


def in_words(plan: StudyPlan, rows: dict[int, SolvedCase], paths: Sequence[Path], folder: Path) -> str:
    """Return the closing lines of a study: how many cases are done, with which status, why some failed, and
    the files of the results.
    """
    counted = Counter(row.status for row in rows.values())
    told = ", ".join(f"{n} {status}" for status, n in counted.most_common())
    lines = [f"{len(rows)} of {len(plan.cases)} cases done{': ' if told else ''}{told}"]
    reasons = Counter(row.reason for row in rows.values() if row.status != OK)
    lines += [f"  {n} of the cases failed: {reason}" for reason, n in reasons.most_common(N_SHOWN)]
    lines.append(f"{folder}: {', '.join(path.name for path in paths)}; `rtsim report {folder}` draws it")
    return "\n".join(lines)


def parsed_shard(text: str) -> tuple[int, int]:
    """Return the two numbers of a word such as 2/7, the part k of n; ConfigError for any other word."""
    k, slash, n = text.partition("/")
    if not (slash and k.isdecimal() and n.isdecimal() and 1 <= int(k) <= int(n) <= MANY):
        raise ConfigError(
            f"{text!r} does not name a part (shard) of a study",
            where="--shard",
            allowed="1/N to N/N, such as 2/7 for the second of seven parts",
        )
    return int(k), int(n)
