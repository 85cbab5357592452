"""The pose of a model in which the axes of all bodies coincide, to which the neutral lengths of ligaments
refer (Sancisi et al. 2017, eq. 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.joint_kind import ChainStep
from rtsim.config.joint_kinds import KINDS
from rtsim.config.models.joint_schema import Body
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.place_schema import GROUND
from rtsim.models.packing.functions import function_of, is_constant, value
from rtsim.models.packing.joints import axis_of, numbers_of, turned
from rtsim.models.packing.tree import Function
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
    """Return how far a joint moves its body where the axes of both bodies coincide and coordinates that the
    axes do not depend on are zero, (3,) in the axes of the parent [m]; None if that is not known.

    At zero coordinates the axes of both bodies may differ: as functions turn the body there, or as its frames
    on both bodies are turned against each other. They coincide at other coordinates then. Constant
    translations before the first rotation are the same there; returns None if others depend on functions, or
    the kind of joint has an offset.
    """
    kind, basis, frame = KINDS[body.joint], anatomy.bases[body.parent or body.name], turned(body.in_parent)
    steps = kind.steps(body, lambda axis: axis_of(axis, basis)) if kind.steps else ()
    offset = kind.offset(numbers_of(body, body.joint, basis))
    elsewhere = not np.array_equal(frame, turned(body.in_child)) or any(map(is_turned, steps))
    if elsewhere and offset.any():
        return None
    shift, rotated = offset, False
    for step in steps:
        rotated = rotated or step.rotates
        function = own_function(step)
        if step.rotates or function is None:
            continue
        size = value(function, 0.0)
        if elsewhere and (not is_constant(function) or (rotated and size != 0.0)):
            return None
        shift = shift + size * step.axis
    return np.asarray(frame @ shift, np.float64)


def own_function(step: ChainStep) -> Function | None:
    """Return the function that gives the size of a step of a joint; None if that is the coordinate itself."""
    given = step.function is not None and not step.function.is_identity
    return function_of(step.function) if given else None


def is_turned(step: ChainStep) -> bool:
    """Return whether a step of a joint rotates the body at zero coordinates."""
    function = own_function(step)
    return step.rotates and function is not None and value(function, 0.0) != 0.0
