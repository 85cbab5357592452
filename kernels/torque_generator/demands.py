"""Inequalities that a torque generator must fulfil to make a motion, each written as a row that must not be
negative.

First and second derivatives of the rows are computed here, too. t^A, t^V and t^PE are the multipliers of
angle, speed and passive torque, and 1 - beta w is the damping factor at the relative speed w, all as
functions of the fitted parameters x = (s_A, s_V, Delta_P, lambda_P, s_tau)
(kernels/torque_generator/torque). demand is the torque that the motion requires. Torques are fractions of
the isometric torque tau_o, positive in the generator's own direction; activations from floor to cap are
permitted. In every frame the generator must be
  strong enough   s_tau [cap t^A t^V + t^PE (1 - beta w)] - demand >= 0     (eq. 10)
  not too stiff   demand - s_tau [floor t^A t^V + t^PE (1 - beta w)] >= 0   (eq. 11, which has floor = 0)
  not stretched   t^PE_max - t^PE >= 0                                      (eq. 12, in either direction)
Source: Millard et al. (2019), J Biomech, doi 10.1016/j.jbiomech.2019.04.004, section 2.2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.bezier.chain import BezierCurves
from kernels.compiler.jit import njit
from kernels.torque_generator.torque import (
    DAMPING,
    DELTA,
    LAMBDA,
    S_A,
    S_TAU,
    S_V,
    SPEED,
    angle_multiplier,
    passive_curve,
    speed_multiplier,
)

N_KIND = 3
"""Number of rows of a frame: strong enough, not too stiff, not stretched."""
A, A_1, A_2, V, V_1, V_2, P, P_1, P_2, D, D_1, D_2, T, T_1 = range(14)
"""Terms of a frame: t^A and t^V with their first and second derivatives by s_A and s_V; t^PE with those by
Delta_P; the damping factor 1 - beta w with those by s_V; t^PE before it is blended, and its derivative by
Delta_P."""
N_PIECE = 14


class Demands(NamedTuple):
    """A motion (angles, speeds, torques), and what it demands of one torque generator."""

    curves: BezierCurves
    velocity: int  # its curve t^V
    parameter: np.ndarray  # (14,) - of the generator
    theta: np.ndarray  # (n,) - angle, positive in flexion [rad]
    omega: np.ndarray  # (n,) - speed, positive where it shortens [rad/s]
    demand: np.ndarray  # (n,) - torque in its direction, 0 where it has none [tau_o]
    cap: np.ndarray  # (n,) - largest permitted activation [1]
    floor: np.ndarray  # (n,) - smallest permitted activation [1]
    most_passive: float  # t^PE_max [1]


@njit
def write_pieces(demands, x, k, out):
    """Write the factors of a generator's torque in one frame, from which its inequalities are computed: t^A,
    t^V, t^PE and the damping factor 1 - beta w, with their derivatives with respect to the fitted parameters.

    demands : Demands - the motion, and the torque that it demands
    x : (5,) - fitted parameters s_A, s_V, Delta_P, lambda_P, s_tau
    k : int - index of the frame
    out : (14,) - written, in the order of the constants A, A_1, ... T_1 of this module
    """
    p, curves = demands.parameter, demands.curves
    theta, omega = demands.theta[k], demands.omega[k]
    out[A], _, out[A_1], out[A_2] = angle_multiplier(curves, p, theta, x[S_A])
    out[V], _, out[V_1], out[V_2] = speed_multiplier(curves, p, demands.velocity, omega, x[S_V])
    free, slope, curvature = passive_curve(curves, p, theta, x[DELTA])
    kept = 1.0 - x[LAMBDA]
    out[P], out[P_1], out[P_2] = kept * free, -kept * slope, kept * curvature
    out[T], out[T_1] = free, -slope
    slowed = p[DAMPING] * omega / (x[S_V] * p[SPEED])
    out[D], out[D_1], out[D_2] = 1.0 - slowed, slowed / x[S_V], -2.0 * slowed / (x[S_V] * x[S_V])


@njit
def write_rows(demands, x, piece, value_out, slope_out):
    """Compute all inequalities (rows) at the parameters x, and their derivatives.

    demands : Demands - the motion, and the inequalities that it sets for a generator
    x : (5,) - fitted parameters, columns S_A to S_TAU
    piece : (14,) - working space
    value_out : (3 n,) - rows; those of frame k begin at 3 k
    slope_out : (3 n, 5) or wider - derivatives of the rows with respect to x
    """
    s = x[S_TAU]
    for k in range(demands.theta.shape[0]):
        write_pieces(demands, x, k, piece)
        cap, floor, demand, j = demands.cap[k], demands.floor[k], demands.demand[k], N_KIND * k
        active, passive = piece[A] * piece[V], piece[P] * piece[D]
        value_out[j] = s * (cap * active + passive) - demand
        value_out[j + 1] = demand - s * (floor * active + passive)
        value_out[j + 2] = demands.most_passive - piece[P]
        slope_out[j, S_A] = s * cap * piece[A_1] * piece[V]
        slope_out[j, S_V] = s * (cap * piece[A] * piece[V_1] + piece[P] * piece[D_1])
        slope_out[j, DELTA] = s * piece[P_1] * piece[D]
        slope_out[j, LAMBDA] = -s * piece[T] * piece[D]
        slope_out[j, S_TAU] = cap * active + passive
        slope_out[j + 1, S_A] = -s * floor * piece[A_1] * piece[V]
        slope_out[j + 1, S_V] = -s * (floor * piece[A] * piece[V_1] + piece[P] * piece[D_1])
        slope_out[j + 1, DELTA] = -slope_out[j, DELTA]
        slope_out[j + 1, LAMBDA] = -slope_out[j, LAMBDA]
        slope_out[j + 1, S_TAU] = -(floor * active + passive)
        slope_out[j + 2, S_A] = slope_out[j + 2, S_V] = slope_out[j + 2, S_TAU] = 0.0
        slope_out[j + 2, DELTA] = -piece[P_1]
        slope_out[j + 2, LAMBDA] = piece[T]


@njit
def largest_violation(demands, x, piece, value_out):
    """Return the largest violation of any inequality at the parameters x [tau_o]; 0 if all are fulfilled.

    demands : Demands - the motion, and the inequalities that it sets for a generator
    x : (5,) - fitted parameters, columns S_A to S_TAU
    piece : (14,) - working space
    value_out : (3 n,) - rows; those of frame k begin at 3 k
    """
    s, worst = x[S_TAU], 0.0
    for k in range(demands.theta.shape[0]):
        write_pieces(demands, x, k, piece)
        active, passive, j = piece[A] * piece[V], piece[P] * piece[D], N_KIND * k
        value_out[j] = s * (demands.cap[k] * active + passive) - demands.demand[k]
        value_out[j + 1] = demands.demand[k] - s * (demands.floor[k] * active + passive)
        value_out[j + 2] = demands.most_passive - piece[P]
        worst = max(worst, -value_out[j], -value_out[j + 1], -value_out[j + 2])
    return worst


@njit
def add_curvatures(demands, x, weight, piece, H):
    """Subtract from H the second derivatives of all inequalities (rows) with respect to the fitted
    parameters, each times its Lagrange multiplier.

    demands : Demands - the motion, and the inequalities that it sets for a generator
    x : (5,) - fitted parameters, columns S_A to S_TAU
    weight : (3 n,) or longer - multipliers of the rows
    piece : (14,) - working space
    H : (5, 5) - or larger; both triangles are updated
    """
    for k in range(demands.theta.shape[0]):
        j = N_KIND * k
        strong, stiff, stretched = weight[j], weight[j + 1], weight[j + 2]
        write_pieces(demands, x, k, piece)
        add_active(piece, strong * demands.cap[k] - stiff * demands.floor[k], x[S_TAU], H)
        add_passive(piece, strong - stiff, x[S_TAU], H)
        H[DELTA, DELTA] += stretched * piece[P_2]
        H[DELTA, LAMBDA] -= stretched * piece[T_1]
        H[LAMBDA, DELTA] -= stretched * piece[T_1]


@njit
def add_active(piece, weight, s, H):
    """Subtract weight times the second derivatives of the active torque s t^A t^V, with respect to the fitted
    parameters, from the Hessian H.

    piece : (14,) - factors of the torque in the frame and their derivatives, in the order of the constants A
        to T_1; s : float - s_tau; H : (5, 5).
    """
    H[S_A, S_A] -= weight * s * piece[A_2] * piece[V]
    H[S_V, S_V] -= weight * s * piece[A] * piece[V_2]
    take(H, S_A, S_V, weight * s * piece[A_1] * piece[V_1])
    take(H, S_A, S_TAU, weight * piece[A_1] * piece[V])
    take(H, S_V, S_TAU, weight * piece[A] * piece[V_1])


@njit
def add_passive(piece, weight, s, H):
    """Subtract weight times the second derivatives of the passive torque s t^PE (1 - beta w), with respect to
    the fitted parameters, from the Hessian H.

    piece : (14,) - factors of the torque in the frame and their derivatives, in the order of the constants A
        to T_1; s : float - s_tau; H : (5, 5).
    """
    H[S_V, S_V] -= weight * s * piece[P] * piece[D_2]
    H[DELTA, DELTA] -= weight * s * piece[P_2] * piece[D]
    take(H, S_V, DELTA, weight * s * piece[P_1] * piece[D_1])
    take(H, S_V, LAMBDA, -weight * s * piece[T] * piece[D_1])
    take(H, S_V, S_TAU, weight * piece[P] * piece[D_1])
    take(H, DELTA, LAMBDA, -weight * s * piece[T_1] * piece[D])
    take(H, DELTA, S_TAU, weight * piece[P_1] * piece[D])
    take(H, LAMBDA, S_TAU, -weight * piece[T] * piece[D])


@njit
def take(H, i, k, value):
    """Subtract value from the symmetric entries H[i, k] and H[k, i]."""
    H[i, k] -= value
    H[k, i] -= value
