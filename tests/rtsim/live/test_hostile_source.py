"""Messages meant to end the estimator, through its sockets: each is counted, the next good frame solved."""

from __future__ import annotations

import secrets
import struct
import time

import msgpack
import numpy as np
import pytest

from streams.messages import FieldSpec, Session, Status, marker_session, new_session_id

INVALID, STALE = int(Status.INVALID_INPUT), int(Status.STALE)
LARGEST = 2**63 - 1
HUGE = 2**62
NAN = float("nan")


def fresh(seen) -> bool:
    """Not a repetition of an old result."""
    return not seen.status & STALE


def describe(**keys: object) -> bytes:
    """The bytes of a descriptor of one marker, right but for what the keys say."""
    field = {"name": "positions", "shape": [1, 3], "unit": "m", "labels": ["RASI"]}
    given = {
        "v": 1, "type": "session", "session": new_session_id(), "stream": "markers", "t_start": 0,
        "rate": 0.0, "fields": [field], "meta": {},
    }  # fmt: skip
    return msgpack.packb({**given, **keys})


def frame(session: str, seq: int, positions: np.ndarray, **keys: object) -> bytes:
    """The bytes of a frame, whatever its session says."""
    given = {
        "v": 1, "type": "markers", "session": session, "seq": seq, "t_capture": time.perf_counter_ns(),
        "time": 0.01 * seq, "data": {"positions": positions.tobytes()},
    }  # fmt: skip
    return msgpack.packb({**given, **keys})


def shaped(*shape: int, name: str = "positions") -> dict:
    return {"name": name, "shape": list(shape), "unit": "m", "labels": []}


def keys_of_one_hash(n: int) -> list[list[int]]:
    """Pairs of ints whose tuples have the same hash in CPython, by its hash of tuples turned round."""
    p1, p2, p5, whole = 11400714785074694791, 14029467366897019727, 2870177450012600261, 2**64
    back1, back2 = pow(p1, -1, whole), pow(p2, -1, whole)
    a = np.arange(1, 20 * n, dtype=np.uint64)  # of sixteen b, one is small enough
    lane = np.uint64(p5) + a * np.uint64(p2)
    lane = (lane << np.uint64(31) | lane >> np.uint64(33)) * np.uint64(p1)
    b = (np.uint64(12345 * back1 % whole) - lane) * np.uint64(back2)
    pairs = np.column_stack((a, b))[b < np.uint64(2**60)][:n]
    return pairs.tolist()


def map_of_colliding_keys() -> bytes:
    """A descriptor whose meta has a map of 40 000 keys of one hash: minutes, for whoever builds it."""
    keys = keys_of_one_hash(40_000)
    pairs = b"".join(msgpack.packb(key) + b"\x01" for key in keys)
    return describe(meta={"x": 0})[:-1] + b"\xdf" + struct.pack(">I", len(keys)) + pairs


BAD_DESCRIPTORS = {
    "an axis of 2^63 beside one of 0": describe(fields=[shaped(0, LARGEST)]),
    "axes of 2^62 beside one of 0": describe(fields=[shaped(HUGE, HUGE, HUGE, 0)]),
    "many frames' worth beside an axis of 0": describe(fields=[shaped(129_024, 0, 129_024)]),
    "a stream of a megabyte": describe(stream="x" * 1_000_000),
    "a name of a megabyte": describe(fields=[shaped(1, 3, name="x" * 1_000_000)]),
    "a unit of a megabyte": describe(fields=[{**shaped(1, 3), "unit": "\x1b[2J" * 250_000}]),
    "a field named twice": describe(fields=[shaped(1, 3), shaped(1, 3)]),
    "a rate that is none": describe(rate=NAN),
    "keys of one hash": map_of_colliding_keys(),
    "lists as keys": describe(meta={"x": 0})[:-1] + b"\x81\x91\x01\x01",
    "nil": describe(meta={"x": None}),
    "nested 1000 deep": describe(meta={"x": 0})[:-1] + b"\x91" * 1000 + b"\x01",
    "a label that is no text": describe(fields=[{**shaped(1, 3), "labels": [7]}]),
    "half a surrogate": describe(meta={"x": 0})[:-1] + b"\xa3\xed\xa0\x80",
}


@pytest.mark.parametrize("payload", BAD_DESCRIPTORS.values(), ids=BAD_DESCRIPTORS.keys())
def test_a_bad_descriptor_is_a_malformed_message(start, trial, make_session, payload):
    """Protects the run from any descriptor: one counter, one short sentence, and the stream goes on."""
    run = start()
    run.source.begin(make_session())
    run.source.parts(b"session", payload)
    run.source.send(trial.positions[0])
    run.source.end()
    results = [seen for seen in run.finish() if fresh(seen)]
    assert [seen.status for seen in results] == [0]
    assert run.final.counters["malformed"] == 1
    (said,) = [sentence for sentence in run.text.splitlines() if "unreadable" in sentence]
    assert len(said) <= 300
    assert said.isprintable()


GOOD_IF_ODD = {
    "up is a list": describe(meta={"up": ["Z"], "stick": 3, "subject": {"a": []}}),
    "up is a megabyte": describe(meta={"up": "Z" * 1_000_000}),
    "numbers at the ends": describe(meta={"a": 2**64 - 1, "b": -(2**63), "c": NAN, "d": 1e308}),
    "no fields": describe(fields=[]),
    "an empty field": describe(fields=[shaped(0, 3)]),
    "the largest frame": describe(fields=[shaped(129_024)]),
    "labels are empty": describe(fields=[{**shaped(3, 3), "labels": ["", "", ""]}]),
    "labels are the same": describe(fields=[{**shaped(3, 3), "labels": ["RASI"] * 3}]),
    "a millionth of a hertz, and less": describe(rate=5e-324),
}


@pytest.mark.parametrize("payload", GOOD_IF_ODD.values(), ids=GOOD_IF_ODD.keys())
def test_an_odd_descriptor_is_survived_with_its_frames(start, trial, make_session, payload):
    """Protects the run from what the protocol allows and nobody means."""
    run = start()
    odd = msgpack.unpackb(payload)
    n = sum(int(np.prod(field["shape"])) for field in odd["fields"])
    for seq, at in enumerate((0.0, 1e300, -1e300, 5e-324)):
        run.source.parts(b"session", payload)
        run.source.parts(b"markers", frame(odd["session"], seq, np.full(n, 0.5), time=at, t_capture=LARGEST))
    run.source.begin(make_session())
    run.source.send(trial.positions[0])
    run.source.end()
    results = [seen for seen in run.finish() if fresh(seen)]
    assert len(results) == 5
    assert results[-1].status == 0
    assert all(sentence.isprintable() and len(sentence) <= 300 for sentence in run.text.splitlines())


def test_counters_stay_where_they_can_be_sent(start, trial, make_session):
    """Protects telemetry: three gaps of 2^63 frames each would be a number that no message can hold."""
    run = start()
    for _ in range(3):
        id_ = new_session_id()
        run.source.parts(b"session", describe(session=id_))
        for seq in (0, LARGEST - 2, LARGEST - 1):
            run.source.parts(b"markers", frame(id_, seq, np.ones(3), time=float(seq)))
    run.source.begin(make_session())
    run.source.send(trial.positions[0])
    run.source.end()
    assert [seen.status for seen in run.finish() if fresh(seen)][-1] == 0
    assert run.final.counters["lost"] == LARGEST


def test_a_flood_of_sessions_says_no_more_than_can_be_sent(start, trial, make_session):
    """Protects telemetry from hundreds of new sessions whose long labels all stand in a sentence."""
    run = start()
    for _ in range(300):
        names = [f"\x1b[31m{secrets.token_hex(58)}" for _ in range(17)]
        session = marker_session(names, rate=0.0, t_start=0)
        run.source.begin(session)
        run.source.send(np.ones((17, 3)))
    run.source.begin(make_session())
    run.source.send(trial.positions[0])
    run.source.end()
    results = [seen for seen in run.finish() if fresh(seen)]
    n_served = len(results) - 1
    assert [seen.status for seen in results] == [INVALID] * n_served + [0]
    assert n_served + run.final.counters.get("turned_away", 0) == 300
    assert n_served > 1
    assert "markers are not in the stream" in run.text
    for message in run.telemetry:
        assert len(message.text) <= 65
        assert all(len(sentence) <= 300 and sentence.isprintable() for sentence in message.text)


def test_frames_of_sessions_with_thousands_of_labels_cost_the_others_nothing(start, trial, make_session):
    """Protects the frames of a stream from those beside it whose labels take long to look up."""
    run = start()
    good = make_session()
    run.source.begin(good)
    run.source.send(trial.positions[0])
    for k in range(60):
        names = [f"{k} {label}" for label in range(4000)]
        run.source.begin(marker_session(names, rate=0.0, t_start=0))
        run.source.send(np.ones((4000, 3)))
        run.source.begin(good)
        run.source.send(trial.positions[0], time=1.0 + k)
    run.source.end()
    solved = [seen.time for seen in run.finish() if seen.status == 0]
    assert solved == [0.0, *(1.0 + k for k in range(60))]
    counters = run.final.counters
    n_heard = counters["received"] - 61
    assert counters["invalid_input"] + counters.get("turned_away", 0) == n_heard
    assert n_heard + counters["unknown_session"] + counters["put_off"] >= 60


def test_an_id_used_again_is_another_session(start, trial):
    """Protects the kernel from reading beyond an array: same id, other content, a third session between."""
    run = start()
    id_ = new_session_id()
    names = (*(f"x{k}" for k in range(4079)), *trial.names)
    field = FieldSpec("positions", (4096, 3), "m", names)
    first = Session(session=id_, stream="markers", t_start=0, rate=0.0, fields=(field,))
    run.source.begin(first)
    run.source.send(np.vstack([np.zeros((4079, 3)), trial.positions[0]]))
    run.source.parts(b"session", describe())
    field = FieldSpec("positions", (1, 3), "m", trial.names[-1:])
    run.source.begin(Session(session=id_, stream="markers", t_start=0, rate=0.0, fields=(field,)))
    run.source.send(np.array([[0.1, 0.2, 0.3]]), time=1.0)
    run.source.end()
    whole, one = [seen for seen in run.finish() if fresh(seen)]
    np.testing.assert_array_equal(whole.data["markers_measured"], trial.positions[0])
    np.testing.assert_array_equal(one.data["markers_measured"][-1], [0.1, 0.2, 0.3])
    assert np.isnan(one.data["markers_measured"][:-1]).all()
    assert one.session.session != whole.session.session


def test_an_id_used_again_with_labels_in_another_order_keeps_markers_apart(start, trial):
    """Protects against a pose of misassigned markers under status ok."""
    run = start()
    id_ = new_session_id()

    def session(names: tuple[str, ...]) -> Session:
        field = FieldSpec("positions", (len(names), 3), "m", names)
        return Session(session=id_, stream="markers", t_start=0, rate=0.0, fields=(field,))

    run.source.begin(session(trial.names))
    run.source.send(trial.positions[0])
    run.source.parts(b"session", describe())
    run.source.begin(session(trial.names[::-1]))
    run.source.send(trial.positions[1][::-1], time=0.01)
    run.source.end()
    results = [seen for seen in run.finish() if fresh(seen)]
    assert [seen.status for seen in results] == [0, 0]
    for seen, positions in zip(results, trial.positions, strict=False):
        np.testing.assert_array_equal(seen.data["markers_measured"], positions)


def test_the_same_session_again_after_another_goes_on(start, trial, make_session):
    """Protects a stream from descriptors beside it: no new result session, nothing forgotten."""
    run = start()
    session = make_session()
    for k, positions in enumerate(trial.positions[:5]):
        run.source.begin(session)
        run.source.send(positions, time=0.01 * k)
        run.source.parts(b"session", describe())
    run.source.begin(session)
    run.source.end()
    results = [seen for seen in run.finish() if fresh(seen)]
    assert [seen.status for seen in results] == [0] * 5
    assert len({seen.session.session for seen in results}) == 1


def test_the_end_of_a_session_that_nobody_announced_is_counted(start, trial, make_session):
    """Protects the run from being ended by another, and the books: another stream's end is none of ours."""
    run = start()
    session = make_session()
    run.source.begin(session)
    run.source.send(trial.positions[0])
    other = new_session_id()
    run.source.parts(b"session", describe(session=other, stream="forces"))
    for id_ in (new_session_id(), other):
        end = {"v": 1, "type": "end", "session": id_, "seq": 1, "reason": "\x1b[2J" + "x" * 100_000}
        run.source.parts(b"end", msgpack.packb(end))
    run.source.send(trial.positions[1])
    run.source.end("because \x1b[31m" + "y" * 100_000)
    assert [seen.status for seen in run.finish() if fresh(seen)] == [0, 0]
    assert run.final.counters["unknown_session"] == 1
    assert "end of a session without a known descriptor" in run.text
    assert "because \\x1b[31myyy" in run.text
    assert all(sentence.isprintable() and len(sentence) <= 300 for sentence in run.text.splitlines())


@pytest.mark.parametrize("far", [1e10, 1e160, -1.7e308])
def test_a_marker_farther_than_any_room_is_occluded_and_counted(start, trial, make_session, far):
    """Protects results and the account of a run from infinities, which squares of such coordinates become."""
    run = start()
    run.source.begin(make_session())
    for k in range(6):
        positions = trial.positions[k].copy()
        positions[5, k % 3] = far if k in (0, 3) else positions[5, k % 3]
        positions[6] = far if k == 4 else positions[6]
        run.source.send(positions)
    run.source.end()
    results = [seen for seen in run.finish() if fresh(seen)]
    assert [seen.status for seen in results] == [0] * 6
    for seen in results:
        assert np.isfinite(seen.data["joint_angles"]).all()
        assert seen.data["marker_rms"][0] < 0.02
    assert run.results.counters["non_finite"] == 0
    assert run.final.gauges["marker_rms_mm"] < 20.0
    assert run.final.counters["too_far"] == 3
    assert "more than 1e+09 m from the origin" in run.text


@pytest.mark.parametrize("step", [5e-324, 1e-310, 1e-12, -0.01, 0.0, 1e300])
def test_clocks_that_tell_nothing_do_no_harm(start, trial, make_session, step):
    """Protects good frames from speeds over no time: such a step is none, and all are solved as usual."""
    run = start()
    run.source.begin(make_session())
    for k in range(20):
        run.source.send(trial.positions[5 * k], time=step * k)
    run.source.end()
    results = [seen for seen in run.finish() if fresh(seen)]
    assert [seen.status for seen in results] == [0] * 20


def test_a_session_that_counts_from_the_end_is_heard(start, trial, make_session):
    """Protects valid frames from one before them whose number nothing can follow."""
    run = start()
    run.source.begin(make_session())
    run.source.send(trial.positions[0], seq=LARGEST)
    run.source.seq = 0
    for positions in trial.positions[:5]:
        run.source.send(positions)
    run.source.end()
    results = [seen for seen in run.finish() if fresh(seen)]
    assert [seen.status for seen in results] == [0] * 5
    assert run.final.counters["out_of_order"] == 1
    assert run.final.counters["lost"] == 0
