"""Projection of coordinates and speeds onto the hard constraints by the smallest corrections.

Coordinates are corrected by Newton's method, then speeds by one linear step to G v = 0. With the mass matrix
M at the end of the step (to within the length of a step) and the Jacobian G of Phi(q) = 0, a correction of q
is the shortest in the metric of the masses, delta = -M^-1 G' (G M^-1 G')^-1 Phi; it is repeated until Phi is
no more than rounding error. So the constraints do not drift, and a method keeps its order (Hairer, Wanner
1996, section VII.2). Coordinates given by couplers follow at every correction.

A row of the Jacobian that differs from a combination of the other rows only by rounding errors is left out
and does not act. Its constraint is then violated by as much as these rounding errors can cause; a violation
of that size is accepted.
"""

from __future__ import annotations

import math

from kernels.algebra.linear import cholesky, inner_product
from kernels.compiler.jit import entry, inlined, njit
from kernels.dynamics.constraints import constraint_rows
from kernels.dynamics.inertia import spatial_inertia
from kernels.dynamics.mass import composite_mass
from kernels.dynamics.reduction import fold_mass, follow
from kernels.joints.couplers import isolate
from kernels.joints.tree import integrate, pose
from kernels.rosenbrock.holds import choose_rows, push_back, spread_active
from kernels.solver.constraints import DISTANCE
from kernels.solver.levers import BORNE, lever_of

HELD, LOST = 1e-12, 1e-9
"""Violation of a constraint [m, rad] below which no further correction is made, and the one that is accepted
where rounding errors leave it."""
N_CORRECTION, N_TRUSTED = 12, 3
"""Greatest number of corrections; number of corrections after which the acting rows are chosen anew."""
MOST = 0.3
"""Largest correction of a dof [rad, m]: for larger ones the linearisation is not valid."""
N_ROUND = 50
"""Greatest number of times that the mass matrix is recomputed when a start is projected onto the constraints.
"""


@njit
def gap_of(constraints, rows, e):
    """Return the violation of constraint element e [m, rad]; call it after constraint_rows.

    constraints : Constraints - all of its elements are hard
    rows : ConstraintWork - its value is read
    e : int - index of the element
    """
    value = abs(rows.value[e])
    if constraints.elements.kind[e] == DISTANCE:
        return value / (2.0 * constraints.roles.target[e])
    return value


@njit
def largest_gap(constraints, rows):
    """Return the largest violation among all constraint elements [m, rad]; NaN if any violation is NaN.

    constraints : Constraints - all of its elements are hard
    rows : ConstraintWork - its value is read
    """
    largest = 0.0
    for e in range(constraints.elements.kind.shape[0]):
        gap = gap_of(constraints, rows, e)
        if not gap <= largest:
            largest = gap
    return largest


@njit
def gap_left(constraints, pose, own):
    """Return the largest violation of the constraints [m, rad] that is not accepted.

    For a constraint whose row is left out because it depends on others, a violation up to the size that
    `borne` returns is accepted.

    constraints : Constraints - all of its elements are hard
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    own : HoldWork - after spread_active
    """
    largest, a = 0.0, 0
    for e in range(constraints.elements.kind.shape[0]):
        acts = a < own.n_active[0] and own.active[a] == e
        a += int(acts)
        gap = gap_of(constraints, own.rows, e)
        if not gap <= largest and (acts or not gap <= borne(constraints, pose, own.rows, e)):
            largest = gap
    return largest


@njit
def borne(constraints, pose, rows, e):
    """Return the largest violation [m, rad] of constraint element e that is accepted if its row is left out
    because it depends on others.

    Call it after constraint_rows.

    constraints : Constraints - all of its elements are hard
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    rows : ConstraintWork - its element is read
    e : int - index of the element
    """
    most = BORNE * math.sqrt(lever_of(constraints.elements, pose, e, rows.element))
    if constraints.elements.kind[e] == DISTANCE:
        return most / (2.0 * constraints.roles.target[e])
    return most


@inlined
def close(holds, simulation, ahead, q, v, work):
    """Project q and v onto the constraints; return whether that succeeded, True at once without constraints.

    holds : Holds - None where the simulation has no constraints
    simulation : Simulation - bodies, and the force elements between them
    ahead : float - time from the start of the step to the state that is projected [s]
    q : (n_q,) - generalized coordinates [rad, m], changed
    v : (n_v,) - generalized speeds [rad/s, m/s], changed
    work : SimulationWork - working space, overwritten
    """
    if holds is None:
        return True
    return project(simulation, ahead, q, v, work)


@njit
def project(simulation, ahead, q, v, work):
    """Project q and v onto the constraints; return False if a violation remains that is not accepted.

    simulation : Simulation - bodies, and the force elements between them
    ahead : float - time from the start of the step to the state that is projected [s]
    q : (n_q,) - generalized coordinates [rad, m], changed
    v : (n_v,) - generalized speeds [rad/s, m/s], changed
    work : SimulationWork - its dynamics contain the Cholesky factor of the mass matrix; working space,
        overwritten
    """
    holds, couplers, tree = simulation.holds, simulation.couplers, simulation.system.tree
    own, dynamics, step = work.holds, work.dynamics, work.state[0, : v.shape[0]]
    n = 0
    while True:
        pose(tree, q, dynamics.pose)
        constraint_rows(tree, holds.constraints, dynamics.pose, q, own.rows)
        gap = largest_gap(holds.constraints, own.rows)
        if n < N_TRUSTED:
            spread_active(couplers, work.reduction.coupler, dynamics.M, own)
        else:
            choose_rows(couplers, work.reduction.coupler, dynamics.M, own)
        if n > 0 and not gap <= HELD and gap_left(holds.constraints, dynamics.pose, own) <= HELD:
            choose_rows(couplers, work.reduction.coupler, dynamics.M, own)  # whether they still do not act
            gap = gap_left(holds.constraints, dynamics.pose, own)
        if (gap <= HELD and n > 0) or n == N_CORRECTION or not gap < math.inf:
            break
        correction(dynamics.M, own, step)
        integrate(tree, q, step, 1.0, q)
        follow(couplers, tree.functions, ahead, work.reduction, q, v)
        n += 1
    for a in range(own.n_active[0]):
        own.left[a] = -inner_product(own.rows.row[own.active[a]], v)
    push_back(dynamics.M, own, v)
    follow(couplers, tree.functions, ahead, work.reduction, q, v)
    return gap <= LOST or gap_left(holds.constraints, dynamics.pose, own) <= LOST


@njit
def correction(L, own, step_out):
    """Compute the Newton correction of the coordinates towards the acting constraints Phi = 0, scaled so that
    no dof moves by more than MOST.

    L : (n_v, n_v) - Cholesky factor of the mass matrix of the independent coordinates
    own : HoldWork - after spread_active; its fields left and delta are written
    step_out : (n_v,) - correction along the tangent of q [rad, m]
    """
    largest = MOST
    for d in range(step_out.shape[0]):
        step_out[d] = 0.0
    for a in range(own.n_active[0]):
        own.left[a] = -own.rows.value[own.active[a]]
    push_back(L, own, step_out)
    for d in range(step_out.shape[0]):
        largest = max(largest, abs(step_out[d]))
    for d in range(step_out.shape[0]):
        step_out[d] *= MOST / largest


@entry
def put_on_constraints(simulation, q, v, work, before_out, after_out):
    """Project the initial state of a simulation, which may be far off, onto the constraints; return whether
    that succeeded.

    Dofs that are marked in work.holds.kept keep their coordinates and their speeds.

    simulation : Simulation - bodies, and the force elements between them
    q : (n_q,) - generalized coordinates [rad, m], changed
    v : (n_v,) - generalized speeds [rad/s, m/s], changed
    work : SimulationWork - its time is that of the state; working space, overwritten
    before_out, after_out : (n_row, 2) - violation of each element [m] and its rate [m/s], before and after
    """
    holds, couplers, system = simulation.holds, simulation.couplers, simulation.system
    tree, own, dynamics, n_v = system.tree, work.holds, work.dynamics, v.shape[0]
    for k in range(N_ROUND):
        follow(couplers, tree.functions, 0.0, work.reduction, q, v)
        pose(tree, q, dynamics.pose)
        spatial_inertia(system.bodies, dynamics.pose, dynamics.inertia)
        composite_mass(tree, dynamics.pose, dynamics.inertia, dynamics.M)
        fold_mass(couplers, work.reduction, dynamics.M)
        for d in range(n_v):
            if own.kept[d]:
                isolate(d, dynamics.M)
        if not cholesky(dynamics.M, n_v, 0.0):
            return False
        constraint_rows(tree, holds.constraints, dynamics.pose, q, own.rows)
        choose_rows(couplers, work.reduction.coupler, dynamics.M, own)
        if k == 0:
            write_gaps(holds.constraints, dynamics.pose, own, v, before_out)
        met = project(simulation, 0.0, q, v, work)
        write_gaps(holds.constraints, dynamics.pose, own, v, after_out)
        if met:
            return True
    return False


@njit
def write_gaps(constraints, pose, own, v, out):
    """Write the violation of every constraint element [m] and its rate [m/s]; call it after spread_active.

    The rate of a row that does not act is written as 0 as long as it is no more than rounding error.

    constraints : Constraints - all of its elements are hard
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    own : HoldWork - its rows and active are read
    v : (n_v,) - generalized speeds [rad/s, m/s]
    out : (n_row, 2) - violation and rate of each element
    """
    a, fastest = 0, 0.0
    for d in range(v.shape[0]):
        fastest = max(fastest, abs(v[d]))
    for e in range(out.shape[0]):
        acts = a < own.n_active[0] and own.active[a] == e
        a += int(acts)
        rate = abs(inner_product(own.rows.row[e], v))
        if constraints.elements.kind[e] == DISTANCE:
            rate /= 2.0 * constraints.roles.target[e]
        if not acts and rate <= borne(constraints, pose, own.rows, e) * fastest:
            rate = 0.0
        out[e, 0], out[e, 1] = gap_of(constraints, own.rows, e), rate
