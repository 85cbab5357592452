"""What a live simulation publishes: its world turned upright, all places alike."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.simulation.quantities import SimulatedQuantities, upright
from rtsim.simulation.stride import SimulatorStride


@pytest.mark.parametrize("gravity", [(0, -9.81, 0), (0, 0, -9.81), (9.81, 0, 0), (1, 2, 3), (0, 9.81, 0)])
def test_the_world_is_turned_upright(gravity):
    """Protects the protocol, in which Y points up: gravity points down whatever the model's axes are."""
    W = upright(np.array(gravity, float))
    np.testing.assert_allclose(W @ W.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(W) == pytest.approx(1.0)
    np.testing.assert_allclose(W @ gravity, [0.0, -np.linalg.norm(gravity), 0.0], atol=1e-14)


def test_axes_that_stand_are_left_alone():
    """Protects models with Y up, or without gravity, from any turn."""
    for gravity in ((0.0, -9.81, 0.0), (0.0, 0.0, 0.0)):
        np.testing.assert_array_equal(upright(np.array(gravity)), np.eye(3))


def test_all_places_are_turned_alike(simulator):
    """Protects the picture of models with another axis up: bodies, ligaments and contacts stay together."""
    system = simulator.model.system
    stride = SimulatorStride(simulator, 1)
    stride.step(True)

    def told() -> dict:
        quantities = SimulatedQuantities(simulator, stride.trace, simulator.work.dynamics.pose)
        quantities.report()
        return {quantity.name: quantity.array.copy() for quantity in quantities.quantities}

    plain = told()
    gravity = system.gravity.copy()
    try:
        system.gravity[:] = [0.0, 0.0, -1.0]
        turned = told()
    finally:
        system.gravity[:] = gravity
    for name in ("segment_positions", "joint_centres", "ligament_ends", "contact_places"):
        x, y, z = np.moveaxis(plain[name], -1, 0)
        np.testing.assert_allclose(turned[name], np.stack([x, z, -y], axis=-1), atol=1e-15)
    W = upright(np.array([0.0, 0.0, -1.0]))
    np.testing.assert_allclose(turned["segment_rotations"], W @ plain["segment_rotations"], atol=1e-15)
