"""Checks whether the libraries of Qt load and a display exists, with an error message before Qt would end
the process.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rtsim.errors import ConfigError

WINDOW, PAGES = ("PySide6.QtWidgets", "pyqtgraph"), ("PySide6.QtWidgets", "PySide6.QtSvg")
"""Modules that windows and figures need, and modules that pages in SVG are drawn with."""
INSTALL = "pip install PySide6-Essentials pyqtgraph, or in a checkout of rtsim: pip install -e '.[monitor]'"
"""Command that installs them, also without a package index that has rtsim."""


def require_qt(names: Sequence[str] = WINDOW) -> None:
    """Raise ConfigError with a remedy if libraries of the monitor cannot be loaded.

    names : modules that are needed: WINDOW, or only PAGES for pages in SVG, which loads in half the time
    """
    os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")
    for name in names:
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
    """Without a display, select off-screen drawing for a screenshot, or raise ConfigError for a window.

    Without this check, Qt would end the process.

    off_screen_will_do : whether off-screen drawing suffices, as for a screenshot
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
    """Raise ConfigError with the name of the library if one that windows under X11 need is missing; without
    this check, Qt would end the process.
    """
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
