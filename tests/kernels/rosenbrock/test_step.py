"""One step: against the slow twin in all unknowns, its outcome, and the short cut of a constant inertia."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.rosenbrock.stages import new_stage_work
from kernels.rosenbrock.step import ERROR_LARGE, NON_FINITE, OK, SINGULAR, find_jerk
from kernels.rosenbrock.tableau import METHODS
from kernels.rosenbrock.trace import N_LARGE, N_PART, STATUS, STEP
from tests.kernels.rosenbrock.mechanisms import (
    DOUBLE_PENDULUM,
    LINKAGE,
    MASS,
    TUMBLER,
    rows,
    simulator,
    state_of,
)
from tests.naive.rosenbrock_step import jacobian, motion, step

Array = NDArray[np.floating]


@pytest.mark.parametrize("model", [DOUBLE_PENDULUM, TUMBLER, LINKAGE], ids=["pendulum", "tumbler", "linkage"])
def test_step_is_that_of_all_unknowns(model: str) -> None:
    """Protects the step of every method: coordinates, speeds, slopes of all forces, free and ball joints."""
    start, h = simulator(model), 5e-3
    f = motion(start.simulation.system, start.simulation.forces, start.q)
    J = jacobian(f, np.concatenate([np.zeros_like(start.v), start.v]))
    for method in METHODS.values():
        some = simulator(model, step_ms=1e3 * h, method=method.name)
        assert some.run(1, 0, some.trace(0)) in (OK, ERROR_LARGE)
        q, v = step(f, J, start.simulation.system.tree, method, start.q, start.v, h)
        np.testing.assert_allclose(some.q, q, rtol=0.0, atol=1e-11)
        np.testing.assert_allclose(some.v, v, rtol=0.0, atol=1e-10 * np.abs(v).max())


def test_a_singular_step_leaves_the_state() -> None:
    """Protects the caller: negative damping that eats up M/(h g) is told, and nothing has moved."""
    some = simulator(MASS, step_ms=1.0)
    some.simulation.forces.springs.damping[0] = -1.0 / (some.options.step * some.method.tableau.g)
    some.v[0] = 0.3
    before, trace = state_of(some), some.trace(0)
    assert some.run(5, 0, trace) == SINGULAR
    np.testing.assert_array_equal(state_of(some), before)
    assert (trace.counts[STEP], trace.counts[N_PART], trace.counts[STATUS]) == (0, 1, SINGULAR)
    assert some.n_step == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_force_that_is_no_number_leaves_the_state(bad: float) -> None:
    """Protects the state from a device's broken command: the step that would use it is not taken."""
    some = simulator(MASS, step_ms=1.0)
    some.v[0] = 0.3
    trace = some.trace(0)
    some.gain[0] = bad
    assert some.run(100, 0, trace) == NON_FINITE
    assert trace.counts[STEP] == some.n_step == 10  # the load begins after ten steps
    np.testing.assert_allclose(state_of(some), [0.003, 0.3], rtol=1e-12)
    some.gain[0] = 1.0
    assert some.run(1, 0, trace) == OK


def test_slopes_that_are_no_numbers_leave_the_state() -> None:
    """Protects the state where the matrix is broken, not only the right-hand side."""
    some = simulator(MASS)
    some.simulation.forces.springs.stiffness[0] = np.nan
    before = state_of(some)
    assert some.run(3, 0, some.trace(0)) == NON_FINITE
    np.testing.assert_array_equal(state_of(some), before)


def test_a_step_that_overflows_leaves_the_state() -> None:
    """Protects the state where all slopes are sound numbers and only the step itself is not."""
    some = simulator(MASS)
    some.simulation.forces.springs.damping[0] = 1e3
    some.v[0] = 1e306
    before = state_of(some)
    assert some.run(3, 0, some.trace(0)) == NON_FINITE
    np.testing.assert_array_equal(state_of(some), before)


def test_large_errors_are_counted() -> None:
    """Protects the health of a run: steps above the tolerance are counted and go on, others are not."""
    for tolerance, status in ((1e-15, ERROR_LARGE), (1e3, OK)):
        some = simulator(DOUBLE_PENDULUM, step_ms=5.0, tolerance=tolerance)
        trace = some.trace(0)
        assert some.run(12, 0, trace) == status
        assert trace.counts[N_LARGE] == (12 if status == ERROR_LARGE else 0)
        assert trace.counts[STEP] == 12


@pytest.mark.parametrize("method", ["lieuler", "ros2", "ros34pw2", "rodas4p"])
def test_embedded_error_falls_with_its_order(method: str) -> None:
    """Protects the error that a row reports: of a step, so one order above that of the embedded method."""
    order = max(METHODS[method].embedded_order, 1) + 1
    found = []
    for h in (0.5, 0.25):
        _, trace = rows(DOUBLE_PENDULUM, 1, 1e-3 * h, 1, method=method)
        found.append(trace.error[-1])
    assert np.log2(found[0] / found[1]) == pytest.approx(order, abs=0.25)


@pytest.mark.parametrize("model", ["impact", "stick_slip"])
@pytest.mark.parametrize("kinks", ["split", "secant"])
def test_constant_inertia_changes_nothing(model: str, kinks: str) -> None:
    """Protects the short cut: forces alone are evaluated, and the motion is that of the whole dynamics."""
    ends = []
    for constant in (1, 0):
        some = simulator(model, step_ms=0.1, kinks=kinks)
        assert some.simulation.constant == 1
        some.simulation = some.simulation._replace(constant=constant)
        trace = some.trace(1)
        some.run(60, 0, trace, last=True)
        ends.append((some.q, some.v, trace.v_dot[0]))
    for short, whole in zip(*ends, strict=True):
        np.testing.assert_allclose(short, whole, rtol=0.0, atol=1e-10 * np.abs(whole).max())


@pytest.mark.parametrize("seed", range(5))
def test_the_jerk_is_the_rate_of_the_acceleration(seed: int) -> None:
    """Protects the parts of a step that sticks: M^-1 (tau_q v + tau_v v_dot), by NumPy."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    work = new_stage_work(n)
    root = rng.normal(size=(n, n))
    work.M[:], work.tau_q[:], work.tau_v[:] = root @ root.T + n * np.eye(n), *rng.normal(size=(2, n, n))
    v, v_dot, jerk = *rng.normal(size=(2, n)), np.full(n, np.nan)
    find_jerk(v, v_dot, work, jerk)
    np.testing.assert_allclose(jerk, np.linalg.solve(work.M, work.tau_q @ v + work.tau_v @ v_dot), rtol=1e-11)


def test_the_jerk_is_that_of_a_motion() -> None:
    """Protects the sign and the place of the slopes: the rate of v_dot along a motion, by differences."""
    some = simulator(DOUBLE_PENDULUM, method="rodas4p", step_ms=0.01, kinks="exact")
    trace = some.trace(9)
    some.run(8, 1, trace, last=True)
    middle = simulator(DOUBLE_PENDULUM, method="rodas4p", step_ms=0.01, kinks="exact")
    middle.run(4, 0, middle.trace(1), last=True)
    jerk = np.zeros(len(some.v))
    find_jerk(middle.v, middle.work.v_dot, middle.work.stages, jerk)
    rate = (trace.v_dot[5] - trace.v_dot[3]) / 2e-5
    np.testing.assert_allclose(jerk, rate, rtol=1e-5)
