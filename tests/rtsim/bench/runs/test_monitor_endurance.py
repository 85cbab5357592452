"""The bench of a window's memory."""

from __future__ import annotations

import os
import signal
import sys

import numpy as np
import pytest

from rtsim.bench.runs.monitor_endurance import WatchedWindow
from rtsim.errors import ConfigError
from rtsim.live.processes.memory_growth import ResidentMemory

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory by the account of Linux"),
]


def test_a_window_that_ends_is_no_flat_memory() -> None:
    """Protects from figures of a window that is gone, which takes nothing more."""
    with WatchedWindow(1.0) as watched:
        times, taken = watched.until(0.1)
        assert len(times) == len(taken) >= 1
        assert (taken > 0.0).all()
        os.kill(watched.pid, signal.SIGKILL)
        with pytest.raises(ConfigError, match="ended too early"):
            watched.until(60.0)


def test_memory_of_another_process_is_its_own() -> None:
    """Protects the account of one process from being that of another."""
    assert ResidentMemory(os.getpid())() == pytest.approx(ResidentMemory()(), rel=0.1)
    assert np.isnan(ResidentMemory(2**22 + 1)())
