"""Covariance of a constrained optimum by the null space of its constraints, and the numbers of a pose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from kernels.solver.frame import Skeleton
from kernels.solver.optimality import FrameProblem
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
        carrier = model.elements.body_b[e]
        body = at.body[carrier] if carrier >= 0 else np.eye(4)
        places.append(body[:3, :3].T @ (a - ((a - b) @ n) * n - body[:3, 3]))
    return np.concatenate([np.ravel(part) for part in (turns, gaps, longer, places)])


def response(problem: FrameProblem, q: Array, multiplier: Array) -> tuple[Array, Array]:
    """Return P (n_v, n_v), and W J of all markers (3 n_marker, n_v): the optimum moves by P (W J)' dm."""
    at = kkt.terms(problem, q)
    H = at.curvature + np.tensordot(multiplier[: len(at.phi)], at.row_curvature, axes=1)
    Z = null_space(at.rows) if len(at.rows) else np.eye(len(H))
    P = Z @ np.linalg.inv(Z.T @ H @ Z) @ Z.T
    here = state(problem.tree, q)
    WJ = np.concatenate(
        [
            w * here.point_derivatives(b, x)[0]
            for b, x, w in zip(problem.markers.body, problem.markers.position, problem.weight, strict=True)
        ]
    )
    return P, WJ


def covariance(problem: FrameProblem, q: Array, multiplier: Array, errors: Array, held: Array) -> Array:
    """Return that of the tangent coordinates (n_v, n_v).

    errors : (3 n_marker, 3 n_marker) - covariance of all markers' coordinates in ground [m^2]
    held : (n_v,) of where open dofs are held
    """
    P, WJ = response(problem, q, multiplier)
    M = np.diag(problem.hold**2 * held) + WJ.T @ errors @ WJ
    return P @ M @ P


def shown_of_shift(problem: FrameProblem, q: Array, multiplier: Array, m: int) -> tuple[Array, Array]:
    """Return R (3, 3) and dq (n_v, 3) of a shift d of marker m in ground: its residual changes by R d, the
    tangent coordinates by dq d.
    """
    P, WJ = response(problem, q, multiplier)
    own = WJ[3 * m : 3 * m + 3]
    dq = P @ own.T
    return np.eye(3) - own @ dq / problem.weight[m], dq


def marker_covariance(
    model: Skeleton, q: Array, variance: Array, centre: Array, turn: Array, shift: Array
) -> Array:
    """Return that of all markers in ground (3 n_marker, 3 n_marker) [m^2].

    variance : (n_marker,) - of each alone, along an axis; centre (n_body, 3), turn, shift (n_body,) - of the
    skin of a segment, which moves as one body: one column for each of its six motions
    """
    at = state(model.tree, q)
    markers = model.markers
    places = [at.point(b, x) for b, x in zip(markers.body, markers.position, strict=True)]
    total = np.diag(np.repeat(variance, 3))
    for b in range(len(turn)):
        for axis in np.eye(3):
            moved = np.array([shift[b] * axis * (body == b) for body in markers.body]).ravel()
            turned = np.array(
                [
                    turn[b] * np.cross(axis, place - at.point(b, centre[b])) * (body == b)
                    for body, place in zip(markers.body, places, strict=True)
                ]
            ).ravel()
            total += np.outer(moved, moved) + np.outer(turned, turned)
    return total
