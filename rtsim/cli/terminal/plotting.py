"""The options of a figure, the same for every command that draws one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from rtsim.cli.terminal.lines import tell
from rtsim.errors import ConfigError

if TYPE_CHECKING:
    from rtsim.files.recording import Results
    from rtsim.files.tables.panels import FigureContent
    from rtsim.monitor.figures.paper import Paper

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
    from rtsim.monitor.figures.paper import paper_of

    return paper_of(plot, size, dpi, option)


def draw_results(paper: Paper, results: Results, name: str) -> None:
    """The figure of the results of a source, and what it leaves out."""
    from rtsim.files.tables.panels import panels_of_results
    from rtsim.monitor.figures.stack import save_panels
    from rtsim.report.tally import in_full

    meta = results.session.meta
    drawn = panels_of_results(results)
    title = f"{name}: {in_full(meta.get('method'), meta.get('chosen', ()))}{legs_of(results, drawn)}"
    title += "; bands: one standard deviation"
    if any(panel.flagged is not None and panel.flagged.any() for panel in drawn.panels):
        title += "; shaded: flagged frames"
    if any(panel.marks for panel in drawn.panels):
        title += "; upright lines: foot strikes, dotted: foot off"
    save_panels(paper, title, drawn.panels, drawn.left_out)
    for note in drawn.left_out:
        tell(f"{paper.path}: {note}")
    click.echo(f"wrote {paper.path}", err=True)


def legs_of(results: Results, drawn: FigureContent) -> str:
    """Whose curves a figure has, in words; "" where they are of no leg."""
    from rtsim.files.tables.legs import SIDES

    if (side := results.session.meta.get("side")) in SIDES:
        return f", {side} leg"
    sides = {side for panel in drawn.panels for side in (panel.sides or {}).values()}
    if len(sides) < 2:
        return ""
    return ", both legs" if side else ", both sides"
