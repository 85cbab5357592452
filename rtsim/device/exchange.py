"""The exchange with a device on the model's side: the newest message, its age, and its faults.

Ticks are those of the model. This module opens no socket: a port delivers the messages, from the network or
from a recording.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from kernels.sensors.comparison import LONGEST_S
from rtsim.config.runs.device_schema import Mechanics
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.device.arming import Arming
from rtsim.device.clock_check import DeviceClockCheck
from rtsim.device.command_compliance import CommandCompliance
from rtsim.device.controller import NOBODY_WALKS, ControllerError, MeasuredSpeed, Seen, law_of
from rtsim.device.limits import EnergyWatch, TorqueLimit, of_itself, too_weak, unbelievable
from rtsim.device.misalignment import Misalignment
from rtsim.device.passive_torque import PassiveTorque
from rtsim.device.pause_control import PauseControl
from rtsim.device.sensor_check import SensorCheck
from rtsim.device.tuning import Tuning
from streams.clock import now_ns
from streams.messages import Device, Output

NEWEST = 100
"""Number of the newest commands whose fraction in time is published."""
MOST_PERIODS = 2.0
"""Largest duration of a tick, in periods: time lost by late frames is not made up for."""
LOOK_MS = 5
"""Interval at which a wait for an answer checks whether torque is to end [ms]."""


class Port(Protocol):
    """Interface of a connection to a device; keeps : whether no other device may replace the connected one"""

    keeps: bool

    @property
    def taken(self) -> list[tuple[Device, int]]: ...
    @property
    def counters(self) -> dict[str, int]: ...
    @property
    def decode_ns(self) -> int: ...
    @property
    def encoded_ns(self) -> int: ...
    def receive(self) -> bool: ...
    def poll(self, timeout_ms: int) -> bool: ...
    def send(self, output: Output) -> None: ...
    def sentences(self) -> list[str]: ...


class DeafPort:
    """A port without a device, for compiling the kernels before a run."""

    def __init__(self) -> None:
        self.taken: list[tuple[Device, int]] = []
        self.counters: dict[str, int] = {}
        self.decode_ns = self.encoded_ns = 0
        self.keeps = False

    def receive(self) -> bool:
        """Receive no message; return False."""
        return False

    def poll(self, timeout_ms: int) -> bool:
        """Return False: no message has arrived."""
        return False

    def send(self, output: Output) -> None:
        """Discard the output."""

    def sentences(self) -> list[str]:
        """Return no sentences: there is nothing to report."""
        return []


def never() -> bool:
    """Return False. It stands in for a check of whether torque must end, where there is none."""
    return False


def first_of(watches: Sequence[Callable[[], str]]) -> str:
    """Return the first text that is not empty among the results of these checks; "" if all are empty."""
    for look in watches:
        if told := look():
            return told
    return ""


class DeviceExchange:
    """State of the exchange with one device of one joint; outputs are the model's messages to it.

    Attributes
    ----------
    session, seq : id of the session of outputs; number of the next output, from 0
    newest, t_arrived : the device's newest message in this session (None = none yet), and its arrival [ns]
    answered, n_missed : whether the newest message answers the output of this tick; number of successive
      ticks without an answer
    passed, is_there : the messages that arrived in this tick; whether any device has sent a message so far
    law, gait, moment : control law; phase of the gait and joint moment, which are inputs of the law
    tuning, arming, limit : parameters of the controller, arming state, torque limiter
    energy, hold, obedience : energy monitor, pause control, and check that the device obeys commands
    sensors, passive, clock : checks of the angle and speed, of the torque and of the clock of the device
    angle_known : whether the model knows the present joint angle; false while markers are lost
    in_time : fraction of the newest commands that the device accepted in time; 1 before there are any
    refusal, controller_fault : reason why arming is refused; reason why the controller cannot compute a
      torque; each empty if there is none
    angle_before, angle : model's angle before this step; newest measured angle [rad]
    measured : rate of change of the measured angle, for the controller and for the power limit
    round_trip_ns : time from the newest answered output to its answer [ns]
    t_applied, step_ns : when the torque was applied, and duration of the forward step after it [ns]
    receive_ns, send_ns : duration of reading the device's message, and of encoding and sending output [ns]
    joint : offset of the device's joint from the limb's joint, if there is one
    watches : further checks; each returns the reason why torque must end, for example missing markers, or ""
    clocked : checks that read a clock, so that their results are recorded for a replay
    by_clock : whether ticks are timed by this computer's clock: in a free run, and with live markers
    tick_s : duration of the tick for ramps, rates, energies and timeouts [s]. In lockstep it is the period,
      else the time since the previous tick, but at most two periods, so that torque does not change
      faster after late frames
    passed_s : sum of tick_s since the first tick [s]
    """

    def __init__(
        self,
        spec: HilSpec,
        port: Port,
        session: str,
        joint: Misalignment | None = None,
        mechanics: Mechanics | None = None,
    ) -> None:
        self.joint, self.mechanics = joint, mechanics
        self.watches: list[Callable[[], str]] = []
        self.clocked: list[Callable[[], str]] = []
        self.by_clock = spec.exchange.mode == "free"
        self.spec, self.port, self.session = spec, port, session
        self.period_s = 1.0 / spec.exchange.rate_hz
        self.lockstep = spec.exchange.mode == "lockstep"
        self._lost_s = 0.0 if spec.markers is None else 1e-3 * spec.markers.lost_ms
        if self.lockstep:
            self.clocked.append(lambda: self.clock.wrong if spec.exchange.paced or self.by_clock else "")
        self.arming = Arming(spec.limits.ramp_s)
        self.limit = TorqueLimit(spec.limits)
        self.counters: Counter[str] = Counter()
        self.begin()

    def begin(self) -> None:
        """Return to the state before the first tick."""
        self.arming = Arming(self.arming.ramp_s)
        self.limit.torque = 0.0
        self.tick_s, self.passed_s = self.period_s, 0.0
        self._tick_ns = 0  # when the newest tick began
        self.energy = EnergyWatch()
        self.obedience = CommandCompliance(self.spec, self.period_s)
        limits, mechanics = self.spec.limits, self.mechanics
        adds_deg = 0.0 if mechanics is None else mechanics.misalignment_deg
        self.sensors = SensorCheck(limits, self.period_s, adds_deg)
        self.passive, self.clock = PassiveTorque(limits, mechanics), DeviceClockCheck(limits)
        self.angle_known = True
        self._untrue = False  # what it says of its torque
        self._looked: Device | None = None  # the newest that was compared
        self._unlooked_s = 0.0  # since then
        c = self.spec.controller
        self.hold = PauseControl()
        self.tuning = Tuning(c.values, c.ranges, c.change_s)
        self.law, self.controller_fault = law_of(c), ""
        self.gait, self.moment = NOBODY_WALKS, math.nan
        self.counters = Counter(unanswered=0, in_time=0, foreign=0, faults=0)
        self.newest: Device | None = None
        self.passed: list[Device] = []
        self.t_arrived = self.seq = self.n_missed = 0
        self.answered = self.is_there = False
        self.age_s = 0.0
        self.refusal = "no device has answered yet"
        self.angle = self.angle_before = 0.0
        self.measured = MeasuredSpeed()
        self.round_trip_ns = self.t_applied = self.step_ns = self.receive_ns = self.send_ns = 0
        self.sent_ns = 0  # when the newest output left
        self.commanded = 0.0  # by the output before the newest
        self._believed = self._disobeyed = False
        self._taken = 0  # bits, of the newest commands: whether each was taken in time
        self._n_taken = 0

    @property
    def in_time(self) -> float:
        return self._taken.bit_count() / self._n_taken if self._n_taken else 1.0

    @property
    def in_time_percent(self) -> float:
        """Percentage of the commands, without the first, that were answered in time."""
        return round(100.0 * self.counters["in_time"] / max(1, self.seq - 1), 3)

    @property
    def awaited(self) -> int:
        """Number of the newest output, whose answer is awaited; -1 before the first."""
        return self.seq - 1

    def collect(self) -> None:
        """Read all messages that are waiting at the port."""
        t_begun = now_ns()
        if not self.port.receive():
            return
        self.receive_ns = now_ns() - t_begun
        self.is_there = True
        for message, t_arrived in self.port.taken:
            least = -1 if self.newest is None else self.newest.command
            if message.session != self.session or not least <= message.command <= self.awaited:
                self.counters["foreign"] += bool(message.session)
                continue
            self.passed.append(message)
            self._measure(message, t_arrived)
            if message.command == self.awaited and not self.answered:
                self.answered = True
                self.round_trip_ns = t_arrived - self.sent_ns
            self.newest, self.t_arrived = message, t_arrived

    def await_answer(self, due_ns: int, ends: Callable[[], bool] = never) -> None:
        """Wait for the answer to the newest output until a time [ns]; ends : returns whether torque must
        end, which stops the wait
        """
        while True:
            self.collect()
            left_ns = due_ns - now_ns()
            if self.answered or left_ns <= 0 or ends():
                return
            looked_ns, wait_ms = now_ns(), min(LOOK_MS, max(1, round(1e-6 * left_ns)))
            if not self.port.poll(wait_ms) and now_ns() - looked_ns < 500_000 * wait_ms:
                return  # it did not even wait: nothing comes later

    def begin_tick(self, t_ns: int) -> None:
        """Begin a tick at the time t_ns [ns]: compute its length, the age of the device's newest message, and
        the number of missed answers; before the first output none of these is computed.
        """
        before_ns, self._tick_ns = self._tick_ns, t_ns
        if self.seq == 0:
            return
        if self.by_clock:
            self.tick_s = min(max(0.0, 1e-9 * (t_ns - before_ns)), MOST_PERIODS * self.period_s)
        self.passed_s += self.tick_s
        self.obedience.tick(self.tick_s)
        self._unlooked_s += self.tick_s
        if self.answered or not self.lockstep:
            self.n_missed = 0
        else:
            self.n_missed += 1
            self.counters["unanswered"] += 1
        self.age_s = self.n_missed * self.period_s
        if not self.lockstep:
            self.age_s = 1e-9 * (t_ns - self.t_arrived) if self.newest is not None else 0.0
        taken = self._taken_in_time()
        self.counters["in_time"] += taken
        self._taken = (self._taken << 1 | taken) & ((1 << NEWEST) - 1)
        self._n_taken = min(self._n_taken + 1, NEWEST)

    def fault(self) -> str:
        """Return a sentence on what is wrong with the device at present; empty if nothing is."""
        newest = self.newest
        wrong = self._unusable(newest)
        self._believed = not wrong
        if wrong or newest is None:
            return wrong
        self._compare(newest)
        if newest.state == "falling":  # its safe state may act
            return of_itself(newest)
        late_s = (self.awaited - newest.command) * self.period_s - self.age_s
        wrong = self.obedience.wrong(newest, self.arming, self.commanded, late_s, self.tick_s)
        untrue = self.passive.wrong(newest, self.commanded, self.tick_s)
        self._untrue = bool(untrue)
        if untrue and not wrong:
            wrong, self.obedience.disobeys = untrue, not self.arming.on
        if newest.state == "stopped" and not self.obedience.disobeys:
            return of_itself(newest)
        wrong = wrong or self.sensors.wrong(self.arming.on) or ("" if self.lockstep else self.clock.wrong)
        return wrong or self.controller_fault or too_weak(newest, self.spec.limits)

    def judge(self, watched: str = "") -> str:
        """End the torque by latching a fault, if the device has one or if another check gives a reason
        (`watched`, "" = none); return the sentence on the fault, "" = there is none."""
        wrong = self.fault()
        if self._believed and self.newest is not None and self.newest.state != "falling":
            disobeyed, self._disobeyed = self._disobeyed, self.obedience.disobeys
            if self._disobeyed and not disobeyed:
                self.arming.emergency(wrong)
        wrong = wrong or watched
        if wrong:
            self.arming.fault(wrong)
        return wrong

    def torque(self) -> float:
        """Return the device's torque on the limb [N m], 0 if unknown or implausible; called after `fault`."""
        believed = self._believed and not self._untrue
        return self.newest.torque[0] if self.newest is not None and believed else 0.0

    def _unusable(self, newest: Device | None) -> str:
        """Return why the torque on the limb is not known from the newest message, as text; empty if it is."""
        exchange = self.spec.exchange
        if newest is None:
            return "no device has answered yet"
        if self.n_missed > exchange.missed_most:
            return f"the device has not answered for {self.n_missed} time steps"
        if not self.lockstep and self.age_s > 1e-3 * exchange.deadline_ms:
            return f"the device's newest message is older than {exchange.deadline_ms:g} ms"
        wrong = unbelievable(newest, self.spec.limits)
        return wrong + self.sensors.hint(newest) if wrong else self.obedience.lifeless()

    def _compare(self, newest: Device) -> None:
        """Compare a new measurement of the device with the joint angles that the model sent to it."""
        before, self._looked = self._looked, newest
        if newest is before:
            return
        by_device_s = math.nan
        if before is not None and self.by_clock and self.spec.markers is not None:
            by_device_s = 1e-9 * (newest.t - before.t)
        self.sensors.look(newest, self.awaited, min(self._unlooked_s, LONGEST_S), by_device_s)
        self._unlooked_s = 0.0

    def wanted(self, time: float, angle: float, speed: float) -> float:
        """Return the controller's torque for the measurements and the model's time, angle and speed [N m].

        It is zero if the controller cannot compute a torque, which is a fault.
        """
        seen = Seen(
            tick=self.seq, time=time, angle=self.angle, speed=self.measured.speed,
            model_angle=angle, model_speed=speed, moment=self.moment, gait=self.gait, armed=self.arming.on,
        )  # fmt: skip
        try:
            torque, self.controller_fault = self.law.torque(self.tuning.values, seen), ""
        except ControllerError as fault:
            torque, self.controller_fault = 0.0, f"the controller computed no torque: {fault}"
            self.arming.fault(self.controller_fault)
        return torque

    def output(self, time: float, angle: float, speed: float) -> Output:
        """Build the next output with limited torque; angle, speed : of the model's joint [rad, rad/s]"""
        arming = self.arming
        self.commanded = self.limit.torque
        wanted, torque = self.wanted(time, angle, speed), 0.0
        self.port.keeps = arming.on
        if arming.on:
            torque = self.limit.limited(arming.share * wanted, self.measured.fastest, self.tick_s)
        else:
            self.limit.torque = 0.0
        return self._numbered(time, angle, speed, torque)

    def last_output(self, time: float) -> Output:
        """Build the output at the end of a run: zero torque, disarmed. It does not call the control law,
        which may be what ended the run."""
        self.arming.disarm("the run ends")
        self.commanded, self.limit.torque = self.limit.torque, 0.0
        self.port.keeps = False
        return self._numbered(time, self.angle, 0.0, 0.0)

    def _numbered(self, time: float, angle: float, speed: float, torque: float) -> Output:
        """Return the message of the next output with this torque [N m], and count it."""
        spec, seq = self.spec, self.seq
        output = Output(
            session=self.session,
            seq=seq,
            t_sent=now_ns(),
            valid_for_ms=spec.exchange.valid_for_ms,
            armed=self.arming.on,
            answer=self.lockstep,
            time=time,
            tick_ms=1e3 * self.period_s,
            torque=[torque],
            torque_max=[spec.limits.torque_max_Nm],
            angle=[angle],
            speed=[0.0 if self.hold.stands else speed],
        )
        self.sensors.told.note(seq, time, angle, output.speed[0], self.angle_known)
        self.sent_ns = output.t_sent
        self.seq = seq + 1
        self.answered = False
        return output

    def _measure(self, message: Device, t_arrived: int) -> None:
        """Store the measured angle and its rate of change."""
        before, self.angle = self.newest, message.angle[0]
        ahead_s = self.clock.note(message.t, t_arrived)
        if before is None:
            self.measured.begin(self.angle)
            return
        clock_s = 1e-9 * (message.t - before.t) - ahead_s if self.by_clock else math.nan
        # frames of a person's markers that were lost are ticks that nobody counted
        lost_s = min(self.sensors.told.between_s(before.command, message.command), self._lost_s)
        ticks_s = max((message.command - before.command) * self.period_s, lost_s)
        self.measured.take(before, message, ticks_s if self.lockstep else math.nan, clock_s)
        self.obedience.measured(before, message, max(clock_s if self.by_clock else ticks_s, lost_s))

    def _taken_in_time(self) -> bool:
        """Return whether the device acts on the newest command: it has answered or, in a free run, its output
        is still valid."""
        if self.lockstep or self.newest is None:
            return self.answered
        n_old = self.awaited - self.newest.command
        return 1e3 * n_old * self.period_s <= self.spec.exchange.valid_for_ms
