"""`rtsim connect`: relays a capture system as streams of rtsim, and lists the systems that answer on this
network.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import click

from rtsim.cli.terminal.lines import json_text, tell
from rtsim.cli.terminal.ports import check_ports, offset_option, placed
from rtsim.cli.terminal.security import bind_options, bind_security
from rtsim.cli.terminal.states import say
from rtsim.cli.terminal.types import Address, Config, checked_capture
from rtsim.errors import ConfigError
from rtsim.live.processes.signals import Interrupted, exit_code, noting_requests
from streams.capture.system import systems
from streams.messages import Telemetry
from streams.sockets import MARKERS_ADDRESS

FIND_S = 2.0


@click.command("connect")
@click.argument("system", required=False)
@click.argument("server", metavar="[ADDRESS]", default="")
@click.option(
    "--find",
    is_flag=True,
    help="List the servers that answer on this network, of the capture system SYSTEM or of all systems.",
)
@click.option("--address", type=Address(binding=True), show_default=MARKERS_ADDRESS,
              help="Address at which the streams are published; port 0 takes any free port.")  # fmt: skip
@offset_option()
@click.option(
    "--lab",
    type=Config("labs"),
    help="List the markers of this marker map that the capture system does not send.",
)
@click.option("--duration", "duration_s", type=float, help="Stop after this many seconds.")
@click.option("--states", is_flag=True, help="Print states as JSON lines (for programs).")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print as JSON the servers that were found, or, when the relay has ended, its numbers of messages.",
)
@bind_options
def command(
    system: str | None, server: str, find: bool, address: str | None, port_offset: int | str,
    lab: str | None, duration_s: float | None, states: bool, as_json: bool, key: str | None,
    clients: str | None,
) -> None:  # fmt: skip
    """Relay a capture system (SYSTEM: qtm, ...) at ADDRESS (HOST[:PORT][?OPTION=VALUE&...]) as live streams.

    Markers, and forces where the system has plates, are published like those of `rtsim replay`, until
    Ctrl-C. A lost connection is restored. docs/capture_systems.md describes the settings of each system.
    """
    from streams.capture.relay import Relay
    from streams.publisher import Publisher

    if find:
        list_found(system, as_json)
        return
    if not system:
        raise ConfigError(
            "no system given", where="SYSTEM", allowed=", ".join(systems()),
            remedy="give the address of one capture system, or --find to list the systems that answer on "
                "this network",
        )  # fmt: skip
    source = checked_capture(system if "://" in system else f"{named(system)}://{server}", "ADDRESS")
    stop = stopped_after(duration_s)
    place = placed({"--address": address}, {"--address": MARKERS_ADDRESS}, port_offset)["--address"]
    security = bind_security(key, clients)
    check_ports({"--address": place}, security)
    noted = markers_lacking(lab) if lab else None

    def end(number: int) -> None:
        if stop.is_set():
            raise Interrupted
        stop.set()

    from rtsim.live.standing import judge_standing

    with noting_requests(end), Publisher(place, security) as publisher:
        relay = Relay(source, publisher, tell, judge_standing, noted)
        if states:
            say({"state": "ready", "markers": publisher.address})
        else:
            click.echo(f"relaying {source.text} on {publisher.address}", err=True)
        relay.run(stop, on_telemetry=told_as_state if states else None)
        told = relay.telemetry()
    if states:
        say({"state": "over", "n_sent": told.counters["published"]})
    elif as_json:
        click.echo(json_text({"counters": told.counters, "gauges": told.gauges}))
    else:
        click.echo(f"{told.counters['published']} frames sent", err=True)
    if (code := exit_code()) is not None:
        raise SystemExit(code)


def told_as_state(told: Telemetry) -> None:
    """Print the counters and gauges of the relay as a line of JSON for the parent process."""
    say({"state": "counted", "counters": told.counters, "gauges": told.gauges})


def named(system: str) -> str:
    """Check the name of a capture system and return it; ConfigError for an unknown one."""
    if system not in systems():
        raise ConfigError(
            f"{system!r} is not a known capture system", where="SYSTEM", allowed=", ".join(systems())
        )
    return system


def stopped_after(duration_s: float | None) -> threading.Event:
    """Return an event that ends the relay, set after this time [s]; None = only on request."""
    stop = threading.Event()
    if duration_s is not None:
        if not 0.0 < duration_s < threading.TIMEOUT_MAX:
            raise ConfigError(f"{duration_s}", where="--duration", allowed="a duration of more than 0 s")
        timer = threading.Timer(duration_s, stop.set)
        timer.daemon = True
        timer.start()
    return stop


def list_found(system: str | None, as_json: bool) -> None:
    """Print the servers that answer, of one system or of all; ConfigError if none does."""
    asked = [systems()[named(system)]] if system else list(systems().values())
    found: dict[str, list] = {}

    def ask(scheme: str, finder: Callable[[float], list]) -> None:
        try:
            found[scheme] = finder(FIND_S)
        except (OSError, ValueError) as fault:  # of one system; the others may answer
            tell(f"{scheme}: {fault}")

    threads = [threading.Thread(target=ask, args=(s.scheme, s.find), daemon=True) for s in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(FIND_S + 3.0)
    servers = [server for scheme in sorted(found) for server in found[scheme]]
    if as_json:
        click.echo(json_text([server._asdict() for server in servers]))
    else:
        for server in servers:
            tell(f"{server.address}  {server.words}", err=False)
    if not servers:
        raise ConfigError(
            f"no capture system answered: {', '.join(s.scheme for s in asked)}", where="--find",
            remedy="check that the system sends data, that its firewall admits this machine, and that "
                "both are on the same network; or give the address of the system",
        )  # fmt: skip


def markers_lacking(lab: str) -> Callable[[Sequence[str]], list[str]]:
    """Return a function of the marker labels of a stream; it returns notes on the markers that a laboratory's
    marker map needs and the stream lacks. lab : file or name of the map
    """
    from rtsim.files.markers.trial import name_some
    from rtsim.subjects.markers.labs import SIDES, cover, load_lab

    known = load_lab(lab)

    def lacking(names: Sequence[str]) -> list[str]:
        told = []
        for side in SIDES:
            covered = cover(known, side, names)
            if covered.missing:
                told.append(f"{known.name}, {side} side: the stream lacks {name_some(covered.missing)}.")
        return told

    return lacking
