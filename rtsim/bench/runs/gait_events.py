"""Benchmark of gait events from markers against those from force plates, on recordings solved by `rtsim
analyse`.

A plate detects a foot strike where the force under a foot exceeds 20 N, interpolated linearly between
frames. The events that every run finds from markers, as it does without plates, are compared with it.
"""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.markers.recordings import RECORDINGS, Recording, arguments_of, called
from rtsim.errors import ConfigError
from rtsim.files.gait.events import OFF, STRIKE
from rtsim.files.recording import Results, read_results
from rtsim.methods.gait.found_events import by_plates, nearest
from rtsim.methods.gait.marker_events import by_markers

WITHIN_S = 0.2
"""Events of plates and markers within this time are the same one [s]."""
LIMITS_MS = {STRIKE: 15.0, OFF: 20.0}
"""Limits of the root mean square of the time differences [ms]."""
STILL = ("*static*", "*squats*", "*STS*")
STEPS_DOWN = {
    "pycgm.steps": Recording("gait_pycgm/Movement_trial.c3d", "", "gait_pycgm/Static_trial.c3d", 0.0)
}
"""A person who goes down steps, whose mass is stored with the trial."""


def run(folder: Path) -> list[BenchFigure]:
    """Compare the gait events (foot strike, toe-off) that are found from markers with those from force
    plates, on the recorded walks below a folder; return the benchmark results. ConfigError if there is no
    walk.
    """
    walks = {n: r for n, r in RECORDINGS.items() if not any(fnmatch(n, still) for still in STILL)}
    there = {n: r for n, r in {**walks, **STEPS_DOWN}.items() if (folder / r.source).is_file()}
    if not there:
        raise ConfigError(
            f"none of the {len(walks)} walks was found; the first one is "
            f"{next(iter(walks.values())).source}",
            where=str(folder), remedy="give the folder that contains the walks",
        )  # fmt: skip
    figures: list[BenchFigure] = []
    off: dict[str, list[float]] = {STRIKE: [], OFF: []}
    for name, recording in there.items():
        say(f"gait-events: {name}")
        results = analysed(folder, recording)
        if results is None:
            figures.append(BenchFigure(f"failed.{name}", 1.0, "recordings", 0.0, "lower"))
            continue
        figures += compared(name, results, off)
    for kind, found in off.items():
        if found:
            limit = LIMITS_MS[kind]
            figures.append(BenchFigure(f"rms_ms.{word(kind)}", rms(found), "ms", limit, "lower"))
            figures.append(BenchFigure(f"mean_ms.{word(kind)}", float(np.mean(found)), "ms"))
            figures.append(BenchFigure(f"largest_ms.{word(kind)}", float(np.abs(found).max()), "ms"))
            figures.append(BenchFigure(f"compared.{word(kind)}", float(len(found)), "events"))
    return figures


def analysed(folder: Path, recording: Recording) -> Results | None:
    """Analyse a recording below the folder by `rtsim analyse` and return the results; None if the command
    fails.
    """
    options = arguments_of(folder, recording)
    if not recording.mass_kg:
        options = options[: options.index("--mass")]
    with TemporaryDirectory() as place:
        path = Path(place) / "results.mcap"
        if not called("analyse", str(folder / recording.source), *options, "--out", str(path)):
            return None
        return read_results(path)


def compared(name: str, results: Results, off: dict[str, list[float]]) -> list[BenchFigure]:
    """Return benchmark results that compare the gait events of one recording from markers and from plates.

    off : for each kind of event, the list to which the differences, time by markers minus time by plates, are
        appended [ms]
    """
    plates, markers = by_plates(results), by_markers(results)
    figures = []
    for kind, found in off.items():
        told = [event for event in plates if event.kind == kind]
        pairs = [(event, nearest(event, markers, WITHIN_S)) for event in told]
        differ = [1e3 * (match.time - event.time) for event, match in pairs if match is not None]
        found += differ
        figures.append(BenchFigure(f"on_plates.{word(kind)}.{name}", float(len(told)), "events"))
        figures.append(
            BenchFigure(f"without_marker_event.{word(kind)}.{name}", len(told) - len(differ), "events")
        )
        if differ:
            figures.append(BenchFigure(f"rms_ms.{word(kind)}.{name}", rms(differ), "ms"))
    return figures


def word(kind: str) -> str:
    """Return a kind of gait event as it appears in the name of a benchmark result, without spaces."""
    return kind.replace(" ", "_")


def rms(numbers: list[float]) -> float:
    """Return the root mean square of time differences between events [ms]."""
    return float(np.sqrt(np.mean(np.square(numbers))))
