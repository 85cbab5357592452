"""Segments that do not meet at their joint, through the stage of a run."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.stages.markers.apart import APART
from streams.messages import Status

N_FRAME, KNOWN = 120, 60
SEGMENTS = {"shank": ("RFIB", "RSH1", "RANK", "RANM"), "foot": ("RHEE", "RMT1", "RMT5")}


def solved(solving, make_frame, session, positions):
    """(n,) - the status of frames."""
    frames = [make_frame(session, x, k) for k, x in enumerate(positions)]
    return np.array([int(solving.solve(frame).status) for frame in frames])


@pytest.mark.parametrize("name", SEGMENTS)
@pytest.mark.parametrize("by", [(0.025, 0.0, 0.0), (0.0, -0.025, 0.0), (0.0, 0.0, 0.025)])
def test_a_plate_put_on_elsewhere_is_told(make_solving, make_frame, session, trial, name, by):
    """Protects from flexions that are 7 degrees off under ok: markers that agree with each other, and are all
    beside where they were calibrated."""
    names, solving = list(trial.names), make_solving()
    positions = trial.positions[:N_FRAME].copy()
    positions[:, [names.index(marker) for marker in SEGMENTS[name]]] += by
    status = solved(solving, make_frame, session, positions)
    assert (status[KNOWN:] & Status.SUSPECT).all()
    assert solving.kinematics.counters[APART] >= N_FRAME - KNOWN
    assert "shank and foot, " in " ".join(solving.kinematics.collect()[1])
    flagged = solving.kinematics.odd.off_in_limb
    bodies = solving.kinematics.estimator.model.names.bodies
    assert flagged[bodies.index(name)] > 0
    assert flagged[bodies.index("pelvis")] == 0
    solving.kinematics.begin(session, True)
    assert not solving.kinematics.odd.apart.off.any()


def test_a_clean_walk_has_joints_that_meet(make_solving, make_frame, session, trial):
    """Protects clean runs from the witness."""
    solving = make_solving()
    assert not solved(solving, make_frame, session, trial.positions).any()
    assert APART not in solving.kinematics.counters
