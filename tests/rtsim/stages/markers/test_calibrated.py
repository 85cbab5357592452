"""Markers beside their calibrated places, through the stage of a run."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import ONE_LEG, load_model
from rtsim.stages.markers.calibrated import MISPLACED
from rtsim.subjects.calibration.calibration import subject_for
from streams.messages import Status, marker_session
from tests.rtsim.stages.solving import Solving
from tests.rtsim.subjects.conventional.persons import person

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
    assert f"{name} on {body}, displaced by " in told


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


@pytest.mark.parametrize(
    ("name", "body"), [("RHEE", "foot"), ("RTOE", "foot"), ("RANK", "shank"), ("RTIB", "shank")]
)
def test_a_leg_of_plug_in_gait_is_judged_by_the_marker_at_the_ankle(make_frame, name, body):
    """Protects angles by two markers to a segment, off by 8 degrees under ok: no centre of the ankle is
    carried there, and the marker beside it, which both segments have, stands in."""
    subject = subject_for(person(source="walk.c3d", speed=0.02), person(), side="right")
    estimator = MultibodyEstimator(load_model(ONE_LEG), subject, "hinge", ("hinge",))
    trial = person(n=N_FRAME, speed=0.01)
    session = marker_session(tuple(trial.names), rate=100.0, t_start=0)
    clean = solved(
        Solving(load_model(ONE_LEG), estimator, subject, session), make_frame, session, trial.positions
    )
    assert not clean.any()
    positions = trial.positions.copy()
    positions[:N_OFF, list(trial.names).index(name)] += (0.06, 0.06, 0.05)
    solving = Solving(load_model(ONE_LEG), estimator, subject, session)
    status = solved(solving, make_frame, session, positions)
    assert (status[:N_OFF] & Status.SUSPECT).all()
    assert f"{name} on {body}, displaced by " in " ".join(solving.kinematics.collect()[1])


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
