"""`rtsim record`: every message of a stream into an MCAP file."""

from __future__ import annotations

import threading
from pathlib import Path

import click

from rtsim.cli.security import connect_options, connect_security
from rtsim.errors import ConfigError


@click.command("record")
@click.argument("address")
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--duration", "duration_s", type=float, help="Stop after this many seconds.")
@connect_options
def command(
    address: str, path: Path, duration_s: float | None, client_key: str | None, server_key: str | None
) -> None:
    """Record the stream at ADDRESS (markers or results) to PATH, until it ends or Ctrl-C."""
    from streams.recorder import record

    stop = threading.Event()
    if duration_s is not None:
        if not 0.0 < duration_s < threading.TIMEOUT_MAX:
            raise ConfigError(f"{duration_s}", where="--duration", allowed="more than 0 s")
        timer = threading.Timer(duration_s, stop.set)
        timer.daemon = True  # the stream may end first
        timer.start()
    try:
        done = record(
            address,
            path,
            stop,
            connect_security(client_key, server_key),
            say=lambda s: click.echo(s, err=True),
        )
        click.echo(f"{path}: {done.n_message} messages, {done.n_refused} refused", err=True)
    except KeyboardInterrupt:
        click.echo(f"{path}: stopped; everything received so far is in the file", err=True)
