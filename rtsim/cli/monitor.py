"""`rtsim monitor`: the window on a result stream."""

from __future__ import annotations

import sys

import click

from rtsim.cli.security import connect_options, connect_security


@click.command("monitor")
@click.argument("address", default="tcp://127.0.0.1:5561")
@click.option("--control", help="Control address of the estimator, to switch methods from the window.")
@click.option("--screenshot", metavar="PNG", help="Save a picture of the window at the end of --duration.")
@click.option("--duration", "duration_s", type=float, help="Close after this many seconds.")
@connect_options
def command(
    address: str,
    control: str | None,
    screenshot: str | None,
    duration_s: float | None,
    client_key: str | None,
    server_key: str | None,
) -> None:
    """Show the results at ADDRESS in a window of its own process."""
    from rtsim.monitor.app import run

    security = connect_security(client_key, server_key)
    sys.exit(run(address, security=security, screenshot=screenshot, duration_s=duration_s, control=control))
