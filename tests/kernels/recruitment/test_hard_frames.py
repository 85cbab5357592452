"""Frames that have an answer and are hard to solve: high powers, next to a bound, rows that nearly repeat."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernels.recruitment.problem import OPTIMAL, RecruitmentOptions, new_recruitment
from kernels.recruitment.recruit import recruit
from rtsim.bench.mechanics.recruitment_frames import BORNE, KINDS, N_MUSCLE, frames, try_frames

N_FRAME = 60
GAP = 1e-9
COLD = {0: 194, 2: 79, 3: 194, 5: 266, 7: 341, 10: 517}
"""Iterations of twenty wide frames, each from the middle, by power (0 = min/max), and a hundredth more."""
WARM = {0: 112, 2: 41, 3: 116, 5: 165, 7: 223, 10: 419}
"""Of the same, each from the answer to a demand that is less by a hundredth."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("power", [2, 3, 4, 7, 10])
def test_no_frame_with_an_answer_is_lost(kind: str, power: int) -> None:
    """Protects every power and kind: an answer, told as borne, and its proof."""
    tried = try_frames(kind, power, N_FRAME, seed=1)
    assert (tried.lost, tried.not_borne, tried.unproved) == (0, 0, 0)


def dual(C, d, p, most, y) -> float:
    """Return the dual objective at the multipliers y (n_row,): no answer has a lower one."""
    drive = np.maximum(C.T @ y, 0.0)
    x = np.minimum((drive / p) ** (1.0 / (p - 1)), most)
    return float(y @ d + np.sum(x**p - drive * x))


@pytest.mark.parametrize("kind", ["wide", "small", "repeated"])
@pytest.mark.parametrize("power", [3, 7, 10])
def test_answers_are_optimal_by_their_own_multipliers(kind: str, power: int) -> None:
    """Protects the proof, taken anew in NumPy: rows, bounds, and a dual bound that is the objective."""
    for C, d in frames(kind, 10, 2):
        n = C.shape[1]
        most = np.where(np.arange(n) < N_MUSCLE, 1.0, math.inf)
        arguments = new_recruitment(np.ones(n), most, len(d), RecruitmentOptions(power, 60, 1e-11, GAP))
        problem, _, state, work, out = arguments
        problem.action[:], problem.demand[:] = C.T, d
        assert recruit(*arguments)[0] == OPTIMAL
        x = out.activation
        assert (x >= 0.0).all()
        assert (x <= most).all()
        assert np.abs(C @ x - d).max() <= BORNE * np.abs(d).max()
        bound = dual(C, d, power, most, state.multiplier * work.scale)
        assert np.sum(x**power) == pytest.approx(bound, rel=1e-6)


def iterations(power: int, warm: bool) -> int:
    """Return the iterations of twenty wide frames."""
    total = 0
    for action, d in frames("wide", 20, 3):
        C = action[:, :N_MUSCLE] if power == 0 else action  # min/max has no reserves
        n = C.shape[1]
        most = np.where(np.arange(n) < N_MUSCLE, 1.0, math.inf)
        arguments = new_recruitment(np.ones(n), most, len(d), RecruitmentOptions(power, 60, 1e-11, GAP))
        problem = arguments[0]
        problem.action[:], problem.demand[:] = C.T, d
        if warm:
            problem.demand[:] = 0.99 * d
            recruit(*arguments)
            problem.demand[:] = d
        total += recruit(*arguments)[1]
    return total


@pytest.mark.parametrize("power", COLD)
def test_iterations_are_counted(power: int) -> None:
    """Protects the cost of a frame: what only makes the way longer fails here."""
    assert iterations(power, False) <= COLD[power]
    assert iterations(power, True) <= WARM[power]
