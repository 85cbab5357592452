"""Torque generators that drive coordinates in forward simulation: their torques, and derivatives of these.

Each adds the torque of kernels/torque_generator/torque, a function of activation and of angle and speed of
its coordinate. The activation is constant over a time step. Either it is given as a function of time, or an
excitation is given as one, and the activation follows it by the activation dynamics of muscles.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.algebra.functions import Functions, evaluate
from kernels.compiler.jit import njit
from kernels.muscle.activation import activations_of_step
from kernels.torque_generator.torque import (
    BY_ANGLE,
    BY_SPEED,
    N_TORQUE,
    TORQUE,
    Generators,
    torque,
)

GIVEN_ACTIVATION, GIVEN_TORQUE = 0, 1
"""Columns of GeneratorWork.state: activation [1], torque along the coordinate [N m]."""
N_GENERATOR_OUT = 2
BEGIN, END = 0, 1
"""Columns of GeneratorWork.step."""


class DrivenGenerators(NamedTuple):
    """Torque generators of a model's coordinates, and their activations over time."""

    generators: Generators
    coordinate: np.ndarray  # (n_generator,) int64 - index in q
    dof: np.ndarray  # (n_generator,) int64 - index in v
    functions: Functions  # of time [s]
    given: np.ndarray  # (n_generator,) int64 - function of each: its activation, or its excitation
    excited: np.ndarray  # (n_generator,) int64 - 1 where it is the excitation


class GeneratorWork(NamedTuple):
    """Activations and torques of the torque generators in a time step, and working space."""

    # activations at the begin and at the end of the step [1]
    step: Annotated[np.ndarray, Floats("n_generator", 2)]
    state: Annotated[np.ndarray, Floats("n_generator", N_GENERATOR_OUT)]
    point: Annotated[np.ndarray, Floats(3)]  # angle [rad], speed [rad/s], activation [1]
    torque: Annotated[np.ndarray, Floats("n_generator", N_TORQUE)]  # and its derivatives


def new_generator_work(driven: DrivenGenerators | None) -> GeneratorWork | None:
    """Allocate a GeneratorWork; None for a model without torque generators."""
    if driven is None:
        return None
    n = len(driven.dof)
    return allocate(GeneratorWork, n_generator=n)


@njit
def set_activations(driven, t, h, work):
    """Write the activation of every torque generator for a time step, over which it is constant.

    driven : DrivenGenerators - torque generators; None where there are none
    t, h : float - middle and length of the step [s]; h = infinity gives the activation that is reached if the
        excitation lasts for ever
    work : GeneratorWork - columns GIVEN_ACTIVATION of state and END of step are written
    """
    if driven is None:
        return
    for g in range(driven.dof.shape[0]):
        level = evaluate(driven.functions, driven.given[g], t)[0]
        if driven.excited[g]:
            begin = work.step[g, BEGIN]
            level, work.step[g, END] = activations_of_step(driven.generators, g, level, begin, h)
        work.state[g, GIVEN_ACTIVATION] = level


@njit
def keep_activations(driven, work):
    """Copy the activations at the end of this time step to the start of the next one; do nothing if driven is
    None.
    """
    if driven is None:
        return
    for g in range(driven.dof.shape[0]):
        work.step[g, BEGIN] = work.step[g, END]


@njit
def add_generators(driven, q, v, work, tau):
    """Add the torques of all generators to tau.

    driven : DrivenGenerators - torque generators; None where there are none
    q : (n_q,) - generalized coordinates [rad]
    v : (n_v,) - generalized speeds [rad/s]
    work : GeneratorWork - activations, torques and working space, written
    tau : (n_v,) - generalized forces [N m]
    """
    if driven is None:
        return
    point = work.point
    for g in range(driven.dof.shape[0]):
        d = driven.dof[g]
        point[0], point[1], point[2] = q[driven.coordinate[g]], v[d], work.state[g, GIVEN_ACTIVATION]
        torque(driven.generators, g, point, work.torque[g])
        work.state[g, GIVEN_TORQUE] = work.torque[g, TORQUE]
        tau[d] += work.torque[g, TORQUE]


@njit
def add_generator_slopes(driven, work, tau_q, tau_v):
    """Add the derivatives of the generators' torques to tau_q and tau_v; call it directly after
    add_generators.

    driven : DrivenGenerators - torque generators; None where there are none
    work : GeneratorWork - activations, torques and their derivatives
    tau_q, tau_v : (n_v, n_v) - derivatives of the generalized forces with respect to q (tangent steps) and v
    """
    if driven is None:
        return
    for g in range(driven.dof.shape[0]):
        d = driven.dof[g]
        tau_q[d, d] += work.torque[g, BY_ANGLE]
        tau_v[d, d] += work.torque[g, BY_SPEED]
