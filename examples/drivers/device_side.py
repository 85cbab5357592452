"""The side of a driver that speaks to the model, whatever the motor: socket, rules of safety, loop.

A driver beside it brings a motor: `tick(guard)` applies `guard.tick()` in [N m], measures, and says what is
wrong in words, or raises OSError where the motor cannot be reached any more; `stop()` ends torque; `angle`,
`speed`, `torque` are what was measured [rad, rad/s, N m]. Runs on the machine of the model.
"""

import contextlib
import math
import signal
import time

import msgpack
import zmq

TICK_NS, RAMP_NS = 2_000_000, 50_000_000  # own clock; safe state: ramp to zero
now = time.perf_counter_ns


class Model:
    """The connection to the model: the newest output that can be believed, as a dictionary."""

    def __init__(self, address: str) -> None:
        self.socket = zmq.Context().socket(zmq.DEALER)
        self.socket.linger, self.socket.sndhwm, self.socket.immediate = 0, 16, True
        self.socket.connect(address)

    def newest(self, timeout_ms: int) -> dict | None:
        """The newest of all that have come; None where none of them can be read."""
        found = None
        for _ in range(64 if self.socket.poll(timeout_ms) else 0):
            try:
                topic, payload = self.socket.recv_multipart(zmq.DONTWAIT)
                m = msgpack.unpackb(payload)
                one_joint = all(len(m[key]) == 1 for key in ("torque", "torque_max"))
                numbers = [*m["torque"], *m["torque_max"], m["valid_for_ms"], m["t_sent"], m["seq"]]
                sound = m["v"] == 1 and m["armed"] in (True, False) and len(m["session"]) == 16
                sound = sound and 0.0 < m["valid_for_ms"] <= 1000.0 and m["t_sent"] <= now()
                if topic == b"output" and one_joint and sound and all(map(math.isfinite, numbers)):
                    found = m
            except zmq.Again:
                break
            except Exception:  # what cannot be read is no command
                continue
        return found

    def send(self, message: dict) -> None:
        """Send what was measured; dropped where the model is not there."""
        with contextlib.suppress(zmq.Again):
            self.socket.send_multipart([b"device", msgpack.packb(message)], zmq.DONTWAIT)


class Guard:
    """Whether torque may act: the rules of docs/protocol.md, what a device must do."""

    def __init__(self, limit: float) -> None:
        self.limit, self.state, self.fault = limit, "disarmed", ""
        self.output: dict = {"session": "", "seq": -1, "t_sent": 0, "valid_for_ms": 0.0}
        self.torque, self.may_arm = 0.0, False
        self._fell_ns, self._fell_from = 0, 0.0

    def too_old(self, t_ns: int) -> bool:
        """Whether the newest command may not act any more."""
        return t_ns - self.output["t_sent"] > 1e6 * self.output["valid_for_ms"]

    def left_s(self) -> float:
        """How long the newest command may act yet, and two ticks in which torque would begin to fall [s]."""
        return 1e-9 * (self.output["t_sent"] - now() + 2 * TICK_NS) + 1e-3 * self.output["valid_for_ms"]

    def fall(self, why: str) -> None:
        """Let torque fall; what is off already only keeps the reason."""
        if self.state == "armed":
            self.state, self._fell_ns, self._fell_from = "falling", now(), self.torque
        elif self.state == "disarmed":
            self.state = "stopped"
        else:
            return
        self.fault, self.may_arm = why, False

    def look(self) -> None:
        """Before a new command is taken: is the one before still valid?"""
        if self.state == "armed" and self.too_old(now()):
            self.fall("the command is too old")

    def take(self, came: dict) -> bool:
        """A new command; whether it is newer than the one before."""
        new = came["session"] != self.output["session"]
        if new and self.state == "armed":
            self.fall("another session began")
        if not new and came["seq"] <= self.output["seq"]:
            return False
        self.output, self.may_arm = came, self.may_arm and not new
        if self.too_old(now()):
            return True
        if not came["armed"]:
            self.may_arm = True
            if self.state != "falling":
                self.state, self.fault = "disarmed", ""
        elif self.may_arm and self.state == "disarmed":
            self.state, self.may_arm = "armed", False
        return True

    def tick(self) -> float:
        """The torque of this tick [N m]."""
        self.torque = 0.0
        if self.state == "armed":
            most = min(self.limit, self.output["torque_max"][0])
            self.torque = max(-most, min(most, self.output["torque"][0]))
        elif self.state == "falling":
            self.torque = self._fell_from * max(0.0, 1.0 - (now() - self._fell_ns) / RAMP_NS)
            self.state = "falling" if self.torque else "stopped"
        return self.torque


def serve(address: str, motor, limit: float) -> None:
    """Tick until Ctrl-C or a request to terminate, then stop the motor; limit : of torque, its own [N m]."""
    over: list = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: over.append(""))
    model, guard = Model(address), Guard(limit)
    seq, due_ns = 0, now()
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
        told = {"v": 1, "type": "device", "session": output["session"], "seq": seq, "t": now()}
        told |= {"command": output["seq"], "angle": [motor.angle], "speed": [motor.speed]}
        told |= {"torque": [motor.torque], "actuator": [motor.torque]}
        model.send(told | {"state": guard.state, "fault": guard.fault[:128]})
        seq += 1
    with contextlib.suppress(OSError):
        motor.stop()
    if over[0]:
        model.socket.close(1000)  # the last word leaves
        raise SystemExit(over[0])
