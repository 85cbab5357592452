"""OpenSim's wrap objects converted to surfaces of a model file, and their position on a muscle's path.

OpenSim searches in each configuration for the first segment of a path, within the stated range, that
intersects a wrap object. Here a surface is inserted between each two points of the range, and acts wherever
the straight line between the points intersects it, so that the length is continuous. With a quadrant the
path stays on the chosen side, and the surface acts between the two points that are nearest at the default
values.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.files.osim.document import Node
from rtsim.files.osim.frames import OsimFrame, OsimFrames, Transform, offset_of

Table = dict[str, Any]
Array = NDArray[np.float64]
KINDS = {"WrapSphere": "sphere", "WrapCylinder": "cylinder", "WrapEllipsoid": "ellipsoid"}
DEFAULT_LENGTH = 1.0
"""Length of a cylinder whose file does not state it [m], the same as in OpenSim."""
CLEAR = 1e-3
"""Height above a surface from which on a line between two points of its body cannot wrap around it [m]."""
N_SAMPLE = 201
"""Number of points of a segment at which its distance from a surface is computed."""


class PathPoint(NamedTuple):
    """A point of a muscle's path, with its position at the default coordinates."""

    position: Array  # (3,) - in ground [m]
    there: bool  # False: a conditional point, inactive at the default coordinates


class Wrap(NamedTuple):
    """A wrapping surface inserted into a muscle path: after which point, where on the following segment, and
    the surface as a table of the model file.
    """

    after: int  # index of the path point that it follows
    along: float  # position on the segment that is nearest to the surface, from 0 to 1
    station: Table


class WrapObjects:
    """The wrap objects of a model by name; those that muscles use are converted to surfaces of the model
    file.
    """

    def __init__(self, frames: OsimFrames, poses: dict[str, Transform]) -> None:
        self.poses = poses
        self.frames: dict[str, OsimFrame] = {}
        self.nodes: dict[str, Node] = {}
        self.surfaces: dict[str, Table] = {}
        for node, path, name in frames.wraps:
            if node.name not in self.nodes:  # OpenSim takes the first of a name, too
                self.nodes[node.name] = node
                self.frames[node.name] = frames.resolve(name, path, node) if name else OsimFrame("ground")

    def add_to(
        self, muscle: str, path: list[Table], points: Sequence[PathPoint], wraps: Sequence[Node]
    ) -> list[Table]:
        """Insert the wrapping surfaces of a muscle into its path; return path points and surfaces in their
        order.

        path, points : tables of the path points, and the same points with their positions at the default
            coordinates
        wraps : the PathWrap elements of the muscle
        """
        found = [wrap for node in wraps for wrap in self.find(muscle, node, path, points)]
        stations: list[Table] = []
        for k, station in enumerate(path):
            here = sorted((wrap for wrap in found if wrap.after == k), key=lambda wrap: wrap.along)
            stations += [station, *(wrap.station for wrap in here)]
        return stations

    def find(self, muscle: str, node: Node, path: list[Table], points: Sequence[PathPoint]) -> list[Wrap]:
        """Find where on a muscle's path the surface of a PathWrap element acts; [] if its wrap object is
        disabled.

        node : the element
        path, points : tables of the path points, and the same points with their positions at the default
            coordinates
        """
        name = node.text("wrap_object")
        if name not in self.nodes:
            node.fail(f"unknown wrap object {name!r}", allowed=", ".join(self.nodes) or "none")
        wrap = self.nodes[name]
        if not wrap.flag("active", True):
            wrap.document.note(f"{wrap.label}: the wrap object is switched off and was left out")
            return []
        if wrap.tag == "WrapCylinder" and length_of(wrap) == 0.0:
            wrap.document.note(
                f"{wrap.label}: the wrap cylinder has length 0, so no path wraps around "
                "it, and it was left out"
            )
            return []
        surface = self.surfaces.setdefault(name, surface_of(wrap, self.frames[name]))
        first, last = point_range(node, len(points))
        there = [k for k in range(first, last + 1) if points[k].there]
        if len(there) < 2:
            node.fail(
                "the range of this wrap contains fewer than two points of the path at the default values of "
                "the coordinates"
            )
        X_GS = self.poses[surface["segment"]] @ self.frames[name].transform @ pose_of(wrap)
        before, after, _ = nearest(points, there, surface, X_GS)
        # a conditional point that is not there now will split the segment
        home = nearest(points, list(range(before, after + 1)), surface, X_GS)[0]
        self.tell_inside(muscle, node, [k for k in there if inside(points[k], surface, X_GS)])
        found, side = [], side_of(wrap)
        for k in range(first, last):
            _, _, along = nearest(points, [k, k + 1], surface, X_GS)
            if (
                k != home
                and rigid(path[k : k + 2], surface["segment"])
                and not meets(points[k : k + 2], surface, X_GS)
            ):
                continue
            elsewhere = {"passing": True} if k != home else {}
            found.append(Wrap(k, along, {"over": name, "yields": True, **elsewhere, **side}))
        return found

    def tell_inside(self, muscle: str, node: Node, within: list[int]) -> None:
        """Add a note on path points of a muscle that lie inside a wrapping surface, where the path does not
        wrap.

        node : the PathWrap element
        within : indices of these points, from 0
        """
        if within:
            numbers = ", ".join(str(k + 1) for k in within)
            node.document.note(
                f"muscle {muscle}: point {numbers} of its path lies inside {node.text('wrap_object')} at the "
                "default values; while a point is inside, the path does not wrap there, as in OpenSim"
            )


def rigid(stations: Sequence[Table], body: str) -> bool:
    """Return whether all given points of a path are fixed on the body `body`, so that the line between them
    cannot move relative to a surface of this body.
    """
    return all(s["segment"] == body and not ({"within", "moving"} & s.keys()) for s in stations)


def inside(point: PathPoint, surface: Table, X_GS: Transform) -> bool:
    """Return whether a point lies inside a surface; X_GS : pose of the surface in ground."""
    return bool(heights(surface, X_GS.inverse().apply(point.position)[None])[0] < 0.0)


def meets(points: Sequence[PathPoint], surface: Table, X_GS: Transform) -> bool:
    """Return whether the straight line between two path points intersects a surface, or passes within 1 mm of
    it; X_GS : pose of the surface in ground.
    """
    p, q = (X_GS.inverse().apply(point.position) for point in points)
    share = np.linspace(0.0, 1.0, N_SAMPLE)[:, None]
    return bool(heights(surface, p + share * (q - p)).min() < CLEAR)


def surface_of(node: Node, frame: OsimFrame) -> Table:
    """Convert a wrap object to a wrapping surface on a body, as the table of a model file."""
    if node.tag not in KINDS:
        node.fail(f"a {node.tag} has no counterpart in rtsim", allowed=", ".join(KINDS))
    table = {
        "name": node.name,
        "kind": KINDS[node.tag],
        "segment": frame.body,
        **(frame.transform @ pose_of(node)).place(),
    }
    if node.tag == "WrapEllipsoid":
        radii = node.vector("dimensions", default=None)
        if not (radii > 0.0).all():
            node.fail(
                f"dimensions {radii.tolist()}", allowed="above 0", remedy="correct this element in the file"
            )
        return {**table, "radii_mm": (1e3 * radii).tolist()}
    if node.tag == "WrapCylinder":
        table["length_mm"] = 1e3 * length_of(node)
    radius = node.number("radius")
    if not radius > 0.0:
        node.fail(f"radius {radius:g}", allowed="above 0", remedy="correct this element in the file")
    return {**table, "radius_mm": 1e3 * radius}


def length_of(node: Node) -> float:
    """Return the length of a wrapping cylinder [m]."""
    return node.number("length", DEFAULT_LENGTH)


def pose_of(node: Node) -> Transform:
    """Return rotation and position of a wrap object in its frame."""
    return offset_of(node, "translation", "xyz_body_rotation")


def side_of(node: Node) -> Table:
    """Return the half of the surface to which a path is confined, as the direction to the centre of that
    half; empty if the path may take the shortest way.
    """
    quadrant = node.text("quadrant", default="all").lower()
    if quadrant in ("all", "unassigned", ""):
        return {}
    sign, axis = -1.0 if quadrant[0] == "-" else 1.0, "xyz".find(quadrant.lstrip("+-"))
    if axis < 0 or len(quadrant.lstrip("+-")) != 1:
        node.fail(f"unknown quadrant {quadrant!r}", allowed="all, x, -x, y, -y, z, -z")
    if node.tag == "WrapCylinder" and axis == 2:
        node.document.note(
            f"{node.label}: the quadrant lies along the axis of the wrap object, so it does not select a side"
        )
        return {}
    if node.tag != "WrapCylinder":
        node.document.note(
            f"{node.label}: in rtsim paths stay on the side that the quadrant names; in OpenSim a "
            "path can pass the other side if its straight line misses the object"
        )
    return {"side": [sign * float(k == axis) for k in range(3)]}


def point_range(node: Node, n_point: int) -> tuple[int, int]:
    """Return the indices of the first and the last path point between which a wrap object may act, from 0;
    values below 1 in the file stand for the end of the path.
    """
    low, high = (int(k) for k in node.vector("range", 2, -1.0))
    first, last = (low if low >= 1 else 1) - 1, (high if high >= 1 else n_point) - 1
    if not 0 <= first < last < n_point:
        node.fail(
            f"range {low} {high}",
            allowed=f"two numbers of path points from 1 to {n_point}, in increasing order, or -1 -1",
        )
    return first, last


def nearest(
    points: Sequence[PathPoint], chain: Sequence[int], surface: Table, X_GS: Transform
) -> tuple[int, int, float]:
    """Find the straight segment of a chain of points that comes nearest to a surface, or deepest into it.

    Return its two points, and the position on the segment from 0 to 1. If several segments intersect the
    surface, the first one is returned, as in OpenSim.
    """
    best, found = np.inf, (chain[0], chain[1], 0.0)
    share = np.linspace(0.0, 1.0, N_SAMPLE)
    into = X_GS.inverse()
    for a, b in pairwise(chain):
        p, q = into.apply(points[a].position), into.apply(points[b].position)
        height = heights(surface, p + share[:, None] * (q - p))
        if height.min() < best:
            inside = height <= max(height.min(), 0.0)  # of a run through the surface, its middle
            best, found = height.min(), (a, b, float(share[inside].mean()))
        if best < 0.0:
            break
    return found


def heights(surface: Table, x: Array) -> Array:
    """Return approximate heights (n,) of points x : (n, 3) above the surface, in its frame [m]; negative
    inside.
    """
    y = 1e3 * x
    if surface["kind"] == "sphere":
        height = np.linalg.norm(y, axis=1) - surface["radius_mm"]
    elif surface["kind"] == "cylinder":
        beyond = np.abs(y[:, 2]) - 0.5 * surface["length_mm"]
        height = np.maximum(np.hypot(y[:, 0], y[:, 1]) - surface["radius_mm"], beyond)
    else:
        radii = np.array(surface["radii_mm"])
        height = (np.linalg.norm(y / radii, axis=1) - 1.0) * radii.mean()
    return 1e-3 * height
