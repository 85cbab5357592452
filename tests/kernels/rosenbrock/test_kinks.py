"""Steps in which friction turns round: split, with the secant slope, left alone; sticking and slipping."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from kernels.forces.friction import BROWN_MCPHEE
from kernels.forces.frictions import FORCE, SLIDING_SPEED
from kernels.rosenbrock.trace import N_PART, STEP
from rtsim.config.paths import find_config
from tests.kernels.rosenbrock.mechanisms import rows, simulator
from tests.naive.friction import Parameters, friction_force

Array = NDArray[np.float64]

DURATION = 8e-3  # s, of the impact
RADIUS = 0.05  # m, of the ball
BELT, LOAD, STIFFNESS = 0.1, 9.81, 10.0  # m/s, N, N/m of the block on the belt
MU_S, MU_D, V_T = 0.2, 0.15, 1e-3  # 1, 1, m/s
# Beside the block a mass that nothing touches: its place tells how much time has passed.
WITH_CLOCK = (
    find_config("stick_slip", "models").read_text(encoding="utf-8")
    + """
[[bodies]]
name = "clock"
joint = "slider"
axis = "u"
coordinates = [{ name = "clock" }]
mass_kg = 3.0
"""
)


def impact(n_step: int, **settings) -> tuple[Array, Array]:
    """Return speeds (9, 3) [m/s] after every eighth of the impact, and the counts."""
    _, trace = rows("impact", n_step, DURATION, 8, **settings)
    return trace.v * [1.0, 1.0, RADIUS], trace.counts


@pytest.fixture(scope="module")
def reference() -> Array:
    """Return speeds of the impact by steps far finer than those compared with it."""
    return impact(2000, method="rodas4p", kinks="split")[0]


@pytest.mark.parametrize("method", ["ros34pw2", "rodas4p"])
def test_split_beats_secant_beats_nothing(reference: Array, method: str) -> None:
    """Protects what each treatment of a kink is there for: 200 us steps across where the ball grips."""
    error = {
        kinks: np.abs(impact(40, method=method, kinks=kinks)[0] - reference).max()
        for kinks in ("split", "secant", "exact")
    }
    assert error["split"] < 0.2 * error["secant"]
    assert error["secant"] < 0.1
    assert error["exact"] > 10.0 * error["secant"]


def test_split_costs_few_parts_and_keeps_the_order(reference: Array) -> None:
    """Protects the cost and the worth of parts: a fixed number more, and an error of 1e-6 m/s at 100 us."""
    counts = {}
    for n in (80, 160, 400):
        speeds, count = impact(n, method="rodas4p", kinks="split")
        counts[n] = count[N_PART] - count[STEP]
        assert count[STEP] == n
        assert np.abs(speeds - reference).max() < 1e-6
    assert all(0 < extra < 60 for extra in counts.values())


def test_parts_only_where_something_rubs() -> None:
    """Protects speed: a ball in the air, and every other treatment, takes whole steps."""
    for kinks in ("secant", "exact"):
        _, count = impact(40, kinks=kinks)
        assert count[N_PART] == count[STEP] == 40
    some = simulator("impact", step_ms=0.2, kinks="split")
    some.q[1] = 1e-4
    some.v[1] = 5.0
    trace = some.trace(0)
    some.run(10, 0, trace)
    assert trace.counts[N_PART] == 10


def test_parts_add_up_to_the_step() -> None:
    """Protects time: however a step is split, what moves by itself moves for exactly one step."""
    some = simulator(WITH_CLOCK, step_ms=20.0, kinks="split")
    clock = some.model.coordinates.names.index("clock")
    some.q[0], some.v[clock] = 0.19, 1.0
    trace = some.trace(41)
    some.run(40, 1, trace, last=True)
    assert trace.counts[N_PART] > 60
    np.testing.assert_allclose(trace.q[:, clock], 0.02 * np.arange(41), rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(trace.v[:, clock], 1.0, rtol=0.0, atol=1e-14)


def place_of_slip(start: float) -> float:
    """Return where a block that starts at `start` [m] slips [m], by an adaptive method on the printed law."""

    def motion(t: float, y: Array) -> list[float]:
        friction = friction_force(BROWN_MCPHEE, Parameters(), y[1] - BELT, LOAD)
        return [y[1], -STIFFNESS * y[0] - friction]

    def slipping(t: float, y: Array) -> float:
        return BELT - y[1] - V_T

    slipping.terminal = True  # type: ignore[attr-defined]
    found = solve_ivp(motion, (0.0, 1.0), [start, BELT], "Radau", rtol=1e-9, atol=1e-12, events=slipping)
    return float(found.y[0, -1])


@pytest.mark.parametrize("kinks", ["split", "secant"])
def test_block_sticks_slips_and_sticks_again(kinks: str) -> None:
    """Protects stick-slip: belt speed while the spring pulls less than static friction holds, then not."""
    n_step, start = 800, 0.18
    some = simulator("stick_slip", step_ms=2.5, kinks=kinks, method="ros34pw2")
    some.q[0] = start
    trace = some.trace(n_step + 1)
    some.run(n_step, 1, trace, last=True)
    place, sliding, force = trace.q[:, 0], trace.friction[:, 0, SLIDING_SPEED], trace.friction[:, 0, FORCE]
    np.testing.assert_allclose(sliding, trace.v[:, 0] - BELT, rtol=0.0, atol=1e-15)
    phases = [(slips, len(list(group))) for slips, group in itertools.groupby(np.abs(sliding) > V_T)]
    assert [slips for slips, _ in phases] == [False, True, False]
    onset = phases[0][1]
    # the spring carries the block as far as static friction does, and its inertia a little farther
    assert place[onset - 1] < place_of_slip(start) <= place[onset]
    assert place[onset] == pytest.approx(MU_S * LOAD / STIFFNESS, rel=0.01)
    assert force[onset - 1 : onset + 1].max() == pytest.approx(MU_S * LOAD, rel=1e-3)
    held = slice(10, onset - 10)
    np.testing.assert_allclose(force[held], STIFFNESS * place[held], rtol=5e-3)
    assert np.abs(sliding).max() > 0.1
    assert np.abs(force[sliding < -0.05]).max() < 1.01 * MU_D * LOAD


SPINNING = """
name = "top"
source = "a spinning patch that is brought to rest"
gravity_m_s2 = [0.0, 0.0, 0.0]

[[bodies]]
name = "ball"
joint = "hinge"
axis = "v"
in_parent = { offset_mm = [0.0, 45.0, 0.0] }
coordinates = [{ name = "turn" }]
mass_kg = 0.5
inertia_kg_m2 = [5.0e-4, 5.0e-4, 5.0e-4]

[[contacts]]
name = "floor"
ellipsoid = { segment = "ball", radius_mm = 50.0 }
plane = { segment = "ground", normal = [0.0, 1.0, 0.0] }
stiffness = 2.0e9
spinning = true

[contacts.friction]
static = 0.2
dynamic = 0.15
transition_velocity_m_s = 0.001
transition_angular_velocity_rad_s = 0.05

[simulation]
speeds = { turn = 600.0 }
"""


@pytest.mark.parametrize("kinks", ["split", "secant"])
@pytest.mark.parametrize("step_ms", [1.0, 0.2])
def test_spinning_comes_to_rest(kinks: str, step_ms: float) -> None:
    """Protects spinning friction at its kink: a ball pressed hard stops spinning and gains no energy."""
    some = simulator(SPINNING, step_ms=step_ms, kinks=kinks)
    n_step = round(50.0 / step_ms)
    trace = some.trace(n_step + 1)
    some.run(n_step, 1, trace, last=True)
    turn = trace.v[:, 0]
    assert (np.diff(np.abs(turn)) < (1e-9 if kinks == "split" else 5.0)).all()
    assert abs(turn[-1]) < 1e-6
