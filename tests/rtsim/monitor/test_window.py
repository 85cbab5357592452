"""A real window, off screen, on a real stream."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rtsim.monitor.connection import ConnectionState
from streams.control.commands import ControlServer
from streams.messages import FieldSpec, Session, Status, Telemetry

SessionOf = Callable[..., Session]
COMMANDS = ("set_method", "set_downweighting", "status", "stop")


def chip(stage: Any, name: str) -> str:
    return stage.window.status.chips[name].value.text()


def drawn(stage: Any, panel: int = 0, curve: int = 0) -> np.ndarray:
    """(n,) values of a curve as it is on the screen."""
    return stage.window.curves.panels[panel].curves[curve].getData()[1]


def test_waiting_is_said(open_stage: Callable[..., Any]) -> None:
    """Protects the first minute: without a sender the window says what it waits for."""
    stage = open_stage("tcp://127.0.0.1:9")
    stage.turn()
    assert "waiting for a result stream at tcp://127.0.0.1:9" in stage.window.status.connection.text()
    assert "Waiting" in stage.window.curves.placeholder.text()


def test_data_are_shown(stage: Any, sender: Any) -> None:
    """Protects the main purpose: curves, contact, figure and status follow the stream."""
    before = stage.picture()
    stage.receive(sender, 100)
    stage.turn()
    titles = [panel.panel.title for panel in stage.window.curves.panels]
    assert titles == ["Hip", "Knee", "Ankle", "Knee displacement", "Ligaments", "Marker residual"]
    swing = np.degrees(0.3 * np.sin(0.05 * np.arange(100)))
    np.testing.assert_allclose(drawn(stage), swing, atol=1e-9)
    assert stage.window.contact.isVisible()
    assert stage.window.contact.traces[1].getData()[0][-1] == pytest.approx(23.0)
    assert (stage.picture() != before).any()
    assert "receiving" in stage.window.status.connection.text()
    assert chip(stage, "frames") == "100"
    assert chip(stage, "status") == "ok"
    assert chip(stage, "iterations") == "3"
    assert chip(stage, "inside").startswith("2.0 / 2.")
    for word in ("minimised", "leg", "walk.trc", "S01"):
        assert word in stage.window.status.details.text()
    assert "flexion" in stage.window.curves.panels[0].header.text()


def test_gaps_and_doubts_are_shown(stage: Any, sender: Any) -> None:
    """Protects honesty on the screen: a loss breaks the curve, degraded frames have a band behind them."""
    stage.receive(sender, 20)
    sender.seq += 10
    stage.receive(sender, 20)
    stage.receive(sender, 5, int(Status.DEGRADED))
    stage.turn()
    assert np.isnan(drawn(stage)).sum() == 2
    assert chip(stage, "lost") == "10"
    (degraded, _), _, (missing, _) = stage.window.curves.panels[0].backdrop.bands
    assert degraded == [pytest.approx((-0.045, 0.005))]
    assert missing == [pytest.approx((-0.35, -0.24), abs=0.011)]
    assert chip(stage, "status") == "degraded"


def test_occluded_markers_are_crosses(stage: Any, sender: Any) -> None:
    """Protects the figure from hiding an occlusion: a grey cross stands where the model has the marker."""
    from PySide6.QtGui import QColor

    stage.receive(sender, 1)
    stage.window.figure_card.views["Sagittal"].click()
    stage.turn()
    figure, pose = stage.window.figure_card.figure, stage.window.feed.pose
    column, row = figure.camera.project(pose["markers_model"], figure.width(), figure.height())[0, :2]
    hidden = np.full((3, 3), np.nan)
    for colour, measured in {"model": pose["markers_model"], "occluded": hidden}.items():
        figure.set_frame({**pose, "markers_measured": measured})
        pixel = stage.picture()[int(row), int(column), :3].astype(float)
        wanted = np.array(QColor(getattr(figure.theme, colour)).getRgb())[:3]
        assert np.abs(pixel - wanted).max() < 40.0


def test_restarted_sender_with_other_fields_gets_new_plots(
    stage: Any, sender: Any, session_of: SessionOf, new_sender: Callable[[str], Any]
) -> None:
    """Protects a restart of the estimator with another model: the layout is built anew."""
    stage.receive(sender, 10)
    sender.close()
    other = new_sender(sender.address)
    other.announce(
        session_of(
            (
                FieldSpec(name="joint_angles", shape=(1,), unit="rad", labels=("shoulder_flexion",)),
                FieldSpec(name="marker_rms", shape=(1,), unit="m", labels=("rms",)),
            ),
            meta={"method": "zero"},
        )
    )
    stage.until(lambda: len(stage.window.curves.panels) == 2, other.publisher.service)
    other.publisher.send(Telemetry(session=other.session.session, t=0, text=["Started again."]))
    stage.until(lambda: stage.window.status.message.text() == "Started again.")
    assert [panel.panel.title for panel in stage.window.curves.panels] == ["Shoulder", "Marker rms"]
    assert not stage.window.contact.isVisible()
    assert "zero" in stage.window.status.details.text()


@pytest.mark.parametrize(
    "kept", [(), ("marker_rms",), ("markers_measured",), ("joint_centres",), ("segment_rotations",)]
)
def test_absent_fields_are_no_error(
    open_stage: Callable[..., Any],
    sender: Any,
    session_of: SessionOf,
    all_fields: tuple[FieldSpec, ...],
    kept: tuple[str, ...],
) -> None:
    """Protects the window on streams that carry only a part of what it can show."""
    sender.announce(session_of(tuple(spec for spec in all_fields if spec.name in kept)))
    stage = open_stage(sender.address)
    stage.join(sender)
    stage.window.figure_card.frames.click()
    stage.picture()
    assert len(stage.window.curves.panels) == (kept == ("marker_rms",))
    assert stage.window.curves.placeholder.isVisible() == (kept != ("marker_rms",))


def test_views_turn_the_figure(stage: Any, sender: Any) -> None:
    """Protects the view buttons and the mouse: each view is another picture, turning releases the button."""
    from PySide6.QtCore import QPoint, Qt
    from PySide6.QtTest import QTest

    stage.receive(sender, 5)
    stage.turn()
    card = stage.window.figure_card
    pictures = []
    for button in card.views.values():
        button.click()
        assert button.isChecked()
        pictures.append(stage.picture().tobytes())
    assert len(set(pictures)) == 4
    azimuth = card.figure.camera.azimuth
    QTest.mousePress(card.figure, Qt.MouseButton.LeftButton, pos=QPoint(100, 100))
    drag(card.figure, 150, 120)
    assert card.figure.camera.azimuth == pytest.approx(azimuth - 20.0)
    assert not any(button.isChecked() for button in card.views.values())
    card.frames.click()
    assert stage.picture().tobytes() not in pictures


def drag(figure: Any, x: float, y: float) -> None:
    """A mouse move with the left button held (QTest moves without buttons)."""
    from PySide6.QtCore import QEvent, QPointF, Qt
    from PySide6.QtGui import QMouseEvent

    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    place = QPointF(x, y)
    figure.mouseMoveEvent(QMouseEvent(QEvent.Type.MouseMove, place, place, left, left, none))


def test_camera_follows_the_pelvis(stage: Any, sender: Any) -> None:
    """Protects the view of a walking subject: the pelvis stays in the middle."""
    stage.receive(sender, 300)
    stage.turn()
    figure = stage.window.figure_card.figure
    pelvis = stage.window.feed.pose["segment_positions"][0]
    assert figure.camera.target[0] == pelvis[0] > 2.5
    assert figure.camera.target[2] == pelvis[2]


def test_marker_is_named_under_the_mouse(stage: Any, sender: Any) -> None:
    """Protects the health of each marker: its name and residual are one move of the mouse away."""
    stage.receive(sender, 5)
    stage.turn()
    figure = stage.window.figure_card.figure
    model = stage.window.feed.pose["markers_model"]
    x, y, _ = figure.camera.project(model, figure.width(), figure.height())[1]
    assert figure.marker_text(x, y) == "RKNE, 8.7 mm from the model"
    assert figure.marker_text(x + 100.0, y) == ""


def test_hidden_window_draws_nothing(stage: Any, sender: Any) -> None:
    """Protects the machine: a hidden or minimised window takes the data but spends nothing on drawing."""
    stage.receive(sender, 10)
    stage.turn()
    window = stage.window
    for disappear, appear in ((window.hide, window.show), (window.showMinimized, window.showNormal)):
        disappear()
        n_drawn, n_painted = window.curves.panels[0].n_drawn, window.figure_card.figure.n_painted
        stage.receive(sender, 10)
        stage.turn()
        assert window.curves.panels[0].n_drawn == n_drawn
        assert window.figure_card.figure.n_painted == n_painted
        appear()
        stage.turn()
        assert window.curves.panels[0].n_drawn > n_drawn


def test_cost_of_drawing_does_not_grow(stage: Any, sender: Any) -> None:
    """Protects long runs: the number of points drawn is bounded by the length of the window."""
    stage.receive(sender, 400)
    stage.receive(sender, 400)
    stage.turn()
    assert 0 < len(drawn(stage)) <= 501
    stage.window.bar.durations[2].click()
    stage.turn()
    assert len(drawn(stage)) == 201


def test_frozen_display_holds_the_picture(stage: Any, sender: Any) -> None:
    """Protects the reading of a moment: frozen, nothing moves, and the strip says so."""
    stage.receive(sender, 20)
    stage.turn()
    stage.window.bar.freeze.click()
    held = drawn(stage).copy(), stage.picture()
    stage.receive(sender, 20)
    stage.turn()
    np.testing.assert_array_equal(drawn(stage), held[0])
    np.testing.assert_array_equal(stage.picture(), held[1])
    assert "display frozen" in stage.window.status.connection.text()


def test_clear_empties_the_curves(stage: Any, sender: Any) -> None:
    """Protects the Clear button."""
    stage.receive(sender, 20)
    stage.turn()
    stage.window.bar.clear.click()
    assert len(drawn(stage)) == 0
    assert chip(stage, "frames") == "0"


def test_png_is_the_window(stage: Any, sender: Any, tmp_path: Path) -> None:
    """Protects saved pictures, also of the dark theme, and the message when saving fails."""
    from PySide6.QtGui import QColor, QImage

    stage.receive(sender, 20)
    assert stage.window.saving.save_as(tmp_path / "light.png")
    stage.window.bar.dark.click()
    assert stage.window.saving.save_as(tmp_path / "dark.png")
    light, dark = QImage(str(tmp_path / "light.png")), QImage(str(tmp_path / "dark.png"))
    assert (light.width(), light.height()) == (stage.window.width(), stage.window.height())
    assert QColor(light.pixel(2, 2)).lightness() > 200 > 60 > QColor(dark.pixel(2, 2)).lightness()
    axis = stage.window.curves.panels[0].item.getAxis("left")
    assert axis.labelStyle["color"] == stage.window.theme.text
    assert not stage.window.saving.save_as(tmp_path / "no such folder" / "x.png")
    assert "Could not save" in stage.window.status.message.text()


def test_window_fits_a_small_screen(stage: Any, sender: Any) -> None:
    """Protects small screens: 1280x800 is not exceeded whatever the words in the strip are."""
    sender.publisher.send(Telemetry(session=sender.session.session, t=0, text=["A long story. " * 50]))
    stage.receive(sender, 5, int(Status.LATE | Status.DEGRADED | Status.NOT_CONVERGED))
    stage.turn()
    least = stage.window.minimumSizeHint()
    assert least.width() <= 1280
    assert least.height() <= 800


def test_words_of_others_are_not_interpreted(
    open_stage: Callable[..., Any], sender: Any, session_of: SessionOf
) -> None:
    """Protects the display from markup in labels that come over the network."""
    from PySide6.QtCore import Qt

    labels = ("<h1>big</h1>", "&amp;")
    sender.announce(session_of((FieldSpec(name="knee_displacements", shape=(2,), unit="m", labels=labels),)))
    stage = open_stage(sender.address)
    stage.join(sender)
    assert all(label in stage.window.curves.panels[0].header.text() for label in labels)  # as they are
    stage.window.status.show_connection(ConnectionState("<h1>", "bad"))
    assert stage.window.status.connection.textFormat() is Qt.TextFormat.PlainText


def test_method_is_switched_without_blocking(
    open_stage: Callable[..., Any], sender: Any, session_of: SessionOf
) -> None:
    """Protects the window from a slow estimator: it goes on drawing while a command is under way."""
    asked: list[tuple[str, dict[str, Any]]] = []
    released = threading.Event()

    def handle(command: Any) -> tuple[bool, str]:
        asked.append((command.name, dict(command.args)))
        released.wait(120.0)
        return True, "The method is now 'zero'."

    with ControlServer("tcp://127.0.0.1:0", handle, COMMANDS) as server:
        sender.announce(session_of())
        stage = open_stage(sender.address, server.address)
        stage.join(sender)
        stage.turn()
        methods = stage.window.bar.methods
        assert [name for name, button in methods.items() if button.isChecked()] == ["minimised"]
        methods["zero"].click()
        stage.until(lambda: bool(asked))
        stage.receive(sender, 10)
        assert not methods["zero"].isEnabled()
        assert not methods["zero"].isChecked()
        released.set()
        stage.until(lambda: stage.window.status.message.text() == "The method is now 'zero'.")
        stage.turn()
    assert asked == [("set_method", {"method": "zero"})]
    assert [name for name, button in methods.items() if button.isChecked()] == ["zero"]


def test_refused_command_changes_nothing(
    open_stage: Callable[..., Any], sender: Any, session_of: SessionOf
) -> None:
    """Protects the truth about the method: a refusal is shown, and the old method stays marked."""
    with ControlServer(
        "tcp://127.0.0.1:0", lambda command: (False, "There is no such method."), COMMANDS
    ) as server:
        sender.announce(session_of())
        stage = open_stage(sender.address, server.address)
        stage.join(sender)
        stage.window.bar.methods["prescribed"].click()
        stage.until(lambda: "There is no such method." in stage.window.status.message.text())
        stage.turn()
        assert stage.window.bar.methods["minimised"].isChecked()


def test_bad_control_address_is_said(
    open_stage: Callable[..., Any], sender: Any, session_of: SessionOf
) -> None:
    """Protects the window from a mistyped control address."""
    sender.announce(session_of())
    stage = open_stage(sender.address, "nonsense")
    stage.join(sender)
    stage.window.bar.methods["zero"].click()
    stage.until(lambda: "was not executed" in stage.window.status.message.text())
    assert "nonsense" in stage.window.status.message.text()


def test_end_of_the_stream_is_said(stage: Any, sender: Any) -> None:
    """Protects the end: it is named, and the last pose is drawn faintly."""
    stage.receive(sender, 10)
    sender.publisher.end("the trial is over")
    stage.until(lambda: "the stream has ended" in stage.window.status.connection.text())
    assert "the trial is over" in stage.window.status.message.text()
    assert stage.window.figure_card.figure.dimmed
    assert chip(stage, "status") == "–"
