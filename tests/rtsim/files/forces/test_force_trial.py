"""Directions and sizes of forces from files: what a floor cannot do, and what no person weighs."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.files.forces.force_trial import RawForces, force_trial

UP = np.array([20.0, 700.0, -10.0])


def trial_of(*loads: np.ndarray):
    """A trial of plates beside each other with constant loads (3,) [N], about their middles."""
    n = len(loads)
    force = np.tile(np.stack(loads), (50, 1, 1))
    middle = np.stack([np.arange(n) * 0.6, np.zeros(n), np.zeros(n)], axis=1)
    square = np.array([[0.2, 0.0, 0.2], [0.2, 0.0, -0.2], [-0.2, 0.0, -0.2], [-0.2, 0.0, 0.2]])
    return force_trial(
        RawForces(
            names=tuple(f"plate {k + 1}" for k in range(n)),
            times=np.arange(50) / 100.0,
            rate=100.0,
            corners=middle[:, None] + square,
            level=np.zeros(n),
            force=force,
            moment=np.cross(middle, force),
            source="made up",
            notes=(),
        )
    )


@pytest.mark.parametrize("k", [0, 1])
def test_one_plate_that_pulls_is_turned_alone(k):
    """Protects the other plates: all were turned, and those that were right pulled the person down."""
    loads = [UP, 0.8 * UP]
    wanted = trial_of(*loads)
    loads[k] = -loads[k]
    found = trial_of(*loads)
    np.testing.assert_allclose(found.force, wanted.force)
    np.testing.assert_allclose(found.moment, wanted.moment)
    np.testing.assert_allclose(found.centre, wanted.centre, atol=1e-12)
    assert found.notes[-1].startswith(
        f"the forces of plate {k + 1} point down, those of the other plates up; these"
    )
    assert not wanted.notes


def test_plates_that_all_pull_are_turned_with_what_has_no_clear_load():
    """Protects small loads: 50 N beside 700 N are of the same program, and turned with them."""
    found = trial_of(-UP, -UP / 14.0)
    assert (found.force[..., 1] > 0.0).all()
    assert "all forces point down" in found.notes[-1]


def test_a_plate_that_drifts_below_zero_is_no_plate_that_pulls():
    """Protects an unloaded plate's zero: 30 N down beside a person are left as they are."""
    found = trial_of(UP, np.array([0.0, -30.0, 0.0]))
    assert found.force[0, 1, 1] == -30.0
    assert not found.notes


def test_forces_that_carry_nobody_are_told():
    """Protects from kilonewtons: the plates seemed empty in silence."""
    assert "the largest force is 0.7" in trial_of(UP / 1000.0, 0.0 * UP).notes[-1]
    assert not trial_of(0.0 * UP).notes
