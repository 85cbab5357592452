"""All searches through their one interface, on functions whose least value is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.tuning.bayesian import Bayesian, expected_improvement
from rtsim.tuning.cma import Cma
from rtsim.tuning.dial import Dial
from rtsim.tuning.preference import Preference
from rtsim.tuning.search import TuningSearch, spread

Array = NDArray[np.float64]
SEARCHES: dict[str, Callable[[int, int], TuningSearch]] = {
    "bayesian": Bayesian, "cma": Cma, "preference": Preference,
}  # fmt: skip
BEST = np.array([0.3, 0.62])
BOWL = 120.0
"""What the bowl below has between its least and its largest value in the square, about."""


def bowl(x: Array) -> float:
    """A tilted bowl, 20 at BEST."""
    d = x - BEST
    return float(20.0 + 100.0 * d[0] ** 2 + 50.0 * d[1] ** 2 + 50.0 * d[0] * d[1])


def searched(name: str, seed: int, noise: float, budget: int) -> TuningSearch:
    """A search that has tried so many points of the bowl; with noise costs drift, too, by a fifth."""
    if name == "cma":
        pytest.importorskip("cmaes")
    search, rng, n_tried = SEARCHES[name](2, seed), np.random.default_rng(seed), 0
    while n_tried < budget:
        points = search.ask()
        assert points.shape == (2 if name == "preference" else 1, 2)
        assert ((points >= 0.0) & (points <= 1.0)).all()
        costs = np.array([bowl(point) for point in points])
        if noise:
            costs *= (1.0 + 0.2 * n_tried / budget) * (1.0 + noise * rng.standard_normal(len(costs)))
        search.tell(points, costs)
        n_tried += len(points)
    return search


@pytest.mark.parametrize("name", SEARCHES)
def test_the_best_of_a_bowl_is_found(name: str) -> None:
    """Protects each search: within 2 % of the range without noise, 10 % with 15 % of noise and a drift."""
    assert bowl(searched(name, 0, 0.0, 36).best()) - 20.0 < 0.02 * BOWL
    noisy = [bowl(searched(name, seed, 0.15, 36).best()) - 20.0 for seed in range(3)]
    assert np.median(noisy) < 0.1 * BOWL


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_repeats_by_its_seed(name: str) -> None:
    """Protects files that are gone on with: told alike, two ask alike; asking for the best is free."""
    one, two = searched(name, 5, 0.0, 14), searched(name, 5, 0.0, 14)
    one.best()
    assert one.ask().tolist() == two.ask().tolist()


def test_several_settings_are_asked_for_before_any_is_told() -> None:
    """Protects runs side by side: settings that are still being tried are not asked for again."""
    search = Bayesian(2, together=3)
    assert search.at_once == 6
    first = np.vstack([search.ask() for _ in range(6)])
    for point in first:
        search.tell(point[None, :], np.array([bowl(point)]))
    assert search.at_once == 3
    asked = np.vstack([search.ask() for _ in range(3)])
    assert min(np.abs(asked[i] - asked[j]).max() for i in range(3) for j in range(i)) > 0.02


def test_the_dial_is_a_search_too() -> None:
    """Protects tuning by hand: what the operator turns to is tried, the least cost is the best."""
    turned = iter(np.array([[0.1, 0.2], [0.5, 0.5], [0.9, 0.1]]))
    dial = Dial(lambda: next(turned))
    for cost in (3.0, 1.0, 2.0):
        dial.tell(dial.ask(), np.array([cost]))
    assert dial.best().tolist() == [0.5, 0.5]
    assert dial.landscape(np.array([[0.5, 0.5]]))[1][0] > 0.0


def test_expected_improvement_is_that_of_numbers_drawn() -> None:
    """Protects the formula."""
    drawn = np.random.default_rng(2).normal(1.2, 0.7, 400_000)
    found = expected_improvement(np.array([1.2]), np.array([0.7]), 1.0)
    assert found[0] == pytest.approx(np.maximum(1.0 - drawn, 0.0).mean(), rel=0.01)


def test_first_points_fill_the_cube() -> None:
    """Protects the fixed first points: as many as asked for, none twice, none on the border."""
    for n in (1, 2, 4):
        points = spread(n, 3 * n)
        assert points.shape == (3 * n, n)
        assert len({tuple(point) for point in points}) == 3 * n
        assert points.min() > 0.0
        assert points.max() < 1.0


def test_a_dial_asks_nobody_for_trials_that_were_made() -> None:
    """Protects a tuning by hand that is gone on with: the operator turns only to what is new."""
    turned, known = iter(np.array([[0.9, 0.1]])), np.array([[0.1, 0.2], [0.5, 0.5]])
    dial = Dial(lambda: next(turned), known)
    assert [dial.ask().tolist() for _ in range(3)] == [[[0.1, 0.2]], [[0.5, 0.5]], [[0.9, 0.1]]]
