"""The options of a figure, the same for every command that draws one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from rtsim.errors import ConfigError

if TYPE_CHECKING:
    from rtsim.monitor.paper import Paper

Command = TypeVar("Command", bound=Callable)


def plot_options(command: Command, more: str = "") -> Command:
    """Add --plot, --plot-size and --plot-dpi; more : sentences of the command on its figures."""
    told = " ".join(("Draw a figure into a .png, .svg or .pdf file.", more)).rstrip()
    options = (
        click.option("--plot", type=click.Path(path_type=Path), help=told),
        click.option("--plot-size", metavar="WxH", help="Size of the figure [mm], as 160x100."),
        click.option(
            "--plot-dpi", type=int, metavar="N", help="Pixels per inch of a .png figure (default: 150)."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def paper_for(plot: Path | None, size: str | None, dpi: int | None, option: str = "--plot") -> Paper | None:
    """The paper of the options, None without --plot; what cannot be drawn there is told at once.

    option : that names the file
    """
    if plot is None:
        for option, value in {"--plot-size": size, "--plot-dpi": dpi}.items():
            if value is not None:
                raise ConfigError("it is for figures", where=option, remedy="add --plot FILE")
        return None
    from rtsim.monitor.paper import paper_of

    return paper_of(plot, size, dpi, option)
