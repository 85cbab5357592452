"""Model and device as processes whose clocks are apart, and both suspended at once: no torque unarmed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.rtsim.live.rig import RAMP_MS, VALID_MS, Rig, obeys, rows_of, until

AHEAD_S, BEHIND_S = 3600, -1800
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="it stops processes by signals"),
]


def namespace(offset_s: int) -> list[str]:
    """What begins a command that runs where the clock of all stamps is so far off; skips where none can."""
    unshare = shutil.which("unshare")
    prefix = [unshare or "", "-rT", "--monotonic", str(offset_s)]
    if not unshare or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this operating system gives a process no clock of its own (time namespace)")
    return prefix


@pytest.mark.parametrize("offset_s", [AHEAD_S, BEHIND_S])
def test_a_device_on_another_clock_is_armed_and_falls_by_its_own(rig: Rig, offset_s: int) -> None:
    """Protects two machines: stamps of the other clock arm nothing by themselves, and keep no torque up: the
    log obeys before, during and after the model's death.
    """
    model = rig.start_model()
    _, log = rig.start_device(prefix=namespace(offset_s), options=["--tunnel"])
    until(lambda: log.exists() and len(rows_of(log)) > 50)
    assert all(row.actuator == 0.0 for row in rows_of(log))
    rig.arm()
    until(lambda: rows_of(log)[-1].actuator > 1.0)
    model.kill()
    until(lambda: rows_of(log)[-1].state == "stopped")
    obeys(rows_of(log))
    assert rows_of(log)[-1].actuator == 0.0


def test_both_suspended_at_once_come_back_without_torque(rig: Rig) -> None:
    """Protects a machine that sleeps under torque: it falls by the clock, and the model latches."""
    model = rig.start_model()
    device, log = rig.start_device()
    rig.arm()
    until(lambda: rows_of(log)[-1].actuator > 1.0)
    n_before = len(rows_of(log))
    for process in (model, device):
        process.send_signal(signal.SIGSTOP)
    time.sleep(1e-3 * (VALID_MS + RAMP_MS))
    for process in (device, model):
        process.send_signal(signal.SIGCONT)
    rig.heard("-> fault")
    until(lambda: rows_of(log)[-1].state in ("stopped", "disarmed"))
    until(lambda: rows_of(log)[-1].actuator == 0.0)
    obeys(rows_of(log))
    assert len(rows_of(log)) > n_before
    assert not rig.outputs[-1].armed
