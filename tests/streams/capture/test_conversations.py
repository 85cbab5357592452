"""NatNet and Vicon through the relay: doubles of their servers, real sockets, restarts, changed lists."""

from __future__ import annotations

import socket
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from benchmarks.adapters.double import CaptureDouble, DoubledPlate
from benchmarks.adapters.doubles.natnet import NatNetDouble
from benchmarks.adapters.doubles.qtm import QtmDouble
from benchmarks.adapters.doubles.vicon import ViconDouble
from streams.capture import silence
from streams.capture.natnet.connection import NatNetConnection
from streams.capture.records import CaptureDescription, CaptureError, CaptureFrame, ClockPair
from streams.capture.system import parse_capture, systems
from tests.streams.capture.relays import GUARD_S, NAMES, positions_of, relayed, sent, until

KINDS = [NatNetDouble, ViconDouble]
CORNERS = {
    "natnet": np.array([[0.6, 0.0, 0.4], [0.0, 0.0, 0.4], [0.0, 0.0, 0.0], [0.6, 0.0, 0.0]]),
    "vicon": np.array([[0.6, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.4, 0.0], [0.6, 0.4, 0.0]]),
}
PREFIXED = tuple(f"Anna:{name}" for name in NAMES)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def double(request):
    served = request.param(NAMES, 200.0)
    served.start()
    yield served
    served.stop()


def scale(double: CaptureDouble) -> float:
    """From metres to the unit of its positions."""
    return 1.0 if isinstance(double, NatNetDouble) else 1000.0


def test_frames_arrive_as_they_were_sent(double):
    """Protects positions, names, unit, axis and rate over real sockets; occluded markers are NaN."""
    with relayed(double) as run:
        for k in range(50):
            rows = positions_of(k)
            rows[2] = np.nan
            sent(double, k, positions=rows)
            time.sleep(0.005)
        until(lambda: run.take() == 50, "50 frames")
        (session,) = run.sessions.values()
        assert session.fields[0].labels == PREFIXED
        told = (session.fields[0].unit, session.meta["up"], session.rate)
        assert told == (("m", "Y", 200.0) if isinstance(double, NatNetDouble) else ("mm", "Z", 200.0))
        for k, (_, seq, _, _, rows) in enumerate(run.frames):
            assert seq == k
            assert np.isnan(rows[2]).all()
            expected = scale(double) * np.delete(positions_of(k), 2, 0)
            np.testing.assert_array_equal(np.delete(rows, 2, 0), expected)


def test_a_changed_list_is_a_new_session_and_no_frame_is_lost(double):
    """Protects labels: one that is added, and two that are exchanged, begin a session, and every frame is in
    the session of its own names.
    """
    lists = [NAMES, (*NAMES, "LTOE"), ("RASI", "LASI", *NAMES[2:], "LTOE")]
    with relayed(double) as run:
        k = 0
        for names in lists:
            double.describe(names)
            for _ in range(10):
                sent(double, k)
                k += 1
                time.sleep(0.005)
            until(lambda: run.take() == k, "all frames so far")  # noqa: B023
        labels = [session.fields[0].labels for session in run.sessions.values()]
        assert labels == [tuple(f"Anna:{name}" for name in names) for names in lists]
        assert [frame[1] for frame in run.frames] == [*range(10)] * 3


def test_a_restart_of_the_server_loses_and_doubles_nothing(double):
    """Protects a measurement over restarts: the same session goes on, seq without a gap, time going on."""
    with relayed(double) as run:
        k = 0
        for _ in range(3):
            for _ in range(10):
                sent(double, k)
                k += 1
                time.sleep(0.005)
            until(lambda: run.take() == k, "all frames so far")  # noqa: B023
            double.stop()
            time.sleep(0.05)
            double.start()
            until(lambda: double.n_client, "the relay to come again")
        assert len(run.sessions) == 1
        assert [frame[1] for frame in run.frames] == list(range(30))
        assert [round(8.0 * frame[4][0, 0] / scale(double)) for frame in run.frames] == list(range(30))
        assert np.all(np.diff([frame[3] for frame in run.frames]) > 0.0)


def test_stuck_numbers_and_repeated_frames_are_counted(double):
    """Protects seq: frame numbers that stand still are no repetition, and a frame that comes twice is one."""
    with relayed(double) as run:
        for k in range(20):
            double.send(sent(double, k, number=1))
            time.sleep(0.002)
        until(lambda: run.take() == 20, "20 frames")
        assert [frame[1] for frame in run.frames] == list(range(20))
        until(lambda: run.told.get("repeated_frames", 0) >= 20, "the counter")
        assert run.told["repeated_frames"] == 20


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_forces_are_those_on_the_person(kind, sign):
    """Protects kinetics: whichever way a plate tells forces, what is sent is the floor's on the person, about
    the laboratory's origin.
    """
    corners = CORNERS["natnet" if kind is NatNetDouble else "vicon"]
    double = kind(NAMES, 200.0, [DoubledPlate("left & right", corners, 1000.0)])
    up = 1 if kind is NatNetDouble else 2
    force = np.array([20.0, -30.0, -30.0])
    force[up] = 800.0
    point = corners.mean(axis=0) + np.array((0.05, 0.02, 0.0))
    point[up] = 0.0
    free = np.zeros(3)
    free[up] = 4.0
    moment = np.cross(point, force) + free
    double.start()
    try:
        with relayed(double) as run:
            for k in range(40):
                wrench = np.tile(np.concatenate([sign * force, sign * moment, point]), (1, 5, 1))
                sent(double, k, wrenches=wrench)
                time.sleep(0.005)
            until(lambda: run.take() == 40, "40 frames")
            # the first frame of some systems has no samples, as those between two frames are sent
            _, data = run.forces_taken(39)[-1]
            n = int(np.isfinite(data["sample_times"]).sum())
            assert n == 5
            np.testing.assert_allclose(data["force"][0, :n], np.tile(force, (n, 1)), atol=1e-3)
            np.testing.assert_allclose(data["moment"][0, :n], np.tile(moment, (n, 1)), atol=2e-2)
    finally:
        double.stop()


@pytest.mark.parametrize("version", [(3, 0), (3, 1), (4, 0), (4, 1), (4, 2)])
@pytest.mark.parametrize("multicast", [False, True])
def test_every_version_of_natnet_unicast_and_multicast(version, multicast):
    """Protects the conversation in all versions, and both ways in which frames are sent."""
    double = NatNetDouble(NAMES, 200.0)
    double.version, double.multicast = version, multicast
    double.start()
    try:
        connection = systems()["natnet"].open(parse_capture(double.address))
        due = time.monotonic() + GUARD_S
        news = []
        while not any(isinstance(one, CaptureFrame) for one in news):
            assert time.monotonic() < due
            sent(double, len(news))
            news.append(connection.read(0.02))
        assert connection.description().names == PREFIXED
        connection.close()
    finally:
        double.stop()


def test_echoes_tell_the_servers_clock():
    """Protects t_capture: clocks are compared by round trips, to a millisecond an hour apart and 50 ppm."""
    double = NatNetDouble(NAMES, 200.0)
    double.clock.given = lambda local_ns: round(local_ns * 1.00005) + 3_600_000_000_000
    double.start()
    try:
        connection = NatNetConnection(parse_capture(double.address))
        due, n_close = time.monotonic() + GUARD_S, 0
        while n_close < 3:  # on a busy machine some echoes wait on one way alone
            assert time.monotonic() < due
            pair = connection.read(0.3)
            if isinstance(pair, ClockPair):
                n_close += abs(pair.stamp_ns - double.clock.at(pair.local_ns)) < 1_000_000
        connection.close()
    finally:
        double.stop()


def test_a_list_that_changes_without_a_word_is_known_within_a_second():
    """Protects labels where Motive sets no flag: definitions are asked for again and again."""
    double = NatNetDouble(NAMES, 200.0)
    double.flags_changes = False
    double.start()
    try:
        connection = NatNetConnection(parse_capture(double.address))
        double.describe(["RASI", "LASI", *NAMES[2:]])
        began, news = time.monotonic(), None
        while not isinstance(news, CaptureDescription):
            assert time.monotonic() - began < GUARD_S
            news = connection.read(0.05)
        assert news.names[:2] == ("Anna:RASI", "Anna:LASI")
        connection.close()
    finally:
        double.stop()


def test_strangers_packets_and_damage_end_nothing(double):
    """Protects a live run: packets of other kinds, cut off or damaged are counted, and frames go on."""
    with relayed(double) as run:
        sent(double, 0)
        until(lambda: run.take() == 1, "a frame")
        if isinstance(double, NatNetDouble):
            for junk in (
                b"",
                b"\7",
                b"\7\0\4\0",
                b"\5\0\4\0\xff\xff\xff\xff",
                bytes(2000),
                b"\1\0\0\0",
                b"\x0d\0\1\0a",
            ):
                double.send_bytes(junk)
        else:
            double.send_bytes(b"\1\0\x2b\x1a" + b"\x0c\0\0\0" + b"\6\0\0\0\4\0\0\0" + b"\xff" * 4)
        for k in range(1, 10):
            sent(double, k)
            time.sleep(0.002)
        until(lambda: run.take() == 10, "the others")
        until(lambda: run.told.get("refused_packets", 0) >= 1, "the counter")
        assert run.relay.counters["reconnects"] == 0
        words = (
            "packet was refused" if isinstance(double, NatNetDouble) else "data block of the server could not"
        )
        until(lambda: any(words in said for said in run.said), "the sentence")


def test_a_server_that_sends_no_frames_is_told_once(double, monkeypatch):
    """Protects who connects for the first time: that nothing is measured is said, and what to look at."""
    monkeypatch.setattr(silence, "QUIET_NS", 200_000_000)
    with relayed(double) as run:
        until(lambda: any("sends no usable frames" in said for said in run.said), "the sentence")
        assert sum("sends no usable frames" in said for said in run.said) == 1
        sent(double, 0)
        until(lambda: run.take() == 1, "a frame")


def test_a_server_of_another_protocol_is_told_from_silence():
    """Protects against the wrong port: what answers otherwise than Vicon is named, and so is nobody."""
    with pytest.raises(CaptureError, match="nobody answers"):
        systems()["vicon"].open(parse_capture("vicon://127.0.0.1:9"))
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        port = server.getsockname()[1]

        def greet() -> None:
            other, _ = server.accept()
            other.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            time.sleep(0.5)
            other.close()

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        with pytest.raises(CaptureError, match="begins with") as fault:
            systems()["vicon"].open(parse_capture(f"vicon://127.0.0.1:{port}"))
        assert fault.value.reason == "malformed"
        thread.join()


CLIENT_NAMES = {NatNetDouble: "optitrack", ViconDouble: "vicon", QtmDouble: "qualisys"}
CLIENT = """
import sys, motioncapture
client = motioncapture.connect(sys.argv[1], {"hostname": sys.argv[2], "port_command": sys.argv[3],
                                             "port": sys.argv[3], "interface_ip": "127.0.0.1"})
for _ in range(20):
    client.waitForNextFrame()
    for name, body in client.rigidBodies.items():
        print(name, *body.position, flush=True)
"""


@pytest.mark.process
@pytest.mark.parametrize("kind", [*KINDS, QtmDouble], ids=lambda kind: kind.__name__)
def test_a_client_that_is_not_ours_reads_the_double(kind):
    """Protects the doubles, and so what is tested by them: the clients inside motioncapture, of Vicon and
    Qualisys the vendors' own SDKs, find the person where the double has it. Qualisys' one is given the base
    port, goes to the next one, and has its frames sent as datagrams.
    """
    pytest.importorskip("motioncapture")
    double = kind(NAMES, 200.0)
    if isinstance(double, NatNetDouble):
        double.multicast = True
    if isinstance(double, QtmDouble):
        double.body = "Anna"
    double.start()
    stop = threading.Event()

    def send() -> None:
        k = 0
        while not stop.wait(0.005):
            sent(double, k, positions=positions_of(4))
            k += 1

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    name = CLIENT_NAMES[kind]
    host, _, port = double.address.partition("://")[2].partition(":")
    if name == "vicon":
        host = f"{host}:{port}"
    if isinstance(double, QtmDouble):
        port = str(int(port) - 1)
    try:
        command = [sys.executable, "-c", textwrap.dedent(CLIENT), name, host, port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=GUARD_S, check=False)
    finally:
        stop.set()
        sender.join()
        double.stop()
    places = {
        line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.startswith("Anna")
    }
    assert places, done.stderr[-500:]
    np.testing.assert_allclose(np.array(places["Anna"], float), positions_of(4).mean(axis=0), atol=1e-5)


def test_positions_without_end_and_names_that_occur_twice_are_sent_on_soundly(double):
    """Protects who receives: no infinity is published, and two markers of one name have two names."""
    double.describe(["LASI", "LASI", "", "RASI", "RASI", "RASI"])
    with relayed(double) as run:
        rows = positions_of(1)
        rows[1] = np.inf
        rows[3, 1] = -np.inf
        sent(double, 0, positions=rows)
        until(lambda: run.take() == 1, "a frame")
        (session,) = run.sessions.values()
        assert session.fields[0].labels == tuple(
            f"Anna:{name}" for name in ("LASI", "LASI_2", "", "RASI", "RASI_2", "RASI_3")
        )
        assert np.isnan(run.frames[0][4][1]).all()
        assert np.isfinite(run.frames[0][4][[0, 2, 4, 5]]).all()
        assert not np.isinf(run.frames[0][4]).any()


@pytest.mark.parametrize("stamp_ns", [0, 1 << 63, (1 << 64) * 99])
def test_stamps_that_no_clock_has_are_left_out(stamp_ns):
    """Protects t_capture: a frame with a stamp that cannot be is told by its arrival, and goes on."""
    double = NatNetDouble(NAMES, 200.0, [DoubledPlate("plate", CORNERS["natnet"], 1000.0)])
    double.start()
    try:
        connection = NatNetConnection(parse_capture(double.address))
        due, found = time.monotonic() + GUARD_S, None
        while not isinstance(found, CaptureFrame):
            assert time.monotonic() < due
            sent(double, 1, stamp_ns=stamp_ns, wrenches=np.ones((1, 5, 9)))
            found = connection.read(0.05)
        assert found.stamp_ns is None
        assert connection.counters()["frames_without_stamp"] >= 1
        connection.close()
    finally:
        double.stop()
