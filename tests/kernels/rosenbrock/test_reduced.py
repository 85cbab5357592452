"""Steps of models with couplers and prescribed motion: order, energy, power, and motions known otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from kernels.dynamics.constrained import constrained_dynamics
from kernels.dynamics.constraints import new_constraint_work
from kernels.dynamics.system import new_dynamics_work
from kernels.rosenbrock.step import NON_FINITE
from kernels.rosenbrock.tableau import METHODS
from tests.kernels.rosenbrock.mechanisms import apart, rows, run, simulator
from tests.naive.dynamics import inverse_dynamics, mass_matrix, potential_energy
from tests.naive.mechanisms import NO_ELEMENT, NO_ROLE, not_rolling

Array = NDArray[np.float64]

HEAD = """
name = "coupled"
source = "test"
"""
# A shank on a thigh in space, and a patella on the thigh whose place and turn follow the knee.
LEG = (
    HEAD
    + """
[[bodies]]
name = "thigh"
joint = "universal"
axes = ["w", "u"]
coordinates = [{ name = "hip", NEUTRAL }, { name = "spread" }]
mass_kg = 3.0
mass_centre_mm = [10.0, -180.0, 5.0]
inertia_kg_m2 = [0.05, 0.01, 0.05]

[[bodies]]
name = "shank"
joint = "hinge"
parent = "thigh"
axis = [0.1, 0.05, -1.0]
in_parent = { offset_mm = [0.0, -400.0, 0.0] }
coordinates = [{ name = "knee", neutral_deg = 50.0 }]
mass_kg = 2.0
mass_centre_mm = [0.0, -170.0, 10.0]
inertia_kg_m2 = [0.03, 0.005, 0.03]

[[bodies]]
name = "patella"
joint = "planar"
axes = ["u", "v"]
parent = "thigh"
in_parent = { offset_mm = [0.0, -400.0, 0.0] }
coordinates = [{ name = "forwards" }, { name = "up" }, { name = "tilt" }]
mass_kg = 0.4
mass_centre_mm = [5.0, 0.0, 0.0]
inertia_kg_m2 = [0.002, 0.002, 0.002]

[[couplers]]
coordinate = "forwards"
of = "knee"
polynomial = [0.05, 0.01, -0.02, 0.004]
[[couplers]]
coordinate = "tilt"
of = "up"
linear = [9.0, -0.1]
[[couplers]]
coordinate = "up"
of = "knee"
polynomial = [0.03, -0.05, 0.01]

[[springs]]
name = "quadriceps"
a = { segment = "patella", offset_mm = [0.0, 20.0, 0.0] }
b = { segment = "thigh", offset_mm = [30.0, -50.0, 0.0] }
rest_mm = 280.0
stiffness_N_m = 400.0

[simulation]
SPEEDS
"""
)
FREE_LEG = LEG.replace("NEUTRAL", "neutral_deg = 20.0").replace(
    "SPEEDS", "speeds = { hip = 60.0, spread = -80.0, knee = 140.0 }"
)
KICK = LEG.replace(", NEUTRAL", "").replace("SPEEDS", "speeds = { spread = -50.0, knee = 90.0 }") + (
    '[[couplers]]\ncoordinate = "hip"\nof = "time"\npolynomial = [0.2, 0.5, 3.0, 4.0, -12.0]\n'
)
STIFFNESS, REST = 400.0, 0.28
DURATION = 0.4
every_method = pytest.mark.parametrize("method", list(METHODS))


def energy(some, trace) -> Array:
    """Return the energy (n_row,) of a leg [J]."""
    system = some.simulation.system
    return np.array([
        0.5 * v @ mass_matrix(system, q) @ v
        + potential_energy(system, q)
        + 0.5 * STIFFNESS * (line[0, 0] - REST) ** 2
        for q, v, line in zip(trace.q, trace.v, trace.line, strict=True)
    ])  # fmt: skip


@pytest.fixture(scope="module", params=["follows", "prescribed"])
def known(request):
    """Return a model and its end, far nearer than every error compared with it."""
    model = FREE_LEG if request.param == "follows" else KICK
    return model, run(model, 640, DURATION, method="rodas4p")


@every_method
def test_order(known, method: str) -> None:
    """Protects slopes of the couplers and of time in the step: every method has its order at least."""
    model, end = known
    coarse, fine = (apart(run(model, n, DURATION, method=method), end) for n in (40, 80))
    assert np.log2(coarse / fine) > METHODS[method].order - 0.3


@every_method
def test_energy_with_couplers(method: str) -> None:
    """Protects followers: couplers do no work, so that energy drifts by the error of the method alone."""
    drifts = []
    for n in (80, 160):
        found = energy(*rows(FREE_LEG, n, DURATION, 8, method=method))
        drifts.append(np.abs(found - found[0]).max())
    assert np.log2(drifts[0] / drifts[1]) > METHODS[method].order - 0.35


def test_couplers_hold_in_every_row() -> None:
    """Protects the state itself: followers are where their drivers put them, to rounding, and as fast."""
    some, trace = rows(KICK, 40, DURATION, 8)
    names = some.model.coordinates.names
    q, v = (dict(zip(names, x.T, strict=True)) for x in (trace.q, trace.v))
    t = np.linspace(0.0, DURATION, 9)
    time, knee = np.polynomial.Polynomial([0.2, 0.5, 3.0, 4.0, -12.0]), q["knee"]
    np.testing.assert_allclose(q["hip"], time(t), atol=1e-14)
    np.testing.assert_allclose(v["hip"], time.deriv()(t), atol=1e-13)
    np.testing.assert_allclose(q["up"], 0.03 - 0.05 * knee + 0.01 * knee**2, atol=1e-15)
    np.testing.assert_allclose(v["tilt"], 9.0 * (0.02 * knee - 0.05) * v["knee"], atol=1e-13)


def test_the_motion_is_that_of_rows() -> None:
    """Protects a follower on another branch, as a patella: the constrained dynamics of all coordinates, with
    couplers as rows, by SciPy, gives the same end and the same forces along the followers."""
    some = run(
        FREE_LEG.replace("stiffness_N_m = 400.0", "stiffness_N_m = 0.0"), 400, DURATION, method="rodas4p"
    )
    start = simulator(FREE_LEG)
    system, model, n_v = start.simulation.system, start.model, start.model.n_v
    constraints = not_rolling(NO_ELEMENT, NO_ROLE, start.simulation.couplers)
    own, none = new_constraint_work(constraints, n_v), np.zeros((3, 6))
    work, multiplier = new_dynamics_work(system.tree, len(own.value)), np.zeros(len(own.value))

    def rate(t: float, y: Array) -> Array:
        v_dot = np.zeros(n_v)
        constrained_dynamics(
            system, constraints, y[:n_v], y[n_v:], np.zeros(n_v), none, work, own, v_dot, multiplier
        )
        return np.concatenate([y[n_v:], v_dot])

    start.run(0, 0, start.trace(1), last=True)
    y = np.concatenate([model.q_neutral, start.v])
    end = solve_ivp(rate, (0.0, DURATION), y, "DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(np.concatenate([some.q, some.v]), end, rtol=0, atol=2e-8)
    rate(0.0, np.concatenate([some.q, some.v]))
    trace = some.trace(1)
    some.run(0, 0, trace, last=True)
    np.testing.assert_allclose(trace.coupler[0], multiplier[:3], rtol=1e-9)


REEL = (
    HEAD
    + """
[[bodies]]
name = "arm"
joint = "hinge"
axis = "w"
coordinates = [{ name = "swing", neutral_deg = 60.0 }]
inertia_kg_m2 = [0.0, 0.0, 0.0]

[[bodies]]
name = "bob"
joint = "slider"
axis = [0.0, -1.0, 0.0]
parent = "arm"
coordinates = [{ name = "length" }]
mass_kg = 1.5
inertia_kg_m2 = [0.01, 0.01, 0.01]

[[couplers]]
coordinate = "length"
of = "swing"
polynomial = [0.5, 0.2, -0.3]
[simulation]
speeds = { swing = 30.0 }
"""
)


def test_a_pendulum_whose_length_follows_its_angle() -> None:
    """Protects against a model by hand in its one coordinate; the arm by itself has no mass.

    (I + m (r^2 + r'^2)) w-dot + m r' (r + r'') w^2 = m g (r' cos - r sin), r = r(theta).
    """
    m, inertia, g = 1.5, 0.01, 9.81
    r = np.polynomial.Polynomial([0.5, 0.2, -0.3])

    def rate(t: float, y: Array) -> Array:
        (a, w), s, bend = y, r.deriv()(y[0]), r.deriv(2)(y[0])
        mass = inertia + m * (r(a) ** 2 + s**2)
        force = m * g * (s * np.cos(a) - r(a) * np.sin(a)) - m * s * (r(a) + bend) * w**2
        return np.array([w, force / mass])

    start = np.radians([60.0, 30.0])
    end = solve_ivp(rate, (0.0, 1.0), start, "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    some = run(REEL, 1000, 1.0, method="rodas4p")
    np.testing.assert_allclose([some.q[0], some.v[0]], end, rtol=0, atol=1e-9)


def test_forces_of_prescribed_motion_are_those_of_inverse_dynamics() -> None:
    """Protects the force that is told: that of inverse dynamics of the motion that came of it, and none of
    its own along what is free."""
    some, trace = rows(KICK.replace("stiffness_N_m = 400.0", "stiffness_N_m = 0.0"), 80, DURATION, 8)
    system, tied = some.simulation.system, some.simulation.couplers
    names = list(some.model.coordinates.names)
    own = int(np.flatnonzero(tied.coordinate == tied.driver)[0])
    for q, v, v_dot, told in zip(trace.q, trace.v, trace.v_dot, trace.coupler, strict=True):
        needed = inverse_dynamics(system, q, v, v_dot, np.zeros((3, 6)))
        assert told[own] == pytest.approx(needed[names.index("hip")], rel=1e-9)
        assert needed[names.index("spread")] == pytest.approx(0.0, abs=1e-9)
        assert abs(needed[names.index("knee")]) > 1e-4  # its followers' share is missing here


@pytest.mark.compiled
def test_power_of_prescribed_motion_is_the_rate_of_energy() -> None:
    """Protects the balance of power: moment times speed is all that enters; energy by differences."""
    some, trace = rows(KICK, 1600, DURATION, 1600, method="rodas4p")
    tied, found = some.simulation.couplers, energy(some, trace)
    own = int(np.flatnonzero(tied.coordinate == tied.driver)[0])
    power = trace.coupler[:, own] * trace.v[:, tied.dof[own]]
    step = DURATION / 1600
    work = step * (np.cumsum(power) - 0.5 * power - 0.5 * power[0])
    assert np.abs(found - found[0]).max() > 1.0
    np.testing.assert_allclose(found - found[0], work, rtol=0, atol=1e-4)


def test_all_coordinates_prescribed() -> None:
    """Protects the extreme: nothing is left to solve, and the step goes on."""
    model = (
        REEL.replace(", neutral_deg = 60.0", "").replace("speeds = { swing = 30.0 }", "")
        + '[[couplers]]\ncoordinate = "swing"\nof = "time"\nlinear = [2.0, 0.1]\n'
    )
    some = run(model, 10, 0.1)
    np.testing.assert_allclose([some.q[0], some.v[0]], [0.3, 2.0], atol=1e-13)


def test_a_coordinate_without_mass_leaves_the_state() -> None:
    """Protects the state where E'ME has no inverse: no step is taken."""
    some = simulator(REEL)
    some.simulation.system.bodies.mass[:] = 0.0
    some.simulation.system.bodies.inertia[:] = 0.0
    before = some.q.copy()
    assert some.run(3, 0, some.trace(0)) == NON_FINITE
    np.testing.assert_allclose(some.q, before, rtol=0, atol=1e-15)  # a follower is placed anew
