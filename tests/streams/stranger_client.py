"""A client written only from docs/protocol.md: it imports nothing of this project.

stranger_client.py source ADDRESS N_FRAME     bind, send N_FRAME frames of two markers, end
stranger_client.py forces ADDRESS N_FRAME     bind, send N_FRAME messages of two force plates, end
stranger_client.py sink ADDRESS               connect, receive results until the end, print them as JSON
"""

import json
import secrets
import struct
import sys
import time

import msgpack
import zmq

NAMES = ["LASI", "RASI"]


def pack_array(numbers):
    return struct.pack(f"<{len(numbers)}d", *numbers)


def send(socket, kind, session, **keys):
    payload = msgpack.packb({"v": 1, "type": kind, "session": session, **keys}, use_bin_type=True)
    socket.send_multipart([kind.encode("ascii"), payload])


def send_session(socket, session):
    field = {"name": "positions", "shape": [len(NAMES), 3], "unit": "mm", "labels": NAMES}
    send(
        socket,
        "session",
        session,
        stream="markers",
        t_start=time.perf_counter_ns(),
        rate=200.0,
        fields=[field],
        meta={"up": "Z", "subject": "a stranger"},
        a_key_of_the_future=[1, 2, 3],
    )


def positions(seq):
    return [seq, 0.5 * seq, -1.0, float("nan"), float("nan"), float("nan")]


def source(address, n_frame):
    context = zmq.Context()
    socket = context.socket(zmq.XPUB)
    socket.setsockopt(zmq.XPUB_VERBOSE, 1)
    socket.setsockopt(zmq.LINGER, 1000)
    socket.bind(address)
    print(socket.getsockopt_string(zmq.LAST_ENDPOINT), flush=True)
    session = secrets.token_hex(8)
    awaited = {b"\x01session", b"\x01markers"}
    while awaited:
        awaited.discard(socket.recv())
    send_session(socket, session)
    for seq in range(n_frame):
        data = {"positions": pack_array(positions(seq))}
        send(
            socket,
            "markers",
            session,
            seq=seq,
            t_capture=time.perf_counter_ns(),
            time=seq / 200.0,
            data=data,
        )
        time.sleep(1 / 200.0)
    send(socket, "end", session, seq=n_frame, reason="that was all")
    socket.close()
    context.term()


def forces_session(socket, session):
    plates = ["left", "right"]
    fields = [
        {"name": "sample_times", "shape": [3], "unit": "s"},
        {"name": "force", "shape": [2, 3, 3], "unit": "N", "labels": plates},
        {"name": "moment", "shape": [2, 3, 3], "unit": "N m", "labels": plates},
    ]
    left = [[0.0, 0.0, 0.0], [0.6, 0.0, 0.0], [0.6, 0.4, 0.0], [0.0, 0.4, 0.0]]
    send(
        socket,
        "session",
        session,
        stream="forces",
        t_start=time.perf_counter_ns(),
        rate=100.0,
        fields=fields,
        meta={"up": "Z", "sample_rate": 200.0, "corners": [left, []]},
    )


def forces(address, n_frame):
    """Two samples of 700 N at (0.2, 0.1, 0) on the left plate in each message; the right one fails."""
    context = zmq.Context()
    socket = context.socket(zmq.XPUB)
    socket.setsockopt(zmq.XPUB_VERBOSE, 1)
    socket.setsockopt(zmq.LINGER, 1000)
    socket.bind(address)
    print(socket.getsockopt_string(zmq.LAST_ENDPOINT), flush=True)
    session = secrets.token_hex(8)
    awaited = {b"\x01session", b"\x01forces"}
    while awaited:
        awaited.discard(socket.recv())
    forces_session(socket, session)
    nan = float("nan")
    for seq in range(n_frame):
        now = seq / 100.0
        data = {
            "sample_times": pack_array([now - 0.005, now, nan]),
            "force": pack_array([0, 0, 700.0, 0, 0, 700.0, nan, nan, nan] + 9 * [nan]),
            "moment": pack_array([70.0, -140.0, 0, 70.0, -140.0, 0, nan, nan, nan] + 9 * [nan]),
        }
        send(socket, "forces", session, seq=seq, t_capture=time.perf_counter_ns(), time=now, data=data)
    send(socket, "end", session, seq=n_frame, reason="that was all")
    socket.close()
    context.term()


def sink(address):
    context = zmq.Context()
    socket = context.socket(zmq.SUB)
    for topic in ("session", "result", "telemetry", "end"):
        socket.subscribe(topic)
    socket.connect(address)
    fields, current, results, sentences = [], None, [], []
    while True:
        parts = socket.recv_multipart()
        if len(parts) != 2 or len(parts[1]) > 1048576:
            continue
        message = msgpack.unpackb(parts[1])
        if message["v"] != 1 or message["type"] != parts[0].decode("ascii"):
            continue
        if message["type"] == "session" and message["stream"] == "result" and message["session"] != current:
            fields, current = message["fields"], message["session"]
        elif message["type"] == "telemetry":
            sentences += message.get("text", [])
        elif message["type"] == "result" and message["session"] == current:
            results.append(read_result(fields, message))
        elif message["type"] == "end" and message["session"] == current:
            break
    print(json.dumps({"results": results, "sentences": sentences}))
    socket.close(0)
    context.term()


def read_result(fields, message):
    values = {}
    for field in fields:
        n_value = 1
        for length in field["shape"]:
            n_value *= length
        blob = message["data"][field["name"]]
        assert len(blob) == 8 * n_value
        numbers = struct.unpack(f"<{n_value}d", blob)
        labels = field["labels"]
        values[field["name"]] = dict(zip(labels, numbers, strict=True)) if labels else list(numbers)
    return {
        "seq": message["seq"],
        "late": bool(message["status"] & 1),
        "delay_ns": message["t_published"] - message["t_received"],
        "values": values,
    }


if __name__ == "__main__":
    if sys.argv[1] == "source":
        source(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "forces":
        forces(sys.argv[2], int(sys.argv[3]))
    else:
        sink(sys.argv[2])
