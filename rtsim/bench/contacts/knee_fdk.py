"""Benchmark of a person's knee under force-dependent kinematics (FDK): the shipped walking trial, and
recordings on force plates.

Each trial is solved by the shipped run `knee_fdk` for the right leg. Reported are the time to find the
equilibrium of a frame, the number of frames without an equilibrium, and the largest contact force beside
measurements with instrumented prostheses.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from kernels.fdk.problem import BALANCED, NOT_BORNE
from rtsim.bench.contacts.fdk import LOST_PERCENT, P50_MS, P99_MS, percentile
from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.markers.recordings import RECORDINGS
from rtsim.config.paths import find_config
from rtsim.config.runs.choices import load_run
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import RtsimError
from rtsim.files.recording import Results
from rtsim.live.forces import forces_of
from rtsim.live.inputs.recorded import KeptResults, RecordingInput
from rtsim.live.inputs.sources import load_trial
from rtsim.live.loop import Loop
from rtsim.live.processes.serve import prepare
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.stages.fdk import BalancedJoint

CONFIG, GRAVITY = "knee_fdk", 9.81
WALKING, BENDING, STANDING = 2.61, 2.53, 1.07
"""Peaks of the contact force in body weights, means of five persons: Kutzner et al. (2010) J Biomech 43,
2164-2173."""
PUBLISHED = {
    "lenhart.walk": WALKING, "opensim.walk": WALKING, "bmc.walk1": WALKING, "opencap.walking1": WALKING,
    "opencap.squats1": BENDING, "opencap.static1": STANDING,
}  # fmt: skip


class TimedBalances(NamedTuple):
    """Timed solution of a recording by force-dependent kinematics: duration of the search for the equilibrium
    in every frame [ms], the number of frames without an equilibrium, and the results of the run.
    """

    ms: list[float]
    lost: int
    results: Results


def run(folder: Path | None = None) -> list[BenchFigure]:
    """Return the benchmark results of the shipped walking trial, and of the recordings that exist below a
    folder.
    """
    usual = load_run(find_config(CONFIG, "runs"))
    found = figures_of("walker", usual, None)
    for name, published in PUBLISHED.items():
        recording = RECORDINGS[name]
        if folder is None or not (folder / recording.source).is_file():
            say(f"knee-fdk: the file {name} is missing")
            continue
        of_files = {
            key: str(folder / path) if path else ""
            for key, path in (
                ("source", recording.source), ("forces", recording.forces), ("static", recording.static)
            )
        }  # fmt: skip
        found += figures_of(name, replace(usual, mass_kg=recording.mass_kg, **of_files), published)
    return found


def figures_of(name: str, of: RunConfig, published: float | None) -> list[BenchFigure]:
    """Return the benchmark results of one recording, or of the shipped walking trial.

    name : beginning of their names; of : the run, with the files of the recording
    published : contact force measured with instrumented prostheses [body weights], None = none to compare
        with
    """
    say(f"knee-fdk: {name}")
    timed = balanced(of)
    pressed = np.linalg.norm(timed.results.fields["joint_point_forces"], axis=2).sum(axis=1)
    weights = float(np.nanmax(pressed)) / (GRAVITY * of.mass_kg)
    lost = 100.0 * timed.lost / len(timed.ms)
    return [
        BenchFigure(f"{name}.frames", float(len(timed.ms)), "1"),
        BenchFigure(f"{name}.frame_ms.p50", percentile(timed.ms, 50), "ms", P50_MS, "lower"),
        BenchFigure(f"{name}.frame_ms.p99", percentile(timed.ms, 99), "ms", P99_MS, "lower"),
        BenchFigure(f"{name}.not_converged_percent", lost, "%", LOST_PERCENT, "lower"),
        BenchFigure(f"{name}.contact_weights", weights, "1", published, "lower"),
    ]


def balanced(of: RunConfig) -> TimedBalances:
    """Solve the recording of a run by force-dependent kinematics; return the results, and the duration of the
    search for the equilibrium of every frame.
    """
    trial, feed, kept = load_trial(of.source), ForceFeed(), KeptResults()
    forces, stages = forces_of(of, trial), prepare(of, feed)
    stage = stages[-1]
    assert isinstance(stage, BalancedJoint)
    ms: list[float] = []
    statuses: list[int] = []
    vars(stage.balanced)["balance"] = clocked(stage.balanced.balance, ms, statuses)
    Loop(RecordingInput(trial, lambda n: None, forces, feed), stages, kept, {}).run()
    results = kept.results()
    if results is None or not ms:
        raise RtsimError(f"bench knee-fdk: no frame of {of.source} has a ground reaction force")
    return TimedBalances(ms, sum(status not in (BALANCED, NOT_BORNE) for status in statuses), results)


def clocked(balance: Callable[..., int], ms: list[float], statuses: list[int]) -> Callable[..., int]:
    """Wrap the function that finds the equilibrium of a frame, so that it records the duration and the final
    status of each call.
    """

    def noted(*markers: np.ndarray) -> int:
        begun = perf_counter_ns()
        status = balance(*markers)
        ms.append(1e-6 * (perf_counter_ns() - begun))
        statuses.append(status)
        return status

    return noted
