"""Tuning a running model over its sockets: cycles, parameters that go back, faults that end it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rtsim.config.load import load_toml
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.tuning.live import LiveError, LiveRuns
from tests.rtsim.live.rig import Rig, until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="it stops processes by signals"),
]
TUNING = """
[tuning]
costs = [{ field = "device_torques" }]
cycle = { period_s = 1.25 }           # of the motion: costs do not depend on when a cycle begins
settle_s = 0.1
"""


def test_a_running_model_is_tuned_and_left_as_it_was(tmp_path: Path) -> None:
    """Protects whoever wears it: costs of two settings and of zero torque, the best as a snapshot, the start
    again at the end; a device that dies ends it with the reason."""
    with Rig(tmp_path) as rig:
        rig.config.write_text(rig.config.read_text(encoding="utf-8") + TUNING, encoding="utf-8")
        rig.start_model("--fast")  # no times to live that a busy machine would miss
        device, _ = rig.start_device()
        rig.arm()
        spec = load_toml(rig.config, HilSpec)
        with LiveRuns(spec, rig.results_address, rig.control, 0.05) as live:
            soft, stiff = (live.cost({"stiffness_N_m_rad": value}).value for value in (2.0, 20.0))
            assert stiff > 1.5 * soft > 0.0
            assert live.cost(None).value < 0.5 * soft
            assert live.cost({"stiffness_N_m_rad": 20.0}).value == pytest.approx(stiff, rel=0.3)
            with pytest.raises(LiveError, match="allowed: 0 to 25"):
                live.cost({"stiffness_N_m_rad": 30.0})
            live.mark_best({"stiffness_N_m_rad": 2.0})
        until(lambda: "stiffness_N_m_rad = 12 " in rig.ask("list")[1])
        assert rig.ask("switch", name="best")[0]
        until(lambda: "stiffness_N_m_rad = 2 " in rig.ask("list")[1])
        with LiveRuns(spec, rig.results_address, rig.control, 0.05) as live:
            device.kill()
            with pytest.raises(LiveError, match="fault"):
                live.cost({"stiffness_N_m_rad": 5.0})
        until(lambda: "stiffness_N_m_rad = 2 " in rig.ask("list")[1])
