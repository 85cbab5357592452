"""Runs whose source is a motion: a .mot or .sto file that drives a model under force-dependent kinematics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.live.compiled.warm_up import warm_up
from rtsim.methods.kinematics.choice import method_of, methods_of
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from rtsim.simulation.drivers import Drivers, check_drivers
from rtsim.stages.poses.fdk_driven import DrivenJoint
from rtsim.stages.run_checks import BALANCED, check_balanced
from streams.messages import Session, new_session_id

GROUPS = ("fdk",)
"""Of kernels that such a run calls (rtsim/live/compiled/group_table)."""
UNUSED = {
    "subject": "--subject", "static": "--static", "forces": "--forces", "lab": "--lab", "side": "--side",
    "ik_setup": "--ik-setup", "units": "--units", "up": "--up", "mass_kg": "--mass",
}  # fmt: skip
"""What is of markers or plates, by its option."""


def check_driven(run: RunConfig) -> None:
    """ConfigError for what a run of a motion cannot have, before anything is compiled."""
    spec = load_model(run.model)
    methods_of(run, spec)
    if not Path(run.source).is_file():
        raise ConfigError(f"there is no file {run.source!r}", where="SOURCE")
    for key, option in UNUSED.items():
        if getattr(run, key):
            raise ConfigError(
                "it is for markers or force plates, and the source is a motion", where=option,
                remedy="leave it out",
            )  # fmt: skip
    others = [name for name in run.stages if name not in ("kinematics", BALANCED)]
    if others:
        raise ConfigError(
            f"{others[0]!r} cannot follow a motion", where="stages", allowed=BALANCED, remedy="leave it out"
        )
    check_balanced(run, spec)
    check_drivers(build(spec, None, method_of(run, spec)), run.fdk.drivers)


def stage_of(run: RunConfig, note: Callable[[str], None]) -> DrivenJoint:
    """The stage of a run of a motion, after check_driven: it stands in the place of kinematics and fdk.

    note : told what is odd about the motion
    """
    spec = load_model(run.model)
    method = method_of(run, spec)
    model, recruitment = build(spec, None, method), run.recruitment or RecruitmentSpec()
    drivers = Drivers(spec, model, run.fdk.drivers, run.source, note)
    stage = DrivenJoint(
        model=model,
        roles=roles_of(spec, method),
        spec=run.fdk,
        recruitment=recruitment,
        drivers=drivers,
        method=method,
    )
    warm_up([stage], session_of(drivers))
    return stage


def session_of(drivers: Drivers) -> Session:
    """The descriptor of a motion's frames, which have no data."""
    rate = 1.0 / float(np.median(np.diff(drivers.times)))
    return Session(session=new_session_id(), stream="markers", t_start=0, rate=rate, fields=())
