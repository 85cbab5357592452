"""The zero of live force plates: when it is gathered, off what it is taken, and when it is forgotten."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.algebra.resampling import TAKEN
from kernels.plates.plate_contact import LOADED
from rtsim.files.forces.force_stream import describe, force_channel
from rtsim.files.forces.force_tare import tare
from rtsim.files.forces.force_trial import RawForces, force_trial
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.methods.plates.plate_intake import PlateIntake
from streams.codec import FieldLayout
from streams.messages import force_session, marker_session
from streams.receiving.ring import ReceivedFrame

DRIFT = np.array([2.0, 8.0, -1.0, 0.3, -4.0, 2.5])
STANDING = np.array([0.0, 350.0, 0.0, 1.0, 0.0, 20.0])


def session_of(n_sample: int = 4, **options):
    return force_session(["a", "b"], n_sample, rate=100.0, sample_rate=400.0, t_start=0, **options)


def message_of(start: float, n_sample: int = 4, a=DRIFT, b=STANDING) -> dict[str, np.ndarray]:
    """Plate a says its drift, on b somebody stands still."""
    rows = np.repeat(np.stack([a, b])[:, None], n_sample, axis=1)
    return {
        "sample_times": start + np.arange(n_sample) / 400.0,
        "force": np.ascontiguousarray(rows[..., :3]),
        "moment": np.ascontiguousarray(rows[..., 3:]),
    }


def wrench_at(intake: PlateIntake) -> np.ndarray:
    """The newest wrench, plate by plate."""
    wrench = np.empty((2, 2, 3))
    assert intake.read(intake.newest, *wrench) == TAKEN
    return wrench.transpose(1, 0, 2).reshape(2, 6)


def admit(intake: PlateIntake, first: int, last: int, **rows) -> None:
    for k in range(first, last):
        intake.admit(message_of(0.01 * k, **rows), 0.01 * k, 0)


def test_the_mean_of_the_seconds_asked_for_is_taken_off_empty_plates():
    """Protects the live zero: nothing changes until all is gathered, then the empty plate says nothing, the
    loaded one what it did, and both are told."""
    intake = PlateIntake(session_of(), by_time=True)
    admit(intake, 0, 3)
    intake.zero.begin(0.2)
    admit(intake, 3, 22)
    np.testing.assert_array_equal(wrench_at(intake), [DRIFT, STANDING])
    assert intake.zero.told.startswith("taring (0.2 of 0.2 s")
    admit(intake, 22, 25)
    np.testing.assert_allclose(wrench_at(intake), [np.zeros(6), STANDING], atol=1e-12)
    np.testing.assert_allclose(intake.zero.normal, [8.0, 0.0], atol=1e-12)
    words = "zero subtracted for a 8 N; plates that were loaded or not measured: b"
    assert intake.zero.sentences == [f"Force plates: {words}."]
    assert intake.zero.told == words


def test_a_second_tare_replaces_the_first():
    """Protects from a zero of a zero: what is gathered is as measured."""
    intake = PlateIntake(session_of(), by_time=True)
    for k, drift in enumerate((DRIFT, 2.0 * DRIFT)):
        intake.zero.begin(0.1)
        admit(intake, 20 * k, 20 * k + 15, a=drift)
        np.testing.assert_allclose(wrench_at(intake)[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(intake.zero.normal[0], 16.0, atol=1e-12)
    assert intake.zero.sentences[1].startswith("Force plates: zero subtracted for a 16 N")


def test_gaps_and_leaps_of_the_clock_do_not_count_as_gathered():
    """Protects from a zero of a few samples: silence and a clock that leaps are no seconds of the plates."""
    intake = PlateIntake(session_of(), by_time=True)
    intake.zero.begin(1.0)
    for start in (0.0, 5.0, 1e6, 0.0):
        intake.admit(message_of(start), start, 0)
    assert intake.zero.told.startswith("taring (0.0 of 1 s")
    np.testing.assert_array_equal(wrench_at(intake)[0], DRIFT)


def test_where_nobody_left_the_plates_nothing_changes():
    """Protects the weight: told, and no plate is tared."""
    intake = PlateIntake(session_of(), by_time=True)
    intake.zero.begin(0.1)
    admit(intake, 0, 15, a=STANDING)
    np.testing.assert_array_equal(wrench_at(intake), [STANDING, STANDING])
    assert (
        intake.zero.told
        == "no plate was empty, so no zero was subtracted; plates that were loaded or not measured: a, b"
    )


def frame_of(session, time: float) -> ReceivedFrame:
    frame = ReceivedFrame(session, FieldLayout(session))
    for name, value in message_of(time).items():
        frame.data[name][...] = value
    frame.time, frame.t_capture = time, 0
    return frame


def test_other_plates_forget_the_zero_and_the_same_by_another_clock_keep_it():
    """Protects from the zero of other plates, and from its loss where markers of another clock come."""
    feed, session = ForceFeed(), session_of(meta={"time_base": "x"})
    feed.begin(session)
    feed.intake.zero.begin(0.1)
    for k in range(15):
        feed.admit(frame_of(session, 0.01 * k))
    feed.turn_to(marker_session(["A"], rate=100.0, t_start=0, meta={"time_base": "x"}))
    feed.admit(frame_of(session, 0.2))
    np.testing.assert_allclose(wrench_at(feed.intake)[0], 0.0, atol=1e-12)
    assert feed.collect()[1] == [
        "Force plates: zero subtracted for a 8 N; plates that were loaded or not measured: b."
    ]
    other = session_of()
    feed.admit(frame_of(other, 0.3))
    np.testing.assert_array_equal(wrench_at(feed.intake)[0], DRIFT)
    assert not feed.intake.zero.normal.any()


def test_a_tared_trial_tells_its_zero_in_the_stream():
    """Protects whoever records a stream: what was taken off comes along, in the descriptor."""
    n = 100
    values = np.stack([np.tile(DRIFT, (n, 1)), np.tile(STANDING, (n, 1))], axis=1)
    corners = np.full((2, 4, 3), np.nan)
    raw = RawForces(
        ("a", "b"), np.arange(n) / 400.0, 400.0, corners, np.zeros(2), values[..., :3].copy(),
        values[..., 3:].copy(), "made", (),
    )  # fmt: skip
    trial = force_trial(raw)
    assert "zero" not in force_channel(trial, 100.0, t_start=0).session.meta
    tared = tare(trial, 0.0, 0.1)
    assert (tared.loaded[:, 1] == LOADED).all()
    session = force_channel(tared, 100.0, t_start=0).session
    np.testing.assert_allclose(describe(session).zero, [DRIFT, np.zeros(6)], atol=1e-12)
    np.testing.assert_allclose(PlateIntake(session, by_time=True).zero.normal, [8.0, 0.0], atol=1e-12)


def test_a_zero_with_z_up_is_turned():
    """Protects the axes of what a sender has taken off."""
    zero = [[1.0, 2.0, 7.0, 4.0, 5.0, 6.0], [0.0] * 6]
    said = describe(session_of(up="Z", meta={"zero": zero}))
    np.testing.assert_allclose(said.zero[0], [1.0, 7.0, -2.0, 4.0, 6.0, -5.0])


@pytest.mark.parametrize(
    "zero", [5, "x", [[1.0] * 6], [[1.0] * 6, [float("nan")] * 6], [[1e300] * 6] * 2, {"a": 1}]
)
def test_a_zero_that_is_none_is_told(zero):
    """Protects from senders: one sentence, and the plates are used all the same."""
    said = describe(session_of(meta={"zero": zero}))
    assert said.names == ("a", "b")
    assert not said.zero.any()
    assert any("six numbers for each of the 2 plates" in fault for fault in said.faults)
