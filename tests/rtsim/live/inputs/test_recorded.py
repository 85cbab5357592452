"""What is kept of a run over a recording."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from rtsim.files.markers.trial import MarkerTrial
from rtsim.live.inputs.recorded import KeptResults, RecordingInput
from rtsim.live.result_session import ResultSession
from streams.messages import FieldSpec, Result, Session

N_FRAME, N_VALUE = 500, 2000


def session_of(name: str) -> Session:
    fields = [
        FieldSpec(name="a", shape=[N_VALUE], unit="m"),
        FieldSpec(name="b", shape=[2, 3], unit="rad"),
        FieldSpec(name="none", shape=[0], unit="1"),
    ]
    return Session(session=name, stream="result", t_start=0, rate=100.0, fields=fields)


def frame_of(name: str, k: int) -> Result:
    a, b = np.full(N_VALUE, float(k)), np.arange(6.0) + k
    return Result(
        session=name, seq=k, t_capture=0, time=0.01 * k, t_received=0, t_solved=0, t_published=0,
        status=k % 3, iterations=1, residual=0.0, data={"a": a.tobytes(), "b": b.tobytes(), "none": b""},
    )  # fmt: skip


def test_results_are_handed_over_without_a_copy():
    """Protects long recordings: half an hour of both legs is gigabytes, which must not be there twice."""
    kept = KeptResults()
    assert kept.results() is None
    kept.announce(session_of("s"))
    assert kept.results() is None
    tracemalloc.start()
    for k in range(N_FRAME):
        kept.send(frame_of("s", k))
    results = kept.results()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert results is not None
    assert most < 1.5 * 8 * N_FRAME * N_VALUE
    np.testing.assert_array_equal(results.fields["a"], np.arange(N_FRAME)[:, None] * np.ones(N_VALUE))
    np.testing.assert_array_equal(results.fields["b"][7], np.arange(6.0).reshape(2, 3) + 7)
    assert results.fields["none"].shape == (N_FRAME, 0)
    assert results.times[-1] == 0.01 * (N_FRAME - 1)
    assert results.status[:4].tolist() == [0, 1, 2, 0]


def test_the_last_session_is_kept():
    """Protects runs that change the method: their results are of one descriptor."""
    kept = KeptResults()
    for name, n in (("first", 3), ("second", 2)):
        kept.announce(session_of(name))
        for k in range(n):
            kept.send(frame_of(name, k))
    results = kept.results()
    assert results is not None
    assert (results.session.session, len(results.times), len(results.fields["a"])) == ("second", 2, 2)


@pytest.mark.parametrize(
    ("name", "kept"),
    [("Anna Beck", "Anna Beck"), ("\x1b[31mAnna", "\\x1b[31mAnna"), ("", None), (7, None), (["Anna"], None)],
)
def test_the_person_whom_a_file_names_is_named_in_the_results(name: object, kept: str | None):
    """Protects reports of live recordings: the name of the C3D is theirs, and no escape code of a sender."""
    session = Session(
        session="s", stream="markers", t_start=0, rate=100.0, fields=[], meta={"subject_name": name}
    )
    assert ResultSession([], session, {}).fields.session.meta.get("subject_name") == kept


def test_a_recording_hands_on_whom_its_file_names():
    """Protects the way of the name: from the trial into the descriptor of the markers."""
    trial = MarkerTrial(("LASI",), np.arange(2) / 100.0, np.zeros((2, 1, 3)), 100.0, "walk.c3d")
    assert "subject_name" not in RecordingInput(trial).session.meta
    named = RecordingInput(trial._replace(subject_name="Anna Beck"))
    assert named.session.meta["subject_name"] == "Anna Beck"
