"""Muscles along their paths and the joint of a device, drawn in a saved stick figure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from rtsim.files.recording import Results
    from rtsim.monitor.pose.scene import DrawnFrame

Array = NDArray[np.float64]

MUSCLE, DEVICE = "muscle", "device"
THIN, THICK, DEVICE_WIDTH, DEVICE_RADIUS = 1.0, 4.0, 2.2, 11.0  # px
"""A muscle is as thick as it is active; THIN where no activation is known."""


class PointLine(NamedTuple):
    """The points of a polyline that are fixed to segments, such as a muscle path.

    segments : (n,) indices of the segments of the points, -1 = ground
    points : (n, 3) positions of the points on these segments [m]
    """

    name: str
    segments: NDArray[np.intp]
    points: Array


class PoseLoads:
    """Muscles and the joint of a device in recorded results, drawn frame by frame."""

    def __init__(self, results: Results) -> None:
        self._fields = results.fields
        specs = {spec.name: spec for spec in results.session.fields}
        segments = tuple(specs["segment_positions"].labels) if "segment_positions" in specs else ()
        placed = "segment_rotations" in specs and bool(segments)
        self.muscles = muscle_lines(results.session.meta.get("muscle_points"), segments) if placed else []
        activation = specs.get("muscle_activations")
        self._active = {name: k for k, name in enumerate(activation.labels)} if activation else {}
        device = results.session.meta.get("device")
        place = device.get("place") if isinstance(device, Mapping) else None
        self.device = point_line("device", [place], segments) if placed else None

    def signs(self) -> tuple[str, ...]:
        """Return the entries of the key for the loads that are drawn."""
        there = {MUSCLE: bool(self.muscles), DEVICE: self.device is not None}
        return tuple(name for name, one in there.items() if one)

    def points(self, k: int) -> Array:
        """Return the known points of all muscle paths in frame k, (n, 3) [m], which the picture must
        contain.
        """
        parts = [self.line_at(line, k) for line in self.muscles]
        points = np.concatenate(parts) if parts else np.empty((0, 3))
        return points[np.isfinite(points).all(axis=1)]

    def line_at(self, line: PointLine, k: int) -> Array:
        """Return the points of a muscle path in frame k, in ground, (n, 3) [m]."""
        positions, rotations = self._fields["segment_positions"][k], self._fields["segment_rotations"][k]
        moved = np.einsum("nij,nj->ni", rotations[line.segments], line.points) + positions[line.segments]
        return np.where((line.segments < 0)[:, None], line.points, moved)

    def paint(self, painter: QPainter, scene: DrawnFrame, k: int) -> None:
        """Draw the muscles and the joint of the device in frame k."""
        from PySide6.QtCore import Qt
        from PySide6.QtGui import QColor, QPen

        from rtsim.monitor.pose.scene import dots, lines
        from rtsim.monitor.theme import COLOURS

        theme = scene.theme
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for line in self.muscles:
            active = self._fields["muscle_activations"][k][self._active[line.name]] \
                if line.name in self._active else math.nan  # fmt: skip
            wide = THIN + (THICK - THIN) * min(1.0, max(0.0, float(active))) if active == active else THIN
            painter.setPen(QPen(QColor(getattr(theme, COLOURS[MUSCLE])), theme.scale * wide))
            at = scene.pixels(self.line_at(line, k))
            painter.drawLines(lines(at[:-1], at[1:]))
        if self.device is not None:
            painter.setPen(QPen(QColor(getattr(theme, COLOURS[DEVICE])), theme.scale * DEVICE_WIDTH))
            dots(painter, scene.pixels(self.line_at(self.device, k)), theme.scale * DEVICE_RADIUS)


def muscle_lines(rows: object, segments: tuple[str, ...]) -> list[PointLine]:
    """Return the valid ones among the muscle paths of a session descriptor.

    rows : the entry of the descriptor, name of a muscle -> its points
    segments : names of the segments
    """
    if not isinstance(rows, Mapping):
        return []
    lines = [point_line(str(name), points, segments) for name, points in rows.items()]
    return [line for line in lines if line is not None and len(line.points) > 1]


def point_line(name: str, rows: object, segments: tuple[str, ...]) -> PointLine | None:
    """Return the path of a muscle from those rows of a descriptor that are valid points (segment, x, y, z);
    None if there are none.

    segments : names of the segments
    """
    known = [row for row in rows if _is_point(row, segments)] if isinstance(rows, (list, tuple)) else []
    if not known:
        return None
    at = np.array([segments.index(row[0]) if row[0] else -1 for row in known], dtype=np.intp)
    return PointLine(name, at, np.array([row[1:] for row in known], dtype=float))


def _is_point(row: object, segments: tuple[str, ...]) -> bool:
    """Return whether a row of a muscle path in a descriptor is a valid point: a known segment, or "" for
    ground, and a position on it.
    """
    if not isinstance(row, (list, tuple)) or len(row) != 4 or row[0] not in ("", *segments):
        return False
    return all(isinstance(x, (int, float)) and abs(x) < math.inf for x in row[1:])
