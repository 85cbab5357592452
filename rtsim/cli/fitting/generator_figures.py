"""The figures of `rtsim fit torque-generators`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.plotting import draw_panels, paper_for
from rtsim.errors import ConfigError

if TYPE_CHECKING:
    from rtsim.methods.generators.torque_generator_fit import FittedGenerator
    from rtsim.monitor.figures.paper import Paper

MOST_DRAWN = 2


def figures_of(
    plot: Path | None,
    size: str | None,
    dpi: int | None,
    curves: Path | None,
    parameters: Path | None,
    muscles: tuple[str, ...],
) -> dict[str, Paper]:
    """Return for each option that names a figure its output file; ConfigError for --muscle without a figure,
    and for two figures in one file.

    plot, curves, parameters : files of the figures
    size, dpi : size and resolution of the figure of --plot
    muscles : names of the generators to draw
    """
    given = {"--plot": plot, "--curves": curves, "--parameters": parameters}
    papers = {
        "--plot": paper_for(plot, size, dpi), "--curves": paper_for(curves, None, None, "--curves"),
        "--parameters": paper_for(parameters, None, None, "--parameters"),
    }  # fmt: skip
    if muscles and not any(given.values()):
        raise ConfigError("the option applies only to figures", where="--muscle", remedy="add --plot FILE")
    named = {option: path for option, path in given.items() if path is not None}
    for option, path in named.items():
        first = next(other for other, one in named.items() if one == path)
        if first != option:
            raise ConfigError(
                f"{path} is already the file of {first}", where=option, remedy="name another file"
            )
    return {option: paper for option, paper in papers.items() if paper is not None}


def draw(
    figures: dict[str, Paper], fits: list[FittedGenerator], chosen: list[str], title: str
) -> list[FittedGenerator]:
    """Draw the requested figures of fitted torque generators; return those chosen generators that --plot
    cannot show, because their fit failed.

    figures : option of the command that requests a figure (--plot, --curves, --parameters) -> output file
    fits : results of the fits
    chosen : names of the generators to draw; [] = each figure has its own default, such as those that
        changed most
    title : name of the motion, for titles
    """
    missed = []
    if "--plot" in figures:
        missed = draw_fits(figures["--plot"], fits, chosen, title)
    if "--curves" in figures:
        draw_curves(figures["--curves"], fits, chosen)
    if "--parameters" in figures:
        draw_parameters(figures["--parameters"], fits, chosen)
    return missed


def draw_fits(
    paper: Paper, fits: list[FittedGenerator], chosen: list[str], title: str
) -> list[FittedGenerator]:
    """Draw torque over angle and over speed before and after the fit, as in figure 5 of Millard et al.
    (2019), for some torque generators; return the chosen ones that were not fitted.

    chosen : names of the generators; [] = those that changed most
    title : name of the motion
    """
    from rtsim.files.tables.panels import FigureContent
    from rtsim.methods.generators.torque_generator_figures import panels_of_fit

    able = [fit for fit in fits if not fit.fault]
    changed = sorted((fit for fit in able if fit.changed), key=lambda fit: -fit.objective)
    shown = [fit for fit in able if fit.placed.name in chosen] if chosen else changed[:MOST_DRAWN] or able[:1]
    missed = [fit for fit in fits if fit.fault and fit.placed.name in chosen]
    for fit in missed:
        tell(f"{fit.placed.name} is not drawn: it was not fitted, {fit.fault}")
    if shown:
        panels: list[Any] = [panel for fit in shown for panel in panels_of_fit(fit)]
        rest = [fit.placed.name.replace("_", " ") for fit in able if fit not in shown]
        notes = (
            [f"not drawn, because --muscle does not name these generators: {', '.join(rest)}"] if rest else []
        )
        left_out = [] if chosen else notes
        draw_panels(paper, f"torque generators fitted to {title}", FigureContent(panels, left_out))
        for note in left_out:
            tell(f"{paper.path}: {note}")
    return missed


def draw_curves(paper: Paper, fits: list[FittedGenerator], chosen: list[str]) -> None:
    """Draw the torque of generators over angle and speed, as in figure A.6 of Millard et al. (2019): for the
    joints of the chosen generators, or for all if `chosen` is empty.
    """
    from rtsim.files.tables.panels import FigureContent
    from rtsim.methods.generators.torque_generator_figures import panels_of_curves

    joints = {fit.placed.joint.coordinate for fit in fits if fit.placed.name in chosen}
    placed = [
        fit.placed._replace(fit=tuple(fit.x.tolist()))
        for fit in fits
        if not chosen or fit.placed.joint.coordinate in joints
    ]
    draw_panels(paper, "torque generators", FigureContent(panels_of_curves(placed), []))


def draw_parameters(paper: Paper, fits: list[FittedGenerator], chosen: list[str]) -> None:
    """Draw how the fitted parameters change the torque curves of the first chosen generator, or of the one
    that changed most.
    """
    from rtsim.files.tables.panels import FigureContent
    from rtsim.methods.generators.torque_generator_figures import panels_of_parameters

    one = next((fit for fit in fits if fit.placed.name in chosen), max(fits, key=lambda fit: fit.objective))
    title = f"parameters of {one.placed.name.replace('_', ' ')}"
    draw_panels(paper, title, FigureContent(panels_of_parameters(one.placed), []))
