"""`rtsim live`: player, estimator and table, each in a process of its own, connected by sockets."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from rtsim.cli.runs.live_outcome import check_recorded, reason_of, unusable
from rtsim.cli.terminal.lines import json_text, tell
from rtsim.cli.terminal.marker_options import RATE_OPTION, SPEED_OPTION
from rtsim.cli.terminal.options import (
    ANYWAY_OPTION,
    check_bound,
    check_recording,
    make_run,
    run_options,
    tell_notes,
)
from rtsim.cli.terminal.page_options import check_page, page_option
from rtsim.cli.terminal.ports import held
from rtsim.cli.terminal.run_notes import ALL_NOTES_OPTION, tell_missing, tell_of_run
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.live.checks import check_run
from rtsim.live.forces import check_tare
from rtsim.live.inputs.sources import MADE_UP, WALKER, check_playing
from rtsim.live.processes.requests import EstimatorRequest, PlayerRequest, encoded
from rtsim.live.processes.signals import exit_code
from streams.account import bounded
from streams.addresses import is_stream
from streams.capture.system import is_capture

if TYPE_CHECKING:
    from rtsim.cli.terminal.console import LastingConsole
    from rtsim.live.processes.children import Child

READY_S = 600.0  # the first start compiles


@click.command("live")
@run_options
@SPEED_OPTION
@RATE_OPTION
@click.option(
    "--loop", is_flag=True, help="Play a file repeatedly, with a pause of 0.1 s between repetitions."
)
@click.option(
    "--start", "start_s", type=float, default=0.0, help="Time in the file at which playing begins [s]."
)
@click.option("--end", "end_s", type=float, help="Time in the file at which playing ends [s].")
@click.option(
    "--record", type=click.Path(dir_okay=False, path_type=Path), help="Record the results to this .mcap file."
)
@click.option("--monitor", is_flag=True, help="Open the monitor window too.")
@page_option("Also serve a page for browsers on this machine")
@ANYWAY_OPTION
@ALL_NOTES_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON instead of the table.")
def command(
    speed: float, rate: float | None, loop: bool, start_s: float, end_s: float | None, record: Path | None,
    monitor: bool, page: str | None, anyway: bool, as_json: bool, **options: str,
) -> None:  # fmt: skip
    """Estimate joints live; without options a built-in synthetic walker is played for ten seconds."""

    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole
    from rtsim.cli.terminal.watch import Watch

    del options["all_notes"]  # read where notes are told
    run = make_run(**options)
    check_beside(record, monitor, page)
    length_s = run.duration_s if run.source in MADE_UP and not loop else 0.0
    check_playing(run.source, speed, rate, length_s, start_s, end_s)
    captured = is_capture(run.source)
    plays = not is_stream(run.source)
    console = LastingConsole(stderr=as_json, quiet=as_json)
    with contextlib.ExitStack() as stack:
        # they load their modules while this process loads its own and looks at the run
        estimator = start(stack, "estimator", ["estimate", "--request"], asked_later=True)
        source = ["replay", run.source, "--states", "--request"]
        players = [start(stack, "player", source, asked_later=True)] if plays else []
        run, whose = checked(run, player=captured or plays)
        played = PlayerRequest(
            run=run, speed=speed, rate=rate, loop=loop, start_s=start_s, end_s=end_s, duration_s=length_s,
            wait_s=READY_S,
        )  # fmt: skip
        # one that reads no files has nothing to tell: it begins while kernels are looked at
        at_once = run.source in MADE_UP and not run.forces
        if at_once:
            players[0].ask(asked_of_player(played, ""))
        if captured:
            players = [start_connector(stack, run)]
        bound = [run.ports.results, run.ports.control]
        bound += [run.ports.markers] if plays and not at_once else []
        with held(bound):
            from rtsim.live.compiled.group_table import groups_of
            from rtsim.live.subjects.subject_check import notes_before

            notes = (*whose, *notes_before(run, anyway=anyway))
            tell_of_run(notes)
            compile_first(LastingConsole(stderr=True), groups_of(run))
            forces = played_forces(run)
        with console.status("starting"):
            if plays and not at_once:
                players[0].ask(asked_of_player(played, forces))
            address = players[0].wait_ready(READY_S)["markers"] if players else run.source
            beside = forces or is_capture(run.forces)
            run = msgspec.structs.replace(run, forces=address if beside else run.forces)
            request = asked_of_estimator(
                run, address, recorded=record is not None, loop=loop, notes=notes, anyway=anyway
            )
            estimator.ask(encoded(request))
            ready = estimator.wait_ready(READY_S, players)
        children = [estimator, *players]
        children += started_beside(stack, ready, record, monitor, page)
        addresses = {"markers": address, "results": ready["results"], "control": ready["control"]}
        addresses |= {"forces": run.forces} if is_stream(run.forces) else {}
        tell_addresses(addresses)
        watch = Watch(run.source, addresses, children, notes)
        summary = {"addresses": addresses, **watch.follow(console)}
        if captured:
            summary["capture"] = counted_by(players[0])
        fault = None if exit_code() or watch.failed else unusable(run.source, summary)
        reason = reason_of(run.source, summary, fault, watch.failures)
        tell_outcome(console, summary, reason if as_json else None)
        tell_missing(notes)
    if fault is not None:
        raise fault
    if not exit_code():
        check_recorded(record)
    raise SystemExit(exit_code() or int(watch.failed))


def checked(run: RunConfig, player: bool) -> tuple[RunConfig, Sequence[str]]:
    """Check a run; return it with the person whose markers are tracked, and notes on how that person was
    chosen; ConfigError if the run is impossible or the person cannot be tracked.

    player : whether a process of this run sends the markers
    """
    from rtsim.live.subjects.persons import with_person

    check_run(run)
    check_tare(run)
    check_captured_forces(run)
    check_bound(run, player=player)
    tell_notes(run)
    return with_person(run)


def tell_outcome(console: LastingConsole, summary: dict[str, Any], reason: str | None) -> None:
    """Print the summary of a live run: as JSON with the reason why it ended, or as a table if `reason` is
    None.
    """
    from rtsim.report.table import print_summary

    if reason is None:
        print_summary(console, summary)
    else:
        click.echo(json_text({**summary, "reason": reason}))


def check_beside(record: Path | None, monitor: bool, page: str | None) -> None:
    """Raise ConfigError if the requested recording, window or page is impossible."""
    if record is not None:
        check_recording(record, "--record")
    if monitor:
        require_window()
    if page is not None:
        check_page(page)


def started_beside(
    stack: contextlib.ExitStack, ready: dict[str, Any], record: Path | None, monitor: bool, page: str | None
) -> list[Child]:
    """Start the requested processes that read the results, and return them: recorder, monitor window and
    page.

    ready : addresses that the estimator has reported, of its results and for commands
    record : file of the recording, None = none
    monitor : whether the window is opened
    page : address of the browser page, None = none
    """
    children = []
    if record is not None:
        children.append(start(stack, "recorder", ["record", ready["results"], str(record)]))
    if monitor:
        seen = ["monitor", ready["results"], "--control", ready["control"]]
        children.append(start(stack, "monitor", seen))
    if page is not None:
        children.append(start(stack, "page", ["serve", ready["results"], "--page", page, "--states"]))
        tell(f"the page is at {children[-1].wait_ready(READY_S)['page']}")
    return children


def counted_by(connector: Child) -> dict[str, Any]:
    """Return counters and gauges that the relay of a capture system last reported."""
    counted = connector.newest_state("counted")
    return {key: counted.get(key, {}) for key in ("counters", "gauges")}


def played_forces(run: RunConfig) -> str:
    """Return the source of the forces that the player sends with the markers, "" = none; problems with them
    are reported.
    """
    from rtsim.live.forces import has_forces, load_forces, tared, told_before
    from rtsim.live.inputs.sources import load_trial

    if is_stream(run.forces):
        return ""
    if not has_forces(run):
        tared(None, run.plates.tare)
        return ""
    units, up = run.units or None, run.up or None
    trial = load_trial(run.source, units=units, up=up, person=run.person, unnamed=run.label_unnamed)
    forces = tared(load_forces(run.source, run.forces, trial, units, up), run.plates.tare)
    if forces is None:
        return ""
    for note in (*forces.notes, *told_before(run, trial, forces)):
        tell(f"{forces.source}: {note}")
    return run.forces or run.source


def start(stack: contextlib.ExitStack, name: str, arguments: list[str], asked_later: bool = False) -> Child:
    """Start a child process of rtsim with these arguments; it is ended when the ExitStack `stack` is closed.

    name : name of the process in messages
    asked_later : whether the process waits for a request
    """
    from rtsim.live.processes.children import Child

    child = Child(name, arguments, asked_later)
    stack.callback(child.close)
    return child


def asked_of_player(request: PlayerRequest, forces: str) -> bytes:
    """Return the request, as bytes, to the process that plays the run's source as a stream; forces : source
    of forces that it plays with the markers, "" = none.
    """
    run = msgspec.structs.replace(request.run, forces=forces)
    if run.source == WALKER:  # whose units and axes are known: what is given is of the static trial
        run = msgspec.structs.replace(run, units="", up="")
    return encoded(msgspec.structs.replace(request, run=run))


def start_connector(stack: contextlib.ExitStack, run: RunConfig) -> Child:
    """Start the process that relays the run's capture system."""
    return start(stack, "connector", ["connect", run.source, "--address", run.ports.markers, "--states"])


def check_captured_forces(run: RunConfig) -> None:
    """Raise ConfigError for forces of another capture system than that of the markers."""
    if is_capture(run.forces) and run.forces != run.source:
        raise ConfigError(
            f"{run.forces!r} is not the same capture system as the source {run.source!r}", where="--forces",
            remedy="give the same address for both, or start `rtsim connect` for the system of the forces, "
                   "which publishes its data as a stream, and give the address of this stream",
        )  # fmt: skip


def asked_of_estimator(
    run: RunConfig, markers: str, *, recorded: bool, loop: bool, notes: Sequence[str], anyway: bool
) -> EstimatorRequest:
    """Return the request to the estimator process of a run.

    markers : address of the marker stream
    recorded : whether a recorder also subscribes to its results; the first frame then waits for it
    loop : whether the source is played repeatedly
    notes : notes on the run that are stored with the results
    anyway : whether to accept markers that do not fit the subject
    """
    # a made-up source of that length ends by itself, and then no frame of it may be cut off
    duration_s = run.duration_s if loop or run.source not in MADE_UP else 0.0
    return EstimatorRequest(
        run=msgspec.structs.replace(run, duration_s=duration_s),
        markers=markers,
        # a recording shall have the first frame, however long its recorder takes to start
        wait_s=READY_S if recorded else 10.0,
        n_subscriber=2 if recorded else 1,
        notes=tuple(bounded(notes)),
        anyway=anyway,
    )


def tell_addresses(addresses: dict[str, str]) -> None:
    """Print the addresses at which other programs can connect to the run."""
    click.echo(
        f"markers at {addresses['markers']}, results at {addresses['results']}, "
        f"commands at {addresses['control']}",
        err=True,
    )


def require_window() -> None:
    """Raise ConfigError if the monitor cannot open its window."""
    from rtsim.monitor.qt_library import choose_platform, require_qt

    require_qt()
    choose_platform(off_screen_will_do=False)
