"""Settings of the monitor window that are stored between starts, in a file of the user."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from rtsim.config.reading import read_bounded
from rtsim.errors import ConfigError
from rtsim.files.output import write_text
from rtsim.monitor.choice.panel_choice import PICTURES, PanelChoice
from rtsim.monitor.choice.tasks import ALL, TASKS

N_BYTE_MOST = 1 << 20
N_KEY_MOST = 4096
"""Largest number of panels, and of curves, in the settings file; a file with more is rejected."""
SIZE = (1280, 800)
Key = Annotated[str, Meta(max_length=300)]
Keys = Annotated[list[Key], Meta(max_length=N_KEY_MOST)]
Pixels = Annotated[int, Meta(ge=200, le=20_000)]


class WindowSettings(Struct, forbid_unknown_fields=True):
    """The user's choices when the monitor window was last closed.

    task : the prepared selection of panels
    panels : key of a panel -> whether it is shown, for those changed by hand
    curves, pictures : keys of hidden curves and pictures
    duration_s : length of the time axes [s]
    strides : whether curves are drawn over the stride instead of time
    size : size of the window [px]
    feedback_* : biofeedback: key of its curve, target band [display unit], whether sound is on
    """

    task: str = ALL
    panels: Annotated[dict[Key, bool], Meta(max_length=N_KEY_MOST)] = {}
    curves: Keys = []
    pictures: Keys = []
    duration_s: int = 5
    dark: bool = False
    strides: bool = False
    size: tuple[Pixels, Pixels] = SIZE
    feedback_curve: Key = ""
    feedback_band: tuple[float, float] | None = None
    feedback_sound: bool = False

    def choice(self) -> PanelChoice:
        """Return the panels and curves to show."""
        return PanelChoice(self.task, dict(self.panels), set(self.curves), set(self.pictures))

    def take_choice(self, choice: PanelChoice) -> None:
        """Store which panels and curves are shown, but at most N_KEY_MOST of each, as `read_settings` rejects
        a file with more.
        """
        self.task, self.panels = choice.task, dict(list(choice.panels.items())[-N_KEY_MOST:])
        self.curves = sorted(choice.curves)[:N_KEY_MOST]
        self.pictures = sorted(choice.pictures)


def read_settings(path: Path | None) -> tuple[WindowSettings, str]:
    """Read the settings from a file; return them, and a message if the file is unusable. Without a file the
    defaults are returned.
    """
    if path is None or not path.exists():
        return WindowSettings(), ""
    try:
        settings = msgspec.json.decode(
            read_bounded(path, N_BYTE_MOST, "remove the file"), type=WindowSettings
        )
        if settings.task not in TASKS or not set(settings.pictures) <= set(PICTURES):
            raise msgspec.ValidationError(f"the task {settings.task!r} or a picture does not exist")
    except (ConfigError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        words = str(fault).replace("\n", " ")
        return (
            WindowSettings(),
            f"The settings in {path} are not used, because they cannot be read: {words}. Remove the file.",
        )
    return settings, ""


def write_settings(path: Path | None, settings: WindowSettings) -> str:
    """Write the settings of the window to a file, completely or not at all; return a message if that was not
    possible, else "". Without a path nothing is stored.
    """
    if path is None:
        return ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, msgspec.json.format(msgspec.json.encode(settings)).decode() + "\n")
    except (ConfigError, OSError) as fault:
        return f"The settings of the window could not be saved: {fault}."
    return ""
