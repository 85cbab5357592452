"""Torque generators as in Millard et al. (2019), in NumPy: Bernstein polynomials and bisection."""

from __future__ import annotations

from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
BLEND = float(np.finfo(float).eps ** 0.25)


class Generator(NamedTuple):
    """One generator by the paper's names; angles positive in flexion [rad], torque [N m]."""

    tau_o: float
    omega_max: float
    theta_o: float
    theta_w: float
    lengthening: float
    half: float
    theta_0: float
    theta_1: float
    beta: float = 0.1
    blend: float = 0.0  # lambda_A and lambda_V
    to_one: bool = False
    angle_sign: float = 1.0
    torque_sign: float = 1.0
    offset: float = 0.0
    factor: float = 1.0


def corner_points(p0: tuple, p5: tuple, c: float) -> Array:
    """(6, 2) - control points between (x, y, slope) and (x, y, slope)."""
    (x0, y0, s0), (x1, y1, s1) = p0, p5
    x = (x0 + x1) / 2 if abs(s0 - s1) < 1.5e-8 else (y1 - y0 - x1 * s1 + x0 * s0) / (s0 - s1)
    C = np.array([x, y1 + s1 * (x - x1)])
    P0, P5 = np.array([x0, y0]), np.array([x1, y1])
    P1, P4 = P0 + c * (C - P0), P5 + c * (C - P5)
    return np.array([P0, P1, (P1 + C) / 2, (P4 + C) / 2, P4, P5])


def bernstein(P: Array, u: float) -> Array:
    """The point of a Bezier curve with any number of control points."""
    n = len(P) - 1
    return np.array([comb(n, k) * u**k * (1 - u) ** (n - k) for k in range(n + 1)]) @ P


def curve(knots: list[tuple], shapes: list[float], x: float) -> Array:
    """Value, slope and curvature of a chain at x."""
    if x <= knots[0][0] or x >= knots[-1][0]:
        x0, y0, s0 = knots[0] if x <= knots[0][0] else knots[-1]
        return np.array([y0 + s0 * (x - x0), s0, 0.0])
    k = max(i for i, knot in enumerate(knots) if knot[0] <= x)
    P = corner_points(knots[k], knots[k + 1], shapes[k])
    low, high = 0.0, 1.0
    for _ in range(60):
        u = (low + high) / 2
        low, high = (u, high) if bernstein(P, u)[0] < x else (low, u)
    D = 5 * np.diff(P, axis=0)
    (X1, Y1), (X2, Y2) = bernstein(D, u), bernstein(4 * np.diff(D, axis=0), u)
    return np.array([bernstein(P, u)[1], Y1 / X1, (Y2 * X1 - Y1 * X2) / X1**3])


def t_A(theta: float, m: Generator) -> Array:
    """The active torque-angle curve, with derivatives by theta."""
    W, e, w = m.theta_w * np.sqrt(2 * np.log(1000)), np.exp(-0.5), m.theta_w
    o = m.theta_o
    knots = [(o - W, 0, 0), (o - w, e, e / w), (o, 1, 0), (o + w, e, -e / w), (o + W, 0, 0)]
    return curve(knots, [0.5] * 4, theta)


def t_PE(theta: float, m: Generator) -> Array:
    """The passive torque-angle curve, with derivatives by theta; for spans below 1.394 rad."""
    D = m.theta_1 - m.theta_0
    k = 4.6 / D
    toe = 0.05 * D
    knots = [(m.theta_0, 0, 0), (m.theta_0 + toe, 0.01 * k * toe / 2, 0.01 * k), (m.theta_1, 1, k)]
    return curve(sorted(knots), [0.5, 0.5], theta)


def hill(h: float, w: float) -> tuple[float, float]:
    """Hill's hyperbola and its slope."""
    a = 0.5 * h / (0.5 - h)
    return a * (1 - w) / (a + w), -a * (1 + a) / (a + w) ** 2


@cache
def hill_shape(h: float) -> float:
    """The shape of the corner that lies nearest to Hill's hyperbola from 0 to 0.9."""
    ends = [(0.0, *hill(h, 0.0)), (0.9, *hill(h, 0.9))]

    def away(c: float) -> float:
        return sum(abs(curve(ends, [c], j / 9)[0] - hill(h, j / 9)[0]) for j in range(9))

    c, step = 0.5, 0.25
    for _ in range(10):
        c = min((c, c - step, c + step), key=away)
        step /= 2
    return c


def t_V(w: float, m: Generator) -> Array:
    """The torque-velocity curve over omega / omega_max."""
    start, end = (0.0, *hill(m.half, 0.0)), (0.9, *hill(m.half, 0.9))
    knots = [(-1.0, m.lengthening, 0.0), (-0.9, m.lengthening, 0.0), start, end, (1.0, 0.0, 0.0)]
    c = hill_shape(m.half)
    return curve(knots, [0.7, 0.7, c, c], w)


def multipliers(m: Generator, q: float, qd: float, x: Array) -> Array:
    """t^A, t^V, t^PE as fitted and 1 - beta w; x = (s_A, s_V, Delta_P, lambda_P, s_tau), eqs 4 to 6."""
    s_A, s_V, delta, lambda_P, _ = x
    theta, omega = m.factor * m.angle_sign * (q - m.offset), m.factor * m.torque_sign * qd
    flat = 1.0 if m.to_one else m.lengthening
    A = m.blend + (1 - m.blend) * t_A((theta - m.theta_o) / s_A + m.theta_o, m)[0]
    V = m.blend * flat + (1 - m.blend) * t_V(omega / (s_V * m.omega_max), m)[0]
    P = (1 - lambda_P) * t_PE(theta - delta, m)[0]
    return np.array([A, V, P, 1 - m.beta * omega / (s_V * m.omega_max)])


def torque(m: Generator, q: float, qd: float, a: float, x: Array) -> float:
    """Eq. 3."""
    A, V, P, damped = multipliers(m, q, qd, x)
    return float(m.torque_sign * x[4] * m.tau_o * (a * A * V + P * damped))


def activation(m: Generator, q: float, qd: float, tau: float, x: Array) -> float:
    """Eq. 3 solved for the activation."""
    A, V, P, damped = multipliers(m, q, qd, x)
    return float((m.torque_sign * tau / (x[4] * m.tau_o) - P * damped) / (A * V))
