"""The stick figure of a frame for Foxglove: coordinate frames of the segments, spheres for markers, lines for
bones.

Foxglove has Z up, the ground of the results Y up: the coordinate frame `world` converts between them, and all
other coordinate frames are below it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from rtsim.bridges.foxglove_schemas import LINE_LIST, NOT_USED, stamp, vector
from rtsim.monitor.layout import LINES, POINTS, WindowLayout
from rtsim.monitor.pose.projection import FAR
from streams.account import plain

Array = NDArray[np.float64]
WORLD, GROUND = "world", "ground"
HALF = math.sqrt(0.5)
UP: Mapping[str, tuple[float, float, float, float]] = {"Y": (HALF, 0.0, 0.0, HALF), "Z": (0.0, 0.0, 0.0, 1.0)}
"""Rotations of axes with that one up to `world`, whose Z is up, as quaternions (x, y, z, w)."""
ORIGIN = {"position": vector((0.0, 0.0, 0.0)), "orientation": vector((0.0, 0.0, 0.0, 1.0))}
ROTATION_ERROR = 0.01
"""Largest deviation from orthonormality of a matrix that is used as a rotation."""


class _Look(NamedTuple):
    """How one kind of object is drawn: diameter of spheres, or thickness of lines [m], and colour (red,
    green, blue, opacity).
    """

    size: float
    colour: tuple[float, float, float, float]


LOOKS = {
    "markers_measured": _Look(0.014, (0.25, 0.55, 0.95, 1.0)),
    "markers_model": _Look(0.010, (0.60, 0.60, 0.60, 0.6)),
    "joint_centres": _Look(0.022, (0.90, 0.90, 0.88, 1.0)),
    "contact_places": _Look(0.012, (0.85, 0.25, 0.25, 1.0)),
    "bones": _Look(0.012, (0.90, 0.90, 0.88, 1.0)),
    "ligament_ends": _Look(0.004, (0.95, 0.65, 0.25, 1.0)),
    "spring_ends": _Look(0.004, (0.95, 0.65, 0.25, 1.0)),
}


def transforms(layout: WindowLayout, data: Mapping[str, Array], t_ns: int) -> dict[str, Any]:
    """Return Foxglove's message FrameTransforms for a frame of results: the ground below the world, and below
    the ground each segment with a known pose.

    layout : what the stream contains; data : arrays of the frame, by field
    t_ns : capture time [ns]
    """
    found = [transform(WORLD, GROUND, (0.0, 0.0, 0.0), UP["Y"], t_ns)]
    places, turns = data.get("segment_positions"), data.get("segment_rotations")
    if places is not None and turns is not None and "segment_positions" in layout.parts:
        for name, place, turn in zip(layout.labels["segment_positions"], places, turns, strict=False):
            quaternion = quaternion_of(turn)
            if name and quaternion is not None and drawn(place[None])[0]:
                found.append(transform(GROUND, plain(name), place.tolist(), quaternion, t_ns))
    return {"transforms": found}


def transform(
    parent: str, child: str, place: Sequence[float], quaternion: Sequence[float], t_ns: int
) -> dict[str, Any]:
    """Return Foxglove's message FrameTransform: position [m] and quaternion of a child frame in its parent
    frame."""
    return {
        "timestamp": stamp(t_ns), "parent_frame_id": parent, "child_frame_id": child,
        "translation": vector(place), "rotation": vector(quaternion),
    }  # fmt: skip


def quaternion_of(matrix: Array) -> list[float] | None:
    """Return the quaternion (x, y, z, w) of a rotation matrix; None if the matrix is not a rotation."""
    if not np.abs(matrix @ matrix.T - np.eye(3)).max() < ROTATION_ERROR or np.linalg.det(matrix) < 0.0:
        return None
    quaternion: list[float] = Rotation.from_matrix(matrix).as_quat().tolist()
    return quaternion


def scene(layout: WindowLayout, data: Mapping[str, Array], t_ns: int) -> dict[str, Any]:
    """Return Foxglove's message SceneUpdate for a frame of results: the stick figure, whose entities replace
    those of the previous frame.

    layout : what the stream contains; data : arrays of the frame, by field
    t_ns : capture time [ns]
    """
    entities = []
    for name in POINTS:
        if name in layout.parts and name in LOOKS:
            entities.append(entity(name, GROUND, t_ns, spheres=spheres(name, data[name])))
    if len(layout.stick) and "joint_centres" in data:
        ends = data["joint_centres"][layout.stick]
        entities.append(entity("bones", GROUND, t_ns, lines=lines("bones", ends)))
    for name in LINES:
        if name in layout.parts:
            entities.append(entity(name, GROUND, t_ns, lines=lines(name, data[name])))
    return {"deletions": [], "entities": entities}


def entity(
    name: str, frame: str, t_ns: int, *, spheres: Sequence[Any] = (), lines: Sequence[Any] = ()
) -> dict[str, Any]:
    """Return Foxglove's SceneEntity of spheres and lines, which stays until the next one of the same name;
    frame : coordinate frame of the positions.
    """
    return {
        "timestamp": stamp(t_ns), "frame_id": frame, "id": name, "lifetime": {"sec": 0, "nsec": 0},
        "frame_locked": False, "metadata": [], "spheres": list(spheres), "lines": list(lines),
        **{kind: [] for kind in NOT_USED},
    }  # fmt: skip


def spheres(name: str, places: Array) -> list[dict[str, Any]]:
    """Return one sphere for each known position.

    name : name of the points, which determines colour and size
    places : (n, 3) positions [m]; NaN = not known
    """
    look = LOOKS[name]
    return [
        {
            "pose": {**ORIGIN, "position": vector(place)},
            "size": vector([look.size] * 3),
            "color": dict(zip("rgba", look.colour, strict=True)),
        }
        for place in places[drawn(places)].tolist()
    ]


def lines(name: str, ends: Array) -> list[dict[str, Any]]:
    """Return Foxglove's primitives for line segments, at most one, which contains the segments whose ends are
    both known.

    name : name of the lines, which determines colour and width
    ends : (n, 2, 3) ends of the segments [m]; NaN = not known
    """
    look = LOOKS[name]
    there = ends[drawn(ends).all(axis=1)]
    if not len(there):
        return []
    return [
        {
            "type": LINE_LIST, "pose": ORIGIN, "thickness": look.size, "scale_invariant": False,
            "points": [vector(place) for place in there.reshape(-1, 3).tolist()],
            "color": dict(zip("rgba", look.colour, strict=True)), "colors": [], "indices": [],
        }
    ]  # fmt: skip


def drawn(places: Array) -> NDArray[np.bool_]:
    """Return a mask of the positions (..., 3) that are finite and plausible, so that they can be drawn."""
    with np.errstate(invalid="ignore"):
        return np.asarray((np.abs(places) <= FAR).all(axis=-1))  # NaN is not
