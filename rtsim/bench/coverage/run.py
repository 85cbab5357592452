"""The coverage benchmark: random walkers are solved by every method of the estimator, each with its own knee
model, with all markers and with some hidden, and how often the true value lies within the interval that the
method states is counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.bench.coverage.numbers import names_of
from rtsim.bench.coverage.skin import SIZE_MM, draw_noise, draw_skin
from rtsim.bench.coverage.truth import Told, Truth, tell, truth_of
from rtsim.bench.coverage.walkers import Walker, draw_walker
from rtsim.bench.figures import BenchFigure
from rtsim.bench.progress import counted
from rtsim.config.load import load_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import MarkerCheck, Uncertainty
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import ONE_LEG, load_model
from rtsim.subjects.subject import Subject

Array = NDArray[np.float64]
Generator = np.random.Generator

METHODS = ("zero", "minimised", "prescribed")
N_MISSING = {"complete": 0, "one_missing": 1, "two_missing": 2}
"""Case -> number of markers of one segment that are missing after the fraction MISSING_FROM of the time."""
MISSING_FROM = 0.4
LEARNING = 25
"""Number of frames at the start that are not counted, while the estimator learns the usual marker errors."""
INTERVAL = 1.96
AIM_PERCENT, ALLOWED_PERCENT = 95.0, 2.0
SINGULAR_DEG = (15.0, 25.0)
"""Range of flexion in which the knee of the method `zero` is nearly singular (docs/architecture.md)."""
KEPT = 1e-7
"""Standard deviation below which an output does not count, as the joints fix it: lengths of hard elements."""


class CoverageCount(NamedTuple):
    """Counts over the frames of one method and one case (all markers, or some hidden), for each output.

    held : number of values whose interval contains the truth; n : number of values with a standard deviation
    error, stated : sums of the squares of errors, and of the standard deviations that the method states
    uncertain : number of frames that are flagged as uncertain, and number of all frames
    """

    held: Array
    n: Array
    error: Array
    stated: Array
    uncertain: list[int]


def new_tally(n: int) -> CoverageCount:
    """Return coverage counts of n outputs, all zero."""
    return CoverageCount(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), [0, 0])


def run(n_walker: int, seed: int = 1) -> list[BenchFigure]:
    """Return the benchmark results of n_walker random synthetic walkers."""
    tallies, names = count(n_walker, seed)
    return figures_of(tallies, names)


def count(n_walker: int, seed: int) -> tuple[dict[str, CoverageCount], list[str]]:
    """Return the coverage counts of every method and case by name, and the names of the outputs."""
    spec = load_model(ONE_LEG)
    base = load_toml(find_config("walker", "subjects"), Subject)
    rng = np.random.default_rng(seed)
    tallies: dict[str, CoverageCount] = {}
    names: list[str] = []
    for _ in counted("coverage: walkers", range(n_walker), n_walker):
        walker = draw_walker(rng, spec, base)
        estimator = estimator_of(spec, walker)
        names = names_of(estimator)
        for case, truth, told, frames in solve(rng, estimator, walker):
            if case not in tallies:
                tallies[case] = new_tally(len(names))
            add(truth.numbers[frames], told, frames, tallies[case])
    return tallies, names


def estimator_of(spec: ModelSpec, walker: Walker) -> MultibodyEstimator:
    """Return the estimator of a walker with the settings of a live run."""
    return MultibodyEstimator(
        spec, walker.subject, METHODS[0], METHODS, check=MarkerCheck(), uncertainty=Uncertainty()
    )


def solve(
    rng: Generator, estimator: MultibodyEstimator, walker: Walker
) -> Iterator[tuple[str, Truth, Told, NDArray[np.int64]]]:
    """Solve the walk of a random walker by every method, with all markers and with some hidden. Yield for
    each such case its name, the true values, the estimates, and the indices of the frames that are counted:
    with all markers those after the first LEARNING frames, with hidden markers those in which they are
    hidden. The method `zero`, with isometric ligaments, has a further case, the frames with a flexion at
    which its knee is nearly singular.
    """
    n = len(walker.phase)
    offsets = draw_errors(rng, walker)
    noise = draw_noise(rng, offsets.shape)
    hidden = draw_hidden(rng, estimator.model.markers.body, max(N_MISSING.values()))
    for method in METHODS:
        estimator.switch(method)
        truth = truth_of(estimator, walker.positions, walker.dt)
        moved = truth.markers + np.einsum("fmij,fmj->fmi", truth.rotations, offsets) + noise
        for case, n_hidden in N_MISSING.items():
            measured = moved.copy()
            first = int(MISSING_FROM * n) if n_hidden else LEARNING
            measured[first:, hidden[:n_hidden]] = np.nan
            told = tell(estimator, measured, walker.dt)
            frames = np.arange(first, n)
            yield f"{method}.{case}", truth, told, frames
            if method == "zero":
                flexion = np.degrees(-truth.numbers[:, names_of(estimator).index("knee_flexion")])
                near = (flexion > SINGULAR_DEG[0]) & (flexion < SINGULAR_DEG[1])
                yield f"{method}.{case}.singular", truth, told, frames[near[frames]]


def draw_errors(rng: Generator, walker: Walker) -> Array:
    """Draw the skin motion of all markers in the frames of their segments, (n_frame, n_marker, 3) [m]."""
    return np.concatenate(
        [
            draw_skin(
                rng, 1e-3 * np.array(list(segment.markers_mm.values())), 1e-3 * SIZE_MM[name], walker.phase
            )
            for name, segment in walker.subject.segments.items()
        ],
        axis=1,
    )


def draw_hidden(rng: Generator, body: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Choose one segment at random, and return the indices of up to `n` of its markers, which are to be
    hidden; body : (n_marker,) - segment of each marker
    """
    own = np.flatnonzero(body == rng.choice(np.unique(body)))
    return np.asarray(rng.permutation(own)[:n])


def add(true: Array, told: Told, frames: NDArray[np.int64], tally: CoverageCount) -> None:
    """Add the estimates of some frames to coverage counts: how often the true value lies within the stated
    interval.

    true : (n, n_output) - the true values in these frames; frames : (n,) - their indices in `told`
    told : estimates and standard deviations of all frames; tally : counts
    """
    stated = told.deviations[frames]
    error = told.numbers[frames] - true
    turns = error[:, : told.n_angle]
    turns[:] = (turns + math.pi) % (2.0 * math.pi) - math.pi
    counts = np.isfinite(stated) & (stated > KEPT)
    error, stated = np.where(counts, error, 0.0), np.where(counts, stated, 1.0)
    ratio = np.abs(error) / stated
    tally.n[:] += counts.sum(axis=0)
    tally.held[:] += (counts & (ratio <= INTERVAL)).sum(axis=0)
    tally.error[:] += (error**2).sum(axis=0)
    tally.stated[:] += np.where(counts, stated**2, 0.0).sum(axis=0)
    tally.uncertain[0] += int(told.uncertain[frames].sum())
    tally.uncertain[1] += len(frames)


def figures_of(tallies: dict[str, CoverageCount], names: list[str]) -> list[BenchFigure]:
    """Return the benchmark results of each method and case: the number of frames, the percentage of frames
    that are flagged as uncertain, the largest difference of an output's coverage from the nominal one, and
    for every output its coverage and a ratio.

    The coverage is the percentage of frames in which the stated interval contains the true value. The ratio
    is the root mean square error divided by the root mean square of the stated standard deviations.

    tallies : counts by the name of method and case; names : of the outputs
    """
    figures = []
    for case, tally in tallies.items():
        known = tally.n > 0
        percent = 100.0 * tally.held[known] / tally.n[known]
        ratio = np.sqrt(tally.error[known] / tally.stated[known])
        outputs = [name for name, there in zip(names, known, strict=True) if there]
        flagged, n_frame = tally.uncertain
        off = float(np.max(np.abs(percent - AIM_PERCENT), initial=0.0))
        figures += [
            BenchFigure(f"frames.{case}", float(n_frame), "1"),
            BenchFigure(f"uncertain_percent.{case}", 100.0 * flagged / max(n_frame, 1), "% of frames"),
            BenchFigure(f"off_{AIM_PERCENT:.0f}_percent.{case}", off, "%", ALLOWED_PERCENT, "lower"),
            *(
                BenchFigure(f"coverage_percent.{case}.{name}", float(value), "% of frames")
                for name, value in zip(outputs, percent, strict=True)
            ),
            *(
                BenchFigure(f"ratio.{case}.{name}", float(value), "1")
                for name, value in zip(outputs, ratio, strict=True)
            ),
        ]
    return figures
