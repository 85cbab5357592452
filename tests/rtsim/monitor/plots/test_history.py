"""The laws of the ring buffers behind the curves."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtsim.monitor.plots.history import History, Quality, Timeline, Window, spans, thin

values = st.floats(-1e3, 1e3) | st.just(float("nan"))
series = st.lists(values, min_size=1, max_size=200)


def window_of(row: list[float], first: int = 0) -> Window:
    """A window on one channel, with one sample per second."""
    return window_at(np.arange(float(len(row))), row, first)


def window_at(time: np.ndarray, row: list[float], first: int) -> Window:
    """A window on one channel, good throughout."""
    good = np.zeros(len(row), dtype=np.uint8)
    return Window(time=time, values=np.array([row]), quality=good, first=first, in_trial=time)


@given(st.lists(st.integers(0, 1000), max_size=60), st.integers(1, 12), st.integers(0, 15))
def test_ring_holds_the_newest_in_order(pushed: list[int], n_capacity: int, n: int) -> None:
    """Protects the curves: whatever was pushed, the window is the end of it, oldest first."""
    history = History(2, n_capacity)
    for i, value in enumerate(pushed):
        history.push(float(i), np.array([value, -value]), Quality(value % 3))
    expected = pushed[-min(n, n_capacity) :] if n else []
    latest = history.latest(n)
    assert latest.values.tolist() == [expected, [-value for value in expected]]
    assert latest.quality.tolist() == [value % 3 for value in expected]
    assert latest.time.tolist() == list(range(len(pushed) - len(expected), len(pushed)))
    assert latest.first == len(pushed) - len(expected)
    assert len(history) == min(len(pushed), n_capacity)


@given(st.lists(st.floats(0.001, 2.0), min_size=1, max_size=60), st.floats(0.0, 20.0))
def test_window_holds_exactly_its_duration(steps: list[float], duration: float) -> None:
    """Protects the time axis: every sample within the duration is there, and no older one."""
    history = History(1, 100)
    times = np.cumsum(steps)
    for t in times:
        history.push(float(t), float(t))
    window = history.window(duration)
    assert window.time.tolist() == times[times >= times[-1] - duration].tolist()


def test_windows_are_views() -> None:
    """Protects against a cost that grows with the run: no window copies the history."""
    history = History(3, 50)
    for i in range(170):
        history.push(float(i), float(i))
        assert np.shares_memory(history.latest(50).values, history.latest(1).values)


def test_clearing_forgets_everything() -> None:
    """Protects the Clear button: nothing old comes back, and the ring goes on."""
    history = History(1, 4)
    for i in range(6):
        history.push(float(i), float(i))
    history.clear()
    assert history.window(100.0).time.size == 0
    history.push(9.0, 9.0)
    assert history.window(100.0).values.tolist() == [[9.0]]


@given(st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 2**62)), min_size=1, max_size=30))
def test_stream_time_never_goes_back(frames: list[tuple[int, int]]) -> None:
    """Protects the curves from restarted counters and jumping clocks."""
    timeline = Timeline(0.01)
    times = []
    for seq, t_capture in frames:
        timeline.advance(seq, t_capture)
        times.append(timeline.time)
    assert np.isfinite(times).all()
    assert (np.diff(times) > 0.0).all()


def test_stream_time_follows_the_capture_clock() -> None:
    """Protects the time axis: a second of the source is a second of the axis."""
    timeline = Timeline(0.01)
    gaps = [timeline.advance(seq, 5_000_000_000 + seq * 10_000_000) for seq in range(101)]
    assert timeline.time == pytest.approx(1.0)
    assert not any(gaps)


@pytest.mark.parametrize(
    ("seq", "t_ms", "gap"), [(1, 10, False), (3, 30, True), (1, 400, True), (1, 45, False)]
)
def test_missing_frames_are_gaps(seq: int, t_ms: int, gap: bool) -> None:
    """Protects honesty: a jump in number or a long silence breaks the curve, jitter does not."""
    timeline = Timeline(0.01)
    timeline.advance(0, 0)
    assert timeline.advance(seq, t_ms * 1_000_000) is gap


def test_irregular_source_may_be_silent() -> None:
    """Protects streams without a rate: their pauses are no gaps, lost frames are."""
    timeline = Timeline(0.01, regular=False)
    timeline.advance(0, 0)
    assert not timeline.advance(1, 3_000_000_000)
    assert timeline.advance(3, 3_100_000_000)


def test_a_repeated_frame_takes_no_time() -> None:
    """Protects the time axis over a dropout, in which the last frame comes again and again."""
    timeline = Timeline(0.01)
    timeline.repeat(3)  # before any frame
    timeline.advance(4, 0)
    for seq in range(5, 9):
        timeline.repeat(seq)
    assert timeline.time == 0.0
    assert timeline.advance(9, 1_000_000_000)
    assert timeline.time == pytest.approx(1.0)
    assert not timeline.advance(10, 1_010_000_000)


def test_another_sender_begins_after_a_gap() -> None:
    """Protects a restart: the new sender's numbers are not compared with the old one's."""
    timeline = Timeline(0.01)
    timeline.advance(500, 9_000_000_000)
    before = timeline.time
    timeline.interrupt()
    assert timeline.advance(0, 1)
    assert before < timeline.time < before + 1.0
    assert not timeline.advance(1, 10_000_001)


@given(series, st.integers(0, 5000), st.integers(10, 50))
def test_thinning_keeps_peaks_and_gaps(row: list[float], first: int, n_point_max: int) -> None:
    """Protects spikes and gaps in long windows, and the bound on the points that are drawn."""
    window = window_of(row, first)
    time, drawn = thin(window, n_point_max)
    assert drawn.shape == (1, len(time))
    assert len(time) <= n_point_max
    assert (np.diff(time) >= 0.0).all()
    if len(row) <= n_point_max:
        np.testing.assert_array_equal(drawn, window.values)
        return
    begin, end = int(time[0]), int(time[-1] + (time[1] - time[0]))
    covered = window.values[0, begin:end]
    assert len(row) - len(covered) < 8 * len(row) / n_point_max  # less than a block at either end
    if np.isnan(covered).any():
        assert np.isnan(drawn).any()
    else:
        assert drawn.min() == covered.min()
        assert drawn.max() == covered.max()


@given(st.integers(300, 400), st.integers(0, 100))
def test_thinning_does_not_flicker(n: int, shift: int) -> None:
    """Protects the calm of a scrolling curve: its points stay when newer samples come."""
    whole = [float(i * 37 % 101) for i in range(n + shift)]
    earlier = thin(window_of(whole[:n]), 100)
    later = thin(window_at(np.arange(shift, n + shift, dtype=float), whole[shift:], shift), 100)
    common = np.intersect1d(earlier[0], later[0])
    assert common.size > 0
    np.testing.assert_array_equal(
        earlier[1][:, np.isin(earlier[0], common)], later[1][:, np.isin(later[0], common)]
    )


def test_thinned_slopes_do_not_saw() -> None:
    """Protects the look of long windows: a monotonic curve stays monotonic."""
    for row in (list(range(500)), list(range(500, 0, -1))):
        _, drawn = thin(window_of([float(v) for v in row]), 60)
        assert len(set(np.sign(np.diff(drawn[0])))) == 1


@given(st.lists(st.sampled_from(list(Quality)), min_size=1, max_size=60), st.sampled_from(list(Quality)))
def test_spans_cover_exactly_the_samples_of_a_quality(qualities: list[Quality], wanted: Quality) -> None:
    """Protects the shading: it lies on the frames it is about and on no other."""
    n = len(qualities)
    window = window_of([0.0] * n)._replace(quality=np.array(qualities, dtype=np.uint8))
    covered = spans(window, wanted, 1.0)
    for i, quality in enumerate(qualities):
        assert any(a < i < b for a, b in covered) == (quality == wanted)
    assert all(a[1] < b[0] for a, b in itertools.pairwise(covered))
