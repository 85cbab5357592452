"""Recordings with plates as benchmarks: what is said where there are none."""

from __future__ import annotations

import pytest

from rtsim.bench.markers import recordings
from rtsim.errors import ConfigError


@pytest.mark.parametrize(
    ("only", "words"),
    [
        ("*", "none of the 13 recordings was found; the first one is gait_bmc/walk1.trc"),
        ("x*", "'x\\*'; allowed: bmc.walk1"),
    ],
)
def test_a_folder_without_recordings_is_told(tmp_path, only, words):
    """Protects from an empty report with success: folder or pattern is named."""
    with pytest.raises(ConfigError, match=words):
        recordings.run(tmp_path, only=only)
