"""`rtsim hil` as a process, a listener to its results, and the person who arms and disarms."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.hil_hostile.case import Evidence
from benchmarks.hil_hostile.configs import Declared, declared_by
from benchmarks.hil_hostile.device import FalseDevice
from benchmarks.hil_hostile.listener import OutputListener
from benchmarks.hil_hostile.stream import FalseStream
from benchmarks.hil_hostile.wire import ask
from rtsim.errors import RtsimError
from rtsim.live.processes.children import Child
from streams.clock import now_ns

READY_S, ARM_S, LOOK_S = 120.0, 12.0, 0.005
TRIES = 4
"""Times that a person arms, where a busy machine costs the torque at once."""
HELD_S = 0.3
"""Silence after which another device may take the place of the one before, which takes more than 0.25 s
[s]."""


class NotArmedError(RtsimError):
    """Raised if the device could not be armed, so that the case has no result."""


def until(asked: Callable[[], object], seconds: float) -> bool:
    """Wait for a condition at most this long; return whether it came true."""
    due = time.monotonic() + seconds
    while not asked():
        if time.monotonic() > due:
            return False
        time.sleep(LOOK_S)
    return True


class Rig:
    """A model that runs through many cases.

    Parameters
    ----------
    config : of the run; stream : that it follows where a person wears the device; options : of the command

    Attributes
    ----------
    declared : times of the config; control, results, port : addresses; arms : when the person armed
    """

    def __init__(self, config: Path, stream: FalseStream | None = None, *options: str) -> None:
        self.declared: Declared = declared_by(config)
        self.free = self.declared.spec.exchange.mode == "free"
        self.stream = stream
        self.arms: list[int] = []
        self.child = Child("model", ["hil", str(config), "--device", "none", "--json", *options])
        told = self.child.wait_ready(READY_S)
        self.control, self.results, self.port = told["control"], told["results"], told["device"]
        self.listener = OutputListener(self.results)
        self._seed = 0

    def close(self) -> None:
        """End the model."""
        self.signal(signal.SIGCONT)
        self.child.close()
        self.listener.close()

    @property
    def alive(self) -> bool:
        """Return whether the model runs and answers."""
        return self.child.running and self.ask("status")[0]

    def signal(self, number: int) -> None:
        """Send a signal to the model, if it runs."""
        if self.child.running:
            os.kill(self.child.pid, number)

    def ask(self, command: str, timeout_s: float = 2.0, /, **args: object) -> tuple[bool, str]:
        """Send a command as the person; return whether it was done, and the answer."""
        return ask(self.control, command, timeout_s, **args)

    def device(self) -> FalseDevice:
        """Return an honest device; if another one was connected before, after a pause in which that one is
        dropped.
        """
        time.sleep(HELD_S)
        self._seed += 1
        return FalseDevice(self.port, self._seed, self.stream)

    def arm(self, settle_s: float = 0.1) -> None:
        """Arm, and wait for the end of the ramp; NotArmedError if it does not come."""
        why = ""
        for _ in range(TRIES):
            due = time.monotonic() + ARM_S
            while time.monotonic() < due:
                t = now_ns()
                done, why = self.ask("arm")
                if done:
                    self.arms.append(t)
                    break
                time.sleep(0.05)
            if not until(lambda: self.listener.on, 1.0):
                continue
            ramp_s = self.declared.spec.limits.ramp_s
            time.sleep(ramp_s + settle_s)
            if self.listener.on and until(self.has_torque, 1.5):
                return
            why = " ".join(self.listener.faults_since(self.arms[-1])) or "no torque"
        raise NotArmedError(f"the device could not be armed: {why}")

    def has_torque(self) -> bool:
        """Whether the newest output has torque."""
        return self.listener.on and abs(self.listener.torque[-1].torque) > 0.1

    def check_on(self) -> None:
        """Raise NotArmedError if torque has ended before anything happened, as on a busy machine."""
        if not self.listener.on:
            raise NotArmedError(f"torque ended before: {' '.join(self.listener.faults_since(self.arms[-1]))}")

    def disarm(self) -> None:
        """Disarm, and wait for it."""
        self.ask("disarm")
        until(lambda: not self.listener.on, 1.0)

    def watch(self, seconds: float, settle_s: float = 0.1) -> None:
        """Watch until there is no more torque, at most this long."""
        until(lambda: not self.listener.on, seconds)
        time.sleep(settle_s)

    def evidence(self, since_ns: int, fault_ns: int, declared_ms: float, **more: object) -> Evidence:
        """Return the evidence of what was received since a time, with the facts known to the case."""
        listener = self.listener
        known = {
            "torque": [sample for sample in list(listener.torque) if sample.t_ns >= since_ns],
            "said": [told for told in list(listener.said) if told[0] >= since_ns],
            "arms": [t for t in self.arms if t >= since_ns],
            "fault_ns": fault_ns, "declared_ms": declared_ms,
            "faults": len(listener.faults_since(since_ns)),
            "hold_ms": self.declared.spec.exchange.valid_for_ms,
            "until_ns": now_ns(),
        }  # fmt: skip
        return Evidence(**{**known, **more})  # type: ignore[arg-type]
