"""Results over Lab Streaming Layer: a real inlet reads angles, status and gait events of a walk."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from streams.codec import FieldLayout
from streams.messages import FieldSpec, Session, Status, new_session_id
from streams.receiving.ring import ReceivedFrame

pylsl = pytest.importorskip("pylsl")

from rtsim.bridges.lsl_outlets import LslOutlets, delay_s, flat_labels, serve_lsl, type_of  # noqa: E402

GUARD_S = 120.0


def inlet_of(name: str, place: str) -> pylsl.StreamInlet:
    """An inlet of one of our streams, by its source_id."""
    (info,) = pylsl.resolve_byprop("source_id", f"rtsim_{name} {place}", 1, GUARD_S)
    inlet = pylsl.StreamInlet(info, recover=False)
    inlet.open_stream(GUARD_S)
    return inlet


def pulled(inlet: pylsl.StreamInlet, n: int) -> tuple[list, list[float]]:
    """So many samples and their stamps."""
    samples, stamps = [], []
    due = time.monotonic() + GUARD_S
    while len(samples) < n:
        assert time.monotonic() < due, f"{len(samples)} of {n} samples came"
        sample, stamp = inlet.pull_sample(0.2)
        if sample is not None:
            samples.append(sample)
            stamps.append(stamp)
    return samples, stamps


def test_a_real_inlet_reads_angles_in_degrees_and_the_status(walk_frames: Callable) -> None:
    """Protects who records by LabRecorder: names, units and the rate stand in the stream, angles in degrees,
    unusable frames are NaN, and stamps go by liblsl's clock.
    """
    place, told = f"angles {os.getpid()}", []
    outlets = LslOutlets((), place, told.append)
    frames = walk_frames(10, 4)
    for k, frame in enumerate(frames):
        frame.t_arrived = frame.t_received = time.perf_counter_ns() + k
        frame.t_capture = frame.t_received - 5_000_000
        frame.status = Status.NOT_CONVERGED if k == 3 else Status.OK
    outlets.send(frames[0])
    inlet = inlet_of("joint_angles", place)
    for frame in frames[1:]:
        outlets.send(frame)
    samples, stamps = pulled(inlet, 3)
    for sample, frame in zip(samples[:2], frames[1:3], strict=True):
        np.testing.assert_allclose(sample, [*np.degrees(frame.data["joint_angles"]), 0.0], rtol=1e-6)
    assert np.isnan(samples[2][:2]).all()
    assert samples[2][2] == Status.NOT_CONVERGED
    ours_s = 1e-9 * time.perf_counter_ns() - pylsl.local_clock()
    assert stamps[0] == pytest.approx(1e-9 * frames[1].t_capture - ours_s, abs=1e-3)
    info = inlet.info(GUARD_S)
    assert (info.name(), info.type(), info.nominal_srate()) == ("rtsim_joint_angles", "JointAngles", 100.0)
    channel = info.desc().child("channels").child("channel")
    assert (channel.child_value("label"), channel.child_value("unit")) == ("knee_flexion_r", "deg")
    assert told[-1] == "sending rtsim_events, rtsim_joint_angles"


def test_gait_events_and_changes_of_status_are_markers(walk_frames: Callable) -> None:
    """Protects who segments strides elsewhere: events and the status come as texts with stamps."""
    place = f"events {os.getpid()}"
    outlets = LslOutlets((), place, lambda _: None)
    inlet = inlet_of("events", place)
    frames = walk_frames(48, 5)
    for frame in frames:
        frame.t_capture = frame.t_received = frame.t_arrived = time.perf_counter_ns()
        frame.status = Status.DEGRADED if frame.seq == 51 else Status.OK
        outlets.send(frame)
    samples, _ = pulled(inlet, 4)
    assert [text for (text,) in samples] == [
        "status: ok",
        "right heel strike",
        "status: degraded",
        "status: ok",
    ]


def test_repetitions_of_an_old_result_are_not_sent(walk_frames: Callable) -> None:
    """Protects the times of samples: a stale frame adds none with the stamp of an earlier one; it is told."""
    place = f"stale {os.getpid()}"
    outlets = LslOutlets((), place, lambda _: None)
    frames = walk_frames(10, 6)
    outlets.send(frames[0])
    angles, events = inlet_of("joint_angles", place), inlet_of("events", place)
    began_ns = time.perf_counter_ns()
    for k, frame in enumerate(frames[1:]):
        frame.t_arrived = frame.t_received = frame.t_capture = began_ns + k * 250_000_000
        if 1 <= k < 4:  # they repeat the frame before
            frame.status, frame.t_received, frame.t_capture = int(Status.STALE), began_ns, began_ns
        outlets.send(frame)
    _, stamps = pulled(angles, 2)
    assert stamps[1] - stamps[0] == pytest.approx(1.0, abs=1e-3)
    texts, told_at = pulled(events, 2)
    assert [text for (text,) in texts] == ["status: stale", "status: ok"]
    assert told_at[0] - stamps[0] == pytest.approx(0.25, abs=1e-3)
    assert outlets.n_sample == 3


MIXED = (
    FieldSpec("coordinates", (2,), "rad, m", ("knee", "pelvis_x"), units=("rad", "m")),
    FieldSpec("coordinate_moments", (1,), "N m", ("knee",), meaning="generalized forces; filtered"),
    FieldSpec("marker_rms", (1,), "m"),
    FieldSpec("emg_envelope", (1,), "V", ("soleus",), meaning="electromyogram, low-pass filtered"),
)
META = {"rates": {"delay_s": [0.0375, 0.0375, 0.0375]}, "delay": {"emg_envelope": 0.038}}


def mixed_session(meta: dict) -> Session:
    """A result descriptor with angles and lengths in one field."""
    return Session(session=new_session_id(), stream="result", t_start=0, rate=100.0, fields=MIXED, meta=meta)


def test_angles_among_lengths_are_in_degrees_and_a_delay_is_told() -> None:
    """Protects readers of coordinates: a unit for each channel, and how much older than its stamp it is."""
    place, session = f"mixed {os.getpid()}", mixed_session(META)
    outlets, frame = LslOutlets((), place, lambda _: None), ReceivedFrame(session, FieldLayout(session))
    outlets.send(frame)
    inlet = inlet_of("coordinates", place)
    frame.data["coordinates"][:] = 0.5, 0.25
    outlets.send(frame)
    ((knee, length, _),), _ = pulled(inlet, 1)
    assert (knee, length) == pytest.approx((np.degrees(0.5), 0.25))
    described = inlet.info(GUARD_S).desc()
    channel, units = described.child("channels").child("channel"), []
    while not channel.empty():
        units.append(channel.child_value("unit"))
        channel = channel.next_sibling("channel")
    assert units == ["deg", "m", "bits"]
    assert float(described.child("synchronization").child_value("offset_mean")) == 0.0375


def test_only_what_was_filtered_is_late() -> None:
    """Protects the other fields, which are of the frame itself, and readers of strangers' descriptors."""
    session = mixed_session(META)
    assert [delay_s(spec, session) for spec in MIXED] == [0.0375, 0.0375, 0.0, 0.038]
    twice = mixed_session({**META, "speed": 2.0})  # stamps are those of the stream, delays of the trial
    assert [delay_s(spec, twice) for spec in MIXED] == [0.01875, 0.01875, 0.0, 0.019]
    at_once = FieldSpec("sagittal_speeds", (1,), "rad/s", meaning="rates of angles at the same instant")
    deviation = FieldSpec("coordinates_deviation", (2,), "rad, m", of="coordinates", role="deviation")
    assert [delay_s(spec, session) for spec in (at_once, deviation)] == [0.0375, 0.0375]
    for rates in ({}, {"delay_s": []}, {"delay_s": ["late"]}, {"delay_s": [-1.0]}, {"delay_s": [1e9]}, 5, []):
        assert delay_s(MIXED[0], mixed_session({"rates": rates, "delay": 3})) == 0.0


def test_other_fields_are_sent_where_they_are_asked_for(walk_frames: Callable) -> None:
    """Protects the option: a field of rows and parts has a channel for each number, one that there is not is
    named.
    """
    place, told = f"fields {os.getpid()}", []
    outlets = LslOutlets(("joint_centres", "nothing"), place, told.append)
    (frame,) = walk_frames(0, 1)
    outlets.send(frame)
    assert any("nothing" in sentence and "joint_angles" in sentence for sentence in told)
    assert inlet_of("joint_centres", place).info(GUARD_S).channel_count() == 16


def test_other_labels_are_another_stream_and_the_same_ones_go_on(
    walk_frames: Callable, new_walk_session: Callable
) -> None:
    """Protects readers: a new session of the same fields interrupts nobody; at another rate it is another."""
    place = f"sessions {os.getpid()}"
    outlets = LslOutlets((), place, lambda _: None)
    outlets.send(walk_frames(0, 1)[0])
    inlet = inlet_of("joint_angles", place)
    outlets.send(walk_frames(0, 1, new_walk_session())[0])
    pulled(inlet, 1)
    outlets.send(walk_frames(0, 1, new_walk_session(50.0))[0])
    with pytest.raises(RuntimeError, match="lost"):
        pulled(inlet, 1)
    assert inlet_of("joint_angles", place).info(GUARD_S).nominal_srate() == 50.0


def test_names_of_numbers_and_types() -> None:
    """Protects what a reader sees: labels and parts, places where there are none."""
    assert flat_labels(FieldSpec("a", (2,), "1")) == ("1", "2")
    assert flat_labels(FieldSpec("a", (1, 2), "1", ("RKNE",), ("x", "y"))) == ("RKNE_x", "RKNE_y")
    assert flat_labels(FieldSpec("residual", (), "m")) == ("residual",)
    assert type_of("joint_moments") == "JointMoments"


def test_results_of_a_socket_reach_an_inlet(walk) -> None:
    """Protects the whole way: a publisher, the bridge beside it, an inlet; it ends when it is told to."""
    stop, told = threading.Event(), []
    n_sent: list[int] = []

    def serve() -> None:
        n_sent.append(serve_lsl(walk.address, (), None, stop, told.append))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    assert walk.publisher.wait_for_subscriber(GUARD_S)
    walk.send()
    inlet = inlet_of("joint_angles", walk.address)
    walk.send(20)
    samples, _ = pulled(inlet, 20)
    stop.set()
    thread.join(GUARD_S)
    assert not thread.is_alive()
    assert n_sent == [21]
    np.testing.assert_allclose(samples[-1][0], np.degrees(0.4 * np.sin(0.06 * 20)), rtol=1e-6)


@pytest.mark.process
def test_the_command_says_what_it_sends_and_ends() -> None:
    """Protects the command line: it runs without results, says its streams, and ends after its duration."""
    command = [sys.executable, "-m", "rtsim", "bridge", "lsl", "tcp://127.0.0.1:9", "--duration", "0.3"]
    command[1:3] = ["-c", "import sys; from rtsim.cli.entry import main; sys.argv[0] = 'rtsim'; main()"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "sending rtsim_events" in done.stderr
    assert "0 frames sent" in done.stderr
