"""`rtsim simulate`: a model forward in time, as fast as it goes or, live, in step with the clock."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, get_args, get_type_hints

import click
from click.core import ParameterSource

from rtsim.cli.lines import tell
from rtsim.cli.options import results_option
from rtsim.cli.plotting import paper_for, plot_options
from rtsim.cli.ports import check_ports, offset_option, placed
from rtsim.cli.types import Address, Config, Source
from rtsim.config.force_schema import SimulationSpec
from rtsim.config.paths import find_config
from rtsim.errors import ConfigError
from rtsim.live.signals import exit_code, noting_requests
from streams.sockets import CONTROL_ADDRESS, RESULTS_ADDRESS

if TYPE_CHECKING:
    from rtsim.monitor.paper import Paper
    from rtsim.simulation.run import Run
    from rtsim.simulation.simulator import Simulator

KINDS = get_type_hints(SimulationSpec)
LIVE = ("rate_hz", "frame_rate_hz", "results", "control", "port_offset", "urgent", "monitor")
"""Options of live runs alone."""
MOST_STEPS = 1_000_000_000
ROUNDING = 1e-9
SPLIT = ("split_fraction", "split_floor")
MOST_ROWS = 10_000
"""Rows that are kept where the command does not say how often."""
MOST_VALUES = 200_000_000
"""Numbers that are kept at the most: 1.6 GB."""


@click.command("simulate")
@click.argument("model", type=Config("models"))
@click.option("--method", type=click.Choice(get_args(KINDS["method"])), help="How a step is taken.")
@click.option("--step", "step_ms", type=float, metavar="MS", help="Length of a step [ms].")
@click.option("--duration", "duration_s", type=float, metavar="S", help="How long to simulate [s].")
@click.option(
    "--kinks",
    type=click.Choice(get_args(KINDS["kinks"])),
    help="Where sliding turns round within a step: split it, take the secant slope, or do nothing.",
)
@click.option(
    "--split",
    type=float,
    nargs=2,
    metavar="FRACTION FLOOR",
    help="How much of itself, and of the transition velocity, sliding may change in a part of a split step.",
)
@click.option("--load", "loads", multiple=True, metavar="NAME=GAIN", help="Scale a load (repeatable).")
@click.option(
    "--motion",
    type=Source(),
    default="",
    metavar="SOURCE",
    help="Motion of coordinates that take one: a .mot or .sto file, or with --live tcp://HOST:PORT.",
)
@click.option(
    "--prescribe", multiple=True, metavar="COORDINATE", help="Let --motion move this one, too (repeatable)."
)
@click.option(
    "--subject",
    type=Config("subjects"),
    help="Subject that scales the model, where it has anatomy: .toml or shipped name.",
)
@results_option
@click.option(
    "--every",
    type=click.IntRange(1),
    metavar="N",
    help=f"Keep every Nth step of the results (default: as many as give {MOST_ROWS} rows at the most).",
)
@plot_options
@click.option("--over", metavar="COORDINATE", default="", help="Draw over this coordinate instead of time.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, in metres and radians.")
@click.option(
    "--live", is_flag=True, help="Publish frames in step with the clock until Ctrl-C or --duration."
)
@click.option(
    "--rate",
    "rate_hz",
    type=float,
    default=1000.0,
    show_default=True,
    help="With --live: ticks a second [Hz].",
)
@click.option(
    "--frame-rate",
    "frame_rate_hz",
    type=float,
    default=100.0,
    show_default=True,
    help="With --live: frames published a second [Hz].",
)
@click.option(
    "--results",
    type=Address(binding=True),
    show_default=RESULTS_ADDRESS,
    help="With --live: results go here.",
)
@click.option(
    "--control",
    type=Address(binding=True),
    show_default=CONTROL_ADDRESS,
    help="With --live: commands come here.",
)
@offset_option()
@click.option(
    "--urgent", is_flag=True, help="With --live: before all other work, where the system grants it."
)
@click.option("--monitor", is_flag=True, help="With --live: open the monitor window too.")
def command(
    model: str, method: str | None, step_ms: float | None, duration_s: float | None, kinks: str | None,
    split: tuple[float, float] | None, loads: tuple[str, ...], motion: str,
    prescribe: tuple[str, ...], subject: str | None, outputs: tuple[Path, ...], every: int | None,
    plot: Path | None, plot_size: str | None,
    plot_dpi: int | None, over: str, as_json: bool, live: bool, rate_hz: float, frame_rate_hz: float,
    results: str | None, control: str | None, port_offset: int | str, urgent: bool, monitor: bool,
) -> None:  # fmt: skip
    """Move MODEL (.toml, .osim or a shipped name) forward in time under its forces.

    What is not given as an option is what [simulation] in the model's file says. Ctrl-C ends early; what is
    done by then is told and written. With --live the model starts anew each time its own duration is over.
    """
    from rich.console import Console

    from rtsim.cli.compiling import compile_first
    from rtsim.cli.simulate_live import check_rates
    from rtsim.files.outputs import check_outputs
    from rtsim.models.load import load_model
    from rtsim.simulation.load import check_spec
    from rtsim.simulation.motion import (
        check_motion,
        is_streamed,
        moved_names,
        with_motion,
        with_prescribed,
        within,
    )
    from rtsim.subjects.subject import load_subject

    console = Console(stderr=True)
    check_options(step_ms, duration_s, split, plot, over)
    paper = paper_for(plot, plot_size, plot_dpi)
    check_live(live, outputs, plot, every)
    addresses = {}
    if live:
        usual = {"--results": RESULTS_ADDRESS, "--control": CONTROL_ADDRESS}
        addresses = placed({"--results": results, "--control": control}, usual, port_offset)
        check_rates(duration_s, rate_hz, frame_rate_hz)
        check_ports(addresses)
    gains = gains_of(loads)
    spec = with_prescribed(load_model(model), prescribe)
    check_spec(spec, subject, gains)  # a wrong model is told before anything is compiled
    check_motion(spec, motion, live)
    if motion and not is_streamed(motion):
        within(with_motion(spec, motion)[1], None if live else duration_s, motion)
    if subject:
        load_subject(find_config(subject, "subjects"))
    check_outputs(outputs)
    compile_first(console, ("coupled-simulation",) if spec.couplers else ("simulation",))
    with console.status("starting"):
        from rtsim.simulation.load import load_simulator
        from rtsim.simulation.panels import abscissa
        from rtsim.simulation.run import run, warm_up

        simulator = load_simulator(
            model, subject, gains, lambda text: tell(f"note: {text}"),
            motion=motion, prescribed=prescribe,
            method=method, step_ms=step_ms, duration_s=None if live else duration_s, kinks=kinks,
            **dict(zip(SPLIT, split or (), strict=False)),
        )  # fmt: skip
        if split and simulator.settings.kinks != "split":
            raise ConfigError("steps are not split", where="--split", remedy="add --kinks split")
    if live:
        from rtsim.cli.simulate_live import run_live

        raise SystemExit(
            run_live(
                simulator, duration_s, rate_hz, frame_rate_hz=frame_rate_hz,
                results=addresses["--results"], control=addresses["--control"],
                urgently=urgent, open_monitor=monitor, as_json=as_json,
                motion=(motion, moved_names(spec)) if is_streamed(motion) else None,
            )
        )  # fmt: skip
    with console.status("warming up"):
        n_step = steps_of(simulator)
        rows = rows_of(simulator, n_step, every)
        if over:
            abscissa(simulator, warm_up(simulator), over)  # a wrong name is told before the run
        else:
            warm_up(simulator)
    came: list[int] = []
    with noting_requests(came.append), progress_of(console, simulator, n_step) as progress:
        done = run(simulator, n_step, rows, lambda: bool(came), progress)
    finish(simulator, done, outputs, paper, over, as_json)


def finish(
    simulator: Simulator, done: Run, outputs: tuple[Path, ...], paper: Paper | None, over: str, as_json: bool
) -> None:
    """Tell, write and draw what was done, then say what is wrong with it."""
    from rtsim.files.outputs import write
    from rtsim.report.simulation import summary, text
    from rtsim.simulation.results import results_of
    from rtsim.simulation.run import check_run

    results = results_of(simulator, done)
    told = summary(simulator, done, results)
    for path in outputs:
        write(path, results, simulator.model.name)
        click.echo(f"wrote {path}", err=True)
    if paper:
        from rtsim.monitor.stack import save_panels
        from rtsim.simulation.panels import panels_of

        title = f"{simulator.model.name}: {told['method']}, {told['step_ms']:g} ms"
        save_panels(paper, title, panels_of(simulator, done, results, over))
        click.echo(f"wrote {paper.path}", err=True)
    # after the files: nobody may be there any more to read it
    click.echo(json.dumps(told, indent=1) if as_json else text(told))
    kept = "; the results up to then were written" if outputs or paper else ""
    check_run(done, simulator, kept)
    if done.stopped:
        click.echo(f"stopped at {simulator.time:.6g} s{kept}", err=True)
        raise SystemExit(exit_code() or 130)


def check_options(
    step_ms: float | None,
    duration_s: float | None,
    split: tuple[float, float] | None,
    plot: Path | None,
    over: str,
) -> None:
    """What can be told before anything is loaded."""
    for value, option, unit in ((step_ms, "--step", "ms"), (duration_s, "--duration", "s")):
        if value is not None and not 0.0 < value < math.inf:
            raise ConfigError(f"{value}", where=option, allowed=f"more than 0 {unit}")
    if split and not (0.0 < split[0] <= 1.0 and 0.0 < split[1] < math.inf):
        told = f"{split[0]} {split[1]}"
        raise ConfigError(
            told, where="--split", allowed="a fraction of 1 at the most and a floor, more than 0"
        )
    if over and not plot:
        raise ConfigError("it is for figures", where="--over", remedy="add --plot FILE.png")


def check_live(live: bool, outputs: tuple[Path, ...], plot: Path | None, every: int | None) -> None:
    """A live run is published, not kept; what only it has needs --live."""
    kept = {"--out": outputs, "--plot": plot, "--every": every}
    for option, value in kept.items():
        if live and value:
            raise ConfigError(
                "a live run keeps nothing",
                where=option,
                remedy="leave it out and record the run with `rtsim record`",
            )
    context = click.get_current_context()
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if parameter.name in LIVE and given and not live:
            raise ConfigError("it is for live runs", where=parameter.opts[0], remedy="add --live")


def steps_of(simulator: Simulator) -> int:
    """How many whole steps the duration has: a motion from a file is not known any further."""
    settings = simulator.settings
    n_step = settings.duration_s / (1e-3 * settings.step_ms)
    if not 1.0 - ROUNDING <= n_step <= MOST_STEPS:
        raise ConfigError(
            f"a duration of {settings.duration_s:g} s has {n_step:.3g} steps of {settings.step_ms:g} ms",
            where=f"{simulator.model.name}: simulation",
            allowed=f"1 to {MOST_STEPS} steps",
            remedy="change --duration or --step",
        )
    return max(1, math.floor(n_step * (1.0 + ROUNDING)))


def rows_of(simulator: Simulator, n_step: int, every: int | None) -> int:
    """Every how many steps a row is kept."""
    every = every or -(-n_step // MOST_ROWS)
    n_value = (n_step // every + 2) * sum(x[0].size for x in simulator.trace(1)[:-2])
    if n_value > MOST_VALUES:
        raise ConfigError(
            f"{n_value:.2g} numbers would have to be kept",
            where="--every",
            allowed=f"{every * -(-n_value // MOST_VALUES)} or more",
        )
    return every


def gains_of(loads: tuple[str, ...]) -> dict[str, float]:
    """Load -> part of it that acts."""
    gains = {}
    for load in loads:
        name, _, value = load.partition("=")
        try:
            gains[name] = float(value)
        except ValueError:
            gains[name] = math.nan
        if not math.isfinite(gains[name]):
            raise ConfigError(f"{load!r} has no number", where="--load", allowed="NAME=GAIN")
    return gains


@contextmanager
def progress_of(console, simulator: Simulator, n_step: int) -> Iterator[Callable[[int], None]]:
    """A bar in a terminal, nothing elsewhere; it is told the steps that are done."""
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
