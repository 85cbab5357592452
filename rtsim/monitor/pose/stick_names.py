"""Names beside the joints of a stick figure, placed where they cover nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.both_sides_schema import SUFFIXES

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from rtsim.monitor.pose.scene import DrawnFrame

Array = NDArray[np.float64]

TOGETHER = 9.0
"""Joints that are nearer than this share a name [px]."""
BESIDE, HEIGHTS = 8.0, (-5.0, 4.0, 14.0)
"""Distances of a name from its joint: to the right or left, and its base line up or down [px]."""
N_ALONG = 12
"""Number of points along a segment that a name should not cover."""
WORSE = 1000
"""Penalty for a name that covers another name; one that covers a point of the figure counts 1."""


class Box(NamedTuple):
    """The rectangle of a name in the picture, y down [px]."""

    left: float
    top: float
    right: float
    bottom: float


def paint_names(painter: QPainter, scene: DrawnFrame, labels: Sequence[str]) -> None:
    """Draw names beside joints; joints that coincide, such as right and left in the side view, share one."""
    from PySide6.QtCore import QPointF
    from PySide6.QtGui import QColor

    centres = scene.data.get("joint_centres")
    if centres is None:
        return
    told: list[tuple[float, float]] = []
    taken: list[Box] = []
    places = places_of(scene)
    metrics = painter.fontMetrics()
    picture = Box(0.0, 0.0, scene.width, scene.height - metrics.descent())
    painter.setPen(QColor(scene.theme.text))
    for (x, y, _), label in zip(scene.pixels(centres).tolist(), labels, strict=False):
        if x != x or any(abs(x - u) + abs(y - v) < TOGETHER for u, v in told):
            continue
        told.append((x, y))
        name = (label[:-2] if label[-2:] in SUFFIXES.values() else label).replace("_", " ")
        size = float(metrics.horizontalAdvance(name)), float(metrics.ascent())
        taken.append(freest((x, y), size, taken, places, picture))
        painter.drawText(QPointF(taken[-1].left, taken[-1].bottom), name)


def places_of(scene: DrawnFrame) -> Array:
    """Return positions in the picture that the name of a joint should not cover: markers, and points along
    segments, (n, 2) [px].
    """
    centres = scene.data["joint_centres"]
    part = np.linspace(0.0, 1.0, N_ALONG)[:, None, None]
    first, last = (centres[scene.stick[:, k]] for k in (0, 1))
    along = (first + part * (last - first)).reshape(-1, 3)
    markers = [scene.data[name] for name in ("markers_measured", "markers_model") if name in scene.data]
    pixels = scene.pixels(np.concatenate([along, *markers]))[:, :2]
    return pixels[np.isfinite(pixels).all(axis=1)]


def freest(
    at: tuple[float, float], size: tuple[float, float], taken: Sequence[Box], places: Array, picture: Box
) -> Box:
    """Return the rectangle beside a joint in which its name covers least within the picture; if several are
    equal, the one to the right and above.

    at : position of the joint [px]
    size : width of the name and height of its letters [px]
    taken : rectangles of other names
    places : (n, 2) positions of drawn points [px]
    picture : rectangle in which the name has to stay; the name is moved into it if necessary
    """
    (x, y), (width, height) = at, size
    boxes = [
        moved_into(picture, Box(left, y + down - height, left + width, y + down))
        for down in HEIGHTS
        for left in (x + BESIDE, x - BESIDE - width)
    ]

    def hidden(box: Box) -> int:
        over = sum(
            box.left < other.right
            and other.left < box.right
            and box.top < other.bottom
            and other.top < box.bottom
            for other in taken
        )
        inside = (places >= (box.left, box.top)).all(axis=1) & (places <= (box.right, box.bottom)).all(axis=1)
        return WORSE * over + int(inside.sum())

    return min(boxes, key=hidden)


def moved_into(picture: Box, box: Box) -> Box:
    """Move a name as little as possible so that it is within the picture; a wider name begins at the left
    edge.
    """
    right = max(picture.left - box.left, min(0.0, picture.right - box.right))
    down = max(picture.top - box.top, min(0.0, picture.bottom - box.bottom))
    return Box(box.left + right, box.top + down, box.right + right, box.bottom + down)
