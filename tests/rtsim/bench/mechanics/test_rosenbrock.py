"""The bench of the integrator: its figures, its problems and its chains."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.rosenbrock.tableau import METHODS
from rtsim.bench.figures import BenchFigure
from rtsim.bench.mechanics import rosenbrock
from rtsim.bench.mechanics.swinging_chains import chain


@pytest.fixture(scope="module")
def figures() -> dict[str, BenchFigure]:
    """Return the figures of a short bench."""
    return {f.name: f for f in rosenbrock.run(n_batch=2, n_repeat=10, muscled=False)}


def test_every_method_is_measured(figures: dict[str, BenchFigure]) -> None:
    """Protects the bench itself: order, error and time of every method on both problems, orders held."""
    for problem in rosenbrock.PROBLEMS:
        for method in METHODS:
            found = {key: figures[f"{problem}.{method}.{key}"] for key in ("order", "error", "us_per_step")}
            assert all(np.isfinite(figure.value) and figure.value > 0.0 for figure in found.values())
            assert found["order"].holds is not False


def test_the_reference_can_be_trusted(figures: dict[str, BenchFigure]) -> None:
    """Protects the errors: those of the adaptive reference are far below the least of them."""
    for problem in rosenbrock.PROBLEMS:
        least = min(figures[f"{problem}.{method}.error"].value for method in METHODS)
        assert figures[f"{problem}.reference_error"].value < 0.1 * least


def test_time_of_the_linear_algebra(figures: dict[str, BenchFigure]) -> None:
    """Protects the figure with a limit: both sizes are there, and only the large one is held to it."""
    assert figures["us_per_step.n60"].limit == 12.0
    assert figures["us_per_step.n12"].limit is None
    for n in (12, 60):
        assert 0.0 < figures[f"us_per_step.n{n}.least"].value <= figures[f"us_per_step.n{n}"].value


def test_chains_of_the_bench(figures: dict[str, BenchFigure]) -> None:
    """Protects what is timed: 60 states, one chain in the air, the other on ten spheres with friction."""
    assert figures["chain.n_touching"].value == 0
    assert figures["chain_on_floor.n_touching"].value == 10
    some = rosenbrock.simulator(chain(rosenbrock.N_LINK, floor=True), rosenbrock.METHOD, 1.0)
    assert len(some.q) + len(some.v) == 60
    trace = some.trace(1)
    assert some.run(30, 0, trace) == 0
    assert np.abs(some.q).max() < 0.1


@pytest.mark.own_kernels
@pytest.mark.parametrize("tendon", rosenbrock.TENDONS)
def test_the_finger_of_the_bench(tendon: str) -> None:
    """Protects what is timed: steps of three muscles that pull."""
    found = {figure.name: figure.value for figure in rosenbrock.finger_figures(tendon, 2, 10)}
    assert found[f"us_per_step.finger_{tendon}"] > 0.0
