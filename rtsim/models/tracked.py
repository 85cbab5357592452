"""The person, or the model with its own markers, that a run tracks, with a common interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rtsim.models.distances import ruler_of_model
from rtsim.models.model import Model
from rtsim.subjects.markers.beside import BesideJoint, beside_joints
from rtsim.subjects.markers.bones import LegBones, legs_of
from rtsim.subjects.markers.distances import Ruler, SharedPoint, errors_of, ruler_of_subject, spine_of
from rtsim.subjects.markers.fit import MODELS, SUBJECTS
from rtsim.subjects.subject import Subject


class TrackedModel(NamedTuple):
    """The person, or the model with its own markers, that a run tracks.

    title : "the subject NAME" or "the model NAME"; kind : "subject" or "model"
    names : names of its markers, in tracking order
    ruler : distances between the markers that are constant during movement
    remedy : advice in the error for a trial that does not belong to this person or model
    is_person : whether it is a person: a trial of a person of another size is refused, and the third axis of
        every segment points to the same side of the body
    mirrors : whether measured markers are mirrored before the pose is fitted, as for a left leg
    spine : the point that pelvis and trunk of a person share, if both are known, else empty
    errors : segment -> usual RMS distance of its markers from their calibrated positions [m]; empty for a
        model
    legs : legs of a person, for checks of bone rotations about their long axes
    beside : markers of a person near knee and ankle axes, which hardly move relative to either segment
    """

    title: str
    kind: str
    names: tuple[str, ...]
    ruler: Ruler
    remedy: str
    is_person: bool
    mirrors: bool = False
    spine: tuple[SharedPoint, ...] = ()
    errors: Mapping[str, float] = {}
    legs: tuple[LegBones, ...] = ()
    beside: tuple[BesideJoint, ...] = ()


def tracked_person(subject: Subject) -> TrackedModel:
    """Return a person as the tracked model."""
    return TrackedModel(
        title=f"the subject {subject.name}",
        kind="subject",
        names=subject.marker_names,
        ruler=ruler_of_subject(subject),
        remedy=SUBJECTS,
        is_person=True,
        mirrors=subject.side == "left",
        spine=spine_of(subject),
        errors=errors_of(subject),
        legs=legs_of(subject),
        beside=beside_joints(subject),
    )


def tracked_model(model: Model) -> TrackedModel:
    """Return a model that brings its own markers as the tracked model."""
    return TrackedModel(
        title=f"the model {model.name}",
        kind="model",
        names=model.names.markers,
        ruler=ruler_of_model(model),
        remedy=MODELS,
        is_person=False,
    )


def tracked_of(model: Model, subject: Subject | None) -> TrackedModel:
    """Return the tracked person or model: the subject, if there is one, or the model itself."""
    return tracked_person(subject) if subject is not None else tracked_model(model)
