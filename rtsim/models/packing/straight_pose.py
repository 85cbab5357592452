"""The pose of a model in which the axes of all bodies coincide, to which the neutral lengths of ligaments
refer (Sancisi et al. 2017, eq. 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.joint_kinds import KINDS
from rtsim.config.models.joint_schema import Body
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.place_schema import GROUND
from rtsim.models.packing.functions import function_of, value
from rtsim.models.packing.joints import axis_of, numbers_of, turned
from rtsim.subjects.anatomy import Anatomy

Array = NDArray[np.float64]


class StraightPose(NamedTuple):
    """The pose of a model in which the axes of all bodies coincide and the coordinates of its joints are
    zero.
    """

    origins: dict[str, Array]  # of each body and of ground, (3,) [m]
    # of each body the joints towards ground of which such a pose is not known: where it lies relative to what
    # is before them is open
    unknown: dict[str, frozenset[str]]


def straight_pose(spec: ModelSpec, anatomy: Anatomy) -> StraightPose:
    """Return the pose of a model in which the axes of all bodies coincide."""
    origins, unknown = {GROUND: np.zeros(3)}, {GROUND: frozenset[str]()}
    for body in spec.bodies:
        parent, where = body.parent or GROUND, f"bodies.{body.name}"
        shift = own_shift(body, anatomy)
        origins[body.name] = (
            origins[parent]
            + anatomy.place(body.in_parent, parent, f"{where}.in_parent")
            + (np.zeros(3) if shift is None else shift)
            - anatomy.place(body.in_child, body.name, f"{where}.in_child")
        )
        unknown[body.name] = unknown[parent] | ({body.name} if shift is None else set[str]())
    return StraightPose(origins, unknown)


def own_shift(body: Body, anatomy: Anatomy) -> Array | None:
    """Return how far a joint moves its body at zero coordinates, (3,) in the axes of the parent [m].

    Returns None if it moves the body there and turns it, too, so that the axes of both bodies do not
    coincide: by functions of its coordinates, or as its frames on both bodies are turned against each other.
    """
    kind, basis, frame = KINDS[body.joint], anatomy.bases[body.parent or body.name], turned(body.in_parent)
    steps = kind.steps(body, lambda axis: axis_of(axis, basis)) if kind.steps else ()
    shift, turns = kind.offset(numbers_of(body, body.joint, basis)), False
    for step in steps:
        given = step.function is not None and not step.function.is_identity
        size = value(function_of(step.function), 0.0) if given else 0.0
        turns = turns or (step.rotates and size != 0.0)
        shift = shift + (0.0 if step.rotates else size) * step.axis
    if shift.any() and (turns or not np.array_equal(frame, turned(body.in_child))):
        return None
    return np.asarray(frame @ shift, np.float64)
