"""A figure of a recording: the stick figure at some instants, side by side at one scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.monitor.figures.paper import Paper, draw_on, ready_to_draw

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from rtsim.files.recording import Results
    from rtsim.monitor.layout import WindowLayout
    from rtsim.monitor.pose.projection import Camera

Array = NDArray[np.float64]

HEIGHT, LEAST, MOST = 380.0, 90.0, 1600.0  # px of a picture, and of its width
WHOLE, BESIDE = 480.0, 200.0  # px: width of the figure at least, room for names in a picture
MARGIN, HEAD, FOOT = 12.0, 30.0, 44.0  # px
APART, FILLED = 14.0, 0.94  # px between pictures; part of one that the figure takes
TEXT, NAME = 12.0, 10.0  # px


def save_sticks(
    paper: Paper, title: str, results: Results, instants: Sequence[float], view: str, names: bool = False
) -> None:
    """Save a figure of the stick figures of a recording at the frames nearest to instants [s], side by side.

    view : name of the direction of view, as in the monitor window
    names : whether the names of joints are written

    The view is relative to the direction that the person faces, or to the room if that is not known; the
    title states which. ConfigError if the recording has no joints and no markers at any of the instants.
    """
    ready_to_draw()
    from PySide6.QtCore import QRectF, Qt
    from PySide6.QtGui import QColor

    from rtsim.monitor.figures.chart import font_of
    from rtsim.monitor.figures.pose_loads import PoseLoads
    from rtsim.monitor.figures.stack import title_size
    from rtsim.monitor.layout import layout_of
    from rtsim.monitor.pose.legend import paint_key, signs
    from rtsim.monitor.pose.projection import ASPECT, VIEWS, across
    from rtsim.monitor.pose.scene import DrawnFrame
    from rtsim.monitor.pose.stick_names import paint_names
    from rtsim.monitor.theme import LIGHT

    layout, loads = layout_of(results.session), PoseLoads(results)
    frames = [int(np.argmin(np.abs(results.times - t))) for t in instants]
    shown = [data_of(results, layout, k) for k in frames]
    height = (paper.size[1] or HEIGHT + HEAD + FOOT + 2.0 * MARGIN) - HEAD - FOOT - 2.0 * MARGIN
    faced = [across(layout.labels["segment_rotations"], data["segment_rotations"]) for data in shown
             if "segment_rotations" in data]  # fmt: skip
    if not np.isfinite(faced or [math.nan]).all() and VIEWS[view].elevation in (0.0, 90.0):
        title += " relative to the laboratory, because no segment shows which way the person faces"
        faced = []
    clouds = [np.concatenate([drawn_points(data), loads.points(k)])
              for k, data in zip(frames, shown, strict=True)]  # fmt: skip
    cameras, width = cameras_for(clouds, view, height, faced)
    width += BESIDE if names else 0.0
    whole = whole_width(paper, len(shown), width)
    width = (whole - 2.0 * MARGIN + APART) / len(shown) - APART

    def draw(painter: QPainter) -> None:
        painter.fillRect(QRectF(0.0, 0.0, whole, height + HEAD + FOOT + 2.0 * MARGIN), QColor(LIGHT.panel))
        painter.setFont(font_of(title_size(title, whole - 2.0 * MARGIN), bold=True))
        painter.setPen(QColor(LIGHT.text))
        painter.drawText(QRectF(MARGIN, MARGIN, whole - 2.0 * MARGIN, HEAD), Qt.AlignmentFlag.AlignTop, title)
        for n, (k, data, camera) in enumerate(zip(frames, shown, cameras, strict=True)):
            painter.save()
            painter.translate(MARGIN + n * (width + APART), MARGIN + HEAD)
            painter.setClipRect(QRectF(-0.5 * APART, -NAME, width + APART, height + NAME))
            camera.span *= min(1.0, ASPECT * width / height)  # as a narrow view would zoom out
            scene = DrawnFrame(
                data=data, stick=layout.stick, camera=camera, theme=LIGHT,
                width=width, height=height, sides=layout.sides,
            )  # fmt: skip
            scene.paint_floor(painter)
            scene.paint(painter)
            loads.paint(painter, scene, k)
            if names:
                painter.setFont(font_of(NAME))
                paint_names(painter, scene, layout.labels.get("joint_centres", ()))
            painter.setClipping(False)
            painter.setFont(font_of(TEXT))
            painter.setPen(QColor(LIGHT.text))
            under = QRectF(0.0, height, width, 0.5 * FOOT)
            painter.drawText(under, Qt.AlignmentFlag.AlignCenter, f"{results.times[k]:.2f} s")
            painter.restore()
        painter.setFont(font_of(TEXT))
        key = (*signs(layout.parts, layout.sides), *loads.signs())
        paint_key(painter, round(whole), round(height + HEAD + FOOT + MARGIN), LIGHT, key)

    draw_on(paper, whole, height + HEAD + FOOT + 2.0 * MARGIN, title, draw)


def whole_width(paper: Paper, n_picture: int, width: float) -> float:
    """Return the width of a figure of n pictures of a given width [px]; ConfigError if the page is too
    narrow.
    """
    least = (width + APART) * n_picture - APART + 2.0 * MARGIN
    whole = paper.size[0] or max(WHOLE, least)
    if whole < least:
        raise ConfigError(
            f"{n_picture} pictures do not fit side by side", where="--at", remedy="give fewer instants"
        )
    return whole


def data_of(results: Results, layout: WindowLayout, k: int) -> dict[str, Array]:
    """Return the arrays of frame k that the stick figure shows, field -> values; ConfigError if it has no
    known joint centre or marker.
    """
    data = {name: results.fields[name][k][: shape[0]].copy() for name, shape in layout.parts.items()}
    if not len(points_of(data)):
        raise ConfigError(
            f"the frame at {results.times[k]:.2f} s shows no joints and no markers", where="--at",
            remedy="choose another time, or a recording of results with joints or markers",
        )  # fmt: skip
    return data


def points_of(data: dict[str, Array]) -> Array:
    """Return the known joint centres and markers of a frame, (n, 3) [m]."""
    from rtsim.monitor.layout import POINTS

    parts = [data[name].reshape(-1, 3) for name in POINTS if name in data]
    points = np.concatenate(parts) if parts else np.empty((0, 3))
    return points[np.isfinite(points).all(axis=1)]


def drawn_points(data: dict[str, Array]) -> Array:
    """Return the known joint centres, markers and ends of force arrows of a frame, (n, 3) [m]."""
    from rtsim.monitor.pose.force_arrows import force_points

    return np.concatenate([points_of(data), force_points(data)])


def cameras_for(
    clouds: Sequence[Array], view: str, height: float, faced: Sequence[float] = ()
) -> tuple[list[Camera], float]:
    """Return cameras for clouds of points (n, 3) with a common scale and height, and the width of each
    picture [px].

    height : height of the pictures [px]
    faced : azimuths from which the person is seen from the right [deg]; () = views are relative to the room
    """
    from rtsim.monitor.pose.projection import VIEWS, Camera

    cameras = []
    low = min(float(cloud[:, 1].min()) for cloud in clouds)
    high = max(float(cloud[:, 1].max()) for cloud in clouds)
    low = min(low, 0.0) if low < high - low else low  # a jaw is no dot high above the floor
    spans, reach = [], []
    for cloud, azimuth in zip(clouds, faced or [0.0] * len(clouds), strict=True):
        camera = Camera()
        camera.look(VIEWS[view], azimuth)
        seen = cloud @ camera.basis().T  # so that the middle is that of the picture, however it is turned
        camera.target = 0.5 * (seen.min(axis=0) + seen.max(axis=0)) @ camera.basis()
        camera.target[1] = 0.5 * (low + high)
        corners = np.vstack([cloud, [*camera.target[[0]], low, camera.target[2]], camera.target])
        corners[-1, 1] = high
        seen = np.abs((corners - camera.target) @ camera.basis().T)
        spans.append(2.0 * seen[:, 1].max())
        reach.append(2.0 * seen[:, 0].max())
        cameras.append(camera)
    span = max(spans) / FILLED
    for camera in cameras:
        camera.span = span
    return cameras, min(max(LEAST, max(reach) / span * height + 2.0 * APART), MOST)
