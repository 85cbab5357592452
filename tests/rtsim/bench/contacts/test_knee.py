"""The bench of the volumetric knee: its figures and how events are found between rows."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.bench.contacts import knee


def test_figures_of_a_short_bench():
    """Protects the bench itself: every figure is there, the reference converges and all accuracies hold."""
    figures = {f.name: f for f in knee.run(n_run=2, rows=[("rodas4p", 2.0)])}
    for name in (
        "reference.halved_step_deg",
        "reference.scipy_deg",
        "flexion_error_deg",
        "peak_medial_error",
    ):
        assert figures[name].holds
    assert figures["real_time_factor"].value > 0.0
    assert figures["flexion_error_deg.rodas4p.2ms"].limit is None
    assert figures["us_per_step.rodas4p.2ms"].value > 0.0
    for pulse in knee.PULSES:
        for what in ("t90_s", "peak_medial_N", "lateral_liftoff_deg"):
            assert figures[f"{what}.{pulse.name}.difference"].holds
            assert figures[f"{what}.{pulse.name}.independent"].value > 0.0


def test_first_root():
    """Protects times of events: a parabola's root is found to the last digit, and the first of two."""
    rows = np.arange(12.0)
    assert knee.first_root((rows + 2.0) ** 2 - 30.0) == pytest.approx(np.sqrt(30.0) - 2.0, rel=1e-14)
    assert knee.first_root(np.sin(rows - 1.2)) == pytest.approx(1.2, abs=0.05)
