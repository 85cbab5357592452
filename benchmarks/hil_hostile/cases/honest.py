"""Cases in which nobody is hostile: each fault is a false alarm."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.hil_hostile.case import Evidence, HostileCase
from benchmarks.hil_hostile.configs import device_config
from benchmarks.hil_hostile.lab import RunningModels
from benchmarks.hil_hostile.rig import HELD_S, READY_S, Rig
from rtsim.live.processes.children import Child
from streams.clock import now_ns

CLEAN_S = 6.0
RUNS = {"ankle": "in lockstep", "swing": "of a swinging leg in lockstep", "free": "of two clocks",
        "worn": "of a person", "spline": "of a person with the spline"}  # fmt: skip


def clean(run: str) -> Callable[[RunningModels], Evidence]:
    """Run a device that follows the protocol, armed for six seconds."""

    def act(lab: RunningModels) -> Evidence:
        rig, since = lab.rig(run), now_ns()
        with rig.device():
            return looked_on(rig, since)

    return act


def simulated(run: str, device: str) -> Callable[[RunningModels], Evidence]:
    """Run `rtsim device`, armed for six seconds."""

    def act(lab: RunningModels) -> Evidence:
        rig, since = lab.rig(run), now_ns()
        time.sleep(HELD_S)
        config: Path | str = device or device_config(lab.folder)
        child = Child("device", ["device", str(config), "--model", rig.port])
        try:
            child.wait_ready(READY_S)
            return looked_on(rig, since)
        finally:
            child.close()

    return act


def looked_on(rig: Rig, since_ns: int) -> Evidence:
    """Arm, and observe."""
    rig.arm()
    armed = now_ns()
    time.sleep(CLEAN_S)
    wrong = () if rig.listener.on else ("the torque was ended although nothing was wrong",)
    seen = rig.evidence(since_ns, 0, math.nan, wrong=wrong)
    faults = rig.listener.faults_since(armed)
    return seen._replace(faults=len(faults), said=[(armed, text) for text in faults])


CASES = (
    *(
        HostileCase(f"honest_device.{run}", "honest", f"An honest device in a run {what}.", clean(run))
        for run, what in RUNS.items()
    ),
    *(
        HostileCase(
            f"honest_simulated.{run}",
            "honest",
            f"`rtsim device` in a run {RUNS[run]}.",
            simulated(run, device),
        )
        for run, device in (("ankle", "ankle_orthosis"), ("free", "knee_brace"), ("worn", "ankle_orthosis"))
    ),
)
