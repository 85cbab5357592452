"""A device for `rtsim hil` whose actuator does at once what it is told: python device_client.py [ADDRESS]."""

import contextlib
import sys
import time

import msgpack
import zmq

TICK_NS, RAMP_NS, LIMIT = 2_000_000, 50_000_000, 30.0  # own clock; safe state: ramp to zero; own limit [N m]
now = time.perf_counter_ns
socket = zmq.Context().socket(zmq.DEALER)
socket.linger, socket.sndhwm, socket.immediate = 0, 16, True
socket.connect(sys.argv[1] if len(sys.argv) > 1 else "tcp://127.0.0.1:5563")


def newest(timeout_ms):
    """The newest output of all that have come; None where none of them can be read."""
    found = None
    for _ in range(64 if socket.poll(timeout_ms) else 0):
        try:
            topic, payload = socket.recv_multipart(zmq.DONTWAIT)
            m = msgpack.unpackb(payload)
            lists = [m[key][0] for key in ("torque", "torque_max", "angle", "speed")]
            numbers = [*lists, m["valid_for_ms"], m["t_sent"], m["seq"]]
            sound = m["v"] == 1 and m["armed"] in (True, False) and len(m["session"]) == 16
            if topic == b"output" and sound and all(abs(number) < float("inf") for number in numbers):
                found = m
        except zmq.Again:
            break
        except Exception:  # what cannot be read is no command
            continue
    return found


output = {"session": "", "seq": -1, "t_sent": 0, "valid_for_ms": 0.0, "angle": [0.0], "speed": [0.0]}
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
        if now() - output["t_sent"] <= 1e6 * output["valid_for_ms"]:
            if not output["armed"]:
                may_arm, state = True, state if state == "falling" else "disarmed"
            elif may_arm and state == "disarmed":
                state, fault, may_arm = "armed", "", False
    if now() < due and not (taken and output.get("answer")):
        continue
    due, torque = now() + TICK_NS, 0.0
    if state == "armed":
        most = min(LIMIT, output["torque_max"][0])
        torque = max(-most, min(most, output["torque"][0]))
    elif state == "falling":
        torque = fell_from * max(0.0, 1.0 - (now() - fell_ns) / RAMP_NS)
        state = "falling" if torque else "stopped"
    device = {key: output[key] for key in ("session", "angle", "speed")}  # a real one measures them
    device |= {"v": 1, "type": "device", "seq": seq, "t": now(), "command": output["seq"], "torque": [torque]}
    device |= {"state": state, "fault": fault}
    seq += 1
    with contextlib.suppress(zmq.Again):  # the model is not there
        socket.send_multipart([b"device", msgpack.packb(device)], zmq.DONTWAIT)
