"""The newest frame as a stick figure that can be rotated and zoomed, drawn without OpenGL."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from rtsim.monitor.layout import LINES, POINTS, WindowLayout
from rtsim.monitor.pose.legend import marker_words, paint_key, paint_triad, signs
from rtsim.monitor.pose.projection import (
    EXTENT_LEAST,
    FAR,
    FILLED,
    FILLED_LEAST,
    TURNED_LEAST,
    VIEWS,
    Camera,
    across,
)
from rtsim.monitor.pose.scene import DrawnFrame
from rtsim.monitor.theme import LIGHT, Theme
from rtsim.monitor.words import tip

Array = NDArray[np.float64]

DEGREES_PER_PIXEL = 0.4
ZOOM_PER_NOTCH = 0.9
TEXT_PIXELS = 11
REACH = 9.0  # px; how near to a marker the mouse must be to ask for it
BORDER = 36.0  # px along the edges that a figure which was fitted leaves free: the lower left one is in use


class StickFigureView(QWidget):
    """The newest frame as a stick figure. Dragging rotates it, the wheel zooms, a double click fits it into
    the view.
    """

    turned = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.camera = Camera()
        self.theme: Theme = LIGHT
        self.frames_shown = False
        self.dimmed = False
        self.n_painted = 0
        self._layout: WindowLayout | None = None
        self._data: dict[str, Array] = {}
        self._fitted = False
        self._zoomed = False  # by hand: then the figure is not fitted any more
        self._held_at = QPointF()
        self._view = ""  # one of a plane of the person, which follows them
        self._across = math.nan
        self.setMinimumSize(220, 150)

    def sizeHint(self) -> QSize:
        return QSize(420, 480)

    def set_layout(self, layout: WindowLayout) -> None:
        """Set which fields of the results the stick figure draws, as a layout states; nothing is drawn until
        the first frame.
        """
        self._layout, self._fitted, self._zoomed = layout, False, False
        self._data = {name: np.full(shape, np.nan) for name, shape in layout.parts.items()}
        self.update()

    def set_frame(self, data: Mapping[str, Array]) -> None:
        """Copy from a frame the arrays that the figure draws; impossible positions become NaN."""
        for name, array in self._data.items():
            np.copyto(array, data[name])
            array[np.abs(array) > FAR] = np.nan
        self._turn_along()
        self._follow()
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self.theme = theme
        self.update()

    def dim(self, on: bool) -> None:
        """Draw the figure faintly (on), because its data are outdated or unreliable, or normally."""
        if on != self.dimmed:
            self.dimmed = on
            self.update()

    def look(self, name: str) -> None:
        """Use one of the named directions of view, which stays relative to the person even when the person
        turns.
        """
        self._view, self._across = name, self._across_person()
        self.camera.look(VIEWS[name], self._across)
        if not self._zoomed:
            self.fit()
        self.update()

    def _across_person(self) -> float:
        """Return the azimuth from which the person is seen from the right [deg]; NaN if it is not known."""
        rotations = self._data.get("segment_rotations")
        if rotations is None or self._layout is None:
            return math.nan
        return across(self._layout.labels["segment_rotations"], rotations)

    def _turn_along(self) -> None:
        """Rotate the view with the person, once the person has turned by more than a pelvis rotates in a
        step.
        """
        now = self._across_person()
        if not self._view or math.isnan(now):
            return
        turned = (now - self._across + 180.0) % 360.0 - 180.0
        if math.isnan(turned) or abs(turned) > TURNED_LEAST:
            self._across = now
            self.camera.look(VIEWS[self._view], now)

    def fit(self) -> None:
        """Zoom so that the whole figure is in view in height and width."""
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
        """Return the position of the pelvis, on which the view is centred, (3,); None if the stream has
        none."""
        follow = self._layout.follow if self._layout else None
        if follow is None or "segment_positions" not in self._data:
            return None
        centre = self._data["segment_positions"][follow]
        return centre if np.isfinite(centre).all() else None

    def _follow(self) -> None:
        """Keep the pelvis in the middle; fit the view anew if the figure has left it, unless it was zoomed
        by hand.
        """
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
        scene = self._scene()
        scene.paint_floor(painter)
        if self.dimmed:
            painter.setOpacity(0.35)
        scene.paint(painter, self.frames_shown)
        painter.setOpacity(1.0)
        paint_triad(painter, self.camera.basis(), self.height(), self.theme)
        paint_key(
            painter,
            self.width(),
            self.height(),
            self.theme,
            signs(self._data, self._layout.sides if self._layout else ()),
        )
        painter.end()

    def _scene(self) -> DrawnFrame:
        pairs = self._layout.stick if self._layout else np.empty((0, 2), dtype=np.intp)
        sides = self._layout.sides if self._layout else ()
        return DrawnFrame(
            data=self._data,
            stick=pairs,
            camera=self.camera,
            theme=self.theme,
            width=self.width(),
            height=self.height(),
            sides=sides,
        )

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            words = self.marker_text(event.pos().x(), event.pos().y())
            QToolTip.showText(event.globalPos(), tip([words] if words else []), self)
            return True
        return super().event(event)

    def marker_text(self, x: float, y: float) -> str:
        """Return the text for the marker at a pixel; "" if there is none."""
        where = "markers_model" if "markers_model" in self._data else "markers_measured"
        if self._layout is None or where not in self._data:
            return ""
        pixels = self._scene().pixels(self._data[where])
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
            self._view = ""
            self.turned.emit()
            self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._zoomed = False
        self.fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._zoomed = True
        self.camera.zoom(ZOOM_PER_NOTCH ** (event.angleDelta().y() / 120.0))
        self.update()
