"""The heat image: what it shows of a frame, and that bad numbers are nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from streams.messages import FieldSpec, Image, Session


def test_both_images_show_the_newest_frame(session_of: Callable[..., Session]) -> None:
    """Protects place and scale: left stands left, the largest value so far is the top of the scale."""
    from rtsim.monitor.layout import layout_of
    from rtsim.monitor.opening import make_application
    from rtsim.monitor.pose.heat import HeatImage

    make_application()
    spec = FieldSpec(
        name="foot_pressure", shape=(2, 5, 4), unit="Pa", labels=("right", "left"), image=Image("P", 9.0, 7.5)
    )
    heat = HeatImage()
    heat.set_layout(layout_of(session_of((spec,))))
    assert not heat.isHidden()
    values = np.zeros((2, 5, 4))
    values[0, 1, 2], values[1, 3, 0], values[0, 0, 0] = 2e5, 1e5, np.nan
    heat.set_frame({"foot_pressure": values})
    assert heat.largest == 200.0
    left, right = (image.image for image in heat.images)
    assert (left[0, 3], right[2, 1], right[0, 0]) == (100.0, 200.0, 0.0)
    heat.set_frame({"foot_pressure": 0.1 * values})
    assert heat.images[1].levels[1] == 200.0
    values[1] = np.nan  # a foot that is not followed is not one that presses nothing
    heat.set_frame({"foot_pressure": values})
    assert [image.isVisible() for image in heat.images] == [False, True]
    assert [letter.isVisible() for letter in heat.letters] == [False, True]
    assert heat.letters[1].toPlainText() == "R"
    assert "left" not in heat.header.text()
    assert [limit.toPlainText() for limit in heat.limits] == ["0", "200 kPa"]
    values[0] = np.nan
    heat.set_frame({"foot_pressure": values})
    assert [image.isVisible() for image in heat.images] == [False, False]
    assert heat.header.text() == "P; not known"
    values[:] = 1e5
    heat.set_frame({"foot_pressure": values})
    assert [image.isVisible() for image in heat.images] == [True, True]
    assert heat.header.text() == "P: left, right; up to 200 kPa"
    heat.set_layout(layout_of(session_of(())))
    assert heat.isHidden()


@pytest.mark.parametrize("size", [(260, 150), (260, 200), (500, 400), (1600, 900)])
def test_letters_are_not_cut(session_of: Callable[..., Session], size: tuple[int, int]) -> None:
    """Protects who tells the feet apart in a small window: the letters lie within the picture."""
    from rtsim.monitor.layout import layout_of
    from rtsim.monitor.opening import make_application
    from rtsim.monitor.pose.heat import HeatImage

    application = make_application()
    spec = FieldSpec(
        name="foot_pressure",
        shape=(2, 12, 5),
        unit="Pa",
        labels=("right", "left"),
        image=Image("P", 9.0, 7.5),
    )
    heat = HeatImage()
    heat.set_layout(layout_of(session_of((spec,))))
    heat.set_frame({"foot_pressure": np.ones((2, 12, 5))})
    heat.resize(*size)
    heat.show()
    application.processEvents()
    inside = heat.item.vb.sceneBoundingRect()
    for letter in heat.letters:
        assert inside.adjusted(-1.0, -1.0, 1.0, 1.0).contains(letter.sceneBoundingRect())
    heat.close()
