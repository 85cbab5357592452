"""A device in fault, person and trial, and what has room in small windows."""

from typing import Any

import numpy as np
import pytest

from streams.messages import Curves, FieldSpec

DEVICE = {"coordinate": "ankle", "rate_hz": 500.0, "ranges": {f"gain_{k}": [0.0, 1.0] for k in range(3)}}
FIELDS = (
    FieldSpec(name="device_arming", shape=(1,), unit="1", labels=("ankle",)),
    FieldSpec(name="device_parameters", shape=(3,), unit="1", labels=tuple(DEVICE["ranges"])),
    FieldSpec(
        name="device_torques",
        shape=(1,),
        unit="N m",
        labels=("ankle",),
        curves=Curves("Torque", "torque", 2, 1.0),
    ),
    FieldSpec(name="joint_centres", shape=(2, 3), unit="m", labels=("knee", "ankle")),
)


def data(code: float) -> dict[str, np.ndarray]:
    return {
        "device_arming": np.array([code]), "device_parameters": np.full(3, 0.5),
        "device_torques": np.zeros(1), "joint_centres": np.array([[0.0, 0.5, 0.0], [0.0, 0.1, 0.0]]),
    }  # fmt: skip


@pytest.mark.parametrize("size", [(800, 600), (1280, 800)])
def test_a_fault_is_red_wherever_the_state_is_told(
    stage: Any, sender: Any, session_of: Any, size: tuple[int, int]
) -> None:
    """Protects the wearer: no green word beside FAULT, every slider in view, the axis in whole units."""
    sender.announce(session_of(FIELDS, meta={"device": DEVICE}))
    stage.join(sender)
    window = stage.window
    window.resize(*size)
    stage.receive(sender, 5, **data(2.0))
    stage.turn(12)
    assert window.status.chips["status"].value.text() == "ok"
    stage.receive(sender, 5, **data(3.0))
    stage.turn(12)
    red = window.theme.bad
    assert window.status.connection.text() == "receiving, the device reports a fault"
    assert red in window.status._dot.styleSheet()
    assert window.status.chips["status"].value.text() == "device fault"
    assert red in window.status.chips["status"].value.styleSheet()
    assert red in window.device.state.styleSheet()
    for slider in window.device.sliders.values():
        assert not slider.visibleRegion().isEmpty()
        assert slider.visibleRegion().boundingRect().height() == slider.height()
    axis = window.curves.panels[0].item.getAxis("left")
    assert "x0.001" not in axis.labelString()


def test_person_side_and_trial_are_in_the_title(stage: Any, sender: Any, session_of: Any) -> None:
    """Protects against another person's window: name, side and trial above it and in it, as plain text."""
    from PySide6.QtCore import Qt

    name = "<b>Anna</b>"
    sender.announce(session_of(meta={"subject": name, "side": "left", "source": "walk 3.c3d"}))
    stage.join(sender)
    stage.turn()
    assert stage.window.windowTitle().startswith(f"{name} · left · walk 3.c3d")
    assert stage.window.bar.name.text() == f"{name} · left · walk 3.c3d"
    assert stage.window.bar.name.textFormat() is Qt.TextFormat.PlainText


def test_columns_are_as_many_as_have_room(stage: Any, sender: Any, session_of: Any) -> None:
    """Protects small screens: three columns of plots become two rather than being cut."""
    labels = ("hip_flexion", "knee_flexion")
    fields = tuple(
        FieldSpec(
            name=f"field_{k}", shape=(2,), unit="N", labels=labels, curves=Curves(f"P{k}", "force", k, 1.0)
        )
        for k in range(3)
    )
    sender.announce(session_of(fields))
    stage.join(sender)
    for size, n_column in (((1280, 800), 3), ((800, 600), 2)):
        stage.window.resize(*size)
        stage.turn()
        assert (
            len({panel.x() for panel in (p.parentWidget() for p in stage.window.curves.panels)}) == n_column
        )
        assert not stage.window.plots.horizontalScrollBar().isVisible()
