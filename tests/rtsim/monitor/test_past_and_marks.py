"""Looking back, events, strides, marks, and what is saved: by keys and mouse, on a stream over a socket."""

import csv
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from streams.control.commands import ControlServer
from tests.recorded_messages import n_recorded
from tests.rtsim.monitor.gait import walk


def press(stage: Any, key: str) -> None:
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    stage.window.activateWindow()
    stage.turn(1)
    QTest.keyClick(stage.window, getattr(Qt.Key, f"Key_{key}"))
    stage.turn(1)


@pytest.fixture
def walking(open_stage: Callable[..., Any], sender: Any) -> Any:
    """A window that has seen ten seconds of a walk."""
    sender.announce(walk.session())
    stage = open_stage(sender.address)
    stage.join(sender)
    walk_on(stage, sender, 1000)
    return stage


def walk_on(stage: Any, sender: Any, n: int) -> None:
    wanted = stage.window.feed.meter.n_frame + n
    for k in range(n):
        arrays = walk.arrays(0.01 * sender.seq)
        sender.send(1, **{spec.name: arrays[spec.name] for spec in walk.FIELDS})
        if k % 100 == 99:
            stage.turn(1)
    stage.until(lambda: stage.window.feed.meter.n_frame >= wanted)


def test_events_are_marks_on_the_curves(walking: Any) -> None:
    """Protects what a clinician reads: strikes and offs of both feet at their times in every plot."""
    walking.turn()
    for panel in walking.window.curves.panels:
        kinds = {(event.side, event.kind) for event in panel.marks.events}
        assert len(kinds) == 4
        assert all(-5.0 <= event.time <= 0.0 for event in panel.marks.events)


def test_strides_are_overlaid_with_mean_and_band(walking: Any, sender: Any) -> None:
    """Protects the view over the stride: each side over its own strides, the current one on top."""
    window = walking.window
    assert window.bar.strides.isVisible()
    press(walking, "G")
    walking.until(lambda: window.curves.over_stride)
    walk_on(walking, sender, 60)
    walking.turn()
    right, left = window.curves.panels
    for panel in (right, left):
        percent, mean = panel.means[0].getData()
        np.testing.assert_allclose(np.diff(mean[10:85]), np.degrees(0.01), atol=0.02)
        assert percent[-1] == 100.0
        assert panel.bands[0].polygons
        assert len(panel.curves[0].getData()[0]) > 5
        assert "strides" in panel.header.text()
    press(walking, "G")
    walking.until(lambda: not window.curves.over_stride)


def test_a_stream_without_feet_has_no_strides(stage: Any, sender: Any) -> None:
    """Protects other streams from a button that does nothing."""
    from streams.messages import FieldSpec

    fields = (FieldSpec(name="joint_angles", shape=(1,), unit="rad", labels=("mcp_flexion",)),)
    sender.announce(walk.session(fields))
    stage.join(sender)
    assert not stage.window.bar.strides.isVisible()


def test_looking_back_while_more_comes(walking: Any, sender: Any) -> None:
    """Protects scrubbing: keys go back, curves and figure are of then, End is now again."""
    window = walking.window
    for _ in range(2):
        press(walking, "PageUp")
    assert window.looks_back
    at = window.time_bar.at
    held = window.curves.panels[0].curves[0].getData()[1].copy()
    assert window.time_bar.text.text().startswith("−0:10")
    pose = window._pose()[0]["segment_positions"][0, 0]
    n_before = len(window.feed.history)
    walk_on(walking, sender, 200)
    assert len(window.feed.history) == n_before + 200
    assert window.time_bar.at == at
    np.testing.assert_array_equal(window.curves.panels[0].curves[0].getData()[1], held)
    assert window._pose()[0]["segment_positions"][0, 0] == pose
    assert "display frozen" in window.status.connection.text()
    press(walking, "Right")
    assert window.time_bar.at == pytest.approx(at + 0.1, abs=1e-6)
    press(walking, "End")
    assert not window.looks_back
    walking.turn()
    assert window._pose()[0]["segment_positions"][0, 0] > pose


def test_the_slider_is_pulled_by_hand(walking: Any) -> None:
    """Protects the mouse: a click into the bar looks back, the button follows again."""
    from PySide6.QtCore import QPoint, Qt
    from PySide6.QtTest import QTest

    bar = walking.window.time_bar
    QTest.mouseClick(
        bar.slider, Qt.MouseButton.LeftButton, pos=QPoint(bar.slider.width() // 4, bar.slider.height() // 2)
    )
    assert walking.window.looks_back
    assert walking.window.bar.freeze.isChecked()
    QTest.mouseClick(bar.live, Qt.MouseButton.LeftButton)
    assert not walking.window.looks_back
    assert not walking.window.bar.freeze.isChecked()


def test_an_event_is_marked_by_a_key_and_saved(walking: Any, tmp_path: Path) -> None:
    """Protects notes of the moment: the key E marks, and the csv has the curves, the mark and the steps."""
    window = walking.window
    press(walking, "E")
    walking.until(lambda: len(window.feed.marks) == 1)
    assert "Marked event 1 at 9.99 s, in this window only" in window.status.message.text()
    assert window.saving.save_as(tmp_path / "curves.csv")
    rows = list(csv.reader((tmp_path / "curves.csv").open()))
    assert rows[0][0] == "time [s]"
    assert rows[0][-1] == "events"
    assert len(rows) > 400
    last = np.array([float(value) for value in rows[-1][:-2]])
    np.testing.assert_allclose(last[1:], np.degrees(walk.arrays(9.99)["joint_angles"]), rtol=1e-12)
    assert last[0] == pytest.approx(9.99)
    assert rows[-1][-2:] == ["good", "event 1"]
    assert sum("right foot strike" in row[-1] for row in rows) >= 4
    assert window.saving.save_as(tmp_path / "lines.svg")
    assert b"<svg" in (tmp_path / "lines.svg").read_bytes()[:400]
    assert not window.saving.save_as(tmp_path / "none" / "curves.csv")


def test_another_session_has_strides_and_a_table_of_its_own(
    walking: Any, sender: Any, tmp_path: Path
) -> None:
    """Protects means and tables over a change of method: what was before is drawn, and not counted in."""
    window = walking.window
    assert window.strides.n_stride["right"] > 5
    sender.announce(walk.session())
    walking.join(sender)
    walk_on(walking, sender, 100)
    walking.turn()
    assert window.strides.n_stride == {"right": 0, "left": 0}
    assert len(window.feed.history) > 1000
    assert window.saving.save_as(tmp_path / "curves.csv")
    rows = list(csv.reader((tmp_path / "curves.csv").open()))[1:]
    np.testing.assert_allclose([float(row[0]) for row in rows], 0.01 * np.arange(100), atol=1e-9)
    assert "frames in view are of the session before, and not in the table" in window.feed.sentences.kept[-1]


def test_a_table_of_the_past_has_the_frames_where_they_are_held(
    open_stage: Callable[..., Any], sender: Any, tmp_path: Path
) -> None:
    """Protects tables of fast streams: values at their own times, or a word that they are extremes."""
    sender.announce(replace(walk.session(), rate=1000.0))
    stage = open_stage(sender.address)
    stage.join(sender)
    walk_on(stage, sender, 600)
    window = stage.window
    window.time_bar.look_at(3.005)
    assert window.saving.save_as(tmp_path / "held.csv")
    table = list(csv.reader((tmp_path / "held.csv").open()))
    rows = [[float(value) for value in row[:3]] for row in table[1:]]
    np.testing.assert_allclose([row[0] for row in rows], 0.01 * np.arange(301), atol=1e-9)
    truth = [np.degrees(walk.arrays(row[0])["joint_angles"]) for row in rows]
    np.testing.assert_allclose([row[1:] for row in rows], truth, rtol=1e-9)
    assert "lowest and highest" not in window.feed.sentences.kept[-1]
    window.feed.history.clear()  # as after a minute
    assert window.saving.save_as(tmp_path / "thinned.csv")
    assert "lowest and highest values of every 20 frames" in window.feed.sentences.kept[-1]
    assert len(list(csv.reader((tmp_path / "thinned.csv").open()))) < 40


def test_marks_go_to_the_run_that_takes_them(open_stage: Callable[..., Any], sender: Any) -> None:
    """Protects marks in recordings: each goes to the run with time and name, though several come at once."""
    asked: list[dict[str, Any]] = []

    def handle(command: Any) -> tuple[bool, str]:
        asked.append(command.args)
        return True, "Marked by the run."

    with ControlServer("tcp://127.0.0.1:0", handle, ["mark", "status", "stop"]) as server:
        session = walk.session()
        sender.announce(replace(session, meta={**session.meta, "commands": ["mark", "status", "stop"]}))
        stage = open_stage(sender.address, server.address)
        stage.join(sender)
        walk_on(stage, sender, 100)
        for _ in range(3):
            stage.window.bar.mark.click()
        stage.until(lambda: len(asked) == 3)
        stage.until(lambda: "Marked by the run." in stage.window.status.message.text())
    assert [args["label"] for args in asked] == ["event 1", "event 2", "event 3"]
    assert [args["time"] for args in asked] == pytest.approx([0.99] * 3)


@pytest.mark.process
def test_the_recorder_is_started_and_stopped(walking: Any, sender: Any, tmp_path: Path) -> None:
    """Protects recording from the window: the file is whole and holds what came meanwhile."""
    from rtsim.files.recording import read_results

    path = tmp_path / "seen.mcap"
    window = walking.window
    window.recording.start(os.fspath(path))
    assert window.recording.running
    due = time.monotonic() + 120.0
    while n_recorded(path, b"result") < 6:
        assert time.monotonic() < due
        walk_on(walking, sender, 10)
        sender.publisher.service()
        time.sleep(0.02)
    window.recording.stop()
    assert not window.recording.running
    assert len(read_results(path).times) > 5
    window.recording.start(os.fspath(tmp_path / "no" / "such.mcap"))
    walking.until(lambda: not window.recording.running)
    assert "failed" in window.status.message.text()
