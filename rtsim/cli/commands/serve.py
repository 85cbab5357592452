"""`rtsim serve --page`: a read-only page on a result stream for tablets and browsers."""

from __future__ import annotations

import threading
from pathlib import Path

import click

from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.page_options import page_option
from rtsim.cli.terminal.ports import offset_option, placed
from rtsim.cli.terminal.security import connect_options, connect_security
from rtsim.cli.terminal.states import say
from rtsim.cli.terminal.types import Address
from rtsim.errors import ConfigError
from rtsim.live.processes.signals import exit_code, noting_requests
from streams.sockets import RESULTS_ADDRESS

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("serve")
@click.argument("address", type=Address(), required=False)
@offset_option(auto=False)
@page_option("Address at which the page for browsers is served")
@click.option(
    "--certificate", type=FILE, help="Certificate for TLS (PEM), which is needed if other machines connect."
)
@click.option("--certificate-key", "key", type=FILE, help="Private key of the certificate (PEM).")
@click.option(
    "--token-file",
    type=FILE,
    help="File with the token that viewers have to enter; without this file a token is generated if TLS "
    "is used.",
)
@click.option("--states", is_flag=True, hidden=True, help="Print the state as JSON lines (for `live`).")
@click.option("--duration", "duration_s", type=float, help="Stop after this many seconds.")
@connect_options
def command(
    address: str | None,
    port_offset: int,
    page: str | None,
    certificate: Path | None,
    key: Path | None,
    token_file: Path | None,
    states: bool,
    duration_s: float | None,
    client_key: str | None,
    server_key: str | None,
) -> None:
    """Serve a page that shows the results at ADDRESS (tcp://127.0.0.1:5561 unless given): stick figure,
    curves, status and gait events. The page is read-only. Other interfaces than 127.0.0.1 need TLS, and
    viewers need the token.
    """
    from rtsim.bridges.page import PageOptions, serve_page
    from rtsim.live.processes.thread_priority import below_others

    if page is None:
        raise ConfigError("nothing is served", where="serve", allowed="--page", remedy="add it")
    address = placed({"ADDRESS": address}, {"ADDRESS": RESULTS_ADDRESS}, port_offset)["ADDRESS"]
    stop = threading.Event()
    if duration_s is not None:
        if not 0.0 < duration_s < threading.TIMEOUT_MAX:
            raise ConfigError(f"{duration_s}", where="--duration", allowed="a duration of more than 0 s")
        timer = threading.Timer(duration_s, stop.set)
        timer.daemon = True
        timer.start()

    def told(url: str) -> None:
        if states:
            say({"state": "ready", "page": url})
        else:
            tell(f"the page can be opened at {url}")

    with below_others(), noting_requests(lambda _: stop.set()):
        security = connect_security(client_key, server_key)
        options = PageOptions(page, token_file, certificate, key)
        serve_page(address, options, security, stop, told, tell)
    code = exit_code()
    if code is not None:
        raise SystemExit(code)
