"""Runs of a person who wears a device: estimation from markers and device exchange in one loop, which ticks
with the marker frames.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.choices import load_run
from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.device.controller import law_of
from rtsim.device.exchange import DeviceExchange, Port, never
from rtsim.device.limits import check_fit
from rtsim.device.requests import WATCHED
from rtsim.device.stability import check_stable
from rtsim.errors import ConfigError
from rtsim.live.checks import check_run
from rtsim.live.forces import check_forces, forces_of
from rtsim.live.hardware.device_loop import LOOK_MS, NOBODY, device_loop
from rtsim.live.hardware.device_replay import RecordedPort
from rtsim.live.hardware.hil_summary import of_exchange
from rtsim.live.hardware.limb_parts import mechanics_of
from rtsim.live.inputs.inputs import TIME_UP, ApplyCommands, Input, StreamInput
from rtsim.live.inputs.paired import PairedInput
from rtsim.live.inputs.recorded import RecordingInput
from rtsim.live.inputs.sources import load_trial, side_of_walker
from rtsim.live.loop import Loop, ResultSink
from rtsim.live.processes.serve import meta_of, notes_of, prepare, subject_check_of
from rtsim.live.subjects.persons import with_person
from rtsim.live.subjects.unnamed_check import unnamed_of
from rtsim.live.ticks import Ticks
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.stages.building.declaration import GAIT
from rtsim.stages.building.find import REST, find_stages
from rtsim.stages.building.first_stage import gait_phases_if_any, kinematics_of
from rtsim.stages.device.exchange import DeviceTorque, TorqueCommand
from rtsim.stages.device.wearable import RATE_OFF, WornJoint, check_leg
from rtsim.stages.stage import Args, Stage, StageCommand
from streams.addresses import is_stream
from streams.clock import is_over, now_ns
from streams.messages import Session, new_session_id
from streams.receiving.ring import ReceivedFrame

MOMENTS = ("joint_moments", "coordinate_moments")
"""Fields of the results with the moment of a joint: of a person, and of a model with its own markers."""
NO_MOMENT = "The run computes moments, but none of {}: the controller's moment of the joint is not known."
SILENT = "no markers have come for {:.0f} ms"
WAIT_S = 0.005
"""Interval at which a wait for markers checks whether torque is to end [s]."""
HUSH_NS = 50_000_000
"""Interval at which zero torque is sent to the device while no markers come [ns]."""


def run_of(spec: HilSpec, source: str = "") -> RunConfig:
    """Return the checked run config for the estimation from markers.

    source : source of markers that replaces the one in the config of the run; "" = the one in the config

    Raises ConfigError for settings that contradict each other, and if the controller is stiffer than the
    stability limit allows.
    """
    assert spec.markers is not None
    run = load_run(find_config(spec.markers.run, "runs"))
    # a device waits for every tick: what the run names, and no more
    stages = tuple(name for name in run.stages if name != REST)
    run = replace(run, model=spec.model, source=source or run.source, stages=stages)
    check_run(run)
    run, _ = with_person(run)
    if not is_stream(run.source):
        check_forces(run, streamed=False)
    law_of(spec.controller)
    if spec.controller.needs_gait and not any(GAIT in one.provides for one in find_stages(stages).values()):
        raise ConfigError(
            f"{spec.controller.kind} needs the gait phase to compute torque",
            where=f"{spec.name}: markers.run", remedy="set `gait` to a run whose stages contain gait_phase",
        )  # fmt: skip
    check_leg(spec)
    device = load_toml(find_config(spec.device, "devices"), DeviceSpec)
    check_fit(spec, device)
    check_stable(spec, device, spec.markers.damping_N_m_s_rad)
    return run


class WearableTicks:
    """An input with the frames of the markers, each of which is a tick of the device exchange.

    Parameters
    ----------
    source : source of the markers
    recorded : whether the source is a recording; its first frame then waits until a device is connected, and
        the duration of the run is that of its frames, not of the clock
    again : port that replays a recording to its end; None for a new run

    Attributes
    ----------
    hush : function that sends zero torque to the device; it is called again and again while no markers
        arrive, with the message that ends the torque or with "" (see the function `hush`)
    ends : function that returns whether a waiting command ends the torque; the input then stops waiting for a
      frame
    ask : function called in a replay with each recorded command
    watched : in a replay, why torque had to end in the recorded run according to checks that depend on the
        computer's clock, which a replay cannot repeat; "" = it need not end
    """

    def __init__(
        self, exchange: DeviceExchange, source: Input, recorded: bool, again: RecordedPort | None = None
    ) -> None:
        spec = exchange.spec
        assert spec.markers is not None
        self.exchange, self._source, self._recorded = exchange, source, recorded
        self._lost_s = 1e-3 * spec.markers.lost_ms
        self._commands = again.commands if again else {}
        # live, outputs do not tell the time: while no markers come, they go out at a rate of their own
        by_frames = round(spec.duration_s * spec.exchange.rate_hz) if recorded else 0
        self._n_last = again.n_output - 1 if again else by_frames
        self._lasts_ns = 0 if recorded or again else round(1e9 * spec.duration_s)
        self._heard_ns = self._began_ns = self._until_ns = self._hushed_ns = 0
        self.watched = ""
        self.ends: Callable[[], bool] = never
        self.hush: Callable[[str], None] = lambda text: None
        self.ask: Callable[[str, Args], bool] = lambda name, args: False

    @property
    def orders(self) -> Mapping[str, StageCommand]:
        return self._source.orders

    @property
    def holds(self) -> bool:
        return self._source.holds

    @property
    def over(self) -> str:
        if self._n_last and self.exchange.seq >= self._n_last:
            return TIME_UP
        if self._lasts_ns and is_over(self._began_ns, self._lasts_ns, now_ns()):
            return TIME_UP
        late = self._recorded and not self.exchange.is_there and now_ns() > self._until_ns
        return NOBODY if late else self._source.over

    def __enter__(self) -> WearableTicks:
        self._source.__enter__()
        self._heard_ns = self._began_ns = now_ns()
        self._until_ns = self._heard_ns + round(1e9 * self.exchange.spec.exchange.connect_s)
        return self

    def __exit__(self, *error: object) -> None:
        self._source.__exit__(*error)

    def wait(self, apply: ApplyCommands) -> ReceivedFrame | None:
        x = self.exchange
        if self._recorded and not x.is_there:
            x.port.poll(LOOK_MS)
            x.collect()
            apply()
            return None
        frame = self._source.wait(apply)
        if frame is None:
            self._between()
            return None
        self._heard_ns = now_ns()
        if x.lockstep and x.seq > 0:
            x.await_answer(x.sent_ns + round(1e6 * x.spec.exchange.deadline_ms), self.ends)
        else:
            x.collect()
        x.begin_tick(now_ns())
        for command in self._commands.get(x.seq, ()):
            if command.name == WATCHED:
                self.watched = str(command.args.get("reason", ""))
                continue
            self.ask(command.name, {key: value for key, value in command.args.items() if key != "tick"})
        return frame

    def _between(self) -> None:
        """Handle a wait without a frame: end the torque if it lasts too long, or if a command requests it."""
        t_ns = now_ns()
        silent_s = 1e-9 * (t_ns - self._heard_ns)
        lost = silent_s > self._lost_s
        on = self.exchange.arming.on
        if (on and (lost or self.ends())) or (lost and t_ns - self._hushed_ns > HUSH_NS):
            self._hushed_ns = t_ns
            self.hush(SILENT.format(1e3 * silent_s) if lost else "")

    def period_ns(self, session: Session) -> int:
        return self._source.period_ns(session)

    def counters(self) -> Mapping[str, int]:
        return self._source.counters()

    def gauges(self) -> Mapping[str, float]:
        return self._source.gauges()

    def sentences(self) -> list[str]:
        return self._source.sentences()

    def rest(self) -> None:
        self._source.rest()


class PacedRecording(RecordingInput):
    """The frames of a recorded trial at the times of their recording, by the computer's clock.

    live : whether the frames count as live, so that the time without usable frames is measured by the
        computer's clock and not by the frames' times
    """

    _ticks: Ticks | None = None
    live = False

    def wait(self, apply: ApplyCommands) -> ReceivedFrame | None:
        self._ticks = self._ticks or Ticks(self.trial.rate)  # from the first frame on
        due_ns = self._ticks.wait()
        frame = super().wait(apply)
        assert frame is not None
        frame.t_capture = due_ns
        frame.t_arrived = frame.t_received if self.live else 0
        return frame


def source_of(spec: HilSpec, run: RunConfig, feed: ForceFeed | None) -> Input:
    """Return the input of a run with its markers and forces: streams, or a recording, either paced or as fast
    as possible.

    feed : receiver of the force plates' samples; None = the run uses no forces

    Raises ConfigError if the rate of a recording differs from that of the device exchange.
    """
    if is_stream(run.source):
        if feed is None:
            stream = StreamInput.at(run.source, run.backlog, None, run.duration_s)
        else:
            where, wait_ms = (run.source, run.forces), run.plates.wait_ms
            stream = PairedInput.beside(where, run.backlog, feed, wait_ms, duration_s=run.duration_s)
        stream.wait_s, stream.alone = WAIT_S, True
        return stream
    trial = load_trial(
        run.source, units=run.units or None, up=run.up or None, side=side_of_walker(run), person=run.person
    )
    if abs(trial.rate / spec.exchange.rate_hz - 1.0) > RATE_OFF:
        raise ConfigError(
            f"the markers of {run.source} come at {trial.rate:g} Hz",
            where=f"{spec.name}: exchange.rate_hz = {spec.exchange.rate_hz:g}",
            remedy=f"give --rate {trial.rate:g}",
        )
    forces = forces_of(run, trial) if feed is not None else None
    free = spec.exchange.mode == "free"
    kind = PacedRecording if spec.exchange.paced or free else RecordingInput
    recording = kind(trial, forces=forces, feed=feed if forces is not None else None)
    if isinstance(recording, PacedRecording):
        recording.live = free
    return recording


def wearable_loop(
    spec: HilSpec,
    run: RunConfig,
    port: Port,
    publisher: ResultSink,
    arm_s: float | None = None,
    urgently: bool = False,
    first: bool = False,
    again: RecordedPort | None = None,
) -> Loop:
    """Build the loop of a person with a device, with its kernels compiled.

    Parameters
    ----------
    run : as returned by `run_of`
    port, publisher : connection to the device, and destination of the results
    arm_s : time after the first frame at which the device is armed automatically [s]; None = only by command
    urgently : run at real-time priority, where the system permits it
    first : run with priority over ordinary programs, where the system permits it
    again : port that replays a recording to its end; None for a new run
    """
    assert spec.markers is not None
    feed = ForceFeed() if run.forces else None
    estimate = prepare(run, feed)
    kinematics = kinematics_of(estimate)
    gait = gait_phases_if_any(estimate)
    session = again.session if again else new_session_id()
    exchange = DeviceExchange(spec, port, session, mechanics=mechanics_of(spec))
    joint = WornJoint(spec, exchange, kinematics, gait)
    exchange.watches = [joint.wrong]
    exchange.by_clock = exchange.by_clock or is_stream(run.source)
    torque = DeviceTorque(exchange, joint, arm_s)
    command = TorqueCommand(exchange, joint)
    source = source_of(spec, run, feed)
    ticks = WearableTicks(exchange, source, not is_stream(run.source), again)
    ticks.ask = torque.ask
    unnamed = unnamed_of(estimate)
    if unnamed is not None:
        unnamed.keep_pace()
    stages: list[Stage] = [*estimate, joint, torque, command]
    if is_stream(run.source):
        stages.append(subject_check_of(estimate, run.source))
    meta = {**meta_of(run, notes_of(estimate, run), run.source), "config": spec.name}
    loop = device_loop(ticks, stages, (torque, command), publisher, meta, urgently, first)
    ticks.hush = lambda text: hush(exchange, torque, command, text)
    if again is None:
        ticks.ends = lambda: torque.asked.ends
        if isinstance(source, PairedInput):
            source.hurries = ticks.ends
    else:
        exchange.clocked = [lambda: ticks.watched]
    joint.moment = JointMoment(loop, spec.coordinate, lambda text: joint.sentences.append(text))
    return loop


def hush(exchange: DeviceExchange, torque: DeviceTorque, command: TorqueCommand, text: str) -> None:
    """Keep up the exchange with the device while no markers come; called again and again during this time.

    The device's messages are checked, faults are latched, and waiting commands are carried out. Zero torque
    is sent unless torque is still commanded. Torque ramps do not advance.

    text : message that no markers arrive, which ends the torque as a fault; "" as long as it is too early for
        that
    """
    exchange.collect()
    exchange.begin_tick(now_ns())
    exchange.angle_known = False
    if text:
        exchange.arming.fault(text)
    torque.apply(text)  # the device may go on though it is told to be disarmed
    command.between()


class JointMoment:
    """The moment of a device's joint in the newest result of a run.

    say : function called with a message for the user if the run computes moments of other joints alone
    """

    def __init__(self, loop: Loop, coordinate: str, say: Callable[[str], None]) -> None:
        self._loop, self._coordinate, self._say = loop, coordinate, say
        self._session: Session | None = None
        self._at: tuple[str, int] | None = None

    def __call__(self) -> float:
        """Return the moment [N m]; NaN if the run computes none."""
        course = self._loop.course
        if course is None:
            return math.nan
        if course.fields.session is not self._session:
            self._find(course.fields.session)
        if self._at is None:
            return math.nan
        name, index = self._at
        return float(course.fields.arrays[name][index])

    def _find(self, session: Session) -> None:
        """Find the moment in the fields of a session of results."""
        labels = {spec.name: spec.labels for spec in session.fields if spec.name in MOMENTS}
        self._session, self._at = session, None
        for name in MOMENTS:
            if self._coordinate in labels.get(name, ()):
                self._at = name, labels[name].index(self._coordinate)
                return
        if labels:
            self._say(NO_MOMENT.format(self._coordinate))


def summary_of(loop: Loop) -> dict[str, Any]:
    """Return the summary of a run: its values by name."""
    ticks = loop.source
    assert isinstance(ticks, WearableTicks)
    x = ticks.exchange
    return {
        "ticks": x.seq - 1,
        "unusable": next(s for s in loop.stages if isinstance(s, WornJoint)).counters["unusable"],
        **of_exchange(loop, x),
    }
