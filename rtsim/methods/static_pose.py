"""The pose of a model that is nearest to markers in one moment, with weights, and its markers put there.

Minimises sum w |x(q) - x_measured|^2 / sum w + sum w (q - q_wanted)^2, the first over markers, the second
over coordinates [rad, m], while the model's constraints hold and clamped coordinates stay in their ranges, as
OpenSim's tools weigh them (Seth et al. 2018, PLoS Comput Biol 14, e1006223): Gauss-Newton steps in the
directions that the constraints leave, damped after Levenberg (1944), Quart Appl Math 2, 164-168.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kernels.tree import Tree, integrate, new_pose, pose
from rtsim.config.marker_schema import Marker
from rtsim.config.model_schema import ModelSpec
from rtsim.errors import ConfigError, ModelError
from rtsim.methods.moment_arms import MomentArms

Array = NDArray[np.float64]
Note = Callable[[str], None]
Places = Mapping[str, tuple[Array, Array]]
"""Rotation and position of every body in ground."""
MAX_ITERATIONS = 200
SMALL_STEP = 1e-10
"""Change of coordinates [rad, m] at which the fit has converged."""
DAMPING, MOST_DAMPING = 1e-6, 1e6
ROUNDING = 1e-11
"""By how much a coordinate may be beyond the end of its range [rad, m]."""
MOST_ENDS = 100
"""Times that coordinates are brought back to an end after one step."""


class Wanted(NamedTuple):
    """What a pose shall meet."""

    markers: Mapping[str, Array]  # measured, in ground (3,) [m]
    weights: Mapping[str, float]  # of markers; one without a weight is not fitted
    coordinates: Mapping[str, tuple[float, float]]  # value [rad, m] and weight


class StaticPose(NamedTuple):
    """The pose found."""

    q: Array  # (n_q,)
    places: Places
    errors: Mapping[str, float]  # of fitted markers [m]


def fit_pose(spec: ModelSpec, arms: MomentArms, wanted: Wanted) -> StaticPose:
    """The nearest pose, from the neutral one on; ModelError where it is not found."""
    fit = Fit(spec, arms, wanted)
    q = arms.assembled()
    damping, (r, J) = DAMPING, fit.linearise(q)
    for _ in range(MAX_ITERATIONS):
        N = fit.free_directions(q, J.T @ r)
        A, b = J @ N, N.T @ (J.T @ r)
        H = A.T @ A
        scale = np.maximum(H.diagonal(), 1e-12 * max(float(H.diagonal().max(initial=0.0)), 1e-12))
        while True:
            step = N @ np.linalg.solve(H + damping * np.diag(scale), -b) if len(b) else np.zeros(len(J.T))
            near = fit.moved(q, step)
            r_near, J_near = fit.linearise(near)
            if r_near @ r_near <= r @ r or damping > MOST_DAMPING:
                break
            damping *= 10.0
        worse = r_near @ r_near > r @ r
        if not worse:
            q, r, J = near, r_near, J_near
        if np.abs(step).max(initial=0.0) < SMALL_STEP or worse:
            return StaticPose(q, fit.places(q), fit.errors(q))
        damping = max(0.1 * damping, 1e-12)
    raise ModelError(
        f"no nearest pose was found in {MAX_ITERATIONS} steps",
        where=f"model {spec.name}",
        remedy="give weight to coordinates that the markers do not determine",
    )


class Fit:
    """Residuals of a pose and their slopes."""

    def __init__(self, spec: ModelSpec, arms: MomentArms, wanted: Wanted) -> None:
        model = arms.model
        self.arms, self.model, self.wanted = arms, model, wanted
        self.tree: Tree = model.tree
        self.bodies = {name: b for b, name in enumerate(model.names.bodies)}
        self.fitted: list[Marker] = [
            marker for marker in spec.markers
            if marker.name in wanted.markers and wanted.weights.get(marker.name, 0.0) > 0.0
        ]  # fmt: skip
        if not self.fitted:
            raise ConfigError(
                "no marker of the model is measured and has a weight",
                where=f"model {spec.name}",
                allowed=", ".join(marker.name for marker in spec.markers) or "none: it has no markers",
                remedy="check the names of the markers",
            )
        for name in wanted.coordinates:
            if name not in model.coordinates.names:
                raise ConfigError(
                    f"unknown coordinate {name!r}",
                    where="coordinate tasks",
                    allowed=", ".join(model.coordinates.names),
                )
        clamped = {c.name: c.range for body in spec.bodies for c in body.coordinates if c.clamped}
        at = [k for k, name in enumerate(model.coordinates.names) if name in clamped]
        self.clamped_names = [model.coordinates.names[k] for k in at]
        self.clamped_q, self.clamped_dof = model.coordinates.q[at], model.coordinates.dof[at]
        self.range = np.array([clamped[name] for name in self.clamped_names], float).reshape(-1, 2)
        self.pose = new_pose(len(self.tree.parent), model.n_v, len(self.tree.chains.dof))
        self.moves = [dofs_of(self.tree, b) for b in range(len(self.tree.parent))]

    def linearise(self, q: Array) -> tuple[Array, Array]:
        """Residuals (n,) and their slopes (n, n_v) over all speeds."""
        pose(self.tree, q, self.pose)
        rows, slopes = [], []
        total = sum(self.wanted.weights[marker.name] for marker in self.fitted)
        origin = self.pose.position[0]
        for marker in self.fitted:
            w, b = np.sqrt(self.wanted.weights[marker.name] / total), self.bodies[marker.segment]
            x = self.place(marker)
            J = np.zeros((3, self.model.n_v))
            for d in self.moves[b]:
                twist = self.pose.twist[d]
                J[:, d] = twist[3:] + np.cross(twist[:3], x - origin)
            rows.append(w * (x - self.wanted.markers[marker.name]))
            slopes.append(w * J)
        for name, (value, weight) in self.wanted.coordinates.items():
            k = self.model.coordinates.names.index(name)
            w, row = np.sqrt(weight), np.zeros((1, self.model.n_v))
            row[0, self.model.coordinates.dof[k]] = w
            rows.append(np.array([w * (q[self.model.coordinates.q[k]] - value)]))
            slopes.append(row)
        return np.concatenate(rows), np.concatenate(slopes)

    def place(self, marker: Marker) -> Array:
        """(3,) - in ground, in the pose looked at last."""
        b = self.bodies[marker.segment]
        return self.pose.position[b] + self.pose.rotation[b] @ (1e-3 * np.array(marker.offset_mm))

    def free_directions(self, q: Array, slope: Array) -> Array:
        """(n_v, n_free) - orthonormal directions that constraints and ends of ranges leave."""
        rows = list(self.arms.constraint_rows(q))
        for at, dof, (low, high) in zip(self.clamped_q, self.clamped_dof, self.range, strict=True):
            if (q[at] <= low + ROUNDING and slope[dof] > 0.0) or (
                q[at] >= high - ROUNDING and slope[dof] < 0.0
            ):
                rows.append(np.eye(self.model.n_v)[dof])
        if not rows:
            return np.eye(self.model.n_v)
        _, sizes, ways = np.linalg.svd(np.array(rows))
        rank = int((sizes > 1e-10 * sizes[0]).sum())
        return ways[rank:].T

    def moved(self, q: Array, step: Array) -> Array:
        """(n_q,) - after a step, back in the ranges and where the constraints hold."""
        near = q.copy()
        integrate(self.tree, q, step, 1.0, near)
        near = self.arms.assembled(near)
        for _ in range(MOST_ENDS):
            over = near[self.clamped_q] - np.clip(near[self.clamped_q], self.range[:, 0], self.range[:, 1])
            if not np.abs(over).max(initial=0.0) > ROUNDING:
                break
            k = int(np.abs(over).argmax())
            end = float(near[self.clamped_q[k]] - over[k])
            near = self.arms.assembled(near, self.clamped_names[k], end)
        return near

    def places(self, q: Array) -> dict[str, tuple[Array, Array]]:
        pose(self.tree, q, self.pose)
        return {
            name: (self.pose.rotation[b].copy(), self.pose.position[b].copy())
            for name, b in self.bodies.items()
        }

    def errors(self, q: Array) -> dict[str, float]:
        pose(self.tree, q, self.pose)
        return {
            marker.name: float(np.linalg.norm(self.place(marker) - self.wanted.markers[marker.name]))
            for marker in self.fitted
        }


def dofs_of(tree: Tree, body: int) -> list[int]:
    """Dofs that move a body."""
    found, d = [], int(tree.last_dof[body])
    while d >= 0:
        found.append(d)
        d = int(tree.dof_parent[d])
    return found


def place_markers(spec: ModelSpec, places: Places, measured: Mapping[str, Array], note: Note) -> ModelSpec:
    """The model with its markers where they were measured in a pose, those that are fixed excepted.

    A marker that was not measured is left out of the model: nothing says where it is on this person.
    """
    absent = [marker.name for marker in spec.markers if marker.name not in measured]
    if absent:
        note(f"markers of the model that the static trial has not, left out of it: {', '.join(absent)}")
    placed: list[Marker] = []
    for marker in spec.markers:
        if marker.name in absent:
            continue
        x = measured[marker.name]
        if marker.fixed or not np.isfinite(x).all():
            if not marker.fixed:
                note(f"marker {marker.name} is not seen in the static pose and stays where it was")
            placed.append(marker)
            continue
        R, p = places[marker.segment]
        offset = tuple(float(c) for c in 1e3 * (R.T @ (x - p)))
        placed.append(msgspec.structs.replace(marker, offset_mm=offset))
    return msgspec.structs.replace(spec, markers=tuple(placed))


def mean_places(names: Sequence[str], positions: Array) -> tuple[dict[str, Array], dict[str, float]]:
    """Mean place (3,) of every marker over frames where it is seen, NaN where in none, and how far it moved.

    positions : (n, n_marker, 3) [m]
    """
    places, moved = {}, {}
    for m, name in enumerate(names):
        seen = positions[np.isfinite(positions[:, m]).all(axis=1), m]
        places[name] = seen.mean(axis=0) if len(seen) else np.full(3, np.nan)
        moved[name] = float(np.ptp(seen, axis=0).max()) if len(seen) else 0.0
    return places, moved
