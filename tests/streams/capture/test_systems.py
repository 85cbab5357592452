"""Capture systems are found by folder: their addresses, and that a new one needs nothing but its module."""

from __future__ import annotations

import socket
import struct
import sys
import threading

import pytest

from benchmarks.adapters.doubles.qtm import QtmDouble
from rtsim.live.standing import judge_standing
from streams.capture import system
from streams.capture.records import CaptureError
from streams.capture.relay import Relay
from streams.capture.system import is_capture, parse_capture, systems
from streams.capture.systems import qtm
from streams.publisher import Publisher
from streams.receiving.subscriber import Subscriber
from tests.streams.capture.relays import until

TOY = """
import time
import numpy as np
from streams.capture.records import CaptureDescription, CaptureFrame
from streams.capture.system import CaptureSystem
from streams.clock import now_ns

class ToyConnection:
    def __init__(self, address):
        self.k = 0
    def description(self):
        return CaptureDescription(("A", "B"), "m", "+Y", 100.0)
    def read(self, timeout_s):
        time.sleep(0.01)
        self.k += 1
        return CaptureFrame(np.full((2, 3), float(self.k)), now_ns(), 10_000_000 * self.k, self.k)
    def counters(self):
        return {}
    def gauges(self):
        return {}
    def sentences(self):
        return []
    def close(self):
        pass

SYSTEM = CaptureSystem("toy", "a toy", 4711, ToyConnection, lambda seconds: [])
"""


def test_a_new_system_is_one_module_more(tmp_path, monkeypatch):
    """Protects growth: a module in the folder, and its frames are relayed; nothing else names it."""
    (tmp_path / "toy.py").write_text(TOY)
    package = sys.modules["streams.capture.systems"]
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.setattr(system, "FOLDERS", package.__path__)
    systems.cache_clear()
    stop, said = threading.Event(), []
    try:
        assert is_capture("toy://anywhere")
        with Publisher("tcp://127.0.0.1:0") as publisher:
            relay = Relay(parse_capture("toy://anywhere"), publisher, said.append, judge_standing)
            with Subscriber(publisher.address, ("markers",)) as markers:
                thread = threading.Thread(target=relay.run, args=(stop,), daemon=True)
                thread.start()
                until(lambda: markers.wait(0.1) is not None, f"a frame of the toy: {said}")
                assert markers.session.fields[0].labels == ("A", "B")
                stop.set()
                thread.join(120.0)
    finally:
        stop.set()
        sys.modules.pop("streams.capture.systems.toy", None)
        systems.cache_clear()


@pytest.mark.parametrize(
    ("text", "host", "port", "options"),
    [
        ("qtm://lab-pc", "lab-pc", 22223, {}),
        ("qtm://", "127.0.0.1", 22223, {}),
        ("qtm://10.0.0.1:22333/", "10.0.0.1", 22333, {}),
        ("qtm://[fe80::1]:22223", "fe80::1", 22223, {}),
        ("qtm://lab?up=-Y&latency_ms=4.5", "lab", 22223, {"up": "-Y", "latency_ms": "4.5"}),
    ],
)
def test_addresses_are_read(text, host, port, options):
    """Protects users: the usual port and host, options behind a question mark, addresses of version 6."""
    address = parse_capture(text)
    assert (address.host, address.port, dict(address.options)) == (host, port, options)
    assert parse_capture(address.text).host == host


@pytest.mark.parametrize(
    "text",
    [
        "qtm:/host", "qtm//host", "tcp://127.0.0.1:5560", "qtm://host:0", "qtm://host:port", "qtm://host:70000",
        "qtm://user@host", "qtm://host/path", "qtm://host#part", "qtm://[fe80::1", "qtm://host?up",
        "qtm://ho st",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(text):
    """Protects users: one sentence that another try will not change."""
    with pytest.raises(CaptureError) as fault:
        parse_capture(text)
    assert fault.value.final


def test_a_file_or_a_stream_is_no_capture_system():
    """Protects other sources: files, our own streams and unknown schemes are none."""
    assert not any(map(is_capture, ["walker", "a.c3d", "tcp://127.0.0.1:5560", "http://x", "qtm"]))


def test_found_servers_are_told_with_their_address(monkeypatch):
    """Protects --find: an answer to a call to all, with QTM's own words and the port to connect to."""
    served = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    served.bind(("127.0.0.1", 0))
    monkeypatch.setattr(qtm, "DISCOVERY_PORT", served.getsockname()[1])

    def answer():
        question, _ = served.recvfrom(64)
        size, kind, port = struct.unpack("<II", question[:8]) + struct.unpack(">H", question[8:])
        assert (size, kind) == (10, 7)
        words = b"lab-pc, QTM 2024.1, 12 cameras\0"
        for reply in (
            b"",
            b"\xff" * 5,
            struct.pack("<II", 8 + len(words) + 2, 1) + words + struct.pack(">H", 22222),
        ):
            served.sendto(reply, ("127.0.0.1", port))

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    (found,) = qtm.find(0.5)
    thread.join()
    served.close()
    assert found == ("qtm://127.0.0.1", "lab-pc, QTM 2024.1, 12 cameras")


@pytest.mark.parametrize("greeting", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0" * 64, b"\xff" * 64])
def test_another_server_at_the_port_is_told(greeting, monkeypatch):
    """Protects who gives a wrong port: another kind of server is refused in a sentence, in time."""
    monkeypatch.setattr(qtm, "ANSWER_S", 0.2)
    double = QtmDouble(["A"], 100.0)
    monkeypatch.setattr("benchmarks.adapters.doubles.qtm.text", lambda kind, words: greeting)
    double.start()
    try:
        with pytest.raises(CaptureError) as fault:
            systems()["qtm"].open(parse_capture(double.address))
        assert fault.value.reason in ("silent", "malformed")
    finally:
        double.stop()
