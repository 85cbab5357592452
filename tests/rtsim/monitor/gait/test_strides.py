"""Strides out of the history: which frames count, at which time, and of which session."""

import numpy as np
from msgspec.structs import replace

from rtsim.files.gait.events import MARKERS, STRIKE, GaitEvent
from rtsim.methods.gait.cycle_curves import PERCENT
from rtsim.monitor.gait.strides import Strides, channel_delays
from rtsim.monitor.layout import layout_of
from rtsim.monitor.plots.history import History, Quality
from streams.messages import Curves, FieldSpec
from tests.rtsim.monitor.gait import walk

DELAY_S = 0.05
STRIKES = [GaitEvent(float(time), "right", STRIKE, STRIKE, MARKERS) for time in range(1, 6)]


def phase(time: float) -> float:
    """Part of the stride at a time [%]; strikes are at whole seconds."""
    return 100.0 * (time % 1.0)


def history_until(end: float, unusable: tuple[float, float] = (0.0, 0.0)) -> History:
    """Two curves that are the phase, the second by DELAY_S later; frames of an interval are wrong."""
    history = History(2, 4000)
    for k in range(round(100 * end) + 1):
        time = 0.01 * k
        bad = unusable[0] <= time < unusable[1]
        values = np.array([phase(time + 1e-9), phase(time - DELAY_S + 1e-9)]) + (1e3 if bad else 0.0)
        history.push(time, values, Quality.UNUSABLE if bad else Quality.GOOD)
    return history


def test_unusable_frames_do_not_enter_the_mean() -> None:
    """Protects mean and band from frames that did not converge: their stride is left out."""
    strides = Strides()
    strides.take(STRIKES, history_until(5.0, unusable=(2.4, 2.5)))
    of_side = strides.of("right")
    assert of_side is not None
    assert strides.n_stride["right"] == 4
    np.testing.assert_allclose(of_side.mean[0][5:95], PERCENT[5:95], atol=0.1)
    assert of_side.deviation[0][5:95].max() < 0.1
    _, values = strides.current("right", STRIKES, history_until(5.5, unusable=(5.2, 5.3)))
    assert np.isnan(values[0]).sum() == 10


def test_late_curves_are_cut_as_late() -> None:
    """Protects moments and powers over the stride: they stand at the part of it that they belong to."""
    strides = Strides()
    strides.clear(-np.inf, np.array([0.0, DELAY_S]))
    strides.take(STRIKES, history_until(5.02))
    assert strides.waits
    assert strides.n_stride["right"] == 3  # the fourth lacks the end of the late curve
    strides.take(STRIKES, history_until(5.1))
    assert not strides.waits
    assert strides.n_stride["right"] == 4
    of_side = strides.of("right")
    assert of_side is not None
    for row in range(2):
        np.testing.assert_allclose(of_side.mean[row][2:98], PERCENT[2:98], atol=0.1)
    percent, values = strides.current("right", STRIKES, history_until(5.5))
    for row in range(2):
        inside = percent[row] >= 0.0
        np.testing.assert_allclose(values[row][inside], percent[row][inside], atol=0.1)


def test_delays_are_those_of_the_fields_that_passed_the_filter() -> None:
    """Protects the choice: what the run filters is late by the delay that its descriptor states."""
    moments = FieldSpec(
        name="joint_moments", shape=(2,), unit="N m", labels=("knee_flexion_r", "knee_flexion_l"),
        curves=Curves("", "moment", 0, 1.0), meaning="moments about the joints; filtered",
    )  # fmt: skip
    session = walk.session((*walk.FIELDS, moments))
    session = replace(session, meta={**session.meta, "rates": {"delay_s": [DELAY_S, DELAY_S, DELAY_S]}})
    layout = layout_of(session)
    delays = channel_delays(session, layout)
    of_field = {panel.field: delays[panel.first] for panel in layout.panels}
    assert of_field == {"joint_angles": 0.0, "joint_moments": DELAY_S}
    fast = replace(session, meta={**session.meta, "speed": 2.0})
    assert channel_delays(fast, layout).max() == 0.5 * DELAY_S  # of the time axis


def test_a_stride_is_of_one_session() -> None:
    """Protects the mean from the person before: no stride from before the beginning, none across it."""
    strides, history = Strides(), history_until(5.0)
    strides.take(STRIKES, history)
    strides.clear(2.5)
    assert strides.of("right") is None
    strides.take(STRIKES, history)
    assert strides.n_stride["right"] == 2
    percent, _ = strides.current("right", STRIKES[:3], history)
    assert percent.shape == (2, 0)
