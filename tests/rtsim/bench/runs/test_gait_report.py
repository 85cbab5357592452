"""The bench of reports."""

from __future__ import annotations

import pytest

from rtsim.bench.runs import gait_report
from rtsim.errors import ConfigError


def test_a_recording_without_results_is_refused(tmp_path) -> None:
    """Protects from times of a command that fails."""
    with pytest.raises(ConfigError, match="no such file"):
        gait_report.run(tmp_path / "gone.mcap")
