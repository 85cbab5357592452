"""Parts that setups of several OpenSim tools share: tasks of inverse kinematics, times, and files relative
to the setup.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal, NamedTuple

from rtsim.files.markers.trial import name_some
from rtsim.files.osim.document import Node

ValueKind = Literal["default_value", "manual_value", "from_file"]
VALUE_KINDS: tuple[ValueKind, ...] = ("default_value", "manual_value", "from_file")
NO_FILE = ("", "Unassigned")


class CoordinateTask(NamedTuple):
    """A target value for a coordinate in inverse kinematics, with a weight."""

    name: str
    weight: float
    value_kind: ValueKind  # the model's default, `value`, or a column of the setup's coordinate file
    value: float  # [rad, m]; read for manual_value only


class IkTasks(NamedTuple):
    """The enabled tasks; markers without a task, or with the weight 0, are not fitted."""

    markers: dict[str, float]  # name -> weight
    coordinates: tuple[CoordinateTask, ...] = ()


def read_tasks(node: Node) -> IkTasks:
    """Read the IKTaskSet of a setup; ConfigError for unknown kinds, weights below 0, and duplicate names."""
    markers: dict[str, float] = {}
    coordinates: dict[str, CoordinateTask] = {}
    without: list[str] = []
    for task in node.members("IKTaskSet"):
        if task.tag not in ("IKMarkerTask", "IKCoordinateTask"):
            task.fail(f"a {task.tag} has no counterpart in rtsim", allowed="IKMarkerTask, IKCoordinateTask")
        if not task.flag("apply", True):
            continue
        weight = task.number("weight", 0.0)
        if task.child("weight") is None:
            without.append(task.name)
        if weight < 0.0:
            task.fail(f"the weight is {weight:g}", allowed="0 or more", remedy="correct the value")
        if not task.name:
            task.fail("an IK task has no name", remedy="name the marker or the coordinate")
        if task.name in (markers if task.tag == "IKMarkerTask" else coordinates):
            task.fail("two IK tasks have this name", remedy="remove one of the two tasks")
        if task.tag == "IKMarkerTask":
            markers[task.name] = weight
        else:
            coordinates[task.name] = CoordinateTask(
                task.name, weight, value_kind(task), task.number("value", 0.0)
            )
    if without:
        node.document.note(
            "tasks without a weight, which have the weight 0 as in OpenSim and no effect: "
            + name_some(without)
        )
    return IkTasks(markers, tuple(coordinates.values()))


def value_kind(task: Node) -> ValueKind:
    said = task.text("value_type", default="default_value")
    found = next((kind for kind in VALUE_KINDS if kind == said), None)
    if found is None:
        task.fail(f"unknown value_type {said!r}", allowed=", ".join(VALUE_KINDS), remedy="correct the value")
    return found


def file_of(node: Node, tag: str) -> Path | None:
    """Return the file that a property names, relative to the setup's folder; None if there is none."""
    said = node.text(tag)
    if said in NO_FILE:
        return None
    # a setup may come from another system
    return Path(node.document.where).parent / said.replace("\\", "/")


def time_range(node: Node) -> tuple[float, float]:
    """Return start and end of the time range [s]; the whole trial if none is given."""
    values = node.numbers("time_range", finite=False)
    if not values:
        return -math.inf, math.inf
    if len(values) != 2 or not values[0] <= values[1]:
        node.fail(
            f"time_range {' '.join(f'{x:g}' for x in values)}",
            allowed="two times, the earlier time first",
            remedy="correct the value",
        )
    return values[0], values[1]
