"""Covariance of a constrained optimum by the null space of its constraints, and the numbers of a pose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from kernels.frame import Skeleton
from kernels.optimality import Problem
from tests.naive import kkt
from tests.naive.constraints import ends
from tests.naive.joint_angles import angles, displacement
from tests.naive.tree import state

Array = NDArray[np.floating]


def outputs(model: Skeleton, displaced: NDArray[np.int64], q: Array) -> Array:
    """Return angles, displacements, lengthening and contact points at q, in the kernel's order."""
    at, joints = state(model.tree, q), model.joints
    turns, gaps = [], []
    for j, (p, d) in enumerate(zip(joints.proximal, joints.distal, strict=True)):
        proximal = at.body[p][:3, :3] @ joints.axes_proximal[j]
        distal = at.body[d][:3, :3] @ joints.axes_distal[j]
        turns.append(angles(proximal, distal))
        gap = at.point(d, joints.point_distal[j]) - at.point(p, joints.point_proximal[j])
        if j in displaced:
            gaps.append(displacement(proximal, distal, gap))
    longer = []
    for e in model.ligaments:
        a, b, _ = ends(at, model.elements, e)
        longer.append(np.linalg.norm(a - b) / model.neutral_length[e] - 1.0)
    places = []
    for e in model.contacts:
        a, b, n = ends(at, model.elements, e)
        body = at.body[model.elements.body_b[e]]
        places.append(body[:3, :3].T @ (a - ((a - b) @ n) * n - body[:3, 3]))
    return np.concatenate([np.ravel(part) for part in (turns, gaps, longer, places)])


def covariance(problem: Problem, q: Array, multiplier: Array, variance: Array, held: Array) -> Array:
    """Return that of the tangent coordinates (n_v, n_v).

    variance : (n_marker,) of each marker along an axis [m^2]; held : (n_v,) of where open dofs are held
    """
    at = kkt.terms(problem, q)
    H = at.curvature + np.tensordot(multiplier[: len(at.phi)], at.row_curvature, axes=1)
    Z = null_space(at.rows) if len(at.rows) else np.eye(len(H))
    P = Z @ np.linalg.inv(Z.T @ H @ Z) @ Z.T
    here = state(problem.tree, q)
    M = np.diag(problem.hold**2 * held)
    for b, x, w, s in zip(
        problem.markers.body, problem.markers.position, problem.weight, variance, strict=True
    ):
        J, _ = here.point_derivatives(b, x)
        M += w**2 * s * J.T @ J
    return P @ M @ P
