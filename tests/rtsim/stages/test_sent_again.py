"""Frames that a source sends again, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.compiler.jit import allow_compilation
from rtsim.config.runs.run_schema import Uncertainty
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from streams.messages import Status
from tests.rtsim.stages.solving import Solving

N_FRAME = 80


def gone_through(make_solving, make_frame, session, trial, again, late_s=0.0):
    """(n, n_angle) and (n,) - angles and status after each frame of the walker, each sent `again` times more,
    so much later each time."""
    solving, angles, status = make_solving(), [], []
    for index in range(N_FRAME):
        for k in range(again + 1):
            frame = make_frame(session, trial.positions[index], index)
            frame.time += k * late_s
            result = solving.solve(frame)
            angles.append(solving.fields.arrays["joint_angles"].copy())
            status.append(int(result.status))
    return np.array(angles), np.array(status), solving


@pytest.mark.parametrize("late_s", [0.0, 0.002, 0.005])
def test_every_frame_twice_is_as_every_frame_once(make_solving, make_frame, session, trial, late_s):
    """Protects sources that repeat frames, at the same time or between two: what comes again is neither a
    pause nor a leap, so that nothing is flagged and the numbers are those of the frames themselves."""
    once, ok, _ = gone_through(make_solving, make_frame, session, trial, 0)
    twice, flags, solving = gone_through(make_solving, make_frame, session, trial, 1, late_s)
    assert not ok.any()
    assert not flags.any()
    np.testing.assert_allclose(twice[::2], once, rtol=0.0, atol=1e-9)
    np.testing.assert_array_equal(twice[1::2], twice[::2])
    assert solving.kinematics.counters["uncertain_frames"] == 0


def test_what_has_moved_on_meanwhile_is_uncertain(spec, subject, make_frame, session, trial):
    """Protects from old numbers at a new time: joints that turn by more than their limit while a frame is
    sent again are masked and named, and no other frame is."""
    allow_compilation()
    estimator = MultibodyEstimator(spec, subject, "minimised", uncertainty=Uncertainty())
    solving, masked = Solving(spec, estimator, subject, session), []
    labels = next(f.labels for f in solving.fields.session.fields if f.name == "joint_angles")
    mask = solving.fields.arrays["joint_angles_mask"]
    for index in range(0, N_FRAME, 2):
        assert solving.solve(make_frame(session, trial.positions[index], index)).status == Status.OK
        frame = make_frame(session, trial.positions[index], index)
        frame.time += 0.015
        result = solving.solve(frame)
        assert bool(mask.any()) == bool(result.status & Status.UNCERTAIN)
        masked.append(mask.copy())
    knee = np.array(masked)[:, labels.index("knee_flexion")]
    assert knee.any()
    assert not knee.all()
    assert "knee_flexion" in " ".join(solving.kinematics.sentences)


def test_a_frame_that_was_not_solved_is_tried_again(make_solving, make_frame, session, trial):
    """Protects recovery: only what follows from a solved frame may stand."""
    solving = make_solving()
    empty = np.full_like(trial.positions[0], np.nan)
    for index in range(3):
        assert solving.solve(make_frame(session, empty, index)).status & Status.DEGRADED
    solving.solve(make_frame(session, trial.positions[3], 3))
    assert solving.solve(make_frame(session, trial.positions[4], 4)).status == Status.OK
