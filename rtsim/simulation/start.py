"""Where a simulation starts: the neutral pose or a static equilibrium, and the speeds of the model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kernels.rosenbrock.trace import RECORDED, Trace
from kernels.tree import BALL, FREE, integrate
from rtsim.errors import ModelError

if TYPE_CHECKING:
    from rtsim.simulation.simulator import Simulator

Array = NDArray[np.float64]

N_ITERATION = 200
BALANCED = 1e-9
"""Largest force that is left where a pose counts as an equilibrium, relative to the forces at the start."""
FIRST_STEP = 1e-2
"""Pseudo time step of the first iteration [s]: small: it sinks as a damped model would."""


def find_equilibrium(simulator: Simulator, held: tuple[str, ...], gravity: bool) -> int:
    """Move simulator.q to a static equilibrium of all coordinates but the held ones; number of iterations.

    With gravity and the loads that act before time zero, or with neither.
    Pseudo-transient continuation (Kelley, Keyes 1998, SIAM J Numer Anal 35, 508-523): implicit Euler steps
    from rest, (M/h^2 - dF/dq) delta = F, whose h grows as the force falls, so that they end as Newton's.
    Among several equilibria it finds the one that the model sinks into from its neutral pose.
    """
    mechanism, tree = simulator.mechanism, simulator.simulation.system.tree
    names = {
        name: int(d) for name, d in zip(mechanism.coordinate_names, mechanism.coordinate_dof, strict=True)
    }
    free = np.setdiff1d(np.arange(mechanism.n_v), [names[name] for name in held])
    weight = simulator.simulation.system.gravity.copy()
    gain, start_time = simulator.gain.copy(), simulator.start_time
    simulator.start_time = -simulator.options.step  # loads that start at time zero do not act yet
    if not gravity:
        simulator.simulation.system.gravity[:] = 0.0
        simulator.gain[:] = 0.0
    simulator.refresh()
    simulator.v[:] = 0.0
    trace, h = simulator.trace(1), FIRST_STEP
    F, K, M = forces_at(simulator, trace, free)
    first = force = size(F, M)
    done = force == 0.0
    n = 0
    while not done and n < N_ITERATION and math.isfinite(force):
        n += 1
        delta = np.zeros(mechanism.n_v)
        delta[free] = np.linalg.lstsq(M / h**2 - K, F, rcond=None)[0]
        before = simulator.q.copy()
        integrate(tree, simulator.q, delta, 1.0, simulator.q)
        F, K, M = forces_at(simulator, trace, free)
        last, force = force, size(F, M)
        if not math.isfinite(force) or force > 10.0 * last:
            simulator.q[:] = before
            F, K, M = forces_at(simulator, trace, free)
            force, h = last, 0.25 * h
        else:
            h = min(h * min(max(last / force, 0.5), 10.0), 1e6) if force > 0.0 else h
        done = force <= BALANCED * first
    simulator.simulation.system.gravity[:] = weight
    simulator.gain[:], simulator.start_time = gain, start_time
    simulator.refresh()
    if not done:
        raise ModelError(
            f"no static equilibrium near the neutral pose: {force / first:.1e} of the first force is left",
            where=f"{mechanism.name}: simulation.equilibrium",
            remedy="move the neutral pose, hold a coordinate that nothing supports, or start without",
        )
    return n


def forces_at(simulator: Simulator, trace: Trace, free: NDArray[np.int64]) -> tuple[Array, Array, Array]:
    """(F, dF/dq, M) of the free dofs at rest at simulator.q."""
    trace.counts[RECORDED] = 0
    simulator.run(0, 0, trace, last=True)
    stages = simulator.work.stages
    M = np.tril(stages.M) + np.tril(stages.M, -1).T
    square = np.ix_(free, free)
    return (M @ simulator.work.v_dot)[free], stages.tau_q[square].copy(), M[square]


def size(F: Array, M: Array) -> float:
    """Length of a generalized force, weighted by inertia so that metres and radians mix."""
    return float(np.sqrt(np.sum(F**2 / np.maximum(np.diag(M), 1e-300))))


def set_speeds(simulator: Simulator) -> None:
    """simulator.v as the model's settings say."""
    mechanism, settings = simulator.mechanism, simulator.settings
    tree = simulator.simulation.system.tree
    for name, speed in settings.speeds.items():
        k = mechanism.coordinate_names.index(name)
        turns = mechanism.coordinate_is_angle[k]
        simulator.v[mechanism.coordinate_dof[k]] = math.radians(speed) if turns else 1e-3 * speed
    for table, scale, kinds, first in (
        (settings.velocities_mm_s, 1e-3, (FREE,), 0),
        (settings.turning_deg_s, math.radians(1.0), (FREE, BALL), -3),
    ):
        for name, vector in table.items():
            b = mechanism.body_names.index(name)
            if tree.kind[b] not in kinds:
                raise ModelError(
                    f"{name} has no joint that this speed could go to",
                    where=f"{mechanism.name}: simulation",
                    remedy="give speeds of its coordinates, or a free joint",
                )
            start = int(tree.v_start[b + 1]) - 3 if first < 0 else int(tree.v_start[b])
            simulator.v[start : start + 3] = scale * np.array(vector)
