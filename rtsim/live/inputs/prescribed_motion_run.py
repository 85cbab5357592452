"""Runs whose source is a motion: a .mot or .sto file that prescribes coordinates of a model in
force-dependent kinematics.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.tables.storage import STORAGE_SUFFIXES
from rtsim.live.compiled.warm_up import warm_up
from rtsim.methods.kinematics.choice import method_of, methods_of
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.simulation.drivers import Drivers, check_drivers
from rtsim.stages.building.declaration import StageDeclaration
from rtsim.stages.building.find import find_stages
from rtsim.stages.loads.recruited_runs import check_balanced
from rtsim.stages.poses.fdk_driven import DrivenJoint
from streams.messages import Session, new_session_id

UNUSED = {
    "subject": "--subject", "static": "--static", "forces": "--forces", "lab": "--lab", "side": "--side",
    "ik_setup": "--ik-setup", "units": "--units", "up": "--up", "mass_kg": "--mass",
}  # fmt: skip
"""Options for markers or plates, which a prescribed motion does not use, by key."""


def is_driven(run: RunConfig) -> bool:
    """Return whether the source of a run is a motion file, and the run has a stage that can move the model
    according to such a file.
    """
    if Path(run.source).suffix.lower() not in STORAGE_SUFFIXES:
        return False
    return any(stage.of_motion is not None for stage in find_stages(run.stages).values())


def balanced_stage(run: RunConfig) -> tuple[str, StageDeclaration]:
    """Return the name and the declaration of the stage of a run that can move the model by a motion file."""
    stages = find_stages(run.stages).items()
    return next((name, declared) for name, declared in stages if declared.of_motion is not None)


def check_driven(run: RunConfig) -> None:
    """Raise ConfigError for settings that do not fit a run with a prescribed motion, before anything is
    compiled.
    """
    spec = load_model(run.model)
    methods_of(run, spec)
    if not Path(run.source).is_file():
        raise ConfigError(f"there is no file {run.source!r}", where="SOURCE")
    for key, option in UNUSED.items():
        if getattr(run, key):
            raise ConfigError(
                "the option is only for markers or force plates, and the source is a motion", where=option,
                remedy="leave it out",
            )  # fmt: skip
    name, declared = balanced_stage(run)
    others = [other for other in run.stages if other not in (*declared.needs, name)]
    if others:
        raise ConfigError(
            f"the stage {others[0]!r} cannot run on a prescribed motion",
            where="stages",
            allowed=name,
            remedy="leave this stage out",
        )
    check_balanced(run, spec)
    check_drivers(build(spec, None, method_of(run, spec)), run.fdk.drivers)


def groups_of_motion(run: RunConfig) -> tuple[str, ...]:
    """Return the groups of kernels that a run of a motion file calls (rtsim/live/compiled/group_table)."""
    return tuple(balanced_stage(run)[1].groups(frozenset()))


def stage_of(run: RunConfig, note: Callable[[str], None]) -> DrivenJoint:
    """Build the stage of a run with a prescribed motion, its kernels compiled; call check_driven before.

    note : function called with notes on irregularities of the motion
    """
    _, declared = balanced_stage(run)
    assert declared.of_motion is not None
    stage = declared.of_motion(run, note)
    warm_up([stage], session_of(stage.drivers))
    return stage


def session_of(drivers: Drivers) -> Session:
    """Return the descriptor of the frames of a prescribed motion, which contain no data."""
    rate = 1.0 / float(np.median(np.diff(drivers.times)))
    return Session(session=new_session_id(), stream="markers", t_start=0, rate=rate, fields=())
