"""Markers that stand still while others move."""

from __future__ import annotations

import numpy as np

from kernels.faults.frozen import MOVES, N_FINE, N_SAME, find_frozen
from kernels.health import FROZEN, new_health, visibility
from tests.kernels.faults.scene import DT, N_MARKER


def frozen_frames(step: float, speed: float, n: int, stuck: int = 3) -> list[list[int]]:
    """Markers at fault in each of n frames: all move at a speed [m/s] on a grid [m], but one at the end."""
    health, rng = new_health(N_MARKER), np.random.default_rng(8)
    x, found = rng.normal(size=(N_MARKER, 3)), []
    ways = rng.normal(size=(N_MARKER, 3))
    ways *= speed / np.linalg.norm(ways, axis=1)[:, None]
    for k in range(N_FINE + n):
        shown = x + DT * k * ways
        if k >= N_FINE:
            shown[stuck] = x[stuck]
        if step > 0.0:
            shown = np.round(shown / step) * step
        visibility(shown, DT, health)
        find_frozen(shown, DT, health)
        found.append(np.flatnonzero(health.fault == FROZEN).tolist())
    return found[N_FINE:]


def test_a_marker_that_stands_still_among_others() -> None:
    """Protects frozen markers: called so after N_SAME frames without change, not in coarse streams, not while
    a person stands."""
    assert frozen_frames(0.0, 0.5, 20) == [[]] * N_SAME + [[3]] * (20 - N_SAME)
    assert frozen_frames(0.001, 0.2, 20) == [[]] * 20
    assert frozen_frames(0.0, 0.9 * MOVES, 20) == [[]] * 20
