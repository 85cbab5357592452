"""TRC files that are written: round trips, the layout that others count on, and what a file cannot hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rtsim.errors import ConfigError
from rtsim.files.markers.markers import MarkerTrial, write_trc
from rtsim.files.markers.trc import read_trc


def make_trial(positions: np.ndarray, rate: float = 100.0, start: float = 0.0) -> MarkerTrial:
    n_frame, n_marker = positions.shape[:2]
    times = start + np.arange(n_frame) / rate
    return MarkerTrial(tuple(f"m{i}" for i in range(n_marker)), times, positions, rate, "made")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    positions=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 5), st.integers(1, 4), st.just(3)),
        elements=st.floats(-20.0, 20.0),
    ),
    missing=st.integers(0, 2**20 - 1),
    rate=st.sampled_from([50.0, 60.0, 100.0, 119.88012, 150.0, 1000.0]),
)
def test_round_trip(tmp_path: Path, positions, missing, rate):
    """What write_trc writes, read_trc returns within 1e-5 mm, gaps and true origins included."""
    n_frame, n_marker = positions.shape[:2]
    gaps = np.array([missing >> k & 1 for k in range(n_frame * n_marker)], dtype=bool).reshape(
        n_frame, n_marker
    )
    positions = positions.copy()
    positions[gaps] = np.nan
    path = tmp_path / "round.trc"
    trial = make_trial(positions, rate, start=0.5)
    write_trc(path, trial)
    back = read_trc(path, up="Y", units="mm")
    assert back.names == trial.names
    np.testing.assert_allclose(back.rate, rate, rtol=1e-9)
    np.testing.assert_allclose(back.times, trial.times, atol=1e-7)
    np.testing.assert_array_equal(np.isnan(back.positions).all(axis=2), gaps)
    np.testing.assert_allclose(back.positions, positions, atol=1e-8)


def test_the_written_text(tmp_path):
    """Other programs count on the whole layout: counts, coordinate labels, frames from 1, an empty line."""
    write_trc(tmp_path / "a.trc", make_trial(np.ones((2, 2, 3))))
    lines = (tmp_path / "a.trc").read_text().split("\n")
    assert lines[2].split("\t")[2:5] == ["2", "2", "mm"]
    assert lines[4:6] == ["\t\tX1\tY1\tZ1\tX2\tY2\tZ2", ""]
    assert [line.split("\t")[0] for line in lines[6:]] == ["1", "2", ""]
    assert lines[6].split("\t")[2:] == ["1000.000000"] * 6


def test_write_refuses_what_trc_cannot_hold(tmp_path):
    """Names with tabs, empty trials and folders as targets are refused before anything is written."""
    trial = make_trial(np.ones((2, 1, 3)))
    with pytest.raises(ConfigError, match="marker name"):
        write_trc(tmp_path / "a.trc", trial._replace(names=("a\tb",)))
    with pytest.raises(ConfigError, match="without frames"):
        write_trc(tmp_path / "a.trc", make_trial(np.ones((0, 1, 3))))
    with pytest.raises(ConfigError, match="cannot be written"):
        write_trc(tmp_path, trial)
