"""Counting: intervals that hold a known truth, and a run of two walkers."""

import numpy as np
import pytest

from rtsim.bench.coverage import run
from rtsim.bench.coverage.numbers import names_of
from rtsim.bench.coverage.truth import Told, truth_of
from rtsim.bench.coverage.walkers import draw_walker
from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.models.load import ONE_LEG, load_model
from rtsim.subjects.subject import Subject

N = 40_000


def tally_of(told: Told, true: np.ndarray) -> run.CoverageCount:
    tally = run.new_tally(true.shape[1])
    run.add(true, told, np.arange(len(true)), tally)
    return tally


@pytest.mark.parametrize(("factor", "percent"), [(1.0, 95.0), (0.5, 67.3), (2.0, 99.99)])
def test_errors_of_a_known_deviation_are_held(factor: float, percent: float) -> None:
    """Protects the count: normal errors of the deviation 1 within 1.96 times what is stated."""
    errors = np.random.default_rng(1).normal(size=(N, 2))
    told = Told(errors, np.full((N, 2), factor), np.zeros(N, bool), 0)
    tally = tally_of(told, np.zeros((N, 2)))
    np.testing.assert_allclose(100.0 * tally.held / tally.n, percent, atol=0.5)
    np.testing.assert_allclose(tally.error / tally.stated, factor**-2, rtol=0.03)


def test_angles_turn_round_and_unknown_numbers_are_left_out() -> None:
    """Protects what is counted: the short way round; neither NaN nor what the joints keep."""
    told = Told(
        np.array([[np.pi, 1.0, 1.0], [np.nan, 1.0, 1.0]]),
        np.array([[0.1, 1e-12, 0.5], [np.nan, 1e-12, 0.4]]), np.array([True, False]), 1,
    )  # fmt: skip
    tally = tally_of(told, np.array([[-np.pi + 0.05, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    assert tally.held.tolist() == [1.0, 0.0, 1.0]
    assert tally.n.tolist() == [1.0, 0.0, 2.0]
    assert tally.uncertain == [1, 2]


@pytest.mark.parametrize("method", run.METHODS)
def test_a_method_finds_its_own_truth(method: str) -> None:
    """Protects the truth: from its markers without errors each method finds it again."""
    spec = load_model(ONE_LEG)
    walker = draw_walker(
        np.random.default_rng(6), spec, load_toml(find_config("walker", "subjects"), Subject)
    )
    estimator = run.estimator_of(spec, walker)
    estimator.switch(method)
    truth = truth_of(estimator, walker.positions[:20], walker.dt)
    again = truth_of(estimator, truth.markers, walker.dt)
    angles = [k for k, name in enumerate(names_of(estimator)) if "flexion" in name]
    # soft elements draw a little even where markers fit exactly
    np.testing.assert_allclose(again.numbers[:, angles], truth.numbers[:, angles], atol=np.radians(0.5))


def test_figures_of_two_walkers() -> None:
    """Protects the bench: every method and case, and every output that has a deviation."""
    figures = {figure.name: figure.value for figure in run.run(2, seed=3)}
    for method in run.METHODS:
        for case in run.N_MISSING:
            assert figures[f"frames.{method}.{case}"] > 50
            assert 0.0 < figures[f"coverage_percent.{method}.{case}.knee_flexion"] <= 100.0
            assert figures[f"off_95_percent.{method}.{case}"] <= 95.0
    assert "coverage_percent.zero.complete.singular.knee_flexion" in figures
    assert "coverage_percent.zero.complete.lengthening_ACL" not in figures  # which it keeps
