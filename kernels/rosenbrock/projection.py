"""Back onto the constraints: coordinates by Newton's method, then speeds, both by the shortest way.

With L L' = E'ME of where the step has ended, to within its own length, the way is the shortest in the metric
of the masses: delta = -M^-1 G' (G M^-1 G')^-1 Phi, repeated until Phi is rounding; speeds take one such step
to G v = 0. What is held so stays so: nothing drifts, and a method keeps its order (Hairer, Wanner 1996,
section VII.2). Coordinates that others give follow at every step.

Rows that do not act, as they add no more than rounding to others, are off by what that rounding makes of the
motion: as much is borne.
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
"""Gap [m, rad] from which on one correction is enough, and that is borne where rounding leaves it."""
N_CORRECTION, N_TRUSTED = 12, 3
"""Corrections at the most; from which on the rows that act are found anew."""
MOST = 0.3
"""Largest correction of a dof [rad, m]: beyond it the slopes say little."""
N_ROUND = 50
"""How often the masses are taken anew where a start is put on the constraints."""


@njit
def gap_of(constraints, rows, e):
    """How far element e is from where it is held [m, rad], after constraint_rows.

    constraints : Constraints - all of its elements hard
    rows : ConstraintWork
    e : int - element
    """
    value = abs(rows.value[e])
    if constraints.elements.kind[e] == DISTANCE:
        return value / (2.0 * constraints.roles.target[e])
    return value


@njit
def largest_gap(constraints, rows):
    """Of all elements [m, rad]; constraints : Constraints, rows : ConstraintWork. NaN where one has none."""
    largest = 0.0
    for e in range(constraints.elements.kind.shape[0]):
        gap = gap_of(constraints, rows, e)
        if not gap <= largest:
            largest = gap
    return largest


@njit
def gap_left(constraints, pose, own):
    """As largest_gap, without rows that do not act and are off by no more than is borne.

    constraints : Constraints - all of its elements hard
    pose : Pose
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
    """How far element e may be off where its row does not act [m, rad], after constraint_rows.

    constraints : Constraints
    pose : Pose
    rows : ConstraintWork
    """
    most = BORNE * math.sqrt(lever_of(constraints.elements, pose, e, rows.element))
    if constraints.elements.kind[e] == DISTANCE:
        return most / (2.0 * constraints.roles.target[e])
    return most


@inlined
def close(holds, simulation, ahead, q, v, work):
    """As project; holds None: nothing is held, and no call is made.

    holds : Holds
    simulation : Simulation
    ahead : float - of the clock [s]
    q : (n_q,) - coordinates [rad, m], changed
    v : (n_v,) - speeds [rad/s, m/s], changed
    work : SimulationWork - written
    """
    if holds is None:
        return True
    return project(simulation, ahead, q, v, work)


@njit
def project(simulation, ahead, q, v, work):
    """q : (n_q,) and v : (n_v,) onto what is held; False where it cannot be, or not from here.

    simulation : Simulation
    ahead : float - of the clock [s]
    q : (n_q,) - coordinates [rad, m], changed
    v : (n_v,) - speeds [rad/s, m/s], changed
    work : SimulationWork - its dynamics hold the factor of the mass matrix; written
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
    """step_out : (n_v,) - Newton's step towards zero of the active rows, no longer than MOST.

    L : (n_v, n_v) - Cholesky factor of E'ME
    own : HoldWork - after spread_active; left, delta written
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
    """q : (n_q,) and v : (n_v,) onto what is held, from farther away; False where coordinates cannot be.

    Dofs that work.holds.kept marks keep their coordinates and their speeds.

    simulation : Simulation
    q : (n_q,) - coordinates [rad, m], changed
    v : (n_v,) - speeds [rad/s, m/s], changed
    work : SimulationWork - at its clock; written
    before_out, after_out : (n_row, 2) - gap of each element [m] and its rate [m/s], before and after
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
    """out : (n_row, 2) - gap [m] of every element and its rate [m/s], after spread_active.

    Rates of rows that do not act are 0 as long as rounding makes them.

    constraints : Constraints - all of its elements hard
    pose : Pose
    own : HoldWork
    v : (n_v,) - speeds [rad/s, m/s]
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
