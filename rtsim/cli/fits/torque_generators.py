"""`rtsim fit torque-generators`: make muscle torque generators strong and supple enough for a motion."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtsim.cli.lines import tell
from rtsim.cli.plotting import paper_for, plot_options
from rtsim.errors import ConfigError
from rtsim.files.output import check_free

if TYPE_CHECKING:
    from rtsim.config.torque_generator_schema import GeneratorSet
    from rtsim.methods.joint_motion import JointMotion
    from rtsim.methods.strength_bounds import StrengthBounds
    from rtsim.methods.torque_generator_fit import Fit
    from rtsim.models.packing.torque_generators import Placed
    from rtsim.monitor.paper import Paper

MARKERS = (".c3d", ".trc")
MOST_DRAWN = 2


@click.command("torque-generators")
@click.argument("motion", type=click.Path(path_type=Path))
@click.option(
    "--model",
    default="planar",
    show_default=True,
    help="Generators and their joints, or a model that has some: .toml or shipped name.",
)
@click.option(
    "--forces", type=click.Path(path_type=Path), help="Force plates, where MOTION is a file of markers."
)
@click.option("--config", help="Run config of their analysis, as of which body bears which plate.")
@click.option(
    "--a-max",
    "a_max",
    multiple=True,
    metavar="[NAME=]ACTIVATION",
    help="Activation that is reached at most, of all (default: 1) or of one (repeatable).",
)
@click.option(
    "--emg",
    type=click.Path(path_type=Path),
    help="Table (.sto, .mot) of EMG in parts of maximum contractions; its peaks are --a-max.",
)
@click.option(
    "--emg-within",
    "within",
    type=float,
    metavar="PART",
    help="Keep activations this near the EMG in every frame, instead of below its peaks; antagonists with "
    "EMG bear their torque against each other.",
)
@click.option(
    "--t-pe-max",
    "most_passive",
    type=float,
    default=1.4,
    show_default=True,
    help="Passive torque at most, in parts of the isometric one.",
)
@click.option(
    "--co-contraction",
    "against",
    multiple=True,
    metavar="[COORDINATE=]PART",
    help="Torque that both generators of a joint bear against each other, in parts of the joint's.",
)
@click.option(
    "--co-contraction-table",
    "against_table",
    type=click.Path(path_type=Path),
    help="The same over time: table (.sto, .mot) of torques [N m], columns by coordinates.",
)
@click.option(
    "--strength",
    "strength",
    multiple=True,
    metavar="[NAME=]FACTOR",
    help="Weaken before the fit: all generators, those of a coordinate, or one (repeatable).",
)
@click.option(
    "--bounds",
    is_flag=True,
    help="Least strength of the legs of a weak person: begin at 80 % of the peak moments.",
)
@click.option(
    "--measured",
    multiple=True,
    metavar="COORDINATE=TORQUE@ANGLE",
    help="Isometric extension torque [N m] at an angle [deg] of a healthy person, for --bounds.",
)
@click.option(
    "--skip-unknown",
    is_flag=True,
    help="Leave out the frames in which a joint is not known, instead of its generators.",
)
@click.option("--one-start", is_flag=True, help="Only the default start: quicker, other minima are not seen.")
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
    help="Write the person's set of generators (.toml).",
)
@click.option("--force", is_flag=True, help="Replace a file that exists already.")
@click.option(
    "--curves",
    type=click.Path(path_type=Path),
    help="Draw what the generators can do over angle and speed, into a .png, .svg or .pdf file.",
)
@click.option(
    "--parameters",
    type=click.Path(path_type=Path),
    help="Draw what the fitted parameters do to the curves of a generator (--muscle), likewise.",
)
@plot_options
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON, in rad and N m.")
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
    (.sto, .mot), or q_TRIAL.csv of tables without a header; or markers (.c3d, .trc) with --forces and a model
    with markers of its own, which are analysed first. Each generator is assessed, changed as little as
    lets it make the motion (Millard et al. 2019), and assessed again. Ctrl-C keeps what was fitted by then.
    """
    from rich.console import Console

    from rtsim.cli.compiling import compile_first
    from rtsim.cli.generator_options import WHOLE, Said, asked_of, known, settings_of
    from rtsim.live.signals import exit_code, noting_requests
    from rtsim.methods.strength_bounds import strength_bounds, weakened
    from rtsim.methods.torque_generator_fit import fit_all
    from rtsim.models.generator_sets import generators_of, load_set
    from rtsim.report import torque_generators

    figures = {"--plot": plot, "--curves": curves, "--parameters": parameters}
    check_figures(figures, muscles)
    paper = paper_for(plot, plot_size, plot_dpi)
    of_curves, of_parameters = paper_for(curves, None, None), paper_for(parameters, None, None)
    if out is not None:
        check_config_name(out)
        check_free(out, overwrite=force)
    elif force:
        raise ConfigError("it is for --out", where="--force", remedy="leave it out")
    chosen, spec = set_of(model)
    placed, body = generators_of(chosen), load_set(chosen)
    said = Said(a_max, emg, within, against, against_table, most_passive, strength, bounds, measured)
    asked = asked_of(said, placed)
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
    settings = replace(settings_of(found, weak, asked), several=not one_start, skip_unknown=skip_unknown)
    console = Console(stderr=True)
    compile_first(console, ("torque-generator-fit",))
    came: list[int] = []
    of_bounds: list[StrengthBounds] = []
    with noting_requests(came.append), console.status("") as status:

        def told(name: str) -> None:
            status.update(f"fitting {name}")

        def stopped() -> bool:
            return bool(came)

        if bounds:
            of_bounds = strength_bounds(weak, found, settings, asked.measured, told, stopped)
            fits = [one.fit for one in of_bounds]
        else:
            fits = fit_all(weak, found, settings, told, stopped)
    done = sum(not fit.fault for fit in fits)
    for text in torque_generators.contradictions(of_bounds):
        tell(text)
    if came:
        tell(f"interrupted: {done} of {len(fits)} generators were fitted")
    click.echo(
        json.dumps(torque_generators.as_json(fits, of_bounds))
        if as_json
        else "\n\n".join(
            [
                torque_generators.table(fits),
                *([torque_generators.bounds_table(of_bounds)] if of_bounds else []),
            ]
        )
    )
    if out is not None:
        write_set(out, fits, chosen, motion, placed)
    if paper is not None:
        draw(paper, fits, drawn, motion.name)
    if of_curves is not None:
        draw_curves(of_curves, fits, drawn)
    if of_parameters is not None:
        draw_parameters(of_parameters, fits, drawn)
    if came:
        raise SystemExit(exit_code())
    if not done:
        gaps = any("is not known in" in fit.fault for fit in fits)
        remedy = "leave out frames in which a joint is not known by --skip-unknown" if gaps else "see above"
        raise ConfigError("no generator could be fitted", where=str(motion), remedy=remedy)


def set_of(model: str) -> tuple[str, str]:
    """The set of generators, and the model that names it; nothing for a set alone."""
    from rtsim.cli.check import kind_of
    from rtsim.config.paths import shipped_names
    from rtsim.models.load import load_model

    path = Path(model)
    if model in shipped_names("generators") or (path.is_file() and kind_of(path) == "generators"):
        return model, ""
    if not path.suffix and model not in shipped_names("models"):
        names = sorted({*shipped_names("generators"), "planar_body"})
        raise ConfigError(
            f"there is no {model!r}", where="--model", allowed=f"a .toml file, {', '.join(names)}"
        )
    said = load_model(model).torque_generators
    if said is None:
        raise ConfigError(
            "the model has no torque generators", where=f"--model {model}",
            remedy='add [torque_generators] with set = "planar"',
        )  # fmt: skip
    return said.set, model


def motion_of(
    path: Path, body: GeneratorSet, spec: str, forces: Path | None, config: str | None
) -> JointMotion:
    """The motion of a file; markers are analysed first."""
    from rtsim.cli.analysed import analysed
    from rtsim.methods.joint_motion import read_joint_motion

    joints = [joint.coordinate for joint in body.joints]
    if path.suffix.lower() not in MARKERS:
        for option, value in (("--forces", forces), ("--config", config)):
            if value is not None:
                raise ConfigError("it is for markers", where=option, remedy="leave it out")
        return read_joint_motion(path, joints, body.columns)
    if forces is None or not spec:
        raise ConfigError(
            "markers have to be analysed first", where=str(path),
            remedy="give --forces FILE and --model MODEL, one with markers of its own and torque generators",
        )  # fmt: skip
    with analysed(path, spec, forces, config) as results:
        try:
            return read_joint_motion(results, joints, body.columns)
        except ConfigError as error:  # the recording is gone when it is read
            raise ConfigError(
                error.what, where=str(path), allowed=error.allowed, remedy=error.remedy
            ) from None


def check_config_name(out: Path) -> None:
    """ConfigError for a name that no command would read."""
    if out.suffix.lower() != ".toml":
        raise ConfigError(f"{out} cannot be a set of generators", where="--out", allowed="a name in .toml")


def write_set(out: Path, fits: list[Fit], model: str, motion: Path, placed: tuple[Placed, ...]) -> None:
    """The person's set: those of the model, with what was found."""
    from rtsim.files.output import write_text
    from rtsim.methods.torque_generator_fit import INTERRUPTED
    from rtsim.report.torque_generators import config_text

    base = str(Path(model).resolve()) if model.endswith(".toml") else model
    strengths = {one.name: one.spec.strength_Nm for one in placed}
    source = f"fitted to {motion.name} by rtsim fit torque-generators"
    if any(fit.fault == INTERRUPTED or fit.cut_short for fit in fits):
        source += ", interrupted"
    write_text(out, config_text(fits, out.stem, base, source, strengths))
    click.echo(f"wrote {out}", err=True)


def check_figures(figures: dict[str, Path | None], muscles: tuple[str, ...]) -> None:
    """ConfigError for names of generators without a figure, and for two figures in one file."""
    given = {option: path for option, path in figures.items() if path is not None}
    if muscles and not given:
        raise ConfigError("it is for figures", where="--muscle", remedy="add --plot FILE")
    for option, path in given.items():
        first = next(other for other, one in given.items() if one == path)
        if first != option:
            raise ConfigError(f"{path} is that of {first}", where=option, remedy="name another file")


def draw(paper: Paper, fits: list[Fit], chosen: list[str], title: str) -> None:
    """Both planes of figure 5 of some generators, before and after."""
    from rtsim.methods.torque_generator_figures import panels_of_fit
    from rtsim.monitor.stack import save_panels

    able = [fit for fit in fits if not fit.fault]
    changed = sorted((fit for fit in able if fit.changed), key=lambda fit: -fit.objective)
    shown = [fit for fit in able if fit.placed.name in chosen] if chosen else changed[:MOST_DRAWN]
    panels: list[Any] = [panel for fit in shown or able[:1] for panel in panels_of_fit(fit)]
    save_panels(paper, f"torque generators fitted to {title}", panels)
    click.echo(f"wrote {paper.path}", err=True)


def draw_curves(paper: Paper, fits: list[Fit], chosen: list[str]) -> None:
    """What generators can do, as figure A.6: of joints of the chosen ones, or of all."""
    from rtsim.methods.torque_generator_figures import panels_of_curves
    from rtsim.monitor.stack import save_panels

    joints = {fit.placed.joint.coordinate for fit in fits if fit.placed.name in chosen}
    placed = [
        fit.placed._replace(fit=tuple(fit.x.tolist()))
        for fit in fits
        if not chosen or fit.placed.joint.coordinate in joints
    ]
    save_panels(paper, "torque generators", panels_of_curves(placed))
    click.echo(f"wrote {paper.path}", err=True)


def draw_parameters(paper: Paper, fits: list[Fit], chosen: list[str]) -> None:
    """What the parameters do to the curves of the first chosen generator, or of that which changed most."""
    from rtsim.methods.torque_generator_figures import panels_of_parameters
    from rtsim.monitor.stack import save_panels

    one = next((fit for fit in fits if fit.placed.name in chosen), max(fits, key=lambda fit: fit.objective))
    save_panels(paper, f"parameters of {one.placed.name.replace('_', ' ')}", panels_of_parameters(one.placed))
    click.echo(f"wrote {paper.path}", err=True)
