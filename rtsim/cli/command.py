"""`rtsim command`: one command to a running estimator or simulation."""

from __future__ import annotations

import click

from rtsim.cli.security import connect_options, connect_security
from rtsim.errors import ConfigError


@click.command("command")
@click.argument("name")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--control", default="tcp://127.0.0.1:5562", show_default=True, help="Control address.")
@connect_options
def command(
    name: str, arguments: tuple[str, ...], control: str, client_key: str | None, server_key: str | None
) -> None:
    """Send NAME and print the answer.

    An estimator takes set_method method=zero, set_downweighting on=false, status, stop; a live simulation
    pause, resume, restart, status, stop.
    """
    from streams.control import request

    pairs = [argument.partition("=") for argument in arguments]
    bad = [key for key, equals, _ in pairs if not equals]
    if bad:
        raise ConfigError(f"the argument {bad[0]!r} has no value", where="command", allowed="KEY=VALUE")
    ok, text = request(
        control,
        name,
        {key: value for key, _, value in pairs},
        security=connect_security(client_key, server_key),
    )
    if not ok:
        raise ConfigError(text, where=f"command {name}")
    click.echo(text)
