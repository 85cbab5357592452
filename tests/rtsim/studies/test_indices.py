"""Indices against analytic values, and beside SALib and SciPy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from rtsim.errors import ConfigError
from rtsim.studies.designs import morris, saltelli
from rtsim.studies.indices import morris_effects, sobol_indices

A, B = 7.0, 0.1
G = np.array([0.0, 1.0, 4.5, 9.0])
"""Coefficients of the g-function of Sobol: Saltelli and Sobol (1995)."""


def ishigami(points: np.ndarray) -> np.ndarray:
    """Ishigami and Homma (1990) at points of 0 to 1, (n, 3)."""
    x = math.pi * (2.0 * points - 1.0)
    return np.sin(x[:, 0]) + A * np.sin(x[:, 1]) ** 2 + B * x[:, 2] ** 4 * np.sin(x[:, 0])


def ishigami_indices() -> tuple[np.ndarray, np.ndarray]:
    """Its indices, first order and total."""
    v1, v2 = 0.5 * (1.0 + B * math.pi**4 / 5.0) ** 2, A**2 / 8.0
    v13 = B**2 * math.pi**8 * (1.0 / 18.0 - 1.0 / 50.0)
    total = v1 + v2 + v13
    return np.array([v1, v2, 0.0]) / total, np.array([v1 + v13, v2, v13]) / total


def g_function(points: np.ndarray) -> np.ndarray:
    """The g-function at points of 0 to 1, (n, 4)."""
    return np.prod((abs(4.0 * points - 2.0) + G) / (1.0 + G), axis=1)


def g_indices() -> tuple[np.ndarray, np.ndarray]:
    """Its indices, first order and total."""
    v = 1.0 / (3.0 * (1.0 + G) ** 2)
    whole = np.prod(1.0 + v) - 1.0
    return v / whole, np.array([v[k] * np.prod(np.delete(1.0 + v, k)) for k in range(4)]) / whole


@pytest.mark.parametrize(("function", "analytic", "d"), [(ishigami, ishigami_indices, 3),
                                                         (g_function, g_indices, 4)])  # fmt: skip
def test_sobol_indices_are_the_analytic_ones(function: Callable, analytic: Callable, d: int) -> None:
    """Protects indices: within 2 % of the analytic values, which lie in the intervals of most."""
    found = sobol_indices(function(saltelli(2**14, d, 1)), d)
    first, total = analytic()
    np.testing.assert_allclose(found.first, first, rtol=0.02, atol=0.002)
    np.testing.assert_allclose(found.total, total, rtol=0.02, atol=0.002)
    for ends, middle in ((found.first_interval, found.first), (found.total_interval, found.total)):
        assert (ends[0] <= middle).all()
        assert (middle <= ends[1]).all()
        assert (ends[1] - ends[0] < 0.1).all()


def test_sobol_indices_are_those_of_scipy() -> None:
    """Protects the estimator: the numbers of scipy.stats.sobol_indices on the same results."""
    d, n = 3, 2**10
    values = ishigami(saltelli(n, d, 1)).reshape(d + 2, 1, n)
    peer = stats.sobol_indices(func={"f_A": values[0], "f_B": values[1], "f_AB": values[2:]}, n=n)
    found = sobol_indices(values.reshape(-1), d)
    np.testing.assert_allclose(found.first, peer.first_order.reshape(-1), atol=1e-10)
    np.testing.assert_allclose(found.total, peer.total_order.reshape(-1), atol=1e-10)


def test_rows_without_a_result_are_left_out() -> None:
    """Protects indices of studies with failures: the whole row of the design goes, and is counted."""
    d, n = 3, 2**12
    values = ishigami(saltelli(n, d, 1))
    values[[5, n + 9, 3 * n + 9]] = math.nan
    found = sobol_indices(values, d)
    assert (found.n, found.n_left_out) == (n - 2, 2)
    np.testing.assert_allclose(found.first, ishigami_indices()[0], atol=0.03)
    with pytest.raises(ConfigError, match="0 rows of the Saltelli design are complete"):
        sobol_indices(np.full(5 * n, math.nan), d)


def test_morris_effects_of_a_plane_are_its_slopes() -> None:
    """Protects mu*: exact where the result is linear, without deviation."""
    points = morris(10, 3, 4, 0)
    found = morris_effects(points, points @ [1.0, -2.0, 0.0])
    np.testing.assert_allclose(found.mean, [1.0, -2.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.magnitude, [1.0, 2.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.deviation, 0.0, atol=1e-12)


def test_morris_effects_are_those_of_salib() -> None:
    """Protects mu* and sigma beside a peer: the same numbers on its own trajectories."""
    peer = pytest.importorskip("SALib.analyze.morris")
    sample = pytest.importorskip("SALib.sample.morris")
    problem = {"num_vars": 3, "names": ["a", "b", "c"], "bounds": [[0.0, 1.0]] * 3}
    points = sample.sample(problem, 20, num_levels=4, seed=1)
    results = ishigami(points)
    theirs = peer.analyze(problem, points, results, num_levels=4, seed=1)
    found = morris_effects(points, results)
    np.testing.assert_allclose(found.mean, theirs["mu"], rtol=1e-9)
    np.testing.assert_allclose(found.magnitude, theirs["mu_star"], rtol=1e-9)
    np.testing.assert_allclose(found.deviation, theirs["sigma"], rtol=1e-9)


def test_sobol_indices_are_near_those_of_salib() -> None:
    """Protects indices beside a peer: the same function, its own sample and estimator."""
    peer = pytest.importorskip("SALib.analyze.sobol")
    sample = pytest.importorskip("SALib.sample.sobol")
    problem = {"num_vars": 3, "names": ["a", "b", "c"], "bounds": [[0.0, 1.0]] * 3}
    points = sample.sample(problem, 2**12, calc_second_order=False, seed=1)
    theirs = peer.analyze(problem, ishigami(points), calc_second_order=False, seed=1)
    found = sobol_indices(ishigami(saltelli(2**12, 3, 1)), 3)
    np.testing.assert_allclose(found.first, theirs["S1"], atol=0.02)
    np.testing.assert_allclose(found.total, theirs["ST"], atol=0.02)
