"""The stick figure: segments, markers and their residuals, ligaments and contacts, painted without OpenGL."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QLineF, QPointF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from rtsim.monitor.layout import LINES, POINTS, Layout
from rtsim.monitor.legend import COLOURS, marker_words, paint_key, paint_triad, signs
from rtsim.monitor.projection import VIEWS, Camera, floor_grid
from rtsim.monitor.scaling import nice_step
from rtsim.monitor.theme import LIGHT, Theme
from rtsim.monitor.words import tip

Array = NDArray[np.float64]

PIXEL_MOST = 1e5  # what lies farther off is not drawn: painters may not bear such numbers
FRAME_LENGTH = 0.09  # m; drawn length of the axes of a segment frame
GRID_STEP, GRID_REACH = 0.25, 1.5  # m, for figures of about the size of a person
GRID_SPANS = (0.8, 4.0)  # m; in smaller and larger views the grid is finer and coarser
DEGREES_PER_PIXEL = 0.4
ZOOM_PER_NOTCH = 0.9
STICK_WIDTH, LIGAMENT_WIDTH = 5.0, 1.6  # px
MARKER_RADIUS, JOINT_RADIUS, CROSS_RADIUS, CONTACT_RADIUS = 2.6, 4.5, 3.5, 4.0  # px
TEXT_PIXELS = 11
REACH = 9.0  # px; how near to a marker the mouse must be to ask for it
BORDER = 36.0  # px along the edges that a figure which was fitted leaves free: the lower left one is in use
FILLED = 0.9  # of the rest, by a figure that was just fitted ...
FILLED_LEAST = 0.35  # ... and by one that is fitted anew, as is one that grows beyond the view
EXTENT_LEAST = 0.1  # m; a smaller figure is not blown up any more
FAR = 1e4  # m; a position farther off is no position


class Figure(QWidget):
    """View of the newest frame. Drag turns it, the wheel zooms, a double click fits it again."""

    turned = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.camera = Camera()
        self.theme: Theme = LIGHT
        self.frames_shown = False
        self.dimmed = False
        self.n_painted = 0
        self._layout: Layout | None = None
        self._data: dict[str, Array] = {}
        self._fitted = False
        self._zoomed = False  # by hand: then the figure is not fitted any more
        self._held_at = QPointF()
        self.setMinimumSize(220, 150)

    def sizeHint(self) -> QSize:
        return QSize(420, 480)

    def set_layout(self, layout: Layout) -> None:
        """Take the parts to draw from a descriptor; the figure is empty until the first frame."""
        self._layout, self._fitted, self._zoomed = layout, False, False
        self._data = {name: np.full(shape, np.nan) for name, shape in layout.parts.items()}
        self.update()

    def set_frame(self, data: Mapping[str, Array]) -> None:
        """Copy the arrays of a frame of the layout; positions that cannot be are taken for unknown."""
        for name, array in self._data.items():
            np.copyto(array, data[name])
            array[np.abs(array) > FAR] = np.nan
        self._follow()
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Recolour."""
        self.theme = theme
        self.update()

    def dim(self, on: bool) -> None:
        """Show the figure faintly, when it is not of now or not to be trusted."""
        if on != self.dimmed:
            self.dimmed = on
            self.update()

    def look(self, name: str) -> None:
        """Take one of the named views."""
        self.camera.look(VIEWS[name])
        if not self._zoomed:
            self.fit()
        self.update()

    def fit(self) -> None:
        """Zoom so that the whole figure is in view, in height and in width."""
        points = self._all_points()
        if not points.size:
            return
        low, high = points.min(axis=0), points.max(axis=0)
        extent = float((high - low).max())
        if 0.0 < low[1] < extent:
            low[1] = 0.0  # it stands, or falls, on the floor
        centre = 0.5 * (low + high)
        followed = self._followed()
        self.camera.target = centre if followed is None else np.array([followed[0], centre[1], followed[2]])
        if extent < EXTENT_LEAST:
            points = centre + 0.5 * EXTENT_LEAST * np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]])
        else:
            points = np.vstack([points, [points[0, 0], low[1], points[0, 2]]])
        self.camera.fit(points, self.width(), self.height(), self._border(), FILLED)
        self._fitted = True
        self.update()

    def _border(self) -> float:
        return min(float(self.theme.px(BORDER)), 0.2 * min(self.width(), self.height()))

    def _all_points(self) -> Array:
        parts = [self._data[name].reshape(-1, 3) for name in (*POINTS, *LINES) if name in self._data]
        points = np.concatenate(parts) if parts else np.empty((0, 3))
        return points[np.isfinite(points).all(axis=1)]

    def _followed(self) -> Array | None:
        """(3,) - the pelvis, which walks, where there is one."""
        follow = self._layout.follow if self._layout else None
        if follow is None or "segment_positions" not in self._data:
            return None
        centre = self._data["segment_positions"][follow]
        return centre if np.isfinite(centre).all() else None

    def _follow(self) -> None:
        """Keep the pelvis in the middle; fit anew what has left the view, unless it was zoomed by hand."""
        followed = self._followed()
        if followed is not None:
            self.camera.target[[0, 2]] = followed[[0, 2]]
        if self._zoomed:
            return
        points = self._all_points()
        if points.size:
            filled = self.camera.filled(points, self.width(), self.height(), self._border())
            if not self._fitted or not FILLED_LEAST < filled <= 1.0:
                self.fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._fitted and not self._zoomed:
            self.fit()

    def paintEvent(self, event: QPaintEvent) -> None:
        self.n_painted += 1
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(self.theme.panel))
        font = QFont(self.font())
        font.setPixelSize(self.theme.px(TEXT_PIXELS))
        painter.setFont(font)
        self._paint_floor(painter)
        if self.dimmed:
            painter.setOpacity(0.35)
        self._paint_segments(painter)
        self._paint_forces(painter)
        self._paint_markers(painter)
        painter.setOpacity(1.0)
        paint_triad(painter, self.camera.basis(), self.height(), self.theme)
        paint_key(painter, self.width(), self.height(), self.theme, signs(self._data))
        painter.end()

    def _pixels(self, points: Array) -> Array:
        pixels = self.camera.project(points, self.width(), self.height())
        pixels[np.abs(pixels) > PIXEL_MOST] = np.nan
        return pixels

    def _paint_floor(self, painter: QPainter) -> None:
        span = self.camera.span
        usual = GRID_SPANS[0] <= span <= GRID_SPANS[1]
        step = GRID_STEP if usual else nice_step(span, 5)
        grid = self._pixels(floor_grid(self.camera.target, GRID_REACH if usual else 6.0 * step, step))
        painter.setPen(QPen(QColor(self.theme.grid), 1.0))
        painter.drawLines(_lines(grid[0::2], grid[1::2]))

    def _paint_segments(self, painter: QPainter) -> None:
        centres = self._data.get("joint_centres")
        if centres is not None:
            self._paint_sticks(painter, centres * np.array([1.0, 0.0, 1.0]), self.theme.shadow)
            self._paint_sticks(painter, centres, self.theme.stick)
            painter.setPen(QPen(QColor(self.theme.stick), self.theme.scale * 1.6))
            painter.setBrush(QColor(self.theme.panel))
            _dots(painter, self._pixels(centres), self.theme.scale * JOINT_RADIUS)
        origins, rotations = self._data.get("segment_positions"), self._data.get("segment_rotations")
        if not self.frames_shown or origins is None or rotations is None:
            return
        if len(origins) == len(rotations):
            start = self._pixels(origins)
            for axis, colour in enumerate((self.theme.axis_x, self.theme.axis_y, self.theme.axis_z)):
                painter.setPen(QPen(QColor(colour), self.theme.scale * 2.0))
                painter.drawLines(_lines(start, self._pixels(origins + FRAME_LENGTH * rotations[:, :, axis])))

    def _paint_sticks(self, painter: QPainter, centres: Array, colour: str) -> None:
        pairs = self._layout.stick if self._layout else np.empty((0, 2), dtype=np.intp)
        pixels = self._pixels(centres)
        cap = Qt.PenCapStyle.RoundCap
        painter.setPen(QPen(QColor(colour), self.theme.scale * STICK_WIDTH, Qt.PenStyle.SolidLine, cap))
        painter.drawLines(_lines(pixels[pairs[:, 0]], pixels[pairs[:, 1]]))

    def _paint_forces(self, painter: QPainter) -> None:
        """Ligaments and springs as thin lines, a dot where two bodies touch."""
        places = self._data.get("contact_places")
        painter.setPen(
            QPen(QColor(getattr(self.theme, COLOURS["ligament"])), self.theme.scale * LIGAMENT_WIDTH)
        )
        for name in LINES:
            if (ends := self._data.get(name)) is not None:
                painter.drawLines(_lines(self._pixels(ends[:, 0]), self._pixels(ends[:, 1])))
        if places is not None:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(getattr(self.theme, COLOURS["contact"])))
            _dots(painter, self._pixels(places), self.theme.scale * CONTACT_RADIUS)

    def _paint_markers(self, painter: QPainter) -> None:
        measured, model = self._data.get("markers_measured"), self._data.get("markers_model")
        seen = self._pixels(measured) if measured is not None else np.empty((0, 3))
        solved = self._pixels(model) if model is not None else np.empty((0, 3))
        if seen.shape == solved.shape:
            painter.setPen(QPen(QColor(self.theme.residual), self.theme.scale * 1.6))
            painter.drawLines(_lines(seen, solved))
            hidden = ~np.isfinite(seen).all(axis=1)
            painter.setPen(QPen(QColor(self.theme.occluded), self.theme.scale * 1.6))
            for sign in (1.0, -1.0):
                reach = self.theme.scale * CROSS_RADIUS * np.array([1.0, sign, 0.0])
                painter.drawLines(_lines(solved[hidden] - reach, solved[hidden] + reach))
            solved = solved[~hidden]
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self.theme.model))
        _dots(painter, solved, self.theme.scale * MARKER_RADIUS)
        painter.setPen(QPen(QColor(self.theme.measured), self.theme.scale * 1.2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        _dots(painter, seen, self.theme.scale * (MARKER_RADIUS + 1.6))

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            words = self.marker_text(event.pos().x(), event.pos().y())
            QToolTip.showText(event.globalPos(), tip([words] if words else []), self)
            return True
        return super().event(event)

    def marker_text(self, x: float, y: float) -> str:
        """What is known about the marker at a pixel, empty when there is none."""
        where = "markers_model" if "markers_model" in self._data else "markers_measured"
        if self._layout is None or where not in self._data:
            return ""
        pixels = self._pixels(self._data[where])
        distances = np.hypot(pixels[:, 0] - x, pixels[:, 1] - y)
        if not (distances < self.theme.scale * REACH).any():
            return ""
        nearest = int(np.nanargmin(distances))
        return marker_words(self._layout.labels[where][nearest], self._data, nearest)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._held_at = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            moved = event.position() - self._held_at
            self._held_at = event.position()
            self.camera.orbit(-DEGREES_PER_PIXEL * moved.x(), DEGREES_PER_PIXEL * moved.y())
            self.turned.emit()
            self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._zoomed = False
        self.fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._zoomed = True
        self.camera.zoom(ZOOM_PER_NOTCH ** (event.angleDelta().y() / 120.0))
        self.update()


def _lines(start: Array, end: Array) -> list[QLineF]:
    """Lines between two (n, 3) lists of pixels, without those that have an unknown end."""
    known = np.isfinite(start).all(axis=1) & np.isfinite(end).all(axis=1)
    ends = np.column_stack([start[known, :2], end[known, :2]]).tolist()
    return [QLineF(*line) for line in ends]


def _dots(painter: QPainter, pixels: Array, radius: float) -> None:
    for x, y, near in pixels.tolist():
        if near == near:  # not NaN
            painter.drawEllipse(QPointF(x, y), radius, radius)
