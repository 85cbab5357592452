"""The pose of a model that fits markers at one instant best, with weights, and the placement of its markers.

The pose is computed as a single frame of a live run (rtsim/methods/kinematics/multibody). It minimises sum w
|x(q) - x_measured|^2 / sum w + sum w (q - q_wanted)^2; the first two sums are over markers, the last one over
coordinates [rad, m]. The model's constraints are satisfied, and clamped coordinates stay in their ranges.
OpenSim's tools use the same weights (Seth et al. 2018, PLoS Comput Biol 14, e1006223).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.joint_schema import coordinates_of
from rtsim.config.models.marker_schema import Marker
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import MarkerCheck, Solver
from rtsim.errors import ConfigError, ModelError
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.following import TargetedCoordinate, TrackingTasks

Array = NDArray[np.float64]
Note = Callable[[str], None]
Places = Mapping[str, tuple[Array, Array]]
"""Rotation and position of every body in ground."""
MAX_ITERATIONS = 200


class Wanted(NamedTuple):
    """Tasks of a static pose: target markers and coordinates with their weights."""

    markers: Mapping[str, Array]  # measured, in ground (3,) [m]
    weights: Mapping[str, float]  # of markers; one without a weight is not fitted
    coordinates: Mapping[str, tuple[float, float]]  # value [rad, m] and weight


class StaticPose(NamedTuple):
    """The static pose of a model that fits the tasks best, and the remaining errors of the markers."""

    q: Array  # (n_q,)
    places: Places
    errors: Mapping[str, float]  # of fitted markers [m]


def fit_pose(spec: ModelSpec, wanted: Wanted) -> StaticPose:
    """Find the pose of a model that fits the wanted markers and coordinates best; ModelError if the solver
    does not converge.
    """
    followed = followed_by(spec, wanted)
    estimator = MultibodyEstimator(
        spec, None, next(iter(spec.methods)), solver=Solver(max_iterations=MAX_ITERATIONS),
        check=MarkerCheck(downweight=False), following=followed,
    )  # fmt: skip
    names = estimator.model.names
    if not estimator.estimate(np.array([wanted.markers[name] for name in names.markers]), 0.0).converged:
        raise ModelError(
            f"the pose that fits the markers best was not found in {MAX_ITERATIONS} steps",
            where=f"model {spec.name}",
            remedy="in the setup, give a weight to each coordinate that the markers do not determine",
        )
    position, rotation = estimator.pose
    places = {name: (rotation[b].copy(), position[b].copy()) for b, name in enumerate(names.bodies)}
    errors = dict(zip(names.markers, estimator.outputs.residuals.tolist(), strict=True))
    return StaticPose(estimator.q.copy(), places, errors)


def followed_by(spec: ModelSpec, wanted: Wanted) -> TrackingTasks:
    """Return the tracking tasks of a static pose: the wanted markers that have a measurement and a weight,
    and the wanted coordinates; ConfigError if no marker remains, or for an unknown coordinate.
    """
    weights = {
        marker.name: wanted.weights[marker.name] for marker in spec.markers
        if marker.name in wanted.markers and wanted.weights.get(marker.name, 0.0) > 0.0
    }  # fmt: skip
    if not weights:
        raise ConfigError(
            "the static trial shows no marker of the model with a weight above zero",
            where=f"model {spec.name}",
            allowed=", ".join(marker.name for marker in spec.markers)
            or "none, because the model has no markers",
            remedy="check the names of the markers",
        )
    known = [coordinate.name for body in spec.bodies for coordinate in coordinates_of(body)]
    for name in wanted.coordinates:
        if name not in known:
            raise ConfigError(
                f"unknown coordinate {name!r}", where="coordinate tasks", allowed=", ".join(known)
            )
    drawn = (
        TargetedCoordinate(name, weight, np.zeros(1), np.array([value]))
        for name, (value, weight) in wanted.coordinates.items()
    )
    return TrackingTasks(weights, tuple(drawn))


def place_markers(spec: ModelSpec, places: Places, measured: Mapping[str, Array], note: Note) -> ModelSpec:
    """Move the model's markers to their measured positions in a pose, except fixed ones.

    Markers that the static trial does not have are removed from the model, as their positions on this person
    are unknown. Those that are not visible in the pose are not moved.
    """
    absent = [marker.name for marker in spec.markers if marker.name not in measured]
    if absent:
        note(f"markers of the model that are not in the static trial, left out: {', '.join(absent)}")
    placed: list[Marker] = []
    for marker in spec.markers:
        if marker.name in absent:
            continue
        x = measured[marker.name]
        if marker.fixed or not np.isfinite(x).all():
            if not marker.fixed:
                note(f"marker {marker.name} is not visible in the static pose and was not moved")
            placed.append(marker)
            continue
        R, p = places[marker.segment]
        offset = tuple(float(c) for c in 1e3 * (R.T @ (x - p)))
        placed.append(msgspec.structs.replace(marker, offset_mm=offset))
    return msgspec.structs.replace(spec, markers=tuple(placed))


def mean_places(names: Sequence[str], positions: Array) -> tuple[dict[str, Array], dict[str, float]]:
    """Return two values for every marker: its mean position (3,) [m] over the frames in which it is visible,
    and how far it moves in them, the largest of the ranges (maximum minus minimum) of x, y and z [m]. They
    are NaN and 0 for a marker that is never visible.

    names : names of the markers, by which the results are returned
    positions : (n, n_marker, 3) marker positions in the frames [m]
    """
    places, moved = {}, {}
    for m, name in enumerate(names):
        seen = positions[np.isfinite(positions[:, m]).all(axis=1), m]
        places[name] = seen.mean(axis=0) if len(seen) else np.full(3, np.nan)
        moved[name] = float(np.ptp(seen, axis=0).max()) if len(seen) else 0.0
    return places, moved
