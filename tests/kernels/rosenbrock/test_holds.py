"""Steps under constraints: the twin, order, energy, momentum, and motions known otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.rosenbrock.holds import hold_jerk
from kernels.rosenbrock.step import UNHELD, find_jerk
from kernels.rosenbrock.tableau import METHODS
from tests.kernels.rosenbrock import loops
from tests.kernels.rosenbrock.mechanisms import apart, rows, run, simulator
from tests.naive import holds
from tests.naive.dynamics import mass_matrix, momentum, potential_energy
from tests.naive.rosenbrock_step import spring_forces

Array = NDArray[np.float64]

DURATION = 0.3
EVERY_METHOD = pytest.mark.parametrize("method", list(METHODS))
MODELS = {"four_bar": loops.FOUR_BAR, "driven": loops.DRIVEN, "tied": loops.TIED}
GAP = 1e-11
"""Largest gap of anything held at any time [m]."""


def twin(some) -> holds.Held:
    """Return what the twin needs of a simulator."""
    simulation = some.simulation
    return holds.Held(simulation.system, simulation.couplers, simulation.holds.constraints)


def gaps(some) -> Array:
    """Return values (n_row,) of all constraints at the state, by the twin."""
    held = twin(some)
    return holds.values(held.system.tree, held.constraints, some.q)


def energy(some, trace) -> Array:
    """Return kinetic and potential energy (n_row,) [J]."""
    system = some.simulation.system
    return np.array([
        0.5 * v @ mass_matrix(system, q) @ v + potential_energy(system, q)
        for q, v in zip(trace.q, trace.v, strict=True)
    ])  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_accelerations_of_the_twin(name: str) -> None:
    """Protects multipliers, dependent rows, followers and prescribed coordinates together."""
    some, trace = rows(MODELS[name], 20, 0.1, 2, method="rodas4p")
    held = twin(some)
    for k, time in ((0, 0.0), (2, 0.1)):
        q, v = trace.q[k], trace.v[k]
        tau = spring_forces(held.system, some.simulation.forces, q, v)
        found = holds.accelerations(held, q, v, tau, time)
        np.testing.assert_allclose(trace.v_dot[k], found, rtol=1e-6, atol=1e-6 * np.abs(found).max())


@pytest.mark.parametrize("name", MODELS)
def test_the_start_is_that_of_the_twin(name: str) -> None:
    """Protects the way onto the constraints: the shortest in the metric of the masses, as of the twin."""
    model = MODELS[name].split("[simulation]")[0] if name != "driven" else MODELS[name]
    some = simulator(model)
    start = some.model.q_neutral
    q, v = holds.put(twin(some), start, np.zeros(some.model.n_v))
    np.testing.assert_allclose(some.q, q, rtol=0, atol=3e-7)
    np.testing.assert_allclose(some.v, v, rtol=0, atol=3e-6)
    assert np.abs(gaps(some)).max() < GAP


@pytest.fixture(scope="module", params=list(MODELS))
def known(request):
    """Return a model and its end, far nearer than every error compared with it."""
    model = MODELS[request.param]
    return model, run(model, 960, DURATION, method="rodas4p")


@pytest.mark.compiled
@EVERY_METHOD
def test_order(known, method: str) -> None:
    """Protects the exact Jacobian of held motion and the way back: every method has its order at least."""
    model, end = known
    coarse, fine = (apart(run(model, n, DURATION, method=method), end) for n in (60, 120))
    assert np.log2(coarse / fine) > METHODS[method].order - 0.3


@EVERY_METHOD
def test_energy_of_a_four_bar(method: str) -> None:
    """Protects reactions: they do no work, so that energy drifts by the error of the method alone."""
    drifts = []
    for n in (80, 160):
        found = energy(*rows(loops.FOUR_BAR, n, DURATION, 8, method=method))
        drifts.append(np.abs(found - found[0]).max())
    assert np.log2(drifts[0] / drifts[1]) > METHODS[method].order - 0.35


@pytest.mark.compiled
def test_nothing_drifts() -> None:
    """Protects long runs: after ten seconds of motion the loop is as closed as at the start."""
    some, trace = rows(loops.FOUR_BAR, 10_000, 10.0, 10)
    assert np.abs(trace.q[:, 0] - trace.q[0, 0]).max() > 0.3
    for q in trace.q:
        some.q[:] = q
        assert np.abs(gaps(some)).max() < GAP


def test_a_rod_is_a_hinge() -> None:
    """Protects against a model in its one coordinate: a bob on a rod swings as a pendulum of its length."""
    free, fixed = (run(model, 400, 0.8, method="rodas4p") for model in (loops.BOB, loops.HINGED))
    angle, rate = fixed.q[0], fixed.v[0]
    np.testing.assert_allclose(free.q[:2], [0.4 * np.sin(angle), -0.4 * np.cos(angle)], rtol=0, atol=2e-9)
    along = 0.4 * rate * np.array([np.cos(angle), np.sin(angle)])
    np.testing.assert_allclose(free.v[:2], along, rtol=0, atol=2e-8)


def test_the_force_of_a_rod() -> None:
    """Protects sign and size of what is told: a rod pulls by m g cos + m v^2 / l, minus its force."""
    some, trace = rows(loops.BOB, 200, 0.4, 4, method="rodas4p")
    for q, v, told in zip(trace.q, trace.v, trace.hold, strict=True):
        pull = 1.3 * (9.81 * -q[1] + v[0] ** 2 + v[1] ** 2) / 0.4
        assert told[0] == pytest.approx(-pull, rel=1e-9)
    assert some.model.names.holds == ("rod",)


def test_a_loop_is_what_couplers_say() -> None:
    """Protects a closed parallelogram: it moves as with couplers, which eliminate what the loop ties."""
    closed, coupled = (
        run(model, 200, 0.15, method="rodas4p")
        for model in (loops.PARALLELOGRAM, loops.PARALLELOGRAM_COUPLED)
    )
    assert abs(closed.q[0] - closed.model.q_neutral[0]) > 0.1
    np.testing.assert_allclose(closed.q, coupled.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(closed.v, coupled.v, rtol=0, atol=1e-8)


def test_rows_that_depend_on_others() -> None:
    """Protects overconstrained mechanisms: a third crank of no mass changes nothing, nor do its forces."""
    plain, spare = (
        run(model, 100, 0.15, method="rodas4p") for model in (loops.PARALLELOGRAM, loops.OVERCONSTRAINED)
    )
    assert (spare.met.n_row, spare.met.n_independent) == (6, 3)
    np.testing.assert_allclose(spare.q[:3], plain.q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(spare.v[:3], plain.v, rtol=0, atol=1e-7)
    assert np.abs(gaps(spare)).max() < GAP


def test_momentum_of_what_floats() -> None:
    """Protects the third law: what is held between bodies changes neither momentum."""
    drifts = []
    for n in (60, 120):
        some, trace = rows(loops.AFLOAT, n, DURATION, 2, method="rodas4p")
        found = np.array([
            momentum(some.simulation.system, q, v) for q, v in zip(trace.q, trace.v, strict=True)
        ])  # fmt: skip
        assert np.abs(found[0]).min() > 1e-3
        drifts.append(np.abs(found - found[0]).max())
    assert np.log2(drifts[0] / drifts[1]) > 3.6


@pytest.mark.parametrize("name", MODELS)
def test_jerk(name: str) -> None:
    """Protects steps that are split: how accelerations change along a held motion, by differences."""
    some, trace = rows(MODELS[name], 200, 0.02, 200, method="rodas4p")
    n_v, work, step = some.model.n_v, some.work, 0.02 / 200
    at = simulator(MODELS[name])
    at.q[:], at.v[:], at.start_time = trace.q[100], trace.v[100], 0.01
    at.run(0, 0, at.trace(1), last=True)
    work, jerk = at.work, np.zeros(n_v)
    find_jerk(at.v, work.v_dot, work.stages, jerk)
    hold_jerk(at.simulation.holds, work.dynamics.M, work.holds, at.v, work.v_dot, jerk)
    free = np.setdiff1d(np.arange(n_v), at.simulation.couplers.dof)
    found = (jerk + work.reduction.onset)[free]
    a, b, c, d = (trace.v_dot[100 + s][free] for s in (-2, -1, 1, 2))
    expected = (a - 8.0 * b + 8.0 * c - d) / (12.0 * step)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


def test_what_locks_ends_the_run() -> None:
    """Protects the state: a crank driven beyond its reach ends the run, and q is the last that was held."""
    model = loops.FOUR_BAR.replace(", neutral_deg = 60.0", "").replace(
        'hold = ["crank"]\nspeeds = { crank = 400.0 }',
        '\n[[couplers]]\ncoordinate = "crank"\nof = "time"\nlinear = [3.0, 1.0]\n',
    )
    some = simulator(model.replace("offset_mm = [250.0", "offset_mm = [100.0"))
    assert some.run(1000, 0, some.trace(0)) == UNHELD
    assert 10 < some.n_step < 1000
    assert np.isfinite(np.concatenate([some.q, some.v])).all()
    assert np.abs(gaps(some)).max() < 1e-9
    assert some.widest.startswith("loop")
