"""Energy of a system and the power of its forces: independent sums, and differences along a motion."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.dynamics.energy import energy_and_power
from kernels.dynamics.system import new_dynamics_work
from tests.kernels.dynamics.cases import Case
from tests.kernels.dynamics.derivative_cases import CASES, any_case
from tests.naive import dynamics
from tests.naive.tree import integrate

Array = NDArray[np.floating]
STEP = 1e-5


def found(case: Case) -> Array:
    """Return energy [J] and power [W]."""
    out, work, n_v = np.full(2, np.nan), new_dynamics_work(case.system.tree), len(case.v)
    energy_and_power(case.system, (case.q, case.v, case.v_dot), case.wrench, work, np.full(n_v, np.nan), out)
    return out


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_energy_is_that_of_the_bodies_and_power_its_rate(name: str, seed: int) -> None:
    """Protects the balance of energy from both of its sides, for every joint."""
    case = any_case(name, seed)
    energy, power = found(case)
    expected = dynamics.kinetic_energy(case.system, case.q, case.v)
    expected += dynamics.potential_energy(case.system, case.q)
    assert energy == pytest.approx(expected, rel=1e-7)
    ends = []
    for h in (-STEP, STEP):
        way = h * case.v + 0.5 * h * h * case.v_dot
        q = integrate(case.system.tree, case.q, way)
        ends.append(found(case._replace(q=q, v=case.v + h * case.v_dot))[0])
    scale = np.abs(case.v) @ np.abs(case.v_dot) + abs(energy)
    assert (ends[1] - ends[0]) / (2.0 * STEP) == pytest.approx(power, abs=1e-6 * scale)
