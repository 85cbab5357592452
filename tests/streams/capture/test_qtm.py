"""QTM's real-time protocol: frames, labels, forces and restarts of a double arrive as they were sent."""

from __future__ import annotations

import asyncio
import struct
import time
from itertools import count

import numpy as np
import pytest

from benchmarks.adapters.double import DoubledPlate
from benchmarks.adapters.doubles.qtm import QtmDouble
from streams.capture import silence
from streams.capture.records import CaptureError
from streams.capture.system import parse_capture, systems
from streams.capture.systems import qtm
from tests.streams.capture.relays import GUARD_S, NAMES, SECOND, positions_of, relayed, sent, until

CORNERS = np.array([[0.0, 0.0, 0.0], [0.6, 0.0, 0.0], [0.6, 0.4, 0.0], [0.0, 0.4, 0.0]])
PLATE = DoubledPlate("left & right", CORNERS, 1000.0)


@pytest.fixture
def double():
    served = QtmDouble(NAMES, 200.0)
    served.start()
    yield served
    served.stop()


def test_frames_arrive_as_they_were_sent(double):
    """Protects positions, names, unit, axis and rate: in the protocol's own numbers, occluded ones as NaN."""
    with relayed(double) as run:
        for k in range(50):
            rows = positions_of(k)
            rows[2] = np.nan
            sent(double, k, positions=rows)
        until(lambda: run.take() == 50, "50 frames")
        (session,) = run.sessions.values()
        assert session.fields[0].labels == NAMES
        assert (session.fields[0].unit, session.meta["up"], session.rate) == ("mm", "Z", 200.0)
        for k, (_, seq, _, _, rows) in enumerate(run.frames):
            assert seq == k
            assert np.isnan(rows[2]).all()
            np.testing.assert_array_equal(np.delete(rows, 2, 0), 1e3 * np.delete(positions_of(k), 2, 0))


def test_a_changed_list_is_a_new_session_and_no_frame_is_lost(double):
    """Protects labels: one that is added, and two that are exchanged without a word, are known within a
    second, and frames with another number of markers wait for their names."""
    with relayed(double) as run:
        sent(double, 0)
        until(lambda: run.take() == 1, "a frame")
        double.describe([*NAMES, "LTOE"])
        for k in range(1, 20):
            sent(double, k)
        until(lambda: run.take() == 20, "all frames")
        double.describe(["RASI", "LASI", *NAMES[2:], "LTOE"])
        until(lambda: sent(double, len(run.frames)) and run.take() and len(run.sessions) == 3, "other names")
        labels = [session.fields[0].labels for session in run.sessions.values()]
        assert labels == [NAMES, (*NAMES, "LTOE"), ("RASI", "LASI", *NAMES[2:], "LTOE")]
        assert [frame[1] for frame in run.frames[:20]] == [0, *range(19)]
        assert run.relay.counters["misfit_frames"] == 0


def test_a_restart_of_the_server_loses_and_doubles_nothing(double):
    """Protects a measurement over restarts: the same session goes on, seq without a gap, time going on."""
    with relayed(double) as run:
        k = 0
        for _ in range(5):
            for _ in range(10):
                sent(double, k)
                k += 1
            until(lambda: run.take() == k, "all frames so far")  # noqa: B023
            double.stop()
            time.sleep(0.05)
            double.start()
            until(lambda: double.n_client, "the relay to come again")
        assert len(run.sessions) == 1
        assert [frame[1] for frame in run.frames] == list(range(50))
        assert [round(8.0 * frame[4][0, 0] / 1e3) for frame in run.frames] == list(range(50))
        assert np.all(np.diff([frame[3] for frame in run.frames]) > 0.0)
        assert run.relay.counters["reconnects"] == 5
        assert any("Connected" in sentence and "again" in sentence for sentence in run.said)


def test_stuck_numbers_and_repeated_frames_are_counted(double):
    """Protects seq: frame numbers that stand at 1 are no repetition, and a frame that comes twice is one."""
    with relayed(double) as run:
        frames = []
        for k in range(20):
            frames.append(sent(double, k, number=1))
            double.send(frames[-1])
        until(lambda: run.take() == 20, "20 frames")
        assert [frame[1] for frame in run.frames] == list(range(20))
        until(lambda: run.told.get("repeated_frames", 0) >= 20, "the counters")
        assert (run.told["stuck_numbers"], run.told["repeated_frames"]) == (19, 20)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("origin", ["laboratory", "plate", "point"])
def test_forces_are_those_on_the_person(sign, origin):
    """Protects kinetics: whichever way QTM tells a force, and about whichever point its moment, what is sent
    is the floor's on the person about the laboratory's origin, with each sample's time."""
    double = QtmDouble(NAMES, 200.0, [PLATE])
    double.start()
    force, point, free = np.array([20.0, -30.0, 800.0]), np.array([0.2, 0.3, 0.0]), 4.0
    about = {"laboratory": np.zeros(3), "plate": CORNERS.mean(axis=0), "point": point}[origin]
    moment = np.cross(point - about, force) + np.array([0.0, 0.0, free])
    sample = np.concatenate([sign * force, sign * moment, point])
    try:
        with relayed(double) as run:
            for k in range(20):
                sent(double, k, wrenches=np.tile(sample, (1, 5, 1)))
            until(lambda: run.take() == 20, "20 frames")
            session, data = run.forces_taken(20)[-1]
            assert session.fields[1].labels == ("left & right",)
            assert session.meta["up"] == "Z"
            np.testing.assert_allclose(session.meta["corners"][0], CORNERS, atol=1e-5)
            assert session.meta["time_base"] == next(iter(run.sessions.values())).meta["time_base"]
            np.testing.assert_allclose(data["force"][0, :5], np.tile(force, (5, 1)), rtol=1e-6)
            expected = np.cross(point, force) + np.array([0.0, 0.0, free])
            np.testing.assert_allclose(data["moment"][0, :5], np.tile(expected, (5, 1)), rtol=1e-4)
            np.testing.assert_allclose(np.diff(data["sample_times"][:5]), 1e-3, atol=1e-9)
            assert run.frames[-1][3] == pytest.approx(data["sample_times"][0], abs=1e-9)
            assert any("A person standing on" in sentence for sentence in run.said)
    finally:
        double.stop()


def test_no_measurement_yet_and_events_are_told(double):
    """Protects who starts early: data that do not come are asked for again, and events are told."""
    double.running = False
    with relayed(double) as run:
        double.running = True
        double.event(3)
        until(lambda: "QTM: the capture has begun." in run.said, "the event")
        sent(double, 0)
        until(lambda: run.take() == 1, "a frame")
        assert run.said.count("QTM: the capture has begun.") == 1


def test_markers_without_a_name_are_counted_and_handed_on(double):
    """Protects unlabelled markers: their number is told, and there are rows for them where asked for."""
    with relayed(double, "?unnamed=3") as run:
        sent(double, 0, unnamed=np.array([[1.0, 2.0, 0.5], [0.25, 0.0, 1.0]]))
        until(lambda: run.take() == 1, "a frame")
        rows = run.frames[0][4]
        np.testing.assert_array_equal(rows[-3:-1], [[1000.0, 2000.0, 500.0], [250.0, 0.0, 1000.0]])
        assert np.isnan(rows[-1]).all()
        assert next(iter(run.sessions.values())).fields[0].labels[-3:] == (
            "unnamed_1",
            "unnamed_2",
            "unnamed_3",
        )
        until(lambda: run.relay.telemetry().gauges["unnamed_markers"] == 2.0, "their number")


@pytest.mark.parametrize(
    ("up", "expected"), [("-X", "Z"), ("+X", "Z"), ("-Z", "Z"), ("-Y", "Z"), ("+Y", "Y")]
)
def test_whatever_axis_points_up_does_so(double, up, expected):
    """Protects axes: what is sent has Y or Z up, and is the same body, not its mirror image."""
    double.up = up
    with relayed(double) as run:
        rows = positions_of(0)
        sent(double, 0)
        until(lambda: run.take() == 1, "a frame")
        assert next(iter(run.sessions.values())).meta["up"] == expected
        turned = run.frames[0][4] / 1e3
        height = rows[:, "XYZ".index(up[1])] * (1.0 if up[0] == "+" else -1.0)
        np.testing.assert_allclose(turned[:, "XYZ".index(expected)], height)
        axes = np.linalg.lstsq(rows, turned, rcond=None)[0]
        assert np.linalg.det(axes) == pytest.approx(1.0)


def test_an_older_version_is_agreed_on_and_a_foreign_one_refused(double):
    """Protects older QTM: the newest version that both speak is used, and where there is none it is said."""
    double.newest = (1, 16)
    with relayed(double) as run:
        sent(double, 0)
        until(lambda: run.take() == 1, "a frame")
    assert "Version 1.15" in double.commands
    double.newest = (1, 1)
    with pytest.raises(CaptureError, match="none of the versions") as fault:
        systems()["qtm"].open(parse_capture(double.address))
    assert fault.value.reason == "refused"


def test_stamps_become_times_of_ours(double):
    """Protects t_capture: stamps an hour ahead are captures of now, in order and before their arrival."""
    with relayed(double) as run:
        when = []
        for k in range(60):
            when.append(sent(double, k).stamp_ns - 3600 * SECOND)
            time.sleep(0.005)
        until(lambda: run.take() == 60, "60 frames")
        late = np.array([frame[2] for frame in run.frames[30:]]) - when[30:]
        assert np.all(np.diff([frame[2] for frame in run.frames]) > 0)
        assert np.abs(late).max() < 50_000_000
        span = run.frames[-1][3] - run.frames[0][3]
        assert span == pytest.approx(1e-9 * (when[-1] - when[0]), abs=2e-6)


def test_an_independent_client_reads_the_double(double):
    """Protects the double by a client that is not ours: Qualisys' own reads its names and positions."""
    qtm_rt = pytest.importorskip("qtm_rt")

    async def read() -> tuple[bytes, list]:
        packets: list = []
        port = int(double.address.rpartition(":")[2])
        connection = await qtm_rt.connect("127.0.0.1", port=port, version="1.25")
        xml = await connection.get_parameters(parameters=["general", "3d"])
        streaming = asyncio.ensure_future(
            connection.stream_frames(components=["3d"], on_packet=packets.append)
        )
        due, numbers = time.monotonic() + GUARD_S, count()
        while len(packets) < 3:
            assert time.monotonic() < due
            await asyncio.sleep(0.005)
            sent(double, next(numbers))
        await streaming
        connection.disconnect()
        return xml, packets

    xml, packets = asyncio.run(read())
    assert all(f"<Name>{name}</Name>".encode() in xml for name in NAMES)
    _, markers = packets[-1].get_3d_markers()
    k = packets[-1].framenumber
    np.testing.assert_array_equal([(m.x, m.y, m.z) for m in markers], 1e3 * positions_of(k))


def test_a_message_without_an_end_ends_the_connection(double, monkeypatch):
    """Protects a measurement from a length that is wrong, or a server that drips: bytes alone are no sign of
    life, and the connection is made anew."""
    monkeypatch.setattr(qtm, "SILENT_NS", SECOND // 2)
    with relayed(double) as run:
        sent(double, 0)
        until(lambda: run.take() == 1, "a frame")
        double.send_bytes(struct.pack("<II", 900_000, 3))
        until(lambda: run.relay.counters["reconnects"] and double.n_client, "another connection")
        assert run.relay.counters["connection_silent"] == 1
        sent(double, 1)
        until(lambda: run.take() == 2, "a frame of the new connection")


@pytest.mark.parametrize("stamp_ns", [1000 << 62, -5000])
def test_stamps_of_no_clock_are_not_used(stamp_ns):
    """Protects times and the connection: a frame whose stamp cannot be goes by its arrival, its forces by
    nothing, and what follows goes on."""
    double = QtmDouble(NAMES, 200.0, [PLATE])
    double.start()
    wrenches = np.tile([0.0, 0.0, 700.0, 0.0, 0.0, 0.0, 0.3, 0.2, 0.0], (1, 5, 1))
    try:
        with relayed(double) as run:
            for k in range(20):
                others = {"stamp_ns": stamp_ns} if k == 10 else {}
                sent(double, k, wrenches=wrenches, **others)
                time.sleep(0.002)
            until(lambda: run.take() == 20, "20 frames")
            until(lambda: run.told.get("published") == 20, "the counters")
            assert run.told["frames_without_stamp"] == 1
            assert (run.told.get("clock_restarts", 0), run.told["reconnects"]) == (0, 0)
            steps = np.diff([frame[3] for frame in run.frames])
            assert 0.0 < steps.min() <= steps.max() < 5.0
    finally:
        double.stop()


def test_a_server_that_does_not_measure_is_told_once(double, monkeypatch):
    """Protects who connects for the first time: that nothing is measured is said, and what to switch on."""
    monkeypatch.setattr(silence, "QUIET_NS", SECOND // 5)
    double.running = False
    with relayed(double) as run:
        until(lambda: any("sends no usable frames" in said for said in run.said), "the sentence")
        (sentence,) = [said for said in run.said if "sends no usable frames" in said]
        assert "preview with real-time output" in sentence
