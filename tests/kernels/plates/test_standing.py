"""Feet beside force plates against plain sentences of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.plates.plate_assignment import new_rules
from kernels.plates.plate_contact import EMPTY, NOT_MEASURED, Plates
from kernels.plates.standing import STANDS, may_stand

FLOOR, DT = 0.01, 0.01


def above(plates: Plates, loaded: np.ndarray, point: np.ndarray) -> bool:
    """Whether a point is inside the edges of a plate that was measured."""
    for p in np.flatnonzero(np.isfinite(plates.half).all(axis=1) & (loaded != NOT_MEASURED)):
        if (np.abs(plates.axes[p, :2] @ (point - plates.centre[p])) <= plates.half[p]).all():
            return True
    return False


def stands(plates, loaded, share, foot, former, dt) -> bool:
    """What may_stand says of one foot; share : (n_plate,)."""
    if share.any():
        return False
    low = ~(foot[:, 1] - FLOOR > new_rules().low)
    slow = ~((dt > 0.0) & (((foot - former) ** 2).sum(axis=1) > (STANDS * dt) ** 2))
    return any(low[k] and slow[k] and not above(plates, loaded, foot[k]) for k in range(2))


@pytest.mark.parametrize("seed", range(4))
def test_feet_beside_the_plates_are_those_of_the_twin(seed: int) -> None:
    """Protects moments from a force that nobody measured: low, high, slow, fast and unseen points of feet,
    beside and above plates that were measured or not, some of unknown extent.
    """
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(200):
        half = np.where(rng.random((2, 1)) < 0.2, np.inf, rng.uniform(0.2, 0.4, (2, 2)))
        axes = np.linalg.qr(rng.normal(size=(2, 3, 3)))[0]
        plates = Plates(rng.uniform(-0.5, 0.5, (2, 3)), axes, half)
        loaded = rng.choice([NOT_MEASURED, EMPTY], 2)
        share = (rng.random((2, 2)) < 0.2).astype(np.int64)
        feet = rng.uniform([-0.5, 0.0, -0.5], [0.5, 0.2, 0.5], (2, 2, 3))
        former = feet + rng.normal(size=feet.shape) * 0.002
        feet[rng.random((2, 2)) < 0.1] = np.nan
        dt = rng.choice([0.0, DT])
        out = np.full(2, 7)
        n = may_stand(plates, loaded, share, feet, former, dt, FLOOR, new_rules(), out)
        expected = [stands(plates, loaded, share[:, f], feet[f], former[f], dt) for f in range(2)]
        assert out.tolist() == expected
        assert n == sum(expected)
        found += n
    assert 50 < found < 350
