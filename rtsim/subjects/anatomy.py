"""Positions on one person of the points and axes that a model names on its segments."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.joint_schema import Body
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.place_schema import Place, Vector
from rtsim.errors import ConfigError
from rtsim.subjects.calibration.natural import Segment
from rtsim.subjects.plain_joints import plain_joints
from rtsim.subjects.subject import Subject

Array = NDArray[np.float64]
FLAT = 0.01
"""Volume of three unit directions below which they count as lying in a plane [1]."""


def for_person(spec: ModelSpec, subject: Subject) -> ModelSpec:
    """Adapt a model to a person: remove optional bodies, such as the trunk, that the person does not have,
    and the root (pelvis) if it has no markers.

    A left leg alone is solved as a right leg, by its mirror image. The angles of optional bodies, which
    belong to neither side, are nevertheless reported for the person, not for the mirror image. A person
    calibrated from keypoints (joint centres only) gets a model with simple joints and without force elements.
    """
    if subject.keypoints:
        return plain_joints(spec)
    bodies = [body.name for body in spec.bodies]
    if bodies[0] not in subject.segments and list(subject.segments) == bodies[1:]:
        try:
            spec = spec.without_root()
        except ValueError as fault:
            raise ConfigError(
                f"the subject has no segment {bodies[0]}, which the model needs: {fault}",
                where=f"subject {subject.name}",
                remedy=f"calibrate with the markers of the {bodies[0]}",
            ) from None
    if subject.side == "left":
        spec = msgspec.structs.replace(spec, optional=tuple(map(seen_across, spec.optional)))
    return spec.with_optional(subject.segments)


def seen_across(body: Body) -> Body:
    """Reverse the signs of the second and the third joint angle of a body.

    A left leg alone is solved as its mirror image, in which these two rotations have the opposite sense. With
    reversed signs the reported angles of a body in the middle, such as the trunk, are those of the person.
    """
    if body.angles is None:
        return body
    first, second, third = body.angles.signs
    angles = msgspec.structs.replace(body.angles, signs=(first, -second, -third))
    return msgspec.structs.replace(body, angles=angles)


class Anatomy:
    """Points and axes of a subject's segments, in metres.

    Each segment has three directions: u forwards, v from its distal to its proximal end, w to the right
    (Sancisi et al. 2017). Without a subject they are the axes x, y, z of the body, and the origin of a
    segment is that of its body; such segments have no length and no landmarks.
    """

    def __init__(self, spec: ModelSpec, subject: Subject | None) -> None:
        bodies = [body.name for body in spec.bodies]
        self.segments: dict[str, Segment] = {}
        self.landmarks: dict[str, dict[str, Vector]] = {}
        self.bases = {name: np.eye(3) for name in bodies}
        if subject is not None:
            self.measure(bodies, subject)

    def measure(self, bodies: list[str], subject: Subject) -> None:
        """Store segments, axes and landmarks of a subject. ConfigError if its segments are not `bodies`,
        those of the model in their order, or if the angles between their directions are impossible.
        """
        if list(subject.segments) != bodies:  # markers are counted segment by segment
            raise ConfigError(
                f"the segments are {', '.join(subject.segments)}",
                where=f"subject {subject.name}",
                allowed=f"the segments of the model in the order of the model: {', '.join(bodies)}",
                remedy="calibrate again with this model",
            )
        self.segments = {n: s.segment() for n, s in subject.segments.items()}
        self.bases = {name: segment.basis() for name, segment in self.segments.items()}
        for name, basis in self.bases.items():
            # the volume of u, v / |v|, w: 0 in a plane, NaN or 0 where no three directions have these angles
            if not abs(np.linalg.det(basis)) > FLAT * self.segments[name].length:
                raise ConfigError(
                    "three directions in space cannot have the angles alpha_deg, beta_deg and gamma_deg "
                    "between them",
                    where=f"subject {subject.name}: segments.{name}",
                    remedy="calibrate again",
                )
        self.landmarks = {n: s.points_mm for n, s in subject.segments.items()}

    def axes(self, body: str, primary: str, secondary: str) -> Array:
        """Return orthonormal axes of a segment as columns, (3, 3), from two of its directions u, v, w.

        primary, secondary : names of the two directions; the axis of the primary one has exactly its
            direction, that of the secondary one is made perpendicular to it in the plane of both
        """
        return self.segments[body].axes(primary, secondary) if self.segments else np.eye(3)

    def place(self, place: Place, body: str, where: str) -> Array:
        """Return the position (3,) [m] of a point of a model, in the frame of its segment `body`, or ground.

        place : the point, as the model describes it: a landmark or an end of the segment, plus offsets
        where : name of the entry of the model, for error messages
        """
        if place.of_subject and not self.segments:
            raise ConfigError(
                "this point is an end, a landmark or a scaled offset of a segment, so it needs a subject",
                where=where,
                remedy="give a subject, or only an offset_mm",
            )
        if place.point:
            try:
                x = 1e-3 * np.array(self.landmarks[body][place.point])
            except KeyError:
                raise ConfigError(
                    f"the subject's {body} has no landmark {place.point!r}",
                    where=where,
                    remedy="calibrate again",
                ) from None
        elif place.origin == "distal":
            x = -self.bases[body][:, 1]
        else:
            x = np.zeros(3)
        x = x + 1e-3 * np.array(place.offset_mm)
        if place.scaled:
            ratio = 1e3 * self.segments[place.scaled.segment].length / place.scaled.reference_length_mm
            x = x + 1e-3 * ratio * np.array(place.scaled.offset_mm)
        return x
