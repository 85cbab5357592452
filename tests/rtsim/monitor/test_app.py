"""Opening the monitor: what can go wrong is said before a window opens."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rtsim.errors import ConfigError
from rtsim.monitor import app, qt_library

ADDRESS = "tcp://127.0.0.1:9"


@pytest.fixture
def qt() -> None:
    pytest.importorskip("PySide6.QtWidgets")
    pytest.importorskip("pyqtgraph")


@pytest.mark.usefixtures("qt")
def test_screenshot_of_a_stream(sender: Any, session_of: Callable[..., Any], tmp_path: Path) -> None:
    """Protects unattended pictures: the window runs for its time, saves itself and ends with 0."""
    from PySide6.QtGui import QImage

    sender.announce(session_of())
    path = tmp_path / "monitor.png"
    assert app.run(sender.address, screenshot=path, duration_s=0.5) == 0
    assert QImage(str(path)).width() == 1280


@pytest.mark.usefixtures("qt")
def test_window_closes_after_its_time() -> None:
    """Protects scripted runs without a picture: the window closes by itself."""
    assert app.run(ADDRESS, duration_s=0.2, control="tcp://127.0.0.1:9") == 0


@pytest.mark.usefixtures("qt")
def test_bad_address_is_a_config_error() -> None:
    """Protects the user from a traceback for a mistyped address."""
    with pytest.raises(ConfigError, match=r"monitor: .*nonsense"):
        app.run("nonsense", duration_s=0.1)


@pytest.mark.parametrize(
    ("name", "message"),
    [("picture.jpg", r"ending in \.png"), ("no such folder/picture.png", "make it first")],
)
def test_bad_picture_is_refused_before_the_run(tmp_path: Path, name: str, message: str) -> None:
    """Protects a long run from failing at its very end."""
    with pytest.raises(ConfigError, match=message):
        app.run(ADDRESS, screenshot=tmp_path / name)


@pytest.mark.parametrize("duration", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_duration_is_refused(duration: float) -> None:
    """Protects against a window that closes at once, or a timer that overflows."""
    with pytest.raises(ConfigError, match="above 0 s"):
        app.run(ADDRESS, duration_s=duration)


@pytest.mark.parametrize("missing", ["PySide6.QtWidgets", "pyqtgraph"])
def test_missing_window_library_names_the_remedy(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """Protects installations without the monitor's extra: the command to install it is named."""
    if missing == "pyqtgraph":
        pytest.importorskip("PySide6.QtWidgets")
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ConfigError, match=r"checkout of rtsim: pip install -e '\.\[monitor\]'"):
        app.run(ADDRESS)


def test_unloadable_library_is_told_from_a_missing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the remedy: a missing system library is not cured by pip."""

    def fail(name: str) -> None:
        raise ImportError("libEGL.so.1: cannot open shared object file")

    monkeypatch.setattr(qt_library.importlib, "import_module", fail)
    with pytest.raises(ConfigError, match=r"libEGL\.so\.1.*package manager"):
        app.run(ADDRESS)


def test_session_without_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from Qt ending the process: a picture is drawn off screen, a window is refused in words."""
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(ConfigError, match="no display"):
        qt_library.choose_platform(off_screen_will_do=False)
    qt_library.choose_platform(off_screen_will_do=True)
    assert qt_library.os.environ["QT_QPA_PLATFORM"] == "offscreen"


@pytest.mark.usefixtures("qt")
def test_display_is_left_to_qt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects real desktops: with a display nothing is decided here."""
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(qt_library.ctypes, "CDLL", lambda path: None)
    qt_library.choose_platform(off_screen_will_do=False)
    assert "QT_QPA_PLATFORM" not in qt_library.os.environ


@pytest.mark.usefixtures("qt")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="X11")
def test_missing_x11_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects fresh desktops: without a library of X11 Qt ends the process; the library is named instead."""
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":0")

    def fail(path: str) -> None:
        raise OSError("libxcb-cursor.so.0: cannot open shared object file")

    monkeypatch.setattr(qt_library.ctypes, "CDLL", fail)
    with pytest.raises(ConfigError, match=r"libxcb-cursor\.so\.0.*README"):
        qt_library.choose_platform(off_screen_will_do=False)
