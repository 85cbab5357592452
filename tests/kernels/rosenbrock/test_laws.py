"""What a motion keeps: energy, momentum, the length of quaternions, and rest."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.forces.lines import LENGTH
from kernels.rosenbrock.tableau import METHODS
from rtsim.simulation.simulator import Simulator
from tests.kernels.rosenbrock.mechanisms import LINKAGE, rows, run, simulator
from tests.naive import dynamics

Array = NDArray[np.float64]

STIFFNESS, REST = 120.0, 0.3  # N/m, m
SPRING_PENDULUM = f"""
name = "spring pendulum"
source = "test"

[[bodies]]
name = "bob"
joint = "planar"
axes = ["u", "v"]
coordinates = [
  {{ name = "x", neutral_mm = 300.0 }},
  {{ name = "y", neutral_mm = -150.0 }},
  {{ name = "turn" }},
]
mass_kg = 1.0
inertia_kg_m2 = [0.01, 0.01, 0.01]

[[springs]]
name = "string"
a = {{ segment = "bob", offset_mm = [0.0, 50.0, 0.0] }}
b = {{ segment = "ground" }}
rest_mm = {1e3 * REST}
stiffness_N_m = {STIFFNESS}
"""
IN_SPACE = (
    LINKAGE.replace("[[bodies]]", "gravity_m_s2 = [0.0, 0.0, 0.0]\n\n[[bodies]]", 1).replace(
        'segment = "ground"', 'segment = "ball"'
    )  # nothing holds on to ground
)


def energy_drift(n_step: int, method: str) -> float:
    """Return the largest change of energy [J] of a spring pendulum over eighths of its motion."""
    some, trace = rows(SPRING_PENDULUM, n_step, 0.8, 8, method=method)
    system, found = some.simulation.system, []
    for q, v, line in zip(trace.q, trace.v, trace.line, strict=True):
        moving = 0.5 * v @ dynamics.mass_matrix(system, q) @ v + dynamics.potential_energy(system, q)
        found.append(moving + 0.5 * STIFFNESS * (line[0, LENGTH] - REST) ** 2)
    return float(np.abs(np.array(found) - found[0]).max())


def momentum(some: Simulator) -> Array:
    """Return angular momentum about ground's origin and momentum (6,)."""
    return dynamics.momentum(some.simulation.system, some.q, some.v)


def momentum_drift(n_step: int, method: str) -> float:
    """Return how much momentum a linkage in space gains or loses over its motion."""
    return float(
        np.linalg.norm(momentum(run(IN_SPACE, n_step, 0.1, method=method)) - momentum(simulator(IN_SPACE)))
    )


@pytest.mark.parametrize("method", list(METHODS))
def test_energy_of_an_undamped_spring_pendulum(method: str) -> None:
    """Protects elastic forces in motion: their energy drifts by the error of the method alone."""
    coarse, fine = (energy_drift(n, method) for n in (80, 160))
    assert np.log2(coarse / fine) > METHODS[method].order - 0.3
    assert fine < {1: 1.0, 2: 2e-2, 3: 2e-3, 4: 1e-5}[METHODS[method].order]


@pytest.mark.parametrize("method", list(METHODS))
def test_momentum_without_ground(method: str) -> None:
    """Protects forces between bodies, and rotations in space: momenta drift by the method's error alone."""
    coarse, fine = (momentum_drift(n, method) for n in (50, 100))
    assert np.log2(coarse / fine) > METHODS[method].order - 0.3


def test_quaternions_keep_their_length() -> None:
    """Protects long runs: orientation stays a rotation through hundreds of steps."""
    some = run(LINKAGE, 300, 3.0, method="ros2")
    for quaternion in (some.q[3:7], some.q[7:11]):
        assert np.linalg.norm(quaternion) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("method", list(METHODS))
def test_rest_stays_rest(method: str) -> None:
    """Protects equilibria: a model that starts in one stays there at any step."""
    some = simulator(
        LINKAGE,
        equilibrium="loaded",
        speeds={},
        velocities_mm_s={},
        turning_deg_s={},
        step_ms=50.0,
        method=method,
    )
    before = some.q.copy()
    some.run(20, 0, some.trace(0))
    np.testing.assert_allclose(some.q, before, rtol=0.0, atol=1e-8)
    assert np.abs(some.v).max() < 1e-7
