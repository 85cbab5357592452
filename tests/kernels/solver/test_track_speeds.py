"""The speed by which the next frame is predicted: a difference of two solutions, of dofs that were solved."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.solver.track import PARTLY, WHOLLY, conclude
from tests.kernels import leg
from tests.kernels.solver.test_track import Follower, follower
from tests.naive.tree import difference

HELD = 2
DT = 0.02


@pytest.fixture
def moved() -> Follower:
    """A track between two solutions, the first of which was trusted; a dof was held near the last pose."""
    one = follower()
    track = one.track
    track.q_begin[:] = one.model.q_neutral
    track.q[:] = leg.rough_coordinates(0.1)
    track.trusted[0] = WHOLLY
    track.hold[:] = 0.0
    track.hold[HELD] = 1.0
    track.speed[:] = 7.0
    return one


def expected(one: Follower) -> np.ndarray:
    """Return the speeds of all dofs, by the twin."""
    return np.asarray(difference(one.model.tree, one.track.q_begin, one.track.q)) / DT


def test_a_whole_solution_has_the_speed_of_every_dof(moved: Follower) -> None:
    """Protects prediction: the difference of two solutions over the time between them."""
    conclude(moved.model.tree, DT, True, WHOLLY, moved.track)
    assert expected(moved)[HELD] != 0.0
    np.testing.assert_allclose(moved.track.speed, expected(moved), rtol=1e-12)
    assert moved.track.trusted[0] == WHOLLY


def test_held_dofs_alone_have_no_speed(moved: Follower) -> None:
    """Protects a part that nobody saw: where it was held says nothing of how fast it moves."""
    conclude(moved.model.tree, DT, True, PARTLY, moved.track)
    wanted = expected(moved)
    wanted[HELD] = 0.0
    np.testing.assert_allclose(moved.track.speed, wanted, rtol=1e-12)
    assert moved.track.trusted[0] == PARTLY


@pytest.mark.parametrize(
    ("dt", "followed", "solved", "trusted"),
    [(0.0, True, WHOLLY, WHOLLY), (DT, False, WHOLLY, WHOLLY), (DT, True, 0, WHOLLY), (DT, True, WHOLLY, 0)],
)
def test_without_two_solutions_and_a_time_there_is_no_speed(
    moved: Follower, dt: float, followed: bool, solved: int, trusted: int
) -> None:
    """Protects the next frame from a speed of a restart, of an unknown time and of a frame that failed."""
    moved.track.trusted[0] = trusted
    conclude(moved.model.tree, dt, followed, solved, moved.track)
    assert not moved.track.speed.any()
    assert moved.track.trusted[0] == solved
