"""Segments that are late from the first frame on, through the stage of a run."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.stages.markers.late import LATE
from streams.messages import Status

N_FRAME, LATE_BY = 100, 5
KNOWN = 75
SEGMENTS = {
    "shank": ("RFIB", "RTTB", "RSH1", "RANK", "RANM"),
    "thigh": ("RGTR", "RTH1", "RTH2", "RKNE", "RKNM"),
}


def solved(solving, make_frame, session, positions):
    """(n,) - the status of frames."""
    frames = [make_frame(session, x, k) for k, x in enumerate(positions)]
    return np.array([int(solving.solve(frame).status) for frame in frames])


@pytest.mark.parametrize("name", SEGMENTS)
def test_a_segment_50_ms_late_from_the_first_frame_on_is_told(make_solving, make_frame, session, trial, name):
    """Protects from angles 14 degrees off under ok: there is no leap, but residuals that follow the speed."""
    names, solving = list(trial.names), make_solving()
    positions = trial.positions[:N_FRAME].copy()
    own = [names.index(marker) for marker in SEGMENTS[name] if marker in names]
    late = np.maximum(np.arange(N_FRAME) - LATE_BY, 0)
    positions[:, own] = trial.positions[late][:, own]
    status = solved(solving, make_frame, session, positions)
    assert (status[KNOWN:] & Status.SUSPECT).all()
    assert solving.kinematics.counters[LATE] > 0
    told = " ".join(solving.kinematics.collect()[1])
    assert "late or early relative to the other segments, by " in told
    solving.kinematics.begin(session, True)
    assert not solving.kinematics.odd.late.off.any()


@pytest.mark.parametrize("method", ["minimised", "zero", "hinge"])
def test_a_clean_walk_is_not_late(make_solving, make_frame, session, trial, method):
    """Protects clean runs from the witness, by methods whose knees fit less."""
    solving = make_solving()
    solving.kinematics.estimator.switch(method)
    solved(solving, make_frame, session, trial.positions)
    assert LATE not in solving.kinematics.counters
