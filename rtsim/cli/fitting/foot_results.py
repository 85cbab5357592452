"""Results of `rtsim fit foot`, the fit of a foot contact model: comparison with further steps, the model,
footprints and figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtsim.cli.terminal.lines import tell

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rtsim.files.pressure.pressure_trial import PressureTrial
    from rtsim.methods.foot.foot_misfit import Weights
    from rtsim.methods.foot.foot_trial import FootTrial
    from rtsim.monitor.figures.paper import Paper
    from rtsim.report.foot_fit import FittedStep


def held_steps(
    steps: list[FittedStep], given: Sequence[tuple[FootTrial, bool]], weights: Weights,
    parameters: NDArray[np.float64],
) -> tuple[list[FittedStep], list[str]]:  # fmt: skip
    """Compare further footsteps with a contact model that was fitted to other steps. The parameters of the
    model are fixed, and only small corrections of the measured motion of the foot are fitted.

    Returns the steps to which the model was fitted followed by the further steps, and the names of those
    further steps that were left out because of Ctrl-C. At Ctrl-C the current step keeps its best result; if
    there is no result at all, KeyboardInterrupt is raised.

    steps : the steps to which the model was fitted
    given : the further steps, each with whether a correction of the height of its heel is fitted, too
    parameters : (30,) parameters of the contact model
    """
    from rtsim.methods.foot.foot_fit import validate_foot
    from rtsim.report.foot_fit import steps_of

    found, names = list(steps), [trial.short for trial, _ in given]
    for k, (trial, lifted) in enumerate(given):
        try:
            held = validate_foot([trial], weights, parameters, tell, lifted)
        except KeyboardInterrupt:
            if not found:
                raise
            return found, names[k:]
        found += steps_of([trial], held, False)
        if not held.complete:
            return found, names[k + 1 :]
    return found, []


def footprint_told(footprint: PressureTrial, step: FittedStep, parameters: NDArray[np.float64]) -> str:
    """Return a line on the similarity of a recorded footprint and the simulated peak pressure of a step."""
    from rtsim.methods.foot.footprint import likeness
    from rtsim.report.foot_drawn import peaks_of

    alike = likeness(*peaks_of(step, parameters), footprint)
    return (
        f"{footprint.source}: correlation {alike:.2f} between the shape of its peak pressure and that of "
        f"{step.name}"
    )


def source_of(fitted: list[FootTrial], weights: Weights) -> str:
    """Return the text on the origin of a fitted model's contact parameters: method, footsteps, and what was
    measured.
    """
    steps = "; ".join(trial.short for trial in fitted)
    kind = "with friction" if weights.rubs else "without friction"
    felt = "with pressure" if weights.pressure and fitted[0].pressure is not None else "without pressure"
    return (
        f"contact by rtsim fit foot ({kind}, {felt}; Brown 2017, MASc thesis, section 5.3.2) from the "
        f"footsteps {steps}. Masses, inertias, toe joint and friction as in the model foot of rtsim"
    )


def write_model(out: Path, spec: object, steps: list[FittedStep], left: Sequence[str]) -> None:
    """Write the model of a foot with fitted contact parameters to a file. A comment in it states the errors
    of each step, and which steps an interruption of the fit left out.

    steps : steps that were fitted or compared
    left : names of steps that were not reached
    """
    from rtsim.files.model_toml import model_text
    from rtsim.files.output import write_text

    lines = []
    for step in steps:
        normal, cop = 100.0 * step.errors.normal, 100.0 * step.errors.cop
        lines.append(
            f"{step.name}, {step.kind}: RMS error of the normal force {normal:.1f} % of body weight, of the "
            f"centre of pressure {cop:.1f} % of 20 cm"
        )
    lines += [f"{name} was left out, because the fit was interrupted" for name in left]
    write_text(out, model_text(spec, "\n".join(lines)))  # type: ignore[arg-type]
    click.echo(f"wrote {out}", err=True)


def check_figures(paper: Paper | None, n_step: int, force: bool) -> None:
    """Raise ConfigError, before the fit begins, if the figure of a step would replace an existing file. The
    figure of the first of n_step steps is not checked, as the user has named its file; the names of the other
    files are derived from it and may happen to exist.

    paper : output file of the first step's figure; None = no figures are drawn
    force : whether existing files may be replaced
    """
    from rtsim.files.output import check_free

    if paper is None:
        return
    for k in range(1, n_step):
        check_free(_figure_of(paper.path, k), overwrite=force)


def _figure_of(first: Path, k: int) -> Path:
    return first.with_stem(f"{first.stem}-{k + 1}") if k else first


def draw_steps(paper: Paper, steps: Sequence[FittedStep], parameters: NDArray[np.float64]) -> None:
    """Draw a figure of each step with the fitted foot contact model: the first into the file of the option,
    the others into files with -2, -3 appended.

    parameters : (30,) parameters of the contact model
    """
    from rtsim.monitor.figures.foot_figure import FootFigureContent, save_foot
    from rtsim.report.foot_drawn import drawn

    for k, step in enumerate(steps):
        path = _figure_of(paper.path, k)
        save_foot(paper._replace(path=path), FootFigureContent(**drawn(step, parameters)))
        click.echo(f"wrote {path}", err=True)
