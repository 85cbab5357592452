"""Times of whole-body dynamics, beside those of the library Pinocchio where that is installed.

The kernels of rtsim are timed in a compiled loop, as they are called for a frame. Pinocchio is called from
Python: the overhead of a call is measured with a single hinge and reported, and ratios are given with and
without it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import entry
from kernels.dynamics.forward import forward_dynamics
from kernels.dynamics.inertia import Bodies
from kernels.dynamics.inverse import inverse_dynamics
from kernels.dynamics.mass import mass_matrix
from kernels.dynamics.system import DynamicsWork, System, new_dynamics_work
from kernels.joints.kinds import HINGE
from kernels.joints.tree import integrate, pose
from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.mechanics.humanoid import humanoid
from rtsim.models.packing.tree import JointRow, build_tree

Array = NDArray[np.float64]
Batch = Callable[[int], None]

N_STATE = 16  # number of different states, used in turn
SPREAD = 0.3  # rad, m - of the coordinates about the neutral posture
AGREEMENT = 1e-10
PEER, PEER_CALL = "pinocchio_", "pinocchio_call_"


class States(NamedTuple):
    """Random states at which the dynamics are evaluated, one row each (coordinates, speeds, accelerations,
    generalized forces), the external wrenches, and the results of the last evaluation.
    """

    q: Array  # (N_STATE, n_q)
    v: Array  # (N_STATE, n_v)
    v_dot: Array  # (N_STATE, n_v)
    tau: Array  # (N_STATE, n_v)
    wrench: Array  # (n_body, 6)
    out: Array  # (n_v,)
    M: Array  # (n_v, n_v)


@entry
def repeat_rnea(system, states, work, n):
    """Compute inverse dynamics (recursive Newton-Euler algorithm) n times, at one of the states after the
    other.

    system : System - joint tree of bodies with mass
    states : States - states at which it is computed, and results, written
    work : DynamicsWork - working space
    n : int - number of repetitions
    """
    for i in range(n):
        k = i % states.q.shape[0]
        inverse_dynamics(system, states.q[k], states.v[k], states.v_dot[k], states.wrench, work, states.out)


@entry
def repeat_aba(system, states, work, n):
    """Compute forward dynamics n times, at one of the states after the other.

    system : System - joint tree of bodies with mass
    states : States - states at which it is computed, and results, written
    work : DynamicsWork - working space
    n : int - number of repetitions
    """
    for i in range(n):
        k = i % states.q.shape[0]
        forward_dynamics(system, states.q[k], states.v[k], states.tau[k], states.wrench, work, states.out)


@entry
def repeat_crba(system, states, work, n):
    """Compute the mass matrix n times, at one of the states after the other.

    system : System - joint tree of bodies with mass
    states : States - states at which it is computed, and results, written
    work : DynamicsWork - working space
    n : int - number of repetitions
    """
    for i in range(n):
        mass_matrix(system, states.q[i % states.q.shape[0]], work, states.M)


@entry
def repeat_jacobians(system, states, work, n):
    """Compute the positions of all bodies and the unit twist of every dof, a column of the Jacobian, n times,
    at one of the states after the other.

    system : System - joint tree of bodies with mass
    states : States - states at which they are computed
    work : DynamicsWork - its pose is written
    n : int - number of repetitions
    """
    for i in range(n):
        pose(system.tree, states.q[i % states.q.shape[0]], work.pose)


@entry
def stepped(tree, q, delta, q_out):
    """Compute the coordinates after a step along their tangent.

    tree : Tree - the joint tree
    q : (n_q,) - generalized coordinates [rad, m]
    delta : (n_v,) - step along the tangent of q
    q_out : (n_q,) - generalized coordinates after the step, written
    """
    integrate(tree, q, delta, 1.0, q_out)


OURS = {"rnea": repeat_rnea, "aba": repeat_aba, "crba": repeat_crba, "jacobians": repeat_jacobians}


def run(n_batch: int = 400, n_repeat: int = 500) -> list[BenchFigure]:
    """Time inverse dynamics, forward dynamics, mass matrix and Jacobians of a whole body; return the
    benchmark results. Each is timed in n_batch batches of n_repeat calls; batches of rtsim and of
    Pinocchio alternate.
    """
    system = humanoid()
    states, work = states_of(system), new_dynamics_work(system.tree)
    peer = peer_batches(system, states)
    batches: dict[str, Batch] = {}
    for name, ours in OURS.items():  # what is compared follows each other
        batches[name] = bound(ours, system, states, work)
        batches |= {whose + name: peer[whose + name] for whose in (PEER, PEER_CALL) if peer}
    gc.collect()
    gc.disable()
    try:
        us = timed(batches, n_batch, n_repeat)
    finally:
        gc.enable()
    figures = [
        BenchFigure("n_v", float(len(system.tree.dof_body)), "1"),
        BenchFigure("batches", float(n_batch), "1"),
    ]
    figures.append(BenchFigure("pinocchio_compared", float(bool(peer)), "1 = compared, 0 = not installed"))
    for name, taken in us.items():
        figures.append(BenchFigure(f"{name}_us", float(np.median(taken)), "us"))
        figures.append(BenchFigure(f"{name}_us.p99", float(np.percentile(taken, 99.0)), "us"))
    return [*figures, *ratios(us), agreement(system, states, work)] if peer else figures


def states_of(system: System) -> States:
    """Return random states near the neutral posture, the same at every call."""
    rng = np.random.default_rng(34)
    n_v = len(system.tree.dof_body)
    neutral = np.zeros(1 + n_v)
    neutral[3] = 1.0  # the quaternion of the pelvis
    q = np.empty((N_STATE, len(neutral)))
    for row in q:
        stepped(system.tree, neutral, SPREAD * rng.normal(size=n_v), row)
    v, v_dot = rng.normal(size=(2, N_STATE, n_v))
    tau = 10.0 * rng.normal(size=(N_STATE, n_v))
    return States(
        q=q,
        v=v,
        v_dot=v_dot,
        tau=tau,
        wrench=np.zeros((len(system.tree.parent), 6)),
        out=np.zeros(n_v),
        M=np.zeros((n_v, n_v)),
    )


def bound(kernel: Any, system: System, states: States, work: DynamicsWork) -> Batch:
    """Compile a kernel for a system; return a function of n that calls the kernel n times."""

    def batch(n: int) -> None:
        kernel(system, states, work, n)

    batch(1)
    return batch


def timed(batches: dict[str, Batch], n_batch: int, n_repeat: int) -> dict[str, Array]:
    """Return the time per call of each function, in each of its batches: (n_batch,) [us]. Batches of all
    functions alternate, so that changes of the machine's speed affect all; n_repeat : calls in a batch
    """
    say(f"dynamics: {n_batch} batches of {n_repeat} calls of {', '.join(batches)}")
    us = {name: np.empty(n_batch) for name in batches}
    for batch in batches.values():
        batch(n_repeat)
    for i in range(n_batch):
        for name, batch in batches.items():
            start = perf_counter_ns()
            batch(n_repeat)
            us[name][i] = 1e-3 * (perf_counter_ns() - start) / n_repeat
    return us


def peer_batches(system: System, states: States) -> dict[str, Batch]:
    """Return functions that repeat the same computations by Pinocchio on a copy of the system, and functions
    that do so for a single hinge, which show the overhead of a call from Python; empty where Pinocchio is
    not installed.
    """
    try:
        from rtsim.bench.mechanics.pinocchio_mirror import calls, mirror
    except ModuleNotFoundError as error:
        say(f"dynamics: no comparison with Pinocchio: {error}")
        return {}
    hinge = one_hinge()
    inputs = (states.q, states.v, states.v_dot, states.tau)
    little = [np.ascontiguousarray(rows[:, -1:]) for rows in inputs]
    return {
        **{PEER + name: batch for name, batch in calls(mirror(system), *inputs).items()},
        **{PEER_CALL + name: batch for name, batch in calls(mirror(hinge), *little).items()},
    }


def one_hinge() -> System:
    """Return a system with a single hinge, for measuring the cost of a call."""
    bodies = Bodies(np.ones(1), np.array([[0.0, -1.0, 0.0]]), 0.1 * np.eye(3)[None])
    return System(build_tree([JointRow(-1, HINGE)]), bodies, np.array([0.0, -9.81, 0.0]))


def ratios(us: dict[str, Array]) -> list[BenchFigure]:
    """Return rtsim's time divided by Pinocchio's for each algorithm, with and without the overhead of a call
    of Pinocchio from Python; us : times per call by name, (n_batch,) [us] each
    """
    figures = []
    for name in OURS:
        ours, theirs, call = (np.median(us[whose + name]) for whose in ("", PEER, PEER_CALL))
        figures.append(BenchFigure(f"ratio_{name}", float(ours / theirs), "1"))
        figures.append(BenchFigure(f"ratio_{name}.without_call", float(ours / (theirs - call)), "1"))
    return figures


def agreement(system: System, states: States, work: DynamicsWork) -> BenchFigure:
    """Return the largest difference between the results of rtsim and Pinocchio over all states and
    algorithms, relative to the largest entry of each result.
    """
    from rtsim.bench.mechanics.pinocchio_mirror import mirror

    peer, worst = mirror(system), 0.0
    for k in range(N_STATE):
        one = slice(k, k + 1)
        here = states._replace(q=states.q[one], v=states.v[one], v_dot=states.v_dot[one], tau=states.tau[one])
        q, v = states.q[k], states.v[k]
        repeat_rnea(system, here, work, 1)
        worst = max(worst, apart(here.out, peer.inverse_dynamics(q, v, states.v_dot[k], states.wrench)))
        repeat_aba(system, here, work, 1)
        worst = max(worst, apart(here.out, peer.forward_dynamics(q, v, states.tau[k], states.wrench)))
        repeat_crba(system, here, work, 1)
        worst = max(worst, apart(np.tril(here.M), np.tril(peer.mass_matrix(q))))
    return BenchFigure("agreement", worst, "1", AGREEMENT, "lower")


def apart(found: Array, expected: Array) -> float:
    """Return the largest difference of two arrays, divided by the largest entry of the expected one."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())
