"""Torque of a torque generator at an angle, a speed and an activation, with all derivatives, and its inverse,
the activation that a torque needs.

  tau  = u s_tau tau_o [a t^A(theta) t^V(omega) + t^PE(theta) (1 - beta w)]   (eq. 3)
  t^A  = lambda_A + (1 - lambda_A) t^A((theta - theta_o) / s_A + theta_o)   (eq. 4)
  t^V  = lambda_V flat + (1 - lambda_V) t^V(w),  w = omega / (s_V omega_max)   (eq. 5)
  t^PE = (1 - lambda_P) t^PE(theta - Delta_P)   (eq. 6)
The activation is a. Parameters of a generator are the isometric torque tau_o at the optimal angle theta_o,
the largest shortening speed omega_max, the damping beta, and the fractions lambda_A and lambda_V of a
constant in the curves. Fitted parameters are the scales s_tau, s_A and s_V of strength, angle curve and
speed curve, the shift Delta_P of the passive curve, and the fraction lambda_P by which it is reduced.
`flat` is 1 as eq. 5 is printed, or t^V(omega_max^E), with which the published numbers were computed. theta
is positive in flexion (ulnar deviation of the wrist) and 0 in neutral standing, omega is positive where the
generator shortens; q is the joint coordinate:
  theta = factor angle_sign (q - offset),  omega = factor u dq/dt,  u = torque_sign
Nothing is clipped: an activation below 0 or above 1 shows that a generator is too stiff or too weak.
Source: Millard et al. (2019), J Biomech, doi 10.1016/j.jbiomech.2019.04.004.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.bezier.chain import BezierCurves, evaluate
from kernels.compiler.jit import entry, njit

ANGLE_CURVE, PASSIVE_CURVE, FIRST_VELOCITY = 0, 1, 2
"""Curves of the table: t^A and t^PE, which all generators share, then t^V of each generator."""

STRENGTH, SPEED, OPTIMAL, WIDTH, PASSIVE_ZERO, PASSIVE_SPAN, DAMPING = 0, 1, 2, 3, 4, 5, 6
BLEND_ANGLE, BLEND_SPEED, FLAT, ANGLE_SIGN, TORQUE_SIGN, OFFSET, FACTOR = 7, 8, 9, 10, 11, 12, 13
"""Columns of a generator's parameters.

STRENGTH : tau_o, isometric torque at the optimal angle [N m]
SPEED : omega_max, speed at which shortening gives no torque [rad/s]
OPTIMAL, WIDTH : theta_o and theta_w of t^A [rad]
PASSIVE_ZERO, PASSIVE_SPAN : theta_0, and theta_1 - theta_0, which is below 0 for a flexor [rad]
DAMPING : beta, damping of the passive element [1]
BLEND_ANGLE, BLEND_SPEED : lambda_A and lambda_V, the shares of a constant in t^A and t^V [1]
FLAT : constant with which t^V is blended [1]
ANGLE_SIGN, TORQUE_SIGN, OFFSET, FACTOR : signs, +-1, offset [rad] and factor [1] of the joint's angle"""
N_PARAMETER = 14

S_A, S_V, DELTA, LAMBDA, S_TAU = 0, 1, 2, 3, 4
"""Columns of the fitted parameters (eq. 8): s_A, s_V [1], Delta_P [rad], lambda_P, s_tau [1]."""
N_FIT = 5

TORQUE, BY_ANGLE, BY_SPEED, BY_ACTIVATION, BY_FIT = 0, 1, 2, 3, 4
"""Columns of a torque and its derivatives by q, dq/dt, a and, from BY_FIT on, by the five fitted parameters.
"""
N_TORQUE = BY_FIT + N_FIT


class Generators(NamedTuple):
    """Table of torque generators: curves, parameters, fitted parameters, and time constants for
    kernels/muscle/activation.
    """

    curves: BezierCurves
    parameter: np.ndarray  # (n, 14) - columns STRENGTH to FACTOR
    fit: np.ndarray  # (n, 5) - columns S_A to S_TAU; 1, 1, 0, 0, 1 leave a generator as it is
    min_activation: np.ndarray  # (n,)
    activation_time: np.ndarray  # (n,) [s]
    deactivation_time: np.ndarray  # (n,) [s]


@njit
def fibre_angle(p, q):
    """Return the generator's angle theta [rad], positive in flexion, at the joint coordinate q [rad].

    p : (14,) - parameters of the generator.
    """
    return p[FACTOR] * p[ANGLE_SIGN] * (q - p[OFFSET])


@njit
def fibre_speed(p, qd):
    """Return the generator's speed omega [rad/s], positive where it shortens, at the speed qd [rad/s] of the
    joint coordinate.

    p : (14,) - parameters of the generator.
    """
    return p[FACTOR] * p[TORQUE_SIGN] * qd


@njit
def angle_multiplier(curves, p, theta, s):
    """Return (active torque-angle multiplier t^A of eq. 4, its derivative by theta, that by s_A, its second
    derivative by s_A).

    curves : BezierCurves - table of curves
    p : (14,) - parameters of the generator
    theta : float - angle [rad]
    s : float - s_A [1]
    """
    z = (theta - p[OPTIMAL]) / (s * p[WIDTH])
    value, slope, curvature = evaluate(curves, ANGLE_CURVE, z)
    kept = 1.0 - p[BLEND_ANGLE]
    by_s = -slope * z / s
    twice = (curvature * z + 2.0 * slope) * z / (s * s)
    return p[BLEND_ANGLE] + kept * value, kept * slope / (s * p[WIDTH]), kept * by_s, kept * twice


@njit
def speed_multiplier(curves, p, c, omega, s):
    """Return (torque-speed multiplier t^V of eq. 5, its derivative by omega, that by s_V, its second
    derivative by s_V).

    curves : BezierCurves - table of curves
    p : (14,) - parameters of the generator
    c : int - index of its curve t^V
    omega : float - speed [rad/s]
    s : float - s_V [1]
    """
    w = omega / (s * p[SPEED])
    value, slope, curvature = evaluate(curves, c, w)
    kept = 1.0 - p[BLEND_SPEED]
    by_s = -slope * w / s
    twice = (curvature * w + 2.0 * slope) * w / (s * s)
    return (
        p[BLEND_SPEED] * p[FLAT] + kept * value,
        kept * slope / (s * p[SPEED]),
        kept * by_s,
        kept * twice,
    )


@njit
def passive_curve(curves, p, theta, delta):
    """Return (passive torque t^PE(theta - Delta_P) of eq. 6 without lambda_P, its first and second derivative
    by theta).

    curves : BezierCurves - table of curves; p : (14,) - parameters; theta : float - angle [rad]; delta :
        float - Delta_P [rad].
    """
    inverse = 1.0 / p[PASSIVE_SPAN]
    value, slope, curvature = evaluate(curves, PASSIVE_CURVE, (theta - delta - p[PASSIVE_ZERO]) * inverse)
    return value, slope * inverse, curvature * inverse * inverse


@njit
def torque(generators, g, state, out):
    """Compute the torque of generator g about the joint, and its derivatives with respect to angle, speed,
    activation and fitted parameters.

    generators : Generators - table of torque generators
    g : int - index of the generator
    state : (3,) - q [rad], dq/dt [rad/s], activation [1]
    out : (9,) - columns TORQUE [N m], BY_ANGLE, BY_SPEED, BY_ACTIVATION, and five from BY_FIT on, written
    """
    p, x, curves = generators.parameter[g], generators.fit[g], generators.curves
    theta, omega, a = fibre_angle(p, state[0]), fibre_speed(p, state[1]), state[2]
    A, A_theta, A_s, _ = angle_multiplier(curves, p, theta, x[S_A])
    V, V_omega, V_s, _ = speed_multiplier(curves, p, FIRST_VELOCITY + g, omega, x[S_V])
    free, free_theta, _ = passive_curve(curves, p, theta, x[DELTA])
    kept = 1.0 - x[LAMBDA]
    per_speed = p[DAMPING] / (x[S_V] * p[SPEED])
    damped = 1.0 - per_speed * omega
    strength = p[TORQUE_SIGN] * p[STRENGTH]
    scaled = strength * x[S_TAU]
    whole = a * A * V + kept * free * damped
    out[TORQUE] = scaled * whole
    turned = p[FACTOR] * p[ANGLE_SIGN]
    out[BY_ANGLE] = scaled * turned * (a * A_theta * V + kept * free_theta * damped)
    sped = p[FACTOR] * p[TORQUE_SIGN]
    out[BY_SPEED] = scaled * sped * (a * A * V_omega - kept * free * per_speed)
    out[BY_ACTIVATION] = scaled * A * V
    out[BY_FIT + S_A] = scaled * a * A_s * V
    out[BY_FIT + S_V] = scaled * (a * A * V_s + kept * free * per_speed * omega / x[S_V])
    out[BY_FIT + DELTA] = -scaled * kept * free_theta * damped
    out[BY_FIT + LAMBDA] = -scaled * free * damped
    out[BY_FIT + S_TAU] = strength * whole


@njit
def parts(generators, g, state, out):
    """Compute the four factors of generator g's torque: t^A, t^V, t^PE (with the fitted parameters) and the
    damping factor 1 - beta w.

    generators : Generators - table of torque generators
    g : int - index of the generator
    state : (2,) or longer - q [rad], dq/dt [rad/s]
    out : (4,) - the factors, written
    """
    p, x, curves = generators.parameter[g], generators.fit[g], generators.curves
    theta, omega = fibre_angle(p, state[0]), fibre_speed(p, state[1])
    out[0] = angle_multiplier(curves, p, theta, x[S_A])[0]
    out[1] = speed_multiplier(curves, p, FIRST_VELOCITY + g, omega, x[S_V])[0]
    out[2] = (1.0 - x[LAMBDA]) * passive_curve(curves, p, theta, x[DELTA])[0]
    out[3] = 1.0 - p[DAMPING] * omega / (x[S_V] * p[SPEED])


@njit
def activation_of(generators, g, state, out):
    """Return the activation at which generator g exerts a given torque; it is not limited to 0 to 1.

    It is NaN or infinite where t^A t^V is zero, which is possible only where lambda_A or lambda_V is 0.

    generators : Generators - table of torque generators
    g : int - index of the generator
    state : (3,) - q [rad], dq/dt [rad/s], torque about the joint [N m]
    out : (4,) - the factors that `parts` computes, written
    """
    parts(generators, g, state, out)
    p = generators.parameter[g]
    whole = state[2] / (p[TORQUE_SIGN] * p[STRENGTH] * generators.fit[g, S_TAU])
    return (whole - out[2] * out[3]) / (out[0] * out[1])


@njit
def torques(generators, states, out):
    """Compute the torques of all generators about their joints, with derivatives, into out : (n, 9).

    states : (n, 3) - joint coordinate q [rad], its speed [rad/s] and activation [1] for each generator. A row
        of out: torque [N m], derivatives by q, speed, activation, and by the five fitted parameters.
    """
    for g in range(states.shape[0]):
        torque(generators, g, states[g], out[g])


@entry
def activations(generators, g, states, activation_out, parts_out):
    """Compute the activation that one generator needs for the joint torque in each frame of a motion.

    generators : Generators - table of torque generators
    g : int - index of the generator
    states : (n_frame, 3) - q [rad], dq/dt [rad/s], torque about the joint [N m]
    activation_out : (n_frame,) - activation in each frame [1]
    parts_out : (n_frame, 4) - factors of angle, speed and passive torque t^A, t^V, t^PE, and of damping 1 -
        beta w, in each frame
    """
    for k in range(states.shape[0]):
        activation_out[k] = activation_of(generators, g, states[k], parts_out[k])
