"""Equations of motion in the independent coordinates alone, where the other coordinates are functions of them
or of time.

A follower has q_f = f(q_d), a prescribed coordinate q_p = f(t) (in kernels/joints/couplers it is its own
driver). In the following a "given" coordinate is one of either kind, and its coupler is that function. With E
= dq/dq_i for the independent coordinates q_i,
  v = E v_i + dq/dt,   v_dot = E v_i_dot + c,   E'ME v_i_dot = E'(tau - h - M c),
where c is the acceleration at v_i_dot = 0: f'' v_d^2 of a follower, f''(t) of a prescribed coordinate. Rows
and columns of given coordinates stay in the matrices as those of the unit matrix, so that nothing is
renumbered; couplers are eliminated from the last to the first, as in kernels/joints/couplers. A follower may
be anywhere in the tree.
The rest of tau - h - M v_dot along a given coordinate is the load on its coupler, or on whatever prescribes
it (Kane, Levinson 1985, Dynamics: Theory and Applications, sections 4.4 and 4.5).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.functions import evaluate
from kernels.algebra.linear import cholesky, solve_lower, solve_lower_transposed
from kernels.compiler.jit import entry, inlined, njit
from kernels.dynamics.inverse import newton_euler, transmit
from kernels.dynamics.mass import composite_mass, mass_matrix
from kernels.dynamics.third_derivative import third_derivative
from kernels.joints.couplers import CouplerWork, fold_vector, new_coupler_work
from kernels.joints.tree import along

OK, MASSLESS = 0, 1
NO_MASS = 1e-14
"""Fraction of the largest diagonal entry of the reduced mass matrix below which a pivot of its Cholesky
factorisation is taken as rounding error [1]."""
TIME, PACE = 0, 1
"""Columns of ReductionWork.clock: the time [s], and the rate at which it passes [1], which is 0 for a start
at rest."""


class ReductionWork(NamedTuple):
    """Derivatives of the couplers at the present coordinates, and the forces of the reduced equations of
    motion.

    Of its CouplerWork the first n_coupler entries are used.
    """

    coupler: CouplerWork
    third: Annotated[np.ndarray, Floats("n_v")]  # f'''
    bias: Annotated[np.ndarray, Floats("n_v")]  # c, zero for independent coordinates
    # forces not in balance: tau - h - M c, or with v_dot in place of c
    force: Annotated[np.ndarray, Floats("n_v")]
    onset: Annotated[np.ndarray, Floats("n_v")]  # partial derivative of force, then of v_dot, by time
    clock: np.ndarray  # (2,) - TIME, PACE


def new_reduction_work(n_v: int) -> ReductionWork:
    """Allocate a ReductionWork, with its clock at time 0 and running."""
    return allocate(ReductionWork, n_v=n_v, coupler=new_coupler_work(n_v), clock=np.array([0.0, 1.0]))


@njit
def set_time(couplers, time, own):
    """Set the time [s] at which prescribed coordinates are computed (own.clock); nothing is done where
    couplers is None.
    """
    if couplers is None:
        return
    own.clock[TIME] = time


@njit
def follow(couplers, functions, ahead, own, q, v):
    """Compute the coordinates and speeds that are functions of other coordinates or of time, in place.

    Their accelerations at zero independent acceleration (own.bias) and the derivatives of the functions are
    written, too.

    couplers : Couplers - drivers before their followers; None = no coordinate is given, and nothing is done
    functions : Functions - functions f, of q [rad, m], or of time [s] for prescribed coordinates
    ahead : float - time after that of the clock [s]
    own : ReductionWork - its bias, third and coupler are written
    q : (n_q,) - generalized coordinates [rad, m], given ones are written
    v : (n_v,) - generalized speeds [rad/s, m/s], given ones are written
    """
    if couplers is None:
        return
    work, pace = own.coupler, own.clock[PACE]
    for k in range(couplers.dof.shape[0]):
        f, d, function = couplers.dof[k], couplers.driver_dof[k], couplers.function[k]
        x, rate, before = pace * (own.clock[TIME] + ahead), pace, 0.0
        if d != f:
            x, rate, before = q[couplers.driver[k]], v[d], own.bias[d]
        value, slope, curvature = evaluate(functions, function, x)
        work.slope[k], work.curvature[k] = slope, curvature
        own.third[k] = third_derivative(functions, function, x)
        q[couplers.coordinate[k]], v[f] = value, slope * rate
        own.bias[f] = slope * before + curvature * rate * rate


@njit
def follow_accelerations(couplers, own, v, v_dot):
    """Compute the accelerations of the given coordinates: of followers, which are functions of other
    coordinates, and of prescribed coordinates, which are functions of time. It is called after `follow`.

    couplers : Couplers - the functions; None = no coordinate is given, and nothing is done
    own : ReductionWork - derivatives of these functions, computed by `follow` at this state
    v : (n_v,) - speeds of all coordinates [rad/s, m/s]
    v_dot : (n_v,) - accelerations [rad/s^2, m/s^2]; on entry those of the independent coordinates, those of
        given coordinates are written
    """
    if couplers is None:
        return
    work = own.coupler
    for k in range(couplers.dof.shape[0]):
        f, d = couplers.dof[k], couplers.driver_dof[k]
        if d == f:
            v_dot[f] = own.bias[f]
        else:
            v_dot[f] = work.slope[k] * v_dot[d] + work.curvature[k] * v[d] * v[d]


@njit
def follow_jerks(couplers, own, v, v_dot, jerk):
    """Compute the third time derivatives of the given coordinates: of followers, which are functions of other
    coordinates, and of prescribed coordinates, which are functions of time.

    It is called after `follow` and `follow_accelerations`, which complete v and v_dot.

    couplers : Couplers - the functions; None = no coordinate is given, and nothing is done
    own : ReductionWork - derivatives of these functions, computed by `follow` at this state
    v : (n_v,) - speeds of all coordinates [rad/s, m/s]
    v_dot : (n_v,) - accelerations of all coordinates [rad/s^2, m/s^2]
    jerk : (n_v,) - time derivatives of v_dot [rad/s^3, m/s^3]; on entry those of the independent coordinates,
        those of given coordinates are written
    """
    if couplers is None:
        return
    work, pace = own.coupler, own.clock[PACE]
    for k in range(couplers.dof.shape[0]):
        f, d = couplers.dof[k], couplers.driver_dof[k]
        if d == f:
            jerk[f] = own.third[k] * pace**3
        else:
            jerk[f] = work.slope[k] * jerk[d] + 3.0 * work.curvature[k] * v[d] * v_dot[d]
            jerk[f] += own.third[k] * v[d] * v[d] * v[d]


@njit
def fold_mass(couplers, own, M):
    """Replace the mass matrix M : (n_v, n_v), lower triangle, by E'ME, the mass matrix of the independent
    coordinates, where E = dq/dq_i; called after follow.

    couplers : Couplers - coordinates that are functions of others; None = there are none, and M stays as it
        is
    own : ReductionWork - slopes of the couplers' functions, computed by `follow` at this state
    """
    if couplers is None:
        return
    n = M.shape[0]
    for k in range(couplers.dof.shape[0] - 1, -1, -1):
        f, d, s = couplers.dof[k], couplers.driver_dof[k], own.coupler.slope[k]
        if d != f:
            M[d, d] += s * (2.0 * M[max(d, f), min(d, f)] + s * M[f, f])
            for i in range(n):
                if i != d and i != f:
                    M[max(i, d), min(i, d)] += s * M[max(i, f), min(i, f)]
        for i in range(f):
            M[f, i] = 0.0
        for i in range(f + 1, n):
            M[i, f] = 0.0
        M[f, f] = 1.0


@inlined
def reduced_accelerations(system, couplers, v, tau, wrench, work, own, v_dot_out):
    """Compute the accelerations of all coordinates by the equations of motion of the independent ones; called
    after pose, velocities, spatial_inertia and follow.

    Return OK, or MASSLESS where an independent coordinate moves no mass; v_dot_out is NaN then.

    system : System - joint tree of bodies with mass, in a gravitational field
    couplers : Couplers - drivers before their followers
    v : (n_v,) - generalized speeds [rad/s, m/s]
    tau : (n_v,) - generalized forces [N m, N]
    wrench : (n_body, 6) - external moment about the origin of ground and external force on each body, in
        ground axes [N m, N]
    work : DynamicsWork - written; its inertia is summed over subtrees, its M becomes the Cholesky factor of
        E'ME
    own : ReductionWork - its force is written: E'(tau - h - M c + J' wrench)
    v_dot_out : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    """
    n_v, M, force, largest = v.shape[0], work.M, own.force, 0.0
    newton_euler(system, own.bias, wrench, work)
    transmit(system.tree, work.pose, work.reaction, force)
    composite_mass(system.tree, work.pose, work.inertia, M)
    for d in range(n_v):
        force[d] = tau[d] - force[d]
    fold_vector(couplers, own.coupler, force)
    fold_mass(couplers, own, M)
    for d in range(n_v):
        v_dot_out[d] = force[d]
        largest = max(largest, M[d, d])
    if not cholesky(M, n_v, NO_MASS * largest):
        for d in range(n_v):
            v_dot_out[d] = math.nan
        return MASSLESS
    solve_lower(M, n_v, v_dot_out)
    solve_lower_transposed(M, n_v, v_dot_out)
    follow_accelerations(couplers, own, v, v_dot_out)
    return OK


@entry
def reduced_mass(system, couplers, q, v, work, own, M_out):
    """Compute E'ME, the mass matrix of the independent coordinates, E = dq/dq_i. Rows and columns of the
    other coordinates are those of the unit matrix.

    system : System - joint tree of bodies with mass, in a gravitational field
    couplers : Couplers - drivers before their followers
    q : (n_q,) - generalized coordinates [rad, m], given ones are written
    v : (n_v,) - generalized speeds [rad/s, m/s], given ones are written
    work : DynamicsWork - working space, overwritten
    own : ReductionWork - working space, overwritten
    M_out : (n_v, n_v) - E'ME, lower triangle
    """
    follow(couplers, system.tree.functions, 0.0, own, q, v)
    mass_matrix(system, q, work, M_out)
    fold_mass(couplers, own, M_out)


@njit
def reduce_slopes(couplers, own, v, v_dot, M, tau_q, tau_v):
    """Replace the mass matrix and the derivatives of the forces by those of the equations of motion in the
    independent coordinates; write the partial derivative of the forces with respect to time, through
    prescribed coordinates, into own.onset.

    Where coordinate f is a function f(q_d) of coordinate d,
      dq_f = f' dq_d,  dv_f = f' dv_d + f'' v_d dq_d,
      dv_dot_f = f' dv_dot_d + 2 f'' v_d dv_d + (f'' v_dot_d + f''' v_d^2) dq_d,
    and E changes with q_d, which adds f'' times the force on f to the derivative of the force on d. The force
    on each f is written into own.coupler.pull.

    couplers : Couplers - coordinates that are functions of others or of time, drivers before their followers
    own : ReductionWork - derivatives of the couplers' functions, computed by `follow` at this state; its
        force becomes that along the independent coordinates, its onset and coupler.pull are written
    v : (n_v,) - generalized speeds [rad/s, m/s]
    v_dot : (n_v,) - generalized accelerations [rad/s^2, m/s^2]
    M : (n_v, n_v) - mass matrix, both triangles; becomes E'ME
    tau_q, tau_v : (n_v, n_v) - derivatives of own.force = tau - h - M v_dot by q and by v at fixed v_dot;
        become those of the reduced equations
    """
    work, force, onset, n = own.coupler, own.force, own.onset, v.shape[0]
    for i in range(n):
        onset[i] = 0.0
    for k in range(couplers.dof.shape[0] - 1, -1, -1):
        f, d, s, bend, third = (
            couplers.dof[k], couplers.driver_dof[k], work.slope[k], work.curvature[k], own.third[k],
        )  # fmt: skip
        work.pull[k] = force[f]
        if d == f:
            for i in range(n):
                onset[i] += s * tau_q[i, f] + bend * tau_v[i, f] - third * M[i, f]
        else:
            turn = bend * v[d]
            swing = bend * v_dot[d] + third * v[d] * v[d]
            for i in range(n):
                tau_q[i, d] += s * tau_q[i, f] + turn * tau_v[i, f] - swing * M[i, f]
                tau_v[i, d] += s * tau_v[i, f] - 2.0 * turn * M[i, f]
                M[i, d] += s * M[i, f]
            for i in range(n):
                tau_q[d, i] += s * tau_q[f, i]
                tau_v[d, i] += s * tau_v[f, i]
                M[d, i] += s * M[f, i]
            tau_q[d, d] += bend * force[f]
            force[d] += s * force[f]
            onset[d] += s * onset[f]
        for i in range(n):
            tau_q[i, f], tau_v[i, f], M[i, f] = 0.0, 0.0, 0.0
            tau_q[f, i], tau_v[f, i], M[f, i] = 0.0, 0.0, 0.0
        M[f, f], force[f], onset[f] = 1.0, 0.0, 0.0


@inlined
def remainder(tree, pose, force, tau, own):
    """Compute own.force = tau - h - M v_dot, the generalized forces that are not in balance with the motion;
    called after kernels/dynamics/derivatives.

    tree : Tree - joint tree of the bodies
    pose : Pose - positions and orientations of the bodies in ground, and twists of all dofs
    force : (n_body, 6) - wrench that every joint transmits without external wrenches, about the origin of
        body 0
    tau : (n_v,) - generalized forces [N m, N]
    own : ReductionWork - its force is written
    """
    for d in range(tau.shape[0]):
        f = force[tree.dof_body[d]]
        own.force[d] = tau[d] - along(pose.twist, d, f[0], f[1], f[2], f[3], f[4], f[5])


@njit
def find_onset(L, own):
    """Compute the partial derivative of the accelerations v_dot with respect to time, (E'ME)^-1 own.onset.

    At the call, own.onset : (n_v,) is the partial derivative with respect to time, through prescribed
    coordinates, of the forces along the independent coordinates; the result is written in its place.

    L : (n_v, n_v) is the Cholesky factor of E'ME, the mass matrix of the independent coordinates.
    """
    n = L.shape[0]
    solve_lower(L, n, own.onset)
    solve_lower_transposed(L, n, own.onset)


@njit
def add_onset(couplers, own, scale, x):
    """Add scale times the partial derivative of v_dot with respect to time to x : (n_v,); do nothing without
    couplers."""
    if couplers is None:
        return
    for d in range(x.shape[0]):
        x[d] += scale * own.onset[d]
