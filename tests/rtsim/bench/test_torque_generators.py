"""The bench of torque generators: its made-up lift is one that asks something of everybody."""

from __future__ import annotations

import pytest

from rtsim.bench.torque_generators import HARD, HARD_CASE, MADE_UP, N_SAMPLE, hard_case, made_up
from rtsim.methods.torque_generator_fit import FitSettings, fit_all
from rtsim.models.generator_sets import generators_of


def test_the_made_up_lift_asks_for_fits():
    """Protects the bench's figures where no recording is: all are fitted, and some have to change."""
    placed = generators_of(MADE_UP)
    motion = made_up(placed)
    assert len(motion.times) == N_SAMPLE
    fits = fit_all(placed, motion, FitSettings(several=False))
    assert not any(fit.fault for fit in fits)
    assert sum(fit.changed for fit in fits) >= 6


def test_the_hard_case_is_solved(shared):
    """Protects the bench's figure: the best minimum that is known of the authors' hard case is found."""
    path = shared / "reference" / HARD_CASE.name
    if not path.is_file():
        pytest.skip("the hard case is not here")
    assert hard_case(path).objective == pytest.approx(HARD, abs=1e-5)
