"""Rates of over-determinate kinematics and the balance of a joint, by differences and dense algebra."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from rtsim.models.model import Model
from tests.naive.constraints import value
from tests.naive.differences import first_derivative, second_along_finer
from tests.naive.recruitment import of_power
from tests.naive.tree import state

Array = NDArray[np.floating]


def places(model: Model, q: Array) -> Array:
    """(3 n_marker,) - the markers of a model in ground."""
    at = state(model.tree, q)
    found = [
        (at.body[b] @ np.append(x, 1.0))[:3]
        for b, x in zip(model.markers.body, model.markers.position, strict=True)
    ]
    return np.concatenate(found)


def values(model: Model, q: Array) -> Array:
    """(n_element,) - (a - b) . n of the elements that are planes, the angles of others; |a - b|^2."""
    at = state(model.tree, q)
    return np.array([value(at, model.elements, e, 0.0) for e in range(len(model.elements.kind))])


def rates(model: Model, q: Array, velocity: Array, acceleration: Array, weight: Array) -> tuple[Array, Array]:
    """v, v_dot : (n_v,) of Andersen et al. 2017, eqs 9 and 10, with all elements held."""
    tree = model.tree
    J = first_derivative(lambda x: places(model, x), tree, q)
    A = first_derivative(lambda x: values(model, x), tree, q)
    w = np.repeat(weight, 3)
    n, m = J.shape[1], len(A)
    K = np.block([[J.T @ (w[:, None] * J), A.T], [A, np.zeros((m, m))]])
    v = np.linalg.solve(K, np.r_[J.T @ (w * velocity.ravel()), np.zeros(m)])[:n]
    bend = second_along_finer(lambda x: places(model, x), tree, q, v)
    turn = second_along_finer(lambda x: values(model, x), tree, q, v)
    v_dot = np.linalg.solve(K, np.r_[J.T @ (w * (acceleration.ravel() - bend)), -turn])[:n]
    return v, v_dot


def work_of_wrench(model: Model, q: Array, body: int, wrench: Array) -> Array:
    """(n_v,) - what a wrench (6,), a moment about ground's origin and a force, does to every dof.

    By the motion of the body's point that lies at ground's origin, and by the turn of its axes.
    """
    at = state(model.tree, q).body[body]
    here = np.linalg.inv(at) @ [0.0, 0.0, 0.0, 1.0]

    def moved(x: Array) -> Array:
        now = state(model.tree, x).body[body]
        turn = now[:3, :3] @ at[:3, :3].T
        return np.r_[turn[2, 1], turn[0, 2], turn[1, 0], (now @ here)[:3]]

    return first_derivative(moved, model.tree, q).T @ wrench


def share(
    action: Array, row: Array, load: Array, power: int, most: Array | None = None
) -> tuple[Array, Array]:
    """Activations (n_element,), reactions (n_held,): min sum x^p with action' x + row' phi = load.

    most : (n_element,) - largest activations, 1 if not given
    """
    across = null_space(row)
    C, d = across.T @ action.T, across.T @ load
    scale = 1.0 / np.abs(C).max(axis=1)
    n = len(action)
    x = of_power(scale[:, None] * C, scale * d, power, np.ones(n), np.ones(n) if most is None else most)
    return x, np.linalg.lstsq(row.T, load - action.T @ x, rcond=None)[0]
