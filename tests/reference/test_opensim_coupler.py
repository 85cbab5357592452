"""A published leg whose kneecap follows the knee, in motion: accelerations and moments are OpenSim's."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.opensim_peer.opensim_dynamics import Moved, largest_relative, our_loads, their_loads
from kernels.compiler.jit import allow_compilation
from kernels.dynamics.inverse import inverse_dynamics
from kernels.dynamics.reduction import new_reduction_work
from kernels.dynamics.system import new_dynamics_work
from rtsim.models.load import load_model
from rtsim.models.model import Model, build
from rtsim.models.packing.couplers import drivers_first
from tests.kernels.dynamics.cases import reduced
from tests.reference.opensim_peer import quiet

Array = NDArray[np.float64]
MODEL = "data/osim_models/leg6dof9musc.osim"
SEEDS = range(4)


class Motion(NamedTuple):
    """Coordinates, speeds and accelerations (n,) of a model, in our order."""

    q: Array
    v: Array
    v_dot: Array


def of_ours(model: Model, seed: int, tau: Array) -> Motion:
    """Return a random motion that keeps the coupler, and its accelerations under generalized forces."""
    allow_compilation()
    rng, n_v = np.random.default_rng(seed), model.n_v
    q, v, v_dot = model.q_neutral + rng.uniform(-0.4, 0.4, n_v), rng.normal(size=n_v), np.zeros(n_v)
    none = np.zeros((len(model.names.bodies), 6))
    reduced(
        model.system, drivers_first(model.couplers), q, v, tau, none, new_dynamics_work(model.tree),
        new_reduction_work(n_v), v_dot,
    )  # fmt: skip
    return Motion(q, v, v_dot)


@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_of_a_leg_with_a_coupler(shared: Path, seed: int) -> None:
    """Protects the followers' share of inertia, weight and speed in a published model: OpenSim's
    accelerations, which keep the coupler as a constraint, without muscles."""
    osim = pytest.importorskip("opensim")
    model = build(load_model(str(shared / MODEL)))
    found = of_ours(model, seed, np.zeros(model.n_v))
    osim.Logger.setLevelString("Error")
    peer = osim.Model(str(shared / MODEL))
    forces = peer.updForceSet()
    for k in range(forces.getSize()):
        forces.get(k).set_appliesForce(False)
    state = peer.initSystem()
    coordinates = peer.getCoordinateSet()
    for name, q, v in zip(model.coordinates.names, found.q, found.v, strict=True):
        coordinates.get(name).setValue(state, float(q), False)
        coordinates.get(name).setSpeedValue(state, float(v))
    peer.realizeAcceleration(state)
    expected = [coordinates.get(name).getAccelerationValue(state) for name in model.coordinates.names]
    np.testing.assert_allclose(found.v_dot, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_dynamics_of_that_motion(shared: Path, seed: int) -> None:
    """Protects inverse dynamics with a follower: what OpenSim's solver asks for at the same accelerations."""
    osim = pytest.importorskip("opensim")
    model = build(load_model(str(shared / MODEL)))
    found = of_ours(model, seed, np.linspace(-20.0, 30.0, model.n_v))
    none, tau = np.zeros((len(model.names.bodies), 6)), np.zeros(model.n_v)
    inverse_dynamics(model.system, *found, none, new_dynamics_work(model.tree), tau)
    osim.Logger.setLevelString("Error")
    peer = osim.Model(str(shared / MODEL))
    forces = peer.updForceSet()
    for k in range(forces.getSize()):
        forces.get(k).set_appliesForce(False)
    state, coordinates = peer.initSystem(), peer.getCoordinateSet()
    for k, name in enumerate(model.coordinates.names):
        coordinates.get(name).setSpeedValue(state, float(k))
    column = [round(state.getU().get(k)) for k in range(model.n_v)]  # of the solver's order in ours
    for name, q, v in zip(model.coordinates.names, found.q, found.v, strict=True):
        coordinates.get(name).setValue(state, float(q), False)
        coordinates.get(name).setSpeedValue(state, float(v))
    v_dot = osim.Vector(model.n_v, 0.0)
    for k, c in enumerate(column):
        v_dot[k] = float(found.v_dot[c])
    needed = osim.InverseDynamicsSolver(peer).solve(state, v_dot)
    expected = np.array([needed.get(k) for k in range(model.n_v)])
    np.testing.assert_allclose(tau[column], expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_reactions_of_that_motion(shared: Path) -> None:
    """Protects joints beside a coupler: with the follower's force as inverse dynamics tells it, every
    reaction is OpenSim's, under a push on the foot."""
    osim = quiet(pytest.importorskip("opensim"))
    spec = load_model(str(shared / MODEL))
    model = build(spec)
    tau = np.linspace(-20.0, 30.0, model.n_v)
    rows = [Motion(*(x[model.coordinates.dof] for x in of_ours(model, seed, tau))) for seed in SEEDS]
    q, v, v_dot = (np.array(column) for column in zip(*rows, strict=True))
    push = np.random.default_rng(1).normal(size=(len(rows), 6)) * [50.0, 50.0, 50.0, 300.0, 300.0, 300.0]
    moved = Moved(np.arange(len(rows)) * 0.1, model.coordinates.names, q, v, v_dot, {"calcn_r": push})
    ours, theirs = our_loads(spec, moved), their_loads(osim, shared / MODEL, moved)
    assert largest_relative(ours.tau, theirs.tau) < 1e-9
    assert {*ours.reactions} == {*theirs.reactions}
    for name, expected in theirs.reactions.items():
        assert largest_relative(ours.reactions[name], expected) < 1e-6, name
