"""Cases with models that stall, vanish, flood, alternate, begin armed, or send endless messages."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

from benchmarks.hil_hostile.case import HostileCase
from benchmarks.hil_hostile.crowd import place
from benchmarks.hil_hostile.lab import RunningModels
from benchmarks.hil_hostile.scenarios import on_all
from benchmarks.hil_hostile.victims import COMES_BACK_S, Victim, Victims
from benchmarks.hil_hostile.wire import packed
from benchmarks.strangers.zmtp import frame, greet
from streams.clock import now_ns

OLD = ("old", "session", "older", "stopped")
STOPPED_S = 0.6


def stalls(all_: Victims) -> int:
    """Let the model send nothing for a second but stay connected."""
    began = now_ns()
    all_.listen(0.8)
    return began


def floods(all_: Victims) -> int:
    """Let the model send outputs as fast as it can for half a second, then nothing."""
    due = time.monotonic() + 0.5
    while time.monotonic() < due:
        for victim in all_.all:
            for _ in range(20):
                victim.say(victim.output())
            victim.listen()
    began = now_ns()
    all_.listen(0.8)
    return began


def alternates(all_: Victims) -> int:
    """Let two runs send alternately, both armed."""
    sessions = ("a" * 16, "b" * 16)
    began = now_ns()
    for k in range(80):
        for victim in all_.all:
            victim.say(victim.output(session=sessions[k % 2]))
        all_.turn()
    return began


def changes_session(all_: Victims) -> int:
    """Begin another run with an armed output, and continue armed."""
    for victim in all_.all:
        victim.renew()
    began = now_ns()
    all_.go_on(0.8)
    return began


def begins_armed(lab: RunningModels) -> Any:
    """After a fall to the safe state begin another run whose first output is armed: no torque, however long
    it continues.
    """

    def act(all_: Victims) -> int:
        all_.listen(0.5)
        for victim in all_.all:
            victim.renew()
        began = now_ns()
        all_.go_on(1.0)
        return began

    return on_all(lab, act, ends=True, after_ms=lambda v: 0.0)


def goes_on_after_a_fall(lab: RunningModels) -> Any:
    """Let the model stall and then continue armed: no torque until it was disarmed."""

    def act(all_: Victims) -> int:
        all_.listen(0.5)
        began = now_ns()
        all_.go_on(1.0)
        return began

    return on_all(lab, act, ends=True, after_ms=lambda v: 0.0)


def is_stopped(lab: RunningModels) -> Any:
    """Suspend the device's process under torque while the model continues, then resume it."""

    def act(all_: Victims) -> int:
        send(all_, signal.SIGSTOP)
        time.sleep(STOPPED_S)  # nobody goes on meanwhile: the newest command is too old
        continued = now_ns()
        send(all_, signal.SIGCONT)
        all_.go_on(0.8)
        return continued

    return on_all(lab, act, ends=True, after_ms=lambda v: v.fall_ms)


def is_stopped_beside_a_model(lab: RunningModels) -> Any:
    """Suspend the device's process under torque while the model fills its queue, then resume it."""

    def act(all_: Victims) -> int:
        send(all_, signal.SIGSTOP)
        all_.go_on(STOPPED_S)
        continued = now_ns()
        send(all_, signal.SIGCONT)
        all_.go_on(0.8)
        return continued

    return on_all(lab, act, ends=True, after_ms=lambda v: v.fall_ms)


def falls_in_slow_ticks(lab: RunningModels) -> Any:
    """Press the button while the model requests an answer only every 250 ms: the ramp must follow time."""

    def act(all_: Victims) -> int:
        all_.go_on(0.2, answer=True, valid_for_ms=1000.0)
        send(all_, signal.SIGUSR1, only="device")
        began = now_ns()
        for _ in range(8):
            for victim in all_.all:
                victim.say(victim.output(answer=True, valid_for_ms=1000.0))
            all_.listen(0.25)
        return began

    return on_all(lab, act, ends=True, after_ms=lambda v: 250.0 + v.fall_ms, only="device")


def is_stopped_while_it_falls(lab: RunningModels) -> Any:
    """Kill the model, and suspend the device's process in the middle of its ramp."""

    def act(all_: Victims) -> int:
        all_.listen(0.085)
        send(all_, signal.SIGSTOP)
        time.sleep(STOPPED_S)
        continued = now_ns()
        send(all_, signal.SIGCONT)
        all_.listen(0.8)
        return continued

    return on_all(lab, act, ends=True, after_ms=lambda v: v.fall_ms)


def send(all_: Victims, number: int, only: str = "") -> None:
    """Send a signal to the devices."""
    for victim in all_.all:
        if only in ("", victim.name):
            os.kill(victim.process.pid, number)


def vanishes(all_: Victims) -> int:
    """Close the model's sockets; after a while open them again, so that the devices hear it again."""
    for victim in all_.all:
        victim.listen()
        victim.vanish()
    began = now_ns()
    time.sleep(0.5)
    comes_back(all_)
    return began


def comes_back(all_: Victims) -> None:
    """Bind the model again, and record the messages of the devices that come back."""
    for victim in all_.all:
        if victim.socket.closed:
            victim.bind(victim.address)
    due = time.monotonic() + COMES_BACK_S
    since = now_ns()
    while time.monotonic() < due and not all(back(v, since) for v in all_.all):
        all_.go_on(0.05, armed=False)


def back(victim: Victim, since_ns: int) -> bool:
    """Return whether a device has heard a model since a time [ns]."""
    return bool(victim.torque) and victim.torque[-1].t_ns > since_ns and victim.state in ("disarmed", "armed")


def by_hand(make: Callable[[Victim], bytes], pause_s: float = 0.0) -> Callable[[Victims], int]:
    """Replace the model by one that sends these bytes; then bring the model back."""

    def act(all_: Victims) -> int:
        for victim in all_.all:
            victim.listen()
            victim.vanish()
        began = now_ns()
        for victim in all_.all:
            taken(victim, make(victim), pause_s)
        comes_back(all_)
        return began

    return act


def taken(victim: Victim, text: bytes, pause_s: float) -> None:
    """Bind at a model's address, and send these bytes to every client."""
    host = place(victim.address)
    with socket.socket() as marker_input:
        marker_input.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound(marker_input, host)
        marker_input.listen()
        marker_input.settimeout(2.0)
        try:
            with marker_input.accept()[0] as peer:
                greet(peer, b"ROUTER")
                peer.settimeout(0.5)
                step = 1 if pause_s else len(text)
                due = time.monotonic() + 0.6
                for k in range(0, len(text), step):
                    peer.sendall(text[k : k + step])
                    if time.monotonic() > due:
                        break
                    time.sleep(pause_s)
                time.sleep(0.1)
        except OSError:
            return


def bound(marker_input: socket.socket, host: tuple[str, int]) -> None:
    """Bind as soon as the previous owner has released the address."""
    due = time.monotonic() + COMES_BACK_S
    while True:
        try:
            marker_input.bind(host)
            return
        except OSError:
            if time.monotonic() > due:
                raise
            time.sleep(0.01)


def armed_output(victim: Victim) -> bytes:
    """Return the bytes of an armed output."""
    topic, payload = packed("output", victim.output())
    return frame(topic, more=True) + frame(payload)


def returned(victim: Victim, since_ns: int) -> str:
    """Return a complaint about a device that has not come back, else ""."""
    return "" if back(victim, since_ns) else f"{victim.name} does not apply torque again"


def ending(
    act: Callable[[Victims], int], wrong: Callable[[Victim, int], str] | None = None
) -> Callable[[RunningModels], Any]:
    """Return a case after which torque must end."""
    return lambda lab: on_all(lab, act, wrong, ends=True)


ENDS = {
    "stalls": ("stalls, connected", stalls),
    "floods": ("floods, then stalls", floods),
    "alternates": ("alternates between two runs that are both armed", alternates),
    "changes_session": ("begins another, armed run while the device applies torque", changes_session),
}
RETURNS = {
    "vanishes": ("vanishes and returns", vanishes),
    "giant_part": ("sends a message part of 3 MiB and returns", by_hand(lambda v: frame(bytes(3 << 20)))),
    "endless_parts": ("sends a message without end", by_hand(lambda v: frame(b"", more=True) * 2_000_000)),
    "drips": ("sends an output that is armed byte by byte", by_hand(armed_output, 0.01)),
    "no_protocol": ("answers like a browser's server", by_hand(lambda v: b"HTTP/1.1 200 OK\r\n\r\n" * 50)),
}
CASES = (
    *(
        HostileCase(f"model_{name}", "model", f"The model {what}.", ending(act), OLD)
        for name, (what, act) in ENDS.items()
    ),
    *(
        HostileCase(f"model_{name}", "model", f"The model {what}.", ending(act, returned), OLD)
        for name, (what, act) in RETURNS.items()
    ),
    HostileCase("model_begins_armed", "model", "The first output of a run is armed.", begins_armed),
    HostileCase(
        "model_goes_on_after_a_fall",
        "model",
        "The model continues armed after a standstill.",
        goes_on_after_a_fall,
    ),
    HostileCase(
        "model_device_is_stopped", "model", "The device's process is stopped and continued.", is_stopped, OLD
    ),
    HostileCase(
        "model_device_is_stopped_beside_outputs",
        "model",
        "The device's process is stopped and continued while the model continues.",
        is_stopped_beside_a_model,
        OLD,
    ),
    HostileCase(
        "model_device_is_stopped_while_it_falls",
        "model",
        "The device's process is stopped in the middle of its ramp.",
        is_stopped_while_it_falls,
    ),
    HostileCase(
        "model_button_in_slow_ticks",
        "model",
        "The stop button of the device is pressed while the model computes four time steps a second.",
        falls_in_slow_ticks,
        ("emergency",),
    ),
)
