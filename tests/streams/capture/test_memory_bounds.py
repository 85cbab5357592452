"""Servers that would have a connection keep more and more of what they send."""

from __future__ import annotations

import os
import struct
import threading
from collections import Counter, deque

import numpy as np
import pytest

from benchmarks.adapters.doubles.vicon import ViconDouble, block
from streams.capture.lsl.connection import LslConnection
from streams.capture.natnet import connection
from streams.capture.records import CaptureError, CaptureFrame
from streams.capture.system import parse_capture
from streams.capture.vicon.connection import MOST_READY, ViconConnection
from tests.streams.capture.relays import sent, until


def test_a_burst_of_small_vicon_frames_is_decoded_as_it_is_read():
    """Protects memory: a frame of some bytes becomes one of all described markers only when it is wanted."""
    n_frame, double = 3000, ViconDouble([f"M{k}" for k in range(1000)], 200.0)
    double.start()
    try:
        client = ViconConnection(parse_capture(double.address))
        sent(double, n_frame)

        def described() -> bool:
            client.read(0.01)
            return len(client.description().names) == 1000

        until(described, "names")
        burst = [block([(5, struct.pack("<I", k)), (6, struct.pack("<I", 0))]) for k in range(n_frame)]
        sending = threading.Thread(target=double.send_bytes, args=(b"".join(burst),))
        sending.start()
        numbers: list[int] = []
        most = 0

        def taken() -> bool:
            nonlocal most
            news = client.read(0.01)
            most = max(most, len(client._ready))
            if isinstance(news, CaptureFrame) and news.number < n_frame:
                numbers.append(news.number)
                assert news.positions.shape == (1000, 3)
                assert np.isnan(news.positions).all()
            return len(numbers) == n_frame

        until(taken, "all frames")
        sending.join()
        assert numbers == list(range(n_frame))
        assert 0 < most <= MOST_READY
        client.close()
    finally:
        double.stop()


def test_packets_of_natnet_that_wait_for_their_names_are_bounded_in_bytes(monkeypatch):
    """Protects memory: large frames that fit no definitions wait up to some megabytes, others are counted."""
    monkeypatch.setattr(connection, "MOST_WAITING_BYTES", 1000)
    waits = object.__new__(connection.NatNetConnection)
    waits._waiting, waits._counters, waits._sentences = deque(), Counter(), deque()
    waits._refusal, waits._definitions_asked_ns, waits._definitions_due_ns = "", 0, 0
    for _ in range(5):
        waits._wait(connection._Waiting(bytes(300), 0), again=False)
    assert len(waits._waiting) == 3
    assert waits._counters["unfitting_frames"] == 2


@pytest.mark.parametrize(("n_channel", "rate"), [(9, 1e300), (9, 1e6), (3000, 5000.0), (20_000, 0.0)])
def test_a_stream_of_lsl_that_claims_too_much_is_refused(n_channel, rate):
    """Protects memory, which liblsl reserves by what a stream says of itself: a sentence, and no stream."""
    pylsl = pytest.importorskip("pylsl")
    name = f"claims {os.getpid()} {n_channel} {rate}"
    outlet = pylsl.StreamOutlet(pylsl.StreamInfo(name, "Mocap", n_channel, rate, pylsl.cf_float32, name))
    with pytest.raises(CaptureError, match="channels") as refused:
        LslConnection(parse_capture(f"lsl://{name}"))
    assert refused.value.reason == "refused"
    del outlet
