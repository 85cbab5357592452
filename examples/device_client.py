"""A device for `rtsim hil` whose actuator does at once what it is told: python device_client.py [ADDRESS]."""

import sys
from contextlib import suppress
from time import perf_counter_ns as now

import msgpack
import zmq

TICK_NS, RAMP_NS, LIMIT = 2_000_000, 50_000_000, 30.0  # own clock; safe state: ramp to zero; own limit [N m]
NUMBERS, LISTS = ("seq", "t_sent", "valid_for_ms"), ("torque", "torque_max", "angle", "speed")
socket = zmq.Context().socket(zmq.DEALER)
socket.linger, socket.sndhwm, socket.immediate = 0, 16, True
socket.connect(sys.argv[1] if len(sys.argv) > 1 else "tcp://127.0.0.1:5563")


def newest(timeout_ms):
    """The newest output of all that have come; None where none of them can be read."""
    found = None
    for k in range(64):
        if not socket.poll(0 if k else timeout_ms):
            break
        with suppress(Exception):  # what cannot be read is no command
            topic, payload = socket.recv_multipart()
            m = msgpack.unpackb(payload)
            numbers = [*(m[key] for key in NUMBERS), *(m[key][0] for key in LISTS)]
            sound = topic == b"output" and m["v"] == 1 and m["armed"] in (0, 1) and len(m["session"]) == 16
            if sound and m["t_sent"] <= now() and all(abs(x) < float("inf") for x in numbers):
                found = m
    return found


output = {"session": "", **dict.fromkeys(NUMBERS, -1), **{key: [0.0] for key in LISTS}}  # none yet
state, fault, torque, may_arm, seq, fell_ns, fell_from, due = "disarmed", "", 0.0, False, 0, 0, 0.0, now()
while True:
    came = newest(max(0, (due - now()) // 1_000_000))
    new = came is not None and came["session"] != output["session"]
    old = now() - output["t_sent"] > 1e6 * output["valid_for_ms"]  # looked at before what came is taken
    if state == "armed" and (old or new):
        state, fault, fell_ns, fell_from = "falling", "too old" if old else "another session", now(), torque
    taken = came is not None and (new or came["seq"] > output["seq"])
    if taken:
        output, may_arm = came, may_arm and not new
    if taken and now() - output["t_sent"] <= 1e6 * output["valid_for_ms"]:
        if not output["armed"]:
            may_arm, state = True, state if state == "falling" else "disarmed"
        elif may_arm and state == "disarmed":
            state, fault, may_arm = "armed", "", False
    if now() < due and not (taken and output.get("answer")):
        continue
    most = min(LIMIT, output["torque_max"][0]) if state == "armed" else 0.0
    due, torque = now() + TICK_NS, max(-most, min(most, output["torque"][0]))
    if state == "falling":
        torque = fell_from * max(0.0, 1.0 - (now() - fell_ns) / RAMP_NS)
        state = "falling" if torque else "stopped"
    told = {k: output[k] for k in ("session", "angle", "speed")} | {"v": 1, "type": "device", "t": now()}
    told |= {"seq": seq, "command": output["seq"], "torque": [torque], "state": state, "fault": fault}
    seq += 1
    with suppress(zmq.Again):  # the model is not there; a real device measures angle, speed and torque
        socket.send_multipart([b"device", msgpack.packb(told)], zmq.DONTWAIT)
