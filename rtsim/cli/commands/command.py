"""`rtsim command`: one command to a running estimator or simulation."""

from __future__ import annotations

import click

from rtsim.cli.terminal.ports import offset_option, placed
from rtsim.cli.terminal.security import connect_options, connect_security
from rtsim.cli.terminal.types import Address, texts_of
from rtsim.device.arming import EMERGENCY
from rtsim.device.requests import ARM, DISARM, OF_RUN
from rtsim.errors import ConfigError
from streams.sockets import CONTROL_ADDRESS

TAKEN_BY = {
    **dict.fromkeys(
        ("set_method", "set_downweighting", "tare", "mark"), "the estimator, such as `rtsim live`,"
    ),
    **dict.fromkeys((ARM, DISARM, EMERGENCY, "step", "reset"), OF_RUN),
    "restart": "a live simulation, such as `rtsim simulate --live`,",
}
"""Commands that only some kinds of runs accept -> these runs, in words."""
OTHERS = "Or is the command meant for `rtsim hil` or `rtsim simulate --live`?"
"""Question to the user if a command that every run accepts has found no estimator."""


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
    """Send the command NAME to a running process and print the answer.

    An estimator accepts set_method method=zero, set_downweighting on=false, mark label=cough, status, stop,
    and with force plates tare seconds=2; a live simulation accepts pause, resume, restart, status, stop; a
    run with a device accepts arm, disarm, emergency_stop, pause, step ticks=10, resume, reset, status, stop.
    emergency_stop is sent both as a datagram, which other clients cannot block and which needs no key, and
    as a command.
    """
    from streams.control.commands import ESTIMATOR, request
    from streams.control.tickets import NO_COMMAND

    address = placed({"--control": control}, {"--control": CONTROL_ADDRESS}, port_offset)["--control"]
    if name == EMERGENCY:
        stop(address, (client_key, server_key))
        return
    values = texts_of(arguments, "command", "KEY=VALUE")
    ok, text = request(
        address,
        name,
        values,
        security=connect_security(client_key, server_key),
        asked=TAKEN_BY.get(name, ESTIMATOR),
    )
    if not ok and name not in TAKEN_BY and text.endswith(f"is {ESTIMATOR} running?"):
        text = f"{text} {OTHERS}"
    if not ok:
        of_another = name in TAKEN_BY and text.startswith(NO_COMMAND)
        remedy = (
            f"{TAKEN_BY[name]} takes this command: give the address of its --control" if of_another else None
        )
        raise ConfigError(text.rstrip(".") if remedy else text, where=f"command {name}", remedy=remedy)
    click.echo(text)


def stop(address: str, keys: tuple[str | None, str | None]) -> None:
    """Send the emergency stop by datagram and by command at once, and report which of them took effect.

    keys : files of the client's key and of the server's public key, None = none

    ConfigError if neither took effect. Keys are read after the first datagrams were sent.
    """
    from concurrent.futures import ThreadPoolExecutor, as_completed

    from streams.control.commands import request
    from streams.control.emergency_stop import request_stop, stop_address
    from streams.errors import StreamError

    def by_datagram() -> tuple[bool, str]:
        if request_stop(address):
            return True, f"received at {stop_address(address)}: no torque from the next time step on."
        return False, f"no run answered at {stop_address(address)}."

    def by_command() -> tuple[bool, str]:
        return request(address, EMERGENCY, security=connect_security(*keys), asked=OF_RUN)

    heard, unheard = False, []
    with ThreadPoolExecutor() as pool:
        ways = {pool.submit(by_datagram): "by datagram", pool.submit(by_command): "by command"}
        for way in as_completed(ways):
            try:
                ok, text = way.result()
            except (StreamError, ConfigError) as fault:
                ok, text = False, str(fault)
            heard |= ok
            if ok:
                click.echo(f"{ways[way]}: {text}")
            else:
                unheard.append(f"the emergency stop {ways[way]} failed: {text}")
    if not heard:
        raise ConfigError(
            "; ".join(unheard),
            where=f"command {EMERGENCY}",
            remedy="press the emergency stop button of the device",
        )
    for words in unheard:
        click.echo(words, err=True)
