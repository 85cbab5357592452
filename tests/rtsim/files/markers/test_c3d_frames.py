"""C3D files whose frames or samples are beyond what 16 bits count."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from rtsim.files.markers.c3d import read_c3d, whole_content
from tests.rtsim.files.conftest import c3d_bytes

LABELS = ["RASI", "RKNE", "RHEE"]
MANY = 70_000


def walking(n_frame: int) -> np.ndarray:
    """Points (n, 3, 3) [mm] of a Z-up file that move on along X, the second one missing now and then."""
    points = np.full((n_frame, 3, 3), 500.0)
    points[:, :, 2] = [950.0, 480.0, 50.0]
    points[:, :, 0] += 0.25 * (np.arange(n_frame) % 4000)[:, None]
    return points


def long_file(path: Path, n_counted: int, trial: tuple[int, int] | None = None, tail: bytes = b"") -> Path:
    """MANY frames, of which the header and POINT:FRAMES count so many; trial : as of TRIAL."""
    points = walking(MANY)
    missing = np.zeros(points.shape[:2], bool)
    missing[::7, 1] = True
    counted = n_counted - 65_536 if n_counted > 32_767 else n_counted  # as a signed word has it
    point = {"UNITS": ["mm"], "RATE": 100.0, "USED": 3, "SCALE": -0.1, "FRAMES": counted, "LABELS": LABELS}
    parameters: dict[str, dict[str, object]] = {"POINT": point}
    if trial:
        low, high = (trial[1] % 65_536, trial[1] // 65_536)
        parameters["TRIAL"] = {"ACTUAL_START_FIELD": (trial[0], 0), "ACTUAL_END_FIELD": (low, high)}
    counts = slice(0, n_counted)
    content = c3d_bytes(points[counts], missing[counts], 100.0, 0, parameters, "<")
    rest = np.concatenate([points, np.where(missing, -1.0, 0.0)[..., None]], axis=2)[n_counted:]
    content += rest.astype("<f4").tobytes() + tail
    path.write_bytes(content + bytes(-len(content) % 512))
    return path


@pytest.mark.parametrize("n_counted", [65_535, MANY - 65_536])
@pytest.mark.parametrize("trial", [None, (1, MANY)])
def test_frames_that_16_bits_do_not_count_are_read(tmp_path, n_counted, trial):
    """Protects the end of a long trial: the count stops at 65535, or begins at 0 again."""
    trial_read = read_c3d(long_file(tmp_path / "a.c3d", n_counted, trial))
    points = walking(MANY)
    assert trial_read.positions.shape == (MANY, 3, 3)
    seen = np.arange(MANY) % 7 != 0
    np.testing.assert_allclose(trial_read.positions[:, 0, 0], 1e-3 * points[:, 0, 0], atol=1e-7)
    np.testing.assert_array_equal(np.isfinite(trial_read.positions[:, 1, 0]), seen)
    assert trial_read.times[-1] == pytest.approx((MANY - 1) / 100.0)


def test_data_that_nothing_announces_are_told(tmp_path):
    """Protects from losing frames in silence where nothing says that they are frames."""
    path = tmp_path / "a.c3d"
    point = {"UNITS": ["mm"], "RATE": 100.0, "USED": 3, "SCALE": -0.1, "FRAMES": 20, "LABELS": LABELS}
    whole = c3d_bytes(walking(100), None, 100.0, 0, {"POINT": point}, "<")
    path.write_bytes(whole[:8] + struct.pack("<H", 20) + whole[10:])
    trial = read_c3d(path)
    assert trial.positions.shape[0] == 20
    assert any("states 20 frames, but contains data for 80 more" in note for note in trial.notes)
    path.write_bytes(whole[:8] + struct.pack("<H", 20) + whole[10 : -48 * 80] + bytes(48 * 80))
    assert not any("left out" in note for note in read_c3d(path).notes)


def test_a_first_frame_beyond_65535(tmp_path):
    """Protects the clock of a trial that was cut from the end of a long one."""
    path = tmp_path / "a.c3d"
    point = {"UNITS": ["mm"], "RATE": 100.0, "USED": 3, "SCALE": -0.1, "FRAMES": 30, "LABELS": LABELS}
    fields = {"ACTUAL_START_FIELD": (90_001 - 65_536, 1), "ACTUAL_END_FIELD": (90_030 - 65_536, 1)}
    content = c3d_bytes(walking(30), None, 100.0, 0, {"POINT": point, "TRIAL": fields}, "<")
    for first, last in ((65_535, 65_535), (90_001 - 65_536, 90_030 - 65_536)):
        path.write_bytes(content[:6] + struct.pack("<2H", first, last) + content[10:])
        trial = read_c3d(path)
        assert trial.positions.shape[0] == 30
        np.testing.assert_allclose(trial.times, 900.0 + np.arange(30) / 100.0)


VALUES = np.array([[0.0, -150.0], [-1.0, 3.0], [730.0, 0.0], [20.0, -7.0]])


@pytest.mark.parametrize(
    ("word", "offset", "scale"),
    [
        ("UNSIGNED", 32_768, 0.1),
        ("UNSIGNED", 40_000, 0.1),
        ("UNSIGNED", 2_048, 0.1),
        ("", 32_768, 0.1),
        ("SIGNED", 0, 0.1),
        ("SIGNED", -500, 0.1),
        ("SIGNED", -500, -0.1),
        ("UNSIGNED", 32_768, -0.1),
    ],
)
def test_counts_of_analog_channels(tmp_path, word, offset, scale):
    """Protects forces from samples and offsets of two kinds: 16 bits are signed or not, both alike."""
    counts = (VALUES / 0.5 + offset).reshape(4, 1, 2)
    analog: dict[str, object] = {
        "USED": 2, "RATE": 100.0, "GEN_SCALE": 1.0, "SCALE": np.full(2, 0.5), "LABELS": ["A", "B"],
        "OFFSET": tuple([offset - 65_536 if offset > 32_767 else offset] * 2),
    }  # fmt: skip
    if word:
        analog["FORMAT"] = [word]
    point = {"UNITS": ["mm"], "RATE": 100.0, "USED": 3, "SCALE": scale, "FRAMES": 4, "LABELS": LABELS}
    path = tmp_path / "a.c3d"
    parameters: dict[str, dict[str, object]] = {"POINT": point, "ANALOG": analog}
    path.write_bytes(c3d_bytes(walking(4), None, 100.0, 0, parameters, "<", counts, scale))
    content, _ = whole_content(path, with_analogs=True)
    np.testing.assert_allclose(content.analogs, VALUES, atol=1e-9)
    np.testing.assert_allclose(content.points, walking(4), atol=0.06)
    assert bool(content.notes) == (word == "")
