"""Markers beside their calibrated places, through the stage of a run."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.stages.markers.calibrated import MISPLACED
from streams.messages import Status

N_OFF, N_FRAME = 30, 60


def solved(solving, make_frame, session, positions):
    """(n,) - the status of frames."""
    frames = [make_frame(session, x, k) for k, x in enumerate(positions)]
    return np.array([int(solving.solve(frame).status) for frame in frames])


@pytest.mark.parametrize(
    ("name", "body", "by"),
    [
        ("RHEE", "foot", (0.0, 0.1, 0.0)),
        ("RASI", "pelvis", (0.0, 0.1, 0.0)),
        ("RANK", "shank", (0.03, 0.0, 0.03)),
        ("RKNE", "thigh", (0.04, 0.03, 0.0)),
    ],
)
@pytest.mark.parametrize("method", ["minimised", "zero"])
def test_a_marker_that_is_off_from_the_first_frame_on_is_told(
    make_solving, make_frame, session, trial, name, body, by, method
):
    """Protects from angles that are wrong under ok in the first frames, where nothing was seen yet: suspect
    until the marker is in its place, with its name and how far it is off, and ok soon after."""
    solving = make_solving()
    solving.kinematics.estimator.switch(method)
    names = list(trial.names)
    positions = trial.positions[:N_FRAME].copy()
    positions[:N_OFF, names.index(name)] += by
    status = solved(solving, make_frame, session, positions)
    assert (status[:N_OFF] & Status.SUSPECT).all()
    assert not status[N_OFF + 15 :].any()
    told = " ".join(solving.kinematics.collect()[1])
    assert solving.kinematics.counters[MISPLACED] > N_OFF // 2
    assert f"{name} on {body}, by " in told


def test_the_heel_of_a_foot_of_two_markers_is_told(make_solving, make_frame, session, trial):
    """Protects feet of two markers: the ankle's centre is the third point, which the shank carries."""
    names = list(trial.names)
    positions = trial.positions[:N_FRAME].copy()
    positions[:, names.index("RMT5")] = np.nan
    clean = solved(make_solving(), make_frame, session, positions)
    assert not (clean & Status.SUSPECT).any()
    positions[:N_OFF, names.index("RHEE")] += (0.0, 0.1, 0.0)
    solving = make_solving()
    status = solved(solving, make_frame, session, positions)
    assert (status[:N_OFF] & Status.SUSPECT).all()
    assert "RHEE on foot" in " ".join(solving.kinematics.collect()[1])


def test_a_clean_walk_has_no_marker_beside_its_place(make_solving, make_frame, session, trial):
    """Protects clean runs from the witness."""
    solving = make_solving()
    assert not solved(solving, make_frame, session, trial.positions).any()
    assert MISPLACED not in solving.kinematics.counters


def test_a_new_session_knows_of_no_marker_beside_its_place(make_solving, make_frame, session, trial):
    """Protects the next person from what was found before."""
    solving = make_solving()
    positions = trial.positions[:5].copy()
    positions[:, list(trial.names).index("RHEE")] += (0.0, 0.1, 0.0)
    solved(solving, make_frame, session, positions)
    calibrated = solving.kinematics.odd.calibrated
    assert calibrated.off.any()
    solving.kinematics.begin(session, True)
    assert not calibrated.off.any()
