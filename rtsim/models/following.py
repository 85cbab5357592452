"""Tracking tasks of a model with its own markers: weights, target values of coordinates, ranges.

The pose minimises sum w |x - x_measured|^2 / sum w over the visible markers at positions x, plus sum w (q -
q_target)^2 over the coordinates q with a target value [rad, m], with the weights w. Constraints hold, and
clamped coordinates stay in their ranges. This is the objective of OpenSim's inverse kinematics (Seth et al.
2018, PLoS Comput Biol 14, e1006223).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.solver.constraints import Roles
from kernels.solver.coordinates import CoordinateRanges, CoordinateTargets
from rtsim.config.models.joint_schema import coordinates_of, in_degrees, is_angular
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import count_of, name_some
from rtsim.files.osim.setup_ik import IkSetup
from rtsim.files.osim.tasks import CoordinateTask
from rtsim.files.tables.storage import read_storage
from rtsim.models.model import Model

Array = NDArray[np.float64]
ANYWHERE = ((1, 2), (3, 3))
"""Angles and lengths among the coordinates of a joint that lets a body be anywhere, in a plane or space."""


class TargetedCoordinate(NamedTuple):
    """Weight and target value of a coordinate, constant or over time."""

    name: str
    weight: float
    times: Array  # (n,) [s]
    values: Array  # (n,) [rad, m]

    def at(self, time: float) -> float:
        """Return the target value at a time [s]: linear between two times, constant outside them."""
        return float(np.interp(time, self.times, self.values))


class TrackingTasks(NamedTuple):
    """Tracking tasks of a model: the markers to be followed with their weights, and the coordinates whose
    deviation from a target value is part of the objective.

    notes : sentences on requests of a setup that are not supported
    """

    markers: Mapping[str, float]  # in the model's order, all above 0
    coordinates: tuple[TargetedCoordinate, ...] = ()
    notes: tuple[str, ...] = ()


def check_markers(spec: ModelSpec) -> None:
    """Raise ConfigError for a model without markers."""
    if not spec.markers:
        raise ConfigError(
            "the model has no markers, so its motion cannot be determined",
            where=f"model {spec.name}",
            remedy="add a marker set to the model, or give a subject whose segments are its bodies",
        )


def following_of(spec: ModelSpec, setup: IkSetup | None = None, where: str = "") -> TrackingTasks:
    """Return the tracking tasks that a setup file of OpenSim's inverse kinematics states; without a setup,
    the model's own markers with their weights in the model.

    where : name of the setup file for errors; ConfigError if no task names a marker of the model, or if a
        task names an unknown coordinate
    """
    check_markers(spec)
    if setup is None:
        own = {marker.name: marker.weight for marker in spec.markers if marker.weight > 0.0}
        if not own:
            raise ConfigError(
                "all markers of the model have weight 0",
                where=f"model {spec.name}",
                remedy="give at least one marker a weight above 0",
            )
        return TrackingTasks(own)
    asked = setup.tasks.markers
    weights = {marker.name: asked.get(marker.name, 0.0) for marker in spec.markers}
    weights = {name: weight for name, weight in weights.items() if weight > 0.0}
    strangers = [name for name in asked if all(marker.name != name for marker in spec.markers)]
    if len(strangers) < len(asked) and not weights:
        raise ConfigError(
            f"all tasks of markers of the model {spec.name} have weight 0",
            where=where,
            remedy="give at least one of these tasks a weight above 0",
        )
    if not weights:
        raise ConfigError(
            f"no task names a marker of the model {spec.name}; the tasks name {name_some(list(asked))}"
            if asked
            else "the inverse kinematics setup has no task for a marker",
            where=where,
            allowed=name_some([marker.name for marker in spec.markers]),
            remedy="give the inverse kinematics setup that belongs to the model",
        )
    notes = list(setup.notes)
    if strangers:
        notes.append(f"{count_of(len(strangers), 'task')} of markers that the model does not have, left out: "
                     f"{name_some(strangers)}")  # fmt: skip
    if np.isfinite(setup.times).all():
        notes.append(
            f"time_range {setup.times[0]:g} to {setup.times[1]:g} s is not applied: all frames are solved"
        )
    told: dict[str, None] = {}
    drawn = tuple(
        drawn_by(task, spec, setup, where, told) for task in setup.tasks.coordinates if task.weight > 0.0
    )
    return TrackingTasks(weights, drawn, (*notes, *told))


def drawn_by(
    task: CoordinateTask, spec: ModelSpec, setup: IkSetup, where: str, told: dict[str, None]
) -> TargetedCoordinate:
    """Read the weight and the target values of a coordinate from its task in a setup; ConfigError where the
    model has no such coordinate.

    told : receives notes for the user on the file of the target values, each note once
    """
    found = {c.name: (body, k, c) for body in spec.bodies for k, c in enumerate(coordinates_of(body))}
    if task.name not in found:
        raise ConfigError(
            f"a task names the coordinate {task.name!r}, which the model {spec.name} does not have",
            where=where,
            allowed=name_some(list(found)) if found else "none",
            remedy="correct its name, or leave the task out",
        )
    body, k, coordinate = found[task.name]
    if task.value_kind != "from_file":
        value = task.value if task.value_kind == "manual_value" else coordinate.default
        return TargetedCoordinate(task.name, task.weight, np.zeros(1), np.array([value]))
    assert setup.coordinate_file is not None
    table = read_storage(setup.coordinate_file)
    told.update(dict.fromkeys(f"{setup.coordinate_file}: {note}" for note in table.notes))
    values = table.column(task.name)
    seen = np.isfinite(values)
    if not seen.any():
        raise ConfigError(f"the column {task.name!r} contains no number", where=str(setup.coordinate_file))
    if table.in_degrees and in_degrees(body, k):
        values = np.radians(values)
    return TargetedCoordinate(task.name, task.weight, table.column("time")[seen], values[seen])


def with_markers(model: Model, following: TrackingTasks) -> Model:
    """Return the model with only the tracked markers, each with its weight; weights are scaled so that their
    mean is 1."""
    rows = [model.names.markers.index(name) for name in following.markers]
    weight = np.array([*following.markers.values()], float)
    markers = model.markers._replace(
        body=model.markers.body[rows], position=model.markers.position[rows], weight=weight / weight.mean()
    )
    return replace(model, markers=markers, names=replace(model.names, markers=tuple(following.markers)))


def drawn_in(model: Model, following: TrackingTasks) -> list[TargetedCoordinate]:
    """Return the coordinates with target values that the built model has. A coordinate of the model file can
    be missing, because a marker method may replace its joint by another kind, such as a ball joint."""
    return [drawn for drawn in following.coordinates if drawn.name in model.coordinates.names]


def with_coordinates(roles: Roles, model: Model, spec: ModelSpec, following: TrackingTasks) -> Roles:
    """Add the target values of coordinates, and the ranges of clamped coordinates, to the roles: the table of
    what a marker method uses as constraints and targets when it fits the pose."""
    names, q, dof = model.coordinates.names, model.coordinates.q, model.coordinates.dof
    drawn = drawn_in(model, following)
    at = np.array([names.index(one.name) for one in drawn], np.int64)
    clamped = set(clamped_names(spec)) - set(passed_names(spec))
    kept = np.array([k for k, name in enumerate(names) if name in clamped], np.int64)
    low, high = model.coordinates.range[kept].T.copy()  # rows of their own, without gaps between numbers
    return roles._replace(
        tasks=CoordinateTargets(
            q[at],
            dof[at],
            np.array([one.weight for one in drawn]),
            np.array([one.values[0] for one in drawn]),
        ),
        limits=CoordinateRanges(q[kept], dof[kept], low, high),
    )


def clamped_names(spec: ModelSpec) -> tuple[str, ...]:
    """Return the names of the coordinates that are clamped to their range, without coordinates that couplers
    determine."""
    followers = {coupler.coordinate for coupler in spec.couplers}
    return tuple(
        c.name for body in spec.bodies for c in body.coordinates if c.clamped and c.name not in followers
    )


def passed_names(spec: ModelSpec) -> tuple[str, ...]:
    """Return the names of the clamped coordinates that may nevertheless leave their range.

    They belong to a joint to ground with free motion in a plane or in space: position and heading in a
    laboratory are not properties of a joint, so that their range is not a limit.
    """
    found: list[str] = []
    for body in spec.bodies:
        turns = [is_angular(body, k) for k in range(len(coordinates_of(body)))]
        if not body.parent and (turns.count(True), turns.count(False)) in ANYWHERE:
            found += [c.name for c in body.coordinates]
    clamped = clamped_names(spec)
    return tuple(name for name in found if name in clamped)


def with_none_drawn(roles: Roles) -> Roles:
    """Return the roles (the table of what a marker method uses as constraints and targets) with empty tables
    of target values and clamped coordinates, for a solver that was compiled to read these tables."""
    n, x = np.zeros(0, np.int64), np.zeros(0)
    return roles._replace(tasks=CoordinateTargets(n, n, x, x), limits=CoordinateRanges(n, n, x, x))
