"""A run of `rtsim hil`: its sockets, the processes beside it, its emergency stops and its end."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rtsim.cli.runs.hil_words import in_words, in_words_of, latched, said_first, said_of_access
from rtsim.cli.terminal.beside import Beside
from rtsim.cli.terminal.emergency import EmergencySignal, emergency_key
from rtsim.cli.terminal.lines import json_text, tell
from rtsim.errors import ConfigError, ModelError
from rtsim.live.processes.signals import exit_code, noting_requests

if TYPE_CHECKING:
    from rtsim.config.runs.hil_schema import HilSpec
    from rtsim.live.hardware.device_replay import RecordedPort
    from rtsim.live.loop import Loop
    from streams.access.roles import RoleKeys
    from streams.access.security import Security
    from streams.control.commands import ControlServer


class HilOptions(NamedTuple):
    """Options of `rtsim hil` on how a run with a device is carried out.

    with_device : whether a simulated device is started with the run
    arm_s : time of automatic arming [s], None = by command
    first : whether the loop gets priority over ordinary programs, where the system permits it
    record : file of the recording, None = none
    again : port that delivers the recorded messages of a device in place of a device, None = no replay
    urgently : whether the loop gets real-time priority over all programs, where the system permits it
    cpu : processor to which the loop is pinned, None = any
    signal : handler of the signal that is the emergency stop
    keys : cryptographic keys of the run and of its clients, None = no keys are used
    """

    with_device: bool
    arm_s: float | None
    first: bool
    record: Path | None
    again: RecordedPort | None
    urgently: bool
    cpu: int | None
    monitor: bool
    as_json: bool
    signal: EmergencySignal
    keys: RoleKeys | None


WAYS = ("record", "urgently", "cpu", "monitor", "as_json")


def control_of(spec: HilSpec, ways: HilOptions, loop: Loop, people: Security | None) -> ControlServer:
    """Return the server that receives the commands of a run, among them the emergency stop.

    loop : carries the commands out
    people : keys of those who may give commands, None = no keys are needed
    """
    from rtsim.device.arming import EMERGENCY
    from rtsim.device.rights import RunRights
    from rtsim.live.processes.thread_priority import with_priority
    from streams.access.users import own_name
    from streams.control.commands import ControlServer
    from streams.messages import Command

    # what is run again has its commands from the recording alone
    press = None if ways.again is not None else partial(loop.command, Command(name=EMERGENCY))
    rights = RunRights(own_name() if ways.arm_s is not None else "", replay=press is None)
    with with_priority(ways.first or ways.urgently):  # of the threads that hear an emergency stop, too
        server = ControlServer(
            address=spec.ports.control, handler=loop.command, names=loop.commands,
            security=people, rights=rights, stop=press,
        )  # fmt: skip
    loop.control_events, loop.control_counters = server.events, server.journal.counters
    return server


def run(
    spec: HilSpec,
    ways: HilOptions,
    loop_with: Callable[..., Loop],
    summarise: Callable[[Loop], dict[str, Any]],
) -> None:
    """Run the loop of limb and device until it ends, with the processes that accompany it, and report the
    outcome.

    loop_with : function that builds the loop from a port, a publisher and further arguments
    summarise : function that returns the summary of the finished loop
    """
    from rtsim.live.processes.thread_priority import may_have_priority, pinned
    from streams.access.users import own_name
    from streams.exchange import DevicePort
    from streams.publisher import Publisher

    child = None
    people, devices, with_keys = (
        (None, None, []) if ways.keys is None else (ways.keys.people, ways.keys.devices, ways.keys.options)
    )
    with contextlib.ExitStack() as stack:
        publisher = stack.enter_context(Publisher(spec.ports.results, people))
        if ways.again is not None:
            loop = loop_with(ways.again, publisher, again=ways.again)
            address = str(ways.again.path)
        else:
            port = stack.enter_context(
                DevicePort(spec.ports.device, devices, urgent=may_have_priority(ways.urgently or ways.first))
            )
            loop = loop_with(port, publisher, ways.arm_s, ways.urgently, ways.first)
            address = port.address
        server = stack.enter_context(control_of(spec, ways, loop, people))
        stack.enter_context(noting_requests(lambda number: loop.stop("interrupted")))
        no_effect = partial(
            tell, "rtsim: there is no emergency stop here: a replayed run has no device that exerts torque"
        )
        by_signal = partial(server.stop_by, f"signal {ways.signal.name}") if ways.again is None else no_effect
        stack.enter_context(ways.signal.calling(by_signal))
        beside = stack.enter_context(Beside(publisher.events.append))
        if ways.record is not None:
            beside.record(publisher, ["record", publisher.address, str(ways.record), *with_keys])
        told: dict[str, Any] = {"state": "ready"}
        told |= {"results": publisher.address, "control": server.address, "device": address}
        told |= {"stop": server.stop_address, "signal": ways.signal.name, "pid": os.getpid()}
        click.echo(json_text(told) if ways.as_json else in_words_of(spec, told), err=not ways.as_json)
        if ways.monitor:
            beside.start("monitor", ["monitor", publisher.address, "--control", server.address, *with_keys])
        if ways.with_device and ways.again is None:
            priority = (
                ["--urgent"] if ways.urgently else ["--priority", "first" if ways.first else "ordinary"]
            )
            arguments = ["device", spec.device, "--model", address, *priority, *with_keys]
            child = beside.start("device", arguments)
        by_key = partial(server.stop_by, f"the terminal of {own_name()}")
        key = emergency_key(by_key) if ways.again is None else contextlib.nullcontext(False)
        with key as has_key, pinned(ways.cpu) as is_pinned:
            told_first = said_first(ways, may_have_priority(ways.urgently), is_pinned, has_key)
            for words in (*told_first, *said_of_access(ways, server)):
                tell(words)
            loop.run()
        publisher.close()
    conclude(spec, ways, loop, summarise(loop), child.failure() if child else "", beside.failed)


def conclude(
    spec: HilSpec, ways: HilOptions, loop: Loop, summary: dict[str, Any], of_child: str, failed: bool
) -> None:
    """Report the outcome of a run with a device, and exit with its exit code.

    of_child : reason why the simulated device ended
    failed : whether another process of the run failed
    """
    from rtsim.live.hardware.device_loop import NOBODY

    if ways.as_json:
        click.echo(json_text({"state": "over", **summary}))
    else:
        for words in in_words(summary):
            tell(words, err=False)  # reasons are a device's words
    if loop.failure:
        raise ModelError(
            loop.failure, where=spec.model,
            remedy="the device was disarmed and commanded to zero torque; lower the torque of the "
                "device, or shorten the step of the model",
        )  # fmt: skip
    if loop.reason == NOBODY:
        raise ConfigError(
            f"{NOBODY} within {spec.exchange.connect_s:g} s{': ' + of_child if of_child else ''}",
            where=spec.ports.device,
            remedy="start the device, for example with `rtsim device SPEC --model ADDRESS`",
        )  # fmt: skip
    if words := latched(summary):
        tell(f"rtsim: {words}")
    raise SystemExit(exit_code() or int(bool(words) or failed))
