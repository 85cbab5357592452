"""Bad streams through the live loop: survived, counted, named, and the good frames between them solved."""

from __future__ import annotations

import math

import msgpack
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams.codec import encode
from streams.messages import FieldSpec, Session, Status, new_session_id

INVALID = int(Status.INVALID_INPUT)


def fresh(seen) -> bool:
    """Not a repetition of an old result."""
    return not seen.status & int(Status.STALE)


def counted(run) -> dict[str, int]:
    """What was counted, without what is counted in every run."""
    usual = ("received", "published", "stale", "compiled")
    return {name: n for name, n in run.final.counters.items() if n and name not in usual}


def descriptor(field: FieldSpec) -> Session:
    """A marker session with any one field."""
    return Session(session=new_session_id(), stream="markers", t_start=0, rate=0.0, fields=(field,), meta={})


def test_bad_frames_are_counted_and_the_others_solved(start, trial, make_session):
    """Protects the run from a source at fault: sizes, copies, latecomers, gaps, infinities, clock jumps."""
    run = start()
    run.source.begin(make_session())
    good = trial.positions
    run.source.send(good[0])
    run.source.send(good[1], data={"positions": bytes(24)})
    run.source.send(good[2], data={"something else": bytes(17 * 24)})
    run.source.send(good[3])
    run.source.send(good[3], seq=3)
    run.source.send(good[6], seq=6, time=0.06)
    run.source.send(good[4], seq=4)
    infinite = good[7].copy()
    infinite[3, 0] = math.inf
    run.source.send(infinite, seq=7, time=0.07)
    run.source.send(good[8], t_capture=5)
    run.source.end()
    results = [result for result in run.finish() if fresh(result)]
    assert [result.status for result in results] == [0] * 5
    assert [result.time for result in results] == pytest.approx([0.0, 0.03, 0.06, 0.07, 0.08])
    assert np.isnan(results[3].data["markers_measured"][3]).any()
    assert counted(run) == {
        "wrong_shape": 2, "duplicate": 1, "out_of_order": 1, "lost": 2, "non_finite": 1, "clock_jump": 1
    }  # fmt: skip
    for words in ("came twice", "out of order", "lost on the way", "infinite values", "sender's clock"):
        assert words in run.text


def test_bad_messages_are_counted_and_the_others_solved(start, trial, make_session):
    """Protects the run from other programs on its address: other versions, sizes, types and plain garbage."""
    run = start()
    session = make_session()
    run.source.begin(session)
    run.source.send(trial.positions[0])
    run.source.parts(b"markers", b"\xc1garbage")
    run.source.parts(b"markers", bytes(2 << 20))
    run.source.parts(b"markers", msgpack.packb({"v": 9, "type": "markers", "session": session.session}))
    run.source.parts(b"markers", b"", b"", b"")
    run.source.parts(*encode(make_session(("somebody", "else"))).__class__((b"forces", b"")))
    changed = {**msgpack.unpackb(encode(session)[1]), "rate": 50.0}
    run.source.parts(b"session", msgpack.packb(changed))
    run.source.send(trial.positions[1])
    run.source.end()
    results = [result for result in run.finish() if fresh(result)]
    assert [result.status for result in results] == [0, 0]
    assert counted(run) == {"malformed": 3, "oversize": 1, "bad_version": 1}


def test_millimetres_as_metres_are_flagged_on_every_frame_and_told_once(start, trial, make_session):
    """Protects the user of a wrong unit: no pose is invented, no RMS is made up, the remedy is said."""
    run = start()
    run.source.begin(make_session())
    for positions in trial.positions[:10]:
        run.source.send(1000.0 * positions)
    run.source.end()
    results = [result for result in run.finish() if fresh(result)]
    assert [result.status for result in results] == [INVALID] * 10
    assert counted(run) == {"millimetres_as_metres": 10, "invalid_input": 10}
    assert run.text.count("millimetres sent as metres?") == 1
    assert "marker_rms_mm" not in run.final.gauges


def test_what_a_short_session_said_is_not_forgotten(start, trial, make_session):
    """Protects sentences that wait to be told from a restart, and counts from a switch of the method."""
    run = start()
    run.source.begin(make_session())
    run.source.send(1000.0 * trial.positions[0])
    names = tuple(f"{name}X" if name in ("RTH1", "RSH1") else name for name in trial.names)
    run.source.begin(make_session(names))
    run.source.send(trial.positions[1])
    run.read(2, fresh)
    assert run.ask("set_method", method="zero")[0]
    run.source.send(trial.positions[2])
    run.source.end()
    run.finish()
    assert "millimetres sent as metres?" in run.text
    assert run.text.count("2 of the subject's 17 markers") == 1
    counters = run.final.counters
    assert (counters["millimetres_as_metres"], counters["missing_markers"]) == (1, 2)


@pytest.mark.parametrize(
    "field",
    [
        FieldSpec("positions", (2, 3), "m", ("who", "what")),
        FieldSpec("positions", (2, 3), "furlong", ("RASI", "LASI")),
        FieldSpec("positions", (2, 3, 2), "m", ("RASI", "LASI")),
        FieldSpec("positions", (2,), "m", ("RASI", "LASI")),
        FieldSpec("points", (2, 3), "m", ("RASI", "LASI")),
    ],
    ids=["strangers", "furlongs", "three axes", "one axis", "another field"],
)
def test_a_session_that_cannot_be_used_does_not_end_the_run(start, trial, make_session, field):
    """Protects the process from any descriptor: flagged and told, and the next session is solved."""
    run = start()
    useless = descriptor(field)
    run.source.begin(useless)
    n_byte = 8 * int(np.prod(field.shape))
    for seq in range(3):
        run.source.parts(
            b"markers",
            msgpack.packb(
                {"v": 1, "type": "markers", "session": useless.session, "seq": seq, "t_capture": 1 + seq,
                 "time": 0.01 * seq, "data": {field.name: bytes(n_byte)}}
            ),
        )  # fmt: skip
    run.source.begin(make_session())
    run.source.send(trial.positions[0])
    run.source.end()
    results = [result for result in run.finish() if fresh(result)]
    assert [result.status for result in results] == [INVALID] * 3 + [0]
    assert run.final.counters["invalid_input"] == 3
    assert run.text


@pytest.mark.parametrize("rate", [5e-324, 1e-300, 1e300])
def test_an_absurd_rate_is_survived(start, trial, make_session, rate):
    """Protects the run from a descriptor whose period no clock can hold, or is none."""
    run = start()
    run.source.begin(make_session(rate=rate))
    run.source.send(trial.positions[0])
    run.source.end()
    (result,) = [result for result in run.finish() if fresh(result)]
    assert result.status == int(Status.LATE if rate > 1.0 else Status.OK)


anything = st.one_of(
    st.floats(allow_infinity=True, allow_nan=True), st.sampled_from([0.0, 1.0, 1000.0, math.nan])
)


@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_streams_of_anything_are_survived(one_run, trial, make_session, data):
    """Protects a long run: sessions of any order of markers with any numbers, then a good one is solved."""
    run = one_run
    names = data.draw(st.lists(st.sampled_from([*trial.names, "x", ""]), max_size=20))
    run.source.begin(make_session(tuple(names), unit=data.draw(st.sampled_from(["m", "mm"]))))
    for _ in range(data.draw(st.integers(1, 3))):
        rows = data.draw(
            st.lists(st.tuples(anything, anything, anything), min_size=len(names), max_size=len(names))
        )
        run.source.send(np.array(rows).reshape(-1, 3), time=data.draw(st.floats(-1e6, 1e6)))
    run.source.begin(make_session())
    time = 1e7 + len(run.seen)
    run.source.send(trial.positions[0], time=time)
    (good,) = run.read(1, lambda seen: seen.time == time and fresh(seen))
    assert good.status == 0


@pytest.fixture
def one_run(start):
    """One run for all examples."""
    run = start()
    yield run
    assert run.thread.is_alive()
    assert not run.faults
