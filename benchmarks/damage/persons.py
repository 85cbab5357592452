"""Recordings and the persons in them, solved by the stage of `rtsim live` and `rtsim analyse`."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from msgspec.structs import astuple

from benchmarks.damage.scene import Damage, DamagedMarkers
from rtsim.bench.markers.trials import static_of, trials
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.markers.trc import write_trc
from rtsim.files.markers.trial import MarkerTrial
from rtsim.live.inputs.sources import NATURAL, WALKER, check_source, load_trial
from rtsim.live.processes.serve import meta_of, prepare
from rtsim.live.subjects.subject_check import notes_before
from rtsim.models.load import ONE_LEG, load_model
from rtsim.stages.kinematics import Kinematics
from rtsim.subjects.markers.labs import find_lab, side_of
from rtsim.subjects.markers.marker_names import find_markers

SIDES = ("right", "left", "both")
LONGEST_S = 3.0
"""Longest recording that is taken whole [s]; of a longer one a part is taken, at one of N_PART places."""
N_PART = 3
CHECK = "check "
"""Beginning of notes on what is unusual (docs/clinic.md)."""
SHORTEST = 20
"""Frames below which a recording is left out."""


class RecordedPerson:
    """A recording, the subject calibrated for it, and the stage that solves it with any method of the model.

    ConfigError for a recording that cannot be used in this way.

    Attributes
    ----------
    stage : the kinematics stage, whose method `use` sets; groups : the segment of each marker, "" = not a
        marker of the subject
    notes : notes printed before the first frame
    calibrated : labels of the static trial that the subject comes from
    """

    def __init__(self, folder: Path | None, recording: str, side: str, static: Path | None = None) -> None:
        """The person of a recording; static : in place of the static trial beside it."""
        source = recording if folder is None or recording == WALKER else str(folder / recording)
        check_source(source, streams=False, where=recording)
        self.folder, self.recording, self.side = folder, recording, side
        if static is None and source != WALKER:
            static = static_of(Path(source))
        methods = all_methods()
        self.run = RunConfig(
            name="bench", source=source, static=str(static) if static else "", side=side,  # type: ignore[arg-type]
            method=methods[0], methods=methods, stages=("kinematics",),
        )  # fmt: skip
        self.trial = load_trial(source, side=side)
        if len(self.trial.times) < SHORTEST:
            raise ConfigError(
                f"the recording has only {len(self.trial.times)} frames",
                where=source,
                allowed=f"{SHORTEST} or more",
            )
        (stage,) = prepare(self.run)
        assert isinstance(stage, Kinematics)
        assert stage.subject is not None
        self.stage, found = stage, stage.subject.side
        if (found == "both") != (side == "both") or (self.trial.source.endswith(NATURAL) and found != side):
            raise ConfigError(f"the recording has only the {found} leg", where=source)
        self.meta = meta_of(self.run)
        self.groups = groups_of(stage, self.trial)
        self.notes = notes_before(self.run, anyway=True)
        self.calibrated = labels_of(static, found) if static is not None else ()

    def use(self, method: str) -> None:
        """Use this method from now on."""
        self.stage.estimator.switch(method)

    def scene(self, part: int) -> DamagedMarkers:
        """Return the recording, or one of N_PART parts of a long one."""
        trial = self.trial
        n = len(trial.times)
        length = min(n, max(SHORTEST, round(LONGEST_S * trial.rate)))
        first = (n - length) * part // (N_PART - 1)
        inside = slice(first, first + length)
        return DamagedMarkers(
            names=trial.names,
            groups=self.groups,
            positions=trial.positions[inside],
            times=trial.times[inside],
            rate=trial.rate,
            calibrated=self.calibrated,
        )

    def damaged(self, damage: Damage) -> RecordedPerson:
        """Return the person after a damage: another person if the static trial is damaged.

        ConfigError if that trial is rejected.
        """
        if not damage.misplaced:
            return self
        label, by = damage.misplaced, damage.by
        trial = load_trial(self.run.static)
        positions = trial.positions.copy()
        positions[:, trial.names.index(label)] += np.asarray(by)
        with TemporaryDirectory() as place:
            static = Path(place) / f"{Path(self.run.static).stem}.trc"
            write_trc(static, trial._replace(positions=positions))
            return RecordedPerson(self.folder, self.recording, self.side, static)

    def warns_more_than(self, other: RecordedPerson) -> bool:
        """Return whether a warning before the first frame is not among those of the other person, ignoring
        numbers and file names.
        """
        return not self.warnings <= other.warnings

    @property
    def warnings(self) -> set[str]:
        """Return the notes that something should be checked, without their beginnings and numbers."""
        found = (note.partition(CHECK) for note in self.notes)
        return {re.sub(r"[0-9.]+", "#", said) for _, check, said in found if check}


def all_methods() -> tuple[str, ...]:
    """The methods of the model of a person."""
    return tuple(load_model(ONE_LEG).methods)


def groups_of(stage: Kinematics, trial: MarkerTrial) -> tuple[str, ...]:
    """Return the segment of each marker of a trial, "" if the subject does not have the marker."""
    assert stage.subject is not None
    index = find_markers(stage.subject.marker_names, trial.names)
    groups = [""] * len(trial.names)
    for segment, record in stage.subject.segments.items():
        for name in record.markers_mm:
            if name in index:
                groups[index[name]] = segment
    return tuple(groups)


def labels_of(static: Path, side: str) -> tuple[str, ...]:
    """Return the labels of the legs in a static trial with a known marker map, for markers that all its
    frames show.
    """
    trial = load_trial(str(static))
    try:
        lab = find_lab(trial.names)
    except ConfigError:
        return ()
    wanted: set[str] = set()
    for of in ("right", "left") if side == "both" else (side,):
        table = side_of(lab, of)
        wanted |= {*table.tracking.names, *(value for value in astuple(table) if isinstance(value, str))}
    index = find_markers(sorted(wanted - {""}), trial.names)
    seen = np.asarray(np.isfinite(trial.positions).all(axis=(0, 2)))
    return tuple(sorted({trial.names[m] for m in index.values() if seen[m]}))


def recordings(folder: Path | None) -> list[str]:
    """Return the walker and the paths of all marker files below a folder; files with equal content appear
    once.
    """
    found, known = [WALKER], set()
    for path in trials(folder, "*") if folder else ():
        content = sha256(path.read_bytes()).hexdigest()
        if content not in known:
            known.add(content)
            found.append(path.relative_to(folder).as_posix() if folder else str(path))
    return found
