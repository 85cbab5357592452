"""Cases with an emergency stop amid crowds: by datagram, by command, by `rtsim command`, by signal."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

from benchmarks.hil_hostile.case import Evidence, HostileCase
from benchmarks.hil_hostile.crowd import (
    Crowd,
    Member,
    churn,
    datagrams,
    drip,
    endless_parts,
    flooding,
    pouring,
    rubbish,
    silent,
    silent_before_the_handshake,
    stop_by_datagram,
)
from benchmarks.hil_hostile.lab import RunningModels
from benchmarks.hil_hostile.rig import Rig, until
from streams.clock import now_ns

WORDS = ("emergency",)
COMMAND_S = 1.0
PROCESS = """
import sys
from rtsim.cli.main import cli
import rtsim.cli.commands.command, streams.control.commands
try:
    import streams.control.emergency_stop
except ImportError:
    pass
print("ready", flush=True)
sys.stdin.readline()
cli(["command", "emergency_stop", "--control", sys.argv[1]], standalone_mode=False)
"""
"""`rtsim command emergency_stop` , loaded before: how long a program takes to start is not of the stop."""
Stop = Callable[[Rig], int]
"""Asks for a stop; when [ns]."""


def by_datagram(rig: Rig) -> int:
    """Request a stop by a datagram to the endpoint that cannot be blocked; return the time [ns]."""
    return stop_by_datagram(rig.control)[0]


def by_command(rig: Rig) -> int:
    """Request a stop by a plain command on a new connection, repeated if it is not answered; return the time
    [ns].
    """
    began = now_ns()
    for _ in range(2):
        if rig.ask("emergency_stop", COMMAND_S)[0]:
            break
    return began


def by_process(rig: Rig) -> int:
    """Request a stop by `rtsim command emergency_stop`; return the time [ns]."""
    command = [sys.executable, "-c", PROCESS, rig.control]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        process.stdout.readline()
        began = now_ns()
        process.communicate("\n", timeout=30.0)
    return began


def by_signal(rig: Rig) -> int:
    """Request a stop by SIGUSR2 to the process of the model; return the time [ns]."""
    began = now_ns()
    os.kill(rig.child.pid, signal.SIGUSR2)
    return began


def junk(rng: random.Random) -> bytes:
    """Return random bytes that are not a stop."""
    return rng.randbytes(rng.choice((0, 1, 7, 8, 64, 1400)))


def almost(rng: random.Random) -> bytes:
    """Return bytes that begin almost like a stop."""
    return b"rtsim:s" + rng.choice((b"", b"x", b"\0", b" top"))


def stopped(
    run: str, stop: Stop, where: str = "control", *members: Member
) -> Callable[[RunningModels], Evidence]:
    """Return a case: the device is armed, then a crowd comes, then a stop is requested.

    where : endpoint that the crowd attacks: control, results or port (the device's)
    """

    def act(lab: RunningModels) -> Evidence:
        rig, since = lab.rig(run), now_ns()
        with rig.device(), ExitStack() as stack:
            rig.arm()
            for member in members:
                stack.enter_context(Crowd(getattr(rig, where), member))
            on = rig.listener.on
            if not on:
                stack.close()
                rig.arm()
            began = stop(rig)
            until(lambda: not rig.listener.on, 1.5)
            time.sleep(0.15)
            why = " ".join(rig.listener.faults_since(since))
            wrong = () if on else (f"the crowd of clients ended the torque before a stop was sent: {why}",)
            return rig.evidence(since, 0, 0.0, stop_ns=began, wrong=wrong)

    return act


CROWDS: dict[str, tuple[str, str, tuple[Member, ...]]] = {
    "nobody": ("nobody", "control", ()),
    "70_silent": ("70 silent connections", "control", (silent(70),)),
    "200_silent": ("200 silent connections", "control", (silent(200),)),
    "200_before_the_handshake": (
        "200 connections without a handshake",
        "control",
        (silent_before_the_handshake(200),),
    ),
    "churn": ("connections that come and go", "control", (churn, churn)),
    "flood_of_commands": ("a flood of commands", "control", (flooding("status"),)),
    "flood_of_sets": (
        "a flood of commands that change parameters",
        "control",
        (flooding("undo", "disarmed", "list"),),
    ),
    "flood_of_bytes": ("a flood of random bytes", "control", (pouring(b"DEALER", rubbish),)),
    "endless_parts": ("messages without end", "control", (pouring(b"DEALER", endless_parts),)),
    "drips": ("commands that arrive byte by byte", "control", (drip,) * 10),
    "junk_datagrams": ("a flood of datagrams", "control", (datagrams(junk),)),
    "almost_stops": (
        "a flood of datagrams that differ slightly from a stop",
        "control",
        (datagrams(almost),),
    ),
    "200_listeners": ("200 silent subscribers of results", "results", (silent(200, b"SUB"),)),
    "200_at_the_device": ("200 silent connections to the device's endpoint", "port", (silent(200),)),
    "all_at_once": (
        "200 silent connections, connections that come and go, floods of commands and datagrams",
        "control",
        (silent(200), churn, flooding("status"), datagrams(junk)),
    ),
}
FLOODS = ("flood_of_commands", "flood_of_sets", "flood_of_bytes", "endless_parts", "all_at_once")
"""Cases beside which newcomers at the control socket have to wait (docs/reliability.md)."""
WAYS: dict[str, tuple[str, Stop, tuple[str, ...]]] = {
    "datagram": ("by datagram", by_datagram, tuple(CROWDS)),
    "command": ("by command", by_command, tuple(CROWDS)),
    "process": (
        "by `rtsim command`",
        by_process,
        ("nobody", "200_silent", "flood_of_commands", "all_at_once"),
    ),
    "signal": ("by SIGUSR2", by_signal, ("nobody", "200_silent", "all_at_once")),
}
CASES = (
    *(
        HostileCase(
            f"stop_by_{way}_beside_{crowd}.ankle",
            "crowd",
            f"A stop {how} beside {CROWDS[crowd][0]}.",
            stopped("ankle", stop, CROWDS[crowd][1], *CROWDS[crowd][2]),
            WORDS,
            promised=not (way == "command" and crowd in FLOODS),
        )
        for way, (how, stop, crowds) in WAYS.items()
        for crowd in crowds
    ),
    *(
        HostileCase(
            f"stop_by_{way}_beside_{crowd}.worn",
            "crowd",
            f"A stop {WAYS[way][0]} of a person beside {CROWDS[crowd][0]}.",
            stopped("worn", WAYS[way][1], CROWDS[crowd][1], *CROWDS[crowd][2]),
            WORDS,
        )
        for way, crowd in (("datagram", "nobody"), ("datagram", "200_silent"), ("command", "200_silent"))
    ),
)
