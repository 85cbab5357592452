"""The bench of torque generators: its made-up lift is one that asks something of everybody."""

from __future__ import annotations

from rtsim.bench.torque_generators import MADE_UP, N_SAMPLE, made_up
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
