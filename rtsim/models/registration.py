"""Registration of a constrained joint to a person: its distal parts are placed on the person's bone.

The parts of such a joint (contact surfaces, ends of ligaments) were measured on one specimen, in axes of both
bones that coincide when the joint is straight (Sancisi et al. 2017, section 2.1). A person's axes, which come
from landmarks, do not coincide then: between knee and malleoli a tibia is twisted by some 20 degrees, and
knees are in varus or valgus. So the specimen's parts on the distal bone are rotated and moved as one piece
until the pose in which the person was calibrated is a possible pose of the mechanism. A point x on the distal
bone of the specimen moves to

    x' = R' (t(theta) + R(theta) x)

on the distal segment of the person. R is the measured rotation of the distal in the proximal segment during
the calibration, theta its flexion, and R' the transpose of R; the origins of both segments coincided at the
joint centre. R(theta) and t(theta) are rotation and translation of the mechanism at this flexion. Sizes and
lengths stay the same, and with them the possible motion of the mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.force_schema import Ligament
from rtsim.config.models.joint_schema import Body
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.place_schema import Frame
from rtsim.errors import ConfigError
from rtsim.files.osim.frames import angles_of
from rtsim.models.packing import joints
from rtsim.models.packing.elements import ScalarElement, neutral_length, row_of_ligament, scalar_elements
from rtsim.models.packing.straight_pose import straight_pose
from rtsim.subjects.anatomy import Anatomy
from rtsim.subjects.subject import Subject

Array = NDArray[np.float64]
replace = msgspec.structs.replace

STEP_DEG = 1.0
"""Step of flexion from one solution to the next [deg], so that it stays in the assembly of the straight
joint."""
N_NEWTON, SETTLED, REACHED_M = 30, 1e-10, 1e-9
DIFFERENCE = 1e-6
"""Step of the slopes [rad, m]."""
TURNED = ("normal", "velocity_mm_s")
"""Keys of a surface that are directions in the axes of its body."""
N_FREE = 5
"""Number of coordinates of a joint's pose that are left at a given flexion: two angles, three
translations."""


class JointRegistration(NamedTuple):
    """Placement of a specimen's joint parts on the distal segment of a person: a point x of the specimen
    moves to offset + rotation @ x."""

    rotation: Array  # (3, 3)
    offset: Array  # (3,) [m]


def registered(spec: ModelSpec, anatomy: Anatomy, subject: Subject | None) -> tuple[ModelSpec, list[str]]:
    """Place the joint parts that bodies name in `registered_by` on the person's bones; return the model, and
    the names of the bodies whose joint parts were placed.

    ConfigError if the mechanism does not reach the flexion of the person's standing pose.
    """
    found: list[str] = []
    for body in spec.bodies:
        pose = subject.segments[body.name].in_parent_deg if subject and body.registered_by else None
        if pose is None:
            continue
        by = registration(spec, anatomy, body, np.radians(np.array(pose)))
        if by is None:
            raise ConfigError(
                f"in the standing pose the joint is bent by {-pose[0]:.0f} degrees, which the elements "
                f"{', '.join(body.registered_by)} do not allow",
                where=f"subject {subject.name if subject else ''}: segments.{body.name}.in_parent_deg",
                remedy="calibrate from a static trial in which the person stands, or remove this key",
            )
        spec = moved(spec, body, by, anatomy)
        found.append(body.name)
    return spec, found


def registration(spec: ModelSpec, anatomy: Anatomy, body: Body, angles: Array) -> JointRegistration | None:
    """Determine the placement of the parts of a body's joint on the person's bone; None if the mechanism does
    not reach the flexion of the person's pose.

    angles : (3,) - rotation of the body in its parent when the person was calibrated, about z, the new x, the
        new y [rad]
    """
    rows = [row for row in scalar_elements(spec) if row.record in body.registered_by]
    found = pose_at(rows, anatomy, body, float(angles[0]))
    if found is None:
        return None
    R = turned(angles)
    return JointRegistration(R.T @ turned(np.array([angles[0], *found[:2]])), R.T @ found[2:])


def turned(angles: Array) -> Array:
    """Return the rotation matrix (3, 3) for successive rotations by three angles [rad] about z, the new x and
    the new y.
    """
    (cz, cx, cy), (sz, sx, sy) = np.cos(angles), np.sin(angles)
    Z = np.array([[cz, -sz, 0.0], [sz, cz, 0.0], [0.0, 0.0, 1.0]])
    X = np.array([[1.0, 0.0, 0.0], [0.0, cx, -sx], [0.0, sx, cx]])
    Y = np.array([[cy, 0.0, sy], [0.0, 1.0, 0.0], [-sy, 0.0, cy]])
    return Z @ X @ Y


def pose_at(rows: Sequence[ScalarElement], anatomy: Anatomy, body: Body, flexion: float) -> Array | None:
    """Solve by Newton's method for the pose of a body in its parent in which the constraints `rows` of their
    joint are satisfied at a given flexion.

    The flexion is an angle about z [rad]; the solution is continued from the straight joint. Returns (5,)
    angles about x and y [rad] and origin [m], or None if there is no such pose.
    """
    centre = anatomy.place(body.in_child, body.name, body.name)
    start = anatomy.place(body.in_parent, body.parent, body.name) - centre
    parts = [part_of(row, anatomy, body, start) for row in rows]
    if body.joint == "ball":  # its centre stays in three planes of the body
        parts += [Part(centre, centre, normal, True, 0.0) for normal in np.eye(3)]
    x = np.zeros(N_FREE)
    for theta in np.linspace(0.0, flexion, 2 + int(abs(np.degrees(flexion)) / STEP_DEG)):
        for _ in range(N_NEWTON):
            phi, slopes = misfits(parts, float(theta), x)
            if np.linalg.matrix_rank(slopes) < N_FREE:
                return None
            step = np.linalg.lstsq(slopes, -phi, rcond=None)[0]
            x = x + step
            if np.abs(step).max() < SETTLED:
                break
        else:
            return None
        if not np.abs(misfits(parts, float(theta), x)[0]).max() < REACHED_M:
            return None
    return x


class Part(NamedTuple):
    """A distance or plane constraint between a body and its parent: its points, each in the axes of its bone
    and relative to the body's origin in the straight joint; the normal of its plane; and its target (length,
    or distance from the plane).
    """

    of_parent: Array  # (3,) - point in the parent [m]
    of_body: Array  # (3,) - point in the body [m]
    normal: Array  # (3,) - in `normal_on`; zeros of a distance
    normal_on_body: bool
    target: float  # [m]


def part_of(row: ScalarElement, anatomy: Anatomy, body: Body, start: Array) -> Part:
    """Return `row`, a distance or plane constraint between a body and its parent, with its points relative to
    the body's origin in the straight joint: the point on the parent in the parent's axes, the other in the
    body's.

    start : (3,) - position of the body's origin in the parent when the joint is straight [m]
    """
    at = {place.segment: anatomy.place(place, place.segment, row.where) for place in (row.a, row.b)}
    length = row.length.target_mm or row.length.mean_mm or 0.0
    return Part(at[body.parent] - start, at[body.name], row.normal, row.b.segment == body.name, 1e-3 * length)


def misfits(parts: Sequence[Part], flexion: float, x: Array) -> tuple[Array, Array]:
    """Compute the residuals (n,) [m] of distances and of heights above planes in the pose x, two angles and
    the origin, and their derivatives with respect to x, (n, 5), by central differences."""

    def values(x: Array) -> Array:
        R = turned(np.array([flexion, *x[:2]]))
        found = []
        for part in parts:
            gap = part.of_parent - x[2:] - R @ part.of_body
            if part.normal.any():
                n = R @ part.normal if part.normal_on_body else -part.normal
                found.append(float(gap @ n) - part.target)
            else:
                found.append(float(np.linalg.norm(gap)) - part.target)
        return np.array(found)

    steps = DIFFERENCE * np.eye(N_FREE)
    slopes = [(values(x + step) - values(x - step)) / (2.0 * DIFFERENCE) for step in steps]
    return values(x), np.array(slopes).T


def moved(spec: ModelSpec, body: Body, by: JointRegistration, anatomy: Anatomy) -> ModelSpec:
    """Return the model in which the elements between a body and its parent are placed on the body by the
    registration."""
    pair, straight = {body.name, body.parent}, straight_pose(spec, anatomy)

    def shifted(place: Any) -> dict[str, Any]:
        """Return the keys of the position of a point of the body that is moved by the registration."""
        x = 1e3 * (by.offset + by.rotation @ anatomy.place(place, body.name, body.name))
        return {"origin": "proximal", "point": "", "scaled": None, "offset_mm": plain(x)}

    def lay(place: Any) -> Any:
        """Return a point moved if it is one of the body, with its axes, its plane's normal and the velocity
        of its surface turned."""
        if place.segment != body.name:
            return place
        keys = shifted(place)
        for key in TURNED:
            if getattr(place, key, None) is not None:
                keys[key] = plain(by.rotation @ np.array(getattr(place, key)))
        if isinstance(place, Frame):
            keys["turned_deg"] = plain(np.degrees(angles_of(by.rotation @ joints.turned(place))))
        return replace(place, **keys)

    def between(record: Any) -> bool:
        return {record.a.segment, record.b.segment} == pair

    check_paths(spec, body, between)

    def contact(record: Any) -> Any:
        if not between(record):
            return record
        a, b = record.keys
        return replace(record, **{a: lay(record.a), b: lay(record.b)})

    def ligament(record: Any) -> Any:
        if not between(record):
            return record
        length = record.length
        if length is not None:  # eq. 1 is about the length of the specimen's straight knee
            neutral = neutral_length(row_of_ligament(record), straight, anatomy)
            length = replace(length, neutral_mm=1e3 * neutral)
        path = tuple(station if station.over else lay(station) for station in record.through)
        return replace(record, a=lay(record.a), b=lay(record.b), through=path, length=length)

    def element(record: Any) -> Any:
        if not between(record):
            return record
        keys: dict[str, Any] = {"a": lay(record.a), "b": lay(record.b)}
        for key, end in (("normal", record.b), ("direction", record.b), ("lever_mm", record.a)):
            along = getattr(record, key)
            if along is not None and end.segment == body.name:
                keys[key] = plain(by.rotation @ np.array(along))
        return replace(record, **keys)

    bodies = spec.bodies
    if body.joint == "ball":
        own = replace(body, in_child=replace(body.in_child, **shifted(body.in_child)))
        bodies = tuple(own if one.name == body.name else one for one in bodies)
    return replace(
        spec,
        bodies=bodies,
        contacts=tuple(map(contact, spec.contacts)),
        ligaments=tuple(map(ligament, spec.ligaments)),
        elements=tuple(map(element, spec.elements)),
    )


def check_paths(spec: ModelSpec, body: Body, between: Callable[[Ligament], bool]) -> None:
    """Raise ConfigError for a ligament of a registered joint that goes over a surface on its body: muscles
    may go over it, too, so that it stays where it is, and the ligament cannot be moved as one piece with the
    joint.

    between : whether a ligament is one of the joint
    """
    surfaces = {surface.name for surface in spec.surfaces if surface.segment == body.name}
    for record in filter(between, spec.ligaments):
        over = [station.over for station in record.through if station.over in surfaces]
        if over:
            raise ConfigError(
                f"{record.name} goes over the surface {over[0]}, which does not move with the parts of the "
                f"joint when they are placed on the person's {body.name}",
                where=f"ligaments.{record.name}.through",
                remedy=f"lead it through points on {body.name}, or remove registered_by of {body.name}",
            )


def plain(x: Array) -> tuple[float, float, float]:
    a, b, c = x.tolist()
    return a, b, c
