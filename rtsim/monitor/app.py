"""Opens the monitor window on a result stream: `rtsim monitor ADDRESS`."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rtsim.errors import ConfigError
from rtsim.files.output import check_folder
from rtsim.live.processes.signals import exit_code
from rtsim.monitor.feed import Feed
from streams.errors import StreamError
from streams.receiving.subscriber import Subscriber

if TYPE_CHECKING:
    from streams.access.security import Security

BACKLOG = 512  # frames that may wait for the window: half a second at 1 kHz
QUEUE = 32  # messages that may wait before they are looked at; the rest waits at the sender
TOPICS = ("result", "telemetry")
SCREENSHOT_SECONDS = 5.0
INSTALL = "pip install PySide6-Essentials pyqtgraph, or in a checkout of rtsim: pip install -e '.[monitor]'"
"""What works without a package index that knows rtsim."""


def run(
    address: str,
    security: Security | None = None,
    screenshot: str | Path | None = None,
    duration_s: float | None = None,
    control: str | None = None,
    as_json: bool = False,
) -> int:
    """Show the results of `address` until the window is closed; returns the exit code.

    Parameters
    ----------
    address : endpoint of the results, e.g. "tcp://127.0.0.1:5561"
    security : keys, for an endpoint that demands them
    screenshot : PNG to save when the duration is over
    duration_s : close after this time [s]; with a screenshot, 5 s unless given
    control : control endpoint of the estimator; gives buttons to switch the method
    as_json : print what was drawn and what it took at the end, as one JSON object

    Raises
    ------
    ConfigError : no Qt, no display, a bad address or duration, or no such folder for the PNG
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


def require_qt() -> None:
    """Raise a ConfigError with the remedy when the window's libraries cannot be loaded."""
    os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")
    for name in ("PySide6.QtWidgets", "pyqtgraph"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            missing = isinstance(error, ModuleNotFoundError)
            raise ConfigError(
                f"the monitor needs {name.partition('.')[0]}, which "
                + ("is not installed" if missing else f"cannot be loaded ({error})"),
                where="monitor",
                remedy=f"install it with: {INSTALL}"
                if missing
                else "install the named system library with the package manager of this system",
            ) from error


def choose_platform(off_screen_will_do: bool) -> None:
    """Without a display, draw off screen for a screenshot, and refuse to open a window.

    Qt itself would end the process.
    """
    named = os.environ.get("QT_QPA_PLATFORM")
    display = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if named or display or not sys.platform.startswith("linux"):
        if os.environ.get("DISPLAY") and not named and not os.environ.get("WAYLAND_DISPLAY"):
            check_x11()
        return
    if not off_screen_will_do:
        raise ConfigError(
            "this session has no display to open a window on",
            where="monitor",
            remedy="run it on a desktop, or save a picture with --screenshot",
        )
    os.environ["QT_QPA_PLATFORM"] = "offscreen"


def check_x11() -> None:
    """Raise a ConfigError that names the library that windows under X11 lack; Qt would end the process."""
    plugin = Path(importlib.import_module("PySide6").__path__[0], "Qt", "plugins", "platforms", "libqxcb.so")
    if not plugin.exists():  # Qt was not installed as a wheel
        return
    try:
        ctypes.CDLL(str(plugin))
    except OSError as error:
        raise ConfigError(
            f"Qt cannot open windows under X11: {error}",
            where="monitor",
            remedy="install the named system library, or all that the README names, or set QT_QPA_PLATFORM",
        ) from error


def check_picture(path: Path) -> None:
    """Raise a ConfigError when a PNG cannot be saved there, before the run rather than after it."""
    if path.suffix.lower() != ".png":
        raise ConfigError(
            f"{str(path)!r} is not a PNG file", where="--screenshot", allowed="a name ending in .png"
        )
    check_folder(path, "--screenshot")
