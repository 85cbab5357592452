"""The last ten minutes: the same values as came, thinned where they came fast, within bounds of memory."""

import numpy as np
import pytest

from rtsim.monitor.past.archive import CURVE_BYTES, POSE_BYTES, REACH_S, CurveArchive, PoseArchive
from rtsim.monitor.plots.history import History, Quality


def filled(rate: float, n: int, per_turn: int = 37, capacity: int = 500) -> tuple[CurveArchive, np.ndarray]:
    """An archive that took `n` samples of a history that holds few of them, and all times."""
    history, archive = History(2, capacity), CurveArchive(2, rate)
    times = np.arange(n) / rate
    for i, time in enumerate(times):
        history.push(time, np.array([np.sin(time), i]), Quality.GOOD, 7.0 + 2.0 * time)
        if i % per_turn == 0 or i == n - 1:
            archive.take(history)
    return archive, times


def test_every_sample_of_a_usual_stream_is_kept() -> None:
    """Protects what a clinician looks back at: the same curve as was seen live, to single precision."""
    archive, times = filled(100.0, 3000)
    assert archive.reach() == (0.0, times[-1])
    window = archive.window(20.0, 5.0)
    inside = (times > 15.0) & (times <= 20.0)
    np.testing.assert_array_equal(window.time, times[inside])
    np.testing.assert_allclose(window.values[0], np.sin(times[inside]), atol=1e-6)
    np.testing.assert_array_equal(window.values[1], np.flatnonzero(inside))
    np.testing.assert_array_equal(window.in_trial, 7.0 + 2.0 * times[inside])


@pytest.mark.parametrize("rate", [250.0, 1000.0, 2000.0])
def test_fast_streams_keep_their_extremes(rate: float) -> None:
    """Protects peaks: of every block the smallest and largest value, none lost between two turns."""
    archive, times = filled(rate, 8000)
    oldest, newest = archive.reach()
    window = archive.window(newest, newest - oldest + 1.0)
    assert oldest == 0.0
    assert newest > times[-1] - 4.0 * archive.stride / rate
    assert len(window.time) <= 2 * len(times) // archive.stride
    np.testing.assert_array_equal(window.in_trial, 7.0 + 2.0 * window.time)
    counts = window.values[1].reshape(-1, 2)
    np.testing.assert_array_equal(counts[:, 0], archive.stride * np.arange(len(counts)))
    np.testing.assert_array_equal(counts[:, 1], counts[:, 0] + archive.stride - 1)


def test_the_ring_forgets_the_oldest() -> None:
    """Protects memory over a whole day: never more than ten minutes, or than the bytes allow."""
    archive, times = filled(20.0, 14_000)
    oldest, newest = archive.reach()
    assert newest == times[-1]
    assert newest - oldest == pytest.approx(REACH_S, abs=0.1)
    many = CurveArchive(5000, 100.0)
    assert many.n_capacity * 5000 * 4 <= CURVE_BYTES
    assert many.n_capacity > 2
    large = PoseArchive({"image": (2, 200, 200)})
    assert large.n_capacity * 80_000 * 4 <= POSE_BYTES
    assert large.period * large.n_capacity == pytest.approx(REACH_S)


def test_poses_of_a_moment() -> None:
    """Protects the figure while looking back: the pose that was there then."""
    poses = PoseArchive({"a": (2, 3), "b": (1,)})
    assert np.isnan(poses.at(1.0)[0]["a"]).all()
    for i in range(1000):
        pose = {"a": np.full((2, 3), 0.01 * i), "b": np.array([float(i)])}
        poses.push(0.01 * i, pose, Quality.DEGRADED if i > 500 else Quality.GOOD)
    for time in (0.0, 3.3, 7.77, 100.0):
        pose, quality = poses.at(time)
        assert pose["a"].shape == (2, 3)
        assert min(time, 9.99) - 0.05 <= pose["a"][0, 0] <= time + 1e-6
        assert quality is (Quality.DEGRADED if time > 5.1 else Quality.GOOD)


def test_clearing_forgets_what_came_before() -> None:
    """Protects the Clear button."""
    history, archive = History(1, 10), CurveArchive(1, 100.0)
    history.push(0.0, 1.0)
    archive.clear(history)
    archive.take(history)
    assert len(archive) == 0
    assert np.isnan(archive.reach()).all()
    assert len(archive.window(1.0, 1.0).time) == 0
