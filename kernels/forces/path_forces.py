"""Muscles and ligaments that pull along paths in forward simulation: forces, rates of their inner states,
derivatives.

A path of length L(q) with the gradient g = dL/dq (along the tangent of q) and the pull F gives the
generalized forces tau = -F g. A muscle with a rigid tendon has F = F(L, dL/dt, a), one with an elastic tendon
F = F(L, x). Its inner states are the activation a and, with an elastic tendon, the fibre length x along the
tendon (kernels/muscle); both have differential equations of their own. A ligament has F = F(L, dL/dt) and no
inner state. With dL/dt = g . v and subscripts for derivatives,
  d tau/dv = -g F_rate g',   d tau/dq = -g (F_L g + F_rate dg/dq' v)' - F dg/dq.
No closed form is known for the curvature dg/dq of paths over surfaces, so it is taken by finite differences
of g for each dof and the paths that the dof moves.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.functions import Functions, evaluate
from kernels.compiler.jit import entry, njit
from kernels.forces.ligament import line_force
from kernels.joints.tree import Pose, Tree, integrate, new_pose, pose
from kernels.muscle.activation import activation_rate, asked_activation
from kernels.muscle.curves import held
from kernels.muscle.elastic import elastic_tendon, fibre_equilibrium
from kernels.muscle.hill import Muscles, rigid_tendon
from kernels.path.muscle_path import (
    OK,
    PathWork,
    follow_path,
    follow_paths,
    gradient,
    gradients,
    new_path_work,
    wraps_in_closed_form,
)
from kernels.path.stations import Stations
from kernels.path.surfaces import Surfaces
from kernels.path.wrap import place_surfaces

ACTIVATION, FIBRE, PATH_LENGTH, PATH_SPEED, PULL = 0, 1, 2, 3, 4
"""Columns of PathForceWork.state: activation [1], length of the fibre along the tendon [m] (NaN where the
tendon is rigid), length of the path [m], lengthening speed [m/s], force along the tendon [N]."""
N_PULL_OUT = 5
BY_LENGTH, BY_SPEED, BY_OWN, A_BY_A, X_BY_L, X_BY_X, X_BY_A = 0, 1, 2, 3, 4, 5, 6
"""Columns of PathForceWork.newest and slope. Of the force: its derivatives by length, by speed and by the
muscle's inner state (the activation where the tendon is rigid, x where it is elastic). Of the inner states:
that of da/dt by a, and those of dx/dt by L, x and a."""
N_PULL_SLOPE = 7
MUSCLE = -1
"""Stands for a muscle in place of the law of a line (kernels/forces/ligament)."""
DIFFERENCE = 1e-7
"""Step of the differences of g [rad, m]; for paths of centimetres its truncation error is some 1e-6 of a
slope."""


class PathForces(NamedTuple):
    """Tables of the muscles and the ligaments that exert forces along paths; muscles first, in the order of
    their paths.
    """

    stations: Stations
    surfaces: Surfaces
    muscles: Muscles  # the rows of ligaments are placeholders
    law: np.ndarray  # (n_pull,) int64 - MUSCLE, or of kernels/forces/ligament
    parameter: np.ndarray  # (n_pull, N_LIGAMENT) - of ligaments
    cross_start: np.ndarray  # (n_v + 1,) int64 - first entry of each dof in cross
    cross: np.ndarray  # (n_cross,) int64 - paths that the dof moves
    functions: Functions  # of time [s]
    excitation: np.ndarray  # (n_pull,) int64 - function of each, 0 to 1


class PathForceWork(NamedTuple):
    """Results and working space of muscles and ligaments."""

    excitation: Annotated[np.ndarray, Floats("n_pull")]  # constant over a step
    state: Annotated[np.ndarray, Floats("n_pull", N_PULL_OUT)]
    newest: Annotated[np.ndarray, Floats("n_pull", N_PULL_SLOPE)]  # slopes at the state
    slope: Annotated[np.ndarray, Floats("n_pull", N_PULL_SLOPE)]  # at the start of the step
    gradient: Annotated[np.ndarray, Floats("n_pull", "n_v")]  # g there
    path: PathWork
    beside: PathWork
    near: Pose
    q: Annotated[np.ndarray, Floats("n_q")]
    move: Annotated[np.ndarray, Floats("n_v")]


def new_path_force_work(pulls: PathForces, tree: Tree) -> PathForceWork:
    """Allocate a PathForceWork: results of muscles and ligaments, and working space."""
    n, n_v = len(pulls.excitation), len(tree.dof_body)
    stations, surfaces = pulls.stations, pulls.surfaces
    closed = wraps_in_closed_form(stations, surfaces)
    return allocate(
        PathForceWork,
        n_pull=n,
        n_v=n_v,
        n_q=tree.q_start[-1],
        path=new_path_work(stations, surfaces, n_v, closed),
        beside=new_path_work(stations, surfaces, n_v, closed),
        near=new_pose(len(tree.parent), n_v, len(tree.chains.dof)),
    )


@njit
def set_excitations(pulls, t, work):
    """Write work.excitation : (n_pull,) in [0, 1], the excitations at the time t [s]; do nothing if pulls is
    None.

    pulls is None in a model without muscles and ligaments.
    """
    if pulls is None:
        return
    for m in range(work.excitation.shape[0]):
        work.excitation[m] = held(evaluate(pulls.functions, pulls.excitation[m], t)[0])[0]


@entry
def settle(pulls, tree, at, q, work, inner_out):
    """Write the inner states of all muscles at rest in pose q: the activations to which the excitations
    work.excitation lead if they last, and the fibre lengths of static equilibrium with the tendon.

    A fibre length is NaN where its path or its equilibrium is not found.

    pulls : PathForces - muscles and ligaments
    tree : Tree - the joint tree
    at : Pose - positions and orientations of the bodies, written
    q : (n_q,) - generalized coordinates [rad, m]
    work : PathForceWork - results and working space, written
    inner_out : (2 n_pull,) - activations [1], then fibre lengths along the tendon [m], written; n_pull is the
        number of muscles and ligaments
    """
    muscles, n = pulls.muscles, work.excitation.shape[0]
    pose(tree, q, at)
    follow_paths(tree, pulls.stations, pulls.surfaces, at, q, work.path)
    for m in range(n):
        activation = asked_activation(muscles, m, work.excitation[m])
        inner_out[m], inner_out[n + m] = (activation if pulls.law[m] == MUSCLE else 0.0), 0.0
        if muscles.elastic[m]:
            x, status = fibre_equilibrium(muscles, m, work.path.length[m], activation)
            inner_out[n + m] = x if status == OK and work.path.status[m] == OK else math.nan


@njit
def add_path_forces(pulls, tree, at, q, v, inner, work, rate_out, tau):
    """Add the forces of all muscles and ligaments to tau, and write the rates of their inner states.

    Where no path is found over the wrapping surfaces, the force is NaN.

    pulls : PathForces - muscles and ligaments; None where there are none
    tree : Tree - the joint tree
    at : Pose - positions and orientations of the bodies at q
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    inner : (2 n_pull,) - activations [1], then fibre lengths along the tendon [m]
    work : PathForceWork - results, written; its derivatives are written into the field newest
    rate_out : (2 n_pull,) - rates of the inner states [1/s, m/s], written
    tau : (n_v,) - generalized forces [N m, N]
    """
    if pulls is None:
        return
    path, muscles, n = work.path, pulls.muscles, work.excitation.shape[0]
    follow_paths(tree, pulls.stations, pulls.surfaces, at, q, path)
    gradients(tree, pulls.stations, at, 1, path)
    for m in range(n):
        g, length, speed = path.gradient[m], path.length[m], 0.0
        for d in range(v.shape[0]):
            speed += g[d] * v[d]
        if pulls.law[m] == MUSCLE:
            force = pull(muscles, m, length, speed, inner, rate_out, work)
        else:
            force, work.newest[m, BY_LENGTH], work.newest[m, BY_SPEED] = line_force(
                pulls.law[m], pulls.parameter[m], length, speed
            )
        if path.status[m] != OK:
            force = math.nan
        state = work.state[m]
        state[ACTIVATION], state[PATH_LENGTH], state[PATH_SPEED], state[PULL] = inner[m], length, speed, force
        state[FIBRE] = inner[n + m] if muscles.elastic[m] else math.nan
        if pulls.law[m] != MUSCLE:
            state[ACTIVATION] = math.nan
        for d in range(v.shape[0]):
            tau[d] -= force * g[d]


@njit
def pull(muscles, m, length, speed, inner, rate_out, work):
    """Return the force of muscle m along its path [N]; also write the rates of its inner states, and its
    derivatives.

    muscles : Muscles - parameters of the muscles
    m : int - index of the muscle
    length, speed : float - length [m] and lengthening speed [m/s] of its path
    inner : (2 n_pull,) - activations [1], then fibre lengths along the tendon [m]
    rate_out : (2 n_pull,) - rates of the inner states [1/s, m/s], written
    work : PathForceWork - row m of newest, the derivatives of force and rates, is written
    """
    slope, n = work.newest[m], work.excitation.shape[0]
    rate_out[m], slope[A_BY_A], _ = activation_rate(muscles, m, work.excitation[m], inner[m])
    if muscles.elastic[m]:
        force, rate, by_length, x_l, x_x, x_a, status = elastic_tendon(
            muscles, m, length, inner[m], inner[n + m]
        )
        rate_out[n + m] = rate if status == OK else math.nan
        slope[BY_LENGTH], slope[BY_SPEED], slope[BY_OWN] = by_length, 0.0, -by_length
        slope[X_BY_L], slope[X_BY_X], slope[X_BY_A] = x_l, x_x, x_a
        return force
    strength, passive, strength_l, strength_v, passive_l, passive_v = rigid_tendon(muscles, m, length, speed)
    a, inside = held(inner[m])
    rate_out[n + m] = 0.0
    slope[BY_LENGTH], slope[BY_SPEED] = a * strength_l + passive_l, a * strength_v + passive_v
    slope[BY_OWN] = inside * strength
    slope[X_BY_L], slope[X_BY_X], slope[X_BY_A] = 0.0, 0.0, 0.0
    return a * strength + passive


@njit
def add_path_force_slopes(pulls, tree, q, v, work, tau_q, tau_v):
    """Add the derivatives of the path forces at constant inner states to tau_q and tau_v, directly after
    add_path_forces.

    pulls : PathForces - muscles and ligaments; None where there are none
    tree : Tree - the joint tree
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    work : PathForceWork - results and working space; slope and gradient are written
    tau_q, tau_v : (n_v, n_v) - derivatives of the generalized forces with respect to q (tangent steps) and v
    """
    if pulls is None:
        return
    n_v = v.shape[0]
    for m in range(work.excitation.shape[0]):
        g, slope = work.gradient[m], work.slope[m]
        for d in range(n_v):
            g[d] = work.path.gradient[m, d]
        for k in range(N_PULL_SLOPE):
            slope[k] = work.newest[m, k]
        for i in range(n_v):
            if g[i] != 0.0:
                for j in range(n_v):
                    tau_q[i, j] -= g[i] * slope[BY_LENGTH] * g[j]
                    tau_v[i, j] -= g[i] * slope[BY_SPEED] * g[j]
    for d in range(n_v):
        first, stop = pulls.cross_start[d], pulls.cross_start[d + 1]
        if first < stop:
            add_curvature(pulls, tree, q, v, d, work, tau_q)


@njit
def add_curvature(pulls, tree, q, v, d, work, tau_q):
    """Add to column d of tau_q the part that comes from the curvature of the paths: how the generalized
    forces change because a step of dof d changes the gradients g of the paths that it moves.

    The change of g is taken by a finite difference along dof d.

    pulls : PathForces - muscles and ligaments
    tree : Tree - the joint tree
    q : (n_q,) - generalized coordinates [rad, m]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    d : int - index of the dof
    work : PathForceWork - results and working space, written
    tau_q : (n_v, n_v) - derivative of the generalized forces with respect to the tangent of q
    """
    n_v, beside, near = v.shape[0], work.beside, work.near
    for k in range(n_v):
        work.move[k] = DIFFERENCE if k == d else 0.0
    integrate(tree, q, work.move, 1.0, work.q)
    pose(tree, work.q, near)
    place_surfaces(pulls.surfaces, near, beside.wrap)
    for c in range(pulls.cross_start[d], pulls.cross_start[d + 1]):
        m = pulls.cross[c]
        follow_path(tree, pulls.stations, pulls.surfaces, near, work.q, m, beside)
        gradient(tree, pulls.stations, near, 1, m, beside)
        g, force, by_speed, swing = work.gradient[m], work.state[m, PULL], work.slope[m, BY_SPEED], 0.0
        for k in range(n_v):
            bend = (beside.gradient[m, k] - g[k]) / DIFFERENCE
            swing += v[k] * bend
            tau_q[k, d] -= force * bend
        for k in range(n_v):
            tau_q[k, d] -= g[k] * by_speed * swing
