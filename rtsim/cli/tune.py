"""`rtsim tune`: parameters of a run with a device, while it goes on."""

from __future__ import annotations

from typing import Any

import click

from rtsim.cli.ports import offset_option, placed
from rtsim.cli.security import connect_options, connect_security
from rtsim.cli.types import Address
from rtsim.errors import ConfigError
from streams.sockets import CONTROL_ADDRESS


@click.command("tune")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a parameter (repeatable).")
@click.option("--undo", is_flag=True, help="Back to before the last change.")
@click.option("--save", metavar="NAME", help="Keep the parameters as a snapshot.")
@click.option("--switch", metavar="NAME", help="Go to a snapshot; `start` is that of the config.")
@click.option("--over", "over_s", type=float, metavar="S", help="How long the change takes [s] [config].")
@click.option("--control", type=Address(), show_default=CONTROL_ADDRESS, help="Control address.")
@offset_option(auto=False)
@connect_options
def command(
    settings: tuple[str, ...], over_s: float | None, control: str | None, port_offset: int,
    client_key: str | None, server_key: str | None, **asked: Any,
) -> None:  # fmt: skip
    """Set parameters within the ranges of the config; without an option all are listed."""
    from streams.control import request

    address = placed({"--control": control}, {"--control": CONTROL_ADDRESS}, port_offset)["--control"]
    name, args = wanted(settings, asked)
    if over_s is not None:
        if name in ("list", "save"):
            raise ConfigError("nothing changes", where="--over", remedy="add --set, --undo or --switch")
        args["over_s"] = over_s
    security = connect_security(client_key, server_key)
    ok, text = request(address, name, args, security=security)
    if not ok:
        raise ConfigError(text, where=f"tune ({name})")
    click.echo(text)


def wanted(settings: tuple[str, ...], asked: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The command that the options amount to, and its arguments."""
    given = [key for key, value in asked.items() if value] + (["set"] if settings else [])
    if len(given) > 1:
        raise ConfigError(f"--{given[0]} and --{given[1]} are two changes", where="tune", remedy="give one")
    if not given:
        return "list", {}
    if given[0] == "set":
        pairs = [setting.partition("=") for setting in settings]
        bad = next((key for key, equals, _ in pairs if not equals), None)
        if bad is not None:
            raise ConfigError(f"{bad!r} has no value", where="--set", allowed="NAME=VALUE")
        return "set", {key: value for key, _, value in pairs}
    return given[0], {} if given[0] == "undo" else {"name": asked[given[0]]}
