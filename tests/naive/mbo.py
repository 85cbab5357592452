"""Multi-body optimisation of Sancisi et al. 2017 in natural_coordinates coordinates: slow, dense and obvious.

Q (48,) holds foot, shank, thigh and pelvis. Every point is linear in Q, so every constraint is linear or a
product of two linear vectors, and second derivatives are constant. Each frame is solved by full Newton
iterations on the conditions of eq. 6 (zero) or eq. 9 (minimised, prescribed).

The paper calls these problems convex and insensitive to the start. They are not: the isometric knee of `zero`
has two assemblies that differ by 5-18 degrees of internal rotation, each a local minimum, and near 20 degrees
of flexion it is so close to singular that 1 um on a condyle radius moves Q by 2 mm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.naive import knee_results, knee_tables, natural_coordinates

Array = NDArray[np.floating]

SEGMENTS = ("foot", "shank", "thigh", "pelvis")
TOLERANCE = 1e-11  # the paper's 1e-12 is at round-off once the ligaments weigh 1e4


class Leg(NamedTuple):
    """A subject: constants of the segments, n of their markers (n_marker_i, 3), n of the hip in the pelvis.

    normals : the plateau normals (3,) of table 1 in the tibia SCS by compartment, unit unless told otherwise.
    """

    parameters: tuple[natural_coordinates.SegmentParameters, ...]
    markers: tuple[Array, ...]
    hip: Array
    normals: dict[str, Array] = knee_tables.PLATEAU_NORMALS


class RigidSegment(NamedTuple):
    """A segment as a rigid body, in its orthonormal frame (X along u, v in XY, origin rP), metres."""

    basis: Array
    markers: Array
    points: dict[str, Array]
    normals: dict[str, Array]


class Products(NamedTuple):
    """Constraints (left_c Q).(right_c Q) - constant_c; left, right (n, 3, 48), constant (n,) in SI."""

    left: Array
    right: Array
    constant: Array

    def value(self, Q: Array) -> Array:
        """Return Phi, (n,)."""
        return np.einsum("ci,ci->c", self.left @ Q, self.right @ Q) - self.constant

    def jacobian(self, Q: Array) -> Array:
        """Return dPhi/dQ, (n, 48)."""
        from_right = np.einsum("ci,cij->cj", self.left @ Q, self.right)
        from_left = np.einsum("ci,cij->cj", self.right @ Q, self.left)
        return from_right + from_left

    def hessian(self) -> Array:
        """Return d2Phi/dQ2, (n, 48, 48), which is constant."""
        half = np.swapaxes(self.left, 1, 2) @ self.right
        return half + np.swapaxes(half, 1, 2)


class Problem(NamedTuple):
    """What one frame minimises: marker points (n_marker, 3, 48), hard constraints, weighted soft products."""

    markers: Array
    linear: Array
    hard: Products
    soft: Products
    soft_weights: Array


class Solution(NamedTuple):
    """Q (48,), the multipliers of the hard constraints, |F| at Q, and the Newton steps taken."""

    Q: Array
    multipliers: Array
    residual: float
    n_iteration: int


class Trial(NamedTuple):
    """All frames: Q (n_frame, 48), residual and n_iteration (n_frame,), target lengths (n_frame, n) m."""

    Q: Array
    residual: Array
    n_iteration: NDArray[np.int64]
    targets: Array


def leg_from_measurements(Q: Array, markers: tuple[Array, ...]) -> Leg:
    """Return the subject averaged over frames (eqs 12, 13).

    Q (n_frame, 48) is built from the skin markers; markers holds, for each of SEGMENTS, the measured
    positions (n_frame, n_marker_i, 3) m. The hip is the pelvis point that follows the thigh's proximal point.
    """
    foot, shank, thigh, pelvis = segments_of(Q)
    local = tuple(
        np.array([natural_coordinates.mean_local_coordinates(q, r) for r in np.swapaxes(positions, 0, 1)])
        for q, positions in zip((foot, shank, thigh, pelvis), markers, strict=True)
    )
    return Leg(
        parameters=tuple(natural_coordinates.mean_parameters(q) for q in (foot, shank, thigh, pelvis)),
        markers=local,
        hip=natural_coordinates.mean_local_coordinates(pelvis, natural_coordinates.proximal(thigh)),
    )


def segments_of(Q: Array) -> tuple[Array, Array, Array, Array]:
    """Return q (..., 12) of foot, shank, thigh and pelvis of Q (..., 48)."""
    return Q[..., 0:12], Q[..., 12:24], Q[..., 24:36], Q[..., 36:48]


def virtual_markers(leg: Leg) -> dict[str, dict[str, Array]]:
    """Return n (3,) of every virtual marker (eq. 14), by segment and name.

    Points given from the distal end get -1 on n_v: those of the femur, and of the shank at the ankle.
    """
    B_foot, B_shank, B_thigh, _ = (natural_coordinates.basis(parameters) for parameters in leg.parameters)
    from_distal = np.array([0.0, -1.0, 0.0])
    shift = knee_tables.ankle_translation(leg.parameters[1].length)
    return {
        "foot": {
            name: np.linalg.solve(B_foot, r + shift) for name, r in knee_tables.FOOT_ANKLE_POINTS.items()
        },
        "shank": {name: np.linalg.solve(B_shank, r) for name, r in knee_tables.TIBIA_POINTS.items()}
        | {
            name: np.linalg.solve(B_shank, r + shift) + from_distal
            for name, r in knee_tables.SHANK_ANKLE_POINTS.items()
        },
        "thigh": {
            name: np.linalg.solve(B_thigh, r) + from_distal for name, r in knee_tables.FEMUR_POINTS.items()
        }
        | {"hip": np.zeros(3)},
        "pelvis": {"hip": leg.hip},
    }


def plateau_normals(leg: Leg) -> dict[str, Array]:
    """Return n (3,) of the normals of the tibial plateaus in the shank, by compartment."""
    B_shank = natural_coordinates.basis(leg.parameters[1])
    return {name: np.linalg.solve(B_shank, normal) for name, normal in leg.normals.items()}


def rigid_export(leg: Leg) -> dict[str, RigidSegment]:
    """Return every segment as a rigid body, for comparison with a solver on rotations and joints.

    Local coordinates are B n (metres) in the orthonormal frame of B: X along u, v in the XY plane, origin rP.
    `natural_coordinates.segment_frame` places that frame in the ground for a given q.
    """
    points = virtual_markers(leg)
    normals = {"shank": plateau_normals(leg)}
    exported = {}
    for name, parameters, markers in zip(SEGMENTS, leg.parameters, leg.markers, strict=True):
        B = natural_coordinates.basis(parameters)
        exported[name] = RigidSegment(
            basis=B,
            markers=markers @ B.T,
            points={point: B @ n for point, n in points[name].items()},
            normals={compartment: B @ n for compartment, n in normals.get(name, {}).items()},
        )
    return exported


def embed(segment: str, N: Array) -> Array:
    """Return a segment's matrix (3, 12) as one on the whole Q, (3, 48)."""
    whole = np.zeros((3, 48))
    start = 12 * SEGMENTS.index(segment)
    whole[:, start : start + 12] = N
    return whole


def marker_matrices(leg: Leg) -> Array:
    """Return N of all markers, (n_marker, 3, 48), in the order of SEGMENTS."""
    return np.array(
        [
            embed(segment, natural_coordinates.point_matrix(n))
            for segment, local in zip(SEGMENTS, leg.markers, strict=True)
            for n in local
        ]
    )


def point_matrices(leg: Leg) -> dict[str, dict[str, Array]]:
    """Return N (3, 48) of every virtual marker, by segment and name."""
    return {
        segment: {name: embed(segment, natural_coordinates.point_matrix(n)) for name, n in points.items()}
        for segment, points in virtual_markers(leg).items()
    }


def ball_joints(leg: Leg) -> Array:
    """Return G (6, 48) with G Q = 0: hip centre and ankle centre common to their two segments [m]."""
    N = point_matrices(leg)
    hip = N["pelvis"]["hip"] - N["thigh"]["hip"]
    ankle = N["foot"]["ankle_centre"] - N["shank"]["ankle_centre"]
    return np.vstack([hip, ankle])


def knee_contacts(leg: Leg) -> Products:
    """Return the two sphere-on-plane contacts, (c_femur - p_tibia).n - R = 0 [m], medial then lateral."""
    N = point_matrices(leg)
    normals = plateau_normals(leg)
    names = knee_tables.COMPARTMENTS
    return Products(
        left=np.array([N["thigh"][f"{name}_condyle"] - N["shank"][f"{name}_plateau"] for name in names]),
        right=np.array(
            [embed("shank", natural_coordinates.direction_matrix(normals[name])) for name in names]
        ),
        constant=np.array([knee_tables.CONDYLE_RADII[name] for name in names]),
    )


def _distances(arms: Array, lengths: Array) -> Products:
    """Return (arm Q)^2 - d^2 [m^2] for arms (n, 3, 48) and lengths (n,) m."""
    return Products(left=arms, right=arms, constant=lengths**2)


def knee_ligaments(leg: Leg, names: tuple[str, ...], lengths: Array) -> Products:
    """Return eq. 4 for the named ligaments with lengths (n,) m."""
    N = point_matrices(leg)
    return _distances(np.array([N["thigh"][name] - N["shank"][name] for name in names]), lengths)


def ankle_ligaments(leg: Leg) -> Products:
    """Return the two isometric ligaments of the ankle."""
    N = point_matrices(leg)
    names = knee_tables.ANKLE_LIGAMENTS
    arms = np.array([N["shank"][name] - N["foot"][name] for name in names])
    return _distances(arms, knee_tables.isometric_ankle_lengths())


def rigid_bodies(leg: Leg) -> Products:
    """Return eq. 3 for the four segments: 24 constraints."""
    parts = []
    for segment, parameters in zip(SEGMENTS, leg.parameters, strict=True):
        left, right, constant = natural_coordinates.rigid_body_products(parameters)
        whole_left = np.array([embed(segment, N) for N in left])
        whole_right = np.array([embed(segment, N) for N in right])
        parts.append(Products(whole_left, whole_right, constant))
    return stack(*parts)


def stack(*parts: Products) -> Products:
    """Return several sets of products as one."""
    left, right, constant = zip(*parts, strict=True)
    return Products(np.concatenate(left), np.concatenate(right), np.concatenate(constant))


def isometric_problem(leg: Leg) -> Problem:
    """Return the problem of eqs 5-7: ACL, PCL and MCL held at the lengths of the mechanism, LCL free."""
    names = tuple(knee_tables.MECHANISM_LENGTHS)
    held = knee_ligaments(leg, names, np.array(list(knee_tables.MECHANISM_LENGTHS.values())))
    nothing = Products(np.zeros((0, 3, 48)), np.zeros((0, 3, 48)), np.zeros(0))
    hard = stack(held, ankle_ligaments(leg), knee_contacts(leg), rigid_bodies(leg))
    return Problem(marker_matrices(leg), ball_joints(leg), hard, nothing, np.zeros(0))


def deformable_problem(leg: Leg, targets: Array, weights: Array) -> Problem:
    """Return the problem of eq. 8: four ligaments drawn to targets (4,) m with weights (4,)."""
    soft = knee_ligaments(leg, knee_tables.LIGAMENTS, targets)
    hard = stack(ankle_ligaments(leg), knee_contacts(leg), rigid_bodies(leg))
    return Problem(marker_matrices(leg), ball_joints(leg), hard, soft, weights)


def conditions(problem: Problem, Q: Array, multipliers: Array, measured: Array) -> tuple[Array, Array]:
    """Return F of eq. 6 or 9 and its exact Jacobian for one frame.

    measured (n_marker, 3) m; a marker with a NaN is occluded and weighs nothing. The multipliers belong to
    the linear constraints, then to the hard products.
    """
    seen = np.isfinite(measured).all(axis=1)
    K_marker = problem.markers[seen].reshape(-1, 48)
    marker = K_marker @ Q - measured[seen].ravel()
    W, soft, K_soft = np.diag(problem.soft_weights), problem.soft.value(Q), problem.soft.jacobian(Q)
    constraint = np.concatenate([problem.linear @ Q, problem.hard.value(Q)])
    K_constraint = np.vstack([problem.linear, problem.hard.jacobian(Q)])

    gradient = K_marker.T @ marker + K_soft.T @ W @ soft + K_constraint.T @ multipliers
    curvature = (
        K_marker.T @ K_marker
        + K_soft.T @ W @ K_soft
        + np.tensordot(W @ soft, problem.soft.hessian(), axes=1)
        + np.tensordot(multipliers[len(problem.linear) :], problem.hard.hessian(), axes=1)
    )
    n_constraint = len(constraint)
    F = np.concatenate([gradient, constraint])
    J = np.block([[curvature, K_constraint.T], [K_constraint, np.zeros((n_constraint, n_constraint))]])
    return F, J


def solve_frame(problem: Problem, Q_start: Array, measured: Array, max_iteration: int = 30) -> Solution:
    """Solve one frame by Newton steps from Q_start (48,) with zero multipliers, until |F| <= TOLERANCE."""
    Q = Q_start.copy()
    multipliers = np.zeros(len(problem.linear) + len(problem.hard.constant))
    F, J = conditions(problem, Q, multipliers, measured)
    n_iteration = 0
    while np.linalg.norm(F) > TOLERANCE and n_iteration < max_iteration:
        step = np.linalg.solve(J, -F)
        Q, multipliers = Q + step[:48], multipliers + step[48:]
        F, J = conditions(problem, Q, multipliers, measured)
        n_iteration += 1
    return Solution(Q, multipliers, float(np.linalg.norm(F)), n_iteration)


def _trial(solutions: list[Solution], targets: Array) -> Trial:
    return Trial(
        Q=np.array([solution.Q for solution in solutions]),
        residual=np.array([solution.residual for solution in solutions]),
        n_iteration=np.array([solution.n_iteration for solution in solutions]),
        targets=targets,
    )


def solve_zero(leg: Leg, Q_start: Array, measured: Array) -> Trial:
    """Solve with zero ligament length variation; Q_start (n_frame, 48), measured (n_frame, n_marker, 3) m."""
    problem = isometric_problem(leg)
    solutions = [solve_frame(problem, Q, r) for Q, r in zip(Q_start, measured, strict=True)]
    held = np.array(list(knee_tables.MECHANISM_LENGTHS.values()))
    return _trial(solutions, np.tile(held, (len(Q_start), 1)))


def solve_deformable(leg: Leg, Q_start: Array, measured: Array, targets: Array, weights: Array) -> Trial:
    """Solve eq. 9 in every frame with targets (n_frame, 4) m and weights (4,)."""
    problem = deformable_problem(leg, targets[0], weights)
    solutions = []
    for Q, r, target in zip(Q_start, measured, targets, strict=True):
        soft = problem.soft._replace(constant=target**2)
        solutions.append(solve_frame(problem._replace(soft=soft), Q, r))
    return _trial(solutions, targets)


def solve_minimised(leg: Leg, Q_zero: Array, measured: Array) -> Trial:
    """Solve from the solution of `zero`; targets are the mean of eq. 1 at its flexions (eq. 10)."""
    mean = knee_results.experimental_lengths(Q_zero).mean(axis=0)
    targets = np.tile(mean, (len(Q_zero), 1))
    return solve_deformable(leg, Q_zero, measured, targets, knee_tables.MINIMISED_WEIGHTS)


def solve_prescribed(leg: Leg, Q_zero: Array, measured: Array) -> Trial:
    """Solve from the solution of `zero`; targets are eq. 1 at its flexion, frame by frame (eq. 11)."""
    targets = knee_results.experimental_lengths(Q_zero)
    return solve_deformable(leg, Q_zero, measured, targets, knee_tables.PRESCRIBED_WEIGHTS)
