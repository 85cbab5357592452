"""Worth of settings by comparisons: expectation propagation against numbers drawn, and what is compared."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from rtsim.tuning.preference import Preference, judged, propagated


def test_expectation_propagation_has_the_moments_of_what_is_drawn() -> None:
    """Protects evidence and means of differences that were all found positive, sure and unsure ones."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((3, 3))
    for size in (0.3, 3.0, 30.0):
        C = size * A @ A.T
        drawn = rng.multivariate_normal(np.zeros(3), C, 400_000)
        likely = ndtr(drawn).prod(axis=1)
        weights, _, _, misfit = propagated(C)
        assert np.exp(-misfit) == pytest.approx(likely.mean(), rel=0.02)
        expected = (likely[:, None] * drawn).mean(axis=0) / likely.mean()
        assert C @ weights == pytest.approx(expected, rel=0.03, abs=0.02)


def test_worth_follows_the_answers() -> None:
    """Protects signs: what is preferred is worth more, what was not compared is less sure."""
    points = np.array([[0.1, 0.1], [0.5, 0.5], [0.9, 0.9]])
    worth, _ = judged(np.log([0.5, 0.5, 0.1]), points, [(1, 0), (1, 2)])
    mean, deviation = worth.predict(np.vstack([points, [[0.1, 0.9]]]))
    assert mean.argmax() == 1
    assert deviation[3] > deviation[:3].max()
    own = worth.shared(points, points[1])
    assert own[1] == pytest.approx(deviation[1] ** 2)


def test_equal_costs_are_no_preference() -> None:
    """Protects the answer that neither is better: both are worth the same then."""
    search = Preference(2)
    pair = search.ask()
    search.tell(pair, np.array([2.0, 2.0]))
    mean, _ = search.landscape(pair)
    assert mean == pytest.approx([0.0, 0.0], abs=1e-9)


def test_a_setting_compared_with_itself_tells_nothing() -> None:
    """Protects dials with clicks, where both settings of a pair may become one."""
    search = Preference(1)
    for a, b in ((0.2, 0.7), (0.7, 0.7), (0.7, 0.7)):
        search.tell(np.array([[a], [b]]), np.array([2.0, 1.0]) if a < b else np.array([1.0, 1.0]))
    assert np.isfinite(search.ask()).all()
    assert search.landscape(np.array([[0.7]]))[0][0] < search.landscape(np.array([[0.2]]))[0][0]
