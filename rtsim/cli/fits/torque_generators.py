"""`rtsim fit torque-generators`: adjusts strength and passive torque of muscle torque generators to a
motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from rtsim.cli.fitting.generator_figures import draw, figures_of
from rtsim.cli.fitting.generator_files import check_config_name, motion_of, set_of, write_set
from rtsim.cli.terminal.format_names import naming_formats
from rtsim.cli.terminal.lines import json_text, tell
from rtsim.cli.terminal.plotting import plot_options
from rtsim.errors import ConfigError
from rtsim.files.output import check_free

if TYPE_CHECKING:
    from rtsim.methods.generators.joint_motion import JointMotion
    from rtsim.methods.generators.strength_bounds import IsometricTorque, StrengthBounds
    from rtsim.methods.generators.torque_generator_fit import FitSettings, FittedGenerator
    from rtsim.models.packing.torque_generators import PlacedGenerator


@click.command("torque-generators")
@naming_formats
@click.argument("motion", type=click.Path(path_type=Path))
@click.option(
    "--model",
    default="planar",
    show_default=True,
    help="Torque generators and their joints, or a model that contains torque generators: a .toml "
    "file, or the name of one that comes with rtsim.",
)
@click.option(
    "--forces",
    type=click.Path(path_type=Path),
    help="File with the forces of the force plates, needed if MOTION is a file of markers.",
)
@click.option(
    "--config",
    help="Run config for the analysis of markers, for example to state which body stands on which plate.",
)
@click.option(
    "--a-max",
    "a_max",
    multiple=True,
    metavar="[NAME=]ACTIVATION",
    help="Highest activation that generators reach in MOTION: all generators (default: 1) or one generator "
    "(repeatable).",
)
@click.option(
    "--emg",
    type=click.Path(path_type=Path),
    help="Table (.sto, .mot) of EMG as fractions of maximum contractions; the peaks of the EMG are used "
    "as --a-max.",
)
@click.option(
    "--emg-within",
    "within",
    type=float,
    metavar="PART",
    help="Largest deviation of activations from the EMG in every frame (1 = a maximum contraction), instead "
    "of the limit by the peaks of the EMG; antagonists with EMG can then co-contract.",
)
@click.option(
    "--t-pe-max",
    "most_passive",
    type=float,
    default=1.4,
    show_default=True,
    help="Largest passive torque, as a fraction of the isometric torque.",
)
@click.option(
    "--co-contraction",
    "against",
    multiple=True,
    metavar="[COORDINATE=]PART",
    help="Co-contraction: torque that the two generators of a joint exert against each other, as a "
    "fraction of the torque of the joint.",
)
@click.option(
    "--co-contraction-table",
    "against_table",
    type=click.Path(path_type=Path),
    help="Torque of --co-contraction over time: a table (.sto, .mot) [N m], in columns named after the "
    "coordinates.",
)
@click.option(
    "--strength",
    "strength",
    multiple=True,
    metavar="[NAME=]FACTOR",
    help="Weaken generators before the fit: all, those of a coordinate, or one generator (repeatable).",
)
@click.option(
    "--bound",
    "limits",
    multiple=True,
    metavar="NAME=LOW:HIGH",
    help="Bounds of a fitted parameter (repeatable): angle_scale, speed_scale, strength_scale, "
    "passive_shift_deg, passive_blend.",
)
@click.option(
    "--bounds",
    is_flag=True,
    help="Set the lower bounds of the strengths of the legs as for a weak person: extensors from 80 % of "
    "their peak moments.",
)
@click.option(
    "--measured",
    multiple=True,
    metavar="COORDINATE=TORQUE@ANGLE",
    help="Isometric extension torque [N m] of a healthy person at an angle [deg], for --bounds.",
)
@click.option(
    "--skip-unknown",
    is_flag=True,
    help="Leave out the frames in which the motion of a joint is unknown, instead of the generators of "
    "that joint.",
)
@click.option(
    "--one-start",
    is_flag=True,
    help="Search from the default start only: this is quicker, but might miss other minima.",
)
@click.option(
    "--muscle",
    "muscles",
    multiple=True,
    metavar="NAME",
    help="Generators to draw (default: those that changed most).",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the set of torque generators fitted to the person (.toml).",
)
@click.option("--force", is_flag=True, help="Replace a file that exists already.")
@click.option(
    "--curves",
    type=click.Path(path_type=Path),
    help="Draw the torque of the generators over angle and speed, into a .png, .svg or .pdf file.",
)
@click.option(
    "--parameters",
    type=click.Path(path_type=Path),
    help="Draw how the fitted parameters change the curves of a generator (--muscle), into a .png, .svg "
    "or .pdf file.",
)
@plot_options
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, in rad and N m.")
def command(
    motion: Path,
    model: str,
    forces: Path | None,
    config: str | None,
    a_max: tuple[str, ...],
    emg: Path | None,
    within: float | None,
    most_passive: float,
    against: tuple[str, ...],
    against_table: Path | None,
    strength: tuple[str, ...],
    limits: tuple[str, ...],
    bounds: bool,
    measured: tuple[str, ...],
    skip_unknown: bool,
    one_start: bool,
    muscles: tuple[str, ...],
    out: Path | None,
    force: bool,
    curves: Path | None,
    parameters: Path | None,
    plot: Path | None,
    plot_size: str | None,
    plot_dpi: int | None,
    as_json: bool,
) -> None:
    """Fit muscle torque generators to the joint angles and moments of MOTION.

    MOTION is a recording or table of `rtsim analyse` (.mcap, .sto, .csv), a table of angles and NAME_moment
    (.sto, .mot), or q_TRIAL.csv of tables without a header; or markers (TRIAL_FILES) with --forces and a
    model with markers of its own, which are analysed first. Each generator is assessed, changed as little as
    the motion requires (Millard et al. 2019), and assessed again. Ctrl-C ends the command early and keeps
    the fits so far.
    """
    from rtsim.cli.fitting.generator_options import WHOLE, Said, asked_of, known, limits_of, settings_of
    from rtsim.live.processes.signals import exit_code
    from rtsim.methods.generators.strength_bounds import weakened
    from rtsim.models.generator_sets import generators_of, load_set

    figures = figures_of(plot, plot_size, plot_dpi, curves, parameters, muscles)
    if out is not None:
        check_config_name(out)
        check_free(out, overwrite=force)
    elif force:
        raise ConfigError(
            "the option applies only together with --out", where="--force", remedy="leave it out"
        )
    chosen, spec = set_of(model)
    placed, body = generators_of(chosen), load_set(chosen)
    said = Said(
        a_max=a_max, emg=emg, within=within, against=against, against_table=against_table,
        most_passive=most_passive, strength=strength, bounds=bounds, measured=measured,
    )  # fmt: skip
    asked = asked_of(said, placed)
    low, high = limits_of(limits)
    drawn = [known(name, [one.name for one in placed], "--muscle") for name in muscles]
    found = motion_of(motion, body, spec, forces, config)
    for note in found.notes:
        tell(f"{motion}: {note}")
    for name in asked.measured:
        known(name, list(found.names), "--measured")
    of_motion = [one.name for one in placed if one.joint.coordinate in found.names]
    for name in drawn:
        known(name, of_motion, "--muscle")
    weak = weakened(placed, asked.strength, asked.strength.get(WHOLE, 1.0))
    settings = replace(
        settings_of(found, weak, asked), several=not one_start, skip_unknown=skip_unknown, low=low, high=high
    )
    outcome = fitted(weak, found, settings, asked.measured if bounds else None)
    report(outcome, as_json)
    if not outcome.done and not outcome.interrupted:
        gaps = not skip_unknown and any("is not known in" in fit.fault for fit in outcome.fits)
        remedy = (
            "leave out frames in which the motion of a joint is unknown with --skip-unknown"
            if gaps
            else "see above"
        )
        raise ConfigError("no generator could be fitted", where=str(motion), remedy=remedy)
    if out is not None and outcome.done:
        write_set(out, outcome.fits, chosen, motion, placed, body)
    missed = draw(figures, outcome.fits, drawn, motion.name) if outcome.done else []
    if outcome.interrupted:
        raise SystemExit(exit_code())
    if missed:
        raise ConfigError(
            f"{missed[0].placed.name} was not fitted: {missed[0].fault}", where="--muscle",
            allowed=", ".join(fit.placed.name for fit in outcome.fits if not fit.fault),
        )  # fmt: skip


class FitOutcome(NamedTuple):
    """Results of fitting joint torque generators: the fits, bounds of the strength if requested, and whether
    the user interrupted them.
    """

    fits: list[FittedGenerator]
    of_bounds: list[StrengthBounds]
    interrupted: bool

    @property
    def done(self) -> int:
        """Number of generators that were fitted."""
        return sum(not fit.fault for fit in self.fits)


def fitted(
    weak: Sequence[PlacedGenerator],
    found: JointMotion,
    settings: FitSettings,
    measured: dict[str, IsometricTorque] | None,
) -> FitOutcome:
    """Fit joint torque generators one after the other, show the name of each as its fit begins, and return
    the fits.

    weak : the generators before the fit
    found : the motion and the joint moments to which they are fitted
    measured : name of a joint -> measured isometric torque, for bounds of the strength; None = not requested
    """
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole
    from rtsim.live.processes.signals import noting_requests
    from rtsim.methods.generators.strength_bounds import strength_bounds
    from rtsim.methods.generators.torque_generator_fit import fit_all

    console = LastingConsole(stderr=True)
    compile_first(console, ("torque-generator-fit",))
    came: list[int] = []
    of_bounds: list[StrengthBounds] = []
    with noting_requests(came.append), console.status("") as status:

        def told(name: str) -> None:
            status.update(f"fitting {name}")

        def stopped() -> bool:
            return bool(came)

        if measured is not None:
            of_bounds = strength_bounds(weak, found, settings, measured, told, stopped)
            fits = [one.fit for one in of_bounds]
        else:
            fits = fit_all(weak, found, settings, told, stopped)
    return FitOutcome(fits, of_bounds, bool(came))


def report(outcome: FitOutcome, as_json: bool) -> None:
    """Print the fits of torque generators, and the bounds of their strength, as tables or as JSON, after
    warnings about doubtful and contradictory ones.
    """
    from rtsim.report import torque_generators

    fits, of_bounds = outcome.fits, outcome.of_bounds
    for text in [*torque_generators.contradictions(of_bounds), *torque_generators.doubts(fits)]:
        tell(text)
    if outcome.interrupted:
        tell(f"interrupted: {outcome.done} of {len(fits)} generators were fitted")
    if as_json:
        click.echo(json_text(torque_generators.as_json(fits, of_bounds)))
    else:
        click.echo(
            "\n\n".join(
                [
                    torque_generators.table(fits),
                    *([torque_generators.bounds_table(of_bounds)] if of_bounds else []),
                ]
            )
        )
