"""Andrews' squeezing mechanism against the published solution of a benchmark of closed mechanisms.

Start and end: Test Set for IVP Solvers (Mazzia, Magherini 2008, problem II-18 to 18), after Hairer, Wanner
(1996), section VII.7; the end by another code at a tolerance of 1e-14.
"""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.simulation.load import load_simulator

NAMES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
END = (
    15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948,
    0.5244099658805304, 0.5347301163226948, 1.048080741042263,
)  # fmt: skip
END_SPEEDS = (
    1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385,
    0.5735699284790808, -19.29337464421385, 0.3231791658026955,
)  # fmt: skip
START_ACCELERATIONS = (14222.44391995411, -10666.83293996559, 0.0, 0.0, 0.0, 0.0, 0.0)
START_MULTIPLIERS = (98.56687039624109, -6.122688344255663)  # of the first loop, along X and Y


def squeezer(**settings):
    """Return the shipped mechanism, and its coordinates and dofs in the order of the benchmark."""
    some = load_simulator("squeezer", **settings)
    own = [some.model.coordinates.names.index(name) for name in NAMES]
    return some, some.model.coordinates.q[own], some.model.coordinates.dof[own]


def test_the_start() -> None:
    """Protects accelerations and forces of three closed loops: as published, to rounding."""
    some, _, dofs = squeezer()
    trace = some.trace(1)
    some.run(0, 0, trace, last=True)
    np.testing.assert_allclose(trace.v_dot[0, dofs], START_ACCELERATIONS, rtol=1e-12, atol=1e-8)
    force = np.hypot(*trace.hold[0, :2])
    assert force == pytest.approx(np.hypot(*START_MULTIPLIERS), rel=1e-12)
    np.testing.assert_allclose(trace.hold[0, 3:], 0.0, atol=1e-9)


@pytest.mark.parametrize(("method", "step_ms", "error"), [("rodas4p", 0.02, 5e-9), ("ros34pw2", 0.02, 3e-5)])
def test_the_end(method: str, step_ms: float, error: float) -> None:
    """Protects accuracy over two and a half turns of the crank: the published angles and speeds."""
    some, q, dofs = squeezer(method=method, step_ms=step_ms)
    assert some.run(round(30.0 / step_ms), 0, some.trace(0)) == 0
    np.testing.assert_allclose(some.q[q], END, rtol=0, atol=error)
    np.testing.assert_allclose(some.v[dofs], END_SPEEDS, rtol=0, atol=500.0 * error)
