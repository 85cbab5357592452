"""Times between frames, of all and of those that are used."""

from __future__ import annotations

import pytest

from rtsim.stages.poses.frame_steps import LONGEST_STEP_S, FrameSteps


def test_the_time_of_frames_that_are_left_out_is_not_lost() -> None:
    """Protects what follows a person over frames left out: their time counts until the next used one."""
    steps = FrameSteps()
    found = []
    for time, used in ((5.0, True), (5.1, True), (5.2, False), (5.3, False), (5.4, True), (5.5, True)):
        found.append((steps.take(time), steps.since_used(used)))
    assert [dt for dt, _ in found] == pytest.approx([0.0, 0.1, 0.1, 0.1, 0.1, 0.1])
    assert [since for _, since in found] == pytest.approx([0.0, 0.1, 0.0, 0.0, 0.3, 0.1])


def test_a_leap_of_the_clock_is_no_time() -> None:
    """Protects from speeds by clocks that jump, back or by days, and of two streams."""
    steps = FrameSteps()
    times = (1.0, 1.5, 1.2, 1.2, 1.3, 1.3 + LONGEST_STEP_S)
    assert [steps.take(time) for time in times] == pytest.approx([0.0, 0.5, 0.0, 0.0, 0.1, 0.0])
    assert steps.since_used(True) == 0.0
    steps.forget()
    assert steps.take(9.0) == 0.0
