"""Panels that only some streams fill: moment arms, forces of a simulation."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from streams.messages import Curves, FieldSpec, Session

SessionOf = Callable[..., Session]
CURVES = Curves("", "angle", 0, 0.17)


def test_moment_arms_are_shown_on_demand(stage: Any, sender: Any, session_of: SessionOf) -> None:
    """Protects a calm window: muscles in a column of their own when asked for, those that act alone."""
    assert not stage.window.bar.arms.isVisible()
    muscles = FieldSpec(name="moment_arms", shape=(3, 2), unit="m", labels=("vasti", "soleus", "psoas"))
    angles = FieldSpec(name="joint_angles", shape=(2,), unit="rad", labels=("hip_flexion", "knee_flexion"))
    sender.announce(session_of((angles, muscles)))
    arms = np.array([[0.0, -0.042], [0.0, 1e-9], [0.03, np.nan]])
    sender.send(20, joint_angles=np.zeros(2), moment_arms=arms)
    stage.until(lambda: len(stage.window.feed.history) == 20, sender.publisher.service)
    hip, knee = stage.window.curves.panels[-2:]
    assert stage.window.bar.arms.isVisible()
    assert not hip.isVisible()
    stage.window.bar.arms.click()
    assert hip.isVisible()
    assert [[panel.panel.names[i] for i in panel.acting] for panel in (hip, knee)] == [["psoas"], ["vasti"]]
    np.testing.assert_allclose(knee.curves[0].getData()[1], -42.0)
    assert "vasti" in knee.header.text()
    assert "soleus" not in knee.header.text()
    stage.window.bar.arms.click()
    assert not hip.isVisible()


def test_forces_of_a_simulation_are_drawn(stage: Any, sender: Any, session_of: SessionOf) -> None:
    """Protects the picture of a simulated joint: ligaments and contacts, and many curves told apart."""
    from PySide6.QtGui import QColor

    names = tuple(f"bundle_{k}" for k in range(8))
    fields = (
        FieldSpec(name="ligament_forces", shape=(8,), unit="N", labels=names),
        FieldSpec(name="ligament_ends", shape=(8, 2, 3), unit="m", labels=names),
        FieldSpec(name="contact_places", shape=(1, 3), unit="m", labels=("medial",)),
        FieldSpec(name="contact_normal_forces", shape=(1,), unit="N", labels=("medial",)),
    )
    sender.announce(session_of(fields))
    stage.join(sender)
    ends = np.zeros((8, 2, 3))
    ends[:, 0, 0], ends[:, 0, 2], ends[:, 1, 1] = 0.3, np.linspace(-0.2, 0.2, 8), 0.4
    tensions = np.array([10.0, 0.0, *range(1, 7)])
    data = {
        "ligament_forces": tensions,
        "ligament_ends": ends,
        "contact_places": np.array([[0.0, 0.2, 0.0]]),
        "contact_normal_forces": np.array([50.0]),
    }
    stage.receive(sender, 5, **data)
    stage.turn()
    panel = next(panel for panel in stage.window.curves.panels if panel.panel.title == "Ligament forces")
    assert panel.acting == [k for k in range(8) if tensions[k]]
    assert "bundle 0" in panel.header.text()
    assert "bundle 1" not in panel.header.text()
    theme = stage.window.theme
    pixels = stage.picture()[..., :3].reshape(-1, 3)
    for colour in (theme.model, theme.residual):
        wanted = QColor(colour).getRgb()[:3]
        assert (pixels == wanted).all(axis=1).sum() > 20
    data["contact_places"] = np.full((1, 3), np.nan)  # they part
    stage.receive(sender, 1, **data)
    stage.turn()
    parted = stage.picture()[..., :3].reshape(-1, 3)
    red = QColor(theme.residual).getRgb()[:3]
    assert (parted == red).all(axis=1).sum() < (pixels == red).all(axis=1).sum()


def test_a_crowd_has_values_where_there_is_room(stage: Any, sender: Any, session_of: SessionOf) -> None:
    """Protects the legend of ligaments: names with their newest values, names alone where it is narrow."""
    from rtsim.monitor.plots.curves import written

    names = tuple(f"bundle {k}" for k in range(8))
    curves = Curves("Ligaments", "tension", 1, 20.0)
    sender.announce(session_of((FieldSpec("ligament_forces", (8,), "N", names, curves=curves),)))
    stage.join(sender)
    tensions = np.array([10.0, 0.0, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5])
    for scale in (1.0, 2.0):
        stage.receive(sender, 5, ligament_forces=scale * tensions)
        stage.turn()
    (panel,) = stage.window.curves.panels
    header, told = panel.header, [k for k in range(8) if tensions[k]]
    header.set_lines_most(1)
    header.resize(5000, header.height())
    whole = " ".join(["Ligaments", *(f"bundle {k} {written(2.0 * tensions[k])}" for k in told)])
    assert header.text() == whole
    width = 5000
    while header.text() == whole and width > 0:
        width -= 20
        header.resize(width, header.height())
    assert header.text() == " ".join(["Ligaments", *(f"bundle {k}" for k in told)])


def test_deviations_are_bands_about_their_curves(stage: Any, sender: Any, session_of: SessionOf) -> None:
    """Protects what is uncertain from looking exact: one deviation to either side, none where unknown."""
    labels = ("knee_flexion", "knee_adduction")
    angles = FieldSpec(name="joint_angles", shape=(2,), unit="rad", labels=labels, curves=CURVES)
    spread = FieldSpec(
        name="joint_angles_deviation",
        shape=(2,),
        unit="rad",
        labels=labels,
        of="joint_angles",
        role="deviation",
    )
    sender.announce(session_of((angles, spread)))
    stage.join(sender)
    values = {"joint_angles": np.radians([30.0, 10.0])}
    for flexion in (2.0, np.nan, 6.0):
        stage.receive(sender, 10, joint_angles_deviation=np.radians([flexion, 4.0]), **values)
    stage.turn()
    (panel,) = stage.window.curves.panels
    edges = [{round(place.y(), 6) for polygon in band.polygons for place in polygon} for band in panel.bands]
    assert edges == [{28.0, 32.0, 24.0, 36.0}, {6.0, 14.0}]
    assert [len(band.polygons) for band in panel.bands] == [2, 1]
    assert "30.0" in panel.header.text()


def test_bands_of_a_crowd_have_the_colours_of_its_curves(
    stage: Any, sender: Any, session_of: SessionOf
) -> None:
    """Protects the ligaments of both legs: bands that nobody coloured were black, and hid their curves."""
    from PySide6.QtGui import QColor

    from rtsim.monitor.figures.outline import ALPHA

    labels = tuple(f"bundle {k}" for k in range(8))
    lengthening = FieldSpec(
        name="ligament_lengthening",
        shape=(8,),
        unit="1",
        labels=labels,
        curves=Curves("Ligaments", "lengthening", 1, 0.02),
    )
    spread = FieldSpec(
        name="ligament_lengthening_deviation",
        shape=(8,),
        unit="1",
        labels=labels,
        of="ligament_lengthening",
        role="deviation",
    )
    sender.announce(session_of((lengthening, spread)))
    stage.join(sender)
    length = np.array([0.05, 0.0, 0.02, -0.01, 0.0, 0.03, 0.04, 0.01])
    stage.receive(sender, 20, ligament_lengthening=length, ligament_lengthening_deviation=np.full(8, 0.01))
    stage.turn()
    (panel,) = stage.window.curves.panels
    assert panel.acting == [k for k in range(8) if length[k]]
    drawn = [band for band in panel.bands if band.isVisible()]
    assert drawn == [panel.bands[k] for k in panel.acting[:3]]  # more run into each other
    for _ in range(2):
        colours = [(band.colour.name(), band.colour.alpha()) for band in drawn]
        assert colours == [(QColor(stage.window.theme.curve(k)).name(), ALPHA) for k in range(3)]
        stage.window.bar.dark.click()


def test_curves_of_the_two_sides_have_the_colours_of_the_legs(
    stage: Any, sender: Any, session_of: SessionOf
) -> None:
    """Protects the convention of all figures: right blue and solid, left red and dashed."""
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QColor

    loads = Curves("Feet", "vertical force", 1, 100.0)
    fields = (
        FieldSpec(name="joint_angles", shape=(2,), unit="rad", labels=("knee_flexion_r", "knee_flexion_l")),
        FieldSpec(name="foot_loads", shape=(2,), unit="N", labels=("left", "right"), curves=loads),
        FieldSpec(name="marker_rms", shape=(1,), unit="m", curves=Curves("Markers", "residual", 1, 1.0)),
    )
    sender.announce(session_of(fields))
    stage.join(sender)
    panels = {panel.panel.title: panel for panel in stage.window.curves.panels}
    for _ in range(2):
        theme = stage.window.theme
        found = [(curve.opts["pen"].color(), curve.opts["pen"].style()) for curve in panels["Feet"].curves]
        assert found == [
            (QColor(theme.left), Qt.PenStyle.DashLine), (QColor(theme.right), Qt.PenStyle.SolidLine),
        ]  # fmt: skip
        (other,) = panels["Markers"].curves
        assert other.opts["pen"].color() == QColor(theme.curve(0))
        stage.window.bar.dark.click()


def test_a_panel_is_fitted_once_a_draw(
    stage: Any, sender: Any, session_of: SessionOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the processor: the range of an ordinate is looked for once in each picture of a panel."""
    from rtsim.monitor.plots import curves

    sender.announce(session_of())
    stage.join(sender)
    stage.receive(sender, 5)
    stage.turn()
    seen, held_range = [], curves.held_range
    monkeypatch.setattr(curves, "held_range", lambda *given: seen.append(given) or held_range(*given))
    stage.window.redraw()
    assert len(seen) == len(stage.window.curves.panels) > 1
