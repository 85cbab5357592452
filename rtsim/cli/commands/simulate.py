"""`rtsim simulate`: forward simulation of a model, as fast as possible or, with --live, in real time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import click

from rtsim.cli.runs.simulate_live import check_live, live_options, paced_by, run_live
from rtsim.cli.terminal.lines import json_text, tell
from rtsim.cli.terminal.options import results_option
from rtsim.cli.terminal.plotting import draw_panels, paper_for, plot_options
from rtsim.cli.terminal.types import Config, MarkerSource, check_new
from rtsim.config.models.force_schema import SimulationSpec
from rtsim.errors import ConfigError
from rtsim.live.processes.signals import exit_code, noting_requests
from streams.addresses import is_stream

if TYPE_CHECKING:
    from rich.console import Console

    from rtsim.monitor.figures.paper import Paper
    from rtsim.simulation.load import Setup
    from rtsim.simulation.run import SimulatedRun
    from rtsim.simulation.simulator import Simulator

KINDS = get_type_hints(SimulationSpec)
SPLIT = ("split_fraction", "split_floor")
MOST_ROWS = 10_000
"""Largest number of stored rows if the user does not state their interval."""
MOST_VALUES = 200_000_000
"""Largest number of stored values: 1.6 GB."""


@click.command("simulate")
@click.argument("model", type=Config("models"))
@click.option(
    "--method", type=click.Choice(get_args(KINDS["method"])), help="Method by which each step is integrated."
)
@click.option("--step", "step_ms", type=float, metavar="MS", help="Length of a step [ms].")
@click.option("--duration", "duration_s", type=float, metavar="S", help="Duration to simulate [s].")
@click.option(
    "--kinks",
    type=click.Choice(get_args(KINDS["kinks"])),
    help="What to do if a sliding contact reverses its direction within a step: split the step, take the "
    "secant slope of the friction force, or nothing.",
)
@click.option(
    "--split",
    type=float,
    nargs=2,
    metavar="FRACTION FLOOR",
    help="Largest change of the sliding velocity in one part of a split step: a fraction of that velocity, "
    "and a lower limit as a fraction of the transition velocity of the friction law.",
)
@click.option(
    "--load", "loads", multiple=True, metavar="NAME=GAIN", help="Multiply a load by a factor (repeatable)."
)
@click.option(
    "--excite",
    "excited",
    multiple=True,
    metavar="NAME=PART",
    help="Excitation of a muscle or torque generator, 0 to 1, constant over the simulation (repeatable).",
)
@click.option(
    "--motion",
    type=MarkerSource(),
    default="",
    metavar="SOURCE",
    help="Motion of the prescribed coordinates: a .mot or .sto file, or with --live tcp://HOST:PORT.",
)
@click.option(
    "--prescribe",
    multiple=True,
    metavar="COORDINATE",
    help="Further coordinate that --motion prescribes (repeatable).",
)
@click.option(
    "--subject",
    type=Config("subjects"),
    help="Subject for a model that needs a person's anatomy, such as lower_limb: a .toml file, or the name "
    "of one that comes with rtsim.",
)
@results_option
@click.option(
    "--every",
    type=click.IntRange(1),
    metavar="N",
    help=f"Keep every Nth step of the results (default: such that at most {MOST_ROWS} rows are kept).",
)
@plot_options
@click.option(
    "--over", metavar="COORDINATE", default="", help="Draw the curves over this coordinate instead of time."
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, in metres and radians.")
@click.option("--live", is_flag=True, help="Publish frames in real time until Ctrl-C or --duration.")
@live_options
def command(
    model: str,
    motion: str,
    prescribe: tuple[str, ...],
    subject: str | None,
    loads: tuple[str, ...],
    excited: tuple[str, ...],
    outputs: tuple[Path, ...],
    every: int | None,
    over: str,
    as_json: bool,
    live: bool,
    **options: Any,
) -> None:
    """Simulate MODEL forward in time under its forces. MODEL is a .toml or .osim file, or the name of a model
    that comes with rtsim.

    Options that are not given come from [simulation] in the model's file. Ctrl-C ends the simulation early;
    results so far are reported and written. With --live the model restarts each time its own duration is
    over.
    """
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole
    from rtsim.files.tables.outputs import check_outputs
    from rtsim.live.compiled.group_table import group_of_simulation
    from rtsim.simulation.load import read_setup, simulator_of
    from rtsim.simulation.motion import moved_names
    from rtsim.simulation.run import whole_steps

    console = LastingConsole(stderr=True)
    changes = changes_of(options, live)
    paper = paper_for(options["plot"], options["plot_size"], options["plot_dpi"])
    if over and not paper:
        raise ConfigError("the option applies only to figures", where="--over", remedy="add --plot FILE.png")
    check_live(live, motion, {"--out": outputs, "--plot": paper, "--every": every})
    paced = paced_by(options) if live else None
    setup = read_setup(
        model, subject, numbers_of(loads, "--load", "NAME=GAIN"), lambda text: tell(f"note: {text}"),
        motion, prescribe, numbers_of(excited, "--excite", "NAME=PART"), **changes,
    )  # fmt: skip
    check_split(setup, options["split"])
    check_outputs(outputs, inputs=(motion, model, subject))
    compile_first(console, (group_of_simulation(setup.spec),))
    with console.status("starting"):
        simulator = simulator_of(setup)
    if paced:
        moved = (motion, moved_names(setup.spec)) if is_stream(motion) else None
        raise SystemExit(run_live(simulator, paced, moved, options["monitor"], as_json))
    with console.status("warming up"):
        n_step = whole_steps(simulator)
        rows = rows_of(simulator, n_step, every)
        warmed_up(simulator, over)
    finish(simulator, run_told(console, simulator, n_step, rows), outputs, paper, over, as_json)


def warmed_up(simulator: Simulator, over: str) -> None:
    """Compile the kernels of a simulation that are not compiled yet. ConfigError, before the run, if no
    quantity of the results has the name `over` that the user gave for the horizontal axis of the figure.
    """
    from rtsim.simulation.panels import abscissa
    from rtsim.simulation.run import warm_up

    first = warm_up(simulator)
    if over:
        abscissa(simulator, first, over)


def run_told(console: Console, simulator: Simulator, n_step: int, rows: int) -> SimulatedRun:
    """Simulate with a progress bar, until all steps are done or the user interrupts; return the results.

    n_step : number of integration steps
    rows : number of steps between two stored rows
    """
    from rtsim.simulation.run import run

    came: list[int] = []
    with noting_requests(came.append), progress_of(console, simulator, n_step) as progress:
        return run(simulator, n_step, rows, lambda: bool(came), progress)


def finish(
    simulator: Simulator,
    done: SimulatedRun,
    outputs: tuple[Path, ...],
    paper: Paper | None,
    over: str,
    as_json: bool,
) -> None:
    """Report, write and draw the results of a simulation; faults of the outputs are reported last.

    over : name of the quantity on the figure's horizontal axis, "" = time
    """
    from rtsim.files.tables.outputs import write
    from rtsim.report.simulation import summary, text
    from rtsim.simulation.results import results_of
    from rtsim.simulation.run import check_run

    results = results_of(simulator, done)
    told = summary(simulator, done, results)
    for path in outputs:
        for note in write(path, results, simulator.model.name):
            tell(f"{path}: {note}")
        click.echo(f"wrote {path}", err=True)
    if paper:
        from rtsim.simulation.panels import panels_of

        title = f"{simulator.model.name}: {told['method']}, steps of {told['step_ms']:g} ms"
        draw_panels(paper, title, panels_of(simulator, done, results, over))
    # after the files: nobody may be there any more to read it
    click.echo(json_text(told, indent=1) if as_json else text(told))
    kept = "; the results up to that time were written" if outputs or paper else ""
    check_run(done, simulator, kept)
    if done.stopped:
        click.echo(f"the simulation stopped at {simulator.time:.6g} s{kept}", err=True)
        raise SystemExit(exit_code() or 130)


def changes_of(options: Mapping[str, Any], live: bool) -> dict[str, Any]:
    """Return the settings of the model's [simulation] that options of the command line change, by name;
    None = unchanged. The --duration of a live run is not among them, as it is the length of the run.
    """
    step_ms, duration_s, split = options["step_ms"], options["duration_s"], options["split"]
    for value, option, unit in ((step_ms, "--step", "ms"), (duration_s, "--duration", "s")):
        if value is not None and not 0.0 < value < math.inf:
            raise ConfigError(f"{value}", where=option, allowed=f"a time of more than 0 {unit}")
    if split and not (0.0 < split[0] <= 1.0 and 0.0 < split[1] < math.inf):
        told = f"{split[0]} {split[1]}"
        raise ConfigError(told, where="--split", allowed="FRACTION above 0 and up to 1, FLOOR above 0")
    given = {
        "method": options["method"],
        "step_ms": step_ms,
        "duration_s": None if live else duration_s,
        "kinks": options["kinks"],
    }
    return given | dict(zip(SPLIT, split or (), strict=False))


def check_split(setup: Setup, split: tuple[float, float] | None) -> None:
    """Raise ConfigError if the option --split, with limits for integration steps that are split at kinks of
    the forces, is given without --kinks split."""
    if split and setup.settings.kinks != "split":
        raise ConfigError(
            "the option applies only if steps are split",
            where="--split",
            remedy="add --kinks split",
        )


def rows_of(simulator: Simulator, n_step: int, every: int | None) -> int:
    """Return the number of integration steps between two stored rows of the results; ConfigError if these
    would be too large.

    every : the number that the user gave, None = chosen for a moderate number of rows
    """
    every = every or -(-n_step // MOST_ROWS)
    n_value = (n_step // every + 2) * sum(x[0].size for x in simulator.trace(1)[:-2])
    if n_value > MOST_VALUES:
        raise ConfigError(
            f"the results would contain {n_value:.2g} numbers, which is too many",
            where="--every",
            allowed=f"a row after every {every * -(-n_value // MOST_VALUES)} or more integration steps",
        )
    return every


def numbers_of(words: tuple[str, ...], option: str, form: str) -> dict[str, float]:
    """Parse words NAME=NUMBER of an option into a table name -> number."""
    numbers: dict[str, float] = {}
    for word in words:
        name, _, value = word.partition("=")
        check_new(name, numbers, option)
        try:
            numbers[name] = float(value)
        except ValueError:
            numbers[name] = math.nan
        if not math.isfinite(numbers[name]):
            raise ConfigError(f"{word!r} lacks a number", where=option, allowed=form)
    return numbers


@contextmanager
def progress_of(console, simulator: Simulator, n_step: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar in a terminal, nothing elsewhere; yield a function to be called with the number of
    finished steps.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    step = simulator.options.step
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=n_step)
        yield lambda n_done: bar.update(
            task,
            completed=n_done,
            description=f"{n_done * step:.4g} of {n_step * step:.4g} s",
        )
