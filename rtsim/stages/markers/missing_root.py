"""Finds the joint angles that have no meaning because a model's root body, such as the pelvis, has no markers
in the stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

import numpy as np
from numpy.typing import NDArray

from rtsim.models.model import Model
from rtsim.subjects.calibration.lone_leg import ROOT_IS_THIGH
from rtsim.subjects.calibration.trunk import TRUNK
from rtsim.subjects.subject import SubjectSegment, kind_of_segment

ALONE = f"The person was calibrated without a pelvis: {ROOT_IS_THIGH}."


def beside_missing_root(
    model: Model, segments: Mapping[str, SubjectSegment], absent: Set[str]
) -> tuple[NDArray[np.bool_], list[str]]:
    """Find the angles that depend on a root without markers: a mask (3 n_joint,), and a sentence on it.

    A root without markers is fixed in its neutral pose, so that angles relative to it would be meaningless.

    segments : segments of the tracked person; empty for a model with its own markers
    absent : markers of the subject that the stream does not have
    """
    unknown = np.zeros((len(model.joints.proximal), 3), bool)
    name = model.names.bodies[0]
    segment = segments.get(name)
    alone = [ALONE] if segments and kind_of_segment(name) == "thigh" else []
    if segment is None or not segment.markers_mm or not segment.markers_mm.keys() <= absent:
        return unknown.reshape(-1), alone
    unknown[model.joints.proximal == 0] = True
    said = (
        f"No marker of the {name} is in the stream: angles and moments of its joints are NaN, "
        "those of other joints are computed."
    )
    return unknown.reshape(-1), [*alone, said]


def angles_of_trunk(model: Model) -> NDArray[np.bool_]:
    """Return a mask (3 n_joint,) of the angles of a trunk segment, on which no other segment depends."""
    return np.repeat([model.names.bodies[b] == TRUNK for b in model.joints.distal], 3).astype(bool)


def is_trunk_apart(model: Model) -> bool:
    """Return whether a trunk that no marker determines affects no result that is not NaN meanwhile: it
    carries no other segment, and its joint has angles, which are published instead of coordinates.
    """
    carries = any(p >= 0 and model.names.bodies[p] == TRUNK for p in model.tree.parent)
    return bool(model.names.joint_angles) and bool(angles_of_trunk(model).any()) and not carries


def angles_at_root(model: Model, root: int = 0) -> NDArray[np.int64]:
    """Return the indices of the angles of the joints at a root body, such as the pelvis, apart from those of
    a trunk. Where `Kinematics.unknown` has one of them, no marker determines the root, while an unknown trunk
    alone says nothing of it.
    """
    at_root = np.repeat(model.joints.proximal == root, 3)
    return np.flatnonzero(at_root & ~angles_of_trunk(model))
