"""Many steps in one call: cut into chunks, written down row by row, under loads that are held over a step."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.rosenbrock.step import OK
from kernels.rosenbrock.trace import N_PART, RECORDED, STEP
from rtsim.simulation.simulator import Simulator
from tests.kernels.rosenbrock.mechanisms import LINKAGE, MASS, simulator, state_of

MODELS = {
    "linkage": (LINKAGE, 2.0),
    "impact": ("impact", 0.1),
    "stick_slip": ("stick_slip", 1.0),
}  # step [ms]
every_model = pytest.mark.parametrize("model", list(MODELS))


def started(model: str) -> Simulator:
    """Return a simulator of the model, split where friction turns round."""
    text, step_ms = MODELS[model]
    return simulator(text, step_ms=step_ms, kinks="split")


@every_model
def test_chunks_are_one_run(model: str) -> None:
    """Protects live use: 60 steps in one call and in chunks agree bit by bit, in state, rows and counts."""
    whole, chunks = started(model), started(model)
    rows, pieces = whole.trace(13), chunks.trace(13)
    whole.run(60, 5, rows, last=True)
    for n in (1, 4, 20, 5, 30):
        chunks.run(n, 5, pieces, last=n == 30)
    np.testing.assert_array_equal(state_of(whole), state_of(chunks))
    for one, other in zip(rows, pieces, strict=True):
        np.testing.assert_array_equal(one, other)
    assert whole.time == chunks.time == pytest.approx(60 * whole.options.step)


@every_model
def test_rows_are_states_and_the_forces_there(model: str) -> None:
    """Protects what is plotted: a row is the state after its steps, with forces of that very state."""
    some = started(model)
    trace = some.trace(5)
    some.run(60, 15, trace, last=True)
    assert (trace.counts[RECORDED], trace.counts[STEP]) == (5, 60)
    for row, n_step in enumerate((0, 15, 30, 45, 60)):
        until = started(model)
        until.run(n_step, 0, until.trace(0))
        np.testing.assert_array_equal(trace.q[row], until.q)
        np.testing.assert_array_equal(trace.v[row], until.v)
        there, alone = started(model), started(model).trace(1)
        there.q[:], there.v[:] = trace.q[row], trace.v[row]
        there.run(0, 0, alone, last=True)
        for name in ("v_dot", "line", "contact", "friction"):
            np.testing.assert_array_equal(getattr(trace, name)[row], getattr(alone, name)[0], err_msg=name)
    forces = [trace.line, trace.contact, trace.friction][list(MODELS).index(model)]
    assert all(row.any() for row in forces[1:4])


def test_a_row_is_written_without_a_step() -> None:
    """Protects asking for the forces at the start: no time passes and nothing moves."""
    some = started("impact")
    before, trace = state_of(some), some.trace(1)
    assert some.run(0, 0, trace, last=True) == OK
    np.testing.assert_array_equal(state_of(some), before)
    assert (trace.counts[STEP], trace.counts[N_PART], trace.counts[RECORDED]) == (0, 0, 1)
    assert some.time == 0.0


@pytest.mark.parametrize("start_time", [0.0, 1234.0])
def test_a_pulse_acts_in_whole_steps(start_time: float) -> None:
    """Protects the edges of a pulse, late in a run too: 20 steps of 2 N on 1 kg, on from the very first."""
    some = simulator(MASS, step_ms=1.0)
    some.start_time = start_time
    some.simulation.forces.loads.start[0] += start_time
    some.simulation.forces.loads.stop[0] += start_time
    trace = some.trace(41)
    some.run(40, 1, trace, last=True)
    on = (np.arange(41) >= 10) & (np.arange(41) < 30)
    np.testing.assert_allclose(trace.v_dot[:, 0], np.where(on, 2.0, 0.0), rtol=1e-14)
    np.testing.assert_allclose(trace.v[:, 0], 2e-3 * np.clip(np.arange(41) - 10, 0, 20), rtol=0.0, atol=1e-15)
    assert some.q[0] == pytest.approx(0.5 * 2.0 * 0.02**2 + 0.04 * 0.01, rel=1e-12)


def test_an_edge_within_a_step_goes_to_the_nearer_end() -> None:
    """Protects the rule of held loads: what acts at the middle of a step acts over all of it."""
    for start, first in ((0.0104, 10), (0.0106, 11)):
        some = simulator(MASS, step_ms=1.0)
        some.simulation.forces.loads.start[0] = start
        trace = some.trace(20)
        some.run(20, 1, trace)
        assert np.flatnonzero(trace.v_dot[:, 0])[0] == first


def test_gain_scales_a_load_between_calls() -> None:
    """Protects devices: the gain of a call holds over its steps, and does not outlive a change."""
    some = simulator(MASS, step_ms=1.0)
    some.simulation.forces.loads.start[0] = 0.0
    for gain, expected in ((0.5, 1e-2), (-1.0, -1e-2), (0.0, -1e-2)):
        some.gain[0] = gain
        some.run(10, 0, some.trace(0))
        assert some.v[0] == pytest.approx(expected, rel=1e-12)
