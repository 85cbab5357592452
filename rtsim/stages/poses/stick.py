"""The stick figure: its points and lines, for a person or for the bodies of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtsim.models.model import Model
from rtsim.models.packing.muscle_points import muscle_points
from rtsim.subjects.subject import kind_of_segment

CENTRES = {"pelvis": "lumbar", "thigh": "hip", "shank": "knee", "foot": "ankle", "trunk": "shoulders"}
TIPS = {"foot": "toe", "trunk": "lumbosacral"}
HANGS_BELOW = "trunk"
"""The segment that the joint connects to its parent at its lower end, whose point in the figure is a tip."""


def figure_of(model: Model, of_person: bool, mirrored: bool) -> dict[str, Any]:
    """Return the stick figure for a descriptor: lines between joints, and muscles if the model has some.

    of_person : whether lines connect the joint centres of a person, else each body of the model with its
        parent
    mirrored : whether a left leg is solved as a right one, so that points on muscles must be mirrored back
    """
    lines = stick(model.names.bodies, model.tree.parent) if of_person else tree_lines(model)
    points = muscle_points(model, mirrored)
    return {"stick": lines, **({"muscle_points": points} if points else {})}


def stick(body_names: tuple[str, ...], parent: NDArray[np.int64]) -> list[list[str]]:
    """Return the pairs of joint centres that are connected by lines in the stick figure of a person."""
    names, ends = centre_names(body_names, parent), ends_of(parent)
    tips = {b: names[len(body_names) + k] for k, b in enumerate(ends)}
    near = [tips[b] if name == HANGS_BELOW else names[b] for b, name in enumerate(body_names)]
    joints = [[names[p], near[b]] for b, p in enumerate(parent) if p >= 0]
    return [*joints, *([names[b], tip] for b, tip in tips.items())]


def tree_lines(model: Model) -> list[list[str]]:
    """Return the pairs of bodies that are connected by lines in the stick figure of a model: each body with
    its parent."""
    names = model.names.bodies
    return [[names[p], names[b]] for b, p in enumerate(model.tree.parent) if p >= 0]


def centre_names(body_names: tuple[str, ...], parent: NDArray[np.int64]) -> tuple[str, ...]:
    """Return the names of the points of the stick figure: the proximal joint centre of every body, then the
    distal tips of bodies that carry no other."""
    kinds = [(kind_of_segment(name), side_of(name)) for name in body_names]
    ends = [kinds[b] for b in ends_of(parent)]
    return (
        *(CENTRES.get(kind, kind) + side for kind, side in kinds),
        *(TIPS.get(kind, "toe") + side for kind, side in ends),
    )


def ends_of(parent: NDArray[np.int64]) -> list[int]:
    """Return the indices of the bodies that carry no other body."""
    return [b for b in range(len(parent)) if b not in parent]


def side_of(body_name: str) -> str:
    """Return the part of a body's name that gives its side; empty if there is none."""
    return body_name[len(kind_of_segment(body_name)) :]
