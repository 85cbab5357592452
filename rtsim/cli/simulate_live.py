"""`rtsim simulate --live`: a simulation in step with the clock, published as a live run is."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from rtsim.errors import ConfigError, ModelError
from rtsim.live.signals import exit_code, noting_requests
from streams.sockets import CONTROL_ADDRESS, RESULTS_ADDRESS

if TYPE_CHECKING:
    from rtsim.simulation.simulator import Simulator
    from streams.security import Security

MONITOR_S = 20.0
"""How long a monitor may take to open before the simulation starts without it [s]."""
FASTEST = 10_000.0
"""Highest rate of ticks [Hz]."""


def run_live(
    simulator: Simulator,
    duration: float | None,
    rate_hz: float = 1000.0,
    *,
    frame_rate_hz: float = 100.0,
    lap_s: float | None = None,
    results: str = RESULTS_ADDRESS,
    control: str = CONTROL_ADDRESS,
    security: Security | None = None,
    urgently: bool = False,
    open_monitor: bool = False,
    as_json: bool = False,
    motion: tuple[str, Sequence[str]] | None = None,
) -> int:
    """Simulate in step with the clock until the time is up, Ctrl-C or the command stop; the exit code.

    Parameters
    ----------
    duration : length of the run on the clock [s]; None = until it is stopped
    rate_hz, frame_rate_hz : ticks, and published frames, per second
    lap_s : simulated time after which the model goes back to its start [s], 0 = never; unless given, the
        duration of its settings
    results, control : addresses to bind; security : keys of both
    urgently : before all other work of the processor, where the system grants that
    motion : address of a result stream, and the coordinates that it moves

    Raises
    ------
    ConfigError : rates or a duration that cannot be; ModelError : the simulation could not go on
    """
    check_rates(duration, rate_hz, frame_rate_hz)
    from rtsim.live.paced import paced_loop, summary_of
    from streams.control import ControlServer
    from streams.publisher import Publisher

    lap = simulator.settings.duration_s if lap_s is None else lap_s
    with contextlib.ExitStack() as stack:
        publisher = stack.enter_context(Publisher(results, security))
        loop = paced_loop(
            simulator, publisher, rate_hz, frame_rate_hz, lap, duration or 0.0, urgently, motion, security
        )
        server = stack.enter_context(ControlServer(control, loop.command, loop.commands, security))
        loop.control_events = server.events
        # between two ticks, where nothing is half done
        stack.enter_context(noting_requests(lambda number: loop.stop("interrupted")))
        click.echo(
            f"{simulator.model.name}: results at {publisher.address}, commands at {server.address} "
            f"({', '.join(loop.commands)}); Ctrl-C ends it",
            err=as_json,
        )
        if open_monitor:
            from rtsim.live.children import Child

            child = Child("monitor", ["monitor", publisher.address, "--control", server.address])
            stack.callback(child.close)
            if not publisher.wait_for_subscriber(MONITOR_S):
                child.check()
        loop.run()
    summary = summary_of(loop)
    click.echo(json.dumps(summary) if as_json else in_words(summary))
    if loop.failure:
        raise ModelError(
            loop.failure,
            where=simulator.model.name,
            remedy="shorten the step (--step, simulation.step_ms), or look for forces that grow without end",
        )
    return exit_code() or 0


def check_rates(duration: float | None, rate_hz: float, frame_rate_hz: float) -> None:
    """ConfigError for what cannot be a rate or a length of time."""
    if not 0.0 < rate_hz <= FASTEST:
        raise ConfigError(f"{rate_hz:g} Hz", where="--rate", allowed=f"more than 0, at most {FASTEST:g} Hz")
    if not 0.0 < frame_rate_hz <= rate_hz:
        raise ConfigError(
            f"{frame_rate_hz:g} frames per second",
            where="--frame-rate",
            allowed=f"more than 0 to {rate_hz:g} Hz",
        )
    if duration is not None and not 0.0 < duration < float("inf"):
        raise ConfigError(f"{duration:g} s", where="--duration", allowed="a time above 0 s")


def in_words(summary: dict) -> str:
    """The closing lines of a run."""
    took = ", ".join(f"{label.replace('_', '.')} {us:.0f}" for label, us in summary["tick_us"].items())
    return (
        f"{summary['ticks']} ticks, {summary['missed']} missed, {summary['frames']} frames published, "
        f"{summary['late']} late; {summary['reason']}\na tick takes [us]: {took or 'unknown'}"
        f"{motion_in_words(summary['motion'])}"
    )


def motion_in_words(counted: dict[str, int]) -> str:
    """How far a stream has moved the coordinates, as one more line; nothing where none was to."""
    if not counted:
        return ""
    if not counted["motion_taken"]:
        return (
            "\n--motion: no frame of results with these coordinates and their speeds came, so that they "
            "rested; start what sends them, or correct the address"
        )
    return (
        f"\nmotion: {counted['motion_taken']} frames taken, {counted['motion_unusable']} not usable, "
        f"{counted['motion_missing']} ticks without"
    )
