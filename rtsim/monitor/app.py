"""The monitor window on a result stream: `rtsim monitor ADDRESS`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rtsim.errors import ConfigError
from rtsim.files.output import check_folder
from rtsim.live.processes.signals import exit_code
from rtsim.monitor.feed import Feed
from rtsim.monitor.qt_library import choose_platform, require_qt
from streams.errors import StreamError
from streams.receiving.subscriber import Subscriber

if TYPE_CHECKING:
    from streams.access.security import Security

BACKLOG = 512  # frames that may wait for the window: half a second at 1 kHz
QUEUE = 32  # messages that may wait before they are looked at; the rest waits at the sender
TOPICS = ("result", "telemetry")
SCREENSHOT_SECONDS = 5.0


def run(
    address: str,
    security: Security | None = None,
    screenshot: str | Path | None = None,
    duration_s: float | None = None,
    control: str | None = None,
    as_json: bool = False,
) -> int:
    """Show the results of `address` until the window is closed; return the exit code.

    Parameters
    ----------
    address : endpoint of the results, e.g. "tcp://127.0.0.1:5561"
    security : keys, for an endpoint that requires them
    screenshot : PNG file to save when the duration is over
    duration_s : close after this time [s]; with a screenshot, 5 s unless given
    control : address for commands to the estimator, which enables buttons to switch its solution method
    as_json : whether to print at the end a JSON object with counts and times of drawing

    Raises
    ------
    ConfigError : no Qt, no display, an invalid address or duration, or a missing folder for the PNG
    """
    if duration_s is not None and not 0.0 < duration_s < float("inf"):
        raise ConfigError(f"duration {duration_s!r} s", where="--duration", allowed="a time above 0 s")
    if screenshot is not None:
        duration_s = duration_s or SCREENSHOT_SECONDS
        check_picture(Path(screenshot))
    require_qt()
    choose_platform(off_screen_will_do=screenshot is not None)
    from rtsim.monitor.opening import open_window  # needs Qt

    try:
        subscriber = Subscriber(address, TOPICS, backlog=BACKLOG, security=security, queue=QUEUE)
    except StreamError as error:
        raise ConfigError(str(error), where="monitor") from error
    with subscriber:
        saved, account = open_window(Feed(subscriber, address), control, security, screenshot, duration_s)
    if as_json:
        print(json.dumps(account))
    if not saved:
        raise ConfigError(f"could not write {str(screenshot)!r}", where="--screenshot")
    return exit_code() or 0


def check_picture(path: Path) -> None:
    """Raise ConfigError if a PNG file cannot be saved at a path; called before a run, not only at its end."""
    if path.suffix.lower() != ".png":
        raise ConfigError(
            f"{str(path)!r} is not a PNG file", where="--screenshot", allowed="a name ending in .png"
        )
    check_folder(path, "--screenshot")
