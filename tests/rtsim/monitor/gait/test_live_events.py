"""Gait events of frames as they come, and the strides between them."""

import numpy as np
import pytest
from msgspec.structs import replace

from kernels.plates.plate_limits import THRESHOLD
from rtsim.files.gait.events import OFF, PLATES, STRIKE
from rtsim.methods.gait.cycle_curves import PERCENT
from rtsim.monitor.gait.live_events import LiveGaitEvents
from rtsim.monitor.gait.strides import Strides
from rtsim.monitor.plots.history import History, Quality
from streams.messages import FieldSpec
from tests.rtsim.monitor.gait.walk import FIELDS, LOADS, SEGMENTS, STRIDE_S, arrays, frame, session


def walked(fields: tuple[FieldSpec, ...], n: int = 1000, shift: float = 5.0) -> LiveGaitEvents:
    walk, events = session(fields), LiveGaitEvents()
    events.begin(walk)
    for seq in range(n):
        found = frame(walk, seq)
        events.look(found, found.time + shift)
    return events


@pytest.mark.parametrize("fields", [FIELDS, (*FIELDS, LOADS), (LOADS,)], ids=["feet", "both", "plates"])
def test_strikes_of_both_feet_are_found_once(fields: tuple[FieldSpec, ...]) -> None:
    """Protects the marks: each strike once, at its time on the axis of the curves, whoever tells of it."""
    events = walked(fields)
    assert events.can_tell
    for k, side in enumerate(("right", "left")):
        strikes = np.array([e.time for e in events.kept if (e.side, e.kind) == (side, STRIKE)]) - 5.0
        truth = STRIDE_S * (np.arange(12) + 0.5 * k)
        truth = truth[(truth > 2.0) & (truth < 9.8)]
        late = [strikes[np.argmin(np.abs(strikes - t))] - t for t in truth]
        assert np.abs(late).max() < 0.05
        assert np.diff(strikes).min() > 0.9
    assert any(event.kind == OFF for event in events.kept)
    if LOADS in fields:
        later = [e for e in events.kept if e.time > 7.0]
        assert {e.by for e in later} == {PLATES}


@pytest.mark.parametrize(("gap_s", "n_found"), [(0.08, 1), (0.3, 0), (0.9, 0)])
def test_a_strike_that_fell_into_a_gap_is_not_dated(gap_s: float, n_found: int) -> None:
    """Protects the times of strikes: where frames are missing, nobody knows when the load came."""
    walk, events = session((LOADS,)), LiveGaitEvents()
    events.begin(walk)
    for seq in range(30):
        found = frame(walk, seq)
        found.time += gap_s if seq > 20 else 0.0
        found.data["foot_loads"][...] = 700.0 if seq > 20 else 0.0, 0.0
        events.look(found, found.time)
    assert len(events.kept) == n_found


@pytest.mark.parametrize("speed", [1.0, 2.0])
def test_events_stand_where_the_trial_was(speed: float) -> None:
    """Protects marks and strides of a trial that is played faster: events are on the axis of the curves."""
    walk, events = session((LOADS,)), LiveGaitEvents()
    events.begin(replace(walk, meta={**walk.meta, "speed": speed}))
    for seq, (time, load) in enumerate(((0.0, 0.0), (0.05, 1e3))):
        found = frame(walk, seq)
        found.time, found.data["foot_loads"][...] = time, (load, 0.0)
        events.look(found, time / speed)
    assert events.kept[0].time == pytest.approx(0.05 * THRESHOLD / 1e3 / speed)


def test_no_feet_no_events() -> None:
    """Protects other streams: a jaw, or nonsense in the place of segments, has no events."""
    for fields in (
        (FieldSpec(name="segment_positions", shape=(3, 3), unit="m", labels=("a", "b", "c")),),
        (FieldSpec(name="segment_positions", shape=(3,), unit="m", labels=SEGMENTS), FIELDS[1]),
        (FieldSpec(name="foot_loads", shape=(2, 3), unit="N", labels=("right", "left")),),
    ):  # fmt: skip
        events = LiveGaitEvents()
        events.begin(session(fields))
        assert not events.can_tell


def test_a_stream_that_begins_again_is_another_walk() -> None:
    """Protects looped recordings: no event at the seam, and those after it stand after it."""
    walk, events = session(), LiveGaitEvents()
    events.begin(walk)
    for lap in range(2):
        for seq in range(400):
            found = frame(walk, seq)
            events.look(found, 4.0 * lap + found.time)
    times = [event.time for event in events.kept]
    assert times == sorted(times)
    assert not [t for t in times if 3.98 < t < 4.1]


def test_strides_have_the_curves_between_strikes() -> None:
    """Protects mean and band: a curve that is the phase itself is a straight line over the stride."""
    walk, events, history, strides = session(), LiveGaitEvents(), History(2, 6000), Strides()
    events.begin(walk)
    for seq in range(1500):
        found = frame(walk, seq)
        history.push(found.time, 100.0 * arrays(found.time)["joint_angles"], Quality.GOOD)
        events.look(found, found.time)
        if seq % 20 == 0:
            strides.take(list(events.kept), history)
    for k, side in enumerate(("right", "left")):
        of_side = strides.of(side)
        assert of_side is not None
        assert strides.n_stride[side] >= 9
        late = of_side.mean[k][10] - 10.0  # the strike is told a little after the foot is foremost
        assert abs(late) < 4.0
        np.testing.assert_allclose(of_side.mean[k][5:90], PERCENT[5:90] + late, atol=0.5)
        assert of_side.deviation[k][5:90].max() < 1.0
        percent, values = strides.current(side, list(events.kept), history)
        np.testing.assert_allclose(values[k][1:] - percent[k][1:], late, atol=1.0)
    strides.clear(-np.inf)
    assert strides.of("right") is None
