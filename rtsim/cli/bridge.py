"""`rtsim bridge`: results carried to programs that do not speak our protocol."""

from __future__ import annotations

import threading

import click

from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.ports import offset_option, placed
from rtsim.cli.terminal.security import connect_options, connect_security
from rtsim.cli.terminal.types import Address
from rtsim.errors import ConfigError
from rtsim.live.processes.signals import exit_code, noting_requests
from streams.sockets import RESULTS_ADDRESS


@click.group("bridge")
def command() -> None:
    """Carry results to programs that do not speak rtsim's protocol, read only (docs/watching.md)."""


@command.command("lsl")
@click.argument("address", type=Address(), required=False)
@offset_option(auto=False)
@click.option("--field", "fields", multiple=True, help="A field to send, may be given again "
              "(default: joint angles and moments, or coordinates).")  # fmt: skip
@click.option("--duration", "duration_s", type=float, help="Stop after this many seconds.")
@connect_options
def lsl_command(
    address: str | None, port_offset: int, fields: tuple[str, ...], duration_s: float | None,
    client_key: str | None, server_key: str | None,
) -> None:  # fmt: skip
    """Send the results at ADDRESS (tcp://127.0.0.1:5561 unless given) as streams of Lab Streaming Layer.

    Joint angles, moments, gait events and the status, for LabRecorder, MATLAB, PlotJuggler and others. Needs
    the extra: pip install 'rtsim[lsl]'.
    """
    from rtsim.bridges.lsl_outlets import serve_lsl

    address = placed({"ADDRESS": address}, {"ADDRESS": RESULTS_ADDRESS}, port_offset)["ADDRESS"]
    stop = stopping_after(duration_s)
    with noting_requests(lambda _: stop.set()):
        security = connect_security(client_key, server_key)
        n_frame = serve_lsl(address, fields, security, stop, tell)
    tell(f"{n_frame} frames sent")
    if (code := exit_code()) is not None:
        raise SystemExit(code)


@command.command("plot")
@click.argument("address", type=Address(), required=False)
@offset_option(auto=False)
@click.option("--to", "bound", type=Address(binding=True), default="tcp://127.0.0.1:5570", show_default=True,
              help="Where PlotJuggler's ZeroMQ subscriber connects.")  # fmt: skip
@click.option("--field", "fields", multiple=True, help="A field to send, may be given again (default: all).")
@click.option("--duration", "duration_s", type=float, help="Stop after this many seconds.")
@connect_options
def plot_command(
    address: str | None, port_offset: int, bound: str, fields: tuple[str, ...], duration_s: float | None,
    client_key: str | None, server_key: str | None,
) -> None:  # fmt: skip
    """Send the results at ADDRESS (tcp://127.0.0.1:5561 unless given) as named numbers, topic `plot`, for
    PlotJuggler: Streaming, ZMQ Subscriber, MessagePack, `time` as the timestamp.
    """
    from rtsim.bridges.plot_numbers import serve_plot

    address = placed({"ADDRESS": address}, {"ADDRESS": RESULTS_ADDRESS}, port_offset)["ADDRESS"]
    stop = stopping_after(duration_s)
    with noting_requests(lambda _: stop.set()):
        n_frame = serve_plot(address, bound, fields, connect_security(client_key, server_key), stop, tell)
    tell(f"{n_frame} frames sent")
    if (code := exit_code()) is not None:
        raise SystemExit(code)


def stopping_after(duration_s: float | None) -> threading.Event:
    """Set after so many seconds, where any are given; ConfigError for no possible time."""
    stop = threading.Event()
    if duration_s is not None:
        if not 0.0 < duration_s < threading.TIMEOUT_MAX:
            raise ConfigError(f"{duration_s}", where="--duration", allowed="more than 0 s")
        timer = threading.Timer(duration_s, stop.set)
        timer.daemon = True
        timer.start()
    return stop
