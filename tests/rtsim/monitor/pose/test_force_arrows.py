"""Arrows of external forces in the stick figure, live and saved."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("PySide6")

from PySide6.QtGui import QColor, QImage

from rtsim.monitor.layout import layout_of
from rtsim.monitor.opening import make_application
from rtsim.monitor.pose.figure import StickFigureView
from rtsim.monitor.pose.force_arrows import FOOT, M_PER_N, PLATE, arrow_ends, arrow_heads, force_points
from rtsim.monitor.pose.legend import signs
from rtsim.monitor.theme import COLOURS, LIGHT
from streams.messages import FieldSpec, Session

NAN = math.nan


def frame() -> dict[str, np.ndarray]:
    """Two plates, one at rest, and the contact of a foot that is not known."""
    return {
        "joint_centres": np.array([[0.2, 0.1, 0.1], [0.2, 1.0, 0.1]]),
        "plate_centres": np.array([[0.2, 0.0, 0.1], [0.5, 0.0, 0.1]]),
        "plate_forces": np.array([[0.0, 700.0, 0.0], [0.0, 2.0, 0.0]]),
        "foot_contact_centres": np.array([[0.3, 0.0, 0.1]]),
        "foot_contact_forces": np.full((1, 3), NAN),
    }


def session(data: dict[str, np.ndarray]) -> Session:
    """A stream of such frames."""
    specs = tuple(
        FieldSpec(name, array.shape, "N" if "forces" in name else "m", tuple("ab"[: len(array)]))
        for name, array in data.items()
    )
    return Session(session="s", stream="result", t_start=0, rate=100.0, fields=specs)


def test_arrows_go_from_the_centre_along_the_force() -> None:
    """Protects the length and direction of arrows; plates at rest and unknown forces have none."""
    data = frame()
    begin, end = arrow_ends(data, PLATE)
    np.testing.assert_allclose(begin, [[0.2, 0.0, 0.1], [NAN] * 3])
    np.testing.assert_allclose(end, [[0.2, 700.0 * M_PER_N, 0.1], [NAN] * 3])
    assert np.isnan(arrow_ends(data, FOOT)).all()
    np.testing.assert_allclose(force_points(data), [[0.2, 0.0, 0.1], [0.2, 0.7, 0.1]])
    (head,) = arrow_heads(np.zeros((2, 3)), np.array([[0.0, 40.0, 0.0], [NAN] * 3]), 8.0)
    np.testing.assert_allclose(head.mean(axis=0), [0.0, 40.0 - 4.0 / 3.0], atol=1e-12)


@pytest.mark.parametrize("lost", ["plate_centres", "plate_forces"])
def test_half_a_force_is_none(lost: str) -> None:
    """Protects streams of others: without its point, or its force, or of other shapes nothing is drawn."""
    whole = frame()
    data = {name: array for name, array in whole.items() if name != lost}
    assert not arrow_ends(data, PLATE)[0].size
    assert PLATE not in signs(data)
    assert signs(whole) == (PLATE, FOOT)
    assert not arrow_ends({**whole, lost: np.zeros((3, 3))}, PLATE)[0].size


def test_the_window_shows_the_force_of_a_plate() -> None:
    """Protects the live figure: the arrow of a loaded plate stands in it, and none of an unloaded one."""
    application = make_application()
    data, view = frame(), StickFigureView()
    view.resize(420, 480)
    view.set_layout(layout_of(session(data)))

    def n_coloured() -> int:
        view.set_frame(data)
        application.processEvents()
        image = view.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
        colour = QColor(getattr(LIGHT, COLOURS[PLATE])).rgb()
        above_the_key = range(image.height() - 60)
        return sum(image.pixel(x, y) == colour for x in range(image.width()) for y in above_the_key)

    assert n_coloured() > 200
    data["plate_forces"][0, 1] = 2.0
    assert n_coloured() == 0
