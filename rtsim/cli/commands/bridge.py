"""`rtsim bridge`: conversion of results to the protocols of other programs, and of their signals to
rtsim's.
"""

from __future__ import annotations

import click

from rtsim.cli.commands.connect import stopped_after
from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.ports import offset_option, placed
from rtsim.cli.terminal.security import bind_options, bind_security, connect_options, connect_security
from rtsim.cli.terminal.types import Address
from rtsim.errors import ConfigError
from rtsim.live.processes.signals import exit_code, noting_requests
from streams.addresses import LAST_PORT
from streams.sockets import RESULTS_ADDRESS


@click.group("bridge")
def command() -> None:
    """Convert results to the protocols of other programs, and signals of other programs to rtsim's
    protocol.
    """


@command.command("lsl")
@click.argument("address", type=Address(), required=False)
@offset_option(auto=False)
@click.option("--field", "fields", multiple=True, help="Field of the results to send (repeatable; "
    "default: joint angles and moments, or "
    "coordinates).")  # fmt: skip
@click.option("--duration", "duration_s", type=float, help="Stop after this many seconds.")
@connect_options
def lsl_command(
    address: str | None, port_offset: int, fields: tuple[str, ...], duration_s: float | None,
    client_key: str | None, server_key: str | None,
) -> None:  # fmt: skip
    """Send the results at ADDRESS (tcp://127.0.0.1:5561 unless given) as streams of Lab Streaming Layer.

    Joint angles, moments, gait events and the status are sent, for example to LabRecorder, MATLAB,
    PlotJuggler. Needs the extra: pip install 'rtsim[lsl]'.
    """
    from rtsim.bridges.lsl_outlets import serve_lsl

    address = placed({"ADDRESS": address}, {"ADDRESS": RESULTS_ADDRESS}, port_offset)["ADDRESS"]
    stop = stopped_after(duration_s)
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
              help="Address to which PlotJuggler's ZeroMQ subscriber connects.")  # fmt: skip
@click.option(
    "--field", "fields", multiple=True, help="Field of the results to send (repeatable; default: all fields)."
)
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
    stop = stopped_after(duration_s)
    with noting_requests(lambda _: stop.set()):
        n_frame = serve_plot(address, bound, fields, connect_security(client_key, server_key), stop, tell)
    tell(f"{n_frame} frames sent")
    if (code := exit_code()) is not None:
        raise SystemExit(code)


@command.command("foxglove")
@click.argument("address", type=Address(), required=False)
@offset_option(auto=False)
@click.option("--port", type=click.IntRange(0, LAST_PORT), default=8765, show_default=True,
              help="Port for Foxglove, on this machine alone; 0 takes any free port.")  # fmt: skip
@click.option("--field", "fields", multiple=True, help="Field whose numbers are sent (repeatable; "
    "default: all but the positions of the stick "
    "figure).")  # fmt: skip
@click.option("--origin", "origins", multiple=True, help="Origin of a web page that may connect, "
              "such as http://viewer:8080, in addition to pages of Foxglove and of this "
              "machine (repeatable).")  # fmt: skip
@click.option("--duration", "duration_s", type=float, help="Stop after this many seconds.")
@connect_options
def foxglove_command(
    address: str | None, port_offset: int, port: int, fields: tuple[str, ...], origins: tuple[str, ...],
    duration_s: float | None, client_key: str | None, server_key: str | None,
) -> None:  # fmt: skip
    """Send the results at ADDRESS (tcp://127.0.0.1:5561 unless given) to Foxglove: figure, frames, numbers,
    messages. Needs the extra: pip install 'rtsim[foxglove]'.
    """
    from rtsim.bridges.foxglove_server import serve_foxglove
    from rtsim.live.processes.thread_priority import below_others

    address = placed({"ADDRESS": address}, {"ADDRESS": RESULTS_ADDRESS}, port_offset)["ADDRESS"]
    stop = stopped_after(duration_s)
    with below_others(), noting_requests(lambda _: stop.set()):
        security = connect_security(client_key, server_key)
        n_frame = serve_foxglove(address, port, fields, security, stop, tell, origins)
    tell(f"{n_frame} frames sent")
    if (code := exit_code()) is not None:
        raise SystemExit(code)


@command.command("emg")
@click.argument("name")
@click.option("--address", type=Address(binding=True), default=None, show_default="tcp://127.0.0.1:5565",
              help="Address at which results are published; port 0 takes any free port.")  # fmt: skip
@click.option(
    "--rate", type=float, default=0.0, help="Samples per second, for a stream that does not state its rate."
)
@click.option("--duration", "duration_s", type=float, help="Stop after this many seconds.")
@bind_options
def emg_command(
    name: str, address: str | None, rate: float, duration_s: float | None, key: str | None,
    clients: str | None,
) -> None:  # fmt: skip
    """Publish the envelopes of the electromyograms in stream NAME of Lab Streaming Layer as results.

    `rtsim monitor tcp://127.0.0.1:5565` draws them, and `rtsim record` stores them. Needs the extra: pip
    install 'rtsim[lsl]'.
    """
    from rtsim.bridges.emg import ADDRESS, EmgRelay
    from streams.publisher import Publisher

    if not 0.0 <= rate < 1e6:
        raise ConfigError(f"{rate}", where="--rate", allowed="samples per second")
    stop = stopped_after(duration_s)
    security = bind_security(key, clients)
    with noting_requests(lambda _: stop.set()), Publisher(address or ADDRESS, security) as publisher:
        relay = EmgRelay(name, publisher, rate, tell)
        relay.run(stop)
    tell(f"{relay.n_sample} samples received")
    if (code := exit_code()) is not None:
        raise SystemExit(code)
