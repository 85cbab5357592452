"""The chain of beads on a belt: laws that hold whatever the beads do, and what its steps cost in accuracy."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from kernels.contact.elements import FRICTION, NORMAL, SLIDING
from kernels.rosenbrock.step import OK
from kernels.rosenbrock.trace import N_LARGE, STEP
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.simulation.simulator import Simulator

N_BEAD, MASS, WEIGHT = 10, 0.5, 0.5 * 9.81
TENSION = 2


@pytest.fixture(scope="module")
def chain():
    return build(load_model("chain"))


def run(model, n_step, every, **settings):
    """Trace of n_step steps of the model, a row every so many."""
    spec = load_model("chain")
    simulator = Simulator(model, msgspec.structs.replace(spec.simulation, **settings))
    trace = simulator.trace(n_step // every + 1)
    assert simulator.run(n_step, every, trace, last=True) == OK
    assert trace.counts[STEP] == n_step
    return trace


@pytest.fixture(scope="module")
def shipped(chain):
    """Two seconds at the model's own settings, 5 ms a row."""
    return run(chain, 2000, 5)


def test_the_chain_is_sixty_states(chain):
    """Protects what the model is for: its size, and a frictional contact and a cord on every bead."""
    assert chain.n_v == 3 * N_BEAD
    assert len(chain.names.contacts) == len(chain.names.lines) == N_BEAD


def test_momentum_of_the_chain(shipped):
    """Protects all forces together: friction of all beads less the post's pull accelerates the whole chain.

    The first cord is level to 1e-3.
    """
    pushed = shipped.contact[:, :, FRICTION].sum(axis=1) - shipped.line[:, 0, TENSION]
    gained = MASS * shipped.v_dot[:, 0::3].sum(axis=1)
    assert np.abs(pushed).max() > 0.5
    assert gained == pytest.approx(pushed, abs=5e-3)


def test_beads_stick_and_slip(shipped):
    """Protects the example: steady at 1 ms, friction within its law, beads that stick and beads that slip."""
    sliding, normal = np.abs(shipped.contact[:, :, SLIDING]), shipped.contact[:, :, NORMAL]
    friction = np.abs(shipped.contact[:, :, FRICTION])
    assert shipped.counts[N_LARGE] == 0
    assert normal.mean() == pytest.approx(WEIGHT, rel=1e-2)
    assert (friction <= 0.2 * 1.001 * normal).all()
    assert (sliding[:, 0] < 1e-3).any()
    assert (sliding[:, 0] > 2e-2).any()
    assert (np.diff(shipped.q[:, 0::3] + 0.2 * np.arange(N_BEAD), axis=1) > 0.15).all()


def test_steps_of_the_chain_converge(chain, shipped):
    """Protects the shipped step: 0.8 s of it, with several slips, are those of steps ten times shorter."""
    fine = run(chain, 8000, 400, step_ms=0.1, method="veldd4")
    coarse = shipped.q[:161:8, 0::3]
    assert np.abs(coarse - fine.q[:, 0::3]).max() < 5e-7
