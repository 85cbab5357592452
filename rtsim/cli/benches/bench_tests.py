"""Benchmarks of the quality of the tests, and of numerical agreement between machines."""

from __future__ import annotations

import click

from rtsim.cli.benches.bench_group import AS_JSON, command, need_checkout


@command.command("mutation")
@AS_JSON
@click.option(
    "--room",
    "rooms",
    multiple=True,
    metavar="NAME",
    help="Folder of source files that are mutated (repeatable; default: all folders).",
)
@click.option(
    "--count", type=click.IntRange(1), default=20, show_default=True, help="Number of mutants in each folder."
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the random selection of mutants."
)
@click.option(
    "--nearby",
    is_flag=True,
    help="Run only the tests of the mutated folder: this is quicker, and gives a lower bound of the score.",
)
def mutation(as_json: bool, rooms: tuple[str, ...], count: int, seed: int, nearby: bool) -> None:
    """Change the sources at random places (mutants) and measure the share of changes that the tests detect.

    Each is one change of a comparison, an operator, a constant, a sign, an index or a condition, in a copy
    of the project; the tests of the module run until one fails. Ctrl-C ends the benchmark early; results so
    far are reported.
    """
    need_checkout()
    from benchmarks.mutation import run
    from benchmarks.mutation.rooms import ROOMS
    from rtsim.bench import figures
    from rtsim.live.processes.signals import exit_code

    found = run.run(rooms or tuple(ROOMS), count, seed, nearby)
    for line in found.survivors():
        click.echo(line, err=True)
    click.echo(figures.report("mutation", found.figures(), as_json))
    if found.interrupted:
        raise SystemExit(exit_code() or 130)


@command.command("agreement")
@AS_JSON
@click.option(
    "--frames",
    type=click.IntRange(2),
    default=40,
    show_default=True,
    help="Number of frames of the synthetic walker.",
)
@click.option(
    "--only", default="", metavar="NAME", help="Measure only this way of computing, such as without_avx."
)
def agreement(as_json: bool, frames: int, only: str) -> None:
    """Compute the same frames repeatedly, in threads, without the compiler, and without AVX, and report
    differences of the results.
    """
    need_checkout()
    from benchmarks.agreement import run
    from rtsim.bench import figures

    click.echo(figures.report("agreement", run.run(frames, only), as_json))
