"""Benchmark of the gait phase: its error on synthetic walks of twenty strides, and between heel strikes on
plates.

Errors are fractions of the stride and count after the second stride, whatever the confidence. Synthetic
walks have a known phase: joint angles of the shipped walking trial at a varying cadence, and feet on a belt
(`belt`), that shuffle (`short`) or limp (`limp`); 2 mm of noise are added at 100 Hz. In recordings the phase
between two heel strikes of one foot on plates is the time since the first strike divided by the time between
the two; the estimate uses markers alone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.markers.recordings import RECORDINGS, Recording
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import RunConfig
from rtsim.methods.gait_phase import GaitPhase
from rtsim.models.load import load_model
from rtsim.subjects.anatomy import Anatomy
from rtsim.subjects.both_sides import symmetric
from rtsim.subjects.made_up.walker import body_poses
from rtsim.subjects.subject import load_subject

Array = NDArray[np.float64]
Walk = Callable[[Array], Array]
"""Function of the number of strides walked so far (n,) that gives the positions (n, 2) of the right and the
left foot in front of the pelvis [m]."""

N_STRIDE = 20
RATE = 100.0
NOISE_M = 0.002
BEGIN = 0.3
"""Phase of the right foot at the start of a walk, so that the first heel strikes of both feet follow."""
SETTLED = 2.0
"""Number of strides of a foot, from its first heel strike on, after which errors count."""
STOP_S = 2.0
"""Time that the walker stands at the end of a walk that stops [s]."""
LIMIT, LIMIT_RECORDED = 3.0, 5.0
"""Limits of the error in synthetic walks and in recordings [% of the stride]."""
TWO = 2


def steady(strides: Array) -> Array:
    """Return a constant cadence [strides/s]; strides : (n,) - number of strides walked so far."""
    return np.full_like(strides, 0.9)


def faster(strides: Array) -> Array:
    """Return a cadence that rises from that of a stroll to that of a brisk walk [strides/s].

    strides : (n,) - number of strides walked so far
    """
    return 0.7 + 0.45 * strides / N_STRIDE


def slower(strides: Array) -> Array:
    """Return a cadence that falls from that of a brisk walk to that of a stroll [strides/s].

    strides : (n,) - number of strides walked so far
    """
    return 1.15 - 0.45 * strides / N_STRIDE


def waves(strides: Array) -> Array:
    """Return a cadence that varies by 15 % up and down, so that a stride is up to 13 % longer than the one
    before [strides/s].

    strides : (n,) - number of strides walked so far
    """
    return 0.9 * (1.0 + 0.15 * np.sin(2.0 * np.pi * strides / 7.0))


def varies(strides: Array) -> Array:
    """Return a cadence that varies from stride to stride at random, with a standard deviation of 2 %
    [strides/s].

    strides : (n,) - number of strides walked so far
    """
    chance = np.random.default_rng(0).normal(0.0, 0.02, N_STRIDE + 2)
    return 0.9 * (1.0 + np.interp(strides, np.arange(N_STRIDE + 2), chance))


def steps(strides: Array) -> Array:
    """Return a cadence that rises by a quarter within a stride, and later falls back by half of that
    [strides/s].

    strides : (n,) - number of strides walked so far
    """
    up, down = (1.0 / (1.0 + np.exp(-4.0 * (strides - at))) for at in (8.0, 14.0))
    return 0.8 + 0.2 * up - 0.1 * down


CADENCES = (steady, faster, slower, waves, varies, steps)


def walker() -> Walk:
    """Return the shipped walking trial as a synthetic walk: a function of the number of strides walked (n,)
    that gives the distance of the right and the left ankle in front of the pelvis, (n, 2) [m].
    """
    spec = load_model("both_legs")
    subject = symmetric(load_subject(find_config("walker", "subjects")))
    anatomy = Anatomy(spec, subject)

    def places(strides: Array) -> Array:
        rotations, origins = body_poses(spec, anatomy, 2.0 * np.pi * strides)
        forwards = rotations["pelvis"][:, :, 0] * (1.0, 0.0, 1.0)
        forwards /= np.linalg.norm(forwards, axis=1)[:, None]
        feet = [origins[name] - origins["pelvis"] for name in ("foot_r", "foot_l")]
        return np.stack([np.einsum("nk,nk->n", foot, forwards) for foot in feet], axis=1)

    return places


def belt(stance: tuple[float, float], length_m: float, down: float, shift: float = 0.5) -> Walk:
    """Return a walk on a treadmill, a function of the number of strides walked (n,) that gives the positions
    of both feet along the belt, (n, 2) [m]: the belt carries a foot back in stance, and in swing the foot
    moves to the front along a polynomial of time.

    Parameters
    ----------
    stance : duration of stance of the right and the left foot, as a fraction of the stride
    length_m : distance that the belt carries the feet [m]
    down : backward speed just before heel strike, relative to that of the belt
    shift : lead of the left foot's phase before the right one's [strides]
    """

    def one(phase: Array, stance: float) -> Array:
        swing = 1.0 - stance
        u = np.clip((phase - stance) / swing, 0.0, 1.0)
        off, on = -length_m / stance * swing, -down * length_m / stance * swing
        cubic, quartic, quintic = (
            10.0 * length_m - 6.0 * off - 4.0 * on,
            -15.0 * length_m + 8.0 * off + 7.0 * on,
            6.0 * length_m - 3.0 * off - 3.0 * on,
        )
        swung = -0.5 * length_m + off * u + u**3 * (cubic + u * (quartic + u * quintic))
        return np.where(phase < stance, length_m * (0.5 - phase / stance), swung)

    return lambda strides: np.stack(
        [one(strides % 1.0, stance[0]), one((strides + shift) % 1.0, stance[1])], axis=1
    )


WALKS: dict[str, tuple[Callable[[], Walk], float]] = {
    "walker": (walker, 0.5),
    "belt": (lambda: belt((0.62, 0.62), 0.6, 0.4), 0.5),
    "short": (lambda: belt((0.68, 0.68), 0.35, 0.3), 0.5),
    "limp": (lambda: belt((0.58, 0.68), 0.5, 0.4, 0.55), 0.55),
}
"""Walks by name: the function that makes each, and how far the left foot's phase is before the right
one's."""


class PhaseCourse(NamedTuple):
    """The estimated gait phase over time: times (n,) [s]; phases and confidences (n, 2) of the right and the
    left foot.
    """

    times: Array
    phases: Array
    confidences: Array


def strides_at(times: Array, cadence: Callable[[Array], Array]) -> Array:
    """Return the number of strides walked at times (n,) [s]; it is BEGIN at time 0 and stays at N_STRIDE once
    reached; cadence : function of the strides walked that gives the cadence [strides/s]
    """
    strides: Array = np.linspace(BEGIN, N_STRIDE, 1000 * N_STRIDE + 1)
    pace = 1.0 / cadence(strides)
    passed = np.concatenate([[0.0], np.cumsum(0.5 * (pace[1:] + pace[:-1]) * np.diff(strides))])
    return np.interp(times, passed, strides)


def follow(times: Array, places: Array) -> PhaseCourse:
    """Estimate the gait phase, sample after sample; times : (n,) [s]; places : (n, n_foot) - positions of the
    feet along the direction of walking, in front of the pelvis or of a point fixed in the laboratory [m]
    """
    n_foot = places.shape[1]
    estimate = GaitPhase(n_foot)
    phases, confidences = np.full((len(times), n_foot), np.nan), np.zeros((len(times), n_foot))
    for k, time in enumerate(times.tolist()):
        estimate.add(time, places[k].tolist())
        for foot, stride in enumerate(estimate.strides):
            phases[k, foot], confidences[k, foot] = stride.phase, stride.confidence
    return PhaseCourse(times, phases, confidences)


def walked(
    walk: Walk, cadence: Callable[[Array], Array], rate: float = RATE, n_foot: int = TWO
) -> tuple[Array, PhaseCourse]:
    """Simulate a walk at a cadence up to its twentieth stride, with noise; return the number of strides
    walked (n,) and the phase that is estimated from it.

    walk : positions of the feet as a function of the strides walked; cadence : cadence as a function of these
    rate : samples per second; n_foot : 2 = both feet are known, 1 = only the right one
    """
    end_s = float(np.sum(1.0 / cadence(np.linspace(0.5, N_STRIDE - 0.5, N_STRIDE))))
    times = np.arange(0.0, 2.0 * end_s, 1.0 / rate)
    strides = strides_at(times, cadence)
    times, strides = times[strides < N_STRIDE], strides[strides < N_STRIDE]
    noise = np.random.default_rng(0).normal(0.0, NOISE_M, (len(times), TWO))
    return strides, follow(times, (walk(strides) + noise)[:, :n_foot])


def errors_of(strides: Array, course: PhaseCourse, shift: float) -> Array:
    """Return the errors of the phase of all feet after their second stride [% of the stride]; a missing phase
    counts as an error of half a stride.

    strides : (n,) - number of strides walked at each time; shift : lead of the left foot's phase [strides]
    """
    found = []
    for foot, ahead in enumerate((0.0, shift)[: course.phases.shape[1]]):
        own = strides + ahead
        first = np.ceil(own[0])
        off = (course.phases[:, foot] - own + 0.5) % 1.0 - 0.5
        found.append(100.0 * np.nan_to_num(off[own >= first + SETTLED], nan=0.5))
    return np.concatenate(found)


def stopped(walk: Walk, cadence: Callable[[Array], Array], stop_at: float) -> tuple[float, float]:
    """Let a walk stop, and return the times from then until the confidence of the estimated phase of both
    feet is below a half, and until it is 0 [s].

    walk : positions of the feet as a function of the strides walked; cadence : cadence as a function of these
    stop_at : number of strides after which the walk stops and its pose stays
    """
    times = np.arange(0.0, 2.0 * N_STRIDE, 1.0 / RATE)
    strides = np.minimum(strides_at(times, cadence), stop_at)
    end = times[np.argmax(strides == stop_at)]
    keep = times < end + STOP_S
    noise = np.random.default_rng(0).normal(0.0, NOISE_M, (int(keep.sum()), TWO))
    course = follow(times[keep], walk(strides[keep]) + noise)
    most = course.confidences.max(axis=1)
    after = course.times - end
    return tuple(float(after[most >= least].max(initial=0.0)) for least in (0.5, 1e-9))  # type: ignore[return-value]


def run(folder: Path | None = None) -> list[BenchFigure]:
    """Return the benchmark results of all synthetic walks, and of the recordings below a folder."""
    figures = []
    for name, (make, shift) in WALKS.items():
        walk = make()
        for cadence in CADENCES:
            strides, course = walked(walk, cadence)
            errors = np.abs(errors_of(strides, course, shift))
            of = f"{name}.{cadence.__name__}"
            figures.append(
                BenchFigure(f"error_percent.{of}", float(errors.max()), "% of the stride", LIMIT, "lower")
            )
            figures.append(
                BenchFigure(f"error_p95_percent.{of}", float(np.percentile(errors, 95.0)), "% of the stride")
            )
        alone = [np.abs(errors_of(*walked(walk, cadence, n_foot=1), shift)).max() for cadence in CADENCES]
        figures.append(BenchFigure(f"one_foot_percent.{name}", float(max(alone)), "% of the stride"))
        fell = [stopped(walk, steady, 10.0 + part) for part in np.linspace(0.0, 0.9, 10)]
        figures.append(BenchFigure(f"stop_half_s.{name}", max(half for half, _ in fell), "s"))
        figures.append(
            BenchFigure(f"stop_nothing_s.{name}", max(nothing for _, nothing in fell), "s", 1.5, "lower")
        )
    if folder is None:
        return figures
    for name, recording in RECORDINGS.items():
        walks = "squats" not in name and "STS" not in name and "static" not in name
        if walks and (folder / recording.source).is_file():
            say(f"gait-phase: {name}")
            figures += recorded(name, folder, recording)
    return figures


def recorded(name: str, folder: Path, recording: Recording) -> list[BenchFigure]:
    """Return the benchmark results of a recording: the error of the estimated phase between heel strikes on
    force plates, the error at the strikes, and the share of frames with a reported phase.
    """
    course, strikes = solved(folder, recording)
    between, at, n_frame = [], [], 0
    for foot, times in enumerate(strikes):
        phase = course.phases[:, foot]
        for begin, end in pairwise(times):
            inside = (course.times >= begin) & (course.times < end)
            n_frame += int(inside.sum())
            off = phase[inside] - (course.times[inside] - begin) / (end - begin)
            between.append(100.0 * ((off + 0.5) % 1.0 - 0.5))
        for strike in times:
            k = int(np.searchsorted(course.times, strike))
            off = (phase[min(k, len(phase) - 1)] + 0.5) % 1.0 - 0.5
            at.append(100.0 * off)
    found = np.abs(np.concatenate(between)) if between else np.zeros(0)
    told = found[np.isfinite(found)]
    known = np.abs(np.array(at))[np.isfinite(at)]
    figures = [BenchFigure(f"strikes.{name}", float(len(at)), "on plates")]
    if len(told):
        figures.append(
            BenchFigure(
                f"error_percent.{name}", float(told.max()), "% of the stride", LIMIT_RECORDED, "lower"
            )
        )
        figures.append(BenchFigure(f"told_percent.{name}", 100.0 * len(told) / n_frame, "% of these frames"))
    if len(known):
        figures.append(BenchFigure(f"at_strike_percent.{name}", float(known.max()), "% of the stride"))
    return figures


def solved(folder: Path, recording: Recording) -> tuple[PhaseCourse, list[Array]]:
    """Return the phase estimated from the markers of a recording, and the times of heel strikes on its
    plates, (n_strike,) for the right and for the left side [s].
    """
    from rtsim.files.forces.force_trial import THRESHOLD
    from rtsim.live.forces import forces_of
    from rtsim.live.inputs.recorded import KeptResults, RecordingInput
    from rtsim.live.inputs.sources import load_trial
    from rtsim.live.loop import Loop
    from rtsim.live.processes.serve import prepare
    from rtsim.methods.plates.force_feed import ForceFeed
    from rtsim.stages.gait_phase import GaitPhases
    from rtsim.stages.plates import FootLoads

    run = RunConfig(
        name="gait-phase", source=str(folder / recording.source),
        static=str(folder / recording.static) if recording.static else "",
        forces=str(folder / recording.forces) if recording.forces else "",
        stages=("kinematics", "gait_phase", "plates"),  # in this order the plates do not help
    )  # fmt: skip
    trial = load_trial(run.source)
    feed = ForceFeed()
    stages = prepare(run, feed)
    _, phases, plates = stages
    assert isinstance(phases, GaitPhases)
    phases.marked = []  # what somebody marked by the plates is not found
    kept = KeptResults()
    Loop(RecordingInput(trial, forces=forces_of(run, trial), feed=feed), stages, kept).run()
    results = kept.results()
    assert results is not None
    assert isinstance(plates, FootLoads)
    times, strikes = results.times, []
    for bearer in phases.bearers(plates):
        load = results.fields["foot_loads"][:, bearer]
        rises = np.flatnonzero((load[:-1] <= THRESHOLD) & (load[1:] > THRESHOLD))
        part = (THRESHOLD - load[rises]) / (load[rises + 1] - load[rises])
        strikes.append(times[rises] + part * (times[rises + 1] - times[rises]))
    return PhaseCourse(times, results.fields["gait_phase"], results.fields["gait_phase_confidence"]), strikes
