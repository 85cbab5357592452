"""Drawing of the stick figure of a frame: segments, markers and residuals, ligaments, contacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from rtsim.files.tables.legs import SIDES
from rtsim.monitor.layout import LINES
from rtsim.monitor.plots.scaling import nice_step
from rtsim.monitor.pose.force_arrows import FORCES, arrow_ends, arrow_heads
from rtsim.monitor.pose.legend import side_pen
from rtsim.monitor.pose.projection import Camera, floor_grid
from rtsim.monitor.theme import COLOURS, Theme

Array = NDArray[np.float64]

PIXEL_MOST = 1e5  # what lies farther off is not drawn: painters may not bear such numbers
FRAME_LENGTH = 0.09  # m; drawn length of the axes of a segment frame
GRID_STEP, GRID_REACH = 0.25, 1.5  # m, for figures of about the size of a person
GRID_SPANS = (0.8, 4.0)  # m; in smaller and larger views the grid is finer and coarser
STICK_WIDTH, LIGAMENT_WIDTH, ARROW_WIDTH, ARROW_HEAD = 5.0, 1.6, 2.2, 8.0  # px
MARKER_RADIUS, JOINT_RADIUS, CROSS_RADIUS, CONTACT_RADIUS = 2.6, 4.5, 3.5, 4.0  # px


class DrawnFrame(NamedTuple):
    """The stick figure of a frame in pixels.

    data : arrays of the frame that the figure shows, by the names of their fields
    stick : (n, 2) connected pairs of joint centres
    width, height : size of the view [px]
    sides : right, left or "" of each joint centre; () = unknown
    """

    data: Mapping[str, Array]
    stick: NDArray[np.intp]
    camera: Camera
    theme: Theme
    width: float
    height: float
    sides: Sequence[str] = ()

    def paint(self, painter: QPainter, frames_shown: bool = False) -> None:
        """Draw everything except the floor; frames_shown : whether the axes of the segments are drawn."""
        self.paint_segments(painter, frames_shown)
        self.paint_forces(painter)
        self.paint_markers(painter)
        self.paint_arrows(painter)

    def pixels(self, points: Array) -> Array:
        """Return the pixels of positions (n, 3), as from `Camera.project`; NaN if they cannot be drawn."""
        pixels = self.camera.project(points, self.width, self.height)
        pixels[np.abs(pixels) > PIXEL_MOST] = np.nan
        return pixels

    def paint_floor(self, painter: QPainter) -> None:
        """Draw a grid on the floor."""
        span = self.camera.span
        usual = GRID_SPANS[0] <= span <= GRID_SPANS[1]
        step = GRID_STEP if usual else nice_step(span, 5)
        grid = self.pixels(floor_grid(self.camera.target, GRID_REACH if usual else 6.0 * step, step))
        painter.setPen(QPen(QColor(self.theme.grid), 1.0))
        painter.drawLines(lines(grid[0::2], grid[1::2]))

    def paint_segments(self, painter: QPainter, frames_shown: bool) -> None:
        """Draw sticks between joints, their shadow on the floor, and the axes of segments."""
        centres = self.data.get("joint_centres")
        if centres is not None:
            self._paint_sticks(painter, centres * np.array([1.0, 0.0, 1.0]), self.theme.shadow)
            for side, colour in (("", self.theme.stick), *((s, getattr(self.theme, s)) for s in SIDES)):
                self._paint_sticks(painter, centres, colour, side)
            painter.setPen(QPen(QColor(self.theme.stick), self.theme.scale * 1.6))
            painter.setBrush(QColor(self.theme.panel))
            dots(painter, self.pixels(centres), self.theme.scale * JOINT_RADIUS)
        origins, rotations = self.data.get("segment_positions"), self.data.get("segment_rotations")
        if not frames_shown or origins is None or rotations is None:
            return
        if len(origins) == len(rotations):
            start = self.pixels(origins)
            for axis, colour in enumerate((self.theme.axis_x, self.theme.axis_y, self.theme.axis_z)):
                painter.setPen(QPen(QColor(colour), self.theme.scale * 2.0))
                painter.drawLines(lines(start, self.pixels(origins + FRAME_LENGTH * rotations[:, :, axis])))

    def _of_side(self, side: str) -> NDArray[np.intp]:
        """Return the sticks whose distal joint is on this side, (n, 2)."""
        ends = [self.sides[end] if self.sides else "" for end in self.stick[:, 1]]
        return self.stick[np.array([own == side for own in ends], dtype=bool)]

    def _paint_sticks(self, painter: QPainter, centres: Array, colour: str, side: str | None = None) -> None:
        """Draw the sticks of a side, "" for those of neither side; None = all sticks in one colour."""
        pairs, pixels = self.stick if side is None else self._of_side(side), self.pixels(centres)
        painter.setPen(side_pen(side or "", QColor(colour), self.theme.scale * STICK_WIDTH))
        painter.drawLines(lines(pixels[pairs[:, 0]], pixels[pairs[:, 1]]))

    def paint_forces(self, painter: QPainter) -> None:
        """Draw ligaments and springs as thin lines, whatever their force, and a dot where two bodies
        touch.
        """
        places = self.data.get("contact_places")
        painter.setPen(
            QPen(QColor(getattr(self.theme, COLOURS["ligament"])), self.theme.scale * LIGAMENT_WIDTH)
        )
        for name in LINES:
            if (ends := self.data.get(name)) is not None:
                painter.drawLines(lines(self.pixels(ends[:, 0]), self.pixels(ends[:, 1])))
        if places is not None:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(getattr(self.theme, COLOURS["contact"])))
            dots(painter, self.pixels(places), self.theme.scale * CONTACT_RADIUS)

    def paint_arrows(self, painter: QPainter) -> None:
        """Draw the forces of plates and of the foot's contact as arrows."""
        scale = self.theme.scale
        for sign in FORCES:
            begin, end = (self.pixels(points) for points in arrow_ends(self.data, sign))
            colour = QColor(getattr(self.theme, COLOURS[sign]))
            painter.setPen(QPen(colour, scale * ARROW_WIDTH))
            painter.drawLines(lines(begin, end))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour)
            for head in arrow_heads(begin, end, scale * ARROW_HEAD):
                painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in head.tolist()]))
            painter.setBrush(Qt.BrushStyle.NoBrush)

    def paint_markers(self, painter: QPainter) -> None:
        """Draw measured and modelled markers, lines between them, and crosses at missing ones."""
        measured, model = self.data.get("markers_measured"), self.data.get("markers_model")
        seen = self.pixels(measured) if measured is not None else np.empty((0, 3))
        solved = self.pixels(model) if model is not None else np.empty((0, 3))
        if seen.shape == solved.shape:
            painter.setPen(QPen(QColor(self.theme.residual), self.theme.scale * 1.6))
            painter.drawLines(lines(seen, solved))
            hidden = ~np.isfinite(seen).all(axis=1)
            painter.setPen(QPen(QColor(self.theme.occluded), self.theme.scale * 1.6))
            for sign in (1.0, -1.0):
                reach = self.theme.scale * CROSS_RADIUS * np.array([1.0, sign, 0.0])
                painter.drawLines(lines(solved[hidden] - reach, solved[hidden] + reach))
            solved = solved[~hidden]
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self.theme.model))
        dots(painter, solved, self.theme.scale * MARKER_RADIUS)
        painter.setPen(QPen(QColor(self.theme.measured), self.theme.scale * 1.2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        dots(painter, seen, self.theme.scale * (MARKER_RADIUS + 1.6))


def lines(start: Array, end: Array) -> list[QLineF]:
    """Return lines from pixels `start` to `end` (x, y, depth), (n, 3) each, except those with an unknown
    end.
    """
    known = np.isfinite(start).all(axis=1) & np.isfinite(end).all(axis=1)
    ends = np.column_stack([start[known, :2], end[known, :2]]).tolist()
    return [QLineF(*line) for line in ends]


def dots(painter: QPainter, pixels: Array, radius: float) -> None:
    """Draw circles at those of the pixels (x, y, depth), (n, 3), that are known (not NaN)."""
    for x, y, near in pixels.tolist():
        if near == near:  # not NaN
            painter.drawEllipse(QPointF(x, y), radius, radius)
