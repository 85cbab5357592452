"""Joints that step where a marker is left out, or comes back, through the stage of a run."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.stages.poses.pose_steps import POSE_STEPPED
from streams.messages import Status

HIDDEN, BACK, N_FRAME = 50, 70, 100


def solved_with(make_solving, make_frame, session, trial, marker: str, off_m: float, without=(), later_s=()):
    """Stage, (n, n_joint, 3) angles [deg] and (n, n_joint) status of the walker, a marker of whom is off and
    hidden for a while; without : markers that are never seen; later_s : how much later each is sent again."""
    solving = make_solving()
    kinematics = solving.kinematics
    own = trial.names.index(marker)
    positions = trial.positions[:N_FRAME].copy()
    positions[:, own, 0] += off_m
    positions[HIDDEN:BACK, own] = np.nan
    for name in without:
        positions[:, trial.names.index(name)] = np.nan
    angles, joints = [], []
    for index in range(N_FRAME):
        for later in (0.0, *later_s):
            frame = make_frame(session, positions[index], index)
            frame.time += later
            solving.solve(frame)
            angles.append(np.degrees(kinematics.estimator.outputs.angles.copy()))
            joints.append(kinematics.by_joint.joints.astype(int).copy())
    return kinematics, np.array(angles), np.array(joints)


def test_joints_that_step_as_a_marker_goes_and_returns_are_suspect(make_solving, make_frame, session, trial):
    """Protects from a step in an angle under ok, of all joints a marker off its place pulls at: here of a
    thigh with two markers, of which nothing tells where a hidden one would be."""
    others = ("RGTR", "RTH2", "RKNM")
    kinematics, angles, joints = solved_with(
        make_solving, make_frame, session, trial, "RTH1", 0.05, without=others
    )
    stepped = np.abs(np.diff(angles, n=2, axis=0)).max(axis=2)  # (n - 2, n_joint)
    for frame in (HIDDEN, BACK):
        large = stepped[frame - 2] > 1.5
        assert large.any()
        assert (joints[frame, large] & Status.SUSPECT).all()
    assert kinematics.counters[POSE_STEPPED] == 2
    assert any("RTH1" in said and "The pose jumps" in said for said in kinematics.sentences)


@pytest.mark.parametrize("later_s", [(0.0,), (0.005,), (0.003, 0.006)])
def test_joints_that_step_are_suspect_in_a_stream_that_repeats_frames(
    make_solving, make_frame, session, trial, later_s
):
    """Protects sources that send frames twice: they hide no step, and its repetition is suspect, too."""
    named = {"marker": "RTH1", "off_m": 0.05, "without": ("RGTR", "RTH2", "RKNM")}
    _, _, once = solved_with(make_solving, make_frame, session, trial, **named)
    kinematics, _, joints = solved_with(make_solving, make_frame, session, trial, **named, later_s=later_s)
    n = 1 + len(later_s)
    assert kinematics.counters[POSE_STEPPED] == 2 * n
    for k in range(n):
        np.testing.assert_array_equal(joints[k::n], once)


def test_a_marker_that_fits_comes_and_goes_unseen(make_solving, make_frame, session, trial):
    """Protects from flags where nothing steps: a marker where it belongs makes no joint suspect."""
    kinematics, _, joints = solved_with(make_solving, make_frame, session, trial, trial.names[0], 0.0)
    assert kinematics.counters[POSE_STEPPED] == 0
    assert not (joints & Status.SUSPECT).any()


def test_nothing_steps_from_one_session_to_the_next(make_solving, make_frame, session, trial):
    """Protects the first frame of a stream from the markers of the last one of another."""
    kinematics, *_ = solved_with(make_solving, make_frame, session, trial, trial.names[0], 0.0)
    n = kinematics.counters[POSE_STEPPED]
    kinematics.begin(session, True)
    kinematics.pose_steps.look(kinematics.by_joint, 0.01, True, kinematics.lost)
    assert kinematics.counters[POSE_STEPPED] == n
