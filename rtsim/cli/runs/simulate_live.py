"""`rtsim simulate --live`: a simulation in real time, published like a live run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource

from rtsim.cli.terminal.lines import json_text
from rtsim.cli.terminal.ports import check_ports, offset_option, placed
from rtsim.cli.terminal.types import Address
from rtsim.errors import ConfigError, ModelError
from rtsim.live.processes.signals import exit_code, noting_requests
from streams.addresses import is_stream
from streams.sockets import CONTROL_ADDRESS, RESULTS_ADDRESS

if TYPE_CHECKING:
    from rtsim.simulation.simulator import Simulator

Command = TypeVar("Command", bound=Callable)
LIVE = ("rate_hz", "frame_rate_hz", "results", "control", "port_offset", "urgent", "monitor")
"""Options of live runs alone."""
MONITOR_S = 20.0
"""Time that a monitor may take to open before the simulation starts without it [s]."""
FASTEST = 10_000.0
"""Highest rate of time steps [Hz]."""


class PacedRun(NamedTuple):
    """Options of a simulation in real time: duration, rates of ticks and of published frames, addresses,
    priority. A tick is the period of the real-time loop, in which the simulation advances by 1 / rate_hz.
    """

    duration_s: float | None = None  # length of the run on the clock; None = until it is stopped
    rate_hz: float = 1000.0  # ticks per second
    frame_rate_hz: float = 100.0  # published frames per second
    results: str = RESULTS_ADDRESS  # address of the published results
    control: str = CONTROL_ADDRESS  # address that receives commands
    urgently: bool = False  # real-time priority, where the system grants it


LIVE_OPTIONS = (
    click.option(
        "--rate",
        "rate_hz",
        type=float,
        default=1000.0,
        show_default=True,
        help="With --live: time steps per second [Hz].",
    ),
    click.option(
        "--frame-rate",
        "frame_rate_hz",
        type=float,
        default=100.0,
        show_default=True,
        help="With --live: frames published per second [Hz].",
    ),
    click.option(
        "--results",
        type=Address(binding=True),
        show_default=RESULTS_ADDRESS,
        help="With --live: address at which results are published.",
    ),
    click.option(
        "--control",
        type=Address(binding=True),
        show_default=CONTROL_ADDRESS,
        help="With --live: address at which commands are received.",
    ),
    offset_option(),
    click.option(
        "--urgent",
        is_flag=True,
        help="With --live: run at real-time priority, where the system permits it.",
    ),
    click.option("--monitor", is_flag=True, help="With --live: open the monitor window too."),
)


def live_options(command: Command) -> Command:
    """Add the options of `rtsim simulate --live` to a command, except --live itself."""
    for option in reversed(LIVE_OPTIONS):
        command = option(command)
    return command


def check_live(live: bool, motion: str, kept: Mapping[str, object]) -> None:
    """Raise ConfigError for output files of a live simulation, which is published and not stored, and for
    options that need --live.

    motion : address given by --motion
    kept : options that name output files -> their values
    """
    for option, value in kept.items():
        if live and value:
            raise ConfigError(
                "a live run writes no files",
                where=option,
                remedy="leave it out and record the run with `rtsim record`",
            )
    context = click.get_current_context()
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if parameter.name in LIVE and given and not live:
            raise ConfigError(
                "the option applies only to live runs", where=parameter.opts[0], remedy="add --live"
            )
    if is_stream(motion) and not live:
        raise ConfigError(
            "a stream runs in real time by its own clock, which only a live simulation follows",
            where="--motion",
            remedy="add --live, or give a file",
        )


def paced_by(options: Mapping[str, Any]) -> PacedRun:
    """Return the options of a simulation in real time from those of the command line; impossible ones are
    reported before anything is compiled.
    """
    addresses = placed(
        {"--results": options["results"], "--control": options["control"]},
        {"--results": RESULTS_ADDRESS, "--control": CONTROL_ADDRESS},
        options["port_offset"],
    )
    paced = PacedRun(
        duration_s=options["duration_s"], rate_hz=options["rate_hz"], frame_rate_hz=options["frame_rate_hz"],
        results=addresses["--results"],
        control=addresses["--control"], urgently=options["urgent"],
    )  # fmt: skip
    check_rates(paced)
    check_ports(addresses)
    return paced


def run_live(
    simulator: Simulator,
    paced: PacedRun,
    motion: tuple[str, Sequence[str]] | None = None,
    open_monitor: bool = False,
    as_json: bool = False,
) -> int:
    """Simulate in step with the clock until the time is up, Ctrl-C or the command stop; return the exit
    code.

    The model returns to its start each time the duration of its settings is over.

    Parameters
    ----------
    motion : address of a result stream, and the coordinates that it moves

    Raises
    ------
    ConfigError : impossible rates or duration; ModelError : the simulation could not continue
    """
    check_rates(paced)
    from rtsim.device.rights import RunRights
    from rtsim.live.paced import paced_loop, summary_of
    from streams.control.commands import ControlServer
    from streams.publisher import Publisher

    with contextlib.ExitStack() as stack:
        publisher = stack.enter_context(Publisher(paced.results))
        loop = paced_loop(
            simulator, publisher, paced.rate_hz, paced.frame_rate_hz, simulator.settings.duration_s,
            paced.duration_s or 0.0, paced.urgently, motion,
        )  # fmt: skip
        server = stack.enter_context(
            ControlServer(paced.control, loop.command, loop.commands, None, RunRights())
        )
        loop.control_events, loop.control_counters = server.events, server.journal.counters
        # between two ticks, where nothing is half done
        stack.enter_context(noting_requests(lambda number: loop.stop("interrupted")))
        click.echo(
            f"{simulator.model.name}: results at {publisher.address}, commands at {server.address} "
            f"({', '.join(loop.commands)}); Ctrl-C ends it",
            err=as_json,
        )
        if open_monitor:
            from rtsim.live.processes.children import Child

            child = Child("monitor", ["monitor", publisher.address, "--control", server.address])
            stack.callback(child.close)
            if not publisher.wait_for_subscriber(MONITOR_S):
                child.check()
        loop.run()
    summary = summary_of(loop)
    click.echo(json_text(summary) if as_json else in_words(summary))
    if loop.failure:
        raise ModelError(
            loop.failure,
            where=simulator.model.name,
            remedy="shorten the step (--step, simulation.step_ms), or look for forces that grow without end",
        )
    return exit_code() or 0


def check_rates(paced: PacedRun) -> None:
    """Raise ConfigError for an impossible rate or duration."""
    rate_hz, frame_rate_hz, duration_s = paced.rate_hz, paced.frame_rate_hz, paced.duration_s
    if not 0.0 < rate_hz <= FASTEST:
        raise ConfigError(
            f"{rate_hz:g} Hz", where="--rate", allowed=f"a rate of more than 0, at most {FASTEST:g} Hz"
        )
    if not 0.0 < frame_rate_hz <= rate_hz:
        raise ConfigError(
            f"{frame_rate_hz:g} frames per second",
            where="--frame-rate",
            allowed=f"a rate above 0, up to {rate_hz:g} Hz",
        )
    if duration_s is not None and not 0.0 < duration_s < float("inf"):
        raise ConfigError(f"{duration_s:g} s", where="--duration", allowed="a duration above 0 s")


def in_words(summary: dict) -> str:
    """Return the closing lines of a simulation in real time."""
    took = ", ".join(f"{label.replace('_', '.')} {us:.0f}" for label, us in summary["tick_us"].items())
    return (
        f"{summary['ticks']} time steps, {summary['missed']} missed, {summary['frames']} frames published, "
        f"{summary['late']} late; {summary['reason']}\nduration of a time step [us]: {took or 'unknown'}"
        f"{motion_in_words(summary['motion'])}"
    )


def motion_in_words(counted: dict[str, int]) -> str:
    """Return a line for the end of a run on the coordinates that a stream of results (--motion) moved.

    counted : numbers "motion_taken" and "motion_unusable" of frames, and "motion_missing" of time steps for
        which no frame had come; empty = no stream was used, which gives ""
    """
    if not counted:
        return ""
    if not counted["motion_taken"]:
        return (
            "\n--motion: no frame of results with these coordinates and their speeds came, so that "
            "they stayed at rest; start what sends them, or correct the address"
        )
    return (
        f"\nmotion: {counted['motion_taken']} frames used, {counted['motion_unusable']} not usable, "
        f"{counted['motion_missing']} time steps without motion"
    )
