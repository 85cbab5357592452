"""Cases and their evidence: torque over time, messages, and who armed when."""

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
    """Torque at an instant of this computer's clock, commanded by a model or applied by a device.

    on : whether its sender reports to be armed; torque [N m]
    """

    t_ns: int
    on: bool
    torque: float


class Evidence(NamedTuple):
    """Observations of a case. All times are of this computer's clock [ns].

    Attributes
    ----------
    torque : oldest first, from before the fault to well after it
    said : messages, with the times when they were received
    arms : times when a person armed
    fault_ns : time of the fault that ends the torque; 0 = none
    began_ns : time from which messages count, if the case began before the fault; 0 = the time of the fault
    declared_ms : time that torque may last after the fault, by config and protocol
    nothing : torque that counts as none [N m]
    hold_ms : time that a sample of torque acts where no further one comes, as its time to live
    until_ns : end of the observation; 0 = the last sample
    faults : number of times that a fault latched
    stop_ns : time of the request for an emergency stop; 0 = none
    wrong : descriptions of violations of the protocol
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
    """One kind of hostile behaviour.

    Attributes
    ----------
    what : course of the case, as a sentence
    act : function that executes it and returns the evidence
    words : one of them has to be in a reported message; empty = nothing has to be reported
    lie : whether it is false data on an angle, which has to be detected
    promised : whether a stop has to take effect; at a control socket under a flood newcomers wait
    """

    name: str
    family: str
    what: str
    act: Act
    words: tuple[str, ...] = ()
    lie: bool = False
    promised: bool = True


class LeftOut(Exception):  # noqa: N818 - no error: the machine has not what the case needs
    """The reason why a case cannot be tried here."""
