"""The forces stream of any sender: what is taken in, and what is named."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kernels.algebra.resampling import EARLY, GAP, TAKEN, WAITING
from kernels.plates.plate_limits import GREATEST
from rtsim.files.forces.force_stream import describe, force_channel
from rtsim.files.forces.force_trial import RawForces, force_trial
from rtsim.files.forces.forces import read_forces
from rtsim.methods.plates.plate_intake import PlateIntake, share_time
from rtsim.methods.plates.plate_loads import at_times
from streams.codec import encode
from streams.messages import End, FieldSpec, Forces, Session, force_session, marker_session
from streams.recording.recorder import Recorder

HEIGHT = 0.35
"""Of the plate without corners in the trials below [m]."""
CORNERS = [[0.0, 0.0, 0.0], [0.6, 0.0, 0.0], [0.6, 0.0, -0.4], [0.0, 0.0, -0.4]]


def session_of(n_plate: int = 1, n_sample: int = 4, **options) -> Session:
    given = {"rate": 100.0, "sample_rate": 400.0, "t_start": 0}
    return force_session([f"p{p}" for p in range(n_plate)], n_sample, **{**given, **options})


def message_of(times, n_plate: int = 1, n_sample: int = 4) -> dict[str, np.ndarray]:
    """Samples with the force (t, 100 + t, 0), plate by plate a newton more."""
    data = {
        "sample_times": np.full(n_sample, np.nan),
        "force": np.full((n_plate, n_sample, 3), np.nan),
        "moment": np.full((n_plate, n_sample, 3), np.nan),
    }
    for s, time in enumerate(times):
        data["sample_times"][s] = time
        for p in range(n_plate):
            data["force"][p, s] = [time, 100.0 + time + p, 0.0]
            data["moment"][p, s] = [1.0, time, 2.0]
    return data


def taken(intake: PlateIntake, t: float) -> tuple[int, np.ndarray]:
    """Status, and force and moment of each plate in turn, at a time."""
    wrench = np.empty((2, len(intake.names), 3))
    status = intake.read(t, *wrench)
    return status, wrench.transpose(1, 0, 2).ravel()


def test_samples_of_messages_become_wrenches_at_any_time():
    """Protects the way in: rows in use only, plate by plate, by the time in the trial."""
    intake = PlateIntake(session_of(2), by_time=True)
    assert intake.admit(message_of([0.0025, 0.005], 2), 0.005, 10**9) == 2
    assert intake.admit(message_of([0.0075, 0.01, 0.0125, 0.015], 2), 0.015, 10**9) == 4
    assert intake.admit(message_of([], 2), 0.02, 10**9) == 0
    status, wrench = taken(intake, 0.01)
    assert status == TAKEN
    np.testing.assert_allclose(wrench, [0.01, 100.01, 0, 1, 0.01, 2, 0.01, 101.01, 0, 1, 0.01, 2], atol=1e-12)
    assert taken(intake, 0.0)[0] == EARLY
    assert taken(intake, 0.016)[0] == WAITING
    assert not intake.sentences


def test_by_the_senders_clock_samples_are_as_old_as_they_say():
    """Protects pairing of two devices: t_capture is that of `time`, the samples lie before it."""
    intake = PlateIntake(session_of(), by_time=False)
    intake.admit(message_of([5.0, 5.0025, 5.005]), 5.005, 70_000_000_000)
    status, wrench = taken(intake, 69.9975)
    assert status == TAKEN
    assert wrench[0] == pytest.approx(5.0025)


def test_streams_share_their_time_only_where_both_say_so():
    """Protects from pairing two clocks that have nothing to do with each other."""
    markers = marker_session(["A"], rate=1.0, t_start=0, meta={"time_base": "x"})
    assert share_time(markers, session_of(meta={"time_base": "x"}))
    for base in ({}, {"time_base": "y"}, {"time_base": ""}, {"time_base": ["x"]}):
        assert not share_time(markers, session_of(meta=base))
    assert not share_time(marker_session(["A"], rate=1.0, t_start=0), session_of())


def test_forces_with_z_up_are_turned():
    """Protects the axes: force, moment and corners alike."""
    corners = [[x, -z, y] for x, y, z in CORNERS]
    intake = PlateIntake(session_of(up="Z", corners=[corners]), by_time=True)
    data = message_of([0.0])
    data["force"][0, 0], data["moment"][0, 0] = [1.0, 2.0, 700.0], [4.0, 5.0, 6.0]
    intake.admit(data, 0.0, 0)
    np.testing.assert_allclose(taken(intake, 0.0)[1], [1.0, 700.0, -2.0, 4.0, 6.0, -5.0])
    np.testing.assert_allclose(intake.corners[0], CORNERS)
    np.testing.assert_allclose(intake.plates.half[0], [0.3, 0.2])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f[1:], "needs the fields sample_times, force and moment"),
        (lambda f: [f[0], f[1]._replace(shape=(1, 3)), f[2]], r"the shape \[n_plate, n_sample, 3\]"),
        (lambda f: [f[0]._replace(shape=(0,)), f[1], f[2]], r"sample_times needs the shape \[n_sample\]"),
        (lambda f: [f[0], f[1], f[2]._replace(shape=(2, 4, 3))], "the same number of plates"),
        (lambda f: [f[0], f[1]._replace(unit="kN"), f[2]], "need the units s, N, N m, not s, kN, N m"),
        (
            lambda f: [f[0], f[1]._replace(shape=(0, 4, 3)), f[2]._replace(shape=(0, 4, 3))],
            "one or more",
        ),
    ],
)
def test_a_descriptor_that_is_none_is_named(change, said):
    """Protects from fields of other shapes and units: one sentence, and nothing is taken in."""

    class Spec(FieldSpec, frozen=True):
        def _replace(self, **keys):
            return Spec(**{"name": self.name, "shape": self.shape, "unit": self.unit, **keys})

    given = session_of()
    fields = [Spec(name=f.name, shape=f.shape, unit=f.unit) for f in given.fields]
    session = Session(
        session=given.session, stream="forces", t_start=0, rate=100.0, fields=change(fields), meta=given.meta
    )
    intake = PlateIntake(session, by_time=True)
    assert not intake.usable
    assert len(intake.sentences) == 1
    assert re.search(said, intake.sentences[0])
    assert intake.admit(message_of([0.0]), 0.0, 0) == 0


@pytest.mark.parametrize(
    "corners",
    [
        [[[0.0, 0.0, 0.0]] * 4], [[["a", 0, 0]] * 4], [[[1e300] * 3] * 4], [[[0.0, 1.0], [2.0]]], [7],
        {"a": 1}, [CORNERS, CORNERS], [[[float("nan")] * 3] * 4], "text",
    ],
)  # fmt: skip
def test_corners_that_are_none_are_named(corners):
    """Protects from a stranger's corners: the plate is used without them."""
    given = session_of()
    session = Session(
        session=given.session,
        stream="forces",
        t_start=0,
        rate=100.0,
        fields=given.fields,
        meta={**given.meta, "corners": corners},
    )
    intake = PlateIntake(session, by_time=True)
    assert intake.usable
    assert np.isnan(intake.corners).all()
    assert len(intake.sentences) == 1
    assert "corners" in intake.sentences[0]


@pytest.mark.parametrize("leap", [-30.0, -0.5, 1e6])
@pytest.mark.parametrize("lasts", [1, 50])
def test_a_clock_that_leaps_is_followed(leap, lasts):
    """Protects the rest of a run: one damaged time, or a clock set anew, costs some samples, not all."""
    intake = PlateIntake(session_of(), by_time=True)
    times = 0.01 * np.arange(100) + np.where(
        (np.arange(100) >= 40) & (np.arange(100) < 40 + lasts), leap, 0.0
    )
    for t in times:
        intake.admit(message_of([t + 0.0025 * k for k in range(4)]), t, 0)
    assert taken(intake, 0.985)[0] == TAKEN
    assert intake.counters["samples_out_of_order"] == 4
    n_leap = 0 if leap < 0.0 and lasts == 1 else 1
    assert intake.counters["samples_restarted"] == n_leap
    assert sum("jumped" in said for said in intake.sentences) == n_leap


def test_messages_that_repeat_are_no_leap():
    """Protects what is held: old samples again, whatever their number, do not count as a new clock."""
    intake = PlateIntake(session_of(), by_time=True)
    for t in (1.0, 1.01, *[0.5] * 20, 1.02):
        intake.admit(message_of([t, t + 0.0025]), t, 0)
    assert intake.counters["samples_restarted"] == 0
    assert taken(intake, 1.0215)[0] == TAKEN


def test_hostile_samples_are_counted_and_named():
    """Protects the kernels: shapes, order of time, parts of wrenches, forces that no plate measures."""
    intake = PlateIntake(session_of(), by_time=True)
    intake.admit(message_of([0.0, 0.0025]), 0.0025, 0)
    odd = message_of([0.0025, 0.001, 0.005, 0.0075])
    odd["force"][0, 2, 1] = np.nan
    odd["moment"][0, 3, 0] = 10.0 * GREATEST
    assert intake.admit(odd, 0.0075, 0) == 4
    assert intake.counters == {
        "unfit": 0, "samples_out_of_order": 2, "samples_restarted": 0, "samples_in_part": 2
    }  # fmt: skip
    status, wrench = taken(intake, 0.005)
    assert status == TAKEN
    assert np.isnan(wrench).all()
    for name, array in (
        ("force", np.zeros((1, 3, 3))), ("force", np.zeros((1, 4, 3), np.float32)),
        ("sample_times", np.zeros(5)),
        ("moment", np.zeros((1, 3, 4)).transpose(0, 2, 1)),
    ):  # fmt: skip
        assert intake.admit({**message_of([0.01]), name: array}, 0.01, 0) == 0
    assert intake.admit({"force": np.zeros((1, 4, 3))}, 0.01, 0) == 0
    assert intake.counters["unfit"] == 5
    assert len(intake.sentences) == 3
    for _ in range(400):
        intake.admit(odd, 0.0075, 0)
    assert len(intake.sentences) == 3  # a lasting fault is not told at every message


def test_a_stream_that_stops_for_a_while_leaves_a_gap():
    """Protects from a straight line across what was not measured."""
    intake = PlateIntake(session_of(), by_time=True)
    intake.admit(message_of([0.0, 0.0025]), 0.0025, 0)
    intake.admit(message_of([0.5, 0.5025]), 0.5025, 0)
    assert taken(intake, 0.2)[0] == GAP
    assert taken(intake, 0.5025)[0] == TAKEN


def made(rate: float = 1000.0):
    rng = np.random.default_rng(1)
    times = 1.0 + np.arange(500) / rate
    force = rng.normal(0.0, 50.0, (500, 2, 3)) + np.array([0.0, 400.0, 0.0])
    corners = np.array([CORNERS, np.full((4, 3), np.nan)])
    moment = rng.normal(0.0, 50.0, (500, 2, 3))
    level = np.array([0.0, HEIGHT])
    return force_trial(RawForces(("a", "b"), times, rate, corners, level, force, moment, "made", ()))


@pytest.mark.parametrize(
    ("rate", "frame_rate"), [(450.0, 150.0), (1000.0, 150.0), (2000.0, 100.0), (100.0, 100.0)]
)
def test_a_trial_and_its_stream_give_the_same_numbers(rate, frame_rate):
    """Law: live = file, bit for bit, at rates that do not divide each other too."""
    trial = made(rate)
    channel = force_channel(trial, frame_rate, t_start=0)
    intake = PlateIntake(channel.session, by_time=True)
    n_taken = 0
    wanted = at_times(trial, channel.times).reshape(len(channel.times), -1)
    for k, time in enumerate(channel.times.tolist()):
        n_taken += intake.admit(
            {name: np.ascontiguousarray(v[k]) for name, v in channel.data.items()}, time, 0
        )
        if k > 2:  # the sample after the frame's time may come with the next message only
            status, wrench = taken(intake, channel.times[k - 1])
            assert status == TAKEN
            np.testing.assert_array_equal(wrench, wanted[k - 1])
    assert n_taken == 500
    np.testing.assert_array_equal(intake.corners, trial.corners)


def test_a_plate_without_corners_keeps_its_height():
    """Protects centres of pressure on walkways, decks and stairs, whose points a file tells without corners:
    a run lays the plate where the file does, with either axis up, and says nothing of plates at 0."""
    trial = made()
    session = force_channel(trial, 100.0, t_start=0).session
    for field in trial.plates._fields:
        laid = getattr(PlateIntake(session, by_time=True).plates, field)
        np.testing.assert_array_equal(laid, getattr(trial.plates, field))
    upright = session_of(2, up="Z", meta={"levels": [0.0, HEIGHT]})
    np.testing.assert_array_equal(PlateIntake(upright, by_time=True).plates.centre[:, 1], [0.0, HEIGHT])
    low = trial._replace(plates=trial.plates._replace(centre=np.zeros((2, 3))))
    assert "levels" not in force_channel(low, 100.0, t_start=0).session.meta


@pytest.mark.parametrize(
    "levels", [5, "x", [0.1], [0.1, float("nan")], [1e300, 0.0], [[0.1], [0.2]], {"a": 1}]
)
def test_heights_that_are_none_are_told(levels):
    """Protects from senders: one sentence, and the plates are used at height 0."""
    said = describe(session_of(2, meta={"levels": levels}))
    assert said.names == ("p0", "p1")
    assert not said.level.any()
    assert any("one number for each of the 2 plates" in fault for fault in said.faults)


def test_a_recorded_stream_is_the_trial_again(tmp_path):
    """Protects recordings of forces: every sample, plate and corner comes back."""
    trial = made()
    channel = force_channel(trial, 100.0, t_start=0)
    path = tmp_path / "forces.mcap"
    with Recorder(path) as recorder:
        recorder.write(*encode(channel.session), 0)
        for seq, time in enumerate(channel.times.tolist()):
            data = {
                name: np.ascontiguousarray(v[seq], dtype="<f8").tobytes() for name, v in channel.data.items()
            }
            message = Forces(session=channel.session.session, seq=seq, t_capture=seq, time=time, data=data)
            recorder.write(*encode(message), seq)
        recorder.write(
            *encode(End(session=channel.session.session, seq=len(channel.times), reason="over")), 0
        )
    found = read_forces(path)
    assert found.names == trial.names
    for name in ("times", "force", "moment", "corners", "centre", "free_moment", "loaded"):
        np.testing.assert_array_equal(getattr(found, name), getattr(trial, name))
    np.testing.assert_array_equal(found.plates.centre, trial.plates.centre)
    assert found.rate == trial.rate
