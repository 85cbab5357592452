"""The turn of a body that its markers feel least."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.joints.tree import new_pose, pose
from kernels.solver.initial_pose import new_fit_work
from kernels.solver.weak_turn import LEAST_TURN, MOST_TURN, REACH, weak_turn
from tests.kernels import leg

SHANK = 2


@pytest.mark.parametrize("size", [0.0001, 0.004, 0.1])
def test_it_is_about_the_axis_that_markers_lie_nearest_to(size: float) -> None:
    """Protects looks for another assembly: the weakest axis by NumPy, as far as errors of a size reach."""
    built = leg.built("zero")
    tree, markers, q = built.tree, built.markers, leg.exact_trial().q[7]
    at, delta = new_pose(len(tree.parent), built.n_v), np.zeros(built.n_v)
    pose(tree, q, at)
    place, weight = leg.markers_at(built, q), np.linspace(0.5, 1.0, len(leg.NAMES))
    weak_turn(tree, markers, place, weight, np.full(len(weight), size), at, SHANK, new_fit_work(), delta)
    own = markers.body == SHANK
    w, x = weight[own], place[own]
    arms = x - np.average(x, axis=0, weights=w)
    resists = np.einsum("m,mi,mi->", w, arms, arms) * np.eye(3) - np.einsum("m,mi,mj->ij", w, arms, arms)
    values, vectors = np.linalg.eigh(resists)
    expected = np.clip(REACH * size * np.sqrt(w.sum() / values[0]), LEAST_TURN, MOST_TURN)
    turn = at.twist[:, :3].T @ delta
    np.testing.assert_allclose(np.abs(turn @ vectors), [expected, 0.0, 0.0], atol=1e-9)
    first, stop = tree.v_start[SHANK], tree.v_start[SHANK + 1]
    assert not delta[:first].any()
    assert not delta[stop:].any()
    assert (LEAST_TURN < expected < MOST_TURN) == (size == 0.004)


def test_a_body_without_markers_is_not_turned() -> None:
    """Protects a segment that no marker shows: nothing says which turn they would not feel."""
    built = leg.built("zero")
    at, delta = new_pose(len(built.tree.parent), built.n_v), np.ones(built.n_v)
    q, n = leg.exact_trial().q[7], len(leg.NAMES)
    pose(built.tree, q, at)
    weight = np.where(built.markers.body == SHANK, 0.0, 1.0)
    place = leg.markers_at(built, q)
    weak_turn(built.tree, built.markers, place, weight, np.ones(n), at, SHANK, new_fit_work(), delta)
    assert not delta.any()
