"""Explanations of the stick figure: directions of the ground axes, meaning of symbols, and texts about a
marker.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from rtsim.files.tables.legs import SIDES
from rtsim.monitor.pose.force_arrows import FORCES
from rtsim.monitor.theme import COLOURS, DASHES, Theme
from rtsim.stages.markers.fault_words import SHORT

Array = NDArray[np.float64]

TRIAD_CORNER, TRIAD_LENGTH, TRIAD_LABEL = 34.0, 20.0, 28.0  # px
SHORTEST_AXIS = 0.15  # of the length; a shorter axis points at the viewer
DOTS = ("measured", "model", "occluded", "contact")
"""Signs that are no lines."""
KEY_LEFT, KEY_BOTTOM, SIGN_RADIUS = 78.0, 12.0, 3.3  # px


def paint_triad(painter: QPainter, basis: Array, height: int, theme: Theme) -> None:
    """Draw the directions of the ground axes in the lower left corner; basis : (3, 3) rotation from ground
    to view.
    """
    scale = theme.scale
    corner = scale * np.array([TRIAD_CORNER, -TRIAD_CORNER]) + np.array([0.0, height])
    colours = (theme.axis_x, theme.axis_y, theme.axis_z)
    for name, colour, axis in zip("XYZ", colours, basis.T, strict=True):
        direction = axis[:2] * np.array([1.0, -1.0])
        if np.hypot(*direction) < SHORTEST_AXIS:
            continue
        tip, label = (corner + scale * length * direction for length in (TRIAD_LENGTH, TRIAD_LABEL))
        painter.setPen(QPen(QColor(colour), 2.0 * scale))
        painter.drawLine(QPointF(*corner), QPointF(*tip))
        box = QRectF(label[0] - 8 * scale, label[1] - 8 * scale, 16 * scale, 16 * scale)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, name)


def signs(fields: Collection[str], sides: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names of the symbols that may occur in the stick figure of a stream.

    fields : names of the fields of the stream
    sides : sides (right, left or "") of its joints
    """
    markers = ("measured", "model", "occluded") if {"markers_measured", "markers_model"} & set(fields) else ()
    inner = (("ligament", "ligament_ends"), ("spring", "spring_ends"), ("contact", "contact_places"))
    legs = tuple(side for side in SIDES if side in sides)
    arrows = tuple(sign for sign, both in FORCES.items() if set(both) <= set(fields))
    return (*legs, *markers, *(sign for sign, field in inner if field in fields), *arrows)


def paint_key(painter: QPainter, width: int, height: int, theme: Theme, shown: Collection[str]) -> None:
    """Draw the key of the stick figure, symbols and their meanings, along the lower edge, on several lines if
    necessary.

    shown : names of the symbols that are explained
    """
    scale = theme.scale
    radius = SIGN_RADIUS * scale
    x, y = KEY_LEFT * scale, height - KEY_BOTTOM * scale
    for text in shown:
        taken = 8 * scale + painter.fontMetrics().horizontalAdvance(text)
        if x > KEY_LEFT * scale and x + taken > width:
            x, y = KEY_LEFT * scale, y - 1.3 * painter.fontMetrics().height()
        colour = QColor(getattr(theme, COLOURS.get(text, text)))
        painter.setPen(QPen(colour, 1.4 * scale))
        painter.setBrush(colour if text in ("model", "contact") else Qt.BrushStyle.NoBrush)
        if text in SIDES:
            painter.setPen(side_pen(text, colour, 3.0 * scale))
            painter.drawLine(QPointF(x - 2.5 * radius, y), QPointF(x + 1.5 * radius, y))
        elif text == "device":
            painter.drawEllipse(QPointF(x, y), 1.5 * radius, 1.5 * radius)
        elif text not in DOTS:
            painter.drawLine(QPointF(x - radius, y), QPointF(x + radius, y))
        elif text == "occluded":
            for sign in (1.0, -1.0):
                reach = QPointF(radius, sign * radius)
                painter.drawLine(QPointF(x, y) - reach, QPointF(x, y) + reach)
        else:
            painter.drawEllipse(QPointF(x, y), radius, radius)
        painter.setPen(QColor(theme.text_dim))
        painter.drawText(QPointF(x + 8 * scale, y + 4 * scale), text)
        x += taken + 14.0 * scale


def side_pen(side: str, colour: QColor, width: float) -> QPen:
    """Return the pen for lines of the stick figure on a side: right, left, or "" for neither."""
    dashes = DASHES.get(side)
    cap = Qt.PenCapStyle.RoundCap if dashes is None else Qt.PenCapStyle.FlatCap
    pen = QPen(colour, width, Qt.PenStyle.SolidLine, cap)
    if dashes is not None:
        pen.setDashPattern(dashes)
    return pen


def marker_words(name: str, data: Mapping[str, Array], index: int) -> str:
    """Return a text on a marker: its residual [mm] or the duration of its gap, its weight, and its fault.

    data : arrays of a frame by field; index : the marker's index in them
    """
    words = [name]
    residual, weight, age, fault = (
        float(data[field][index]) if index < len(data.get(field, ())) else None
        for field in ("marker_residuals", "marker_weights", "marker_gap_age", "marker_fault")
    )
    if residual is not None and np.isfinite(residual):
        words.append(f"{1000.0 * residual:.1f} mm from the model")
    elif residual is not None:
        words.append("occluded" + (f" for {age:.2f} s" if age else ""))
    if weight is not None and np.isfinite(weight):
        words.append(f"weight {weight:.2g}")
    if fault in SHORT:
        words.append(f"suspect: {SHORT[int(fault)]}")
    return ", ".join(words)
