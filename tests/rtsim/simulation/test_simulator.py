"""The simulator: settings into options, time, reset, masses that change, room for results."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from kernels.rosenbrock.tableau import METHODS
from kernels.rosenbrock.trace import RECORDED, STEP
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.simulation.model_state import MAX_SPLIT
from rtsim.simulation.simulator import Simulator


def simulator(name: str, **settings) -> Simulator:
    """Return a simulator of a shipped model with some settings of its own."""
    return Simulator(
        build(load_model(name)), msgspec.structs.replace(load_model(name).simulation, **settings)
    )


@pytest.mark.parametrize("name", ["knee", "impact"])
def test_reset_is_the_start_bit_by_bit(name: str) -> None:
    """Protects repeated trials: after a reset the same motion comes again, to the last bit."""
    some = simulator(name)
    start, again = some.trace(3), some.trace(3)
    some.run(20, 10, start, last=True)
    some.reset()
    assert some.time == 0.0
    some.run(20, 10, again, last=True)
    for one, other in zip(start, again, strict=True):
        np.testing.assert_array_equal(one, other)
    fresh = simulator(name)
    np.testing.assert_array_equal(fresh.q, start.q[0])


def test_reset_keeps_gravity_and_gains() -> None:
    """Protects devices: what a device has set outlives a reset, and finding the equilibrium."""
    some = simulator("knee")
    some.gain[0] = 0.25
    some.reset()
    assert some.gain[0] == 0.25
    np.testing.assert_array_equal(some.simulation.system.gravity, [0.0, -9.81, 0.0])


def test_settings_become_options() -> None:
    """Protects the way from a model file to the kernel: units, and what each kind of kinks means."""
    for kinks, secant, split in (("exact", 0, 1), ("secant", 1, 1), ("split", 0, MAX_SPLIT)):
        options = simulator("stick_slip", kinks=kinks, step_ms=0.5, tolerance=0.02).options
        assert (options.secant, options.split) == (secant, split)
        assert (options.step, options.tolerance) == (5e-4, 0.02)
    options = simulator("stick_slip", split_fraction=0.3, split_floor=0.07).options
    assert (options.fraction, options.floor) == (0.3, 0.07)
    for method in METHODS:
        assert simulator("stick_slip", method=method).method is METHODS[method]


def test_time_and_rows_go_on_from_call_to_call() -> None:
    """Protects the loop of a live run: time is that of the state, rows follow each other, none is lost."""
    some = simulator("stick_slip", step_ms=2.0)
    trace = some.trace(7)
    for n in (10, 15, 35):
        some.run(n, 10, trace)
    assert some.time == pytest.approx(0.12)
    assert (trace.counts[STEP], trace.counts[RECORDED]) == (60, 6)
    np.testing.assert_allclose(trace.q[:6, 0], 0.1 * 0.02 * np.arange(6), rtol=2e-2, atol=1e-12)
    other = some.trace(1)
    some.run(0, 0, other, last=True)
    assert some.time == pytest.approx(0.12)
    np.testing.assert_array_equal(other.q[0], some.q)


def test_a_changed_mass_is_read_by_refresh() -> None:
    """Protects changes between runs where the inertia is constant: half the mass, twice the acceleration."""
    some = simulator("impact")
    some.q[1] = -1e-3
    found = []
    for share in (1.0, 0.5):
        some.simulation.system.bodies.mass[0] = 0.5 * share
        some.refresh()
        trace = some.trace(1)
        some.run(0, 0, trace, last=True)
        found.append(trace.v_dot[0, 1])
    assert found[1] == pytest.approx(2.0 * found[0], rel=1e-12)
    assert found[0] > 1.0
