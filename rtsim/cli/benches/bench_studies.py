"""Benchmarks of studies, and of processes that are killed."""

from __future__ import annotations

import secrets
import sys

import click

from rtsim.cli.benches.bench_group import AS_JSON, command, need_checkout
from rtsim.errors import ConfigError

SEED = click.option(
    "--seed",
    type=click.IntRange(0),
    help="Seed of an earlier run, which repeats the kills of that run (default: a new seed).",
)


@command.command("study")
@AS_JSON
@click.option("--kills", type=click.IntRange(0), default=0, metavar="N",
              help="Run N studies and kill a worker, the command or the scheduler in each, instead of "
                  "the usual benchmark.")  # fmt: skip
@SEED
def study(as_json: bool, kills: int, seed: int | None) -> None:
    """Time `rtsim study` with 256 sets of weights of the ligaments in the cost function, over one gait cycle,
    in one process and in two."""
    from rtsim.bench import figures
    from rtsim.bench.runs import study
    from rtsim.studies.threads import one_thread

    if not kills:
        one_thread()
        click.echo(figures.report("study", study.run(), as_json))
        return
    need_kills()
    from benchmarks.kills import studies

    found, measured = studies.run(kills, seed_of(seed))
    for one in found:
        if one.fault:
            click.echo(
                f"study with seed {one.seed}, in which the {one.victim} was killed: {one.fault}", err=True
            )
    click.echo(figures.report("study-kills", measured, as_json))
    if any(one.fault for one in found):
        raise SystemExit(1)


@command.command("kills")
@AS_JSON
@click.option("--count", type=click.IntRange(1), default=300, show_default=True, help="Processes to kill.")
@SEED
def kills(as_json: bool, count: int, seed: int | None) -> None:
    """Kill recorder, player, estimator, monitor, hil and device at random (kill -9), and check the
    recordings.

    After each kill the recordings are read by a plain MCAP reader and by `rtsim recover`; all messages older
    than the flush interval must be there. Ctrl-C ends the benchmark early; results so far are printed.
    """
    need_kills()
    from benchmarks.kills import run
    from rtsim.bench import figures

    found = run.run(count, seed_of(seed))
    for sentence in (*found.faults(), *found.troubles):
        click.echo(sentence, err=True)
    click.echo(figures.report("kills", found.figures(), as_json))
    if found.faults() or len(found.kills) < count:
        raise SystemExit(1)


def need_kills() -> None:
    """Raise ConfigError if this system cannot fork and kill processes, or the benchmark is not installed."""
    need_checkout()
    if sys.platform == "win32":
        raise ConfigError(
            "this benchmark forks and kills processes, which this system does not support",
            where="rtsim bench",
            allowed="Linux, macOS",
        )


def seed_of(seed: int | None) -> int:
    """Return the given seed of the random numbers, or a new one; print it in either case."""
    found = secrets.randbelow(2**31) if seed is None else seed
    click.echo(f"seed {found}", err=True)
    return found
