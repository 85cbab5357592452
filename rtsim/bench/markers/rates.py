"""Benchmark of noise and delay of speeds and accelerations, filter by filter, on coordinates that were
solved from markers.

For every trial, the speeds and accelerations from each filter are compared with those of a zero-phase filter
(forwards and backwards, REFERENCE), shifted by the filter's stated delay; the delay of the best fit is
reported, too. In the static trial, in which the person stands, the remaining speeds and accelerations are
reported. All are of rotations, in deg/s and deg/s^2, as root mean squares over all degrees of freedom. The
reference is not the truth: it contains noise below its cut-off frequency.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.joints.motions import ROTATES
from kernels.rates.manifold import Manifold, manifold_of
from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.markers.trials import static_of
from rtsim.config.paths import find_config
from rtsim.config.runs.rate_schema import ButterworthSpec, RateSpec, SavitzkyGolaySpec
from rtsim.files.markers.markers import read_markers
from rtsim.files.markers.trial import MarkerTrial
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.methods.kinematics.rates import FilteredRows, RateEstimator, response, track
from rtsim.methods.kinematics.smoothing import smooth
from rtsim.models.load import load_model
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.markers.markers_of import markers_of
from rtsim.subjects.subject import Subject, load_subject

Array = NDArray[np.float64]

MODEL, SUBJECT = "lower_limb", "walker"
REFERENCE = ButterworthSpec(10.0, 2)
FILTERS: dict[str, RateSpec] = {
    "butterworth_2_6Hz": ButterworthSpec(6.0, 2),
    "butterworth_4_6Hz": ButterworthSpec(6.0, 4),
    "butterworth_2_10Hz": ButterworthSpec(10.0, 2),
    "polynomial_2_120ms_middle": SavitzkyGolaySpec(0.12, 2),
    "polynomial_3_120ms_30ms": SavitzkyGolaySpec(0.12, 3, 0.03),
    "polynomial_3_120ms_end": SavitzkyGolaySpec(0.12, 3, 0.0),
}
SHIFTS = np.arange(-0.05, 0.15, 0.0005)  # s - delays that are tried


class SolvedTrial(NamedTuple):
    """Coordinates of a trial that was solved from its markers, frame by frame."""

    times: Array  # (n,) [s]
    q: Array  # (n, n_q), NaN where not solved
    rate: float  # [Hz]
    manifold: Manifold
    turns: NDArray[np.bool_]  # (n_v,) - whether each dof is a rotation


def run(paths: tuple[Path, ...] = (), method: str = "minimised") -> list[BenchFigure]:
    """Return the benchmark results of the trials in marker files, solved by a method (knee model); without
    any file, those of the shipped walking trial.
    """
    figures = []
    for name, moving, still in trials(paths, method):
        figures.append(BenchFigure(f"rate.{name}", moving.rate, "Hz"))
        reference = smooth(REFERENCE, moving.manifold, moving.rate, moving.times, moving.q)
        figures += peak_figures(name, moving, reference)
        for label, spec in FILTERS.items():
            say(f"rates: {name} {label}")
            figures += filter_figures(f"{label}.{name}", spec, moving, reference)
            if still is not None:
                figures += still_figures(f"{label}.{name}", spec, still)
            figures.append(BenchFigure(f"take_us.{label}.{name}", take_us(spec, moving), "us"))
    return figures


def trials(paths: tuple[Path, ...], method: str) -> list[tuple[str, SolvedTrial, SolvedTrial | None]]:
    """Return for the trial of every marker file its name, its coordinates, and the coordinates of the static
    trial beside it, if there is one; without any file, the shipped walking trial.
    """
    if not paths:
        subject = load_subject(find_config(SUBJECT, "subjects"))
        return [("walker", solved(walk(load_model(MODEL), subject), subject, method), None)]
    found = []
    for path in paths:
        say(f"rates: solving {path.name}")
        static = static_of(path)
        moving, still = read_markers(path), read_markers(static) if static else None
        subject = subject_for(moving, still)
        stands = solved(still, subject, method) if still else None
        found.append((path.stem, solved(moving, subject, method), stands))
    return found


def solved(trial: MarkerTrial, subject: Subject, method: str) -> SolvedTrial:
    """Solve all frames of a trial by a method; return its coordinates."""
    estimator = MultibodyEstimator(load_model(MODEL), subject, method)
    rows = []
    steps = np.diff(trial.times, prepend=trial.times[0])
    for frame, dt in zip(markers_of(trial, subject), steps, strict=True):
        solution = estimator.estimate(np.ascontiguousarray(frame), float(dt))
        rows.append(np.where(solution.converged, estimator.q, np.nan))
    tree = estimator.model.tree
    return SolvedTrial(
        trial.times, np.array(rows), trial.rate, manifold_of(tree), tree.dof_rotates == ROTATES
    )


def peak_figures(name: str, moving: SolvedTrial, reference: FilteredRows) -> list[BenchFigure]:
    """Return the root mean squares of the speeds and accelerations that the zero-phase filter, the reference,
    gives for a trial.
    """
    return [
        BenchFigure(f"speed_rms.{name}", rms(np.degrees(reference.v[:, moving.turns])), "deg/s"),
        BenchFigure(f"acceleration_rms.{name}", rms(np.degrees(reference.v_dot[:, moving.turns])), "deg/s^2"),
    ]


def filter_figures(
    name: str, spec: RateSpec, moving: SolvedTrial, reference: FilteredRows
) -> list[BenchFigure]:
    """Return the stated and the estimated delay of a filter on a trial, and the differences of its speeds and
    accelerations from those of the zero-phase reference, shifted by the stated delay.
    """
    found = track(spec, moving.manifold, moving.rate, moving.times, moving.q)
    stated = response(spec, moving.rate)
    late, gains = float(stated.delay_s[0]), map(float, stated.noise_gain)
    figures = [
        BenchFigure(f"delay_ms.{name}", 1e3 * late, "ms"),
        BenchFigure(f"noise_gain_q.{name}", next(gains), "1"),
        BenchFigure(f"noise_gain_v.{name}", next(gains), "1/s"),
        BenchFigure(f"noise_gain_v_dot.{name}", next(gains), "1/s^2"),
    ]
    for kind, rows, true in (("speed", found.v, reference.v), ("acceleration", found.v_dot, reference.v_dot)):
        errors = np.array([error_at(s, moving, found, rows, true) for s in SHIFTS])
        figures.append(BenchFigure(f"{kind}_delay_ms.{name}", 1e3 * lowest(errors), "ms"))
        scale = rms(true[:, moving.turns])
        share = 100.0 * error_at(late, moving, found, rows, true) / scale
        figures.append(BenchFigure(f"{kind}_error.{name}", share, "% of RMS"))
    return figures


def error_at(late: float, moving: SolvedTrial, found: FilteredRows, rows: Array, true: Array) -> float:
    """Return the RMS difference between the speeds or accelerations of a filter and those of the zero-phase
    reference, which are shifted by `late` [s] for the comparison.

    moving : the trial; found : all results of the filter
    rows, true : (n, n_v) - speeds or accelerations of the filter and of the reference
    """
    times = moving.times
    inside = found.settled & (times - late >= times[0]) & (times - late <= times[-1])
    inside &= np.isfinite(rows).all(axis=1)
    known = np.isfinite(true).all(axis=1)
    columns = [
        rows[inside, d] - np.interp(times[inside] - late, times[known], true[known, d])
        for d in np.flatnonzero(moving.turns)
    ]
    return rms(np.array(columns))


def lowest(errors: Array) -> float:
    """Return the time shift [s] at which errors : (n_shift,), those at the times SHIFTS, are lowest, by a
    parabola through the three lowest errors.
    """
    k = int(np.clip(np.argmin(errors), 1, len(errors) - 2))
    a, b, c = errors[k - 1] ** 2, errors[k] ** 2, errors[k + 1] ** 2
    return float(SHIFTS[k] + 0.5 * (SHIFTS[1] - SHIFTS[0]) * (a - c) / (a - 2.0 * b + c))


def still_figures(name: str, spec: RateSpec, still: SolvedTrial) -> list[BenchFigure]:
    """Return the RMS of the speeds and accelerations of a filter in a static trial, where they should be
    zero.
    """
    found = track(spec, still.manifold, still.rate, still.times, still.q)
    rows = found.settled & np.isfinite(found.v).all(axis=1)
    return [
        BenchFigure(f"still_{kind}.{name}", rms(np.degrees(of[rows][:, still.turns])), unit)
        for kind, of, unit in (("speed", found.v, "deg/s"), ("acceleration", found.v_dot, "deg/s^2"))
    ]


def take_us(spec: RateSpec, moving: SolvedTrial) -> float:
    """Return the median time that a filter takes to compute speeds and accelerations for one frame, including
    the call from Python [us].
    """
    estimator, taken = RateEstimator(spec, moving.manifold, moving.rate), []
    for t, q in zip(moving.times, moving.q, strict=True):
        start = perf_counter_ns()
        estimator.take(float(t), q)
        taken.append(1e-3 * (perf_counter_ns() - start))
    return float(np.median(taken))


def rms(x: Array) -> float:
    """Return the root mean square of all values that are not NaN."""
    return float(np.sqrt(np.nanmean(x**2)))
