"""`rtsim command`: one command to a running estimator or simulation."""

from __future__ import annotations

import click

from rtsim.cli.ports import offset_option, placed
from rtsim.cli.security import connect_options, connect_security
from rtsim.cli.types import Address
from rtsim.errors import ConfigError
from streams.sockets import CONTROL_ADDRESS


@click.command("command")
@click.argument("name")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--control", type=Address(), show_default=CONTROL_ADDRESS, help="Control address.")
@offset_option(auto=False)
@connect_options
def command(
    name: str, arguments: tuple[str, ...], control: str | None, port_offset: int, client_key: str | None,
    server_key: str | None,
) -> None:  # fmt: skip
    """Send NAME and print the answer.

    An estimator takes set_method method=zero, set_downweighting on=false, status, stop, and with force plates
    tare seconds=2; a live simulation pause, resume, restart, status, stop; a run with a device arm, disarm,
    emergency_stop, pause, step ticks=10, resume, reset, status, stop.
    """
    from streams.control import request

    address = placed({"--control": control}, {"--control": CONTROL_ADDRESS}, port_offset)["--control"]
    pairs = [argument.partition("=") for argument in arguments]
    bad = [key for key, equals, _ in pairs if not equals]
    if bad:
        raise ConfigError(f"the argument {bad[0]!r} has no value", where="command", allowed="KEY=VALUE")
    ok, text = request(
        address,
        name,
        {key: value for key, _, value in pairs},
        security=connect_security(client_key, server_key),
    )
    if not ok:
        raise ConfigError(text, where=f"command {name}")
    click.echo(text)
