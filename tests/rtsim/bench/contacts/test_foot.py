"""The bench of the foot: what it times is a whole step with all three contacts."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.contact.corrected import new_corrected_work
from rtsim.bench.contacts import foot


def test_the_step_of_the_bench_is_a_step() -> None:
    """Protects what is timed: heel, ball and toe press in turn, and the pressure is that of the force."""
    step = foot.rolled_step()
    work = new_corrected_work(step.contacts, len(step.motion.time), foot.SHAPE)
    foot.step_seconds(step, work)
    up = work.wrench[:, 4]
    assert 300.0 < np.median(up) < 400.0
    assert 1.5 < foot.touching(step) < 3.0
    cell = np.prod(step.grid.cell)
    assert cell * work.pressure[60].sum() == pytest.approx(up[60], rel=0.04)
