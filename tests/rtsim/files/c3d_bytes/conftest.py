"""Points of synthetic C3D files."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.rtsim.files.conftest import make_c3d  # noqa: F401


@pytest.fixture
def standing_points() -> Callable[[int], np.ndarray]:
    """So many points (5, n, 3) of a Z-up file [mm], spread from 1000 down to 50 along Z."""

    def build(n_point: int) -> np.ndarray:
        points = np.full((5, n_point, 3), 500.0)
        points[:, :, 2] = np.linspace(1000.0, 50.0, n_point)
        points[:, :, 0] += 10.0 * np.arange(5)[:, None]
        return points

    return build
