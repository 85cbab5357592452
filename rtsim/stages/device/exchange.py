"""The exchange with a device: its torque on the limb before the forward step, the next command after that
step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from rtsim.device.arming import ARM_STATES, EMERGENCY
from rtsim.device.exchange import DeviceExchange, first_of
from rtsim.device.requests import ARM, DISARM, ENDING, WATCHED, CommandQueue
from rtsim.device.tuning import LEAST_RAMP_S, OVER_S
from rtsim.quantity import Quantity
from rtsim.stages.device.device_element import Limb, device_element
from rtsim.stages.device.exchange_results import CUFF, DELIVERED, MEANINGS, PARASITIC, STATES, TRACKING
from rtsim.stages.device.limb_commands import MOVING, move, refusal
from rtsim.stages.stage import FINE, Args, Stage, StageCommand, StageOutcome
from streams.account import plain
from streams.clock import now_ns
from streams.messages import AnyMessage, Command, Output, Status
from streams.receiving.ring import ReceivedFrame

MOST_ASKED = 64
"""Number of commands that may wait for a tick, as before a device connects; those that end torque are always
accepted."""
TUNING = ("set", "undo", "save", "switch")
OFF = ("disarmed", "stopped")
ENDED = "Device: not armed, because another command in the same time step ends the torque."
UNWATCHED = "The device does not report its actuator's torque, so it is not compared with the commanded one."
UNCOMPARED = "The device's angle and speed are not compared with the joint's: limits.watch_sensors is false."
Publish = Callable[[AnyMessage], None]
UNANSWERED = StageOutcome(Status.DEGRADED)


class DeviceTorque(Stage):
    """Checks the device's messages and applies its torque to the limb, constant over the tick.

    arm_s : time after the start [s] from which on the device is armed automatically, as soon as all checks
        permit it; None = only by command. It is not armed automatically after a fault or a command that
        ends torque, nor if a check forbids torque after all checks had permitted it.
    asked : queue of received commands, which are carried out in the next tick
    """

    def __init__(self, exchange: DeviceExchange, simulator: Limb, arm_s: float | None = None) -> None:
        super().__init__()
        self.exchange, self.arm_s = exchange, arm_s
        self._ready = False  # nothing spoke against arming in the tick before
        self._watched = ""  # what the watches by the clock said then
        self.simulator = simulator
        self._moment = simulator.model.forces.springs.moment
        self._at = device_element(simulator)
        self._q = int(simulator.model.forces.springs.coordinate[self._at])
        self.publish: Publish = unheard
        self.asked = CommandQueue()
        self._was_paused = self._is_unwatched = False
        self._parameters = np.zeros(len(exchange.spec.controller.values))
        self._values = {name: np.zeros(1) for name in MEANINGS}
        self._tracking, self._cuff = np.zeros(len(TRACKING)), np.zeros(len(CUFF))
        self.orders = {
            ARM: StageCommand(self._answer_arm, lambda args: False, told=True, takes=("after",)),
            DISARM: StageCommand(self._answer_disarm, lambda args: False, told=True),
            EMERGENCY: StageCommand(self._answer_emergency, lambda args: False, told=True),
            "pause": self._moved("pause"),
            "step": self._moved("step", ("ticks",)),
            "resume": self._moved("resume"),
            "reset": self._moved("reset"),
            "list": StageCommand(lambda args: (True, exchange.tuning.listed()), lambda args: False),
            "set": self._tuned("set", (*exchange.tuning.ranges, OVER_S)),
            "undo": self._tuned("undo", (OVER_S,)),
            "save": self._tuned("save", ("name",)),
            "switch": self._tuned("switch", ("name", OVER_S)),
        }

    def reset(self) -> None:
        """Return to the state before the first tick."""
        super().reset()
        self.exchange.begin()
        self._was_paused = self._ready = self._is_unwatched = False
        self._watched = ""
        self._moment[self._at] = 0.0

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Check, record and apply the device's messages since the last tick."""
        x = self.exchange
        self.apply(first_of(x.watches) or self._by_clock())
        x.hold.tick(x.newest is None or x.newest.state in OFF, x.tick_s)
        if x.hold.paused != self._was_paused:  # told before the first frame that shows it
            self._was_paused = x.hold.paused
            x.arming.told.append("The limb is paused." if x.hold.paused else "The limb continues.")
        x.tuning.tick(x.tick_s)
        torque = x.torque()
        if x.joint is not None:
            torque *= x.joint.ratio(float(self.simulator.q[self._q]))
        self._moment[self._at] = torque
        x.t_applied = now_ns()
        return UNANSWERED if x.n_missed else FINE

    def apply(self, watched: str) -> None:
        """Store new faults, which then last until a person arms again, and carry out waiting commands. It is
        also called between two frames.

        watched : why checks outside the exchange require torque to end, as a sentence; empty if none does"""
        x = self.exchange
        wrong = x.judge(watched)
        x.refusal = wrong or x.hold.objection
        asked = self.asked.take()
        ended = bool(asked) and any(name in ENDING for name, _ in asked)
        if self._arms_itself(wrong, ended):
            asked.append((ARM, {}))
        for name, args in asked:
            if ended and name == ARM:  # towards zero torque, whichever of them came first
                x.arming.told.append(ENDED)
            else:
                self._obey(name, args, wrong)
        silent = x.arming.on and x.newest is not None and not x.newest.actuator
        if silent and not self._is_unwatched:  # also of a device that leaves it out once it is armed
            x.arming.told.append(UNWATCHED)
        self._is_unwatched = x.arming.on and (silent or self._is_unwatched)

    def report(self) -> None:
        """Publish the values of the device's newest message."""
        x, values = self.exchange, self._values
        newest = x.newest
        if newest is not None:
            values["device_angles"][0] = newest.angle[0]
            values["device_speeds"][0] = newest.speed[0]
            values["device_torques"][0] = newest.torque[0]
            values["device_actuator_torques"][0] = newest.actuator[0] if newest.actuator else np.nan
            values["device_states"][0] = STATES.index(newest.state)
        values["device_commands"][0] = x.commanded
        values["device_arming"][0] = ARM_STATES.index(x.arming.state)
        values["device_ages"][0] = x.age_s
        values["device_energy"][0] = x.energy.energy
        values["device_in_time"][0] = x.in_time
        delivered = values["device_actuator_torques"][0]
        self._tracking[:] = x.commanded, delivered, delivered - x.commanded
        if x.joint is not None:
            self._cuff[:] = x.joint.forces(float(self.simulator.q[self._q]), x.torque())
        self._parameters[:] = tuple(x.tuning.values.values())

    def quantities(self) -> list[Quantity]:
        """Return the values of the device's messages, and its state."""
        label, control = (self.exchange.spec.coordinate,), self.exchange.spec.controller
        return [
            Quantity(name, self._values[name], unit, label, curves=curves, meaning=meaning)
            for name, (unit, curves, meaning) in MEANINGS.items()
        ] + [
            Quantity(
                "device_parameters", self._parameters, control.unit_of_all, tuple(control.values),
                meaning="parameters of the controller that are in effect in this time step",
            ),
            Quantity("device_tracking", self._tracking, "N m", TRACKING, curves=DELIVERED,
                     meaning="torque commanded, torque delivered by the actuator, and their difference"),
        ] + ([] if self.exchange.joint is None else [
            Quantity("device_cuff_forces", self._cuff, "N", CUFF, curves=PARASITIC,
                     meaning="force on the limb at the cuff: at right angles to the bar of the device, and "
                         "along the bar outwards"),
        ])  # fmt: skip

    def meta(self) -> dict[str, Any]:
        """Return the settings of the exchange with the device that results and an exact replay need."""
        spec = self.exchange.spec
        return {
            "device": {
                "session": self.exchange.session,
                "coordinate": spec.coordinate,
                "place": self._place(),
                "mode": spec.exchange.mode,
                "rate_hz": spec.exchange.rate_hz,
                "valid_for_ms": spec.exchange.valid_for_ms,
                "ranges": {name: list(pair) for name, pair in spec.controller.ranges.items()},
                "settings": spec.settings,
            }
        }

    def _place(self) -> list[str | float]:
        """Return the position of the device's joint: the segment that carries it, "" = ground, and x, y, z in
        it [m]."""
        model = self.simulator.model
        body = int(np.searchsorted(model.tree.q_start, self._q, "right")) - 1
        parent = int(model.tree.parent[body])
        return [
            model.names.bodies[parent] if parent >= 0 else "",
            *model.tree.position_in_parent[body].tolist(),
        ]

    def status_text(self) -> str:
        """Return the state of the device in words."""
        limb = ", the limb is paused" if self.exchange.hold.wanted else ""
        return f"device {self.exchange.arming.words}{limb}"

    def gauges(self) -> dict[str, float]:
        """Return for the telemetry: the factor 0 to 1 by which arming ramps torque, 1 = there is a fault, the
        fraction of commands in time, 1 = the limb is paused, and the device's largest net work on it [J]."""
        x = self.exchange
        return {
            "device_armed": x.arming.share,
            "device_fault": float(x.arming.state == "fault"),
            "device_in_time": x.in_time,
            "paused": float(x.hold.paused),
            "device_energy_largest_J": x.energy.largest,
        }

    def collect(self) -> tuple[Counter[str], list[str]]:
        """Return the counters of the exchange and of its socket, and messages for the user."""
        counters, told = super().collect()
        x = self.exchange
        x.counters["faults"] = x.arming.n_fault
        of_port = {f"device_{name}": n for name, n in x.port.counters.items()}
        return Counter({**counters, **x.counters, **of_port}), [*told, *x.port.sentences()]

    def ask(self, name: str, args: Args) -> bool:
        """Schedule the command `name` with its arguments for the next tick, from any thread."""
        self.asked.put(name, args)
        return False

    def _arms_itself(self, wrong: str, ended: bool) -> bool:
        """Return whether to arm now without a command. wrong : why not, "" = may; ended : torque was ended"""
        if self.arm_s is None:
            return False
        x = self.exchange
        was_ready, self._ready = self._ready, not x.refusal
        if ended or x.arming.n_fault or (was_ready and wrong):
            why = wrong or ("a command ended the torque" if ended else x.arming.reason)
            x.arming.told.append(f"Device: it will no longer arm automatically: {why}.")
            self.arm_s = None
        elif self._ready and x.passed_s > self.arm_s - 0.5 * x.period_s:
            self.arm_s = None
            return True
        return False

    def _by_clock(self) -> str:
        """Return why torque must end according to the checks that read a clock; empty if it need not.

        The sentence is recorded whenever it changes, so that a replay can use it.
        """
        x = self.exchange
        watched = first_of(x.clocked)
        if watched != self._watched:
            self._watched = watched
            self.publish(Command(session=x.session, name=WATCHED, args={"reason": watched, "tick": x.seq}))
        return watched

    def _tuned(self, name: str, takes: tuple[str, ...]) -> StageCommand:
        """Build the handler of the command `name`, with arguments `takes`, which changes parameters in the
        next tick; it answers at once, and all such commands that arrive before that tick are carried out."""

        def answer(args: Args) -> tuple[bool, str]:
            refused = self.exchange.tuning.refusal(name, args)
            return self._left(name, args, refused, "The command takes effect in the next time step (tick).")

        return StageCommand(answer, lambda args: False, told=True, takes=takes)

    def _left(self, name: str, args: Args, refused: str, done: str) -> tuple[bool, str]:
        """Schedule a command for the next tick, unless it is refused (`refused`: reason, "" = it is not).
        Return whether it is accepted, and a sentence for the user: `done` if it is."""
        if not refused and len(self.asked) >= MOST_ASKED and name not in ENDING:
            refused = (
                f"{MOST_ASKED} commands are already waiting for the next time step; this one is ignored."
            )
        if not refused:
            self.ask(name, args)
        return not refused, refused or done

    def _obey(self, name: str, args: Args, wrong: str) -> None:
        """Carry out a command and record it with its tick. wrong : why arming is forbidden; empty if
        allowed"""
        x = self.exchange
        self.publish(Command(session=x.session, name=name, args={**args, "tick": x.seq}))
        if name in TUNING:
            refused = x.tuning.refusal(name, args)  # what was asked before may have changed it
            least_s = LEAST_RAMP_S if x.arming.on else 0.0
            x.arming.told.append(refused or x.tuning.apply(name, args, least_s))
        elif name == EMERGENCY:
            x.arming.emergency("emergency stop by command")
        elif name in MOVING:
            move(x, name, args)
        elif name == DISARM:
            x.arming.disarm("by command")
        elif name != "arm":  # as a damaged recording may have
            x.arming.told.append(
                f"{plain(name)!r} is not a command of a run with a device; nothing was done."
            )
        elif objection := wrong or x.hold.objection or x.arming.objection(args):
            x.arming.told.append(f"Device: not armed: {objection}.")
        else:
            x.arming.arm("by command")
            if not x.spec.limits.watch_sensors:
                x.arming.told.append(UNCOMPARED)

    def _moved(self, name: str, takes: tuple[str, ...] = ()) -> StageCommand:
        """Build the handler of the command `name`, with arguments `takes`, which moves or stops the limb."""

        def answer(args: Args) -> tuple[bool, str]:
            return self._left(name, args, refusal(self.exchange, name, args), MOVING[name])

        return StageCommand(answer, lambda args: False, told=True, takes=takes)

    def _answer_emergency(self, args: Args) -> tuple[bool, str]:
        self.ask(EMERGENCY, args)
        return True, "Emergency stop: no torque from the next time step on, until the device is armed again."

    def _answer_arm(self, args: Args) -> tuple[bool, str]:
        if objection := self.exchange.refusal or self.exchange.arming.objection(args):
            return False, f"Not armed: {objection}."
        self.ask(ARM, args)
        return True, "Arming: torque rises from zero by a ramp."

    def _answer_disarm(self, args: Args) -> tuple[bool, str]:
        self.ask(DISARM, args)
        return True, "Disarmed: no torque is commanded from the next time step on."


class TorqueCommand(Stage):
    """Sends the device an output, a message with motion and limited torque command, after the forward step.

    It also records each output, and reports transitions of the arming state at once.

    Attributes
    ----------
    say : called with a sentence on each transition of the arming state
    fault_s : time of the model at which the newest fault was stored [s]; -1 if there is none
    """

    def __init__(self, exchange: DeviceExchange, simulator: Limb) -> None:
        super().__init__()
        self.exchange, self.simulator = exchange, simulator
        springs, at = simulator.model.forces.springs, device_element(simulator)
        self._moment, self._at = springs.moment, at
        self._q, self._dof = int(springs.coordinate[at]), int(springs.dof[at])
        self.publish: Publish = unheard
        self.say: Callable[[str], None] = unheard
        self.fault_s, self._n_fault = -1.0, 0

    def reset(self) -> None:
        """Return to the state before the first tick."""
        super().reset()
        self.fault_s, self._n_fault = -1.0, 0

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Send the output of this tick, with the torque command for the device."""
        x, s = self.exchange, self.simulator
        x.step_ns = now_ns() - x.t_applied
        angle, speed = float(s.q[self._q]), float(s.v[self._dof])
        energy = x.energy.add(float(self._moment[self._at]), angle - x.angle_before, x.tick_s)
        if energy > x.spec.limits.energy_max_J:
            x.arming.fault(f"the device drives the limb with a work of {energy:.3g} J in about a second")
        x.arming.tick(x.tick_s)
        if x.joint is not None:
            angle, speed = x.joint.angle(angle), x.joint.ratio(angle) * speed
        self._send(x.output(s.time, angle, speed))
        return FINE

    def between(self) -> None:
        """Between two frames, send zero torque if no torque is commanded; otherwise send nothing."""
        x, s = self.exchange, self.simulator
        if not x.arming.on:
            self._send(x.output(s.time, float(s.q[self._q]), 0.0))

    def _send(self, output: Output) -> None:
        """Send an output; record it, after the device's messages, in the order in which a replay needs
        them."""
        x = self.exchange
        x.port.send(output)
        x.send_ns = now_ns() - output.t_sent
        for message in x.passed:
            self.publish(message)
        x.passed.clear()
        self.publish(output)
        self.tell()

    def tell(self) -> None:
        """Report all transitions of the arming state since the last call."""
        arming = self.exchange.arming
        if arming.n_fault != self._n_fault:
            self.fault_s, self._n_fault = self.simulator.time, arming.n_fault
        told = arming.told
        while told:
            self.say(told.popleft())

    def end(self, failure: str = "") -> None:
        """Send and record the last output of the run: zero torque, disarmed.

        failure : reason why the model could not continue, which is stored as a fault; empty if it could
        """
        x = self.exchange
        if failure:
            x.arming.fault(f"the simulation failed: {failure}")
        output = x.last_output(self.simulator.time)
        x.port.send(output)
        self.publish(output)
        self.tell()


def unheard(message: object) -> None:
    """Discard a message of the device exchange, for the time in which no listener for messages is
    connected."""
