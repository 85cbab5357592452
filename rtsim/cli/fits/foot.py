"""`rtsim fit foot`: identifies contact parameters of a foot from walking over force plates."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtsim.cli.fitting.foot_results import (
    check_figures,
    draw_steps,
    footprint_told,
    held_steps,
    source_of,
    write_model,
)
from rtsim.cli.terminal.lines import json_text, tell
from rtsim.cli.terminal.marker_options import PERSON_OPTION
from rtsim.cli.terminal.options import file_options
from rtsim.cli.terminal.plotting import paper_for, plot_options
from rtsim.errors import ConfigError
from rtsim.files.formats import PRESSURE, listed
from rtsim.files.output import check_free

if TYPE_CHECKING:
    from rtsim.files.pressure.pressure_trial import PressureTrial
    from rtsim.methods.foot.foot_trial import FootTrial
    from rtsim.methods.foot.walked_steps import WalkedSteps
    from rtsim.report.foot_fit import FittedStep

FILE = click.Path(path_type=Path)
LONGEST_DELAY = 3600.0
"""Longest delay of the pressure's clock behind that of the trial [s]."""
OF_PRESSURE = {
    "pressure_delay": "--pressure-delay",
    "pressure_as_scaled": "--pressure-as-scaled",
    "pressure_as_placed": "--pressure-as-placed",
    "no_pressure": "--no-pressure",
}
OF_A_FIT = {
    "out": "--out",
    "plates": "--plate",
    "pressure": "--pressure",
    "starts": "--starts",
    "hops": "--hops",
    "seed": "--seed",
}
"""Parameter -> option: options that only apply with a pressure file, and those that only apply to a fit."""


IN_TIME = [row for row in PRESSURE if not row.peaks_only]


@click.command("foot")
@click.argument("trials", nargs=-1, required=True, type=FILE)
@click.option(
    "--forces",
    multiple=True,
    type=FILE,
    help="Force plates, one file for each trial (default: the C3D file of the trial, or a file with the "
    "name of the trial).",
)
@click.option(
    "--plate",
    "plates",
    multiple=True,
    help="Plate whose footstep is fitted (repeatable: the footsteps are fitted together).",
)
@click.option("--pressure", type=FILE, help=f"Pressure under the one fitted footstep ({listed(IN_TIME)}).")
@click.option(
    "--pressure-delay",
    type=float,
    default=0.0,
    help="Delay of the pressure recording relative to the trial [s].",
)
@click.option(
    "--pressure-as-scaled", is_flag=True, help="Do not scale the pressure to the force of the plate."
)
@click.option(
    "--pressure-as-placed", is_flag=True, help="Do not use the centre of pressure to place the pressure mat."
)
@click.option("--footprint", "footprints", multiple=True, type=FILE,
              help=(f"Recorded peak pressure ({listed(PRESSURE)}), whose shape is compared with that of the "
                  "fitted foot."))  # fmt: skip
@click.option(
    "--friction",
    is_flag=True,
    help="Also fit friction forces and the free moment, each with weight 1 in the cost.",
)
@click.option(
    "--no-pressure", is_flag=True, help="Leave pressure out of the cost, and only report its error."
)
@click.option("--starts", type=click.IntRange(1, 1000), default=10, show_default=True,
              help="Number of searches from random starts within 10 % of the initial guess.")  # fmt: skip
@click.option("--hops", type=click.IntRange(0, 1000), default=0, show_default=True,
              help="Number of steps of basin hopping (a global search) after the searches from random "
                  "starts.")  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random starts."
)
@click.option(
    "--validate",
    type=FILE,
    metavar="MODEL",
    help="Keep the contact of MODEL unchanged, and fit only the motion in all footsteps.",
)
@click.option(
    "--static", type=FILE, help="Trial of the person standing, for foot markers that TRIALS do not contain."
)
@click.option("--lab", default="", help="Marker map (default: the map that fits the names of the markers).")
@click.option(
    "--mass",
    "mass_kg",
    type=float,
    help="Mass of the person [kg] (default: from the mean force over whole strides on force plates).",
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Model of the foot (.toml).")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--force", is_flag=True, help="Replace a file that exists already.")
@partial(
    plot_options,
    more="Each page shows the fit of one footstep. The files of the second and later footsteps are replaced "
    "only with --force if they exist already.",
)
@PERSON_OPTION
@file_options
def command(
    trials: tuple[Path, ...], forces: tuple[Path, ...], plates: tuple[str, ...], pressure: Path | None,
    pressure_delay: float, pressure_as_scaled: bool, pressure_as_placed: bool,
    footprints: tuple[Path, ...], friction: bool, no_pressure: bool, starts: int, hops: int, seed: int,
    validate: Path | None, static: Path | None, lab: str, mass_kg: float | None, out: Path | None,
    as_json: bool, force: bool, plot: Path | None, plot_size: str | None, plot_dpi: int | None,
    person: str | None, units: str | None, up: str | None,
) -> None:  # fmt: skip
    """Identify the contact of a foot (stiffness, damping, three ellipsoids) from steps of TRIALS over
    plates.

    The first complete step is fitted, or those of --plate; the others are then compared with it. Ctrl-C
    keeps the best result so far.
    """
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole
    from rtsim.live.processes.signals import exit_code
    from rtsim.methods.foot.foot_fit import fit_foot
    from rtsim.methods.foot.foot_misfit import Weights
    from rtsim.methods.foot.foot_model import foot_of, marked_alike, model_of, with_toes
    from rtsim.methods.foot.foot_parameters import guess, guesses
    from rtsim.models.load import load_model
    from rtsim.report.foot_fit import as_lines, as_table, steps_of
    from rtsim.subjects.markers.labs import load_lab
    from rtsim.subjects.markers.persons import read_one, share_of_labs

    paper = paper_for(plot, plot_size, plot_dpi)
    check_options(trials, forces, pressure_delay, out, force, mass_kg)
    check_together(click.get_current_context())
    own = foot_of(load_model(str(validate)), str(validate)) if validate is not None else None
    felt = [read_told(path) for path in ([pressure] if pressure is not None else [])]
    prints = [read_told(path) for path in footprints]
    compile_first(LastingConsole(stderr=True), ("foot-fit",))
    weights = Weights(pressure=0.0 if no_pressure else 0.1, friction=float(friction), spin=float(friction))
    share, whose = share_of_labs(load_lab(lab) if lab else None), person or ""
    stood = read_one(static, share, whose, up, units) if static is not None else None
    walks = walks_of(trials, forces, lab=lab, mass=mass_kg, up=up, units=units, static=stood, person=whose)
    check_figures(paper, len(all_steps(walks)), force)
    fit, frame = None, None
    fitted: list[FootTrial] = []
    steps: list[FittedStep] = []
    if own is not None:
        others, parameters = all_steps(walks), own.parameters
    else:
        fitted, others = chosen(walks, plates)
        for mat in felt:
            laid = with_pressure(fitted, mat, pressure_delay, not pressure_as_scaled, not pressure_as_placed)
            fitted = [laid]
        frame = fitted[0].frame
        fitted = [t._replace(frame=with_toes(t.frame, frame.toe_origin, frame.toe_axes)) for t in fitted]
        around = guess(frame)
        fit = fit_foot(fitted, weights, guesses(around, starts, seed), around, tell, hops)
        parameters, steps = fit.parameters, steps_of(fitted, fit, True)
    left: list[str] = []
    if fit is None or fit.complete:
        toes = own if own is not None else fitted[0].frame
        given = [
            (t._replace(frame=with_toes(t.frame, toes.toe_origin, toes.toe_axes)),
             own is not None or not marked_alike(t, fitted[0]))
            for t in others
        ]  # fmt: skip
        steps, left = held_steps(steps, given, weights, parameters)
    else:
        left = [trial.short for trial in others]
    click.echo(json_text(as_table(fit, steps, left)) if as_json else as_lines(fit, steps, left))
    if out is not None and frame is not None:
        spec = model_of(parameters, frame, fitted[0].weight, out.stem, source_of(fitted, weights))
        write_model(out, spec, steps, left)
    for footprint in prints:
        tell(footprint_told(footprint, steps[0], parameters))
    if paper is not None:
        draw_steps(paper, steps, parameters)
    if exit_code() is not None:
        raise SystemExit(exit_code())


def walks_of(trials: Sequence[Path], forces: Sequence[Path], **said: Any) -> list[WalkedSteps]:
    """Return the complete footsteps on force plates of each trial; assumptions and omissions are reported.

    forces : files of the force plates, one for each trial; () = they are in the trials
    said : further arguments of `walked_steps`, such as static trial and marker map
    """
    from rtsim.methods.foot.walked_steps import walked_steps

    walks = []
    for k, path in enumerate(trials):
        walk = walked_steps(path, forces[k] if forces else None, **said)
        for note in (*walk.notes, *walk.left_out):
            tell(f"{path}: {note}")
        walks.append(walk)
    return walks


def read_told(path: Path) -> PressureTrial:
    """Read a pressure file, and report assumptions and omissions."""
    from rtsim.files.pressure.pressure import read_pressure

    found = read_pressure(path)
    for note in found.notes:
        tell(f"{path}: {note}")
    return found


def check_options(
    trials: tuple[Path, ...], forces: tuple[Path, ...], delay: float, out: Path | None, force: bool,
    mass_kg: float | None,
) -> None:  # fmt: skip
    """Raise ConfigError, before any file is read, for implausible values of the command's options."""
    if forces and len(forces) != len(trials):
        raise ConfigError(
            f"{len(forces)} files of forces are given for {len(trials)} trials",
            where="--forces",
            remedy="give one file of forces for each trial",
        )
    if len({os.path.realpath(path) for path in trials}) < len(trials):
        raise ConfigError("a trial is given twice", where="TRIALS", remedy="give each trial once")
    if mass_kg is not None and not 0.0 < mass_kg <= 500.0:
        raise ConfigError(
            f"a body mass of {mass_kg:g} kg is impossible",
            where="--mass",
            allowed="a body mass above 0 kg, up to 500 kg",
        )
    if not abs(delay) <= LONGEST_DELAY:
        raise ConfigError(
            f"a delay of {delay:g} s is out of range", where="--pressure-delay",
            allowed=f"a delay of -{LONGEST_DELAY:g} to {LONGEST_DELAY:g} s",
        )  # fmt: skip
    if out is not None:
        if out.suffix.lower() != ".toml":
            raise ConfigError(
                f"{out} cannot be the name of a model file",
                where="--out",
                allowed="a name that ends in .toml",
            )
        check_free(out, overwrite=force)


def check_together(context: click.Context) -> None:
    """Raise ConfigError for options of the command that have no effect in combination with the others."""
    given = [
        name
        for name in context.params
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    ]
    if "validate" in given:
        _refuse(
            given,
            OF_A_FIT,
            "the option applies only to a fit of parameters, which --validate leaves out",
            "remove the option, or --validate",
        )
    if "pressure" not in given:
        _refuse(
            given,
            OF_PRESSURE,
            "the option applies only to a pressure recording, and none is given",
            "give --pressure",
        )


def _refuse(given: Sequence[str], options: Mapping[str, str], said: str, remedy: str) -> None:
    for name, option in options.items():
        if name in given:
            raise ConfigError(said, where=option, remedy=remedy)


def all_steps(walks: list[WalkedSteps]) -> list[FootTrial]:
    """Return every complete footstep on a force plate of all trials."""
    return [step for walk in walks for step in walk.steps.values()]


def chosen(walks: list[WalkedSteps], plates: tuple[str, ...]) -> tuple[list[FootTrial], list[FootTrial]]:
    """Return the footsteps to which the contact parameters are fitted, and the others; ConfigError for a
    plate without a complete step.

    plates : names of the plates whose steps are fitted; () = the first step
    """
    steps = all_steps(walks)
    names = list(dict.fromkeys(name for walk in walks for name in walk.steps))
    unknown = next((name for name in plates if name not in names), None)
    if unknown is not None:
        raise ConfigError(
            f"no complete footstep is on plate {unknown!r}", where="--plate", allowed=", ".join(names)
        )
    if len(set(plates)) < len(plates):
        raise ConfigError("a plate is given twice", where="--plate", remedy="give each plate once")
    if not plates:
        return steps[:1], steps[1:]
    fitted = [walk.steps[name] for walk in walks for name in plates if name in walk.steps]
    return fitted, [step for step in steps if all(step is not one for one in fitted)]


def with_pressure(
    fitted: list[FootTrial], mat: PressureTrial, delay: float, scaled: bool, placed: bool
) -> FootTrial:
    """Return the only footstep to be fitted, with its measured pressure added; ConfigError if there are
    several steps.

    delay : time of the trial at which the time of the pressure file is 0 [s]
    scaled : whether pressures are scaled to the force of the plate
    placed : whether the mat is moved so that its centre of pressure is that of the plate
    """
    from rtsim.methods.foot.foot_pressure import lay_pressure

    if len(fitted) > 1:
        raise ConfigError(
            "the option applies to a single footstep", where="--pressure", remedy="give one --plate"
        )
    (trial,) = fitted
    felt = lay_pressure(
        mat, trial.times, trial.force[:, 2], trial.centre, scaled=scaled, placed=placed, delay=delay
    )
    for note in felt.notes:
        tell(f"{mat.source}: {note}")  # before the fit: the report does not tell them again
    return trial._replace(pressure=felt)
