"""The loop of a simulated limb that exchanges its motion and a torque with a device in common ticks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from kernels.dynamics.system import new_dynamics_work
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.device.exchange import DeafPort, DeviceExchange, Port, never
from rtsim.device.requests import WATCHED
from rtsim.errors import ConfigError
from rtsim.live.compiled.warm_up import warm_up
from rtsim.live.hardware.device_replay import MOVED, RecordedPort
from rtsim.live.hardware.limb_parts import mechanics_of, moved, parts_of
from rtsim.live.inputs.inputs import TIME_UP, ApplyCommands, ClockInput, Input
from rtsim.live.inputs.motion_stream import MotionStream
from rtsim.live.latency import LatencyHistogram
from rtsim.live.loop import Loop, ResultSink
from rtsim.models.model import build
from rtsim.quantity import Fields
from rtsim.simulation.motion import moved_names
from rtsim.simulation.motion_feed import MotionFeed
from rtsim.simulation.quantities import SimulatedQuantities
from rtsim.simulation.simulator import Simulator, Still
from rtsim.stages.device.energy import LABELS, EnergyAccount, balance_of
from rtsim.stages.device.exchange import DeviceTorque, TorqueCommand
from rtsim.stages.device.limb import LimbStep
from rtsim.stages.device.misaligned import joint_of
from rtsim.stages.device.simulated_gait import SimulatedGait
from rtsim.stages.stage import Args, Stage
from streams.account import Sentences, account
from streams.addresses import is_stream
from streams.clock import now_ns
from streams.messages import Command, FieldSpec, Session, new_session_id
from streams.receiving.ring import ReceivedFrame

NOBODY = "no device has connected"
LOOK_MS = 50
"""Interval at which received commands are handled while no device is connected [ms]."""
TICK_PARTS = ("round_trip", "receive", "step", "send", "compute", "slack")
"""Durations measured in a tick: from output to answer; reading the device's message; the forward step;
encoding and sending the output; computation without sockets, from the message's bytes to those of the
command; waiting."""


SILENT = "the stream of the prescribed motion (--motion) sends nothing"


class DeviceClock(ClockInput):
    """Ticks of model and device. In lockstep a tick waits for the device's answer to the previous output;
    otherwise it begins at its time on the clock.

    The first tick begins only after a device has sent a message.

    Attributes
    ----------
    times : a histogram of durations for each part of a tick (round trip, receive, step, send, compute, slack)
    ends : function that returns whether a command ends the torque, so that the tick stops waiting
    ask : function called in a replay with name and arguments of each recorded command
    watched : in a replay, why torque had to end in the recorded run according to checks that depend on the
        computer's clock, which a replay cannot repeat; "" = it need not end
    motion, feed : stream that moves coordinates, if there is one, and the receiver of its motion
    """

    def __init__(
        self, exchange: DeviceExchange, duration_s: float = 0.0, again: RecordedPort | None = None
    ) -> None:
        self.motion: MotionStream | None = None
        self.feed: MotionFeed | None = None
        settings = exchange.spec.exchange
        super().__init__(settings.rate_hz, settings.frame_hz, duration_s)
        self.exchange, self._settings = exchange, settings
        self._paced = settings.paced or not exchange.lockstep
        self._commands = again.commands if again else {}
        self._until_ns = 0
        self.times = {name: LatencyHistogram() for name in TICK_PARTS}
        self._t_before = 0  # when the last tick began
        self.ask: Callable[[str, Args], bool] = lambda name, args: False
        self.ends: Callable[[], bool] = never
        self.watched = ""
        # a recording's last output is that of its end
        self._n_last = again.n_output - 1 if again else round(duration_s * settings.rate_hz)
        self.orders = {}  # the ticks go on where the limb is paused, which the stages see to

    def __enter__(self) -> DeviceClock:
        self._until_ns = now_ns() + round(1e9 * self._settings.connect_s)
        if self.motion is not None:
            self.motion.open()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if self.motion is not None:
            self.motion.close()

    @property
    def over(self) -> str:
        if self._n_last and self._n >= self._n_last:
            return TIME_UP
        return NOBODY if self._ticks is None and self._n == 0 and now_ns() > self._until_ns else ""

    def end_at(self, duration_s: float) -> None:
        """Change the duration of a run that has an end [s]."""
        self._n_last = round(duration_s * self.rate)

    def wait(self, apply: ApplyCommands) -> ReceivedFrame | None:
        x = self.exchange
        if not x.is_there:
            x.port.poll(LOOK_MS)
            x.collect()
            apply()
            return None
        if self._ticks is None:
            super().__enter__()
        if x.seq > 0:
            if x.lockstep:
                x.await_answer(x.sent_ns + self._patience_ns(), self.ends)
            self._note()
        frame = self._next()
        for command in self._commands.get(x.seq, ()):
            if command.name == MOVED and self.feed is not None:
                self.feed.again(command.args)
            elif command.name == WATCHED:
                self.watched = str(command.args.get("reason", ""))
        if self.motion is not None:
            self.motion.take()
        if not x.lockstep:
            x.collect()
        x.begin_tick(frame.t_received)
        for command in self._commands.get(x.seq, ()):
            if command.name in (MOVED, WATCHED):
                continue
            self.ask(command.name, {key: value for key, value in command.args.items() if key != "tick"})
        apply()
        return frame

    def period_ns(self, session: Session) -> int:
        """Return the time limit of a tick [ns]: its period, or 0 = none in lockstep, in which results and
        flags do not depend on clocks and late answers are only counted.
        """
        return 0 if self.exchange.lockstep else super().period_ns(session)

    def counters(self) -> Mapping[str, int]:
        told = {"ticks": self._n, "missed": self._ticks.n_missed if self._ticks and self._paced else 0}
        return told if self.motion is None else {**told, **self.motion.counters()}

    def sentences(self) -> list[str]:
        return [*super().sentences(), *([] if self.motion is None else self.motion.sentences())]

    def gauges(self) -> Mapping[str, float]:
        told = dict(super().gauges())
        for name, histogram in self.times.items():
            told |= histogram.gauges(name)
        return told

    def _patience_ns(self) -> int:
        """Return the longest wait for an answer [ns], for a disconnected device at most a tick."""
        lost = self.exchange.n_missed > self._settings.missed_most
        patience_ns = round(1e6 * self._settings.deadline_ms)
        return min(patience_ns, round(1e9 / self.rate)) if lost else patience_ns

    def _note(self) -> None:
        """Add the durations of the parts of the finished tick to the histograms."""
        x, times = self.exchange, self.times
        if x.answered:
            times["round_trip"].add(x.round_trip_ns)
        times["step"].add(x.step_ns)
        times["send"].add(x.send_ns)
        if x.receive_ns:
            times["receive"].add(x.receive_ns)
            x.receive_ns = 0
        times["compute"].add(x.port.decode_ns + x.port.encoded_ns - self._t_before)

    def _next(self) -> ReceivedFrame:
        assert self._ticks is not None
        frame, t_free = self._frame, now_ns()
        frame.t_capture = self._ticks.wait() if self._paced else now_ns()
        frame.t_received = self._t_before = now_ns()
        if self._paced:
            self.times["slack"].add(max(0, frame.t_capture - t_free))
        frame.seq, self._n = self._n, self._n + 1
        return frame


def hil_loop(
    spec: HilSpec,
    simulator: Simulator,
    port: Port,
    publisher: ResultSink,
    arm_s: float | None = None,
    urgently: bool = False,
    first: bool = False,
    again: RecordedPort | None = None,
) -> Loop:
    """Build the loop of a limb with a device, with its kernels compiled and its session announced.

    Parameters
    ----------
    arm_s : simulated time at which the device is armed automatically [s]; None = it is armed only by command
    urgently, first : whether the loop gets real-time priority, or priority over ordinary programs, where the
        system permits it
    again : port that replays a recording to its end; None for a new run
    """
    _, model = moved(spec)
    session = again.session if again else new_session_id()
    exchange = DeviceExchange(spec, DeafPort(), session, joint_of(model, spec), mechanics_of(spec))
    clock = DeviceClock(exchange, spec.duration_s, again)
    torque = DeviceTorque(exchange, simulator)
    command = TorqueCommand(exchange, simulator)
    feed = MotionFeed(simulator, moved_names(model)) if is_stream(spec.motion) else None
    forward = LimbStep(exchange, simulator, spec.exchange.rate_hz, clock.every, feed)
    energy = EnergyAccount(exchange, simulator)
    gait = [SimulatedGait(spec.gait, exchange, simulator)] if spec.gait is not None else []
    # the balance comes last: the device need not wait for it, and what it finds ends torque in the next tick
    stages = [torque, forward, *gait, command, energy]
    warm_up(stages, clock.session)
    forward.stride.restart()
    for stage in (torque, *gait, command, energy):
        stage.reset()
    exchange.watches = [energy.wrong]
    if feed is None and again is not None and again.moved:
        raise ConfigError(
            "the limb of the recorded run was moved by a stream of motion", where="--again",
            remedy="give --motion ADDRESS as in that run",
        )  # fmt: skip
    if feed is not None:
        feed.restart()
        clock.feed = feed
        clock.motion = MotionStream(spec.motion, feed) if again is None else None
        exchange.watches.append(lambda: SILENT if feed.silent else "")
        exchange.clocked.append(lambda: SILENT if clock.motion is not None and clock.motion.silent else "")
    torque.arm_s = arm_s
    exchange.port = port
    clock.ask = torque.ask
    if again is not None:
        exchange.clocked = [lambda: clock.watched]
    else:
        clock.ends = lambda: torque.asked.ends
    loop = device_loop(clock, stages, (torque, command), publisher, {"config": spec.name}, urgently, first)
    if feed is not None:
        feed.heard = partial(record_motion, loop, exchange)
    loop.begin(clock.session)
    return loop


def fields_of(spec: HilSpec) -> Sequence[FieldSpec]:
    """Return the descriptions of the published quantities (fields) of a run with a simulated limb, without
    compiling anything.
    """
    model, _ = parts_of(spec)
    exchange = DeviceExchange(spec, DeafPort(), new_session_id(), joint_of(model, spec), mechanics_of(spec))
    limb = Still(build(model))
    pose = new_dynamics_work(limb.model.tree).pose
    quantities = [
        *DeviceTorque(exchange, limb).quantities(),
        *SimulatedQuantities(limb, limb.trace(), pose).quantities,
        *(SimulatedGait(spec.gait, exchange, limb).quantities() if spec.gait is not None else ()),
        balance_of(np.zeros(len(LABELS))),
    ]
    return Fields(quantities, spec.exchange.frame_hz, 0, {}).session.fields


def record_motion(loop: Loop, exchange: DeviceExchange, told: Mapping[str, Any]) -> None:
    """Publish the motion that a stream prescribed in this tick, for a replay of the run; told : its values by
    name; exchange : the device exchange, which numbers the ticks
    """
    loop.output.send(Command(session=exchange.session, name=MOVED, args={**told, "tick": exchange.seq}))


def device_loop(
    source: Input,
    stages: Sequence[Stage],
    exchange: tuple[DeviceTorque, TorqueCommand],
    publisher: ResultSink,
    meta: dict[str, Any],
    urgently: bool,
    first: bool,
) -> Loop:
    """Build a loop over the stages that disarms the device however it ends.

    exchange : the stages that apply the device's torque, and that send it outputs
    meta : metadata of the run for the descriptors
    urgently, first : whether the loop gets real-time priority, or priority over ordinary programs
    """
    torque, command = exchange
    loop = Loop(source, stages, publisher, meta, urgently, first=first)
    loop.release = lambda: command.end(loop.failure)
    torque.publish = command.publish = publisher.send
    command.say = teller(loop, torque)
    return loop


def teller(loop: Loop, torque: DeviceTorque) -> Callable[[str], None]:
    """Return a function that publishes a change of the arming state at once, as a telemetry message."""

    def say(text: str) -> None:
        sentences = Sentences()
        sentences.say(text)
        told = loop.course.fields.session.session if loop.course else ""
        loop.output.send(account(told, loop.counters, torque.gauges(), sentences))

    return say
