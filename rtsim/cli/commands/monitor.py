"""`rtsim monitor`: a window on a result stream."""

from __future__ import annotations

import sys

import click

from rtsim.cli.terminal.ports import offset_option, placed
from rtsim.cli.terminal.security import connect_options, connect_security
from rtsim.cli.terminal.types import Address
from streams.sockets import RESULTS_ADDRESS


@click.command("monitor")
@click.argument("address", type=Address(), required=False)
@offset_option(auto=False)
@click.option(
    "--control",
    type=Address(),
    help="Control address of the estimator, for changing methods from the window.",
)
@click.option(
    "--screenshot",
    metavar="PNG",
    help="Save a picture of the window into this file at the end of --duration.",
)
@click.option("--duration", "duration_s", type=float, help="Close after this many seconds.")
@click.option(
    "--json", "as_json", is_flag=True, help="At the end, print as JSON what was drawn and how long it took."
)
@connect_options
def command(
    address: str | None,
    port_offset: int,
    control: str | None,
    screenshot: str | None,
    duration_s: float | None,
    as_json: bool,
    client_key: str | None,
    server_key: str | None,
) -> None:
    """Show the results at ADDRESS (tcp://127.0.0.1:5561 unless given) in a window."""
    from rtsim.live.processes.thread_priority import below_others
    from rtsim.monitor.app import run

    address = placed({"ADDRESS": address}, {"ADDRESS": RESULTS_ADDRESS}, port_offset)["ADDRESS"]
    security = connect_security(client_key, server_key)
    with below_others():
        code = run(address, security, screenshot, duration_s, control, as_json)
    sys.exit(code)
