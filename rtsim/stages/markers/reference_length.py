"""References for the markers of a stream: their names, and a line between two groups of markers. A length of
this line far from the expected one reveals a wrong unit, its direction a wrong up axis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.subjects.subject import Subject, kind_of_segment

Array = NDArray[np.float64]

PERSON, MODEL = 5.0, 20.0
"""Factors between measured and expected length from which on the unit is wrong: for a person, and for a
model, whose length may change more by its pose."""
LEG = ("thigh", "shank", "foot")
SHORTEST = 1e-3
"""Length of the reference line of a model below which it says nothing about the unit [m]."""
UPRIGHT = 0.8
"""Least ratio of the height of the reference line to its length, in the neutral pose, with which it reveals a
wrong up axis."""
FREE_DOFS = 6


class ReferenceLength(NamedTuple):
    """Names of the tracked markers, and the line between the centres of two groups of them, whose length and
    direction reveal a wrong unit or up axis of a stream.

    names : names of the tracked markers
    whose : person or model to whom the markers belong, in words
    span : the line in words, for a message on a wrong length
    fallen : words of a message on a line that does not point up
    group : (n_marker,) int64, 1 = upper group, -1 = lower group, 0 = neither
    size : expected length of the line [m], 0 = the line cannot be used as a reference
    limit : factor between measured and expected length above which the unit of the markers must be wrong
    upright : whether the line should point up
    mirrors : whether the markers are mirrored across the sagittal plane, as a left leg is solved as a right
        one
    """

    names: tuple[str, ...]
    whose: str
    span: str
    fallen: str
    group: NDArray[np.int64]
    size: float
    limit: float
    upright: bool
    mirrors: bool


def reference_length_of(estimator: MultibodyEstimator, subject: Subject | None) -> ReferenceLength:
    """Return the references for the markers of a stream: their names, and the line between two groups of
    markers by which unit and up axis are checked.

    For a person the line is that from the markers of the foot to those of the pelvis or the first segment,
    and the subject gives its length. For a model with its own markers (subject = None) it is that from the
    lowest third of the markers to the uppermost third, with the length that it has in the neutral pose.
    """
    if subject is not None:
        return of_subject(subject)
    model = estimator.model
    estimator.estimate(np.full((len(model.names.markers), 3), np.nan), 0.0)
    neutral = estimator.outputs.markers.copy()
    estimator.restart()
    return of_model(model.names.markers, neutral, moves=bool(model.tree.v_start[1] >= FREE_DOFS))


def of_subject(subject: Subject) -> ReferenceLength:
    """Return the references for the markers of a person; the line is that from the centre of the foot's
    markers (or those of the lowest marked segment of the leg) to the centre of the markers of the first
    segment, such as the pelvis.
    """
    last = [name for name in subject.segments if kind_of_segment(name) in LEG][-1]
    first = next(iter(subject.segments))
    ends = {first: 1, last: -1}
    group = np.concatenate(
        [np.full(len(s.markers_mm), ends.get(name, 0), np.int64) for name, s in subject.segments.items()]
    )
    return ReferenceLength(
        names=subject.marker_names,
        whose="subject's",
        span=f"from the markers of the {first} to those of the foot",
        fallen=f"The {first} is not above the foot",
        group=group,
        size=body_size(subject),
        limit=PERSON,
        upright=True,
        mirrors=subject.side == "left",
    )


def body_size(subject: Subject) -> float:
    """Return the total length of the segments of a leg [m], with which the unit of the markers is checked."""
    n_leg = 2 if subject.side == "both" else 1
    below = [s.length_mm for name, s in subject.segments.items() if kind_of_segment(name) in LEG]
    return 1e-3 * sum(below) / n_leg


def of_model(names: tuple[str, ...], neutral: Array, moves: bool) -> ReferenceLength:
    """Return the references for a model with its own markers; the line is that from the centre of the lowest
    third of the markers to that of the uppermost third, sorted along the direction in which they extend most.

    neutral : (n_marker, 3) markers in ground, Y up, at the initial coordinates [m]
    moves : whether the root body moves freely in ground. The model then fits in any orientation, so that
        only the direction of this line can reveal a wrong up axis of the stream
    """
    x = neutral - neutral.mean(axis=0)
    along = np.linalg.svd(x, full_matrices=False)[2][0]
    along = along if along[1] >= 0.0 else -along
    order = np.argsort(x @ along, kind="stable")
    n = max(1, len(names) // 3) if len(names) > 1 else 0
    group = np.zeros(len(names), np.int64)
    group[order[:n]], group[order[len(order) - n :]] = -1, 1
    low, top = names[order[0]], names[order[-1]]
    line = x[group > 0].mean(axis=0) - x[group < 0].mean(axis=0) if n else np.zeros(3)
    size = float(np.linalg.norm(line))
    return ReferenceLength(
        names=names,
        whose="model's",
        span=f"from the markers around {top} to the markers around {low}",
        fallen=f"The markers around {top} are not above those around {low}",
        group=group,
        size=size if size > SHORTEST else 0.0,
        limit=MODEL,
        upright=bool(moves and line[1] > UPRIGHT * size),
        mirrors=False,
    )
