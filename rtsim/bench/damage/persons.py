"""Recordings and the persons in them: what is solved, by the stage of `rtsim live` and `rtsim analyse`."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from rtsim.bench.damage.scene import Scene
from rtsim.bench.trials import static_of, trials
from rtsim.config.run_schema import Run
from rtsim.errors import ConfigError
from rtsim.files.trial import MarkerTrial
from rtsim.live.serve import meta_of, prepare
from rtsim.live.sources import NATURAL, WALKER, check_source, load_trial
from rtsim.models.load import ONE_LEG, load_model
from rtsim.stages.kinematics import Kinematics
from rtsim.subjects.marker_names import find_markers

SIDES = ("right", "left", "both")
LONGEST_S = 3.0
"""Of a recording that is longer, a part is taken: there are N_PART places for it."""
N_PART = 3
SHORTEST = 20
"""Frames below which a recording is left out."""


class Person:
    """A recording, the subject calibrated for it, and the stage that solves it by any method of the model.

    ConfigError for a recording that cannot be used so.

    Attributes
    ----------
    stage : to be told the method by `use`; groups : the segment of each marker, "" of those it does not have
    """

    def __init__(self, folder: Path | None, recording: str, side: str) -> None:
        source = recording if folder is None or recording == WALKER else str(folder / recording)
        check_source(source, streams=False, where=recording)
        static = static_of(Path(source)) if source != WALKER else None
        methods = all_methods()
        self.run = Run(
            name="bench", source=source, static=str(static) if static else "", side=side,  # type: ignore[arg-type]
            method=methods[0], methods=methods, stages=("kinematics",),
        )  # fmt: skip
        self.trial = load_trial(source, side=side)
        if len(self.trial.times) < SHORTEST:
            raise ConfigError(
                f"it has {len(self.trial.times)} frames", where=source, allowed=f"{SHORTEST} or more"
            )
        (stage,) = prepare(self.run)
        assert isinstance(stage, Kinematics)
        assert stage.subject is not None
        self.stage, found = stage, stage.subject.side
        if (found == "both") != (side == "both") or (self.trial.source.endswith(NATURAL) and found != side):
            raise ConfigError(f"it has the {found} leg alone", where=source)
        self.meta = meta_of(self.run)
        self.groups = groups_of(stage, self.trial)

    def use(self, method: str) -> None:
        """Solve by that method from now on."""
        self.stage.estimator.switch(method)

    def scene(self, part: int) -> Scene:
        """The recording, or one of N_PART parts of a long one."""
        trial = self.trial
        n = len(trial.times)
        length = min(n, max(SHORTEST, round(LONGEST_S * trial.rate)))
        first = (n - length) * part // (N_PART - 1)
        inside = slice(first, first + length)
        return Scene(trial.names, self.groups, trial.positions[inside], trial.times[inside], trial.rate)


def all_methods() -> tuple[str, ...]:
    """The methods of the model of a person."""
    return tuple(load_model(ONE_LEG).methods)


def groups_of(stage: Kinematics, trial: MarkerTrial) -> tuple[str, ...]:
    """The segment of each marker of a trial, "" where the subject does not have it."""
    assert stage.subject is not None
    index = find_markers(stage.subject.marker_names, trial.names)
    groups = [""] * len(trial.names)
    for segment, record in stage.subject.segments.items():
        for name in record.markers_mm:
            if name in index:
                groups[index[name]] = segment
    return tuple(groups)


def recordings(folder: Path | None) -> list[str]:
    """The walker and the paths of all marker files below a folder, each content once."""
    found, known = [WALKER], set()
    for path in trials(folder, "*") if folder else ():
        content = sha256(path.read_bytes()).hexdigest()
        if content not in known:
            known.add(content)
            found.append(path.relative_to(folder).as_posix() if folder else str(path))
    return found
