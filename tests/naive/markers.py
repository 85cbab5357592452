"""Cost, gradient and Hessian of markers by their explicit Jacobians, one marker after another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.joints.tree import Tree
from kernels.markers.marker_cost import ModelMarkers
from tests.naive.tree import state

Array = NDArray[np.floating]


def model_markers(tree: Tree, markers: ModelMarkers, q: Array) -> Array:
    """Return the model markers in ground, (n_marker, 3) m."""
    at = state(tree, q)
    return np.array([at.point(b, x) for b, x in zip(markers.body, markers.position, strict=True)])


def cost(tree: Tree, markers: ModelMarkers, q: Array, measured: Array, weight: Array) -> float:
    """Return 1/2 sum w |x - m|^2 over the markers with w > 0."""
    gap = (model_markers(tree, markers, q) - measured)[weight > 0.0]
    return float(0.5 * weight[weight > 0.0] @ np.sum(gap**2, axis=1))


def derivatives(
    tree: Tree, markers: ModelMarkers, q: Array, measured: Array, weight: Array
) -> tuple[Array, Array, Array]:
    """Return the gradient (n_v,), the Gauss-Newton matrix and the second-order rest, both (n_v, n_v)."""
    at, n_v = state(tree, q), len(tree.dof_body)
    gradient, gauss_newton, rest = np.zeros(n_v), np.zeros((n_v, n_v)), np.zeros((n_v, n_v))
    for b, x, m, w in zip(markers.body, markers.position, measured, weight, strict=True):
        if w <= 0.0:
            continue
        first, second = at.point_derivatives(b, x)
        gap = at.point(b, x) - m
        gradient += w * first.T @ gap
        gauss_newton += w * first.T @ first
        rest += w * np.tensordot(gap, second, axes=1)
    return gradient, gauss_newton, rest
