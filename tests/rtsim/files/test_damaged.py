"""Damaged text files: whatever the damage, a trial or one clear ConfigError, never another exception."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rtsim.errors import ConfigError
from rtsim.files.markers.trc import read_trc
from rtsim.files.tables.storage import read_storage

EDIT = st.tuples(
    st.floats(0.0, 1.0),
    st.integers(0, 30),
    st.sampled_from(["", "\t", "\n", " ", "x", "-", "1e999", "nan", "\t\t", "\0"]),
)
STORAGE = "t\nnRows=2\nnColumns=3\ninDegrees=no\nendheader\ntime\ta\tb\n0\t1\t2\n0.1\t\t3\n"


def damage(text: str, edits: list[tuple[float, int, str]]) -> str:
    """The text with pieces cut out and others put in."""
    for place, length, piece in edits:
        at = int(place * len(text))
        text = text[:at] + piece + text[at + length :]
    return text


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(EDIT, min_size=1, max_size=6))
def test_trc(tmp_path: Path, trc_text, edits):
    """A TRC file with anything cut out or put in is read or refused."""
    path = tmp_path / "damaged.trc"
    path.write_text(damage(trc_text(), edits), encoding="utf-8")
    try:
        trial = read_trc(path)
    except ConfigError:
        return
    n_frame, n_marker, _ = trial.positions.shape
    assert trial.times.shape == (n_frame,)
    assert len(set(trial.names)) == n_marker
    assert trial.rate > 0.0


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(EDIT, min_size=1, max_size=6))
def test_storage(tmp_path: Path, edits):
    """A storage file with anything cut out or put in is read or refused."""
    path = tmp_path / "damaged.mot"
    path.write_text(damage(STORAGE, edits), encoding="utf-8")
    try:
        table = read_storage(path)
    except ConfigError:
        return
    assert table.data.shape[1] == len(table.columns)
