"""`rtsim record`: stores every message of a stream in an MCAP file."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.options import check_recording
from rtsim.cli.terminal.security import connect_options, connect_security
from rtsim.cli.terminal.types import Address
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import count_of
from rtsim.live.processes.signals import Interrupted, exit_code, noting_requests
from streams.errors import StreamError

if TYPE_CHECKING:
    from streams.recording.recorder import RecordingSummary


@click.command("record")
@click.argument("address", type=Address())
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--duration", "duration_s", type=float, help="Stop after this many seconds.")
@connect_options
def command(
    address: str, path: Path, duration_s: float | None, client_key: str | None, server_key: str | None
) -> None:
    """Record the stream at ADDRESS (markers or results) to PATH (.mcap), until it ends or Ctrl-C."""
    from streams.recording.recorder import record

    check_recording(path, "PATH")
    stop = threading.Event()
    if duration_s is not None:
        if not 0.0 < duration_s < threading.TIMEOUT_MAX:
            raise ConfigError(f"{duration_s}", where="--duration", allowed="a duration of more than 0 s")
        timer = threading.Timer(duration_s, stop.set)
        timer.daemon = True  # the stream may end first
        timer.start()

    def end(number: int) -> None:
        if stop.is_set():  # asked again, while the disk or a key file keeps it waiting
            raise Interrupted
        stop.set()  # between two messages, so that none is cut

    with noting_requests(end):
        security = connect_security(client_key, server_key)
        done = record(address, path, stop, security, say=tell)
    tell(last_line(path, done))
    code = exit_code()
    if done.fault:
        raise StreamError(done.fault)
    if code is not None:
        raise SystemExit(code)
    if done.n_message == 0:
        raise ConfigError(
            "no message was received, so no file was kept", where=str(path), remedy=done.trouble
        )


def last_line(path: Path, done: RecordingSummary) -> str:
    """Return a line on how many messages the recording contains, and how many were refused or lost."""
    words = f"{path}: {done.n_message} messages, {done.n_refused} refused"
    lost = f", {count_of(done.n_lost, 'frame')} lost before they were received" if done.n_lost else ""
    return words + lost
