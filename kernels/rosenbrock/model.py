"""Model and working space of a forward simulation, its accelerations, and their derivatives for a Rosenbrock
step.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.linear import cholesky, invert
from kernels.compiler.jit import entry, inlined, njit
from kernels.dynamics.derivatives import DerivativeWork, derivatives_after_rates, new_derivative_work
from kernels.dynamics.forward import accelerate, eliminate, free_bodies
from kernels.dynamics.inertia import spatial_inertia
from kernels.dynamics.inverse import inverse_dynamics
from kernels.dynamics.mass import composite_mass, mass_matrix
from kernels.dynamics.motion import velocities
from kernels.dynamics.reduction import (
    ReductionWork,
    find_onset,
    fold_mass,
    follow,
    new_reduction_work,
    reduce_slopes,
    reduced_accelerations,
    remainder,
)
from kernels.dynamics.system import DynamicsWork, System, new_dynamics_work
from kernels.dynamics.twist_rates import twist_rates
from kernels.forces.assembly import (
    ForceElements,
    ForceWork,
    force_derivatives,
    generalized_forces,
    new_force_work,
)
from kernels.forces.path_forces import (
    PathForces,
    PathForceWork,
    add_path_force_slopes,
    add_path_forces,
    new_path_force_work,
)
from kernels.joints.couplers import Couplers
from kernels.joints.tree import pose
from kernels.rosenbrock.holds import (
    Holds,
    HoldWork,
    add_hold_slopes,
    held_accelerations,
    hold_onset,
    new_hold_work,
    reduce_hold_slopes,
)
from kernels.rosenbrock.inner import Inner, new_inner, reduce_gradients
from kernels.rosenbrock.stages import StageWork, new_stage_work


class Simulation(NamedTuple):
    """Model of a forward simulation: bodies in a joint tree, force elements, muscles, couplers and
    constraints.
    """

    system: System
    forces: ForceElements
    constant: int  # 1 = mass matrix and gravity's generalized forces do not depend on q (set_constants)
    couplers: Couplers | None = None  # of given coordinates, drivers first; with them constant is 0
    pulls: PathForces | None = None  # None where no muscle pulls
    holds: Holds | None = None  # None without hard constraints; with them couplers is not None


class SimulationWork(NamedTuple):
    """Working space of a simulation: dynamics, forces, matrices and stages of a step, and the state."""

    dynamics: DynamicsWork
    derivatives: DerivativeWork
    forces: ForceWork
    stages: StageWork
    wrench: Annotated[np.ndarray, Floats("n_body", 6)]  # zero: all forces come from elements
    mobility: Annotated[np.ndarray, Floats("n_v", "n_v")]  # inverse of a constant mass matrix
    weight: Annotated[np.ndarray, Floats("n_v")]  # generalized force of gravity where it is constant
    tau: Annotated[np.ndarray, Floats("n_v")]
    v_dot: Annotated[np.ndarray, Floats("n_v")]  # at the step's start
    q: Annotated[np.ndarray, Floats("n_q")]  # of a stage
    # theta and v at the start, of a stage, and their rates
    state: Annotated[np.ndarray, Floats(3, "2 * n_v")]
    reduction: ReductionWork | None  # None where no coordinate is given
    pulls: PathForceWork | None  # None where no muscle pulls
    inner: Inner | None  # likewise
    holds: HoldWork | None  # None where nothing is held


def new_simulation_work(simulation: Simulation) -> SimulationWork:
    """Allocate a SimulationWork: working space of the simulation."""
    tree = simulation.system.tree
    n_body, n_v, pulls = len(tree.parent), len(tree.dof_body), simulation.pulls
    return allocate(
        SimulationWork,
        n_body=n_body,
        n_v=n_v,
        n_q=tree.q_start[-1],
        dynamics=new_dynamics_work(tree),
        derivatives=new_derivative_work(tree),
        forces=new_force_work(simulation.forces, tree),
        stages=new_stage_work(n_v),
        reduction=None if simulation.couplers is None else new_reduction_work(n_v),
        pulls=None if pulls is None else new_path_force_work(pulls, tree),
        inner=None if pulls is None else new_inner(len(pulls.excitation), n_v),
        holds=None if simulation.holds is None else new_hold_work(simulation.holds, tree),
    )


@entry
def set_constants(simulation, q, work):
    """Compute the mass matrix and the generalized forces of gravity at q : (n_q,), once before the first
    step.

    Returns False if the mass matrix is singular: some dof has no mass.

    simulation : Simulation - bodies, and the force elements between them; work : SimulationWork, written.
    """
    n_v = work.tau.shape[0]
    M, L = work.stages.M, work.stages.S
    couplers, rest = simulation.couplers, work.state[0]
    for d in range(n_v):
        rest[d] = 0.0
    follow(couplers, simulation.system.tree.functions, 0.0, work.reduction, q, work.state[1])
    inverse_dynamics(simulation.system, q, rest, rest, work.wrench, work.dynamics, work.weight)
    for d in range(n_v):
        work.weight[d] = -work.weight[d]
    mass_matrix(simulation.system, q, work.dynamics, M)
    fold_mass(couplers, work.reduction, M)
    mirror(M)
    largest = 0.0
    for i in range(n_v):
        largest = max(largest, M[i, i])
        for j in range(n_v):
            L[i, j] = M[i, j]
    whole = cholesky(L, n_v, 1e-14 * largest)
    if whole:
        invert(L, n_v, work.mobility)
    return whole


@njit
def mirror(M):
    """Copy the lower triangle of M : (n, n) into its upper triangle."""
    for i in range(M.shape[0]):
        for j in range(i):
            M[j, i] = M[i, j]


@inlined
def acceleration(simulation, q, v, moving, work, v_dot_out):
    """Compute the generalized accelerations at q and v; if the inertia is constant, only force elements are
    evaluated.

    simulation : Simulation - bodies, and the force elements between them
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    moving : int - 1 = a step starts here: velocities of the bodies are computed even if the inertia is
        constant, as linearise needs them
    work : SimulationWork - working space, overwritten; its tau has the generalized forces
    v_dot_out : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    """
    system, tree, dynamics = simulation.system, simulation.system.tree, work.dynamics
    pose(tree, q, dynamics.pose)
    if moving or not simulation.constant:
        velocities(tree, dynamics.pose, v, dynamics.velocities)
    generalized_forces(simulation.forces, dynamics.pose, q, v, work.forces, work.tau)
    pull_along(simulation.pulls, tree, q, v, work.inner, work)
    if simulation.constant:
        n_v = v.shape[0]
        for d in range(n_v):
            work.tau[d] += work.weight[d]
        for d in range(n_v):
            x, row = 0.0, work.mobility[d]
            for k in range(n_v):
                x += row[k] * work.tau[k]
            v_dot_out[d] = x
        return
    spatial_inertia(system.bodies, dynamics.pose, dynamics.inertia)
    solve_motion(simulation.couplers, system, v, work, v_dot_out)
    held_accelerations(simulation.holds, simulation.couplers, tree, q, v, moving, work, v_dot_out)


@inlined
def pull_along(pulls, tree, q, v, inner, work):
    """Add the forces of muscles and ligaments to work.tau; compute the rates of the muscles' inner states.

    pulls : PathForces - None where no muscle pulls
    tree : Tree - joint tree of the bodies
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    inner : Inner - inner states of the muscles, whose rate is written; None where there are no muscles
    work : SimulationWork - its tau and pulls are written
    """
    if inner is not None:
        add_path_forces(pulls, tree, work.dynamics.pose, q, v, inner.state, work.pulls, inner.rate, work.tau)


@inlined
def solve_motion(couplers, system, v, work, v_dot_out):
    """Compute the generalized accelerations under the generalized forces work.tau.

    The articulated-body algorithm is used, or the equations of motion reduced to independent coordinates
    where there are couplers.

    couplers : Couplers - None where no coordinate is given by a coupler
    system : System - joint tree of bodies with mass, in a gravitational field
    v : (n_v,) - generalized speeds [rad/s, m/s]
    work : SimulationWork - working space, overwritten
    v_dot_out : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    """
    if couplers is not None:
        reduced_accelerations(
            system, couplers, v, work.tau, work.wrench, work.dynamics, work.reduction, v_dot_out
        )
        return
    free_bodies(system.tree, work.wrench, work.dynamics)
    eliminate(system.tree, work.tau, work.dynamics)
    accelerate(system, work.dynamics, v_dot_out)


@inlined
def linearise(simulation, q, v, v_dot, step, work):
    """Compute the matrices of a Rosenbrock step, work.stages.tau_q, tau_v and M : (n_v, n_v), directly after
    `acceleration`.

    M is the mass matrix; tau_q and tau_v are the derivatives of the generalized forces minus (M v_dot + bias)
    with respect to q and v, at fixed v_dot.

    simulation : Simulation - bodies, and the force elements between them
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    v_dot : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    step : float - length of the step [s]; where sliding reverses within it, a secant slope replaces the
        derivative of friction; 0 = exact derivative
    work : SimulationWork - its stages are written
    """
    system, tree, dynamics = simulation.system, simulation.system.tree, work.dynamics
    tau_q, tau_v = work.stages.tau_q, work.stages.tau_v
    rates = work.derivatives.psi_dot
    n_v = v.shape[0]
    twist_rates(tree, dynamics.pose, v, dynamics.velocities, rates)
    if simulation.constant:
        for i in range(n_v):
            for j in range(n_v):
                tau_q[i, j], tau_v[i, j] = 0.0, 0.0
    else:
        restore_inertia(simulation.couplers, system, dynamics)
        derivatives_after_rates(system, q, v, v_dot, dynamics, work.derivatives, tau_q, tau_v)
        for i in range(n_v):
            for j in range(n_v):
                tau_q[i, j], tau_v[i, j] = -tau_q[i, j], -tau_v[i, j]
        composite_mass(tree, dynamics.pose, dynamics.inertia, work.stages.M)
        mirror(work.stages.M)
    force_derivatives(
        tree, simulation.forces, dynamics.pose, dynamics.velocities.body, rates, v_dot, step, work.forces,
        tau_q, tau_v,
    )  # fmt: skip
    add_path_force_slopes(simulation.pulls, tree, q, v, work.pulls, tau_q, tau_v)
    add_hold_slopes(simulation.holds, system, work)
    linearise_reduced(simulation.couplers, simulation.holds, tree, v, v_dot, work)


@inlined
def restore_inertia(couplers, system, dynamics):
    """Compute the inertia of each single body again; do nothing where couplers is None.

    With couplers, reduced_accelerations has replaced the inertia of each body by the sum over its subtree.

    system : System - bodies with mass; dynamics : DynamicsWork - its field inertia is written.
    """
    if couplers is not None:
        spatial_inertia(system.bodies, dynamics.pose, dynamics.inertia)


@inlined
def linearise_reduced(couplers, holds, tree, v, v_dot, work):
    """Replace M, tau_q and tau_v by those of the equations reduced to independent coordinates; do nothing if
    couplers is None.

    couplers : Couplers - None where no coordinate is given
    holds : Holds - None where the simulation has no constraints
    tree : Tree - joint tree of the bodies
    v : (n_v,) - generalized speeds [rad/s, m/s]
    v_dot : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    work : SimulationWork - its stages and its reduction (also onset, the partial derivative of v_dot by time)
        are written
    """
    if couplers is None:
        return
    stages, own = work.stages, work.reduction
    reduce_gradients(couplers, own.coupler, v, work.inner, work.pulls)
    remainder(tree, work.dynamics.pose, work.derivatives.force, work.tau, own)
    reduce_slopes(couplers, own, v, v_dot, stages.M, stages.tau_q, stages.tau_v)
    find_onset(work.dynamics.M, own)
    reduce_hold_slopes(holds, couplers, own, v, v_dot, work.holds)
    hold_onset(holds, work.dynamics.M, work.holds, own.onset)
