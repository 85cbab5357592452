"""Persons with both legs: two subjects of one leg joined into one, and separated again.

A subject of a left leg is stored as its mirror image, which has the form of a right leg. A subject of both
legs is stored without mirroring: on both sides the axes of a segment point forwards (X), up (Y) and to the
right (Z), and its mediolateral direction w points to the right.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rtsim.config.models.both_sides_schema import SUFFIXES
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.errors import ConfigError
from rtsim.subjects.calibration.trunk import LUMBOSACRAL, TRUNK
from rtsim.subjects.subject import Subject, SubjectSegment, load_subject

MIDDLE = "pelvis"
UNPAIRED = (TRUNK, LUMBOSACRAL)
"""Segments and landmarks that a person has only once, not on each side."""


def join(right: Subject, left: Subject) -> Subject:
    """Join the two subjects of a person's legs into one. Its pelvis is that of the right leg, to which the
    hip centre and the markers of the left leg are added.

    Both subjects describe the same pelvis. The angles between its directions u (forwards), v (upwards) and w
    (to the right), and the positions of its points, differ only because each leg was calibrated from other
    frames of the recording.
    """
    if (right.side, left.side) != ("right", "left"):
        raise ConfigError(
            f"the legs labelled right and left stand on the {right.side} and the {left.side} of the body",
            where=f"subject {right.name}",
            remedy="check whether right and left are exchanged in the labels, or solve one side with --side",
        )
    other = {name: mirrored(segment) for name, segment in left.segments.items()}
    pelvis, opposite = right.segments[MIDDLE], other[MIDDLE]
    points = {own(name, "right"): x for name, x in pelvis.points_mm.items()}
    points = {own(name, "left"): x for name, x in opposite.points_mm.items()} | points
    more = {name: x for name, x in opposite.markers_mm.items() if name not in pelvis.markers_mm}
    joined = msgspec.structs.replace(pelvis, markers_mm={**pelvis.markers_mm, **more}, points_mm=points)
    segments = {MIDDLE: joined}
    for side, legs in (("right", right.segments), ("left", other)):
        segments |= {own(name, side): s for name, s in legs.items() if name not in (MIDDLE, TRUNK)}
    if TRUNK in right.segments and TRUNK in other:
        segments[TRUNK] = right.segments[TRUNK]
    means = {f"{name}{SUFFIXES[s.side]}": x for s in (right, left) for name, x in s.ligament_mean_mm.items()}
    shared = [note for note in right.notes if note in left.notes]
    notes = [f"{s.side} leg: {note}" for s in (right, left) for note in s.notes if note not in shared]
    return msgspec.structs.replace(
        right, side="both", segments=segments, ligament_mean_mm=means, notes=(*shared, *notes)
    )


def own(name: str, side: str) -> str:
    """Return the name that a segment or landmark of one leg has in a subject with both legs, such as thigh_l
    for the left thigh; a name that exists once, such as trunk, is unchanged.
    """
    return name if name in UNPAIRED else f"{name}{SUFFIXES[side]}"


def one_side(subject: Subject, side: str) -> Subject:
    """Return the subject of one leg of a person with both legs; a left leg is mirrored."""
    suffix = SUFFIXES[side]

    def plain(name: str) -> str:
        return name.removesuffix(suffix)

    def of_side(name: str) -> bool:
        return name.endswith(suffix) or name in UNPAIRED

    pelvis = subject.segments[MIDDLE]
    points = {plain(name): x for name, x in pelvis.points_mm.items() if of_side(name)}
    segments = {MIDDLE: msgspec.structs.replace(pelvis, points_mm=points)}
    segments |= {plain(name): s for name, s in subject.segments.items() if of_side(name)}
    if side == "left":
        segments = {name: mirrored(segment) for name, segment in segments.items()}
    means = {plain(name): x for name, x in subject.ligament_mean_mm.items() if name.endswith(suffix)}
    return msgspec.structs.replace(
        subject, side="left" if side == "left" else "right", segments=segments, ligament_mean_mm=means
    )


def symmetric(subject: Subject, other_name: Callable[[str], str] = lambda name: f"L{name[1:]}") -> Subject:
    """Return a person with both legs from the subject of a right leg; the left leg is its mirror image.

    other_name : function from the name of a marker of the right leg to that of the left leg; pelvis markers
        keep their names
    """
    segments = {}
    for name, segment in subject.segments.items():
        rename = str if name == MIDDLE else other_name
        markers = {rename(marker): x for marker, x in segment.markers_mm.items()}
        segments[name] = msgspec.structs.replace(segment, markers_mm=markers)
    pelvis = segments[MIDDLE]
    segments[MIDDLE] = msgspec.structs.replace(pelvis, markers_mm={})
    return join(subject, msgspec.structs.replace(subject, side="left", segments=segments))


def mirrored(segment: SubjectSegment) -> SubjectSegment:
    """Return the mirror image of a segment on the other side of the body; its mediolateral direction w points
    to the right again.
    """
    return msgspec.structs.replace(
        segment,
        alpha_deg=180.0 - segment.alpha_deg,
        beta_deg=180.0 - segment.beta_deg,
        markers_mm={name: across(x) for name, x in segment.markers_mm.items()},
        points_mm={name: across(x) for name, x in segment.points_mm.items()},
        in_parent_deg=turned_across(segment.in_parent_deg),
    )


def turned_across(angles: tuple[float, ...] | None) -> tuple[float, ...] | None:
    """Mirror the orientation of a segment in its parent to the other side of the body: of the successive
    rotations about z, x and y the last two change their signs. None (not known) stays None.
    """
    return None if angles is None else (angles[0], 0.0 - angles[1], 0.0 - angles[2])


def across(x: tuple[float, ...]) -> tuple[float, ...]:
    """Return the mirror image (x, y, -z) of a point (x, y, z) on the other side of the body."""
    return x[0], x[1], 0.0 - x[2]


def stand_in(spec: ModelSpec) -> Subject | None:
    """Return the example person that is part of rtsim, with as many legs as the model has. Checks of a model
    use this person's anatomy where no subject is given. None for a model that needs no person's anatomy.
    """
    if not spec.of_subject:
        return None
    subject = load_subject(find_config("walker", "subjects"))
    return symmetric(subject) if spec.has_both_sides else subject
