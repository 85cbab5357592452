"""A device that follows the protocol and is honest until it is told to lie; it measures, obeys and
answers.
"""

from __future__ import annotations

import math
import random
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import zmq

from benchmarks.hil_hostile.case import LIE_DEG
from benchmarks.hil_hostile.stream import FalseStream
from benchmarks.hil_hostile.wire import Keys, Parts, drained, first_device, offered, packed, unpacked
from streams.clock import now_ns, sleep_until_ns

TICK_NS = 2_000_000
HISTORY = 10_000
"""Ticks that are remembered, for what is told late and for what its angles say about torque."""
NOISE_DEG = 0.02
RAMP_NS = 50_000_000


class Moment(NamedTuple):
    """The moment at which a message is made.

    s, n : seconds and number of messages since the lie began; history : (t_ns, angle, speed), newest last
    device : sender of the message
    """

    s: float
    n: int
    rng: random.Random
    history: deque[tuple[int, float, float]]
    device: FalseDevice

    def ago(self, ms: float) -> tuple[float, float]:
        """Return angle and speed this long ago, interpolated between two measurements [rad, rad/s]."""
        due = self.history[-1][0] - 1e6 * ms
        after = self.history[-1]
        for one in reversed(self.history):
            if one[0] <= due:
                share = (due - one[0]) / (after[0] - one[0]) if after[0] > one[0] else 0.0
                return one[1] + share * (after[1] - one[1]), one[2] + share * (after[2] - one[2])
            after = one
        return after[1], after[2]


Told = Keys | Parts
Lie = Callable[[Keys, Moment], Sequence[Told]]
"""A lie in the place of an honest message: maps, or whole messages; nothing = silence."""


class FalseDevice:
    """Answers each output that requests an answer, and sends 500 messages a second if none does.

    Parameters
    ----------
    address : address of the model; seed : seed of its noise
    stream : stream of the person who wears it; while that lies the device measures the joint as it was
        before

    Attributes
    ----------
    lie : in the place of each honest message, None = honest
    lied_ns : when the lie began to count: its first message, or where `of_angle` the first angle that is
        farther off than a lie may be; 0 = not yet
    n_sent, n_heard : messages so far; output : the newest
    pivot, kept : an angle [rad] and a message that a lie remembers
    """

    def __init__(self, address: str, seed: int = 1, stream: FalseStream | None = None) -> None:
        self.lie: Lie | None = None
        self.of_angle = False
        self.lied_ns = self._began_ns = self._n_lies = 0
        self.n_sent = self.n_heard = 0
        self.pivot = 0.0
        self.kept: Keys = {}
        self.output: Keys = {}
        self.rng = random.Random(seed)
        self.history: deque[tuple[int, float, float]] = deque(maxlen=HISTORY)
        self._stream, self._may_arm = stream, False
        self._state, self._fault, self._torque, self._fell = "disarmed", "", 0.0, (0, 0.0)
        self._seq = 0
        self._address = address
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="false device", daemon=True)
        self._thread.start()

    def __enter__(self) -> FalseDevice:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection without notice."""
        self._over.set()
        self._thread.join()

    def begin(self, lie: Lie, of_angle: bool = False) -> int:
        """Lie from now on; return the time [ns]."""
        self.lied_ns = self._n_lies = 0
        self._began_ns, self.of_angle = now_ns(), of_angle
        self.lie = lie
        return self._began_ns

    def _run(self) -> None:
        with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
            socket.linger, socket.immediate = 0, True
            socket.connect(self._address)
            due = now_ns()
            while not self._over.is_set():
                asked = self._take(socket, max(0, (due - now_ns()) // 1_000_000))
                if asked or now_ns() >= due:
                    self._speak(socket)
                    due = max(due + TICK_NS, now_ns())
                    due = now_ns() + 10 * TICK_NS if asked else due
                elif due - now_ns() < 1_000_000:
                    sleep_until_ns(due)

    def _take(self, socket: zmq.Socket[bytes], wait_ms: int) -> bool:
        """Read up to the newest output and obey it; return whether it requests an answer."""
        if not socket.poll(wait_ms):
            return False
        came = [message for parts in drained(socket) if (message := unpacked(parts))]
        self.n_heard += len(came)
        if not came:
            return False
        before, self.output = self.output, came[-1]
        if before.get("session") != self.output["session"]:
            self._may_arm, self._seq, self._state = False, 0, "disarmed"
        armed = self.output["armed"]
        if not armed:
            self._may_arm, self._state, self._fault = True, "disarmed", ""
        elif self._may_arm and self._state == "disarmed":
            self._state, self._may_arm = "armed", False
        return bool(self.output["answer"])

    def _speak(self, socket: zmq.Socket[bytes]) -> None:
        t, output = now_ns(), self.output
        old = bool(output) and t - output["t_sent"] > 1e6 * output["valid_for_ms"]
        if self._state == "armed" and old:
            self._state, self._fault = "falling", "the command is too old"
            self._fell = t, self._torque
        told = self._honest(t, output)
        self.history.append((t, told["angle"][0], told["speed"][0]))
        says: Sequence[Told] = [told]
        lie = self.lie
        if lie is not None:
            moment = Moment(1e-9 * (t - self._began_ns), self._n_lies, self.rng, self.history, self)
            says = lie(told, moment)
            self._n_lies += 1
            if not self.lied_ns and (not self.of_angle or self._is_off(says)):
                self.lied_ns = now_ns()
        for one in says:
            offered(socket, packed("device", one) if isinstance(one, dict) else one)
        self.n_sent += len(says)
        self._seq += 1

    def _honest(self, t: int, output: Keys) -> Keys:
        if not output:
            return first_device()
        noise = math.radians(self.rng.gauss(0.0, NOISE_DEG))
        angle, speed = output["angle"][0], output["speed"][0]
        if self._stream is not None:
            angle, speed = self._stream.joint(angle, speed)
        if self._state == "armed":
            most = min(abs(output["torque_max"][0]), 30.0)
            self._torque = max(-most, min(most, output["torque"][0]))
        elif self._state == "falling":
            began, torque = self._fell
            self._torque = torque * max(0.0, 1.0 - (t - began) / RAMP_NS)
            self._state = "falling" if self._torque else "stopped"
        else:
            self._torque = 0.0
        return {
            "session": output["session"], "seq": self._seq, "t": t, "command": output["seq"],
            "angle": [angle + noise], "speed": [speed],
            "torque": [self._torque], "actuator": [self._torque],
            "state": self._state, "fault": self._fault,
        }  # fmt: skip

    def _is_off(self, says: Sequence[Told]) -> bool:
        """Return whether an angle is reported that is farther off than a lie may be."""
        told = [one for one in says if isinstance(one, dict)]
        if not told:
            return False
        return abs(math.degrees(told[-1]["angle"][0] - self.history[-1][1])) > LIE_DEG
