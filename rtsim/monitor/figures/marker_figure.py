"""A figure of the markers of a standing person, each with the anatomical landmark that it is taken for (its
role): front view, side view, and feet from above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.monitor.figures.paper import Paper, draw_on, ready_to_draw

if TYPE_CHECKING:
    from PySide6.QtCore import QRectF
    from PySide6.QtGui import QColor, QPainter

Array = NDArray[np.float64]

WIDTH, HEIGHT, HEAD, KEY, MARGIN = 1500.0, 860.0, 36.0, 28.0, 14.0  # px at 96 per inch
TEXT, LINE, DOT, COLUMN = (
    11.0,
    14.0,
    3.6,
    205.0,
)  # px: letters, their lines, radius of a marker, room of labels
FEET = 0.1
"""Markers below this height are drawn from above, as a fraction of the height of those on the pelvis."""
STICK = (
    ("asis", "epicondyle_lateral"), ("epicondyle_lateral", "malleolus_lateral"),
    ("malleolus_lateral", "calcaneus"), ("malleolus_lateral", "metatarsal_5"), ("malleolus_lateral", "toe"),
    ("epicondyle_lateral", "epicondyle_medial"),
    ("malleolus_lateral", "malleolus_medial"), ("metatarsal_1", "metatarsal_5"),
    ("asis", "psis"), ("asis", "sacrum"), ("calcaneus", "metatarsal_5"), ("calcaneus", "metatarsal_1"),
)  # fmt: skip
"""Pairs of roles whose markers are joined by thin lines."""
PELVIS = ("asis", "psis")
"""Roles whose right and left markers are joined by thin lines."""


UNSURE = "unsure"
"""Kind whose labels have a question mark, for readers who cannot distinguish the colours."""


class DrawnMarker(NamedTuple):
    """A marker of the figure.

    name : name in the recording, "" = none
    role, side : anatomical landmark that it stands for, "" = none, and its side, "" = both
    place : (3,) position, forwards, up, to the right [m]
    kind : how certain it is that the marker has this role, or whether the role is needed or optional; it
        determines the colour
    """

    name: str
    role: str
    side: str
    place: Array
    kind: str

    @property
    def label(self) -> str:
        """Text beside the marker."""
        label = f"{self.role}  {self.name}" if self.role and self.name else self.role or self.name
        return f"{label} ?" if self.kind == UNSURE else label


class MarkerView(NamedTuple):
    """One view in the figure of markers: its title; axes (2, 3), the directions that point to the right and
    upwards in the figure; the markers drawn, and those labelled.
    """

    title: str
    axes: Array
    drawn: list[DrawnMarker]
    labelled: list[DrawnMarker]


def save_markers(
    paper: Paper, title: str, markers: Sequence[DrawnMarker], colours: Mapping[str, tuple[str, str]]
) -> None:
    """Save a figure of the markers of a standing person to the file of `paper`.

    colours : kind of a marker -> attribute of the theme with its colour, and the text in the key
    """
    ready_to_draw()
    from PySide6.QtCore import QPointF, QRectF
    from PySide6.QtGui import QColor

    from rtsim.monitor.figures.chart import font_of
    from rtsim.monitor.figures.stack import title_size
    from rtsim.monitor.theme import LIGHT

    width, height = (given or usual for given, usual in zip(paper.size, (WIDTH, HEIGHT), strict=True))
    tints = {kind: QColor(getattr(LIGHT, attribute)) for kind, (attribute, _) in colours.items()}
    views = views_of(markers)

    def draw(painter: QPainter) -> None:
        painter.fillRect(QRectF(0.0, 0.0, width, height), QColor(LIGHT.panel))
        painter.setFont(font_of(title_size(title, width - 2.0 * MARGIN), bold=True))
        painter.setPen(QColor(LIGHT.text))
        painter.drawText(QPointF(MARGIN, MARGIN + 14.0), title)
        below = height - HEAD - KEY - MARGIN
        left = width - 2.0 * MARGIN
        front, side = 0.55 * left, 0.45 * left
        rooms = [
            QRectF(MARGIN, HEAD, front, below),
            QRectF(MARGIN + front, HEAD, side, 0.62 * below),
            QRectF(MARGIN + front, HEAD + 0.62 * below, side, 0.38 * below),
        ]
        for view, room in zip(views, rooms, strict=True):
            paint_view(painter, room, view, tints)
        painter.setFont(font_of(TEXT))
        x = MARGIN
        for kind, (_, text) in colours.items():
            painter.setPen(tints[kind])
            painter.setBrush(tints[kind])
            painter.drawEllipse(QPointF(x + DOT, height - MARGIN - 4.0), DOT, DOT)
            painter.drawText(QPointF(x + 14.0, height - MARGIN), text)
            x += 30.0 + painter.fontMetrics().horizontalAdvance(text)

    draw_on(paper, width, height, title, draw)


def views_of(markers: Sequence[DrawnMarker]) -> list[MarkerView]:
    """Return the views: from the front, from the right (or from the left if only markers of that side have
    roles), and feet from above.
    """
    known = [marker for marker in markers if marker.role or marker.kind != "none"]
    sides = {marker.side for marker in known if marker.role}
    seen = "left" if "right" not in sides and "left" in sides else "right"
    across = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    ahead = np.array([[1.0 if seen == "right" else -1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    tops = [m.place[1] for m in markers if m.role in PELVIS] or [max(m.place[1] for m in markers)]
    low = [m for m in markers if m.place[1] < FEET * float(np.mean(tops))]
    on_foot = {m.name or m.role + m.side for m in low}
    above = [m for m in known if (m.name or m.role + m.side) not in on_foot]
    return [
        MarkerView("from the front", across, list(markers), above),
        MarkerView(
            f"from the {seen}", ahead, [m for m in markers if m.side in (seen, "")],
            [m for m in above if m.side in (seen, "")],
        ),
        MarkerView(
            "feet from above", np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]), low,
            [m for m in low if m.role or m.kind != "none"],
        ),
    ]  # fmt: skip


def paint_view(painter: QPainter, room: QRectF, view: MarkerView, tints: Mapping[str, QColor]) -> None:
    """Draw the markers of a view in its centre, with labels on the left and right."""
    from PySide6.QtCore import QPointF, QRectF, Qt
    from PySide6.QtGui import QColor, QPen

    from rtsim.monitor.figures.chart import font_of
    from rtsim.monitor.theme import LIGHT

    painter.setFont(font_of(TEXT, bold=True))
    painter.setPen(QColor(LIGHT.text_dim))
    painter.drawText(QPointF(room.left() + 4.0, room.top() + TEXT), view.title)
    if not view.drawn:
        return
    flat = np.array([view.axes @ marker.place for marker in view.drawn])
    box = QRectF(room.left() + COLUMN, room.top() + 20.0, room.width() - 2.0 * COLUMN, room.height() - 30.0)
    low, high = flat.min(axis=0), flat.max(axis=0)
    scale = min(box.width() / max(high[0] - low[0], 0.05), box.height() / max(high[1] - low[1], 0.05))
    middle = 0.5 * (low + high)

    def at(place: Array) -> QPointF:
        off = scale * (view.axes @ place - middle)
        return QPointF(box.center().x() + off[0], box.center().y() - off[1])

    by_role = {(marker.role, marker.side): marker for marker in view.drawn if marker.role}
    painter.setPen(QPen(QColor(LIGHT.border), 1.5))
    for first, second in sticks(by_role):
        painter.drawLine(at(first.place), at(second.place))
    centre = float(np.median([at(marker.place).x() for marker in view.labelled])) if view.labelled else 0.0
    for on_left in (True, False):
        chosen = [m for m in view.labelled if (at(m.place).x() <= centre) == on_left]
        chosen.sort(key=lambda m: at(m.place).y())
        rows = spread([at(m.place).y() for m in chosen], room.top() + 24.0, room.bottom() - 8.0)
        for marker, y in zip(chosen, rows, strict=True):
            edge = box.left() - 8.0 if on_left else box.right() + 8.0
            painter.setPen(QPen(QColor(LIGHT.grid), 1.0))
            painter.drawLine(at(marker.place), QPointF(edge, y))
            painter.setPen(QPen(tints[marker.kind], 1.0))
            words = QRectF(edge - COLUMN - 2.0, y - LINE, COLUMN, 2.0 * LINE) if on_left else QRectF(
                edge + 3.0, y - LINE, COLUMN, 2.0 * LINE)  # fmt: skip
            align = Qt.AlignmentFlag.AlignRight if on_left else Qt.AlignmentFlag.AlignLeft
            painter.setFont(font_of(TEXT))
            text = painter.fontMetrics().elidedText(
                marker.label, Qt.TextElideMode.ElideRight, int(COLUMN) - 6
            )
            painter.drawText(words, align | Qt.AlignmentFlag.AlignVCenter, text)
    for marker in view.drawn:
        painter.setPen(QPen(QColor(LIGHT.panel), 0.5))
        painter.setBrush(tints[marker.kind])
        painter.drawEllipse(at(marker.place), DOT, DOT)


def sticks(by_role: Mapping[tuple[str, str], DrawnMarker]) -> list[tuple[DrawnMarker, DrawnMarker]]:
    """Return the pairs of markers that are connected by a line, along each leg and across the pelvis; by_role
    : anatomical landmark and side -> marker.
    """
    pairs = []
    for side in ("right", "left"):
        for first, second in STICK:
            ends = by_role.get((first, side)), by_role.get((second, side)) or by_role.get((second, ""))
            if ends[0] is not None and ends[1] is not None:
                pairs.append((ends[0], ends[1]))
    for role in PELVIS:
        right, left = by_role.get((role, "right")), by_role.get((role, "left"))
        if right is not None and left is not None:
            pairs.append((right, left))
    return pairs


def spread(rows: Sequence[float], top: float, bottom: float) -> list[float]:
    """Return the heights of labels, as close as possible to the heights `rows` of their markers (ascending)
    and without overlap between top and bottom [px].
    """
    apart = min(LINE, (bottom - top) / max(1, len(rows) - 1)) if rows else LINE
    placed: list[float] = []
    for row in rows:
        placed.append(max(row, top, placed[-1] + apart if placed else top))
    over = bottom
    for k in range(len(placed) - 1, -1, -1):
        placed[k] = min(placed[k], over)
        over = placed[k] - apart
    return placed
