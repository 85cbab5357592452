"""Benchmarks of runs that last long, of the highest load, and of runs whose sources, networks or machines
fail.
"""

from __future__ import annotations

import threading

import click

from rtsim.cli.benches.bench_group import AS_JSON, command, need_checkout
from rtsim.cli.terminal.types import NumberWithin


@command.command("soak")
@AS_JSON
@click.option("--minutes", type=NumberWithin(0.1, 1440.0), default=60.0, show_default=True,
              help="Duration of the run [min].")  # fmt: skip
def soak(as_json: bool, minutes: float) -> None:
    """Run markers at 200 Hz and forces at 1 kHz through estimator, recorder, monitor window and browser page,
    with subscribers that never read. Reported are lost and late frames, and the memory growth of each
    process.

    Ctrl-C ends the benchmark early; results so far are reported.
    """
    need_checkout()
    from benchmarks.soak import run
    from rtsim.bench import figures
    from rtsim.live.processes.signals import exit_code, noting_requests

    stop = threading.Event()
    with noting_requests(lambda _: stop.set()):
        found = run.run(minutes, stop)
        for what in found.left_out:
            click.echo(f"left out: {what}", err=True)
        click.echo(figures.report("soak", run.figures(found), as_json))
    if found.interrupted:
        raise SystemExit(exit_code() or 130)


@command.command("capacity")
@AS_JSON
@click.option("--seconds", type=NumberWithin(1.0, 600.0), default=5.0, show_default=True,
              help="Duration of each test of one rate or one number of markers [s].")  # fmt: skip
def capacity(as_json: bool, seconds: float) -> None:
    """Find the highest rate of an estimator, its largest number of markers at 200 Hz, and what limits
    them.
    """
    need_checkout()
    from benchmarks.soak import capacity
    from rtsim.bench import figures

    click.echo(figures.report("capacity", capacity.run(seconds), as_json))


@command.command("faults")
@AS_JSON
@click.option(
    "--only", default="", metavar="NAME", help="Test only the faults whose name contains this text."
)
def faults(as_json: bool, only: str) -> None:
    """Test real processes against failing sources, clocks, networks, machines and packages of the user.

    Reported are frames that neither have a result nor are counted as lost, tracebacks, and messages to the
    user (docs/reliability.md).

    Ctrl-C ends the benchmark early; results so far are reported.
    """
    need_checkout()
    from benchmarks.faults import run
    from rtsim.bench import figures
    from rtsim.live.processes.signals import exit_code, noting_requests

    stop = threading.Event()
    with noting_requests(lambda _: stop.set()):
        found = run.run(only, stop, lambda words: click.echo(words, err=True))
        for name, why in found.left_out.items():
            click.echo(f"the test of the fault {name} was left out: {why}", err=True)
        click.echo(figures.report("faults", found.figures(), as_json))
    if stop.is_set():
        raise SystemExit(exit_code() or 130)
