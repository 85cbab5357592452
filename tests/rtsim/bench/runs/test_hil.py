"""The bench of hardware in the loop: its figures."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.compiler.jit import allow_compilation
from rtsim.bench.runs import hil


@pytest.mark.process
def test_figures_of_a_short_run() -> None:
    """Protects the bench itself: every figure is there and finite, nothing was compiled or collected."""
    allow_compilation()  # another test may have forbidden it
    try:
        figures = {f.name: f for f in hil.run(seconds=0.5, rate=500.0)}
    finally:
        allow_compilation()
    assert figures["ticks"].value == 250
    assert figures["compiled"].holds
    assert figures["collected"].holds
    missed = figures["missed_percent"].value - figures["echo_missed_percent"].value
    assert figures["missed_above_echo_percent"].value == missed
    for part in hil.PARTS:
        values = [figures[f"{part}_us.{label}"].value for label in ("p50", "p99", "p99_9", "max")]
        assert np.isfinite(values).all()
        assert values == sorted(values)
