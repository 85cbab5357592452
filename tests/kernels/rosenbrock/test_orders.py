"""How the error of a motion falls with the step: smooth, with rotations in space, and stiff."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.rosenbrock.tableau import METHODS
from rtsim.simulation.simulator import Simulator
from tests.kernels.rosenbrock.mechanisms import DOUBLE_PENDULUM, TUMBLER, apart, run

SMOOTH = {"double_pendulum": (DOUBLE_PENDULUM, 0.1), "tumbler": (TUMBLER, 0.3)}  # model, duration [s]
# The second hinge all but locked, at its rest: rates of 1e4 /s beside a pendulum's of 5 /s.
STIFF = (
    DOUBLE_PENDULUM.replace("rest_deg = 10.0", "rest_deg = -30.0")
    .replace("side = -100.0", "side = 0.0")
    .replace("stiffness_N_m_rad = 3.0", "stiffness_N_m_rad = 1e4")
    .replace("damping_N_m_s_rad = 0.05", "damping_N_m_s_rad = 100.0")
)
# A ligament catches a block after 20 ms.
CATCH = """
name = "catch"
source = "test"
gravity_m_s2 = [0.0, 0.0, 0.0]
[[bodies]]
name = "block"
joint = "slider"
axis = "u"
coordinates = [{ name = "along", neutral_mm = 90.0 }]
mass_kg = 1.0
[[ligaments]]
name = "band"
a = { segment = "block" }
b = { segment = "ground" }
slack_length_mm = 100.0
stiffness_N = 500.0
damping_N_s_m = 40.0
damping_onset_mm = ONSET
[simulation]
speeds = { along = 500.0 }
"""


def observed_order(model: str, duration: float, method: str, n_step: int, end: Simulator) -> float:
    """Return the rate at which the error falls from n_step to twice as many steps."""
    coarse, fine = (apart(run(model, n, duration, method=method), end) for n in (n_step, 2 * n_step))
    return float(np.log2(coarse / fine))


@pytest.fixture(scope="module")
def ends() -> dict[str, Simulator]:
    """Return the end of each motion, far nearer than every error compared with it."""
    found = {name: run(model, 320, duration, method="rodas4p") for name, (model, duration) in SMOOTH.items()}
    return found | {"stiff": run(STIFF, 1200, 0.3, method="rodas4p")}


@pytest.mark.parametrize("name", list(SMOOTH))
@pytest.mark.parametrize("method", list(METHODS))
def test_order_of_a_smooth_motion(ends: dict[str, Simulator], name: str, method: str) -> None:
    """Protects the whole step with its exact slopes: every method has its order, rotations in space too."""
    found = observed_order(*SMOOTH[name], method, 40, ends[name])
    assert found == pytest.approx(METHODS[method].order, abs=0.2)


@pytest.mark.parametrize("method", list(METHODS))
def test_order_of_a_stiff_motion(ends: dict[str, Simulator], method: str) -> None:
    """Protects stiff joints: 50 time constants a step cost neither stability nor an order up to three."""
    found = observed_order(STIFF, 0.3, method, 60, ends["stiff"])
    assert found > min(METHODS[method].order, 3) - 0.4
    assert apart(run(STIFF, 60, 0.3, method=method), ends["stiff"]) < 0.05


@pytest.mark.compiled
@pytest.mark.parametrize(("onset", "order"), [("0.0", 1), ("2.0", 3)])
@pytest.mark.parametrize("method", ["ros34pw2", "rodas4p"])
def test_order_where_a_ligament_catches(method: str, onset: str, order: int) -> None:
    """Protects the gentle onset of damping: order 3 where a jump of damping leaves 1, of the worst steps."""
    model = CATCH.replace("ONSET", onset)
    end = run(model, 20_000, 0.06, method="rodas4p")
    coarse, fine = (
        max(apart(run(model, n, 0.06, method=method), end) for n in range(most, most + most // 4, most // 32))
        for most in (64, 512)
    )
    assert np.log2(coarse / fine) / 3.0 == pytest.approx(order, abs=0.35)
    assert fine > 1e-4 if order == 1 else fine < 5e-8
