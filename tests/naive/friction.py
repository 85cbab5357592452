"""Friction laws as printed, in NumPy: Brown (2017), chapter 4, and Bengisu & Akay (1994)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.forces.friction import ANDERSSON, BENGISU_AKAY, BROWN_MCPHEE, HOLLARS


class Parameters(NamedTuple):
    """Parameters by the thesis' names, in the order of the columns; v_d also v_s, k_tanh also xi."""

    mu_s: float = 0.2
    mu_d: float = 0.15
    v_t: float = 1e-3
    mu_v: float = 0.0
    F_nt: float = 10.0
    k_v: float = 0.0
    v_d: float = 0.25e-3
    p: float = 2.0
    k_tanh: float = 1e4


def friction_force(law: int, parameters: Parameters, v: float, F_n: float) -> float:
    """Return the friction force of a law [N]."""
    mu_s, mu_d, v_t, mu_v, F_nt, k_v, v_d, p, k_tanh = parameters
    if F_n <= 0.0:
        return 0.0
    s = v / v_t
    with np.errstate(over="ignore", under="ignore"):
        if law == BROWN_MCPHEE:  # 4.4
            dynamic = F_n * mu_d * np.tanh(4.0 * s)
            static = F_n * (mu_s - mu_d) * s / (s**2 / 4.0 + 3.0 / 4.0) ** 2
            return float(dynamic + static + mu_v * v * np.tanh(4.0 * F_n / F_nt))
        if law == ANDERSSON:  # 4.1
            mu = mu_d + (mu_s - mu_d) * np.exp(-np.power(np.abs(v) / v_d, p))
            return float(F_n * mu * np.tanh(k_tanh * v) + mu_v * v)
        if law == HOLLARS:  # 4.2, odd
            x = np.abs(s)
            mu = min(x, 1.0) * (mu_d + 2.0 * (mu_s - mu_d) / (1.0 + np.square(x)))
            return float(F_n * (np.sign(v) * mu + k_v * v))
        if law == BENGISU_AKAY:
            F_s, F_c, speed = F_n * mu_s, F_n * mu_d, np.abs(v)
            if speed < v_t:
                return float(np.sign(v) * (-F_s / v_t**2 * (speed - v_t) ** 2 + F_s))
            return float(np.sign(v) * (F_c + (F_s - F_c) * np.exp(-k_tanh * (speed - v_t))))
        # 4.3 with mu_v in place of k_v
        peak = F_n * mu_s - F_n * mu_d * np.tanh(v_t / v_d) - mu_v * v_t
        stribeck = peak * s * np.exp(-np.square(s) / 2.0 + 0.5)
        return float(stribeck + F_n * mu_d * np.tanh(v / v_d) + mu_v * v)
