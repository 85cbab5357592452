"""The biofeedback: target, number and sound, driven by mouse and keys."""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rtsim.monitor.feedback.target import SOUND_S, TargetBand
from streams.messages import Session, Status


def test_time_in_the_target() -> None:
    """Protects the score: time inside counts, gaps and unknown values do not."""
    target = TargetBand(5.0, 15.0)
    for k in range(101):
        target.take(0.01 * k, 10.0 if k < 50 else 20.0)
    target.take(60.0, 10.0)
    target.take(60.01, math.nan)
    assert target.seconds_known == pytest.approx(1.0)
    assert target.share == pytest.approx(0.49)
    target.restart()
    assert math.isnan(target.share)


def test_it_sounds_outside_now_and_then() -> None:
    """Protects the ears: outside it sounds at once and then a few times, inside and without a value never."""
    target = TargetBand(0.0, 1.0)
    sounded = [target.take(0.01 * k, 2.0 if k > 100 else 0.5) for k in range(301)]
    assert sounded.index(True) == 101
    assert sum(sounded) == math.ceil(2.0 / SOUND_S)
    assert not target.take(10.0, math.nan)


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (2.0, 1.0), (math.nan, 1.0), (0.0, math.inf)])
def test_targets_that_are_none(low: float, high: float) -> None:
    """Protects against a target that nothing can meet."""
    with pytest.raises(ValueError, match="target"):
        TargetBand(low, high)


def test_one_value_large_with_its_target(stage: Any, sender: Any) -> None:
    """Protects the person on the treadmill: the chosen value, its colour, its size, its sound."""
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QFontMetricsF
    from PySide6.QtTest import QTest

    window = stage.window
    stage.receive(sender, 20)
    stage.turn()
    window.activateWindow()
    QTest.keyClick(window, Qt.Key.Key_B)
    stage.until(window.feedback.isVisible)
    feedback = window.feedback
    sounds: list[int] = []
    feedback._beep = lambda: sounds.append(1)
    names = [value.name for value in feedback.values]
    assert "Knee: flexion" in names
    feedback.chosen.setCurrentIndex(names.index("Knee: flexion"))
    for box, value in ((feedback.low, "5"), (feedback.high, "15")):
        box.selectAll()
        QTest.keyClicks(box, value)
        QTest.keyClick(box, Qt.Key.Key_Tab)
    angles = np.radians(np.array([0.0, 0.0, 10.0, 0.0]))
    stage.receive(sender, 10, joint_angles=angles)
    stage.turn(12)
    gauge = feedback.gauge
    assert gauge.text == "10.0"
    assert gauge.colour == window.theme.good
    feedback.resize(1280, 800)
    feedback.grab()
    height = QFontMetricsF(feedback.font()).height()
    assert gauge.number_rect.height() > 0.25 * feedback.height() > 5.0 * height
    QTest.mouseClick(feedback.sound, Qt.MouseButton.LeftButton)
    stage.receive(sender, 10, joint_angles=2.0 * angles)
    stage.turn(12)
    assert gauge.colour == window.theme.bad
    assert sounds
    QTest.keyClick(feedback, Qt.Key.Key_F)
    assert feedback.isFullScreen()
    assert not feedback.controls.isVisible()
    QTest.keyClick(feedback, Qt.Key.Key_F)
    assert not feedback.isFullScreen()
    feedback.low.setValue(20.0)
    assert gauge.target is None
    assert "lowest" in feedback.share.text()
    window.close()
    assert not feedback.isVisible()


def test_no_value_where_none_is_known(stage: Any, sender: Any) -> None:
    """Protects the person who trains from an old or a wrong number: silence, frames that did not converge."""
    window, gauge = stage.window, stage.window.feedback.gauge
    window.feedback.show()
    window.feedback.chosen.setCurrentIndex([v.name for v in window.feedback.values].index("Knee: flexion"))
    angles = np.radians(np.array([0.0, 0.0, 10.0, 0.0]))
    stage.receive(sender, 3, joint_angles=angles)
    assert gauge.text == "10.0"
    stage.receive(sender, 3, int(Status.NOT_CONVERGED), joint_angles=angles)
    assert gauge.text == "–"
    stage.receive(sender, 3, joint_angles=angles)
    assert gauge.text == "10.0"
    window.feed._now = lambda: time.monotonic() + 2.0
    stage.turn(1)
    assert not window.feed.connection().heard
    assert gauge.text == "–"


def test_another_session_has_its_own_time_in_the_target(
    stage: Any, sender: Any, session_of: Callable[..., Session]
) -> None:
    """Protects the score of a person from that of the person before, and Clear sets it to zero."""
    window, feedback = stage.window, stage.window.feedback
    feedback.show()
    feedback.low.setValue(-500.0)
    feedback.high.setValue(500.0)
    for _ in range(3):
        stage.receive(sender, 20)
    target = feedback.gauge.target
    assert target.seconds_known > 0.3  # by how many frames a turn of the window takes
    window.bar.clear.click()
    assert target.seconds_known == 0.0
    for _ in range(2):
        stage.receive(sender, 20)
    assert "in the target" in feedback.share.text()
    sender.announce(session_of(meta={**sender.session.meta, "method": "zero"}))
    stage.join(sender)
    assert feedback.gauge.target.seconds_known == 0.0
    assert feedback.share.text() == ""
