"""No text of the window is cut or overlapped, at every size: the rectangles of labels and buttons."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tests.rtsim.monitor.gait import walk
from tests.rtsim.monitor.test_fault_and_title import DEVICE, FIELDS, data

SIZES = [(800, 600), (1280, 800), (1920, 1200), (3840, 2160)]


def labels(window: Any) -> list[Any]:
    """Every label and button that is seen, but those that end in an ellipsis where there is no room."""
    from PySide6.QtWidgets import QLabel, QPushButton

    from rtsim.monitor.elided import Elided

    found = [*window.findChildren(QLabel), *window.findChildren(QPushButton)]
    return [
        part for part in found
        if part.isVisible() and part.window() is window and part.text() and not isinstance(part, Elided)
        and not part.visibleRegion().isEmpty()
    ]  # fmt: skip


def check(window: Any) -> None:
    from PySide6.QtCore import QPoint, QRect

    places = []
    for part in labels(window):
        place = QRect(part.mapTo(window, QPoint(0, 0)), part.size())
        text = part.fontMetrics().horizontalAdvance(part.text().replace("&&", "&"))
        assert part.width() >= text, f"{part.text()!r} is cut"
        assert part.height() >= part.fontMetrics().ascent(), f"{part.text()!r} is cut"
        if not hasattr(part, "placeholder"):
            assert window.rect().contains(place), f"{part.text()!r} is outside"
        places.append((part.text(), place))
    assert len(places) > 15
    for (one, a), (other, b) in combinations(places, 2):
        assert not a.intersects(b), f"{one!r} overlaps {other!r}"


@pytest.mark.parametrize("size", SIZES)
def test_no_text_of_a_walk_is_cut(stage: Any, sender: Any, size: tuple[int, int]) -> None:
    """Protects reading: a walk with a long name, over time and over the stride."""
    session = walk.session()
    sender.announce(session)
    stage.join(sender)
    arrays = {spec.name: walk.arrays(0.0)[spec.name] for spec in walk.FIELDS}
    stage.receive(sender, 20, **arrays)
    stage.window.resize(*size)
    stage.turn(12)
    check(stage.window)
    stage.window.bar.strides.click()
    stage.turn(12)
    check(stage.window)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("code", [0.0, 3.0])
def test_no_text_of_a_device_is_cut(
    stage: Any, sender: Any, session_of: Any, size: tuple[int, int], code: float
) -> None:
    """Protects operating: state, sliders and their bounds, in fault or not."""
    sender.announce(session_of(FIELDS, meta={"device": DEVICE, "subject": "A long name of a person"}))
    stage.join(sender)
    stage.receive(sender, 10, **data(code))
    stage.window.resize(*size)
    stage.turn(12)
    check(stage.window)


def test_headers_keep_their_entries_apart(stage: Any, sender: Any, session_of: Any) -> None:
    """Protects names and values above the plots: none begins before the one before has ended."""
    from PySide6.QtGui import QFontMetricsF

    stage.receive(sender, 10, joint_angles=np.array([-3.0, 0.0, 1.0, 2.0]))
    for size in SIZES:
        stage.window.resize(*size)
        stage.turn(12)
        for panel in stage.window.curves.panels:
            header = panel.header
            metrics = QFontMetricsF(header._font)
            for a, b in zip(header._placed[:-1], header._placed[1:], strict=True):
                if a.line == b.line:
                    assert b.x >= a.x + metrics.horizontalAdvance(a.name)
