"""Faults of the source: frames too early, too late, twice, in bursts, with other markers, or interrupted."""

from __future__ import annotations

import signal
import socket
import time

from benchmarks.faults.fault import FaultOutcome
from benchmarks.faults.rig import PATIENCE_S, RATE, STEP_NS, FaultRig
from benchmarks.soak.watchers import NEVER
from benchmarks.strangers.hostile import line_of, python
from rtsim.live.processes.children import Child
from streams.publisher import Publisher

HOUR_NS = 3_600_000_000_000
N = 60


def twice() -> FaultOutcome:
    """Every frame comes twice."""
    with FaultRig() as rig:
        rig.begin()
        rig.send(N, copies=2)
        rig.passed()
        rig.send(N)
        return rig.finish()


def early() -> FaultOutcome:
    """Frames come four times as densely as the session says."""
    with FaultRig() as rig:
        rig.begin()
        rig.send(N)
        rig.send(2 * N, every_ns=STEP_NS // 4)
        rig.passed()
        rig.send(N)
        return rig.finish()


def late() -> FaultOutcome:
    """Nothing comes for a second, then the stream goes on."""
    with FaultRig() as rig:
        rig.begin()
        rig.send(N)
        rig.pause(1.0)
        rig.passed()
        rig.send(N)
        return rig.finish()


def bursts() -> FaultOutcome:
    """A second of frames comes at once, three times."""
    with FaultRig() as rig:
        rig.begin()
        rig.send(N)
        for _ in range(3):
            rig.send(round(RATE), every_ns=0)
            rig.pause(0.3)
        rig.passed()
        rig.send(N)
        return rig.finish()


def other_markers() -> FaultOutcome:
    """The session is begun anew with markers in another order and strange ones, then as it was."""
    with FaultRig() as rig:
        names = rig.begin().fields[0].labels
        rig.send(N)
        rig.begin((*reversed(names), "stick", "chair"))
        rig.send(N)
        rig.passed()
        rig.begin()
        rig.send(N)
        return rig.finish()


def restarts() -> FaultOutcome:
    """The source ends without a word and comes back at the same address, five times."""
    with FaultRig() as rig:
        assert rig.publisher is not None
        address = rig.publisher.address
        rig.begin()
        rig.send(N)
        for _ in range(5):
            rig.publisher.close()
            rig.publisher = Publisher(address)
            rig.begin()
            rig.send(N // 2)
        rig.passed()
        rig.send(N)
        try:
            return rig.finish()
        finally:
            rig.publisher.close()


def killed() -> FaultOutcome:
    """The process of the source is killed, and started again a second later at its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    command = ["replay", "walker", "--address", address, "--states", "--loop"]
    first = Child("source", command)
    try:
        first.wait_ready(PATIENCE_S)
        with FaultRig(markers=address) as rig:
            rig.wait_for_answers(N)
            first._process.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
            first.wait(PATIENCE_S)
            time.sleep(1.0)
            n_before = len(rig.answered)
            rig.passed()
            second = Child("source", [*command[:-1], "--duration", "2"])
            try:
                rig.wait_for_answers(n_before + N)
                outcome = rig.finish()
            finally:
                second.close()
            return outcome._replace(n_sent=sent_to(outcome))
    finally:
        first.close()


def sent_to(outcome: FaultOutcome) -> int:
    """Return the number of frames of a killed source, which keeps no count: those that the estimator
    received and missed.
    """
    return outcome.counters.get("received", 0) + outcome.counters.get("lost", 0)


def never_read() -> FaultOutcome:
    """Beside the one who reads, a subscriber takes nothing of what it is sent."""
    with FaultRig() as rig:
        line_of(python(rig.stack, "benchmarks.soak.watchers", NEVER, rig.results))
        rig.begin()
        rig.send(3 * N)
        rig.passed()
        rig.send(N)
        return rig.finish()


def clock_of_sender() -> FaultOutcome:
    """The clock of the sender steps an hour forwards, and back again."""
    with FaultRig() as rig:
        rig.begin()
        rig.send(N)
        rig.send(N, ahead_ns=HOUR_NS)
        rig.passed()
        rig.send(N)
        return rig.finish()
