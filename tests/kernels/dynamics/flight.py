"""A tree let go: its motion integrated on the manifold by a method of order four."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernels.joints.tree import Tree, integrate
from tests.kernels.dynamics.cases import Case, forward
from tests.naive.tree import TURNING

Array = NDArray[np.floating]


def fly(case: Case, tau: Callable[[Array], Array], duration: float, n_step: int) -> Case:
    """Return the state after `duration` [s] under the generalized forces tau(v).

    Classical Runge-Kutta in the tangent space at the start of each step (Munthe-Kaas 1998, BIT 38, 92-111).
    """
    q, v, h, tree = case.q, case.v, duration / n_step, case.system.tree
    for _ in range(n_step):
        u_rates, v_rates = np.zeros((2, 4, len(v)))
        for stage, share in enumerate((0.0, 0.5, 0.5, 1.0)):
            before = stage - 1 if stage else 0
            u, speed = h * share * u_rates[before], v + h * share * v_rates[before]
            u_rates[stage] = tangent_rate(tree, u, speed)
            there = case._replace(q=moved(tree, q, u), v=speed)
            v_rates[stage] = forward(there, tau(speed))
        q = moved(tree, q, h / 6.0 * (np.array([1, 2, 2, 1]) @ u_rates))
        v = v + h / 6.0 * (np.array([1, 2, 2, 1]) @ v_rates)
    return case._replace(q=q, v=v)


def moved(tree: Tree, q: Array, u: Array) -> Array:
    """Return q after the tangent step u (n_v,)."""
    q_new = q.copy()
    integrate(tree, q, u, 1.0, q_new)
    return q_new


def tangent_rate(tree: Tree, u: Array, v: Array) -> Array:
    """Return du/dt (n_v,) where the coordinates are a start moved by u, and the speeds are v.

    For rotations R = R_start exp(u): du/dt = w + u x w / 2 + c u x (u x w), the inverse of the differential
    of exp, c = 1 / |u|^2 - (1 + cos |u|) / (2 |u| sin |u|).
    """
    rate = v.copy()
    for b, kind in enumerate(tree.kind):
        if kind in TURNING:
            own = slice(tree.v_start[b + 1] - 3, tree.v_start[b + 1])
            turn, w = u[own], v[own]
            size = float(np.linalg.norm(turn))
            c = 1.0 / 12.0
            if size > 1e-3:
                c = 1.0 / size**2 - (1.0 + np.cos(size)) / (2.0 * size * np.sin(size))
            rate[own] += 0.5 * np.cross(turn, w) + c * np.cross(turn, np.cross(turn, w))
    return rate
