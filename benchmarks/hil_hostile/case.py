"""Cases and the evidence that they leave: torque by the clock, sentences, who armed when."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from benchmarks.hil_hostile.lab import RunningModels

FAMILIES = ("honest", "device", "model", "stream", "crowd")
"""Families of cases, by who is hostile; nobody among the honest ones, where any fault is a false alarm."""
LIE_DEG, LIE_MS = 5.0, 50.0
"""An angle that is farther off, or older, is a lie that has to be found."""


class Sample(NamedTuple):
    """Torque at an instant of this computer's clock, commanded by a model or acting at a device.

    on : whether its sender calls itself armed; torque [N m]
    """

    t_ns: int
    on: bool
    torque: float


class Evidence(NamedTuple):
    """Observations of a case. All times are of this computer's clock [ns].

    Attributes
    ----------
    torque : oldest first, from before the fault to well after it
    said : sentences, and when they were heard
    arms : when a person armed
    fault_ns : when what ends the torque happened; 0 = nothing does
    began_ns : from when on sentences count, where it began before that; 0 = with the fault
    declared_ms : time that torque may last after it, by config and protocol
    nothing : torque below which there is none [N m]
    hold_ms : time that a sample of torque acts where no further one comes, as its time to live
    until_ns : when somebody looked last; 0 = with the last sample
    faults : number of times that a fault latched
    stop_ns : when somebody asked for an emergency stop; 0 = nobody did
    wrong : sentences on what was not as the protocol says
    """

    torque: Sequence[Sample]
    said: Sequence[tuple[int, str]] = ()
    arms: Sequence[int] = ()
    fault_ns: int = 0
    began_ns: int = 0
    declared_ms: float = math.nan
    nothing: float = 1e-9
    hold_ms: float = math.inf
    until_ns: int = 0
    faults: int = 0
    stop_ns: int = 0
    wrong: tuple[str, ...] = ()


Act = Callable[["RunningModels"], Evidence]


class HostileCase(NamedTuple):
    """One way to be hostile.

    Attributes
    ----------
    what : course of the case, in a sentence
    act : does it, and returns what came of it
    words : one of them has to be in a sentence that is told; none: nothing has to be told
    lie : it is about an angle, and has to be found
    promised : whether a stop has to be heard; at a control socket under a flood newcomers wait
    """

    name: str
    family: str
    what: str
    act: Act
    words: tuple[str, ...] = ()
    lie: bool = False
    promised: bool = True


class LeftOut(Exception):  # noqa: N818 - no error: the machine has not what the case needs
    """Why a case cannot be tried here."""
