"""The data sent to the browser page with results: first its layout, then changes, as plain values.

Names, panels, lines, colours and texts are those of the monitor window; the page adds none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtsim.bridges.gait_events import GaitEvents
from rtsim.files.tables.legs import SIDES
from rtsim.monitor.feed import Feed
from rtsim.monitor.layout import LINES, POINTS, WindowLayout
from rtsim.monitor.plots.history import Quality, Window, envelope
from rtsim.monitor.pose.projection import (
    ASPECT,
    EXTENT_LEAST,
    EYE_DISTANCE,
    FAR,
    FILLED,
    FILLED_LEAST,
    TURNED_LEAST,
    VIEWS,
    across,
)
from rtsim.monitor.status_words import CHIPS, details_of, figures_of
from rtsim.monitor.theme import COLOURS, DARK, DASHES, LIGHT

Array = NDArray[np.float64]

SHOWN_S = 20.0
"""Time that the curves of the page reach back [s]."""
POINTS_PER_S = 100.0
"""Points of a curve per second; more than about two per pixel are not visible."""
DECIMALS_M, DECIMALS_SHOWN = 4, 3
"""Decimals of positions in the figure [m], and of values in units of the screen."""
FIGURE = (*POINTS, *LINES)


def stride_of(rate: float) -> int:
    """Return the number of samples between two drawn points of a curve at this rate [Hz]; 1 = every sample
    is drawn.
    """
    if rate <= 1.2 * POINTS_PER_S:
        return 1
    return int(2 ** math.ceil(math.log2(2.0 * rate / POINTS_PER_S)))


def layout_message(layout: WindowLayout) -> dict[str, Any]:
    """Return the data from which the browser page builds itself for one session: panels, curves, sticks of
    the figure.
    """
    return {
        "session": layout.session_id,
        "details": details_of(layout, layout.meta.get("method", "")),
        "meta": {key: value for key, value in layout.meta.items() if key != "subject_name"},
        "panels": [
            {
                "title": panel.title,
                "axis": panel.axis_title,
                "names": panel.names,
                "least": panel.extent_least,
                "zero": panel.from_zero,
                "sides": panel.drawn_sides,
            }
            for panel in layout.panels
        ],
        "sticks": layout.stick.tolist(),
        "sides": layout.sides,
        "labels": {name: layout.labels[name] for name in FIGURE if name in layout.parts},
        "follow": layout.follow if "segment_positions" in layout.parts else None,
        "shown_s": SHOWN_S,
        "period": 1.0 / layout.rate_assumed,
    }


def look_message() -> dict[str, Any]:
    """Return colours, captions and directions of view for the browser page, which are the same for every
    session.
    """
    return {
        "themes": {theme.name: asdict(theme) for theme in (LIGHT, DARK)},
        "chips": {
            key: {"caption": text.caption, "explanation": text.explanation} for key, text in CHIPS.items()
        },
        "views": {name: view._asdict() for name, view in VIEWS.items()},
        "camera": {
            "aspect": ASPECT,
            "eye_distance": EYE_DISTANCE,
            "filled": FILLED,
            "filled_least": FILLED_LEAST,
            "turned_least": TURNED_LEAST,
            "extent_least": EXTENT_LEAST,
        },
        "colours": COLOURS,
        "dashes": DASHES,
        "sides": SIDES,
    }


def state_message(feed: Feed, events: GaitEvents) -> dict[str, Any]:
    """Return the stick figure of the newest frame, the status of the stream and the last gait events, for the
    browser page.
    """
    connection = feed.connection()
    message: dict[str, Any] = {
        "connection": {"words": connection.words, "mood": connection.mood, "flows": connection.flows},
        "chips": {key: [said.text, said.mood] for key, said in figures_of(feed).items()},
        "sentences": list(feed.sentences.kept),
        "notes": feed.notes(),
        "events": [event._asdict() for event in events.kept],
        "n_event": events.n_event,
    }
    if feed.layout is None:
        return message
    figure = {name: drawn_places(feed.pose[name]) for name in FIGURE if name in feed.pose}
    rotations = feed.pose.get("segment_rotations")
    message["figure"] = figure
    message["dim"] = feed.pose_quality is Quality.MISSING or not connection.heard
    message["across"] = (
        across(feed.layout.labels["segment_rotations"], rotations) if rotations is not None else math.nan
    )
    return message


def drawn_places(places: Array) -> list[Any]:
    """Return positions in the stick figure as lists [m]; NaN for implausible ones."""
    return np.round(np.where(np.abs(places) > FAR, np.nan, places), DECIMALS_M).tolist()


def curves_message(feed: Feed, panels: Sequence[int], n_sent: int) -> tuple[dict[str, Any], int]:
    """Return the points of curves that came after the first `n_sent` samples of the stream, for the browser
    page, and the number of samples sent so far.

    panels : indices of the panels whose curves are sent
    """
    layout, history = feed.layout, feed.history
    if layout is None:
        return {}, n_sent
    window = history.window(SHOWN_S)
    n_new = min(len(window.time), history.n_pushed - n_sent)
    window = history.latest(max(0, n_new)) if len(window.time) else window
    stride = stride_of(layout.rate_assumed)
    if not len(window.time):
        return {}, history.n_pushed
    times, values, quality = (*window[:3],) if stride == 1 else envelope(window, stride)
    n_told = history.n_pushed if stride == 1 else last_of(window, stride)
    return {
        "time": np.round(times, 4).tolist(),
        "quality": quality.tolist(),
        "panels": {
            str(k): np.round(
                values[layout.panels[k].first : layout.panels[k].first + len(layout.panels[k].names)],
                DECIMALS_SHOWN,
            ).tolist()
            for k in panels
            if k < len(layout.panels)
        },
    }, n_told


def last_of(window: Window, stride: int) -> int:
    """Return the number of samples from the beginning of the stream to the end of the last block of `stride`
    samples that the window contains completely; curves are sent to the browser page in such blocks.
    """
    return (window.first + len(window.time)) // stride * stride
