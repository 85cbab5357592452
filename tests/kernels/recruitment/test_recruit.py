"""Recruitment of one frame beside SciPy and other solvers, and what must hold whatever the muscles are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernels.recruitment.problem import (
    NOT_CONVERGED,
    OPTIMAL,
    VIOLATED,
    RecruitmentOptions,
    RecruitmentOut,
    new_recruitment,
)
from kernels.recruitment.recruit import recruit
from tests.naive.recruitment import is_possible, least_violation, of_power, peak

GAP = 1e-9
SIZES = ((24, 6), (44, 12))
CRITERIA = (2, 3, 5, 0)


def instance(n: int, m: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """C : (m, n) [N m], d : (m,) of random arms and strengths, with an answer."""
    rng = np.random.default_rng(seed)
    C = 0.03 * rng.standard_normal((m, n)) * rng.uniform(200.0, 3000.0, n)
    return C, C @ np.clip(rng.beta(0.6, 1.5, n), 0.0, 1.0)


def solve(C, d, p, weight=None, most=None, twice=False) -> tuple[int, RecruitmentOut]:
    """Status and answer; twice: the second time warm, from a demand that is another by a hundredth."""
    m, n = C.shape
    weight = np.ones(n) if weight is None else weight
    most = np.ones(n) if most is None else most
    arguments = new_recruitment(weight, most, m, RecruitmentOptions(p, 60, 1e-11, GAP))
    problem, out = arguments[0], arguments[-1]
    problem.action[:], problem.demand[:] = C.T, d
    if twice:
        problem.demand[:] *= 0.99
        assert recruit(*arguments)[0] == OPTIMAL
        problem.demand[:] = d
    status, _ = recruit(*arguments)
    return status, out


@pytest.mark.parametrize("p", [2, 3, 5])
@pytest.mark.parametrize("size", SIZES)
def test_powers_are_those_of_another_solver(size: tuple[int, int], p: int) -> None:
    """Protects the optimum: activations as SciPy's trust regions find them, objective no higher."""
    for seed in range(3):
        C, d = instance(*size, seed)
        scale = np.abs(C).max()
        status, out = solve(C, d, p)
        twin = of_power(C / scale, d / scale, p, np.ones(size[0]), np.ones(size[0]))
        assert status == OPTIMAL
        assert out.objective[0] <= np.sum(twin**p) * (1.0 + 1e-8)
        np.testing.assert_allclose(out.activation, twin, atol=2e-3 if p == 5 else 1e-4)


@pytest.mark.parametrize("size", SIZES)
def test_min_max_is_the_linear_programs(size: tuple[int, int]) -> None:
    """Protects min/max: no larger a peak than HiGHS finds."""
    for seed in range(5):
        C, d = instance(*size, seed)
        status, out = solve(C, d, 0)
        assert status == OPTIMAL
        assert out.activation.max() == pytest.approx(peak(C, d), rel=1e-8)


@pytest.mark.parametrize("p", CRITERIA)
def test_rows_that_cannot_be_fulfilled_are_proved_and_told(p: int) -> None:
    """Protects infeasible frames: told apart as HiGHS does, with the least squares of their violation."""
    for seed in range(8):
        C, d = instance(24, 6, seed)
        d = 3.0 * d
        status, out = solve(C, d, p)
        possible = is_possible(C, d, np.ones(24))
        assert status == (OPTIMAL if possible else VIOLATED)
        np.testing.assert_allclose(out.violation, d - C @ out.activation, atol=1e-9 * np.abs(d).max())
        if not possible:
            rows = 1.0 / np.abs(C).max(axis=1)
            least = least_violation(C * rows[:, None], d * rows, np.ones(24))
            assert np.sum((out.violation * rows) ** 2) == pytest.approx(least, rel=1e-5)
            assert math.isnan(out.gap[0])


@pytest.mark.parametrize("p", [2, 3])
def test_a_reserve_on_one_row_does_not_hide_that_another_cannot_be_fulfilled(p: int) -> None:
    """Protects the proof: a pair without bounds leaves other rows as impossible as they are."""
    for seed in range(4):
        C, d = instance(24, 6, seed)
        C, d = np.hstack([C, np.zeros((6, 2))]), 3.0 * d
        C[0, -2:] = 10.0, -10.0
        status, out = solve(C, d, p, most=np.r_[np.ones(24), np.inf, np.inf])
        possible = is_possible(C[1:, :24], d[1:], np.ones(24))
        assert status == (OPTIMAL if possible else VIOLATED)
        assert abs(out.violation[0]) <= 1e-6 * np.abs(d).max()


@pytest.mark.parametrize("p", CRITERIA)
def test_gap_and_rows_are_within_what_is_asked(p: int) -> None:
    """Protects the certificate: rows fulfilled to round-off, a dual bound recomputed here within the gap."""
    C, d = instance(44, 12, 5)
    status, out = solve(C, d, p)
    assert status == OPTIMAL
    assert out.gap[0] <= GAP
    assert np.abs(C @ out.activation - d).max() <= 1e-10 * np.abs(d).max()
    assert out.activation.min() >= 0.0
    assert out.activation.max() <= 1.0


@pytest.mark.parametrize("p", CRITERIA)
def test_a_warm_start_changes_nothing(p: int) -> None:
    """Protects memory: the answer after another frame is that of a first frame."""
    C, d = instance(44, 12, 7)
    _, cold = solve(C, d, p)
    status, warm = solve(C, d, p, twice=True)
    assert status == OPTIMAL
    assert warm.objective[0] == pytest.approx(cold.objective[0], rel=3e-9)
    if p:
        np.testing.assert_allclose(warm.activation, cold.activation, atol=2e-3 if p == 5 else 2e-5)


@pytest.mark.parametrize("p", CRITERIA)
def test_units_and_order_of_rows_and_muscles_do_not_count(p: int) -> None:
    """Protects invariance: rows in other units, rows and muscles in another order."""
    C, d = instance(24, 6, 3)
    _, one = solve(C, d, p)
    rng = np.random.default_rng(0)
    units, rows, muscles = 10.0 ** rng.uniform(-3, 3, 6), rng.permutation(6), rng.permutation(24)
    _, other = solve((C * units[:, None])[rows][:, muscles], (d * units)[rows], p)
    assert other.objective[0] == pytest.approx(one.objective[0], rel=3e-9)
    if p:
        np.testing.assert_allclose(other.activation, one.activation[muscles], atol=2e-3 if p == 5 else 2e-5)


@pytest.mark.parametrize("p", [2, 3])
def test_a_muscle_in_two_halves_works_as_one(p: int) -> None:
    """Protects the criterion: two halves with half the weight each are as active as the whole."""
    C, d = instance(24, 6, 11)
    _, whole = solve(C, d, p)
    halves = np.concatenate([0.5 * C, 0.5 * C], axis=1)
    _, split = solve(halves, d, p, weight=np.full(48, 0.5))
    np.testing.assert_allclose(split.activation[:24], whole.activation, atol=1e-5)
    np.testing.assert_allclose(split.activation[24:], whole.activation, atol=1e-5)


def test_a_strong_reaction_bears_what_muscles_need_not() -> None:
    """Protects unilateral reactions: a strong element without a bound takes what pushes it."""
    C = np.array([[1000.0, 20000.0 * 0.03]])
    _, pushed = solve(C, np.array([10.0]), 3, most=np.array([1.0, np.inf]))
    assert pushed.activation[0] < 0.05
    status, pulled = solve(np.array([[1000.0, -600.0]]), np.array([500.0]), 3, most=np.array([1.0, np.inf]))
    assert status == OPTIMAL
    np.testing.assert_allclose(pulled.activation, [0.5, 0.0], atol=1e-6)


def test_min_max_leaves_no_muscle_beyond_its_bound() -> None:
    """Protects activations: an unbounded element does not let a muscle go beyond 1 in min/max."""
    for demand in (99.0, 150.0):
        C = np.array([[100.0, 1.0, -1.0]])
        status, out = solve(C, np.array([demand]), 0, most=np.array([1.0, np.inf, np.inf]))
        assert status == (OPTIMAL if demand < 100.0 else VIOLATED)
        assert out.activation[0] <= 1.0 + 1e-8


def test_rows_that_repeat_others_are_no_trouble() -> None:
    """Protects dependent rows: the same answer with a row twice, and with a sum of rows."""
    C, d = instance(24, 6, 2)
    _, one = solve(C, d, 3)
    status, other = solve(np.vstack([C, C[0], C[1] + C[2]]), np.r_[d, d[0], d[1] + d[2]], 3)
    assert status == OPTIMAL
    np.testing.assert_allclose(other.activation, one.activation, atol=1e-6)


def test_nothing_asked_is_nothing_done() -> None:
    """Protects rest: no demand, no activation."""
    C, d = instance(24, 6, 2)
    status, out = solve(C, 0.0 * d, 3)
    assert status == OPTIMAL
    assert out.activation.max() < 1e-4


def test_a_demand_that_is_no_number_is_no_answer_and_is_survived() -> None:
    """Protects the next frame: NaN gives NaN and a status, and the frame after it is solved."""
    C, d = instance(24, 6, 2)
    arguments = new_recruitment(np.ones(24), np.ones(24), 6, RecruitmentOptions(3, 60, 1e-11, GAP))
    problem, out = arguments[0], arguments[-1]
    problem.action[:], problem.demand[:] = C.T, math.nan
    assert recruit(*arguments)[0] == NOT_CONVERGED
    assert np.isnan(out.activation).all()
    problem.demand[:] = d
    assert recruit(*arguments)[0] == OPTIMAL
    assert np.isfinite(out.activation).all()


def test_quadratic_as_daqp_and_cubic_as_clarabel() -> None:
    """Protects the optimum beside two solvers of the field, where they are installed."""
    daqp, clarabel = pytest.importorskip("daqp"), pytest.importorskip("clarabel")
    from scipy import sparse

    n, m = 44, 12
    C, d = instance(n, m, 1)
    scale = np.abs(C).max()
    A, b = C / scale, d / scale
    kinds = np.r_[np.zeros(n), np.full(m, 5)].astype(np.int32)
    x = daqp.solve(2.0 * np.eye(n), np.zeros(n), A, np.r_[np.ones(n), b], np.r_[np.zeros(n), b], kinds)[0]
    np.testing.assert_allclose(solve(C, d, 2)[1].activation, x, atol=1e-5)
    # min sum t with x^3 <= t: (t, 1, x) in the power cone of 1/3
    one, none, ends = np.eye(n), np.zeros((n, n)), np.zeros((3 * n, 2 * n))
    ends[3 * np.arange(n), n + np.arange(n)] = ends[3 * np.arange(n) + 2, np.arange(n)] = -1.0
    rows = [np.c_[A, np.zeros((m, n))], np.c_[one, none], np.c_[-one, none], ends]
    G = sparse.csc_matrix(np.concatenate(rows))
    h = np.r_[b, np.ones(n), np.zeros(n), np.tile([0.0, 1.0, 0.0], n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    kinds = [clarabel.ZeroConeT(m), clarabel.NonnegativeConeT(2 * n)] + [clarabel.PowerConeT(1.0 / 3.0)] * n
    empty = sparse.csc_matrix((2 * n, 2 * n))
    found = clarabel.DefaultSolver(empty, np.r_[np.zeros(n), np.ones(n)], G, h, kinds, settings).solve()
    np.testing.assert_allclose(solve(C, d, 3)[1].activation, np.array(found.x[:n]), atol=1e-4)
