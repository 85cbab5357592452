"""Cases with `rtsim hil` and `rtsim device` processes: killed, suspended, resumed, signalled, on a full
disk.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack

from benchmarks.hil_hostile.case import Evidence, HostileCase
from benchmarks.hil_hostile.configs import device_config, safe_state_ms
from benchmarks.hil_hostile.lab import RunningModels
from benchmarks.hil_hostile.rig import READY_S, Rig
from benchmarks.hil_hostile.victims import NOTHING_NM, rows_of
from rtsim.live.processes.children import Child
from streams.clock import now_ns

GONE = ("answer", "older", "old", "by itself", "killed")
STOPPED_S = 0.6
DISK_BYTES = 300_000
END_S = 15.0
Happens = Callable[[Rig, Child], int]
"""Does it; when what ends the torque happened [ns]."""


def together(
    happens: Happens, of_device: bool = True, seconds: float = 1.0
) -> Callable[[RunningModels], Evidence]:
    """Run both under torque, then let something happen; judged by the log of the device, or by outputs."""

    def act(lab: RunningModels) -> Evidence:
        rig, since = lab.rig("ankle"), now_ns()
        config, log = device_config(lab.folder), lab.folder / f"device_{now_ns()}.csv"
        time.sleep(0.3)
        child = Child("device", ["device", str(config), "--model", rig.port, "--log", str(log)])
        try:
            child.wait_ready(READY_S)
            rig.arm(0.2)
            began_ns = now_ns()
            fault_ns = happens(rig, child)
            time.sleep(seconds)
            declared = rig.declared.spec.exchange.valid_for_ms + safe_state_ms(config)
            if of_device:
                rows = rows_of(log, since)
                known = {"torque": rows, "nothing": NOTHING_NM, "began_ns": began_ns}
                return rig.evidence(since, fault_ns, declared, **known)
            return rig.evidence(since, fault_ns, rig.declared.silence)
        finally:
            child.close()

    return act


def signalled(number: int, to_device: bool, then: int = 0) -> Happens:
    """Send a signal to the model, or to the device; after a while another one, from which torque is
    judged.
    """

    def happens(rig: Rig, child: Child) -> int:
        pid = child.pid if to_device else rig.child.pid
        began = now_ns()
        os.kill(pid, number)
        if then:
            time.sleep(STOPPED_S)
            began = began if not to_device else now_ns()  # meanwhile nothing of the device acts or speaks
            os.kill(pid, then)
        return began

    return happens


def on_a_full_disk(lab: RunningModels) -> Evidence:
    """Run with a recording on a full disk: it must be reported, and the exit code must not be that of
    success.
    """
    with ExitStack() as stack:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (DISK_BYTES, before[1]))
        stack.callback(resource.setrlimit, resource.RLIMIT_FSIZE, before)
        rig = lab.fresh("ankle", "--record", str(lab.folder / "full.mcap"))
        stack.close()
        stack.callback(rig.close)
        since = now_ns()
        with rig.device():
            rig.arm()
            full_ns = now_ns()
            time.sleep(2.0)
            rig.ask("stop")
            rig.child.wait(END_S)
        code = rig.child.code
        wrong = () if code not in (0, None) else (f"exit code {code} although the recording was lost",)
        words = [(now_ns(), text) for text in rig.child.take_words()]
        return rig.evidence(since, 0, 0.0, wrong=wrong)._replace(
            said=[(t, w) for t, w in words if t >= full_ns]
        )


def ends_in_a_fault(lab: RunningModels) -> Evidence:
    """End a run while a fault is latched: its exit code must not be that of success."""
    rig, since = lab.fresh("ankle"), now_ns()
    try:
        with rig.device() as device:
            rig.arm()
            device.begin(lambda told, m: [{**told, "torque": [500.0]}])
            fault = now_ns()
            rig.watch(1.0)
            rig.ask("stop")
            rig.child.wait(END_S)
        code = rig.child.code
        wrong = () if code not in (0, None) else (f"exit code {code} although the run ended in a fault",)
        return rig.evidence(since, fault, rig.declared.tick, wrong=wrong)
    finally:
        rig.close()


CASES = (
    HostileCase(
        "process_model_killed", "model", "`rtsim hil` is killed.", together(signalled(signal.SIGKILL, False))
    ),
    HostileCase(
        "process_model_terminated",
        "model",
        "`rtsim hil` is asked to end.",
        together(signalled(signal.SIGTERM, False), seconds=2.0),
        ("the run ends", "interrupted"),
    ),
    HostileCase(
        "process_model_stopped",
        "model",
        "`rtsim hil` is stopped and continued.",
        together(signalled(signal.SIGSTOP, False, signal.SIGCONT)),
        GONE,
    ),
    HostileCase(
        "process_device_killed",
        "device",
        "`rtsim device` is killed.",
        together(signalled(signal.SIGKILL, True), of_device=False),
        GONE,
    ),
    HostileCase(
        "process_device_stopped",
        "device",
        "`rtsim device` is stopped and continued.",
        together(signalled(signal.SIGSTOP, True, signal.SIGCONT)),
        GONE,
    ),
    HostileCase(
        "process_device_button",
        "device",
        "The stop button of `rtsim device` is pressed (signal SIGUSR1).",
        together(signalled(signal.SIGUSR1, True)),
        ("emergency",),
    ),
    HostileCase(
        "process_full_disk",
        "model",
        "`rtsim hil --record` writes to a full disk.",
        on_a_full_disk,
        ("record", "written", "disk", "room"),
    ),
    HostileCase(
        "process_ends_in_a_fault", "device", "A run ends while a fault is latched.", ends_in_a_fault, ("n m",)
    ),
)
