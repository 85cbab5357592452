"""Own recordings: what was on the wire comes back, however the recording ended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from rtsim.errors import ConfigError
from rtsim.files.markers.markers import read_markers
from rtsim.files.recording import read_model_markers, read_results
from streams.codec import FieldLayout, encode
from streams.messages import (
    AnyMessage,
    Command,
    FieldSpec,
    Markers,
    Result,
    Session,
    Status,
    marker_session,
    new_session_id,
)
from streams.recording.recorder import Recorder

NAMES = ("RASI", "RKNE", "RHEE")
N_FRAME = 12


def body(n_frame: int = N_FRAME) -> np.ndarray:
    """Positions (n, 3, 3) in ground [m] with one gap."""
    positions = np.zeros((n_frame, 3, 3))
    positions[:, :, 1] = [0.95, 0.5, 0.05]
    positions[:, :, 0] = 1.0 + 0.01 * np.arange(n_frame)[:, None]
    positions[4, 1] = np.nan
    return positions


def marker_frame(session: Session, seq: int, time: float, positions: np.ndarray) -> Markers:
    data = FieldLayout(session).pack({"positions": positions})
    return Markers(session=session.session, seq=seq, t_capture=1000 + seq * 10**7, time=time, data=data)


def result_session() -> Session:
    fields = (
        FieldSpec("joint_angles", (2,), "rad", ("hip_flexion", "knee_flexion")),
        FieldSpec("markers_measured", (3, 3), "m", NAMES),
        FieldSpec("markers_model", (3, 3), "m", NAMES),
        FieldSpec("count", (), "1"),
    )
    session = new_session_id()
    meta = {"method": "test", "up": "Y"}
    return Session(session=session, stream="result", t_start=0, rate=100.0, fields=fields, meta=meta)


def result_frame(session: Session, seq: int, status: int = 0) -> Result:
    positions = body()[seq]
    arrays = {
        "joint_angles": np.array([0.1, 0.2]) * seq,
        "markers_measured": positions,
        "markers_model": positions + 0.001,
        "count": np.array(float(seq)),
    }
    return Result(
        session=session.session, seq=seq, t_capture=seq, time=seq / 100,
        data=FieldLayout(session).pack(arrays), t_received=1, t_solved=2, t_published=3,
        status=status, iterations=4, residual=0.5,
    )  # fmt: skip


def write_message(recorder: Recorder, message: AnyMessage, t_ns: int) -> None:
    topic, payload = encode(message)
    recorder.write(topic, payload, t_ns)


def record(path: Path, messages: list) -> Path:
    with Recorder(path) as recorder:
        for t_ns, message in enumerate(messages):
            write_message(recorder, message, t_ns)
    return path


def marker_messages(session: Session, positions: np.ndarray) -> list:
    return [session, *(marker_frame(session, i, i / 100, positions[i]) for i in range(positions.shape[0]))]


def test_marker_stream_comes_back(tmp_path):
    """Names, times, rate, positions and gaps of the marker stream, descriptor repeated as on the wire."""
    session = marker_session(NAMES, rate=100.0, t_start=0)
    messages = marker_messages(session, body())
    trial = read_markers(record(tmp_path / "a.mcap", [*messages[:5], session, *messages[5:]]))
    assert trial.names == NAMES
    assert trial.rate == 100.0
    np.testing.assert_allclose(trial.times, np.arange(N_FRAME) / 100)
    np.testing.assert_array_equal(trial.positions, body())


def test_units_and_axes_of_the_descriptor(tmp_path):
    """A stream declared in mm and Z up is converted; the caller may override."""
    session = marker_session(NAMES, rate=100.0, t_start=0, unit="mm", up="Z")
    in_file = 1e3 * body()[..., [0, 2, 1]] * [1, -1, 1]
    path = record(tmp_path / "a.mcap", marker_messages(session, in_file))
    np.testing.assert_allclose(read_markers(path).positions, body())
    np.testing.assert_allclose(read_markers(path, up="Y").positions, 1e-3 * in_file)


def test_order_repetitions_losses_and_misfits(tmp_path):
    """Frames are put in order of seq, repeated ones once; lost, foreign and broken ones are counted."""
    session = marker_session(NAMES, rate=100.0, t_start=0)
    other = marker_session(("A",), rate=100.0, t_start=0)
    messages = marker_messages(session, body())
    head, frames = messages[:1], messages[1:]
    wrong = Markers(session=session.session, seq=11, t_capture=0, time=0.11, data={"positions": b"\0" * 8})
    orphan = marker_frame(other, 0, 0.0, np.zeros((1, 3)))
    mixed = [*head, frames[2], frames[0], frames[1], frames[1], frames[5], frames[3], orphan, wrong]
    path = tmp_path / "a.mcap"
    with Recorder(path) as recorder:
        for t_ns, message in enumerate(mixed):
            write_message(recorder, message, t_ns)
        recorder.write(b"markers", b"no msgpack", 99)
    trial = read_markers(path)
    np.testing.assert_allclose(trial.times, [0.0, 0.01, 0.02, 0.03, 0.05])
    notes = " | ".join(trial.notes)
    assert "missing in the recording (gaps in seq): 1" in notes
    assert "do not fit the stream descriptor: 1" in notes
    assert "because no stream descriptor came: 1" in notes
    assert "they could not be decoded: 1" in notes


def test_longest_session_wins(tmp_path):
    """After a restart of the sender, the longer of the two sessions is read, and the note says so."""
    short, long = (marker_session(NAMES, rate=100.0, t_start=0) for _ in range(2))
    messages = [*marker_messages(short, body()[:3]), *marker_messages(long, body())]
    trial = read_markers(record(tmp_path / "a.mcap", messages))
    assert trial.times.shape == (N_FRAME,)
    assert any("2 sessions" in note for note in trial.notes)


def test_of_a_label_twice_the_one_with_data_keeps_it(tmp_path):
    """Protects a marker of a recorded stream from an empty one of the same label before it."""
    positions = body()[:, [0, 1, 2, 1]]
    positions[:, 1] = np.nan
    session = marker_session(("RASI", "RKNE", "RHEE", "RKNE"), rate=100.0, t_start=0)
    trial = read_markers(record(tmp_path / "a.mcap", marker_messages(session, positions)))
    assert trial.names == ("RASI", "RKNE_2", "RHEE", "RKNE")


def test_looped_trial_uses_the_clock(tmp_path):
    """When the trial time starts again, times come from the source's clock and still increase."""
    session = marker_session(NAMES, rate=100.0, t_start=0)
    frames = [marker_frame(session, i, (i % 6) / 100, body()[i]) for i in range(N_FRAME)]
    trial = read_markers(record(tmp_path / "a.mcap", [session, *frames]))
    np.testing.assert_allclose(trial.times, np.arange(N_FRAME) / 100)
    assert any("more than once" in note for note in trial.notes)


def test_rounded_times_are_not_a_trial_that_was_played_again(tmp_path):
    """Protects speeds and durations of streams at 120 Hz whose times are rounded to 0.01 s: some repeat."""
    session = marker_session(NAMES, rate=120.0, t_start=0)
    frames = [
        replace(marker_frame(session, k, 5.0 + round(k / 120, 2), body()[k % N_FRAME]),
                t_capture=10**9 + round(k * 1e9 / 120))
        for k in range(60)
    ]  # fmt: skip
    trial = read_markers(record(tmp_path / "a.mcap", [session, *frames]))
    np.testing.assert_allclose(trial.times, 5.0 + np.arange(60) / 120, atol=1e-8)
    assert any("as rounded times are" in note for note in trial.notes)
    assert not any("more than once" in note for note in trial.notes)


def played_twice(speed: float = 1.0) -> list:
    """Results of 6 frames at 2 Hz of the trial, from 3.25 s on, played twice; a round takes 3.1 s."""
    session = result_session()
    session = replace(session, rate=2.0 * speed, meta={**session.meta, "speed": speed})
    frames = []
    for k in range(N_FRAME):
        passed = 0.5 * (k % 6) + 3.1 * (k // 6)
        t_capture = 10**9 + round(passed / speed * 1e9)
        frames.append(replace(result_frame(session, k), time=3.25 + 0.5 * (k % 6), t_capture=t_capture))
    return [session, *frames]


@pytest.mark.parametrize("speed", [1.0, 2.0])
def test_a_trial_played_twice_continues_on_its_own_clock(tmp_path, speed):
    """Protects events of a file: the first round keeps its times, the second follows at the trial's pace."""
    results = read_results(record(tmp_path / "a.mcap", played_twice(speed)))
    first = 3.25 + 0.5 * np.arange(6)
    np.testing.assert_array_equal(results.times[:6], first)
    np.testing.assert_allclose(results.times[6:], first + 3.1, atol=1e-9)
    assert any("times go back 1 time;" in note for note in results.notes)


def marked(messages: list, after: int, time: float, label: str) -> list:
    """The messages with an event marked after the frame `after`."""
    mark = Command(session=messages[0].session, name="mark", args={"time": time, "label": label})
    return [*messages[: after + 2], mark, *messages[after + 2 :]]


@pytest.mark.parametrize(
    ("after", "time", "place"),
    [
        (2, 4.25, 4.25),
        (0, 5.25, 5.25),
        (8, 4.25, 7.35),
        (8, 4.3, 7.4),
        (8, 3.6, 6.7),
        (8, 5.3, 5.3),
        (11, 5.8, 8.9),
    ],
    ids=["round 1", "ahead", "round 2", "lost frame", "earlier", "not reached again", "behind the end"],
)
def test_a_mark_is_on_the_clock_of_the_frames(tmp_path, after, time, place):
    """Protects marks of a trial that was played twice: each lies in the round in which it was made."""
    path = record(tmp_path / "a.mcap", marked(played_twice(), after, time, "cough"))
    results = read_results(path)
    assert [mark.label for mark in results.marks] == ["cough"]
    assert results.marks[0].time == pytest.approx(place, abs=1e-9)


def test_marks_of_a_time_that_no_round_has_are_counted(tmp_path):
    """Protects from a mark at a wrong place, and from one that is left out in silence."""
    results = read_results(record(tmp_path / "a.mcap", marked(played_twice(), 8, 9.0, "cough")))
    assert results.marks == ()
    told = "number of marked events left out, because no frame of the trial has their time: 1"
    assert told in results.notes


def test_the_rate_of_a_trial_that_was_played_faster(tmp_path):
    """Protects what goes by the rate: the frames of the trial come at half the rate of the stream."""
    session = marker_session(NAMES, rate=200.0, t_start=0, meta={"speed": 2.0})
    trial = read_markers(record(tmp_path / "a.mcap", marker_messages(session, body())))
    assert trial.rate == 100.0
    np.testing.assert_allclose(trial.times, np.arange(N_FRAME) / 100)


@pytest.mark.parametrize("n_lost", [1, 40, 400])
def test_cut_recording_is_read_as_far_as_it_goes(tmp_path, n_lost):
    """A recording whose end is missing gives its whole frames and says that the tail is cut."""
    session = marker_session(NAMES, rate=100.0, t_start=0)
    path = tmp_path / "a.mcap"
    recorder = Recorder(path)
    for t_ns, message in enumerate(marker_messages(session, body())):
        write_message(recorder, message, t_ns)
    content = path.read_bytes()  # as it lies on disk before the recorder was closed
    recorder.close()
    path.write_bytes(content[:-n_lost])
    trial = read_markers(path)
    assert 8 <= trial.times.shape[0] < N_FRAME
    np.testing.assert_array_equal(trial.positions, body()[: trial.times.shape[0]])
    assert any("tail is cut" in note for note in trial.notes)


def test_results(tmp_path):
    """Fields, times and status of the results; the descriptor with method and units."""
    session = result_session()
    frames = [result_frame(session, i, status=8 if i == 3 else 0) for i in range(N_FRAME)]
    results = read_results(record(tmp_path / "a.mcap", [session, *frames]))
    assert results.session.meta["method"] == "test"
    assert results.fields["joint_angles"].shape == (N_FRAME, 2)
    assert results.fields["count"].shape == (N_FRAME,)
    np.testing.assert_allclose(results.fields["joint_angles"][5], [0.5, 1.0])
    np.testing.assert_array_equal(results.fields["markers_measured"], body())
    np.testing.assert_allclose(results.times, np.arange(N_FRAME) / 100)
    assert results.status.tolist() == [0, 0, 0, 8, *([0] * 8)]
    assert results.notes == ()


def test_a_result_that_was_repeated_while_no_frame_came_was_measured_once(tmp_path):
    """Protects times after a pause: what an estimator publishes again as stale is no measurement."""
    session = result_session()
    frames = [result_frame(session, i) for i in range(N_FRAME)]
    again = [replace(frames[4], seq=5 + k, status=int(Status.STALE)) for k in range(2)]
    later = [replace(frame, seq=frame.seq + 2) for frame in frames[5:]]
    path = record(tmp_path / "a.mcap", [session, *frames[:5], *again, *later])
    results = read_results(path)
    np.testing.assert_array_equal(results.times, np.arange(N_FRAME) / 100)
    np.testing.assert_array_equal(results.fields["count"], np.arange(N_FRAME))
    assert results.notes == (
        "number of results left out because they repeat the last one while no frame arrived: 2",
    )
    np.testing.assert_array_equal(read_markers(path).positions, body())
    joined = read_results(record(tmp_path / "joined.mcap", [session, *again[1:], *later]))
    assert joined.status.tolist() == [int(Status.STALE), *([0] * 7)]


def test_markers_of_a_result_recording(tmp_path):
    """Without a marker stream the measured markers of the results are the trial; the model's are there."""
    session = result_session()
    path = record(tmp_path / "a.mcap", [session, *(result_frame(session, i) for i in range(N_FRAME))])
    np.testing.assert_array_equal(read_markers(path).positions, body())
    np.testing.assert_allclose(read_model_markers(path).positions, body() + 0.001)


def test_rate_of_an_irregular_stream(tmp_path):
    """A descriptor without a rate: the median step gives it."""
    session = marker_session(NAMES, rate=0.0, t_start=0)
    trial = read_markers(record(tmp_path / "a.mcap", marker_messages(session, body())))
    assert trial.rate == pytest.approx(100.0)


def test_what_is_missing_is_named(tmp_path):
    """No file, no recording, no markers, no results, no model: each is one clear sentence."""
    with pytest.raises(ConfigError, match="no such file"):
        read_results(tmp_path / "none.mcap")
    (tmp_path / "text.mcap").write_text("hello, this is no recording at all")
    with pytest.raises(ConfigError, match="not a recording"):
        read_markers(tmp_path / "text.mcap")
    session = marker_session(NAMES, rate=100.0, t_start=0)
    path = record(tmp_path / "m.mcap", marker_messages(session, body()))
    with pytest.raises(ConfigError, match="no results"):
        read_results(path)
    with pytest.raises(ConfigError, match="no positions of model markers"):
        read_model_markers(path)
    with pytest.raises(ConfigError, match="no markers"):
        read_markers(record(tmp_path / "e.mcap", [session]))
    unlabelled = Session(
        session=new_session_id(),
        stream="markers",
        t_start=0,
        rate=1.0,
        fields=(FieldSpec("positions", (3, 3), "m"),),
    )
    with pytest.raises(ConfigError, match="one label per marker"):
        read_markers(record(tmp_path / "u.mcap", marker_messages(unlabelled, body())))


def test_a_recording_of_a_wrong_axis_comes_upright(tmp_path):
    """Protects the replay of a stream that said another axis than the one that its markers stand along."""
    session = marker_session(NAMES, rate=100.0, t_start=0, meta={"up": "Y"})
    z_up = body()[:, :, [0, 2, 1]] * [1.0, -1.0, 1.0] - [0.0, 0.7, 0.0]
    with Recorder(tmp_path / "a.mcap") as recorder:
        for message in (session, *(marker_frame(session, k, k / 100, x) for k, x in enumerate(z_up))):
            recorder.write(*encode(message), 0)
    trial = read_markers(tmp_path / "a.mcap")
    np.testing.assert_allclose(trial.positions, body() + np.array([0.0, 0.0, 0.7]), atol=1e-12)
    assert any("+Z was used" in note for note in trial.notes)
