"""The stages of a run by name: modules of this folder, and those that other packages bring.

A stage is a function

    make(setting: Setting) -> Stage | None

that builds it, or returns None where it has nothing to do with the model, as muscles without muscles: of a
module in this folder, which is then called as the stage, or at an entry point of the group `rtsim.stages`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import rtsim.stages
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.formats import MARKERS, has_format
from rtsim.files.markers.markers import read_markers
from rtsim.methods.keypoint_limits import for_keypoints
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.methods.walking_axis import oblique_way
from rtsim.stages.run_checks import BALANCED, LOADS, RECRUITED, REST, without, without_load
from rtsim.stages.stage import Stage
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.subject import Subject

GROUP = "rtsim.stages"
PELVIS = "pelvis"
SHOWN = 0.5
"""Part of the frames that shows a marker by which the way of a pelvis is judged."""
USUAL = ("kinematics", "progression", "conventional_angles", "muscles")
"""The stages of a live run that names none; where there are force plates, with those that follow."""
WITH_FORCES, WITH_MASS = ("plates",), ("rates", "plates", "inverse_dynamics")
OF_MODEL = ("muscle_speeds", "torque_generators")
"""After these, of a model that brings its own markers."""


@dataclass
class StageContext:
    """What a stage is built from.

    subject : None where the model brings its own markers; before : the stages that come before it, by name
    forces : what force plates say, where the run has some
    mass_kg : of the person, or of the model, 0 = not known
    """

    run: RunConfig
    spec: ModelSpec
    subject: Subject | None
    before: dict[str, Stage] = field(default_factory=dict)
    forces: ForceFeed | None = None
    mass_kg: float = 0.0

    @cached_property
    def oblique_walk(self) -> NDArray[np.float64] | None:
        """(3,) - the way of a recording that is oblique to the axes of the laboratory; None of others, and of
        streams."""
        run, source = self.run, Path(self.run.source)
        pelvis = self.subject.segments.get(PELVIS) if self.subject is not None else None
        if pelvis is None or not has_format(source, MARKERS) or not source.is_file():
            return None
        trial = read_markers(source, up=run.up or None, units=run.units or None, person=run.person)
        tracks = trial.positions[:, list(find_markers(pelvis.markers_mm, trial.names).values())]
        shown = np.isfinite(tracks).all(axis=2).mean(axis=0) >= SHOWN
        return oblique_way(tracks[:, shown].mean(axis=1)) if shown.any() else None

    @property
    def usual(self) -> tuple[str, ...]:
        """The stages where the run names none."""
        if self.forces is None:
            return USUAL
        if not self.mass_kg:
            return (*USUAL, *WITH_FORCES)
        of_model = self.subject is None
        sharing = (RECRUITED if of_model else BALANCED,) if self.run.recruitment is not None else ()
        return (*USUAL, *WITH_MASS, *(OF_MODEL if of_model else ()), *sharing)


EMG = "electromyograms"
"""The stage of a run that names channels of electromyograms."""
WEIGHED = (LOADS, "ground_reaction")
"""Stages that need the mass of the person, whether there are force plates or not."""
Make = Callable[[StageContext], Stage | None]


def stage_names() -> list[str]:
    """Names of all stages there are."""
    modules = [module.name for module in pkgutil.iter_modules(rtsim.stages.__path__)]
    others = [point.name for point in entry_points(group=GROUP)]
    return sorted({*(name for name in modules if own_stage(name) is not None), *others})


def check_named(names: Sequence[str]) -> None:
    """ConfigError for a name among the stages of a run that none has, nor stands for the usual ones."""
    for name in names:
        if name != REST:
            find_stage(name)


def own_stage(name: str) -> Make | None:
    """What builds a stage of this folder; None for a name that none of them has."""
    if name not in [module.name for module in pkgutil.iter_modules(rtsim.stages.__path__)]:
        return None
    make: Make | None = getattr(import_module(f"rtsim.stages.{name}"), "make", None)
    return make


def find_stage(name: str) -> Make:
    """What builds a stage; ConfigError for a name that none has, or a package that cannot be used."""
    point = next((point for point in entry_points(group=GROUP) if point.name == name), None)
    if point is None:
        make = own_stage(name)
        if make is None:
            raise ConfigError(f"unknown stage {name!r}", where="stages", allowed=", ".join(stage_names()))
        return make
    try:
        found = point.load()
    except Exception as fault:  # whatever a stranger's package does
        raise ConfigError(
            f"the stage {name!r} cannot be loaded ({type(fault).__name__}: {fault})",
            where=f"entry point {point.value}",
            remedy="correct or uninstall the package that brings it",
        ) from fault
    if not callable(found):
        raise ConfigError(
            f"the stage {name!r} is no function", where=f"entry point {point.value}", allowed="make(setting)"
        )
    return found


def make_stages(
    run: RunConfig,
    spec: ModelSpec,
    subject: Subject | None,
    forces: ForceFeed | None = None,
    mass_kg: float = 0.0,
) -> list[Stage]:
    """The stages of a run in order; ConfigError where one needs another that does not come before it."""
    run = for_keypoints(run) if subject is not None and subject.keypoints else run
    setting = StageContext(run, spec, subject, forces=forces, mass_kg=mass_kg)
    names = names_of(run.stages, setting.usual)
    names += [EMG] if run.emg and EMG not in names else []
    for name in names:
        stage = find_stage(name)(setting)
        if stage is None:
            if name in run.stages and not (name in WITH_FORCES and run.foot.level == "whole_body"):
                raise idle(name, setting)
            continue  # where the whole body tells the forces, plates are there to compare, or not at all
        missing = [need for need in stage.needs if need not in setting.before]
        if missing:
            raise ConfigError(
                f"{name!r} needs {missing[0]!r} before it",
                where="stages",
                remedy=f"put {missing[0]!r} before {name!r}",
            )
        setting.before[name] = stage
    if run.recruitment is not None and not {RECRUITED, BALANCED} & {*setting.before}:
        raise without_load()
    return list(setting.before.values())


def names_of(named: Sequence[str], usual: Sequence[str]) -> list[str]:
    """The stages of a run by name: those that it names, or the usual ones, which REST stands for."""
    rest = [name for name in usual if name not in named]
    return [name for word in named or (REST,) for name in (rest if word == REST else (word,))]


def idle(name: str, setting: StageContext) -> ConfigError:
    """A stage asked for that has nothing to do in the run."""
    if name in WITH_FORCES and setting.forces is None:
        return without("force plates", "--forces")
    if name in WEIGHED and not setting.mass_kg:
        return without("the mass of the person", "--mass")
    return ConfigError(
        f"{name!r} has nothing to do with {setting.spec.name}", where="stages", remedy="leave it out"
    )
