"""`rtsim live`: player, estimator and table, each a process, joined by real sockets."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtsim.cli.options import check_recording, file_arguments, make_run, run_arguments, run_options
from rtsim.config.run_schema import Run
from rtsim.errors import ConfigError
from rtsim.live.sources import WALKER, is_stream

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

    from rtsim.live.children import Child
    from rtsim.report.tally import Tally
    from streams.subscriber import Subscriber

READY_S = 600.0  # the first start compiles


@click.command("live")
@run_options
@click.option("--speed", type=float, default=1.0, show_default=True, help="Times the recorded rate.")
@click.option("--rate", type=float, help="Sampling rate of the synthetic walker [Hz].")
@click.option("--loop", is_flag=True, help="Play a file over and over.")
@click.option("--start", "start_s", type=float, default=0.0, help="First second of a file to play.")
@click.option("--end", "end_s", type=float, help="Last second of a file to play.")
@click.option(
    "--record", type=click.Path(dir_okay=False, path_type=Path), help="Record the results to this .mcap file."
)
@click.option("--monitor", is_flag=True, help="Open the monitor window too.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, and no table.")
def command(
    speed: float, rate: float | None, loop: bool, start_s: float, end_s: float | None, record: Path | None,
    monitor: bool, as_json: bool, **options: str,
) -> None:  # fmt: skip
    """Estimate joints live; without options a built-in synthetic walker is played for ten seconds."""
    from rich.console import Console

    from rtsim.cli.compiling import compile_first
    from rtsim.live.groups import LIVE

    run = make_run(**options)
    console = Console(stderr=as_json, quiet=as_json)
    if record is not None:
        check_recording(record, "--record")
    playing = [
        "--states",
        "--wait",
        str(READY_S),
        "--speed",
        str(speed),
        "--start",
        str(start_s),
        *(["--end", str(end_s)] if end_s is not None else []),
    ]
    playing += ["--loop"] if loop else []
    playing += file_arguments(run.units, run.up) if run.source != WALKER else []
    playing += ["--rate", str(rate)] if rate is not None else []
    compile_first(Console(stderr=True, quiet=as_json), LIVE)
    with contextlib.ExitStack() as stack:
        with console.status("starting"):
            address = run.source
            player = None
            if not is_stream(run.source):
                check_source(run.source)
                length = ["--duration", str(run.duration_s)] if run.source == WALKER and not loop else []
                where = ["--address", run.ports.markers, *length]
                player = start(stack, "player", ["replay", run.source, *where, *playing])
                address = player.wait_ready(READY_S)["markers"]
            estimator = start(
                stack,
                "estimator",
                estimator_arguments(run, address, 2 if record else 1, loop, options.get("config")),
            )
            ready = estimator.wait_ready(READY_S)
        children: list[Child] = [estimator] + ([player] if player else [])
        if record is not None:
            children.append(start(stack, "recorder", ["record", ready["results"], str(record)]))
        if monitor:
            start(stack, "monitor", ["monitor", ready["results"], "--control", ready["control"]])
        summary = watch(run, ready, children, console)
    if as_json:
        click.echo(json.dumps(summary))
    else:
        from rtsim.report.table import print_summary

        print_summary(console, summary)


def check_source(source: str) -> None:
    """A wrong source is told before any process starts."""
    if source != WALKER and not Path(source).exists():
        raise ConfigError(
            f"no such source {source!r}",
            where="--source",
            allowed="walker, a .trc, .c3d or .mcap file, or tcp://HOST:PORT",
        )


def start(stack: contextlib.ExitStack, name: str, arguments: list[str]) -> Child:
    """Start a child that ends with the stack."""
    from rtsim.live.children import Child

    child = Child(name, arguments)
    stack.callback(child.close)
    return child


def estimator_arguments(
    run: Run, markers: str, n_subscriber: int, loop: bool = False, config: str | None = None
) -> list[str]:
    """Command line of the estimator's process."""
    # a walker of that length ends by itself, and then no frame of it may be cut off
    duration_s = run.duration_s if loop or run.source != WALKER else 0.0
    return [
        "estimate",
        *run_arguments(run, config),
        "--markers",
        markers,
        "--wait",
        "10",
        "--subscribers",
        str(n_subscriber),
        "--duration",
        str(duration_s),
    ]


def watch(run: Run, ready: dict, children: list[Child], console: Console) -> dict:
    """Follow the results to their end; returns the summary."""
    from rich.live import Live

    from rtsim.report.tally import Tally
    from streams.control import request
    from streams.subscriber import Subscriber

    tally = Tally()
    estimator = children[0]
    with Subscriber(ready["results"], ("result", "telemetry"), backlog=512) as results:
        live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        with live or contextlib.nullcontext():
            try:
                follow(tally, results, estimator, live, run.source)
            except KeyboardInterrupt:
                request(ready["control"], "stop", timeout_s=1.0)
                follow(tally, results, estimator, None, run.source)
    for child in children:
        if child.name != "player":  # which may have more to play
            child.wait(5.0)
        child.check()
    return tally.summary()


def follow(tally: Tally, results: Subscriber, estimator: Child, live: Live | None, source: str) -> None:
    """Take in results until their end, redrawing the table four times a second."""
    from rtsim.report.table import live_table

    drawn = 0.0
    last = None
    while not results.ended:
        frame = results.wait(0.1)
        if frame is not None:
            tally.take_frame(frame)
            last = frame
        elif not estimator.running:
            break
        if live is not None and last is not None and time.monotonic() - drawn > 0.25:
            drawn = time.monotonic()
            tally.look_at(last)
            live.update(live_table(tally, source))
        while results.telemetry:
            tally.take_telemetry(results.telemetry.popleft())
    if last is not None:
        tally.look_at(last)
    while results.telemetry:
        tally.take_telemetry(results.telemetry.popleft())
