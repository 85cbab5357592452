"""Tables of bodies: mass, markers, axes for joint angles, and points for stick figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.inertia import Bodies
from kernels.joints.joint_angles import JointAxes
from kernels.markers.marker_cost import ModelMarkers
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.place_schema import GROUND
from rtsim.errors import ConfigError
from rtsim.subjects.anatomy import Anatomy
from rtsim.subjects.subject import Subject

Array = NDArray[np.float64]


def body_index(spec: ModelSpec) -> dict[str, int]:
    """Return the index of every segment by name; ground is -1."""
    return {GROUND: -1, **{body.name: b for b, body in enumerate(spec.bodies)}}


def pack_bodies(spec: ModelSpec) -> Bodies:
    """Pack the mass properties of bodies; a body without any is a massless intermediate frame."""
    n = len(spec.bodies)
    inertia = np.zeros((n, 3, 3))
    for b, body in enumerate(spec.bodies):
        xx, yy, zz, xy, xz, yz = (*body.inertia_kg_m2, 0.0, 0.0, 0.0)[:6]
        inertia[b] = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return Bodies(
        np.array([body.mass_kg for body in spec.bodies], float),
        1e-3 * np.array([body.mass_centre_mm for body in spec.bodies], float),
        inertia,
    )


def pack_markers(
    spec: ModelSpec, subject: Subject | None, anatomy: Anatomy
) -> tuple[ModelMarkers, tuple[str, ...]]:
    """Pack the subject's markers by segment, or the model's own without a subject; also return their
    names."""
    if subject is None:
        index = body_index(spec)
        at = [anatomy.place(marker, marker.segment, f"markers.{marker.name}") for marker in spec.markers]
        body_of = np.array([index[marker.segment] for marker in spec.markers], np.int64)
        return ModelMarkers(body_of, rows(at, 3)), tuple(marker.name for marker in spec.markers)
    found = [
        (name, b, np.array(position))
        for b, body in enumerate(spec.bodies)
        for name, position in subject.segments[body.name].markers_mm.items()
    ]
    if not found:
        raise ConfigError("no markers", where=f"subject {subject.name}", remedy="calibrate again")
    names = [name for name, *_ in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(
            f"{', '.join(twice)} belong to more than one segment",
            where=f"subject {subject.name}",
            remedy="calibrate again",
        )
    body_of = np.array([b for _, b, _ in found], np.int64)
    return ModelMarkers(body_of, 1e-3 * np.array([x for *_, x in found])), tuple(name for name, *_ in found)


def pack_joint_axes(spec: ModelSpec, anatomy: Anatomy, index: dict[str, int]) -> JointAxes:
    """Pack the axes and centres of the joints that have angles."""
    jointed = [(body, body.angles, body.parent or body.name) for body in spec.bodies if body.angles]
    return JointAxes(
        proximal=np.array([index[parent] for *_, parent in jointed], np.int64),
        distal=np.array([index[body.name] for body, *_ in jointed], np.int64),
        axes_proximal=rows([anatomy.axes(parent, *angles.proximal) for _, angles, parent in jointed], 3, 3),
        axes_distal=rows([anatomy.axes(body.name, *angles.distal) for body, angles, _ in jointed], 3, 3),
        point_proximal=rows(
            [anatomy.place(body.in_parent, body.parent, body.name) for body, *_ in jointed], 3
        ),
        point_distal=rows([anatomy.place(body.in_child, body.name, body.name) for body, *_ in jointed], 3),
    )


@dataclass(frozen=True)
class Outline:
    """Points of the segments that a stick figure connects by lines, and the body of each point."""

    points: Array  # (n_point, 3) - in their bodies [m]
    body: NDArray[np.int64]  # (n_point,)


def pack_outline(spec: ModelSpec, anatomy: Anatomy) -> Outline:
    """Pack the points of a stick figure: the origins of all segments and, for a person with calibrated
    segments, also the distal ends of those that carry no other segment."""
    points, body = [np.zeros(3) for _ in spec.bodies], list(range(len(spec.bodies)))
    parents = {segment.parent for segment in spec.bodies}
    for b, segment in enumerate(spec.bodies):
        if anatomy.segments and segment.name not in parents:
            points.append(-anatomy.bases[segment.name][:, 1])
            body.append(b)
    return Outline(np.array(points), np.array(body, np.int64))


def rows(numbers: list, *shape: int) -> Array:
    """Return a list as an array (n, *shape), which has this shape also if the list is empty."""
    return np.array(numbers, float).reshape(-1, *shape)
