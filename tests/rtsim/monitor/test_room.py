"""Nothing is cut off in silence: small and large windows, long names, wide figures, paused simulations."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from streams.control.commands import ControlServer
from streams.messages import FieldSpec, Session, Status, Telemetry

SessionOf = Callable[..., Session]
SIZES = [(800, 600), (1280, 720), (1920, 1080), (3840, 2160)]
COMMANDS = ("set_method", "set_downweighting", "status", "stop")


def chain_fields(n: int) -> tuple[FieldSpec, ...]:
    labels = tuple(f"block{i}" for i in range(n))
    return (
        FieldSpec(name="joint_centres", shape=(n, 3), unit="m", labels=labels),
        FieldSpec(name="ligament_forces", shape=(n,), unit="N", labels=labels),
    )


@pytest.mark.parametrize("size", SIZES)
def test_the_whole_figure_is_in_view(
    stage: Any, sender: Any, session_of: SessionOf, size: tuple[int, int]
) -> None:
    """Protects wide figures, as a chain of ten blocks: every view shows every point, and uses its room."""
    stage.window.resize(*size)
    stage.turn()
    for extent in (0.4, 3.0, 40.0):
        sender.announce(session_of(chain_fields(10), meta={}))
        stage.join(sender)
        stage.turn()
        centres = np.zeros((10, 3))
        centres[:, 0] = np.linspace(0.0, extent, 10)
        centres[:, 2] = np.linspace(0.0, 0.3 * extent, 10)
        moved = centres + np.array([0.0, 0.0, 5.0 * extent])  # slides out of the view
        figure, views = stage.window.figure_card.figure, stage.window.figure_card.views
        assert list(views) == ["Sagittal", "Frontal", "Transverse", "3-D"]
        for button in views.values():
            stage.receive(sender, 5, joint_centres=centres, ligament_forces=np.ones(10))
            button.click()
            stage.turn()
            pixels = figure.camera.project(centres, figure.width(), figure.height())[:, :2]
            room = np.array([figure.width(), figure.height()])
            assert ((pixels > 0.0) & (pixels < room)).all()
            assert (np.ptp(pixels, axis=0) / room).max() > 0.4
            stage.receive(sender, 5, joint_centres=moved, ligament_forces=np.ones(10))
            stage.turn()
            pixels = figure.camera.project(moved, figure.width(), figure.height())[:, :2]
            assert ((pixels > 0.0) & (pixels < room)).all()


def test_a_zoom_by_hand_is_kept(stage: Any, sender: Any) -> None:
    """Protects a look at a detail: what was zoomed by hand is fitted again by a double click alone."""
    from PySide6.QtCore import QPoint, QPointF, Qt
    from PySide6.QtGui import QWheelEvent
    from PySide6.QtTest import QTest

    stage.receive(sender, 5)
    stage.turn()
    figure = stage.window.figure_card.figure
    fitted = figure.camera.span
    buttons, no_key, phase = (
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
    )
    middle = QPointF(figure.rect().center())
    figure.wheelEvent(QWheelEvent(middle, middle, QPoint(), QPoint(0, 1200), buttons, no_key, phase, False))
    zoomed = figure.camera.span
    stage.receive(sender, 20)
    stage.turn()
    assert figure.camera.span == zoomed < 0.6 * fitted
    QTest.mouseDClick(figure, Qt.MouseButton.LeftButton)
    assert figure.camera.span == pytest.approx(fitted, rel=0.3)


@pytest.mark.parametrize("size", SIZES)
def test_headers_tell_what_they_leave_out(
    stage: Any, sender: Any, session_of: SessionOf, size: tuple[int, int]
) -> None:
    """Protects names and values: each is there in full, or cut with a sign and whole in the tool tip."""
    from PySide6.QtGui import QFontMetricsF

    names = tuple(f"a_rather_long_name_of_a_ligament_{i:02d}" for i in range(20))
    fields = (
        FieldSpec(name="ligament_forces", shape=(20,), unit="N", labels=names),
        FieldSpec(
            name="knee_displacements", shape=(3,), unit="m", labels=("lateral", "anterior", "proximal")
        ),
    )
    sender.announce(session_of(fields))
    stage.join(sender)
    stage.window.resize(*size)
    stage.turn()
    stage.receive(
        sender, 5, ligament_forces=np.full(20, 9.0), knee_displacements=np.array([-0.1234, 1e3, 0.0])
    )
    stage.turn()
    stage.window.redraw()
    for panel in stage.window.curves.panels:
        header, shown = panel.header, panel.header.text()
        written = [name for name in panel.panel.names if name in shown]
        n_left_out = int(shown.rsplit("+", 1)[1].split()[0]) if " more" in shown else 0
        n_shortened = shown.count("…")
        assert len(written) + n_left_out + n_shortened == len(panel.panel.names)
        if n_left_out or n_shortened:
            assert all(name in header.toolTip() for name in panel.panel.names)
        metrics = QFontMetricsF(header._font)
        for placed in header._placed:
            assert placed.x + metrics.horizontalAdvance(placed.name) <= header.width() + 1.0
    texts = {panel.panel.title: panel.header.text() for panel in stage.window.curves.panels}
    displacement = texts["Knee displacements"]
    if " more" not in displacement:
        assert "−123.4" in displacement
        assert "1.0e+06" in displacement


@pytest.mark.parametrize("size", SIZES)
def test_the_window_takes_every_size(
    open_stage: Callable[..., Any], sender: Any, session_of: SessionOf, size: tuple[int, int]
) -> None:
    """Protects small and large screens: no bar is wider than the window, text grows with it."""
    with ControlServer("tcp://127.0.0.1:0", lambda command: (True, ""), COMMANDS) as server:
        sender.announce(session_of())
        stage = open_stage(sender.address, server.address)
        stage.join(sender)
        window = stage.window
        window.resize(*size)
        sender.publisher.send(Telemetry(session=sender.session.session, t=0, text=["A long story. " * 50]))
        stage.receive(sender, 5, int(Status.LATE | Status.DEGRADED | Status.NOT_CONVERGED))
        stage.turn()
        assert (window.width(), window.height()) == size
        for part in (window.bar, window.status, window.figure_card, window.plots):
            assert part.mapTo(window, part.rect().bottomRight()).x() <= size[0]
            assert part.mapTo(window, part.rect().bottomRight()).y() <= size[1]
        buttons = [*window.bar.methods.values(), *window.bar.durations.values(), window.bar.dark]
        for button in buttons:
            assert button.mapTo(window, button.rect().bottomRight()).x() <= size[0]
            assert button.width() >= button.sizeHint().width()
        assert not window.plots.horizontalScrollBar().isVisible()
        assert (
            window.theme.scale == pytest.approx(min(size[0] / 1600, size[1] / 900), abs=0.13)
            or size[0] <= 1280
        )
        window.resize(800, 600)
        stage.turn()
        assert (window.width(), window.height()) == (800, 600)


def test_a_paused_simulation_reads_paused(
    open_stage: Callable[..., Any], sender: Any, session_of: SessionOf
) -> None:
    """Protects calm: what holds by command is neither late nor stale, the picture stays, and can go on."""
    asked: list[str] = []

    def handle(command: Any) -> tuple[bool, str]:
        asked.append(command.name)
        return True, "Done."

    commands = ["pause", "resume", "restart", "status", "stop"]
    with ControlServer("tcp://127.0.0.1:0", handle, commands) as server:
        sender.announce(session_of(meta={"commands": commands}))
        stage = open_stage(sender.address, server.address)
        stage.join(sender)
        window, bar = stage.window, stage.window.bar
        assert not bar.method_group.isVisible()
        assert bar.simulation_group.isVisible()
        stage.receive(sender, 20)
        stage.turn()
        bar.hold.click()
        stage.until(lambda: asked == ["pause"])
        session = sender.session.session
        sender.publisher.send(Telemetry(session=session, t=0, gauges={"paused": 1.0}, text=["Paused."]))
        stage.until(lambda: "paused" in window.status.connection.text())
        before = window.curves.panels[0].curves[0].getData()[1].copy()
        stage.receive(sender, 8, int(Status.STALE))
        stage.turn(12)
        assert window.status.connection.text() == "paused by command"
        assert window.status._connection_shown.mood not in ("bad", "warning")
        assert window.status.chips["status"].value.text() == "paused"
        assert not window.status.chips["status"].value.styleSheet()
        assert not window.figure_card.figure.dimmed
        np.testing.assert_array_equal(window.curves.panels[0].curves[0].getData()[1], before)
        assert bar.hold.text() == "Resume"
        bar.hold.click()
        stage.until(lambda: asked == ["pause", "resume"])
        sender.publisher.send(Telemetry(session=session, t=0, gauges={"paused": 0.0}))
        stage.until(lambda: bar.hold.text() == "Pause")
        stage.receive(sender, 5)
        stage.turn()
        assert window.status.connection.text() == "receiving"
        bar.restart.click()
        stage.until(lambda: asked[-1] == "restart")


def test_a_pause_of_another_session_is_not_believed(stage: Any, sender: Any) -> None:
    """Protects the truth: only who sends the frames can say that they hold."""
    sender.publisher.send(Telemetry(session="0" * 16, t=0, gauges={"paused": 1.0}))
    stage.receive(sender, 10, int(Status.STALE))
    stage.turn()
    assert stage.window.status.connection.text() == "receiving"
    assert stage.window.status.chips["status"].value.text() == "stale"


@pytest.mark.parametrize(
    ("meta", "methods", "simulation"),
    [
        ({}, True, False),
        ({"commands": []}, False, False),
        ({"commands": "set_method"}, True, False),
        ({"commands": ["pause", "resume"]}, False, True),
        ({"commands": ["set_method", 7, ["pause"]]}, True, False),
    ],
)
def test_buttons_are_those_of_the_other_side(
    open_stage: Callable[..., Any],
    sender: Any,
    session_of: SessionOf,
    meta: dict[str, Any],
    methods: bool,
    simulation: bool,
) -> None:
    """Protects from buttons without an effect: a sender that names its commands gets the buttons of those."""
    with ControlServer("tcp://127.0.0.1:0", lambda command: (True, ""), COMMANDS) as server:
        sender.announce(session_of(meta={"model": "leg", **meta}))
        stage = open_stage(sender.address, server.address)
        stage.join(sender)
        stage.turn()
        assert stage.window.bar.method_group.isVisible() == methods
        assert stage.window.bar.simulation_group.isVisible() == simulation


def test_handles_grow_with_the_text(stage: Any, sender: Any) -> None:
    """Protects the hand on large screens: what it drags is as large as the text beside it."""
    from PySide6.QtWidgets import QStyle, QStyleOptionSlider

    def sizes(width: int, height: int) -> np.ndarray:
        stage.window.resize(width, height)
        stage.turn()
        slider, option = stage.window.time_bar.slider, QStyleOptionSlider()
        slider.initStyleOption(option)
        control, part = QStyle.ComplexControl.CC_Slider, QStyle.SubControl.SC_SliderHandle
        handle = slider.style().subControlRect(control, option, part, slider)
        assert slider.rect().contains(handle)
        scroll = stage.window.plots.verticalScrollBar().sizeHint().width()
        return np.array([handle.width(), handle.height(), scroll])

    stage.receive(sender, 5)
    small, large = sizes(1280, 800), sizes(3840, 2160)
    assert stage.window.theme.scale > 2.0
    np.testing.assert_allclose(large / small, stage.window.theme.scale, rtol=0.15)


def test_margins_grow_with_the_text(stage: Any, sender: Any) -> None:
    """Protects cards on large screens: their texts keep off the edge, and buttons off each other, as on small
    ones, and come back to where they were.
    """
    from PySide6.QtCore import QPoint

    def places(width: int, height: int) -> np.ndarray:
        stage.window.resize(width, height)
        stage.turn(12)
        window, panel = stage.window, stage.window.curves.panels[0]
        name = window.bar.name.mapTo(window, QPoint(0, 0))
        header = panel.header.mapTo(panel, QPoint(0, 0))
        first, second = list(window.bar.durations.values())[:2]
        apart = second.mapTo(window, QPoint(0, 0)).x() - first.mapTo(window, QPoint(0, 0)).x() - first.width()
        border = 1  # of a card, a line at every scale
        return np.array([name.x(), header.x() - border, header.y() - border, apart])

    stage.receive(sender, 5)
    small, large = places(1280, 800), places(3840, 2160)
    assert stage.window.theme.scale > 2.0
    np.testing.assert_allclose(large, small * stage.window.theme.scale, atol=1.0)
    np.testing.assert_array_equal(places(1280, 800), small)


@pytest.mark.parametrize("delay_ms", [3.0, 140.0, 2998.4, 54_321.0])
def test_a_latency_is_not_cut(stage: Any, sender: Any, delay_ms: float) -> None:
    """Protects the figures of a run that falls behind: its latency fits, with its unit."""
    from rtsim.monitor.meter import Latency

    stage.receive(sender, 5)
    feed = stage.window.feed
    feed.meter.latency_whole = lambda: Latency(0.5 * delay_ms, delay_ms)
    for width, height in ((800, 600), (3840, 2160)):
        stage.window.resize(width, height)
        stage.turn(12)
        stage.window.status.show_state(feed, "minimised", False)
        value = stage.window.status.chips["whole"].value
        assert value.text().endswith(" s" if delay_ms > 10_000.0 else " ms")
        assert not value.cut(), (width, value.text())


def test_marks_of_events_grow_with_the_text() -> None:
    """Protects foot strikes on large screens from lines that nobody sees."""
    from dataclasses import replace

    from rtsim.files.gait.events import STRIKE
    from rtsim.monitor.plots.event_marks import EventMarks
    from rtsim.monitor.theme import LIGHT

    marks = EventMarks()
    assert marks._pen(STRIKE, "right").width() == 1
    marks.set_theme(replace(LIGHT, scale=3.0))
    assert marks._pen(STRIKE, "right").width() == 3


def test_columns_of_a_table_keep_apart_on_large_screens(stage: Any) -> None:
    """Protects times of a device from running into each other: their columns keep apart as the text grows."""
    from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

    from rtsim.monitor.flow import scale_layouts

    table = QWidget()
    grid = QGridLayout(table)
    grid.setHorizontalSpacing(10)
    grid.setVerticalSpacing(2)
    grid.addWidget(QLabel("38877", table), 0, 0)
    for scale, across, down in ((1.0, 10, 2), (3.0, 30, 6), (1.0, 10, 2)):
        scale_layouts(table, scale)
        assert (grid.horizontalSpacing(), grid.verticalSpacing()) == (across, down)
