"""The side of a driver that speaks to the model, whatever the motor: socket, rules of safety, loop.

A driver beside it brings a motor: `tick(guard)` applies `guard.tick()` in [N m], measures, and says what is
wrong in words, or raises OSError where the motor cannot be reached any more; `stop()` ends torque; `angle`,
`speed`, `torque` are what was measured [rad, rad/s, N m], `t_ns` is `now()` just before it, so that no value
seems newer than it is. Runs on the machine of the model.
"""

import contextlib
import math
import re
import signal
import time

import msgpack
import zmq

TICK_NS, RAMP_NS = 2_000_000, 50_000_000  # own clock; safe state: ramp to zero
LONGEST_MS = 1000.0  # time to live of an output, and tick of the model, at the most
MOST_BYTES, LARGEST_PART, MOST_WAITING = 4096, 65_536, 64  # of an output; beyond it one is cut off; outputs
LEAP = 10_000  # so many numbers missing at once are believed when the next output carries on
now = time.perf_counter_ns


def finite(x) -> bool:
    """Whether it is a number that can be meant; true and false are none."""
    return type(x) in (int, float) and math.isfinite(x)


def within(torque: float, most: float) -> float:
    """A torque of at most this size [N m]; zero where either is no number, or the size is below zero."""
    return max(-most, min(most, torque)) if finite(torque) and finite(most) and most >= 0.0 else 0.0


def _whole(x) -> bool:
    return type(x) is int and 0 <= x < 2**63


def _single(x) -> bool:
    return type(x) is list and len(x) == 1 and finite(x[0])


def _lasts(x) -> bool:
    return finite(x) and 0.0 < x <= LONGEST_MS


IS_SOUND = {  # keys that an output must have, and what each must be: docs/protocol.md
    "v": lambda x: type(x) is int and x == 1,
    "type": lambda x: x == "output",
    "session": lambda x: type(x) is str and re.fullmatch("[0-9a-f]{16}", x) is not None,
    "seq": _whole,
    "t_sent": lambda x: _whole(x) and x <= now(),  # from the future it would never be too old
    "valid_for_ms": _lasts,
    "armed": lambda x: type(x) is bool,
    "time": finite,
    "tick_ms": _lasts,
    "torque": _single,
    "torque_max": lambda x: _single(x) and x[0] >= 0.0,
    "angle": _single,
    "speed": _single,
}


def output_of(parts: list[bytes]) -> dict | None:
    """The output for one joint in a message; None where it is none: neither stricter nor laxer."""
    if len(parts) != 2 or parts[0] != b"output" or len(parts[1]) > MOST_BYTES:
        return None
    try:
        pairs = msgpack.unpackb(
            parts[1], object_pairs_hook=tuple, strict_map_key=False, unicode_errors="surrogateescape"
        )  # a map becomes a tuple of pairs, so that a key that comes twice is seen
        found = dict(pairs)
        sound = type(pairs) is tuple and len(found) == len(pairs) and all(type(key) is str for key in found)
        sound = sound and all(is_sound(found[key]) for key, is_sound in IS_SOUND.items())
        return found if sound and type(found.get("answer", False)) is bool else None
    except Exception:  # what cannot be read is no output
        return None


class Order:
    """Whether an output is newer than the one before, by its number: docs/protocol.md, order and loss."""

    def __init__(self) -> None:
        self.session, self.last, self.doubtful = "", -1, -2

    def follows(self, output: dict) -> bool:
        """Whether it is to be used; then it is the one before."""
        seq, new = output["seq"], output["session"] != self.session
        if new:
            self.session, self.doubtful = output["session"], -2
        elif abs(seq - self.last - 1) > LEAP and seq != self.doubtful + 1:
            self.doubtful = seq
            return False
        elif -LEAP <= seq - self.last <= 0:
            return False
        self.last = seq
        return True


class Model:
    """The connection to the model: the newest output that can be believed, as a dictionary."""

    def __init__(self, address: str) -> None:
        self.address, self.order = address, Order()
        self.socket = zmq.Context().socket(zmq.DEALER)
        self.socket.linger, self.socket.sndhwm, self.socket.immediate = 0, 16, True
        self.socket.maxmsgsize, self.socket.rcvhwm = LARGEST_PART, MOST_WAITING
        self.lost = self.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self.socket.connect(address)

    def newest(self, timeout_ms: int) -> dict | None:
        """The newest of all that have come; None where none of them can be read."""
        found = None
        for _ in range(MOST_WAITING if self.socket.poll(timeout_ms) else 0):
            try:
                output = output_of(self.socket.recv_multipart(zmq.DONTWAIT))
            except zmq.Again:
                break
            if output is not None and self.order.follows(output):
                found = output
        self._connect_again()
        return found

    def send(self, message: dict) -> None:
        """Send what was measured; dropped where the model is not there."""
        with contextlib.suppress(zmq.Again):
            self.socket.send_multipart([b"device", msgpack.packb(message)], zmq.DONTWAIT)

    def _connect_again(self) -> None:
        """Where the connection was lost: libzmq itself does not after a part that is too large."""
        was_lost = False
        while self.lost.poll(0):
            self.lost.recv_multipart()
            was_lost = True
        if was_lost:
            self.socket.disconnect(self.address)
            self.socket.connect(self.address)


class Guard:
    """Whether torque may act: the rules of docs/protocol.md, what a device must do.

    limit : of torque, its own [N m]; ValueError where it is none

    Attributes
    ----------
    state : disarmed, armed, falling or stopped; fault : why it fell; torque : of the newest tick [N m]
    output : the newest command
    """

    def __init__(self, limit: float) -> None:
        if not (finite(limit) and limit > 0.0):
            raise ValueError(f"limit of torque: {limit!r}; allowed: more than 0 N m")
        self.limit, self.state, self.fault = limit, "disarmed", ""
        self.output: dict = {"session": "", "seq": -1, "t_sent": 0, "valid_for_ms": 0.0, "armed": False}
        self.output |= {key: [0.0] for key in ("torque", "torque_max", "angle", "speed")}  # none yet
        self.torque, self.may_arm = 0.0, False
        self._fell_ns, self._fell_from = 0, 0.0

    @property
    def over_ns(self) -> int:
        """When the newest command ends [ns]."""
        return self.output["t_sent"] + round(1e6 * self.output["valid_for_ms"])

    def too_old(self, t_ns: int) -> bool:
        """Whether the newest command may not act: any more, or yet, where the clock went back."""
        return not self.output["t_sent"] <= t_ns <= self.over_ns

    def left_s(self) -> float:
        """How long the newest command may act yet, and two ticks in which torque would begin to fall [s]."""
        left_ns = min(
            self.over_ns - now(), 1e6 * self.output["valid_for_ms"]
        )  # less, where the clock went back
        return 1e-9 * max(0.0, left_ns + 2 * TICK_NS)

    def fall(self, why: str, t_ns: int | None = None) -> None:
        """Let torque fall, from a time on [ns]: now; what is off already only keeps the reason."""
        if self.state == "armed":
            self.state, self._fell_from = "falling", self.torque
            self._fell_ns = now() if t_ns is None else t_ns
        elif self.state == "disarmed":
            self.state = "stopped"
        else:
            return
        self.fault, self.may_arm = why, False

    def look(self) -> None:
        """Before a new command is taken: is the one before still valid?"""
        t_ns = now()
        if self.state == "armed" and self.too_old(t_ns):
            self.fall("the command is too old", min(t_ns, self.over_ns))

    def take(self, came: dict) -> bool:
        """A new command; whether it is newer than the one before."""
        new = came["session"] != self.output["session"]
        if new and self.state == "armed":
            self.fall("another session began")
        if not new and 0 <= self.output["seq"] - came["seq"] <= LEAP:
            return False
        self.output, self.may_arm = came, self.may_arm and not new
        if self.too_old(now()):  # it waited somewhere
            if self.state == "armed":
                self.fall("the command is too old")
        elif not came["armed"]:
            self.may_arm = True
            if self.state != "falling":
                self.state, self.fault = "disarmed", ""
        elif self.may_arm and self.state == "disarmed":
            self.state, self.may_arm = "armed", False
        return True

    def tick(self) -> float:
        """The torque of this tick [N m]: none by a command that became too old since it was looked at."""
        self.look()
        self.torque = 0.0
        if self.state == "armed":
            self.torque = within(within(self.output["torque"][0], self.output["torque_max"][0]), self.limit)
        elif self.state == "falling":
            passed_ns = now() - self._fell_ns  # below zero where the clock went back
            share = 1.0 - passed_ns / RAMP_NS if 0 <= passed_ns < RAMP_NS else 0.0
            self.torque = self._fell_from * share
            self.state = "falling" if self.torque else "stopped"
        return self.torque


def serve(address: str, motor, limit: float) -> None:
    """Tick until Ctrl-C or a request to terminate, then stop the motor; limit : of torque, its own [N m]."""
    over: list = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: over.append(""))
    model, guard = Model(address), Guard(limit)
    seq, due_ns = 0, now()
    try:
        while not over:
            came = model.newest(max(0, (due_ns - now()) // 1_000_000))
            guard.look()
            taken = came is not None and guard.take(came)
            if now() < due_ns and not (taken and guard.output.get("answer")):
                continue
            due_ns = now() + TICK_NS
            try:
                wrong = motor.tick(guard)
            except OSError as fault:
                wrong = f"the motor cannot be reached ({fault})"
                over.append(wrong)
            if wrong:
                guard.fall(wrong)
            output = guard.output
            told = {"v": 1, "type": "device", "session": output["session"], "seq": seq, "t": motor.t_ns}
            told |= {"command": output["seq"], "angle": [motor.angle], "speed": [motor.speed]}
            told |= {"torque": [motor.torque], "actuator": [motor.torque], "torque_max": [limit]}
            model.send(told | {"state": guard.state, "fault": guard.fault[:128]})
            seq += 1
    finally:
        with contextlib.suppress(OSError):
            motor.stop()
    if over[0]:
        model.socket.close(1000)  # the last word leaves
        raise SystemExit(over[0])
