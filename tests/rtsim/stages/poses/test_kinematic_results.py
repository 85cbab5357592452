"""What a left leg's results are turned back to."""

from __future__ import annotations

import numpy as np

from rtsim.stages.poses.kinematic_results import mirror


def test_a_left_leg_is_mirrored_back():
    """Protects left legs: points and rotations of the right leg that was solved come back mirrored."""
    across = np.diag([1.0, 1.0, -1.0])
    rng = np.random.default_rng(6)
    points, rotations = rng.normal(size=(4, 3)), rng.normal(size=(5, 3, 3))
    expected_points, expected_rotations = points @ across, across @ rotations @ across
    mirror(points)
    mirror(rotations)
    np.testing.assert_array_equal(points, expected_points)
    np.testing.assert_array_equal(rotations, expected_rotations)
