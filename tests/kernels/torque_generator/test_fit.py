"""Fits of torque generators: their rows, their optima, and those of the authors."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.torque_generator.demands import N_PIECE, add_curvatures, largest_violation, write_rows
from kernels.torque_generator.fit import FITTED, IMPOSSIBLE, FitOptions, fit, new_fit_work
from kernels.torque_generator.torque import N_FIT
from tests.kernels.torque_generator.motions import (
    HIGH,
    LOW,
    SHARED,
    TARGET,
    fitted,
    gymnast,
    lift,
    reference,
    rows_of,
)
from tests.naive.torque_generators import BLEND

there = pytest.mark.skipif(not (SHARED / "reference").is_dir(), reason="the reference files are not there")
X = np.array([1.2, 1.1, 0.15, 0.3, 1.4])
FOUND = {"sA": 0, "sV": 1, "deltaP_rad": 2, "lambdaP": 3, "s_tau": 4}
TABLE_1 = (1.0285451817, 1.1191323551, -0.0730991935, 0.9210605189, 1.1203551470)
AT_REST = 1.0 + 0.1 * BLEND
"""t^V without speed, blended towards a maximum of 1.1."""


def rows_at(demands, x):
    """Rows and their slopes."""
    n = len(demands.theta)
    value, slope = np.zeros(3 * n), np.zeros((3 * n, N_FIT))
    write_rows(demands, x, np.zeros(N_PIECE), value, slope)
    return value, slope


def test_rows_are_those_of_the_twin():
    """Protects eqs 10 to 12: the largest violation is that of the paper's equations."""
    motion = lift(np.random.default_rng(0))._replace(floor=0.1)
    demands = motion.demands()
    for x in (X, TARGET, np.array([1.5, 1.4, -0.3, 0.9, 2.0])):
        value, _ = rows_at(demands, x)
        assert -value.min() == pytest.approx(motion.violations(x), rel=1e-8, abs=1e-10)
        found = largest_violation(demands, x, np.zeros(N_PIECE), np.zeros(len(value)))
        assert found == pytest.approx(max(0.0, -value.min()), rel=1e-12, abs=1e-15)


def test_slopes_of_rows_are_the_differences():
    """Protects the derivatives of all rows by all parameters."""
    demands, h = lift(np.random.default_rng(1))._replace(floor=0.1).demands(), 1e-6
    _, slope = rows_at(demands, X)
    for i in range(N_FIT):
        step = h * np.eye(N_FIT)[i]
        difference = (rows_at(demands, X + step)[0] - rows_at(demands, X - step)[0]) / (2 * h)
        assert slope[:, i] == pytest.approx(difference, rel=1e-6, abs=1e-7)


def test_curvatures_of_rows_are_the_differences():
    """Protects the second derivatives, by random multipliers of all rows."""
    demands, h = lift(np.random.default_rng(2))._replace(floor=0.1).demands(), 1e-6
    weight = np.random.default_rng(3).uniform(0.0, 1.0, 3 * len(demands.theta))
    H = np.zeros((N_FIT, N_FIT))
    add_curvatures(demands, X, weight, np.zeros(N_PIECE), H)
    for i in range(N_FIT):
        step = h * np.eye(N_FIT)[i]
        ahead, behind = rows_at(demands, X + step)[1], rows_at(demands, X - step)[1]
        assert -H[i] == pytest.approx(weight @ (ahead - behind) / (2 * h), rel=1e-5, abs=1e-4)
    assert np.allclose(H, H.T, atol=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(6))
def test_a_fit_is_feasible_and_an_optimum(seed):
    """Protects the answer: within all rows by the twin, and no feasible point near it is better."""
    motion = lift(np.random.default_rng(seed))
    x, objective, status = fitted(motion)
    assert status == FITTED
    assert motion.violations(x) < 2e-9
    assert (x >= LOW).all()
    demands, scratch = motion.demands(), np.zeros(3 * len(motion.q))
    for away in np.random.default_rng(seed).normal(scale=0.02, size=(300, N_FIT)):
        near = np.clip(x + away, LOW, HIGH)
        if largest_violation(demands, near, np.zeros(N_PIECE), scratch) <= 0.0:
            assert ((near - TARGET) ** 2).sum() > objective - 1e-6


def test_what_can_do_the_motion_is_left_as_it_is():
    """Protects strong and supple generators: no change, to the last digit."""
    motion = lift(np.random.default_rng(0))
    easy = motion._replace(q=np.full(60, 0.5), qd=np.zeros(60), tau=np.full(60, 40.0))
    x, objective, status = fitted(easy)
    assert (status, objective) == (FITTED, 0.0)
    assert (x == TARGET).all()


def test_the_strength_of_a_made_up_person_is_found():
    """Protects the meaning: held at the optimal angle, only strength can be lacking, and it is found."""
    motion = lift(np.random.default_rng(0))
    m = motion.generator
    held = motion._replace(q=np.full(60, 0.7), qd=np.zeros(60), tau=np.linspace(0.0, 1.3, 60) * m.tau_o)
    x, _, status = fitted(held._replace(generator=m._replace(theta_o=0.7)))
    assert status == FITTED
    assert x == pytest.approx([1.0, 1.0, 0.0, 0.0, 1.3 / AT_REST], abs=1e-6)


def test_less_activation_asks_for_more_strength():
    """Protects a_max from EMG: the same torque at half the activation is that of a person twice as strong."""
    motion = lift(np.random.default_rng(0))
    m = motion.generator._replace(theta_o=0.7)
    held = motion._replace(generator=m, q=np.full(60, 0.7), qd=np.zeros(60), tau=np.full(60, 1.3 * m.tau_o))
    x, _, _ = fitted(held._replace(cap=0.5))
    assert x == pytest.approx([1.0, 1.0, 0.0, 0.0, 2.6 / AT_REST], abs=1e-6)


@pytest.mark.compiled
def test_bounds_that_leave_nothing_are_told():
    """Protects from answers that are none: too weak a bound on strength is impossible, not unfinished."""
    motion = lift(np.random.default_rng(0))
    demands = motion.demands()
    high = np.array([1.01, 1.01, 0.01, 0.01, 1.01])
    options = FitOptions(TARGET, np.ones(N_FIT), LOW, high, 0.3, 1e-10, 1e-9, 500)
    x = motion.start()
    status, _, violation = fit(demands, options, new_fit_work(len(motion.q)), x)
    assert status == IMPOSSIBLE
    assert violation > 0.1
    assert (x <= high + 1e-12).all()


@pytest.mark.compiled
@there
@pytest.mark.parametrize("k", range(32))
def test_fits_from_the_default_start_are_those_of_the_authors(k):
    """Protects 32 fits of their program: 1e-4 in every parameter or a lower objective, and feasible."""
    row = rows_of("mtg_fit_results_rbdl.csv")[k]
    motion = reference(row)
    x, objective, status = fitted(motion)
    assert status == FITTED
    assert motion.violations(x) < 2e-9
    same = all(abs(x[i] - float(row[key])) < 1e-4 for key, i in FOUND.items())
    assert same or objective <= float(row["objective"])


@pytest.mark.compiled
@there
@pytest.mark.parametrize(
    ("k", "most"),
    [(0, 1.5413338), (1, 2.499674), (2, 0.8831887), (8, 0.8759308)],
    ids=["hard", "easy", "R", "L"],
)
def test_hard_fits_are_found_to_the_digit(k, most):
    """Protects the cases that other solvers miss: the authors' optimum, not one near it."""
    _, objective, _ = fitted(reference(rows_of("mtg_fit_results_rbdl.csv")[k]))
    assert objective < most + 1e-6


@pytest.mark.compiled
@there
def test_the_published_fit_stays_where_it_is():
    """Protects table 1 of the paper, a local minimum: started there, it does not move by 1e-4."""
    motion = reference(rows_of("mtg_fit_results_rbdl.csv")[2])
    x, _, status = fitted(motion, np.array(TABLE_1))
    assert status == FITTED
    assert x == pytest.approx(TABLE_1, abs=1e-4)


@pytest.mark.compiled
@there
@pytest.mark.parametrize(("k", "most"), [(2, 0.7324), (8, 0.6958)], ids=["right", "left"])
def test_there_is_a_better_fit_than_the_published_one(k, most):
    """Protects several starts: a supple hip is nearer to the default than a slack one."""
    motion = reference(rows_of("mtg_fit_results_rbdl.csv")[k])
    start = motion.start()
    start[2] = 0.5
    x, objective, status = fitted(motion, start)
    assert status == FITTED
    assert objective < most + 5e-5
    assert motion.violations(x) < 2e-9


@there
def test_before_the_fit_the_hip_is_too_stiff():
    """Protects the assessment of the paper's trial: a < 0 from 81.7 degrees, at most 0.871, 120.7 deep."""
    from kernels.torque_generator.torque import activations
    from tests.kernels.torque_generator.generators import table

    motion = reference(rows_of("mtg_fit_results_rbdl.csv")[2])
    tau = np.maximum(motion.tau, 0.0)
    a, pieces = np.zeros(len(tau)), np.zeros((len(tau), 4))
    activations(table([motion.generator]), 0, np.column_stack([motion.q, motion.qd, tau]), a, pieces)
    flexion = np.degrees(-motion.q)
    assert flexion[a < 0.0][0] == pytest.approx(81.7, abs=0.7)
    assert a.max() == pytest.approx(0.871, abs=5e-4)
    assert flexion.max() == pytest.approx(120.7, abs=0.05)
    assert gymnast("HipExtension").tau_o == 175.746
