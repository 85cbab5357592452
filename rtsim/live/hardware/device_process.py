"""A simulated device as a process of its own, with a clock, a watchdog and a socket.

The model sends outputs, messages with a command for the device, and may request an answer to an output. Each
such output is one tick of the device, which advances by the length of the model's tick and answers. So a run
can be repeated bit for bit. If no output comes in time, or none requests an answer, the device ticks by its
own clock.

In each tick the device checks the age of its command, which expires after its period of validity. A tick that
the model requests adds only the length of the model's tick to this age, however long the model really took,
so that a slow model does not change the results. But if the time on the device's clock exceeds the sum of
these ticks by more than the period of validity, the age increases with the device's clock.

While the device reduces its torque in its safe state, or after its emergency button was pressed, it does not
wait for the outputs of a slow model.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TextIO

from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.device.orthosis import Orthosis
from rtsim.device.watchdog import Watchdog
from rtsim.live.processes.thread_priority import PrioritySharing
from streams.access.security import Security
from streams.clock import now_ns, sleep_until_ns
from streams.closing import Closing
from streams.exchange import ModelLink
from streams.messages import Device, Output
from streams.recording.opening import opened_anew

SLICE_MS = 20
"""Interval at which the device checks whether it is to stop [ms]."""
FALLING_WAIT_NS = 20_000_000
"""Time after an output that requests an answer at which the device's own clock takes over while its torque is
being ended [ns]. It is long enough that a run whose model is in time can be repeated exactly."""
LOG_HEAD = "t_ns,kind,command,age_ms,valid_for_ms,commanded_armed,state,commanded_Nm,actuator_Nm,torque_Nm\n"
EMERGENCY = "emergency stop"


class DeviceLink(Protocol):
    """Interface of the connection through which a device receives outputs and answers them."""

    def newest(self, timeout_ms: int) -> tuple[Output, int] | None: ...
    def send(self, message: Device) -> None: ...
    def close(self) -> None: ...


class SimulatedDevice(Closing):
    """The simulated device; `run` operates it until `stop` is called.

    Parameters
    ----------
    address : address of the model, which need not exist yet; or a link object in its place
    tunnel : whether the address leads to a model on another machine (`ModelLink`)
    log : file to which a row is written for each tick; None = none
    urgent : handle its messages at real-time priority, where that is permitted

    Attributes
    ----------
    unlogged : reason why no more rows can be written to the log; "" = none
    """

    def __init__(
        self,
        spec: DeviceSpec,
        address: str | DeviceLink,
        log: Path | None = None,
        security: Security | None = None,
        urgent: bool = False,
        tunnel: bool = False,
    ) -> None:
        self.spec = spec
        self.orthosis = Orthosis(spec)
        one_clock = True
        if isinstance(address, str):
            self._link: DeviceLink = ModelLink(address, security, urgent, tunnel)
            one_clock = self._link.one_clock
        else:
            self._link = address
        self.watchdog = Watchdog(spec.safe_state, self.orthosis.period_s, one_clock)
        self.n_tick = 0
        self._pressed = self._stopped = False
        self._seq = 0
        self._log: TextIO | None = (
            open(log, "w", buffering=1, encoding="utf-8", opener=opened_anew) if log else None  # noqa: SIM115
        )
        self.unlogged = ""
        self._write(LOG_HEAD)

    def stop(self) -> None:
        """End before the next tick; from any thread or signal handler."""
        self._stopped = True

    def press(self) -> None:
        """Press the emergency stop of the device; from any thread or signal handler."""
        self._pressed = True

    def close(self) -> None:
        """Disconnect from the model, and finish the log."""
        self._link.close()
        if self._log:
            with suppress(OSError):  # told by `unlogged`
                self._log.close()

    def run(self, tell: Callable[[str], object] | None = None) -> None:
        """Operate the device until `stop` is called.

        tell : receives a sentence when priority over other programs is given up because the device needs most
            of a processor; None = priority is not given up
        """
        sharing = PrioritySharing() if tell is not None else None
        period_ns = round(1e9 * self.orthosis.period_s)
        due_ns = now_ns() + period_ns
        asked_ns: int | None = None  # when the model asked, while its next question is waited for
        while not self._stopped:
            if asked_ns is not None and (self._pressed or self.watchdog.state == "falling"):
                due_ns = min(due_ns, asked_ns + FALLING_WAIT_NS)
            left_ms = max(0, (due_ns - now_ns()) // 1_000_000)
            found = self._link.newest(min(left_ms, SLICE_MS))
            t_ns = now_ns()
            self.watchdog.look(t_ns, self.orthosis.actuator, self.orthosis.angle)
            if sharing is not None and tell is not None:
                for text in sharing.look():
                    tell(text)
            if found is not None:
                self._take(*found)
                output = found[0]
                if output.answer:
                    self._tick("asked", 1e-3 * output.tick_ms, t_ns, t_ns)
                    asked_ns = now_ns()
                    due_ns = asked_ns + round(1e6 * output.valid_for_ms)  # its own clock takes over then
                    continue
            if left_ms > 0:
                continue
            sleep_until_ns(due_ns)
            t_ns = now_ns()
            self.watchdog.look(t_ns, self.orthosis.actuator, self.orthosis.angle)
            self._tick("own", self.orthosis.period_s, t_ns, t_ns)
            asked_ns = None
            # what was missed, as where the process was stopped, is not made up for
            due_ns = max(due_ns + period_ns, now_ns() - period_ns)

    def answer(self, output: Output) -> None:
        """Compute one tick in step with the model, at the time of its output; for model and device in one
        process.
        """
        self._take(output, output.t_sent)
        self._tick("asked", 1e-3 * output.tick_ms, output.t_sent, None)

    def _take(self, output: Output, t_arrived: int) -> None:
        """Apply the newest output of the model: set the joint to the model's angle and speed. If the output
        begins a new run, also reset the device.
        """
        if self.watchdog.take(output, t_arrived, self.orthosis.actuator, self.orthosis.angle):
            self._seq = 0
            if self.watchdog.state == "disarmed":
                self.orthosis.begin()
        self.orthosis.move(output.angle[0], output.speed[0])

    def _tick(self, kind: str, period_s: float, t_ns: int, clock_ns: int | None) -> None:
        """Compute one tick of `period_s` [s] at the time t_ns [ns], and send the measurements to the model.

        kind : "asked" if the model requested the tick; it is also written to the log
        clock_ns : time of the device's clock [ns]; None = time is measured by ticks only
        """
        watchdog, orthosis = self.watchdog, self.orthosis
        output = watchdog.output
        if output is None or watchdog.age_ms(t_ns) > output.valid_for_ms:
            orthosis.rest()
        if self._pressed:
            self._pressed = False
            watchdog.fall(EMERGENCY, orthosis.actuator, orthosis.angle)
        if abs(orthosis.speed) > self.speed_max:
            watchdog.fall("the joint rotates too fast", orthosis.actuator, orthosis.angle)
        measured = orthosis.step(watchdog, period_s, clock_ns, kind == "asked")
        self.n_tick += 1
        if not orthosis.drops():
            self._link.send(
                Device(
                    session=output.session if output is not None else "",
                    seq=self._seq,
                    t=t_ns,
                    command=output.seq if output is not None else -1,
                    angle=[measured.angle],
                    speed=[measured.speed],
                    torque=[measured.torque],
                    actuator=[measured.actuator],
                    torque_max=[self.spec.actuator.torque_max_Nm],
                    state=watchdog.state,
                    fault=watchdog.fault,
                )
            )
        self._seq += 1
        if self._log:
            self._note(kind, t_ns, measured.torque)

    @property
    def speed_max(self) -> float:
        """Return the joint speed above which the device enters its safe state [rad/s]."""
        return math.radians(self.spec.speed_max_deg_s)

    def _note(self, kind: str, t_ns: int, torque: float) -> None:
        w = self.watchdog
        seq, valid, armed, wanted = (
            (-1, 0.0, False, 0.0)
            if w.output is None
            else (w.output.seq, w.output.valid_for_ms, w.output.armed, w.output.torque[0])
        )
        self._write(
            f"{t_ns},{kind},{seq},{w.age_ms(t_ns):.3f},{valid:g},{int(armed)},{w.state},"
            f"{wanted:.17g},{self.orthosis.actuator:.17g},{torque:.17g}\n"
        )

    def _write(self, text: str) -> None:
        """Write text to the log while the log accepts it; a full disk must not stop the monitoring of the
        torque."""
        if not self._log or self.unlogged:
            return
        try:
            self._log.write(text)
        except OSError as fault:
            self.unlogged = fault.strerror or str(fault)


def listen_for_emergency(device: SimulatedDevice) -> None:
    """Make the signal SIGUSR1 trigger the emergency stop of the device, on systems that have this signal."""
    if hasattr(signal, "SIGUSR1"):
        signal.signal(signal.SIGUSR1, lambda number, frame: device.press())
