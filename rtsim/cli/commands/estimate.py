"""`rtsim estimate`: estimates joints from a stream of markers, as a service process that publishes the
results.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click
import msgspec

from rtsim.cli.terminal.options import (
    ANYWAY_OPTION,
    REQUEST_OPTION,
    check_bound,
    check_of_use,
    make_run,
    run_options,
)
from rtsim.cli.terminal.security import bind_options, bind_security, connect_options, connect_security
from rtsim.cli.terminal.states import request_of_parent, say
from rtsim.cli.terminal.types import Address
from rtsim.config.paths import find_config
from rtsim.config.runs.choices import load_run
from rtsim.config.runs.run_schema import LONGEST_S, RunConfig
from rtsim.errors import ConfigError
from rtsim.live.checks import check_run
from rtsim.live.forces import check_tare
from rtsim.live.processes.requests import EstimatorRequest, estimator_request
from streams.access.security import Security
from streams.addresses import is_stream
from streams.capture.system import is_capture


@click.command("estimate")
@click.option(
    "--markers",
    type=Address(),
    metavar="ADDRESS",
    help="Marker stream (default: --source, if --source is a stream).",
)
@click.option(
    "--wait",
    "wait_s",
    type=float,
    default=0.0,
    help="Time to wait for subscribers before the first frame [s].",
)
@click.option(
    "--subscribers",
    type=click.IntRange(0),
    default=1,
    help="Number of subscribers for which --wait waits (default: 1).",
)
@REQUEST_OPTION
@run_options
@bind_options
@connect_options
@click.option(
    "--forces-server-key",
    metavar="FILE",
    help="Public key of the server that sends the forces (default: --server-key).",
)
@ANYWAY_OPTION
def command(
    markers: str | None,
    wait_s: float,
    subscribers: int,
    key: str | None,
    clients: str | None,
    client_key: str | None,
    server_key: str | None,
    forces_server_key: str | None,
    anyway: bool,
    request: bool,
    **options: Any,
) -> None:
    """Estimate joints from a stream of markers, and publish the results.

    States of the process are printed on standard output, one JSON line each.
    """
    bind = bind_security(key, clients)
    connect, apart = keys_of_streams(client_key, server_key, forces_server_key)
    if request:
        importlib.import_module("rtsim.live.processes.serve")  # while the parent looks at the run
        asked = estimator_request(request_of_parent())
    else:
        run, address = run_and_markers(markers, options)
        if not 0.0 <= wait_s <= LONGEST_S:
            raise ConfigError(f"{wait_s}", where="--wait", allowed=f"a wait of 0 to {LONGEST_S:g} s")
        asked = EstimatorRequest(
            run=run, markers=address, wait_s=wait_s, n_subscriber=subscribers, anyway=anyway
        )
    if apart is not None:
        own = bool(asked.run.forces) and asked.run.forces != asked.markers
        check_of_use("--forces-server-key", own, "forces at their own address (--forces tcp://HOST:PORT)")
    check_run(asked.run)
    check_bound(asked.run, bind)

    from rtsim.live.processes.serve import serve

    serve(asked, say, bind, connect, apart)


def keys_of_streams(
    client_key: str | None, server_key: str | None, forces_server_key: str | None
) -> tuple[Security | None, Security | None]:
    """Return the keys for the stream of markers (None = it has no keys) and the keys for the stream of forces
    (None = the same as for the markers).
    """
    if forces_server_key is None:
        return connect_security(client_key, server_key), None
    apart = connect_security(client_key, forces_server_key, "--forces-server-key")
    return connect_security(client_key if server_key else None, server_key), apart


def source_of_config(options: Mapping[str, Any]) -> str:
    """Return the source of markers that the run config of the command line names; "" without a config."""
    config = options["config"]
    return load_run(find_config(config, "runs"), options["choices"]).source if config else ""


def run_and_markers(markers: str | None, options: dict[str, Any]) -> tuple[RunConfig, str]:
    """Return the run that the options of the command line describe, and the address of its marker stream;
    ConfigError if there is none.

    markers : address given by --markers, None = that of the run's config
    """
    if markers and not options["source"] and not is_stream(source_of_config(options)):
        options["source"] = markers  # not a walker or a recording, whose person would be taken unchecked
    run = make_run(**options)
    address = markers or (run.source if is_stream(run.source) else "")
    if not address:
        raise ConfigError(
            "the address of a marker stream is missing", where="--markers", allowed="tcp://HOST:PORT"
        )
    if is_capture(address) or is_capture(run.forces):
        raise ConfigError(
            f"{address} is a capture system, not a stream", where="--markers", allowed="tcp://HOST:PORT",
            remedy="relay the system with `rtsim connect` and give the address of the relay, or use "
                "`rtsim live`",
        )  # fmt: skip
    if run.forces and not is_stream(run.forces):
        raise ConfigError(
            f"{run.forces!r} is not the address of a stream", where="--forces", allowed="tcp://HOST:PORT",
            remedy="play the forces with `rtsim replay SOURCE --forces FILE`, and give the address at "
                "which they are played",
        )  # fmt: skip
    if options["tare"] or is_stream(run.source):
        check_tare(msgspec.structs.replace(run, source=address))
    return run, address
