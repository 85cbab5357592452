"""The bench of the paced run: its figures."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.compiler.jit import allow_compilation
from rtsim.bench.runs import paced
from rtsim.models.load import load_model


@pytest.mark.process
def test_figures_of_a_short_run():
    """Protects the bench itself: every figure is there and finite, nothing was compiled or collected."""
    allow_compilation()  # another test may have forbidden it
    try:
        figures = {f.name: f for f in paced.run(seconds=0.3)}
    finally:
        allow_compilation()
    assert figures["ticks"].value + figures["missed"].value >= 300
    assert figures["lap_s"].value == load_model("knee").simulation.duration_s
    assert figures["urgent"].value == 0.0  # as the plain command
    assert figures["compiled"].holds
    assert figures["collected"].holds
    for name in ("tick_us", "step_us", "wake_us"):
        values = [figures[f"{name}.{label}"].value for label in ("p50", "p99", "p99_9", "max")]
        assert np.isfinite(values).all()
        assert values == sorted(values)
