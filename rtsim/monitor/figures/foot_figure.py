"""A figure of a foot contact model fitted to a step: curves of the step, the contact ellipsoids from the side
and from above, and the pressure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.monitor.figures.paper import Paper, draw_on, ready_to_draw

if TYPE_CHECKING:
    from PySide6.QtCore import QRectF
    from PySide6.QtGui import QPainter

    from rtsim.files.tables.panels import FigurePanel

Array = NDArray[np.float64]

WIDTH, HEAD, MARGIN, CURVES, AXIS, MAPS = 1000.0, 34.0, 12.0, 130.0, 30.0, 210.0  # px at 96 per inch
LONE = 0.01
"""Edge of a cell that is the only one [m]."""
FAINT = 0.02
"""Pressure of a cell, in parts of the greatest, up to which no foot is shown there."""
OUTLINE = 72  # points of an ellipse
COLOURS = ("#2f6db5", "#c4622d", "#3d8f5f")
VIEWS = {
    "from the side": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    "from above": np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
}
"""Directions to the right and upwards in the figure, of a left foot with X medial, Y forward, Z up."""
HEAT = ((1.0, 1.0, 1.0), (0.99, 0.85, 0.46), (0.89, 0.42, 0.18), (0.35, 0.05, 0.15))
"""Colours from no pressure to the greatest: red, green, blue."""


class FootFigureContent(NamedTuple):
    """Content of a figure of a foot contact model and one step.

    title : title of the figure
    panels : curves over the step
    centres : (n_ellipsoid, 3) centres of the contact ellipsoids, X medial, Y forward, Z up [m]
    forms : (n_ellipsoid, 3, 3) matrices S of their shapes [m^2]: their surface is x' S^-1 x = 1, with x from
        the centre; S is the sum over their axes of r^2 axis axis', r being the length of the semi-axis
    names : names of the ellipsoids
    maps : rows of pressure maps, name -> (n, n_cell) [Pa]
    cells : (n_cell, 2) centres of the cells of pressure, X and Y [m]
    instants : (n,) times of the maps [s]
    """

    title: str
    panels: Sequence[FigurePanel]
    centres: Array
    forms: Array
    names: Sequence[str]
    maps: dict[str, Array]
    cells: Array
    instants: Array


def save_foot(paper: Paper, drawn: FootFigureContent) -> None:
    """Save the figure of a foot contact model and one step to the file of `paper`."""
    ready_to_draw()
    from PySide6.QtCore import QPointF, QRectF
    from PySide6.QtGui import QColor

    from rtsim.monitor.figures.chart import Chart, font_of, names_width
    from rtsim.monitor.figures.stack import title_size
    from rtsim.monitor.theme import LIGHT

    n_curve, n_map = len(drawn.panels), len(drawn.maps)
    titles = [panel.x_title for panel in drawn.panels]
    titled = [here != after for here, after in zip(titles, [*titles, ""][1:], strict=True)]
    axes = AXIS * sum(titled) + 10.0
    width = paper.size[0] or WIDTH
    height = paper.size[1] or HEAD + CURVES * n_curve + axes + MAPS * (1 + n_map) + MARGIN
    names = max((names_width(panel) for panel in drawn.panels), default=0.0)

    def draw(painter: QPainter) -> None:
        painter.fillRect(QRectF(0.0, 0.0, width, height), QColor(LIGHT.panel))
        painter.setFont(font_of(title_size(drawn.title, width - 2.0 * MARGIN), bold=True))
        painter.setPen(QColor(LIGHT.text))
        painter.drawText(QPointF(MARGIN, MARGIN + 14.0), drawn.title)
        left = height - HEAD - axes - MARGIN
        unit = left / (CURVES * n_curve + MAPS * (1 + n_map))
        y = HEAD
        for k, panel in enumerate(drawn.panels):
            tall = CURVES * unit + AXIS * titled[k]
            Chart(panel, QRectF(MARGIN, y, width - 2.0 * MARGIN, tall), names, titled[k]).paint(painter)
            y += tall
        paint_shapes(painter, QRectF(MARGIN, y + 10.0, width - 2.0 * MARGIN, MAPS * unit - 10.0), drawn)
        y += MAPS * unit
        for name, maps in drawn.maps.items():
            paint_maps(painter, QRectF(MARGIN, y, width - 2.0 * MARGIN, MAPS * unit - 6.0), name, maps, drawn)
            y += MAPS * unit

    draw_on(paper, width, height, drawn.title, draw)


def paint_shapes(painter: QPainter, room: QRectF, drawn: FootFigureContent) -> None:
    """Draw the contact ellipsoids of a foot from the side and from above, with the forward direction to the
    right.
    """
    from PySide6.QtCore import QPointF, QRectF, Qt
    from PySide6.QtGui import QColor, QPen, QPolygonF

    from rtsim.monitor.figures.chart import font_of
    from rtsim.monitor.theme import LIGHT

    painter.setFont(font_of(11.0))
    half = room.width() / len(VIEWS)
    for v, (name, view) in enumerate(VIEWS.items()):
        box = QRectF(room.left() + v * half, room.top(), half - MARGIN, room.height())
        painter.setPen(QColor(LIGHT.text))
        painter.drawText(box, Qt.AlignmentFlag.AlignTop, f"Contact ellipsoids {name} (cross: heel)")
        flat, forms = seen(drawn, view)
        reach = np.sqrt(forms[:, [0, 1], [0, 1]])
        low, high = (flat - reach).min(axis=0), (flat + reach).max(axis=0)
        low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        scale = 0.9 * min(box.width() / (high[0] - low[0]), (box.height() - 20.0) / (high[1] - low[1]))
        middle = QPointF(box.center().x(), box.center().y() + 10.0)

        def at(x: float, y: float, low=low, high=high, scale=scale, middle=middle) -> QPointF:
            across, up = x - 0.5 * (low[0] + high[0]), y - 0.5 * (low[1] + high[1])
            return QPointF(middle.x() + scale * across, middle.y() - scale * up)

        angles = np.linspace(0.0, 2.0 * np.pi, OUTLINE)
        circle = np.stack([np.cos(angles), np.sin(angles)])
        for centre, form, colour, label in zip(flat, forms, COLOURS, drawn.names, strict=True):
            rim = centre[:, None] + np.linalg.cholesky(form) @ circle
            painter.setPen(QPen(QColor(colour), 2.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPolygon(QPolygonF([at(float(x), float(y)) for x, y in rim.T]))
            painter.drawText(at(float(centre[0]), float(centre[1])), label)
        painter.setPen(QPen(QColor(LIGHT.text), 1.5))
        heel = at(0.0, 0.0)
        painter.drawLine(heel - QPointF(5.0, 0.0), heel + QPointF(5.0, 0.0))
        painter.drawLine(heel - QPointF(0.0, 5.0), heel + QPointF(0.0, 5.0))


def seen(drawn: FootFigureContent, view: Array) -> tuple[Array, Array]:
    """Return the contact ellipsoids projected on a plane: centres (n, 2) [m] and matrices S (n, 2, 2) [m^2]
    of the ellipses, whose outline is x' S^-1 x = 1, with x from the centre.

    view : (2, 3) directions to the right and upwards in the figure, in the axes of the foot (medial, forward,
        up)
    """
    return drawn.centres @ view.T, view @ drawn.forms @ view.T


def paint_maps(painter: QPainter, room: QRectF, name: str, maps: Array, drawn: FootFigureContent) -> None:
    """Draw a row of pressure maps side by side, one for each instant; all rows have one colour scale, and
    forward is up.

    name : name of the row, such as measured
    maps : (n, n_cell) pressures [Pa]
    """
    from PySide6.QtCore import QPointF, QRectF, Qt
    from PySide6.QtGui import QColor, QPolygonF

    from rtsim.monitor.figures.chart import font_of
    from rtsim.monitor.theme import LIGHT

    most = max(float(rows.max(initial=0.0)) for rows in drawn.maps.values())
    painter.setFont(font_of(11.0))
    painter.setPen(QColor(LIGHT.text))
    painter.drawText(room, Qt.AlignmentFlag.AlignTop, f"Pressure, {name} (dark = {1e-3 * most:.0f} kPa)")
    low, high = pressed(drawn)
    each, tall = room.width() / max(1, len(maps)), room.height() - 34.0
    scale = min(0.92 * each / (high[0] - low[0]), tall / (high[1] - low[1]))
    edges = scale * edges_of(drawn.cells)
    corners = 0.52 * np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]]) @ edges
    for k, row in enumerate(maps):
        x = room.left() + k * each
        painter.setPen(Qt.PenStyle.NoPen)
        inside = ((drawn.cells >= low) & (drawn.cells <= high)).all(axis=1)
        for m in np.flatnonzero((row > 0.0) & inside):
            across, along = scale * (drawn.cells[m] - low)
            at = QPointF(x + across, room.top() + 18.0 + tall - along)
            painter.setBrush(QColor(*heat(float(row[m]) / most)))
            painter.drawPolygon(QPolygonF([at + QPointF(float(u), -float(v)) for u, v in corners]))
        painter.setPen(QColor(LIGHT.text))
        painter.drawText(
            QRectF(x, room.bottom() - 16.0, each, 16.0),
            Qt.AlignmentFlag.AlignCenter,
            f"{drawn.instants[k]:.2f} s",
        )


def pressed(drawn: FootFigureContent) -> tuple[Array, Array]:
    """Return the smallest and the largest position (2,) of the cells with pressure in any map, with a margin
    of one cell, in metres.

    A pressure mat is larger than a foot, and cells outside the foot may show a small offset.
    """
    felt = np.max([rows.max(axis=0, initial=0.0) for rows in drawn.maps.values() if rows.size], axis=0)
    shown = drawn.cells[felt > FAINT * felt.max()] if felt.max() > 0.0 else drawn.cells
    around = np.abs(edges_of(drawn.cells)).max(axis=0)
    return shown.min(axis=0) - around, shown.max(axis=0) + around


def edges_of(cells: Array) -> Array:
    """Return the edge vectors of a cell as rows, (2, 2), from the centres (n_cell, 2) of all cells, whatever
    their orientation [m].
    """
    middle = cells[np.linalg.norm(cells - cells.mean(axis=0), axis=1).argmin()]
    away = cells - middle
    far = np.linalg.norm(away, axis=1)
    order = np.argsort(far)[1:]
    if not len(order):
        return LONE * np.eye(2)
    edge = away[order[0]]
    lean = np.abs(away[order] @ edge) / (far[order] * far[order[0]])
    across = np.flatnonzero(lean < 0.1)
    other = away[order[across[0]]] if len(across) else np.array([-edge[1], edge[0]])
    return np.stack([edge, other])


def heat(part: float) -> tuple[int, int, int]:
    """Return the colour (red, green, blue; 0 to 255) for a pressure, given as a fraction of the greatest."""
    at = np.clip(part, 0.0, 1.0) * (len(HEAT) - 1)
    colours = np.array(HEAT)
    mixed = [float(np.interp(at, np.arange(len(HEAT)), colours[:, k])) for k in range(3)]
    red, green, blue = (round(255.0 * value) for value in mixed)
    return red, green, blue
