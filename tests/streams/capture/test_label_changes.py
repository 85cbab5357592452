"""Lists of markers that change with every frame: few sessions, and what can be kept goes on."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.adapters.double import double_of
from streams.capture import label_changes
from streams.capture.label_changes import RowsByName, SessionPace, rows_kept, words_of_change
from streams.capture.records import CaptureDescription
from streams.clock import now_ns
from streams.codec import WIRE_FLOAT
from streams.messages import Markers, Session
from tests.streams.capture import test_relay
from tests.streams.capture.relays import NAMES, SECOND, positions_of, relayed, sent, until
from tests.streams.capture.test_relay import DESCRIBED, frame

N_FRAME = 300


@pytest.fixture
def slow_pace(monkeypatch):
    """No fourth session within a test, however long it takes."""
    monkeypatch.setattr(label_changes, "STEP_NS", 1000 * SECOND)


def test_two_sessions_a_second_may_begin():
    """Protects the estimator: two sessions a second begin, but for three after a pause."""
    pace, begun = SessionPace(), []
    for k in [*range(300), *range(1000, 1100)]:
        if pace.allows(k * SECOND // 100):
            pace.begin(k * SECOND // 100)
            begun.append(k)
    assert begun == [0, 1, 2, 50, 100, 150, 200, 250, 1000, 1001, 1002, 1050]


def test_rows_are_moved_by_names():
    """Protects labels: each marker is under its own name, those that are not there are NaN, of two of one
    name the second stays the second.
    """
    before = DESCRIBED._replace(names=("C", "A", "A", "D"))
    rows = RowsByName(before, DESCRIBED._replace(names=("A", "B", "C", "A")))
    moved, n_left = rows.moved(np.arange(12.0).reshape(4, 3))
    assert moved[[0, 2, 3]].tolist() == [[3.0, 4.0, 5.0], [0.0, 1.0, 2.0], [6.0, 7.0, 8.0]]
    assert np.isnan(moved[1]).all()
    assert n_left == 1
    assert rows.moved(np.zeros((3, 3))) is None
    none, n_left = RowsByName(DESCRIBED._replace(names=()), DESCRIBED).moved(np.zeros((0, 3)))
    assert np.isnan(none).all()
    assert (none.shape, n_left) == ((2, 3), 0)


@pytest.mark.parametrize("other", [{"unit": "mm"}, {"up": "+Z"}])
def test_rows_in_other_units_or_axes_are_not_moved(other):
    """Protects positions: what is in another unit or turned is not handed on as if it were not."""
    before = DESCRIBED._replace(names=("B", "A"), **other)
    assert RowsByName(before, DESCRIBED).moved(np.zeros((2, 3))) is None
    assert rows_kept([frame(0)], before, DESCRIBED) == []


def test_a_storm_of_labels_is_two_sessions_a_second(monkeypatch, slow_pace):
    """Protects the loop: of a list that changes with every frame two sessions begin, every frame is sent,
    the marker whose name stays with its place, and it is counted and told.
    """
    script = []
    for k in range(N_FRAME):
        places = np.array([[k / 8.0, 1.0, 2.0], [k / 8.0 + 1.0, 3.0, 4.0]])
        names = (f"A{k}", "B") if k % 2 else ("B", f"A{k}")
        script += [DESCRIBED._replace(names=names), frame(k, positions=places if k % 2 else places[::-1])]
    publisher, made, said = test_relay.relayed(monkeypatch, (DESCRIBED, script))
    sessions, frames = publisher.of(Session), publisher.of(Markers)
    assert [session.fields[0].labels for session in sessions] == [("A", "B"), ("B", "A0"), ("A1", "B")]
    assert len(frames) == N_FRAME
    rows = {session.session: session.fields[0].labels.index("B") for session in sessions}
    places = [np.frombuffer(f.data["positions"], WIRE_FLOAT)[3 * rows[f.session]] for f in frames]
    np.testing.assert_array_equal(places, np.arange(N_FRAME) / 8.0 + 1.0)
    assert made.counters["frames_by_names"] == made.counters["markers_left_out"] == N_FRAME - 2
    assert len(said) < 12
    assert [f.seq for f in frames] == [0, *range(N_FRAME - 1)]


def test_a_storm_in_units_that_nobody_tells(monkeypatch, slow_pace):
    """Protects systems that tell neither unit nor axis: the room stays the one that was judged."""
    untold, start, script = DESCRIBED._replace(unit="", up=""), now_ns(), []
    for k in range(N_FRAME):
        script += [untold._replace(names=(f"A{k}", "B")), frame(k, arrived_ns=start + 10_000_000 * k)]
    publisher, made, _ = test_relay.relayed(monkeypatch, (untold, script))
    assert len(publisher.of(Session)) == made.counters["sessions"] == 3
    assert len(publisher.of(Markers)) == N_FRAME
    assert len({session.meta["notes"][0] for session in publisher.of(Session)}) == 1


def test_names_that_come_and_go(monkeypatch, slow_pace):
    """Protects against a server that has names in every other description: nothing ends."""
    empty, script = DESCRIBED._replace(names=()), []
    for k in range(N_FRAME):
        script += [(empty, DESCRIBED)[k % 2], frame(k, positions=np.ones((2 * (k % 2), 3)))]
    publisher, made, _ = test_relay.relayed(monkeypatch, (DESCRIBED, script))
    assert len(publisher.of(Session)) == 3
    assert made.counters["decoder_faults"] == 0


def test_the_last_list_of_a_storm_has_a_session(monkeypatch):
    """Protects what is described when a storm ends: its session begins as soon as one may."""
    monkeypatch.setattr(label_changes, "STEP_NS", 1)
    script = []
    for k in range(20):
        script += [DESCRIBED._replace(names=(f"A{k}", "B")), frame(k)]
    publisher, _, _ = test_relay.relayed(monkeypatch, (DESCRIBED, [*script, frame(21)]))
    assert publisher.of(Session)[-1].fields[0].labels == ("A19", "B")


def test_a_storm_of_a_server_on_real_sockets():
    """Protects the whole relay: a double of Vicon renames a marker with every frame; the others go on, each
    frame is sent once, and no more than two sessions begin in a second.
    """
    double = double_of("vicon")(list(NAMES), 200.0)
    double.start()
    try:
        with relayed(double) as run:
            start_ns = now_ns()
            for k in range(N_FRAME):
                double.describe([*NAMES[:-1], f"T{k}"])
                sent(double, k)
                run.take()
            until(
                lambda: run.take() and run.frames[-1][4][0, 0] == 1e3 * (N_FRAME - 1) / 8.0, "the last frame"
            )
            elapsed_s = 1e-9 * (now_ns() - start_ns)
            # a frame may arrive before the relay has counted it
            until(lambda: run.take() == run.relay.counters["published"], "the counter")
    finally:
        double.stop()
    assert len(run.sessions) <= 3 + 2 * math.ceil(elapsed_s)
    assert N_FRAME - 2 <= len(run.frames) <= N_FRAME
    for _, _, _, _, rows in run.frames:
        k = round(8e-3 * rows[0, 0])
        np.testing.assert_allclose(rows[:-1], 1e3 * positions_of(k)[:-1])
    assert run.relay.counters["frames_by_names"] > N_FRAME // 2
    assert (
        any("only markers whose names stay the same are still relayed" in sentence for sentence in run.said)
        or elapsed_s < 1.0
    )


def test_words_of_a_long_list_are_few():
    """Protects against long lists: what is other among thousands of names is told in some of them."""
    many = CaptureDescription(tuple(f"M{k}" for k in range(4000)), "m", "+Y", 100.0)
    words = words_of_change(many, many._replace(names=tuple(f"N{k}" for k in range(4000))))
    assert words.startswith("N0, N1")
    assert len(words) < 120


def test_a_changed_axis_is_told_beside_a_changed_rate():
    """Protects who reads why a session began: what turned all positions is never left out."""
    before = CaptureDescription(("A",), "m", "+Y", 120.0)
    words = words_of_change(before, before._replace(up="+Z", rate=240.0))
    assert words == "the rate is 240 Hz, +Z points up"
    assert words_of_change(before, before._replace(unit="mm")) == "positions are in mm"
    assert words_of_change(before, before._replace(up="")) == "the upward axis is no longer stated"
    assert words_of_change(before, before._replace(labelled=False)) == "names are mere numbers"
