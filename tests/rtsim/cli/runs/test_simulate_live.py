"""What a simulation in step with the clock says at its end of the stream that was to move it."""

from __future__ import annotations

import pytest

from rtsim.cli.runs.simulate_live import in_words

OVER = "the requested duration is over"
RUN = {"ticks": 9, "missed": 0, "frames": 1, "late": 0, "reason": OVER, "tick_us": {}}


@pytest.mark.parametrize(
    ("taken", "words"),
    [
        (0, "--motion: no frame of results"),
        (7, "motion: 7 frames used, 2 not usable, 1 time steps without motion"),
    ],
)
def test_a_motion_that_never_came_is_told(taken, words):
    """Protects from a model at rest that looks like success: the end of the run says what was received."""
    motion = {"motion_taken": taken, "motion_unusable": 2, "motion_missing": 1}
    assert words in in_words({**RUN, "motion": motion})


def test_a_run_without_motion_says_nothing_of_one():
    """Protects the closing lines of every other simulation."""
    assert "motion" not in in_words({**RUN, "motion": {}})
