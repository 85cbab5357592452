"""Frames that have an answer and are hard to solve: high powers, next to a bound, rows that nearly repeat."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernels.recruitment.problem import OPTIMAL, VIOLATED, RecruitmentOptions, new_recruitment
from kernels.recruitment.recruit import TRACE, recruit
from rtsim.bench.mechanics.recruitment_frames import BORNE, KINDS, N_MUSCLE, frames, try_frames

N_FRAME = 60
GAP = 1e-9
OPTIONS = RecruitmentOptions(3, 60, 1e-11, GAP)
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
        arguments = new_recruitment(np.ones(n), most, len(d), OPTIONS._replace(power=power))
        problem, _, state, work, out = arguments
        problem.action[:], problem.demand[:] = C.T, d
        assert recruit(*arguments)[0] == OPTIMAL
        x = out.activation
        assert (x >= 0.0).all()
        assert (x <= most).all()
        assert np.abs(C @ x - d).max() <= BORNE * np.abs(d).max()
        bound = dual(C, d, power, most, state.multiplier * work.scale)
        assert np.sum(x**power) == pytest.approx(bound, rel=1e-6)


@pytest.mark.parametrize("power", [2, 3, 7, 10])
@pytest.mark.parametrize("kind", ["small", "repeated"])
def test_a_row_that_no_muscle_crosses_changes_nothing(kind: str, power: int) -> None:
    """Protects empty rows: with nothing asked of them, hard frames have the same answer."""
    for C, d in frames(kind, 10, 5):
        n = C.shape[1]
        most = np.where(np.arange(n) < N_MUSCLE, 1.0, math.inf)
        found = []
        for rows, demand in ((C, d), (np.vstack([C[:3], np.zeros(n), C[3:]]), np.insert(d, 3, 0.0))):
            arguments = new_recruitment(np.ones(n), most, len(demand), OPTIONS._replace(power=power))
            arguments[0].action[:], arguments[0].demand[:] = rows.T, demand
            assert recruit(*arguments)[0] == OPTIMAL
            found.append(arguments[-1].objective[0])
        assert found[1] == pytest.approx(found[0], rel=1e-6)


@pytest.mark.parametrize("power", [2, 3, 7])
def test_what_is_not_borne_is_least_by_a_proof(power: int) -> None:
    """Protects violations: no activations have a smaller sum of squares, to the gap asked for."""
    n_violated = 0
    for action, d in frames("wide", 60, 4):
        C = action[:, :N_MUSCLE]
        arguments = new_recruitment(
            np.ones(N_MUSCLE), np.ones(N_MUSCLE), len(d), OPTIONS._replace(power=power)
        )
        problem, _, _, work, out = arguments
        problem.action[:], problem.demand[:] = C.T, 3.0 * d
        if recruit(*arguments)[0] != VIOLATED:
            continue
        n_violated += 1
        A, lacking = C * work.scale[:, None], out.violation * work.scale
        drive = np.maximum(A.T @ lacking, 0.0)
        x = np.minimum((drive / (TRACE * power)) ** (1.0 / (power - 1)), 1.0)
        primal = 0.5 * lacking @ lacking + TRACE * np.sum(out.activation**power)
        bound = lacking @ (3.0 * d * work.scale) - 0.5 * lacking @ lacking
        bound += TRACE * np.sum(x**power) - drive @ x
        assert primal - bound <= 1e-7 * primal
    assert n_violated > 30


def pulled(n: int, power: int, lacking: float) -> tuple[int, int, float]:
    """Return status, iterations and the part of its demand that n equal muscles at their limit lack."""
    arguments = new_recruitment(np.ones(n), np.ones(n), 1, OPTIONS._replace(power=power))
    problem, out = arguments[0], arguments[-1]
    problem.action[:], problem.demand[:] = 100.0, 100.0 * n / (1.0 - lacking)
    status, n_iteration = recruit(*arguments)
    return status, n_iteration, float(out.violation[0] / problem.demand[0])


@pytest.mark.parametrize("power", [0, 2, 3, 7, 10])
def test_what_muscles_lack_is_borne_up_to_a_limit(power: int) -> None:
    """Protects the limit: a demand that muscles miss by less counts as fulfilled, by more it is told."""
    for n in (1, 4, 12):
        for part in (0.5, 0.8):
            assert pulled(n, power, part * BORNE)[0] == OPTIMAL
        for part in (1.2, 1.5, 1.9):
            assert pulled(n, power, part * BORNE)[0] == VIOLATED


@pytest.mark.parametrize("power", [3, 5, 7, 8, 10])
def test_no_frame_is_lost_that_muscles_nearly_bear(power: int) -> None:
    """Protects frames just beyond what muscles can do: answered in few iterations, with what they lack."""
    for n in (6, 12, 24, 40):
        for lacking in 10.0 ** np.linspace(-8.0, -5.0, 60):
            status, n_iteration, lacked = pulled(n, power, lacking)
            assert status == (OPTIMAL if lacking <= BORNE else VIOLATED)
            assert n_iteration <= 40
            assert lacked == pytest.approx(lacking, abs=math.sqrt(2.0 * 1e-7 * TRACE / n))  # of the gap


def iterations(power: int, warm: bool) -> int:
    """Return the iterations of twenty wide frames."""
    total = 0
    for action, d in frames("wide", 20, 3):
        C = action[:, :N_MUSCLE] if power == 0 else action  # min/max has no reserves
        n = C.shape[1]
        most = np.where(np.arange(n) < N_MUSCLE, 1.0, math.inf)
        arguments = new_recruitment(np.ones(n), most, len(d), OPTIONS._replace(power=power))
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
