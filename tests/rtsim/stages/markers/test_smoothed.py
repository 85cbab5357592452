"""Segments that alone were smoothed, through the stage of a run."""

from __future__ import annotations

import pytest

from benchmarks.damage.kinds.rigid import smooth
from rtsim.stages.markers.smoothed import SMOOTHED

SEGMENTS = {"shank": ("RFIB", "RTTB", "RSH1", "RANK", "RANM"), "foot": ("RHEE", "RMT1", "RMT5")}


@pytest.mark.parametrize("name", SEGMENTS)
def test_a_segment_smoothed_at_2_hz_is_told(make_solving, make_frame, session, trial, name):
    """Protects from angles 17 degrees off under ok: one segment through a filter of its own."""
    names, solving, positions = list(trial.names), make_solving(), trial.positions.copy()
    for marker in SEGMENTS[name]:
        if marker in names:
            m = names.index(marker)
            positions[:, m] = smooth(trial.positions[:, m], 2.0 / trial.rate)
    for k, x in enumerate(positions):
        solving.solve(make_frame(session, x, k))
    assert solving.kinematics.counters[SMOOTHED] > 0
    assert f"The markers of {name} move more smoothly" in " ".join(solving.kinematics.collect()[1])
    solving.kinematics.begin(session, True)
    assert not solving.kinematics.odd.smoothed.off.any()


@pytest.mark.parametrize("method", ["minimised", "zero", "hinge"])
def test_a_clean_walk_is_not_smoothed(make_solving, make_frame, session, trial, method):
    """Protects clean runs from the witness, by methods whose knees fit less."""
    solving = make_solving()
    solving.kinematics.estimator.switch(method)
    for k, x in enumerate(trial.positions):
        solving.solve(make_frame(session, x, k))
    assert SMOOTHED not in solving.kinematics.counters
