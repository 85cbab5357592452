"""The dialogue of panels and curves, driven by mouse and keys."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rtsim.monitor.choice.settings_file import read_settings


def titles(stage: Any) -> list[str]:
    return [panel.panel.title for panel in stage.window.curves.panels]


def tick(stage: Any, words: str) -> None:
    """Click into the box of a line of the tree."""
    from PySide6.QtCore import QPoint, Qt
    from PySide6.QtTest import QTest

    chooser = stage.window.chooser
    item = next(item for item, _ in chooser.items() if item.text(0).startswith(words))
    item.parent().setExpanded(True)
    chooser.tree.scrollToItem(item)
    stage.application.processEvents()
    box = chooser.tree.visualItemRect(item)
    QTest.mouseClick(
        chooser.tree.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(box.left() + 9, box.center().y())
    )


def open_chooser(stage: Any) -> Any:
    """By its key, as a user who has read the tool tip does."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    stage.window.activateWindow()
    stage.turn()
    QTest.keyClick(stage.window, Qt.Key.Key_P)
    stage.until(stage.window.chooser.isVisible)  # a key presses a button for a moment
    return stage.window.chooser


def test_panels_curves_and_pictures_by_mouse(stage: Any, sender: Any) -> None:
    """Protects the choice: a click hides a panel, a curve, a picture, and brings it back."""
    stage.receive(sender, 20)
    chooser = open_chooser(stage)
    tick(stage, "Knee displacement")
    assert "Knee displacement" not in titles(stage)
    tick(stage, "Knee displacement")
    tick(stage, "PCL")
    stage.turn()
    ligaments = next(p for p in stage.window.curves.panels if p.panel.title == "Ligaments")
    assert [curve.isVisible() for curve in ligaments.curves] == [True, False, True, True]
    assert "PCL" not in ligaments.header.text()
    assert [e.colour for e in ligaments.header.entries] == [stage.window.theme.curve(k) for k in (0, 2, 3)]
    tick(stage, "Contact")
    assert not stage.window.contact.isVisible()
    assert chooser.isVisible()


def test_tasks_by_mouse(stage: Any, sender: Any) -> None:
    """Protects the presets: one click shows what goes with a task, and what has nothing is greyed."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    stage.receive(sender, 20)
    chooser = open_chooser(stage)
    QTest.mouseClick(chooser.tasks["clinic"], Qt.MouseButton.LeftButton)
    assert titles(stage) == ["Hip", "Knee", "Ankle"]
    QTest.mouseClick(chooser.tasks["joint"], Qt.MouseButton.LeftButton)
    assert titles(stage) == ["Knee displacement", "Ligaments", "Marker residual"]
    assert not chooser.tasks["device"].isEnabled()
    for words in ("Knee displacement", "Ligaments", "Marker residual"):
        tick(stage, words)
    assert titles(stage) == []
    assert "Press P" in stage.window.curves.placeholder.text()


def test_the_choice_is_kept_between_starts(
    open_stage: Callable[..., Any], sender: Any, session_of: Callable[..., Any], tmp_path: Path
) -> None:
    """Protects the next morning: the window begins as it was left."""
    from rtsim.monitor.feed import Feed
    from rtsim.monitor.window import MonitorWindow

    sender.announce(session_of())
    stage = open_stage(sender.address)
    path = tmp_path / "monitor.json"
    for _ in range(2):
        settings, fault = read_settings(path)
        assert fault == ""
        stage.window.close()
        stage.window = MonitorWindow(Feed(stage.subscriber, sender.address), None, settings, path)
        stage.window.show()
        stage.join(sender)
        if settings.task == "all":
            open_chooser(stage).tasks["clinic"].click()
            stage.window.bar.durations[30].click()
            stage.window.bar.dark.click()
            stage.window.resize(1000, 700)
            stage.window.close()
    assert titles(stage) == ["Hip", "Knee", "Ankle"]
    assert stage.window.curves.duration == 30.0
    assert stage.window.theme.name == "dark"
    assert (stage.window.width(), stage.window.height()) == (1000, 700)
    assert stage.window.chooser.tasks["clinic"].isChecked()


def test_at_most_three_bands_and_that_of_the_curve_pointed_at(
    stage: Any, sender: Any, session_of: Callable[..., Any]
) -> None:
    """Protects readable bands: of more than three curves, those of three, or of the one under the mouse."""
    import numpy as np
    from PySide6.QtCore import QPoint, QPointF
    from PySide6.QtTest import QTest

    from streams.messages import Curves, FieldSpec

    names = ("ACL", "PCL", "MCL", "LCL")
    fields = (
        FieldSpec(
            name="tension", shape=(4,), unit="N", labels=names, curves=Curves("Tension", "force", 0, 1.0)
        ),
        FieldSpec(
            name="tension_deviation", shape=(4,), unit="N", labels=names, of="tension", role="deviation"
        ),
    )
    sender.announce(session_of(fields))
    stage.join(sender)
    stage.receive(sender, 30, tension=np.array([0.0, 10.0, 20.0, 30.0]), tension_deviation=np.full(4, 2.0))
    stage.turn()
    panel = stage.window.curves.panels[0]
    assert [band.isVisible() for band in panel.bands] == [True, True, True, False]
    box = panel.item.getViewBox()
    place = panel.plot.mapFromScene(box.mapViewToScene(QPointF(-0.1, 29.0)))
    QTest.mouseMove(panel.plot.viewport(), QPoint(place.x() - 3, place.y()))
    QTest.mouseMove(panel.plot.viewport(), place)
    stage.turn()
    assert [band.isVisible() for band in panel.bands] == [False, False, False, True]
    stage.receive(sender, 2, tension=np.array([0.0, 10.0, 20.0, 30.0]), tension_deviation=np.full(4, 2.0))
    stage.turn()
    assert len(panel.bands[3].polygons) == 1
