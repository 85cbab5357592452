"""Commands on streams and recordings of strangers: a sentence, no traceback, no escape code."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import msgpack
import numpy as np
import pytest

from streams.codec import encode
from streams.messages import AnyMessage, FieldSpec, Markers, Session, new_session_id
from streams.publisher import Publisher
from streams.recording.recorder import Recorder

LOCAL = "tcp://127.0.0.1:0"
CODES = ("\x1b", "\u202e", "\x00")


def markers_session(names: tuple[str, ...], id_: str = "", **keys) -> Session:
    field = FieldSpec("positions", (len(names), 3), keys.pop("unit", "m"), names)
    given = {"stream": "markers", "t_start": 0, "rate": 100.0, "fields": (field,), **keys}
    return Session(session=id_ or new_session_id(), **given)


def frame(session: Session, seq: int, positions: np.ndarray, **keys) -> Markers:
    data = {"positions": positions.tobytes()}
    given = {"seq": seq, "t_capture": 10_000_000 * seq, "time": 0.01 * seq, "data": data, **keys}
    return Markers(session=session.session, **given)


def written(path: Path, *messages: AnyMessage | tuple[bytes, bytes]) -> Path:
    """A recording of messages, or of bytes under a topic."""
    with Recorder(path) as recorder:
        for message in messages:
            topic, payload = message if isinstance(message, tuple) else encode(message)
            recorder.write(topic, payload, 1)
    return path


@pytest.mark.parametrize("shape", [[0, 2**63 - 1], [2**62, 2**62, 2**62, 0], [43_000, 3, 0, 43_000]], ids=str)
@pytest.mark.parametrize("suffix", [".trc", ".mot", ".csv"])
def test_a_recording_of_impossible_shapes_is_a_sentence(here, tmp_path, shape, suffix):
    """Protects export from descriptors that no array can follow."""
    session = msgpack.unpackb(encode(markers_session(("A",)))[1])
    session["fields"][0] |= {"shape": shape, "labels": []}
    frames = msgpack.unpackb(encode(frame(markers_session(("A",), session["session"]), 0, np.empty(0)))[1])
    path = written(
        tmp_path / "odd.mcap", (b"session", msgpack.packb(session)), (b"markers", msgpack.packb(frames))
    )
    done = here("export", path, tmp_path / f"out{suffix}")
    assert done.code == 1
    assert done.sentence.startswith("rtsim: ")
    assert "the recording contains no" in done.sentence


def test_an_id_used_again_in_a_recording_does_not_mix_markers(here, tmp_path, trial):
    """Protects a file from columns of other markers: same id, labels in another order, more frames."""
    first = markers_session(trial.names)
    second = markers_session(trial.names[::-1], first.session)
    n = len(trial.times)
    path = written(
        tmp_path / "twice.mcap",
        first,
        *(frame(first, seq, trial.positions[seq]) for seq in range(n // 3)),
        second,
        *(frame(second, seq, trial.positions[seq][::-1]) for seq in range(n // 3, n)),
        first,
        frame(first, n, trial.positions[0]),
    )
    done = here("export", path, tmp_path / "out.trc")
    assert done.code == 0
    assert "2 sessions of markers" in done.err
    lines = (tmp_path / "out.trc").read_text().splitlines()
    names = [name for name in lines[3].split("\t")[2:] if name]
    rows = [line.split("\t") for line in lines[5:] if line.strip()]
    assert names == list(trial.names[::-1])
    assert len(rows) == n - n // 3
    last = np.array(rows[-1][2 : 2 + 3 * len(names)], float).reshape(-1, 3)
    np.testing.assert_allclose(last, 1e3 * trial.positions[-1][::-1], atol=1e-3)


def test_frames_without_time_or_rate_are_a_sentence(here, tmp_path, trial):
    """Protects export from a rate that nothing tells: every frame at the same time."""
    session = markers_session(trial.names, rate=0.0)
    frames = (frame(session, seq, trial.positions[seq], time=1.0, t_capture=5) for seq in range(3))
    path = written(tmp_path / "still.mcap", session, *frames)
    done = here("export", path, tmp_path / "out.trc")
    assert done.code == 1
    assert "the median step of the times is 0 s" in done.sentence


def test_the_doctor_says_what_a_stranger_calls_its_fields_without_its_codes(here):
    """Protects a terminal from field names, units and labels that hold escape codes."""
    evil = "".join(CODES)
    names = (evil + "[2J", evil * 20, "")
    session = markers_session(names, unit=evil, meta={"up": evil})
    stop = threading.Event()
    with Publisher(LOCAL) as publisher:

        def send() -> None:
            publisher.announce(session)
            seq = 0
            while not stop.is_set():
                publisher.service()
                publisher.send(frame(session, seq, np.ones((3, 3))))
                seq += 1
                time.sleep(0.005)

        thread = threading.Thread(target=send)
        thread.start()
        try:
            done = here("doctor", publisher.address, "--seconds", 0.5, "--subject", "walker")
        finally:
            stop.set()
            thread.join()
    assert done.code == 1
    assert "markers are not in the stream" in done.out
    for code in CODES:
        assert code not in done.out + done.err
    assert "\\x1b\\u202e\\x00" in done.out


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rate", [100.0, 0.0], ids=["rate", "no rate"])
@pytest.mark.parametrize(
    ("times", "clock"),
    [
        ([0.0, 0.0, 0.0], [7, 7, 7]),
        ([0.02, 0.01, 0.0], [2**63 - 1, 5, 0]),
        ([1.7e308, -1.7e308, 0.0], [3, 2, 1]),
        ([0.0, 0.01, 0.01], [10**7, 2 * 10**7, 2 * 10**7]),
    ],
    ids=["constant", "backwards", "leaping", "twice"],
)
def test_a_recording_in_which_no_clock_runs(here, tmp_path, times, clock, rate):
    """Protects files and the player from times that do not increase: the rate gives them, or a sentence."""
    session = markers_session(("RASI", "RHEE"), rate=rate)
    person = np.array([[0.1, 0.95, 0.1], [0.1, 0.03, 0.1]])
    frames = [
        frame(session, seq, person, time=time, t_capture=ticks)
        for seq, (time, ticks) in enumerate(zip(times, clock, strict=True))
    ]
    path = written(tmp_path / "odd.mcap", session, *frames)
    out = tmp_path / "out.trc"
    done = here("export", path, out)
    if rate == 0.0:
        assert done.code == 1
        assert "neither the descriptor nor the times give a rate: the median" in done.sentence
        return
    assert done.code == 0, done.err
    assert "neither the times nor the source's clock increase; the times were computed from the" in done.err
    rows = [line.split("\t") for line in out.read_text().splitlines()[6:]]
    assert [float(row[1]) for row in rows] == [0.0, 0.01, 0.02]
    assert here("replay", path, "--address", LOCAL, "--wait", "0").code == 0
