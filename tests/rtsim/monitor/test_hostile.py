"""A window on publishers that send what no estimator would: it survives, and says what it leaves out."""

import math
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streams.codec import FieldLayout
from streams.messages import FieldSpec, Result, Session, Status, Telemetry

SessionOf = Callable[..., Session]

LARGEST_INT = 2**63 - 1
ODD_NAMES = (
    "a\x00b",
    "two\nlines",
    "\u202etfel",
    "\x1b[31mred",
    "e" + "\u0301" * 60,
    "x" * 128,
    "",
    "名前",
    "🦵",
)


def field(name: str, *shape: int, unit: str = "m", labels: tuple[str, ...] = ()) -> FieldSpec:
    return FieldSpec(name=name, shape=shape, unit=unit, labels=labels)


def filled(session: Session, value: float) -> dict[str, np.ndarray]:
    """Arrays of a session, with one value everywhere."""
    return {spec.name: np.full(tuple(spec.shape), value) for spec in session.fields}


def receive(stage: Any, sender: Any, value: float = 0.1, n_frame: int = 10, status: int = 0) -> None:
    """Send frames of the sender's session with one value everywhere, and draw them."""
    stage.receive(sender, n_frame, status, **filled(sender.session, value))
    stage.turn()
    stage.window.redraw()
    stage.picture()


def notes(stage: Any) -> str:
    stage.window.redraw()
    return str(stage.window.status.note.text())


def check_recovers(stage: Any, sender: Any, session_of: SessionOf) -> None:
    """A good session after the bad one is shown as ever."""
    sender.announce(session_of())
    stage.join(sender)
    stage.receive(sender, 20)
    stage.turn()
    assert "receiving" in stage.window.status.connection.text()
    assert len(stage.window.curves.panels) == 6
    assert len(stage.window.curves.panels[0].curves[0].getData()[1]) == 20


@pytest.mark.parametrize("shape", [(20_000,), (129_000,)])
@pytest.mark.parametrize("name", ["joint_angles", "ligament_forces"])
def test_wide_fields_are_cut_with_a_sentence(
    stage: Any, sender: Any, session_of: SessionOf, name: str, shape: tuple[int, ...]
) -> None:
    """Protects the window from more curves than anybody can see: some are drawn, and the rest is counted."""
    sender.announce(session_of((field(name, *shape, unit="N"),)))
    stage.join(sender)
    receive(stage, sender)
    assert f"{name.replace('_', ' ')}: 100 of {shape[0]} shown" in notes(stage)
    assert stage.window.status.note.isVisible()
    assert sum(len(panel.curves) for panel in stage.window.curves.panels) == 100
    check_recovers(stage, sender, session_of)
    assert not stage.window.status.note.isVisible()


def test_many_joints_muscles_and_points_are_cut(stage: Any, sender: Any, session_of: SessionOf) -> None:
    """Protects the window from thousands of plots: angles of as many joints, muscles, points and lines."""
    joints = tuple(f"joint{i}_angle" for i in range(300))
    fields = (
        field("joint_angles", 300, unit="rad", labels=joints),
        field("moment_arms", 150, 300),
        field("joint_centres", 20_000, 3),
        field("contact_points", 5000, 3),
    )
    sender.announce(session_of(fields, meta={}))
    stage.join(sender)
    receive(stage, sender)
    said = notes(stage)
    for part in ("joint angles: 16 of 300", "moment arms: 100 of 150", "joint centres: 2000 of 20000"):
        assert f"{part} shown" in said
    stage.window.bar.arms.click()
    receive(stage, sender)
    check_recovers(stage, sender, session_of)


def test_every_field_with_odd_shapes_and_units(stage: Any, sender: Any, session_of: SessionOf) -> None:
    """Protects against known names of unknown shapes: 64 fields, empty, flat, deep, with unknown units."""
    from rtsim.monitor.layout import FIGURE_FIELDS

    names = ["joint_angles", "marker_rms", *FIGURE_FIELDS, "moment_arms", "contact_points"]
    names += [f"field {i}" for i in range(64 - len(names))]
    for shapes in ([(), (0,), (0, 3), (2, 2), (1, 1, 1, 1)], [(3,)], [(2, 3)], [(0,)]):
        fields = [field(name, *shapes[i % len(shapes)], unit="¿?") for i, name in enumerate(names)]
        sender.announce(session_of(fields))
        stage.until(
            lambda: stage.window.feed.layout.session_id == sender.session.session, sender.publisher.service
        )
        receive(stage, sender)
    sender.announce(session_of((field("joint_angles", 2, 2), field("marker_rms", 2, unit="parsec"))))
    stage.join(sender)
    receive(stage, sender)
    assert "joint angles of shape [2, 2]" not in notes(stage)
    assert stage.window.curves.panels[0].panel.axis_title == "marker rms (parsec)"


def test_labels_are_shown_as_printable_text(stage: Any, sender: Any, session_of: SessionOf) -> None:
    """Protects the text on the screen: 4096 odd names, without control characters or marks that pile up."""
    labels = tuple(ODD_NAMES[i % len(ODD_NAMES)] + str(i) * (i % len(ODD_NAMES) != 5) for i in range(4096))
    fields = (
        field("ligament_forces", 4096, unit="N", labels=labels),
        field("markers_model", 4096, 3, labels=labels),
    )
    sender.announce(session_of(fields, meta={"model": "\x07\x1b]0;title", "source": "a\u202eb\n" * 50}))
    stage.join(sender)
    receive(stage, sender)
    window = stage.window
    texts = [window.curves.panels[0].header.text(), window.status.details.text(), notes(stage)]
    figure = window.figure_card.figure
    texts += [
        figure.marker_text(x, y) for x in range(0, figure.width(), 8) for y in range(0, figure.height(), 8)
    ]
    assert any("名前" in name for name in window.curves.panels[0].panel.names)
    for text in texts:
        assert all(character.isprintable() for character in text)
        assert "\u0301\u0301\u0301" not in text
    check_recovers(stage, sender, session_of)


def test_markup_of_others_loads_nothing(
    open_stage: Callable[..., Any],
    sender: Any,
    session_of: SessionOf,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Protects the user's files: an image tag in labels, units, words or tool tips is text, and not shown."""
    from PySide6.QtGui import QColor, QImage
    from PySide6.QtWidgets import QWidget

    picture = QImage(64, 64, QImage.Format.Format_RGB32)
    picture.fill(QColor("#ff00fe"))
    picture.save(str(tmp_path / "r"), "PNG")
    monkeypatch.chdir(tmp_path)
    tag = "<img src=r>"  # short enough for a unit
    fields = (
        field("joint_angles", 2, unit=tag, labels=(f"{tag}_a", f"{tag}_b")),
        field("marker_rms", 1, unit=tag),
        field("ligament_forces", 8, unit=tag, labels=(tag,) * 8),
        field("contact_points", 2, 3, unit=tag, labels=(tag, tag)),
        field("markers_model", 2, 3, labels=(tag, tag)),
    )
    sender.announce(session_of(fields, meta={"method": tag, "model": tag, "subject": tag, tag: tag}))
    stage = open_stage(sender.address)
    stage.join(sender)
    text = [tag] * 3
    counters = {tag: 3}
    sender.publisher.send(Telemetry(session=sender.session.session, t=0, text=text, counters=counters))
    receive(stage, sender)
    image = stage.window.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(image.constBits(), dtype=np.uint32) & 0xFFFFFF
    assert not (pixels == 0xFF00FE).any()
    tips = [widget.toolTip() for widget in stage.window.findChildren(QWidget)]
    assert any("&lt;img" in words for words in tips)
    assert not any("<img" in words for words in tips)


@pytest.mark.parametrize("status", [0, 2**31 - 1, int(Status.INVALID_INPUT)])
def test_values_that_are_no_measurements(stage: Any, sender: Any, session_of: SessionOf, status: int) -> None:
    """Protects axes, figure and headers: NaN, infinite and absurd values everywhere are gaps."""
    said = False
    for value in (math.nan, math.inf, -math.inf, 1e-320, 1e12, 1e308, -1e308):  # said once, it stays said
        sender.announce(session_of())
        stage.join(sender)
        receive(stage, sender, value, status=status)
        for panel in stage.window.curves.panels:
            for curve in panel.curves:
                shown = curve.getData()[1][-10:]  # of this value, no session before it
                assert np.isnan(shown).all() or (np.abs(shown) < 1e-300).all()
        said = said or (abs(value) > 1e10 and math.isfinite(value) and status == 0)
        assert ("values beyond" in notes(stage)) == said
        stage.receive(sender, 5)
        stage.turn()
        assert np.isfinite(stage.window.curves.panels[0].curves[0].getData()[1][-5:]).all()


@pytest.mark.parametrize("rate", [1e-300, 5e-324, 1e308, 1e9, 0.0])
def test_absurd_rates_are_not_believed(stage: Any, sender: Any, session_of: SessionOf, rate: float) -> None:
    """Protects buffers and the time axis from a nominal rate that cannot be."""
    sender.announce(session_of(rate=rate))
    stage.join(sender)
    stage.receive(sender, 30)
    stage.turn()
    time_shown = stage.window.curves.panels[0].curves[0].getData()[0]
    assert len(time_shown) == 30
    assert -1.0 < time_shown[0] < time_shown[-1] == 0.0
    assert ("is implausible" in notes(stage)) == (rate > 0.0)
    assert "irregular" in stage.window.status.chips["rate"].value.text()


def test_absurd_stamps_and_counts(stage: Any, sender: Any) -> None:
    """Protects arithmetic and layout from stamps and counts at the end of their range."""
    width = stage.window.minimumSizeHint().width()
    layout = FieldLayout(sender.session)
    data = layout.pack(filled(sender.session, 0.1))
    for k, stamp in enumerate((0, LARGEST_INT, 0, LARGEST_INT, 1)):
        frame = Result(
            session=sender.session.session, seq=k, time=1e308,
            t_capture=stamp, t_solved=stamp, t_published=stamp,
            t_received=LARGEST_INT - stamp, status=0, iterations=LARGEST_INT, residual=math.nan, data=data,
        )  # fmt: skip
        sender.publisher.send(frame)
    stage.until(lambda: stage.window.feed.meter.n_frame == 5)
    stage.window.redraw()
    stage.picture()
    assert stage.window.status.chips["iterations"].value.text() == "9.2e+18"
    assert stage.window.minimumSizeHint().width() <= max(width, 800)


@pytest.mark.parametrize(
    "stick",
    [
        "hip",
        7,
        [7],
        [["hip"]],
        [["hip", 1]],
        [[["hip"], "knee"]],
        [{"a": "b"}],
        {"hip": "knee"},
        [["no", "one"]],
        [],
    ],
)
def test_stick_figure_of_nonsense(stage: Any, sender: Any, session_of: SessionOf, stick: Any) -> None:
    """Protects the figure from pairs that are no pairs."""
    sender.announce(session_of(meta={"stick": stick, "commands": stick, "method": 3, "up": []}))
    stage.join(sender)
    receive(stage, sender)
    assert "receiving" in stage.window.status.connection.text()


def test_endless_stick_figure_takes_no_time(stage: Any, sender: Any, session_of: SessionOf) -> None:
    """Protects the window from a search through thousands of names for each of thousands of pairs."""
    names = tuple(f"n{i}" for i in range(4096))
    pairs = [["n4095", "n4094"]] * 60_000
    sender.announce(session_of((field("joint_centres", 4096, 3, labels=names),), meta={"stick": pairs}))
    stage.join(sender)
    receive(stage, sender)
    assert len(stage.window.feed.layout.stick) <= 2000


def test_sessions_that_change_all_the_time(stage: Any, sender: Any, session_of: SessionOf) -> None:
    """Protects the window from building plots without end: few sessions are drawn, and the last one is."""
    built: list[str] = []
    build = stage.window.curves.set_layout

    def counted(layout: Any) -> None:
        built.append(layout.session_id)
        build(layout)

    stage.window.curves.set_layout = counted
    for k in range(200):
        sender.announce(session_of((field("ligament_forces", 1 + k, unit="N"),)))
        sender.send(1, **filled(sender.session, 1.0))
    stage.until(lambda: bool(built) and built[-1] == sender.session.session, sender.publisher.service)
    assert len(built) < 20
    stage.until(lambda: "ended before anything could be drawn" in notes(stage))
    check_recovers(stage, sender, session_of)


def test_session_id_used_again_with_another_shape(stage: Any, sender: Any, session_of: SessionOf) -> None:
    """Protects against drawing frames in the layout of an earlier session of the same id."""
    first = session_of((field("ligament_forces", 300, unit="N"),))
    other = session_of((field("marker_rms", 1),))
    again = Session(
        session=first.session,
        stream="result",
        t_start=0,
        rate=100.0,
        fields=(field("joint_displacements", 2),),
    )
    ligaments = ["Ligament forces"]
    for session, titles in ((first, ligaments), (other, ["Marker rms"]), (again, ["Joint displacements"])):
        sender.announce(session)
        stage.until(
            lambda titles=titles: [p.panel.title for p in stage.window.curves.panels] == titles,
            sender.publisher.service,
        )
        receive(stage, sender)
    assert stage.window.feed.history.latest(1).values.shape == (2, 1)


def test_flood_of_telemetry_is_counted(stage: Any, sender: Any) -> None:
    """Protects the line of words: a few sentences a second are shown, shortened, and the rest is counted."""
    text = [f"{k} <b>{'long ' * 1000}\x07" for k in range(60)]
    for _ in range(100):
        sender.publisher.send(
            Telemetry(session=sender.session.session, t=0, text=text, gauges={"paused": math.nan})
        )
    stage.until(
        lambda: any("left out within one second" in words for words in stage.window.feed.sentences.kept)
    )
    stage.receive(sender, 10)
    stage.turn()
    assert len(stage.window.feed.sentences.kept) <= 20
    assert all(len(words) <= 400 and words.isprintable() for words in stage.window.feed.sentences.kept)
    assert "receiving" in stage.window.status.connection.text()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the memory of a process from /proc")
def test_memory_is_bounded_under_wide_frames(sender: Any, session_of: SessionOf, tmp_path: Path) -> None:
    """Protects the machine: the largest frames that there can be do not fill its memory."""
    pytest.importorskip("pyqtgraph")
    sender.announce(
        session_of((field("ligament_forces", 100_000, unit="N"), field("joint_centres", 9000, 3)))
    )
    duration_s, n_sent = 4, 0
    while n_sent <= 400:  # in less time on a fast machine, in more on a busy one
        assert duration_s < 200
        n_sent, peak_MB = wide_frames_shown(sender, tmp_path / "x.png", duration_s)
        duration_s *= 2
    assert 50.0 < peak_MB < 700.0


def wide_frames_shown(sender: Any, picture: Path, duration_s: int) -> tuple[int, float]:
    """Have a window show frames for so long [s]; their number, and the most memory that it had [MB]."""
    arguments = ["monitor", sender.address, "--screenshot", str(picture), "--duration", str(duration_s)]
    window = subprocess.Popen([sys.executable, "-m", "rtsim.cli.main", *arguments])
    arrays = filled(sender.session, 1.0)
    n_sent, peak_MB = 0, 0.0
    due = time.monotonic() + duration_s + 120.0
    while window.poll() is None:
        assert time.monotonic() < due, "the window has not closed"
        sender.publisher.service()
        sender.send(4, **arrays)
        n_sent += 4 * bool(sender.publisher.n_subscriber)
        status = Path(f"/proc/{window.pid}/status")
        if status.exists():
            lines = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
            peak_MB = max([peak_MB, *(float(line.split()[1]) / 1024.0 for line in lines)])
        time.sleep(0.004)
    assert window.returncode == 0
    assert picture.exists()
    return n_sent, peak_MB


def test_replaced_plots_are_freed(stage: Any, sender: Any, session_of: SessionOf) -> None:
    """Protects the memory over many sessions: the plots of former ones are gone."""
    from PySide6.QtCore import QEvent

    from rtsim.monitor.plots.plots import PlotCard

    for k in range(3):
        labels = tuple(f"joint{i}_angle" for i in range(10 + k))
        sender.announce(session_of((field("joint_angles", 10 + k, unit="rad", labels=labels),)))
        stage.join(sender)
        stage.application.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        assert len(stage.window.findChildren(PlotCard)) == 10 + k + 2  # and contact points and image
