"""Two spheres that collide: what a collision keeps, from the model's file to the last step."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.simulation.simulator import Simulator

M, INERTIA = 0.17, 5.552e-5
SHIFT = np.array([-0.03, 0.02, 0.0, 0.03, 0.0, 0.0])


def collide(friction: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return q and v (6,) before and after: x, y, rotation of each ball."""
    spec = load_model("collision")
    if not friction:
        contact = msgspec.structs.replace(spec.contacts[0], friction=None)
        spec = msgspec.structs.replace(spec, contacts=(contact,))
    simulator = Simulator(build(spec), spec.simulation)
    q, v = simulator.q.copy() + SHIFT, simulator.v.copy()
    simulator.run(5000, 0, simulator.trace(1))
    return q, v, simulator.q + SHIFT, simulator.v.copy()


def moment(q: np.ndarray, v: np.ndarray) -> float:
    """Return the moment of momentum about the origin [N m s]."""
    return float(sum(M * (q[i] * v[i + 1] - q[i + 1] * v[i]) + INERTIA * v[i + 2] for i in (0, 3)))


def energy(v: np.ndarray) -> float:
    """Return the kinetic energy [J]."""
    return float(0.5 * np.array([M, M, INERTIA] * 2) @ v**2)


@pytest.mark.parametrize("friction", [False, True])
def test_a_collision_keeps_momentum(friction):
    """Protects both sides of a contact of spheres: force and torque on one are opposite to the other's."""
    q, v, q_end, v_end = collide(friction)
    assert v_end[3] > 1.0
    np.testing.assert_allclose(v_end[:2] + v_end[3:5], v[:2] + v[3:5], rtol=0.0, atol=1e-12)
    assert moment(q_end, v_end) == pytest.approx(moment(q, v), abs=1e-9)


def test_energy_goes_into_friction_alone():
    """Protects the elastic lens: without friction all comes back and nothing turns; friction takes some."""
    _, v, _, v_end = collide(False)
    assert energy(v_end) == pytest.approx(energy(v), rel=1e-6)
    assert v_end[2] == pytest.approx(0.0, abs=1e-12)
    _, v, _, v_end = collide(True)
    assert 0.9 * energy(v) < energy(v_end) < 0.999 * energy(v)
    assert v_end[2] == pytest.approx(v_end[5], rel=1e-6)
