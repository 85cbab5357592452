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


CURVES_OPTION = click.option(
    "--curves", metavar="NAMES", default="",
    callback=lambda context, _option, names: named_curves(context, names),
    help="Names of the curves to draw, separated by commas: all, a result field (joint_moments), a kind of "
    "quantity (angles, moments, powers), a joint (knee), a quantity (knee_flexion), or a quantity of one "
    "side (knee_flexion_r).",
)  # fmt: skip


def plot_options(command: Command, more: str = "") -> Command:
    """Add --plot, --plot-size and --plot-dpi; more : further help text on the command's figures."""
    told = " ".join((
        "Draw a figure into a .png, .svg or .pdf file; further pages go into files named with -2, -3.", more
    )).rstrip()  # fmt: skip
    options = (
        click.option("--plot", type=click.Path(path_type=Path), help=told),
        click.option(
            "--plot-size", metavar="WxH", help="Size of a page [mm], as 160x100 (default: 271x186)."
        ),
        click.option(
            "--plot-dpi", type=int, metavar="N", help="Pixels per inch of a .png figure (default: 150)."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def named_curves(context: click.Context, names: str) -> str:
    """Return the names of curves; ConfigError if the option is given without any."""
    default = context.get_parameter_source("curves") is click.core.ParameterSource.DEFAULT
    if not default and not names.strip(" ,"):
        raise ConfigError("no curve is named", where="--curves", remedy="name a curve, or leave --curves out")
    return names


def check_curves(chosen: str, paper: Paper | None) -> None:
    """Raise ConfigError if curves are chosen without a figure."""
    if chosen and paper is None:
        raise ConfigError("the option applies only to figures", where="--curves", remedy="add --plot FILE")


def paper_for(plot: Path | None, size: str | None, dpi: int | None, option: str = "--plot") -> Paper | None:
    """Return the output file of the figure, None without --plot; problems are reported at once.

    option : option that names the file
    """
    if plot is None:
        for option, value in {"--plot-size": size, "--plot-dpi": dpi}.items():
            if value is not None:
                raise ConfigError(
                    "the option applies only to figures", where=option, remedy="add --plot FILE"
                )
        return None
    from rtsim.monitor.figures.paper import paper_of

    return paper_of(plot, size, dpi, option)


def draw_results(paper: Paper, results: Results, name: str, chosen: str = "") -> None:
    """Draw the results of a source as a figure; notes say what it leaves out. chosen : names given by
    --curves
    """
    from rtsim.files.tables.panels import panels_of_results
    from rtsim.report.tally import in_full

    meta = results.session.meta
    drawn = panels_of_results(results, chosen)
    if not drawn.panels:
        raise ConfigError(
            "no curve has a value", where=paper.option, remedy="choose other curves by --curves"
        )
    title = f"{name}: {in_full(meta.get('method'), meta.get('chosen', ()))}{legs_of(results, drawn)}"
    draw_panels(paper, title, drawn)
    for note in drawn.left_out:
        tell(f"{paper.path}: {note}")


def draw_panels(paper: Paper, title: str, drawn: FigureContent) -> None:
    """Draw panels and notes as a figure, and report each page."""
    from rtsim.monitor.figures.paper import page_path
    from rtsim.monitor.figures.stack import save_panels

    written = save_panels(paper, title, drawn.panels, drawn.left_out)
    for path in written:
        click.echo(f"wrote {path}", err=True)
    if len(written) and (after := page_path(paper.path, len(written))).exists():
        tell(f"{after} is not a page of this figure: it remains from an earlier figure")


def legs_of(results: Results, drawn: FigureContent) -> str:
    """Return as text which leg or legs the curves of a figure belong to; "" if they belong to no leg."""
    from rtsim.files.tables.legs import SIDES

    if (side := results.session.meta.get("side")) in SIDES:
        return f", {side} leg"
    sides = {side for panel in drawn.panels for side in (panel.sides or {}).values()}
    if len(sides) < 2:
        return ""
    return ", both legs" if side == "both" else ", both sides"
