"""Benchmarks of whole runs: sessions over sockets, recordings, devices, damaged markers.

`rtsim bench monitor --frozen` measures the memory of a suspended window and of its sender.
"""

from __future__ import annotations

from pathlib import Path

import click

from rtsim.cli.benches.bench_group import AS_JSON, QUICK, command, need_checkout
from rtsim.cli.terminal.options import check_of_use, make_run
from rtsim.cli.terminal.types import Config, MethodName, NumberWithin
from rtsim.files.output import check_free, write_text


@command.command("latency")
@AS_JSON
@click.option("--rate", type=float, default=100.0, show_default=True, help="Frame rate [Hz].")
@click.option("--seconds", type=float, default=30.0, show_default=True, help="Duration of the run [s].")
@click.option(
    "--method", type=MethodName(), default="minimised", show_default=True, help="Method of the model."
)
@click.option("--forces", is_flag=True, help="Also compute speeds, accelerations and joint moments.")
@click.option("--config", default="", help="Run config whose recording replaces the synthetic walker.")
def latency(as_json: bool, rate: float, seconds: float, method: str, forces: bool, config: str) -> None:
    """Measure latency, losses and CPU of player, estimator and subscriber as three processes."""
    from rtsim.bench import figures
    from rtsim.bench.runs import latency

    check_of_use("--forces", not (config and forces), "simulated gait", "the run config has a recording")
    run = make_run(config=config) if config else None
    click.echo(figures.report("latency", latency.run(rate, seconds, method, forces, run, config), as_json))


@command.command("adapters")
@AS_JSON
@QUICK
@click.option("--only", multiple=True, metavar="SYSTEM", help="Check only this capture system (repeatable).")
@click.option("--endurance", is_flag=True, help="Instead, test each system for ten minutes, with restarts.")
def adapters(as_json: bool, quick: bool, only: tuple[str, ...], endurance: bool) -> None:
    """Test `rtsim connect` against simulated servers that speak the protocols of capture systems, at 200 Hz.

    Reported are added latency, lost frames and capture times; behaviour at restarts, changed lists of
    markers and damaged messages; and the results of an estimator beside those of a plain stream.
    """
    need_checkout()
    from benchmarks.adapters import restarts, run
    from benchmarks.adapters.double import doubled_schemes
    from rtsim.bench import figures

    for scheme in only:
        check_of_use(
            "--only", scheme in doubled_schemes(), f"{', '.join(doubled_schemes())}", "give one of these"
        )
    check_of_use("--quick", not (quick and endurance), "runs without --endurance", "leave out one option")
    click.echo(figures.report("adapters", restarts.run(only) if endurance else run.run(quick, only), as_json))


@command.command("paced")
@AS_JSON
@click.option("--seconds", type=float, default=60.0, show_default=True, help="Duration of the run [s].")
@click.option(
    "--model",
    type=Config("models"),
    default="knee",
    show_default=True,
    help="Model: a .toml file, or the name of one that comes with rtsim.",
)
@click.option("--rate", type=float, default=1000.0, show_default=True, help="Time steps per second [Hz].")
@click.option("--urgent", is_flag=True, help="Run at real-time priority, where the system permits it.")
def paced(as_json: bool, seconds: float, model: str, rate: float, urgent: bool) -> None:
    """Measure `rtsim simulate MODEL --live`: duration of a time step, missed deadlines, compilations,
    garbage collections."""
    from rtsim.bench import figures
    from rtsim.bench.runs import paced

    click.echo(figures.report("paced", paced.run(seconds, model, rate, urgently=urgent), as_json))


@command.command("monitor")
@AS_JSON
@click.option("--seconds", type=NumberWithin(8.0), default=30.0, show_default=True, help="Duration of a run.")
@click.option("--frozen", type=NumberWithin(1.0), metavar="SECONDS",
              help="Instead, measure the memory of a stopped window, and of its sender.")  # fmt: skip
@click.option("--replay", type=NumberWithin(0.01), metavar="HOURS",
              help="Instead, measure the window's memory in a fast replay of hours of walking.")  # fmt: skip
@click.option("--speed", type=NumberWithin(1.0, 1000.0), default=40.0, help="Real-time factor of --replay.")
def monitor(as_json: bool, seconds: float, frozen: float | None, replay: float | None, speed: float) -> None:
    """Measure the monitor window off screen: redraws, CPU, memory, and its effect on the estimator's loop."""
    from rtsim.bench import figures
    from rtsim.bench.runs import monitor, monitor_endurance

    found = [] if frozen is None else monitor_endurance.frozen(frozen)
    found += [] if replay is None else monitor_endurance.replay(replay, speed)
    click.echo(figures.report("monitor", found or monitor.run(seconds), as_json))


@command.command("hil")
@AS_JSON
@click.option("--seconds", type=NumberWithin(0.2), default=60.0, show_default=True,
              help="Duration of two data exchanges, with a model and without it [s].")  # fmt: skip
@click.option("--config", type=Config("hil"), default="ankle", show_default=True,
              help="Config of the run: a .toml file, or the name of one that comes with rtsim.")  # fmt: skip
@click.option("--rate", type=NumberWithin(10.0, 4000.0), default=1000.0, show_default=True,
              help="Time steps per second [Hz].")  # fmt: skip
@click.option("--urgent", is_flag=True, help="Run model and device at real-time priority, where permitted.")
@click.option("--hostile", is_flag=True, help="Instead, test faulty devices: wrong values, stalls, floods.")
@click.option(
    "--only", default="", metavar="NAME", help="With --hostile: test only cases whose name contains this."
)
def hil(
    as_json: bool, seconds: float, config: str, rate: float, urgent: bool, hostile: bool, only: str
) -> None:
    """Measure `rtsim hil` in lockstep with the simulated device: duration of a time step, round trips, and
    missed time steps.

    Alternately, the same messages are exchanged without a model, which shows the time steps that the
    machine misses by itself.

    With --hostile, devices, models, streams and crowds of clients send false data, stall, flood and vanish:
    reported are how long torque lasts after a fault, the messages, undetected false data, and whether an
    emergency stop takes effect. Ctrl-C ends the benchmark early; results so far are reported.
    """
    from rtsim.bench import figures
    from rtsim.bench.runs import hil

    check_of_use("--only", hostile or not only, "--hostile")
    if not hostile:
        click.echo(figures.report("hil", hil.run(seconds, config, rate, urgently=urgent), as_json))
        return
    need_checkout()
    from benchmarks.hil_hostile import run
    from rtsim.live.processes.signals import exit_code

    found = run.run(only)
    for name, why in {**found.left_out, **found.failed}.items():
        click.echo(f"the case {name} has no result: {why}", err=True)
    click.echo(figures.report("hil-hostile", found.figures(), as_json))
    if found.interrupted:
        raise SystemExit(exit_code() or 130)


@command.command("tune")
@AS_JSON
@click.option("--seeds", type=click.IntRange(1), default=20, show_default=True,
              help="Number of searches with each search method, each with its own random seed.")  # fmt: skip
@click.option("--spline-seeds", type=click.IntRange(0), default=3, show_default=True,
              help="Number of searches for a torque spline with each method; 0: none.")  # fmt: skip
@QUICK
def tune(as_json: bool, seeds: int, spline_seeds: int, quick: bool) -> None:
    """Measure how far the cost that each search of `rtsim tune --auto --offline` finds lies above the lowest
    cost on a fine grid, without and with noise in the costs.

    With --quick there are two searches with each method, few trials on a coarse grid, no torque splines, and
    no limits for the results.
    """
    from rtsim.bench import figures
    from rtsim.bench.runs import tune
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole

    compile_first(LastingConsole(stderr=True), ("coupled-simulation",))
    found = tune.quick() if quick else tune.run(seeds, spline_seeds)
    click.echo(figures.report("tune", found, as_json))


@command.command("hostile")
@AS_JSON
@click.option("--seconds", type=NumberWithin(0.1, 3600.0), default=10.0, show_default=True,
              help="Duration of each attack [s].")  # fmt: skip
@click.option(
    "--only", default="", help="Run only attacks whose name begins with this, such as 3 or 1d; 0: no attack."
)
@click.option("--slow", type=click.IntRange(1, 8), default=1, show_default=True,
              help="Factor by which the estimator is slowed: other processes use the rest of its "
              "processor.")  # fmt: skip
def hostile(as_json: bool, seconds: float, only: str, slow: int) -> None:
    """Attack a running estimator during a stream at 200 Hz: measure the share of frames with results, and the
    growth of its memory."""
    need_checkout()
    from benchmarks.strangers import hostile
    from rtsim.bench import figures

    click.echo(figures.report("hostile", hostile.run(seconds, only, slow), as_json))


@command.command("startup")
@AS_JSON
def startup(as_json: bool) -> None:
    """Measure seconds from `rtsim live` to its first result, with an empty and a filled kernel cache."""
    from rtsim.bench import figures
    from rtsim.bench.runs import startup

    click.echo(figures.report("startup", startup.run(), as_json))


@command.command("ground-reaction")
@AS_JSON
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def ground_reaction(as_json: bool, folder: Path) -> None:
    """Compare ground reactions from the body's motion with force plates, on recordings under FOLDER."""
    from rtsim.bench import figures
    from rtsim.bench.runs import ground_reaction

    click.echo(figures.report("ground-reaction", ground_reaction.run(folder), as_json))


@command.command("stoop-lift")
@AS_JSON
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
def stoop_lift(as_json: bool, folder: Path | None) -> None:
    """Analyse, fit and simulate the stoop lift of Millard et al. (2019) in FOLDER (default: the tests' data):
    residual at the root, L5/S1 moment, activations."""
    from rtsim.bench import figures
    from rtsim.bench.contacts import stoop_lift
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole

    compile_first(LastingConsole(stderr=True), ("model", "forces"))
    click.echo(figures.report("stoop-lift", stoop_lift.run(folder), as_json))


@command.command("recordings")
@AS_JSON
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--live", is_flag=True, help="Run through `rtsim live` over sockets, at the recorded pace.")
@click.option("--only", default="*", show_default=True, help="Pattern of file names, such as *.c3d.")
@click.option("--side", type=click.Choice(["right", "left", "both"]), help="Leg (default: both).")
def recordings(as_json: bool, folder: Path, live: bool, only: str, side: str | None) -> None:
    """Analyse known recordings with force plates under FOLDER: measure how often the centre of pressure
    lies under the foot, peak moments, weight, and residual at the root."""
    from rtsim.bench import figures
    from rtsim.bench.markers import recordings

    click.echo(figures.report("recordings", recordings.run(folder, live, only, side or ""), as_json))


@command.command("unnamed-markers")
@AS_JSON
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--only", default="*", show_default=True, help="Pattern of the recordings' paths below FOLDER.")
def unnamed_markers(as_json: bool, folder: Path, only: str) -> None:
    """Remove the marker names of recordings under FOLDER and add gaps: share of frames labelled correctly."""
    from rtsim.bench import figures
    from rtsim.bench.markers import unnamed_markers

    click.echo(figures.report("unnamed-markers", unnamed_markers.run(folder, only), as_json))


@command.command("marker-sets")
@AS_JSON
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
def marker_sets(as_json: bool, folder: Path | None) -> None:
    """Compare the conventional gait model with the results of Vicon Nexus in recordings under FOLDER.

    It also prints how the angles of rtsim's own models change with fewer markers, and the marker RMS of every
    marker set. FOLDER
    defaults to the tests' data.
    """
    from rtsim.bench import figures
    from rtsim.bench.markers import marker_sets
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole

    compile_first(LastingConsole(stderr=True), ("solver", "deviations", "conventional"))
    click.echo(figures.report("marker-sets", marker_sets.run(folder), as_json))


@command.command("gait-phase")
@AS_JSON
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
def gait_phase(as_json: bool, folder: Path | None) -> None:
    """Measure errors of the gait phase in synthetic walks and in recordings with plates in FOLDER."""
    from rtsim.bench import figures
    from rtsim.bench.runs import gait_phase

    click.echo(figures.report("gait-phase", gait_phase.run(folder), as_json))


@command.command("gait-events")
@AS_JSON
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def gait_events(as_json: bool, folder: Path) -> None:
    """Compare foot strikes and foot offs from markers and from force plates, in recordings under FOLDER."""
    from rtsim.bench import figures
    from rtsim.bench.runs import gait_events

    click.echo(figures.report("gait-events", gait_events.run(folder), as_json))


@command.command("report")
@AS_JSON
@click.argument("recording", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def report(as_json: bool, recording: Path) -> None:
    """Measure how long `rtsim report` takes on RECORDING (.mcap with results): HTML, PDF, spreadsheet."""
    from rtsim.bench import figures
    from rtsim.bench.runs import gait_report

    click.echo(figures.report("report", gait_report.run(recording), as_json))


@command.command("trials")
@AS_JSON
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--method", "methods", multiple=True, help="Solution method (default: zero, minimised, prescribed)."
)
@click.option(
    "--table", "table_path", type=click.Path(dir_okay=False, path_type=Path), help="Markdown table to write."
)
@click.option("--only", default="*", show_default=True, help="Pattern of the trials' paths below FOLDER.")
def trials(as_json: bool, folder: Path, methods: tuple[str, ...], table_path: Path | None, only: str) -> None:
    """Run every trial under FOLDER through `rtsim live` in real time: marker RMS, flagged and lost frames."""
    from rtsim.bench import figures
    from rtsim.bench.markers import trials

    if table_path:
        check_free(table_path, overwrite=True)
    measured, table = trials.run(folder, methods or trials.METHODS, only)
    if table_path:
        write_text(table_path, table + "\n")
    click.echo(figures.report("trials", measured, as_json) if as_json else table)
    if not as_json:
        click.echo(figures.report("trials", [], as_json))


@command.command("coverage")
@AS_JSON
@click.option(
    "--walkers", type=click.IntRange(1), default=200, show_default=True, help="Number of synthetic persons."
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of all random numbers."
)
@click.option(
    "--model", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Also use as many synthetic motions of this model, which has its own markers, as --walkers states.",
)  # fmt: skip
def coverage(as_json: bool, walkers: int, seed: int, model: Path | None) -> None:
    """Measure how often true joint angles are within 1.96 stated standard deviations of the estimated ones,
    on synthetic walkers.
    """
    from rtsim.bench import figures
    from rtsim.bench.coverage import own_markers, run
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole

    compile_first(LastingConsole(stderr=True), ("solver", "deviations"))
    found = run.run(walkers, seed) if model is None else own_markers.run(model, walkers, seed)
    click.echo(figures.report("coverage", found, as_json))


@command.command("damage")
@AS_JSON
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--quick/--full", default=True, help="Test a sample in some minutes (default), or all damage.")
@click.option("--only", default="", metavar="CLASS", help="Test only this class of damage to markers.")
@click.option("--method", default="", help="Test only this method (default: all methods of the model).")
@click.option("--side", type=click.Choice(["right", "left", "both"]), help="Leg (default: each, then both).")
@click.option(
    "--table", "table_path", type=click.Path(dir_okay=False, path_type=Path), help="Markdown table to write."
)
@click.option(
    "--worst", type=click.IntRange(0), default=0, help="Number of worst cases to list per damage class."
)
@click.option("--case", "words", default="", help="Repeat one case that --worst has listed.")
def damage(
    as_json: bool, folder: Path | None, quick: bool, only: str, method: str, side: str | None,
    table_path: Path | None, worst: int, words: str,
) -> None:  # fmt: skip
    """Damage markers of the synthetic walker and of recordings under FOLDER: measure the errors of angles,
    and how often the status warns of them.

    Ctrl-C ends the benchmark early; results so far are reported.
    """
    need_checkout()
    from benchmarks.damage import run
    from rtsim.bench import figures
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole
    from rtsim.live.processes.signals import exit_code

    if table_path:
        check_free(table_path, overwrite=True)
    compile_first(LastingConsole(stderr=True), ("solver", "deviations"))
    if words:
        click.echo(run.repeat(folder, words))
        return
    found = run.run(folder, not quick, only, method, side or "")
    for what, why in found.left_out.items():
        click.echo(f"cases of {what} were left out: {why[0]}", err=True)
    if table_path:
        write_text(table_path, found.table() + "\n")
    click.echo(figures.report("damage", found.figures(), as_json))
    for line in found.worst(worst):
        click.echo(line, err=as_json)
    if found.interrupted:
        raise SystemExit(exit_code() or 130)
