"""Benchmark of recordings without marker names: the share of frames that are labelled again, and the number
of wrong labels in frames with status ok.

The points of each frame are shuffled, so their order contains no information. There are three variants: as
recorded; with gaps, in which every marker is hidden now and then, one segment once, and everything once; and
with long gaps and phantoms, in which markers are hidden for 0.1 to 2 s at random and ghost points appear,
half of them beside markers. The first and the last variant are repeated as in real time, where the search
for the person extends over many frames.
"""

from __future__ import annotations

import time
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.bench.figures import BenchFigure
from rtsim.bench.markers.trials import static_of, trials
from rtsim.bench.progress import BenchProgress
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.markers.c3d_labels import JOINT_CENTRE
from rtsim.live.inputs.sources import WALKER, load_trial
from rtsim.live.processes.serve import prepare
from rtsim.stages.kinematics import Kinematics
from rtsim.subjects.markers.marker_names import find_markers
from streams.codec import FieldLayout
from streams.messages import Status, marker_session
from streams.receiving.ring import ReceivedFrame

Array = NDArray[np.float64]

NAMED_PERCENT = 99.0
LONGEST_S, SHORTEST = 8.0, 60
"""Longest part of a recording that is used [s], and smallest number of frames of a recording."""
HIDDEN_EVERY_S, HIDDEN_S = 5.0, (0.05, 0.3)
SEGMENT_S, ALL_S = 0.3, 0.3
LONG_S, ALL_LONG_S = (0.1, 2.0), (0.1, 0.5)
N_PHANTOM, PHANTOM_S, PHANTOM_WAIT_S = 4, (0.02, 1.0), (0.05, 1.0)
PHANTOM_NEAR, JITTER = 0.05, 0.001
"""Standard deviations of the distance of half of the phantoms from a marker, and of their noise [m]."""
SEED = 20
"""Seed of long gaps and phantoms; the method was developed with other seeds."""
VARIANTS = ("whole", "gaps", "long_gaps", "live_whole", "live")
WHOLE, GAPS, _, LIVE_WHOLE, LIVE = VARIANTS


class NamingCounts(NamedTuple):
    """Counts of a recording whose markers have lost their names and are labelled again.

    n_frame, n_right : frames in which any marker is visible, and frames with all labels right
    n_marker, n_marker_right : visible markers in all frames, and those labelled right
    n_wrong, n_wrong_ok : frames with a wrong label, and those of them whose status is ok
    n_sure, n_before : frames without a doubtful label, and frames before the first label
    took_us : processor time of each frame [us]
    """

    n_frame: int
    n_right: int
    n_marker: int
    n_marker_right: int
    n_wrong: int
    n_wrong_ok: int
    n_sure: int
    n_before: int
    took_us: Array


def run(folder: Path, only: str = "*") -> list[BenchFigure]:
    """Return the benchmark results of the shipped walking trial and of those recordings below a folder that
    have a static trial; ConfigError if none of these matches the pattern `only`.
    """
    sources = [WALKER, *(str(path) for path in trials(folder, "*") if static_of(path) is not None)]
    wanted = [s for s in sources if fnmatch(name_of(s, folder), only)]
    if not wanted:
        raise ConfigError(
            f"no recording that has a static trial matches {only!r}", where="--only",
            allowed=", ".join(name_of(s, folder) for s in sources[:8]), remedy=
                "give a pattern that matches one of these names",
        )  # fmt: skip
    figures, left_out = [], 0
    with BenchProgress("unnamed-markers", len(VARIANTS) * len(wanted)) as course:
        for source in wanted:
            for variant in VARIANTS:
                course.begin(f"{name_of(source, folder)}, {variant}")
                counts = measured(source, variant)
                left_out += counts is None
                figures += (
                    [] if counts is None else figures_of(counts, f"{name_of(source, folder)}.{variant}")
                )
    return [*figures, BenchFigure("left_out", left_out / len(VARIANTS), "recordings")]


def name_of(source: str, folder: Path) -> str:
    """Return the name that a recording has in the benchmark results: its path below the folder, or that of
    the shipped walking trial.
    """
    return source if source == WALKER else Path(source).relative_to(folder).as_posix()


def figures_of(counts: NamingCounts, name: str) -> list[BenchFigure]:
    """Return the shares of right, wrong and doubtful labels of one recording, and times per frame, as
    benchmark results; name : end of their names
    """
    right = 100.0 * counts.n_right / counts.n_frame
    return [
        BenchFigure(f"named_percent.{name}", right, "%", NAMED_PERCENT, "higher"),
        BenchFigure(f"markers_named_percent.{name}", 100.0 * counts.n_marker_right / counts.n_marker, "%"),
        BenchFigure(f"wrong_percent.{name}", 100.0 * counts.n_wrong / counts.n_frame, "%"),
        BenchFigure(f"wrong_under_ok.{name}", float(counts.n_wrong_ok), "frames", 0.0, "lower"),
        BenchFigure(f"certain_percent.{name}", 100.0 * counts.n_sure / counts.n_frame, "%"),
        BenchFigure(f"frames_before.{name}", float(counts.n_before), "frames"),
        BenchFigure(f"frame_us.p50.{name}", float(np.percentile(counts.took_us, 50)), "us"),
        BenchFigure(f"frame_us.p99.{name}", float(np.percentile(counts.took_us, 99)), "us"),
        BenchFigure(f"frame_us.max.{name}", float(counts.took_us.max()), "us"),
    ]


def measured(source: str, variant: str) -> NamingCounts | None:
    """Label and solve one variant of a recording by the kinematics stage, and count right and wrong labels;
    None for a recording that cannot be used.

    source : path of the recording; variant : as recorded, with gaps, or with long gaps and phantoms
    """
    static = None if source == WALKER else static_of(Path(source))
    try:
        run = RunConfig(
            name="bench", source=source, static=str(static or ""), stages=("kinematics",), label_unnamed=True
        )
        trial = load_trial(source, LONGEST_S)
        (stage,) = prepare(run)
    except ConfigError:
        return None
    assert isinstance(stage, Kinematics)
    kept = [k for k, name in enumerate(trial.names) if not JOINT_CENTRE.search(name)]
    names = [trial.names[k] for k in kept]
    positions = trial.positions[: int(LONGEST_S * trial.rate)][:, kept]
    if len(positions) < SHORTEST:
        return None
    followed = stage.estimator.model.names.markers
    index = find_markers(followed, names)
    truth = np.array([index.get(name, -1) for name in followed])
    body = stage.estimator.model.markers.body
    segments = [truth[body == b] for b in np.unique(body)]
    if variant == GAPS:
        positions = with_gaps(positions, trial.rate, segments)
    elif variant not in (WHOLE, LIVE_WHOLE):
        positions = with_phantoms(with_long_gaps(positions, trial.rate, segments), trial.rate)
    return followed_through(stage, positions, trial.rate, truth, variant in (LIVE_WHOLE, LIVE))


def with_gaps(positions: Array, rate: float, segments: list[NDArray[np.int64]]) -> Array:
    """Return the points (n, n_point, 3) with gaps: each point is hidden now and then, one segment once, and
    all points once.

    rate : frames per second; segments : indices of the points on each segment
    """
    generator, hidden = np.random.default_rng(0), positions.copy()
    n, n_point = positions.shape[:2]
    for point in range(n_point):
        for _ in range(max(1, round(n / rate / HIDDEN_EVERY_S))):
            first, long = generator.integers(0, n), generator.uniform(*HIDDEN_S)
            hidden[first : first + round(long * rate), point] = np.nan
    segment = segments[generator.integers(0, len(segments))]
    hidden[n // 4 : n // 4 + round(SEGMENT_S * rate), segment[segment >= 0]] = np.nan
    hidden[n // 2 : n // 2 + round(ALL_S * rate)] = np.nan
    return hidden


def with_long_gaps(positions: Array, rate: float, segments: list[NDArray[np.int64]]) -> Array:
    """Return the points (n, n_point, 3) with long gaps at random times: each point is hidden about once in 5
    s for 0.1 to 2 s, one whole segment once, and all points at once for up to 0.5 s.

    rate : frames per second; segments : indices of the points on each segment
    """
    generator, hidden = np.random.default_rng(SEED), positions.copy()
    n, n_point = positions.shape[:2]

    def hide(points: int | slice | NDArray[np.int64], between: tuple[float, float]) -> None:
        first = generator.integers(0, n)
        hidden[first : first + round(generator.uniform(*between) * rate), points] = np.nan

    for point in range(n_point):
        for _ in range(generator.poisson(n / rate / HIDDEN_EVERY_S)):
            hide(point, LONG_S)
    segment = segments[generator.integers(0, len(segments))]
    hide(segment[segment >= 0], LONG_S)
    hide(slice(None), ALL_LONG_S)
    return hidden


def with_phantoms(positions: Array, rate: float) -> Array:
    """Return the points with ghost points that appear and vanish, beside markers or anywhere, (n, n_point +
    N_PHANTOM, 3) [m].
    """
    generator, n = np.random.default_rng(SEED + 1), len(positions)
    low, high = np.nanmin(positions, axis=(0, 1)), np.nanmax(positions, axis=(0, 1))
    phantoms = np.full((n, N_PHANTOM, 3), np.nan)
    for k in range(N_PHANTOM):
        first = 0
        while first < n:
            over = first + 1 + round(generator.uniform(*PHANTOM_S) * rate)
            place = generator.uniform(low, high)
            if generator.random() < 0.5:
                beside = positions[first, generator.integers(positions.shape[1])]
                place = beside + generator.normal(0.0, PHANTOM_NEAR, 3)
            shown = phantoms[first:over, k]
            shown[:] = place + generator.normal(0.0, JITTER, shown.shape)
            first = over + round(generator.uniform(*PHANTOM_WAIT_S) * rate)
    return np.concatenate([positions, phantoms], axis=1)


def followed_through(
    stage: Kinematics, positions: Array, rate: float, truth: NDArray[np.int64], live: bool
) -> NamingCounts:
    """Send the frames of a recording through the kinematics stage with their points in random order, and
    count right and wrong labels of the points.

    truth : (n_marker,) - index of the point that is truly each marker, -1 = none
    live : whether the search runs while frames arrive, as in a live run; else the labels are found
        beforehand, with the whole recording known, as by `rtsim analyse`
    """
    generator = np.random.default_rng(1)
    n_point = positions.shape[1]
    session = marker_session(tuple(f"*{k + 1}" for k in range(n_point)), rate=rate, t_start=0)
    frame = ReceivedFrame(session, FieldLayout(session))
    stage.reset()
    stage.begin(session, True)
    assert stage.unnamed is not None
    assert stage.marker_input is not None
    shuffled = np.array([points[generator.permutation(n_point)] for points in positions])
    if live:
        stage.unnamed.keep_pace()
    else:
        steps = np.full(len(shuffled), 1.0 / rate)
        stage.marker_input.name_ahead(shuffled, steps, lambda n_done: None)
    took, numbers, n_before = [], np.zeros(6, np.int64), 0
    for k, points in enumerate(positions):
        frame.data["positions"][...] = shuffled[k]
        frame.seq, frame.time = k, k / rate
        begun = time.thread_time()
        outcome = stage.run(frame)
        took.append(1e6 * (time.thread_time() - begun))
        true = np.where(truth[:, None] >= 0, points[truth], np.nan)
        true[:, 2] *= -1.0 if stage.marker_input.mirrors else 1.0
        seen, got = np.isfinite(true[:, 0]), stage.marker_input.measured
        if not seen.any():
            continue
        n_before += not numbers[2] and not np.isfinite(got[:, 0]).any()
        right = seen & (np.abs(got - true) < 1e-9).all(axis=1)
        wrong = bool((np.isfinite(got[:, 0]) & ~right).any())
        sure = not outcome.status & (Status.SUSPECT | Status.INVALID_INPUT)
        numbers += (right.sum() == seen.sum() and not wrong, seen.sum(), right.sum(), wrong,
                    wrong and not outcome.status, sure)  # fmt: skip
    n_frame = int(np.isfinite(positions[:, truth[truth >= 0], 0]).any(axis=1).sum())
    n_right, n_marker, n_marker_right, n_wrong, n_wrong_ok, n_sure = numbers.tolist()
    return NamingCounts(
        n_frame=n_frame,
        n_right=n_right,
        n_marker=n_marker,
        n_marker_right=n_marker_right,
        n_wrong=n_wrong,
        n_wrong_ok=n_wrong_ok,
        n_sure=n_sure,
        n_before=n_before,
        took_us=np.array(took),
    )
