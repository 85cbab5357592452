"""Targets for files of markers: TRC, our own recordings, C3D by its own process and its parameters alone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.fuzz.mutation.packets import joined, parted
from benchmarks.fuzz.seeds import recordings, walking, written
from benchmarks.fuzz.target import FuzzTarget, require
from benchmarks.fuzz.targets.messages import payloads, topic_of
from rtsim.errors import RtsimError
from rtsim.files.anonymous import write_anonymous
from rtsim.files.forces.recorded_forces import read_recorded_forces
from rtsim.files.markers.natural import SEGMENTS, read_natural
from rtsim.files.markers.trc import read_trc, trc_text
from rtsim.files.markers.trial import FARTHEST, MarkerTrial
from rtsim.files.recording import Results, read_model_markers, read_recorded_markers, read_results
from rtsim.files.tables.recorded import write_results
from streams.errors import StreamError
from streams.recording.recorder import Recorder

ROUNDED_M, FARTHEST_WRITTEN_M = 1e-8, 1e5


def check_trial(trial: MarkerTrial) -> None:
    """Check a trial of markers for what everything behind the readers takes for granted."""
    n_frame, n_marker, three = trial.positions.shape
    require(three == 3 and n_frame > 0 and n_marker > 0, "an empty trial")
    require(trial.times.shape == (n_frame,), "the number of times is not that of the rows")
    require(
        len(trial.names) == n_marker == len(set(trial.names)), "names whose number is not that of the markers"
    )
    require(np.isfinite(trial.times).all(), "a time is not a number")
    require((np.diff(trial.times) > 0.0).all(), "times that do not increase")
    require(np.isfinite(trial.rate) and trial.rate > 0.0, f"a rate of {trial.rate}")
    require(not np.isinf(trial.positions).any(), "a marker is at infinity")
    require(not (np.abs(trial.positions) > FARTHEST).any(), "a marker is farther away than any room is large")
    require(all(map(np.isfinite, trial.subject.values())), "a measure of the person is not a number")
    check_notes(trial.notes)


def check_notes(notes: tuple[str, ...]) -> None:
    """Check that notes are few and short enough to be read."""
    require(len(notes) <= 100, f"{len(notes)} notes")
    require(all(len(note) <= 4000 for note in notes), "a note of thousands of characters")


def feed_trc(path: Path) -> None:
    """Read a trial and check that it is written and read again identically."""
    trial = read_trc(path)
    check_trial(trial)
    if np.nanmax(np.abs(trial.positions), initial=0.0) > FARTHEST_WRITTEN_M:
        return  # in millimetres farther than any room
    try:
        text = trc_text(trial, path.name, str(path))
    except RtsimError:
        return  # names that no TRC file can hold
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    again = read_trc(path, up="Y", units="mm")
    require(
        again.positions.shape == trial.positions.shape,
        "the shape of a trial changes when it is written and read",
    )
    missing = np.asarray(np.isnan(trial.positions).any(axis=2))
    require(
        (np.isnan(again.positions).any(axis=2) == missing).all(), "other markers are missing when read again"
    )
    size = np.maximum(1.0, np.abs(np.where(missing[..., None], 0.0, trial.positions)))
    error = np.abs(np.where(missing[..., None], 0.0, again.positions - trial.positions)) / size
    require(error.max(initial=0.0) < ROUNDED_M, "a position changes when it is written and read")


def trc_seeds() -> list[bytes]:
    trial = walking()
    return [trc_text(trial, "seed.trc", "seed").encode(), *recordings(".trc", 6000)]


def recorded(payloads: list[bytes]) -> bytes:
    """Return a recording of these messages, whatever they are, and one more, because without any there would
    be no file.
    """

    def write(path: Path) -> None:
        with Recorder(path, dated=False) as recorder:
            for k, payload in enumerate([*payloads, b""]):
                topic = topic_of(payload)
                if topic.isascii():
                    recorder.write(topic, payload, k)

    return written(".mcap", write)


def recording_seeds() -> list[bytes]:
    return [recorded(payloads())]


def feed_recording(path: Path) -> None:
    """Feed every reader of a recording, and the copy without names."""
    fault: Exception | None = None
    for read in (read_recorded_markers, read_model_markers, read_recorded_forces, read_results):
        try:
            found = read(path)
        except (RtsimError, StreamError) as error:
            fault = error
            continue
        if isinstance(found, MarkerTrial):
            check_trial(found)
        elif isinstance(found, Results):
            again = path.with_name("again.mcap")
            again.unlink(missing_ok=True)
            write_results(again, found)
            rows = read_results(again)
            for name, values in found.fields.items():
                require(np.array_equal(rows.fields[name], values, equal_nan=True), "results change in a file")
    anonymous = path.with_name("anonymous.mcap")
    anonymous.unlink(missing_ok=True)
    write_anonymous(path, anonymous)
    if fault is not None:
        raise fault


def feed_conversation(path: Path) -> None:
    """Make a recording of the input, a list of payloads, and read it."""
    path.with_suffix(".mcap").write_bytes(recorded(parted(path.read_bytes())))
    feed_recording(path.with_suffix(".mcap"))


def _save_arrays(save: Callable[..., None], arrays: dict[str, np.ndarray], path: Path) -> None:
    """Write arrays by their names with one of NumPy's functions."""
    save(path, **arrays)


def natural_seeds() -> list[bytes]:
    """Return a cycle of three frames, compressed and not, and the recording beside the checkout."""
    arrays = {f"{segment}_Q": np.ones((3, 12)) for segment in SEGMENTS}
    arrays |= {f"{segment}_rM": np.full((3, 3, 2), 0.5) for segment in SEGMENTS}
    seeds = [
        written(".npz", functools.partial(_save_arrays, save, arrays))
        for save in (np.savez, np.savez_compressed)
    ]
    return [*seeds, *recordings(".npz", 1 << 17, whole=True)]


def feed_natural(path: Path) -> None:
    cycle = read_natural(path)
    check_trial(cycle.markers)
    require(not np.isinf(cycle.Q).any(), "a coordinate is at infinity")


TARGETS = (
    FuzzTarget("trc", feed_trc, trc_seeds, form="text", suffix=".trc", weight=2.0),
    FuzzTarget("mcap", feed_recording, recording_seeds, suffix=".mcap"),
    FuzzTarget(
        "recorded", feed_conversation, lambda: [joined(payloads())], form="packets", suffix=".packets"
    ),
    FuzzTarget("npz", feed_natural, natural_seeds, suffix=".npz", longest=1 << 17),
)
