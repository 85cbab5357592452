"""`rtsim analyse`: solves a recording by the computing stages of a live run, as fast as possible."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from msgspec import structs

from rtsim.cli.terminal.format_names import naming_formats
from rtsim.cli.terminal.frame_progress import progress_of
from rtsim.cli.terminal.lines import json_text, tell
from rtsim.cli.terminal.options import (
    ANYWAY_OPTION,
    COLUMNS,
    USUAL_FRAMES,
    check_of_use,
    make_run,
    method_options,
    results_option,
    table_options,
    tell_notes,
)
from rtsim.cli.terminal.plotting import CURVES_OPTION, check_curves, draw_results, paper_for, plot_options
from rtsim.cli.terminal.run_notes import ALL_NOTES_OPTION, tell_missing, tell_of_run
from rtsim.cli.terminal.types import MarkerSource
from rtsim.errors import ConfigError
from rtsim.live.inputs.sources import check_there
from rtsim.live.processes.signals import Interrupted, exit_code, noting_requests
from streams.addresses import is_stream

if TYPE_CHECKING:
    from rtsim.config.runs.run_schema import RunConfig
    from rtsim.files.recording import Results
    from rtsim.live.recorded_run import Ready
    from rtsim.methods.gait.summary import RunGait

INTERRUPTED = "interrupted"
IN_PASSING = "rtsim.in_passing"
"""Key of the click context's meta: set if another command uses the written files and reports on them
itself."""
N_TOLD = 10
"""Largest number of messages that are printed."""


@click.command("analyse")
@naming_formats
@click.argument("source", type=MarkerSource())
@method_options
@results_option
@table_options
@plot_options
@CURVES_OPTION
@ANYWAY_OPTION
@ALL_NOTES_OPTION
@click.option(
    "--compare", is_flag=True, help="Solve the trial with each choice of a config, and compare the results."
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def command(
    source: str, outputs: tuple[Path, ...], plot: Path | None, plot_size: str | None, plot_dpi: int | None,
    curves: str, frames: str, columns: str, anyway: bool, compare: bool, as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Solve SOURCE (walker, jaw:TASK, MARKER_FILES) by the stages of a live run, as fast as possible.

    If SOURCE is a motion (.mot, .sto), it prescribes the coordinates that the table [fdk] of the run names
    as drivers.

    The results equal those of a live run with the same options in which no frame was skipped. Ctrl-C ends
    the command early; results so far are reported and written.
    """
    from rtsim.cli.c3d_results import check_into
    from rtsim.cli.terminal.console import LastingConsole
    from rtsim.files.tables.outputs import check_outputs
    from rtsim.files.tables.storage import STORAGE_SUFFIXES
    from rtsim.live.forces import files_of
    from rtsim.methods.gait.summary import as_figures, gait_of, in_sentences, recorded_with
    from rtsim.report import agreement

    if is_stream(source):
        raise ConfigError(
            f"{source!r} is a stream, not a file",
            where="SOURCE",
            allowed="walker (the built-in simulated gait), or the path of a file",
            remedy="use `rtsim live`",
        )
    if Path(source).suffix.lower() not in STORAGE_SUFFIXES:  # of a motion the run tells more
        check_there(source)
    options = {name: x for name, x in options.items() if name != "all_notes"} | {"source": source}
    run = make_run(**options)
    paper = paper_for(plot, plot_size, plot_dpi)
    check_curves(curves, paper)
    check_outputs(outputs, whole_c3d=True, inputs=files_of(run))
    check_into(outputs, run.source)
    is_table = any(path.suffix.lower() in (*STORAGE_SUFFIXES, ".csv") for path in outputs)
    for option, usual in (("--frames", frames == USUAL_FRAMES), ("--columns", columns == COLUMNS[0])):
        check_of_use(option, is_table or usual, "tables", "add --out FILE.csv, or remove this option")
    console = LastingConsole(stderr=True)
    if compare:
        check_of_use("--compare", run.compare is not None, "a run config with a table [compare]")
        check_of_use(
            "--out" if outputs else "--plot",
            not (outputs or paper),
            "a run with a single choice, not to --compare",
        )
        from rtsim.cli.runs.compared_choices import compared

        tables = compared(run, options, anyway, console)
        click.echo(json_text(tables, indent=1) if as_json else agreement.in_words(tables))
        return
    solved = solve(run, anyway, console, curves)
    for said in solved.sentences[:N_TOLD]:
        tell(said)
    whose = str(solved.results.session.meta.get("person", ""))
    gait = gait_of(solved.results, run.source, whose, with_plates=not solved.wrong)
    solved = solved._replace(results=recorded_with(solved.results, gait))
    told = {**summary(solved), "gait": as_figures(gait)}
    deliver(solved.results, outputs, (frames, columns), (paper, curves), Path(source), run, gait)
    words = [in_words(told), *in_sentences(gait)]
    click.echo(json_text(told, indent=1) if as_json else "\n".join(words))
    tell_missing(solved.notes)
    if solved.reason == INTERRUPTED:
        raise SystemExit(exit_code() or 130)
    check_usable(solved, source)


class AnalysedRecording(NamedTuple):
    """A recording that was solved, with its results.

    seconds : computing time [s]
    reason : why the run ended
    gauges : last numbers that the run reported about itself, such as its marker RMS
    sentences : messages reported during the run
    wrong : reason why no force plate can be used; "" = they can be used
    plates : whether force plates were requested
    notes : sentences on the run that are stored with the results
    """

    results: Results
    seconds: float
    reason: str
    gauges: dict[str, float]
    sentences: list[str]
    wrong: str = ""
    plates: bool = False
    notes: Sequence[str] = ()


def solve(run: RunConfig, anyway: bool, console: Any, curves: str = "") -> AnalysedRecording:
    """Check a run, print the notes on it, and return its recording with the results; ConfigError if no frame
    has a result, or if curves are requested that the results do not have.

    anyway : whether to accept a recording that does not fit the subject
    curves : names of the requested curves
    """
    from rtsim.live.inputs.prescribed_motion_run import is_driven

    ready = driven(run, console) if is_driven(run) else recorded(run, anyway, console)
    return gone_through(run, ready, console, curves, anyway)


def driven(run: RunConfig, console: Any) -> Ready:
    """Prepare a run in which a recorded motion prescribes coordinates: check it, report notes, compile its
    stages; return what the loop over the frames needs.
    """
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.live.inputs.prescribed_motion_run import check_driven, groups_of_motion, session_of, stage_of

    check_driven(run)
    tell_notes(run)
    compile_first(console, groups_of_motion(run))
    from rtsim.live.inputs.recorded import TimesInput

    notes: list[str] = []
    with console.status("starting"):
        stage = stage_of(run, notes.append)
    for note in notes:
        tell(note)
    from rtsim.live.recorded_run import Ready

    times, session = stage.drivers.times, session_of(stage.drivers)
    return Ready(len(times), lambda progress: TimesInput(times, session, progress), [stage], notes)


def recorded(run: RunConfig, anyway: bool, console: Any) -> Ready:
    """Prepare a run over a recording of markers, with or without force plates: check it, report notes,
    compile its stages; return what the loop over the frames needs.

    anyway : whether to accept a recording that does not fit the subject
    """
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.live.checks import check_run
    from rtsim.live.compiled.group_table import groups_of
    from rtsim.live.forces import check_forces
    from rtsim.live.subjects.persons import with_person
    from rtsim.live.subjects.subject_check import notes_before

    check_run(run)
    check_forces(run, streamed=False)
    tell_notes(run)
    run, whose = with_person(run)
    notes = (*whose, *notes_before(run, anyway=anyway))
    tell_of_run(notes)
    compile_first(console, groups_of(run))
    from rtsim.live.recorded_run import made_ready, name_ahead, trial_of

    with console.status("starting"):
        trial = trial_of(run)
        ready = made_ready(run, trial, notes)
    if run.label_unnamed:
        with progress_of(console, 2 * ready.n_frame) as progress:
            name_ahead(ready, trial, progress)
    for note in ready.plates:
        tell(note)
    return ready


def gone_through(
    run: RunConfig, ready: Ready, console: Any, curves: str = "", anyway: bool = False
) -> AnalysedRecording:
    """Solve the frames of a prepared run, until the last one or an interruption; return the results.

    curves : names of curves to check before the run
    anyway : whether to accept markers without names that belong to another person
    """
    from rtsim.files.tables.curve_choice import chosen_cells
    from rtsim.live.inputs.recorded import KeptResults
    from rtsim.live.loop import Loop
    from rtsim.live.processes.serve import meta_of
    from rtsim.live.subjects.unnamed_check import check_named

    kept = KeptResults(lambda session: chosen_cells(session, curves))
    meta = meta_of(structs.replace(run, person=ready.person), ready.notes)
    with progress_of(console, ready.n_frame) as progress:
        loop = Loop(ready.open_source(progress), ready.stages, kept, meta)
        with noting_requests(lambda number: loop.stop(INTERRUPTED)):
            begun = perf_counter()
            loop.run()
            seconds = perf_counter() - begun
    results = kept.results()
    if results is None and loop.reason == INTERRUPTED:
        raise Interrupted
    if loop.reason != INTERRUPTED and not anyway:
        check_named(ready.stages, run, run.source)
    if results is None:
        raise ConfigError(
            "no frame of the trial could be solved",
            where=run.source,
            remedy="read the messages printed above: they say why frames failed",
        )
    gauges = kept.telemetry.gauges if kept.telemetry else {}
    return AnalysedRecording(
        results=results,
        seconds=seconds,
        reason=loop.reason,
        gauges=gauges,
        sentences=kept.sentences,
        wrong=ready.wrong,
        plates=bool(run.forces),
        notes=ready.notes,
    )


def check_usable(solved: AnalysedRecording, source: str) -> None:
    """Raise ConfigError if no solved frame is usable, or if force plates are required and gave no results."""
    from rtsim.live.recorded_run import check_results

    check_results(solved.results, source, solved.wrong, solved.plates)


def deliver(
    results: Results, outputs: Sequence[Path], of_tables: tuple[str, str], of_figure: tuple[Any, str], source:
    Path, run: RunConfig, gait: RunGait,
) -> None:  # fmt: skip
    """Write tables, C3D files and figure, and report each of them.

    of_tables : values of --frames and --columns; of_figure : destination of the figure or None, and --curves
    """
    from rtsim.cli.c3d_results import is_c3d, write_beside
    from rtsim.files.tables.outputs import write

    for note in gait.notes:
        tell(f"{source}: {note}")
    for path in outputs:
        notes = (
            write_beside(path, results, gait, run.source, run.up, run.units)
            if is_c3d(path)
            else write(path, results, source.stem, *of_tables)
        )
        for note in notes:
            tell(f"{path}: {note}")
        if not click.get_current_context().meta.get(IN_PASSING):
            click.echo(f"wrote {path}", err=True)
    paper, curves = of_figure
    if paper:
        draw_results(paper, results, source.name, curves)


def summary(solved: AnalysedRecording) -> dict[str, Any]:
    """Return the summary of a solved recording for --json, with null in place of NaN."""
    from rtsim.files.tables.sound import flags_by_joint
    from rtsim.methods.plates.kinetic_figures import kinetic_figures
    from streams.messages import Status

    results, wall = solved.results, solved.seconds
    counted: Counter[str] = Counter()
    for status in results.status.tolist():
        counted.update(Status(status).names().split(", "))
    n, length = len(results.times), float(results.times[-1] - results.times[0])
    rms = solved.gauges.get("marker_rms_mm", math.nan)
    return {
        "model": results.session.meta.get("model"),
        "method": results.session.meta.get("method"),
        "chosen": results.session.meta.get("chosen", []),
        "subject": results.session.meta.get("subject"),
        "side": results.session.meta.get("side"),
        "source": results.session.meta.get("source"),
        "notes": results.session.meta.get("notes", []),
        "outcome": solved.reason,
        "frames": n,
        "status": dict(counted),
        "implausible": implausible(results),
        "flagged_by_joint": flags_by_joint(results),
        "marker_rms_mm": rms if rms == rms else None,
        "compute_s": wall,
        "real_time_factor": length / wall if wall > 0.0 else None,
        "fields": [spec.name for spec in results.session.fields],
        "kinetics": kinetic_figures(results) if not solved.wrong else None,
        "told": solved.sentences,
    }


def implausible(results: Results) -> dict[str, int]:
    """Return for each angle the number of frames in which it is outside the range of its joint."""
    labels = next((spec.labels for spec in results.session.fields if spec.name == "joint_angles"), ())
    outside = results.fields.get("joint_angles_implausible")
    if outside is None:
        return {}
    counted = zip(labels, (outside == 1.0).sum(axis=0).tolist(), strict=True)
    return {name: n for name, n in counted if n}


def in_words(told: dict[str, Any]) -> str:
    """Return the summary of a solved recording as text for users."""
    from rtsim.methods.plates.kinetic_figures import in_sentences
    from rtsim.report.tally import in_full, pace

    paced = f", {pace(told['real_time_factor'])}" if told["real_time_factor"] else ""
    flags = ", ".join(f"{name} {n}" for name, n in told["status"].items())
    side = f", {told['side']}" if told["side"] else ""
    method = in_full(told["method"], told["chosen"])
    beyond = ", ".join(f"{angle} in {n} frames" for angle, n in told["implausible"].items())
    joints = ", ".join(f"{joint} in {n} frames" for joint, n in told["flagged_by_joint"].items())
    rms = f"; marker RMS {told['marker_rms_mm']:.2f} mm" if told["marker_rms_mm"] is not None else ""
    return "\n".join(
        (
            f"{told['frames']} frames ({flags}){rms}; {told['model']}, {method}{side}",
            *([f"implausible angles: {beyond}"] if beyond else []),
            *([f"flagged joints: {joints}"] if joints else []),
            *(in_sentences(told["kinetics"]) if told["kinetics"] else []),
            f"computed in {told['compute_s']:.3g} s{paced}; {told['outcome']}",
        )
    )
