"""Frames that cannot be a person's are left out, but their time passes for the markers and for the solver."""

from __future__ import annotations

import numpy as np
import pytest

from streams.messages import Status

BEGIN, END, N_FRAME = 30, 36, 60
SPEED = np.array([1.5, 0.0, 0.0])


def test_after_frames_that_are_left_out_the_person_is_the_same(make_solving, make_frame, session, trial):
    """Protects a walk with some frames in another unit: who goes on meanwhile is no other person."""
    solving, status = make_solving(), []
    for index in range(N_FRAME):
        positions = trial.positions[index] + index / 100.0 * SPEED
        if BEGIN <= index < END:
            positions = 1000.0 * positions
        status.append(solving.solve(make_frame(session, positions, index)).status)
    assert all(Status.INVALID_INPUT in s for s in status[BEGIN:END])
    assert solving.kinematics.counters["other_person"] == 0
    assert not any(status[:BEGIN] + status[END:])


def test_a_marker_is_hidden_for_as_long_as_the_frames_took(make_solving, make_frame, session, trial):
    """Protects the time for which a hidden marker is filled in: it passes while frames are left out, too."""
    solving = make_solving()
    for index in range(END + 1):
        positions = trial.positions[index].copy()
        positions[5] = np.nan if index >= BEGIN - 5 else positions[5]
        left_out = BEGIN <= index < END
        solving.solve(make_frame(session, 1000.0 * positions if left_out else positions, index))
    assert solving.kinematics.estimator.health.gap_age[5] == pytest.approx(
        (END - BEGIN + 6) / 100.0, abs=0.011
    )
