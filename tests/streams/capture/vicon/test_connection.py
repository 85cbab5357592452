"""Conversations with a double of a Vicon server."""

from __future__ import annotations

import itertools
import struct

import pytest

from benchmarks.adapters.doubles.vicon import ViconDouble, block
from streams.capture.records import CaptureDescription
from streams.capture.system import parse_capture
from streams.capture.vicon.connection import ViconConnection
from streams.clock import now_ns
from tests.streams.capture.relays import NAMES, relayed, sent, until

PREFIXED = tuple(f"Anna:{name}" for name in NAMES)


def test_vicon_asks_again_where_frames_do_not_fit_what_is_tracked():
    """Protects names: a description that went wrong is asked for again; a block without an end is left."""
    double = ViconDouble(NAMES, 200.0)
    double.start()
    numbers = itertools.count(2)
    try:
        with relayed(double) as run:
            sent(double, 0)
            until(lambda: run.take() == 1, "a frame")
            wrong = struct.pack("<II", 9, 3) + b"Bob" + bytes(12)
            double.send_bytes(block([(2, wrong), (5, struct.pack("<I", 1))]))
            until(
                lambda: sent(double, next(numbers)) and run.take() and len(run.sessions) == 2,
                "a session of the right names",
            )
            assert run.sessions[run.frames[-1][0]].fields[0].labels == PREFIXED
            until(lambda: run.told.get("asked_again", 0) >= 1, "the counter")
            double.send_bytes(struct.pack("<II", 0x1A2B0001, 3_000_000))
            n = run.take()
            until(lambda: sent(double, next(numbers)) and run.take() > n + 5, "frames after it")
    finally:
        double.stop()


@pytest.mark.parametrize("ended", ["by time", "by the server", "by new names"])
def test_vicon_frames_that_are_kept_back_come_out_in_order(monkeypatch, ended):
    """Protects frames after a pause of the server: those whose time is not decided yet are handed on when too
    little follows, before an end of the connection, and before the names of later frames."""
    double, ahead_ns = ViconDouble(NAMES, 200.0), [0]
    monkeypatch.setattr("streams.capture.vicon.connection.now_ns", lambda: now_ns() + ahead_ns[0])
    double.start()
    client = ViconConnection(parse_capture(double.address))
    until(lambda: client.read(0.01) is None and double.n_client, "the client")
    news: list = []

    def take(n: int) -> bool:
        news.extend(item for item in [client.read(0.01)] if item is not None)
        return len(news) >= n

    for k in range(6):
        ahead_ns[0] += 1_000_000_000 * (k == 4)
        sent(double, k)
        until(lambda: take(min(k + 2, 5)), "frames at their usual pace")  # noqa: B023
    assert isinstance(news.pop(0), CaptureDescription)
    assert [item.number for item in news] == [0, 1, 2, 3]
    if ended == "by time":
        ahead_ns[0] += 600_000_000
    elif ended == "by the server":
        double.stop()
    else:
        double.describe((*NAMES, "LTOE"))
        sent(double, 6)
    until(lambda: take(6), "the frames that were kept back")
    assert [item.number for item in news[4:6]] == [4, 5]
    assert [item.stamp_ns for item in news[3:6]] == [15_000_000, 20_000_000, 25_000_000]
    if ended == "by new names":
        until(lambda: take(8), "what followed")
        assert (news[6].names[-1], news[7].number, len(news[7].positions)) == ("Anna:LTOE", 6, len(NAMES) + 1)
    client.close()
    double.stop()
