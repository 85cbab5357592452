"""Messages that follow docs/protocol.md, or violate it, without the project's own encoders."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import zmq

from streams.clock import now_ns

Parts = list[bytes]
Keys = dict[str, Any]
NONE_YET = -1


def packed(kind: str, keys: Keys) -> Parts:
    """Return a message of version 1, whatever its keys say; they may overrule version and type."""
    return [kind.encode(), msgspec.msgpack.encode({"v": 1, "type": kind, **keys})]


def unpacked(parts: Parts) -> Keys:
    """The map of a message; empty where it is not a map."""
    try:
        found = msgspec.msgpack.decode(parts[-1])
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def new_session(rng: random.Random) -> str:
    """Return a new session id."""
    return f"{rng.getrandbits(64):016x}"


def first_output(session: str, seq: int = 0, /, **changed: Any) -> Keys:
    """An output that arms with 5 N m for 60 ms."""
    plain = {
        "session": session, "seq": seq, "t_sent": now_ns(), "valid_for_ms": 60.0, "armed": True,
        "answer": False, "time": 0.01 * seq, "tick_ms": 10.0, "torque": [5.0], "torque_max": [20.0],
        "angle": [0.0], "speed": [0.0],
    }  # fmt: skip
    return plain | changed


def first_device() -> Keys:
    """First message of a device, before it has received any output."""
    return {
        "session": "", "seq": 0, "t": now_ns(), "command": NONE_YET, "angle": [0.0], "speed": [0.0],
        "torque": [0.0], "actuator": [0.0], "state": "disarmed", "fault": "",
    }  # fmt: skip


def ask(address: str, command: str, timeout_s: float = 2.0, /, **args: Any) -> tuple[bool, str]:
    """Send a command on a new connection; return whether it was done, and the answer, "" without one."""
    with zmq.Context() as context, context.socket(zmq.REQ) as socket:
        socket.linger = 0
        socket.connect(address)
        socket.send_multipart(packed("command", {"session": "", "name": command, "args": args}))
        if not socket.poll(round(1e3 * timeout_s)):
            return False, ""
        reply = unpacked(socket.recv_multipart())
    text = reply.get("text") or [""]
    return reply.get("gauges", {}).get("ok") == 1.0, str(text[0])


def drained(socket: zmq.Socket[bytes], most: int = 1000) -> list[Parts]:
    """Return all messages that have arrived."""
    found: list[Parts] = []
    while len(found) < most:
        try:
            found.append(socket.recv_multipart(zmq.DONTWAIT))
        except zmq.Again:
            break
    return found


def offered(socket: zmq.Socket[bytes], parts: Parts) -> bool:
    """Send without waiting; return whether there was room."""
    try:
        socket.send_multipart(parts, zmq.DONTWAIT)
    except zmq.ZMQError:
        return False
    return True
