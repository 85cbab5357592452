"""`rtsim replay --exact`: recomputes a recorded run, and reports whether its results are the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtsim.cli.runs.difference_lines import quantity_lines, status_line
from rtsim.cli.terminal.lines import json_text, tell
from rtsim.files.markers.trial import count_of

if TYPE_CHECKING:
    from rtsim.config.runs.run_schema import RunConfig
    from rtsim.live.exact.reading import RecordedRun
    from rtsim.live.exact.replay import ReplayOutcome

MOST_TOLD = 8
"""Largest number of printed entries of descriptors, and of facts on the build."""


def replay_exactly(path: Path, tolerance: float | None, as_json: bool) -> int:
    """Recompute the run of a recording and report the outcome; return the exit code."""
    from rtsim.live.exact.reading import read_run
    from rtsim.live.exact.replay import ROUNDING

    recorded = read_run(path)
    for note in recorded.notes:
        tell(note)
    outcome = computed(recorded, ROUNDING if tolerance is None else tolerance)
    if as_json:
        click.echo(json_text(outcome.row()))
    else:
        for line in lines_of(outcome):
            click.echo(line)
    return outcome.code


def computed(recorded: RecordedRun, tolerance: float) -> ReplayOutcome:
    """Recompute a recorded run, with a progress bar in a terminal, and return the comparison of the results
    with the recorded ones; kernels are compiled if necessary.
    """
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole
    from rtsim.cli.terminal.frame_progress import progress_of
    from rtsim.live.compiled.group_table import groups_of
    from rtsim.live.exact.replay import replayed

    console = LastingConsole(stderr=True)

    def before(run: RunConfig) -> None:
        compile_first(console, groups_of(run))

    with progress_of(console, recorded.n_frame) as progress:
        return replayed(recorded, tolerance, before, progress)


def lines_of(outcome: ReplayOutcome) -> list[str]:
    """Return the outcome of a replay as lines of text."""
    results, recorded = outcome.results, outcome.recorded
    found = [
        f"{recorded.path}: {results.n_equal} of {count_of(results.n_result, 'result')} and "
        f"{results.n_session_equal} of {count_of(results.n_session, 'descriptor')} are equal byte for byte."
    ]
    taken = [
        count_of(outcome.n_frame, "frame"),
        *([f"{recorded.n_skipped} more frames were skipped"] if recorded.n_skipped else []),
        count_of(recorded.n_command, "command"),
        f"{count_of(recorded.n_session, 'session')} of markers and forces",
    ]
    found.append(f"The run has {', '.join(taken)}.")
    if outcome.build:
        told = _listed(outcome.build)
        found.append(
            f"The run was recorded by another build or on another machine: {told}; so results are also "
            f"compared within {outcome.tolerance:g} of each quantity's peak."
        )
    if recorded.cut:
        beyond = (
            f", and {count_of(results.n_beyond, 'result')} after the gap are not compared"
            if results.n_beyond
            else ""
        )
        found.append(
            f"The recording is not whole: {recorded.cut}; only results before this gap are compared{beyond}."
        )
    if results.n_unrecorded:
        found.append(f"{count_of(results.n_unrecorded, 'result')} of the run are not in the recording.")
    if results.n_missing:
        found.append(f"{count_of(results.n_missing, 'result')} of the recording were not reproduced.")
    if results.altered:
        found.append(f"The descriptors differ: {_listed(results.altered)}.")
    found += status_line(results.status, "the recording", "the replay")
    found += quantity_lines(results.quantities.values(), "the recording", "the replay")
    found.append(verdict(outcome))
    return found


def verdict(outcome: ReplayOutcome) -> str:
    """Return the last line: whether the replay is exact."""
    if not outcome.results.n_result:
        return "Nothing could be compared."
    if outcome.is_equal:
        return f"The replay is exact{' as far as the recording goes' if outcome.recorded.cut else ''}."
    if outcome.code == 0:
        return "The replay is equal but for rounding."
    return "The replay differs from the recording."


def _listed(words: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(words) - MOST_TOLD} more" if len(words) > MOST_TOLD else ""
    return ", ".join(words[:MOST_TOLD]) + more
