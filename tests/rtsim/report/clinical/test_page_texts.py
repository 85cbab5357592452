"""Texts of a report's pages, as Qt's fonts have them: none is cut by the page or lies on another."""

from __future__ import annotations

import os
from xml.etree import ElementTree

import pytest

from rtsim.files.markers.sides import EITHER
from rtsim.report.clinical.document import pages_of
from rtsim.report.clinical.drawing import HEIGHT, WIDTH
from tests.rtsim.report.clinical.made_up import gait_results, report_of

pytest.importorskip("PySide6")
LONG = "A name as long as no form has room for, of a person with a code 0123456789"
CAPITALS = "WILHELMINE VON WÄCHTERSHÄUSER-MÜLLENHOFF, GEB. WOHLMUTHSWÜMMENHAMMWEG" + 40 * "M"


@pytest.mark.parametrize("long", [LONG, CAPITALS])
@pytest.mark.parametrize("walks", [True, False])
def test_no_text_runs_off_the_page_or_lies_on_another(walks: bool, long: str) -> None:
    """Protects pages from texts that cannot be read: long names, two sessions, norms, curves over time."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import QRectF
    from PySide6.QtGui import QFont, QFontMetricsF

    from rtsim.monitor.figures.paper import ready_to_draw

    ready_to_draw()
    report = report_of(
        gait_results(notes=[long * 3, f"{long}: {EITHER}"]),
        gait_results(seed=1),
        before=gait_results(seed=2),
        norms=True,
        name=long,
    )
    if not walks:
        still = gait_results(notes=[f"{long}: {EITHER}"])
        fields = {name: values[:50] for name, values in still.fields.items()}
        report = report_of(
            still._replace(times=still.times[:50], status=still.status[:50], fields=fields), name=long
        )
    doubted = tuple(
        trial._replace(doubts=(long * 5, long), name=f"{long} {k}.c3d")
        for k, trial in enumerate(report.now.trials)
    )
    report = report._replace(now=report.now._replace(trials=doubted))
    for number, page in enumerate(pages_of(report), 1):
        boxes: list[tuple[QRectF, str]] = []
        for element in ElementTree.fromstring(page.svg()).iter():
            if not element.tag.endswith("text") or not element.text or element.get("transform"):
                continue
            size = float(element.get("font-size", "0"))
            font = QFont("sans-serif")
            font.setPixelSize(round(size))
            font.setBold(element.get("font-weight") == "bold")
            width = QFontMetricsF(font).horizontalAdvance(element.text)
            x, y = float(element.get("x", "0")), float(element.get("y", "0"))
            x -= {"end": width, "middle": 0.5 * width}.get(element.get("text-anchor", ""), 0.0)
            boxes.append((QRectF(x, y - 0.72 * size, width, 0.74 * size), element.text))
        for k, (box, text) in enumerate(boxes):
            assert box.left() >= 0.0, (number, text)
            assert box.right() <= WIDTH, (number, text)
            assert box.bottom() <= HEIGHT, (number, text)
            for other, words in boxes[k + 1 :]:
                assert not box.intersects(other), (number, text, words)
