"""Recorded results of a simulation: states and forces, one row for each recorded time."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.compiler.jit import inlined, njit
from kernels.contact.elements import N_CONTACT_OUT
from kernels.forces.frictions import N_FRICTION_OUT
from kernels.forces.generators import N_GENERATOR_OUT
from kernels.forces.lines import N_LINE_OUT
from kernels.forces.path_forces import N_PULL_OUT
from kernels.rosenbrock.model import Simulation

STEP, RECORDED, N_LARGE, N_PART, STATUS = 0, 1, 2, 3, 4
"""Entries of Trace.counts: steps done, rows written, steps with a large error, parts of steps, status of the
last step."""
N_COUNT = 5


class Trace(NamedTuple):
    """Recorded results of a simulation; each row contains the state at one time and the forces at that
    time.
    """

    q: Annotated[np.ndarray, Floats("n_row", "n_q")]
    v: Annotated[np.ndarray, Floats("n_row", "n_v")]
    v_dot: Annotated[np.ndarray, Floats("n_row", "n_v")]
    line: Annotated[np.ndarray, Floats("n_row", "n_line", N_LINE_OUT)]
    contact: Annotated[np.ndarray, Floats("n_row", "n_contact", N_CONTACT_OUT)]
    friction: Annotated[np.ndarray, Floats("n_row", "n_friction", N_FRICTION_OUT)]
    pull: Annotated[np.ndarray, Floats("n_row", "n_pull", N_PULL_OUT)]
    generator: Annotated[np.ndarray, Floats("n_row", "n_generator", N_GENERATOR_OUT)]
    # generalized force of each coupler along its coordinate
    coupler: Annotated[np.ndarray, Floats("n_row", "n_coupler")]
    hold: Annotated[np.ndarray, Floats("n_row", "n_hold")]  # force that presses the two ends apart [N]
    error: Annotated[np.ndarray, Floats("n_row")]  # largest of the steps up to the row
    counts: Annotated[np.ndarray, Integers(N_COUNT)]
    largest: Annotated[np.ndarray, Floats(1)]  # error since the last row


def new_trace(simulation: Simulation, n_row: int, n_q: int, n_v: int) -> Trace:
    """Allocate a Trace of n_row rows for a simulation with n_q coordinates and n_v speeds."""
    forces = simulation.forces
    n_line, n_contact, n_friction = (
        len(forces.lines.pair),
        len(forces.contacts.pair),
        len(forces.frictions.pair),
    )
    return allocate(
        Trace,
        n_row=n_row,
        n_q=n_q,
        n_v=n_v,
        n_line=n_line,
        n_contact=n_contact,
        n_friction=n_friction,
        n_pull=0 if simulation.pulls is None else len(simulation.pulls.excitation),
        n_generator=0 if forces.generators is None else len(forces.generators.dof),
        n_coupler=0 if simulation.couplers is None else len(simulation.couplers.dof),
        n_hold=0 if simulation.holds is None else len(simulation.holds.pair),
    )


@inlined
def write_row(couplers, q, v, work, trace):
    """Write the next row of the trace; call it when the first stage of a step has computed the forces.

    couplers : Couplers - None where no coordinate is given
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    work : SimulationWork - its forces and accelerations are read
    trace : Trace - its next row is written
    """
    r = trace.counts[RECORDED]
    trace.counts[RECORDED] = r + 1
    forces = work.forces
    for i in range(q.shape[0]):
        trace.q[r, i] = q[i]
    for i in range(v.shape[0]):
        trace.v[r, i], trace.v_dot[r, i] = v[i], work.v_dot[i]
    write_table(forces.lines.state, trace.line[r])
    write_table(forces.contacts.out, trace.contact[r])
    write_table(forces.frictions.state, trace.friction[r])
    write_pulls(work.pulls, trace.pull[r])
    write_generators(forces.generators, trace.generator[r])
    write_couplers(couplers, work.reduction, trace.coupler[r])
    write_holds(work.holds, trace.hold[r])
    trace.error[r] = trace.largest[0]
    trace.largest[0] = 0.0


@njit
def write_pulls(pulls, out):
    """Write states and forces of muscles and ligaments into out : (n_pull, N_PULL_OUT); do nothing if pulls
    is None.
    """
    if pulls is None:
        return
    write_table(pulls.state, out)


@njit
def write_generators(generators, out):
    """Write activations and torques of torque generators into out : (n_generator, N_GENERATOR_OUT); do
    nothing if generators is None.
    """
    if generators is None:
        return
    write_table(generators.state, out)


@njit
def write_holds(held, out):
    """Write the forces of hard constraints [N] into out : (n_hold,), after add_hold_slopes; do nothing if
    held is None.
    """
    if held is None:
        return
    for k in range(out.shape[0]):
        out[k] = held.force[k]


@njit
def write_couplers(couplers, own, out):
    """Write the generalized force that each coupler exerts along the coordinate it determines into out :
    (n_coupler,) [N m, N].

    Call it after reduce_slopes; nothing is done if couplers is None.
    """
    if couplers is None:
        return
    for k in range(out.shape[0]):
        out[k] = -own.coupler.pull[k]


@njit
def write_table(table, out):
    """Copy the first columns of table into out, which may have fewer columns."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = table[i, j]
