"""Commands that end torque, through processes: at once, for good, and the same when a record is run again."""

from __future__ import annotations

import signal
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.rtsim.live.hardware.test_device_loop import heard, hil
from tests.rtsim.live.rig import Rig, until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="it stops processes by signals"),
]


@pytest.mark.parametrize("mode", ["lockstep", "free"])
def test_disarm_ends_an_arm_that_is_to_come(mode: str, tmp_path: Path) -> None:
    """Protects whoever disarmed in time: `--arm 2` does not give torque two seconds after the start."""
    with Rig(tmp_path, mode) as rig:
        rig.start_model("--arm", "2")
        rig.start_device()
        until(lambda: len(rig.outputs) > 10)
        assert rig.ask("disarm")[0]
        assert rig.heard("will no longer arm automatically")
        until(lambda: rig.outputs[-1].time > 3.0)
        assert not any(output.armed for output in rig.outputs)


def test_another_client_does_not_shorten_a_ramp(tmp_path: Path) -> None:
    """Protects the wearer: a slow change of stiffness goes on as slowly when another client sets another
    parameter, saves, or undoes that."""
    with Rig(tmp_path) as rig:
        text = rig.config.read_text(encoding="utf-8")
        ranges = "{ stiffness_N_m_rad = [0.0, 25.0], neutral_deg = [0.0, 30.0] }"
        text = text.replace("{ stiffness_N_m_rad = [0.0, 25.0] }", ranges)
        rig.config.write_text(text, encoding="utf-8")
        rig.start_model()
        rig.start_device()
        rig.arm()
        assert rig.ask("set", stiffness_N_m_rad=0.0, over_s=20.0)[0]
        rig.heard("12 -> 0")
        other = {"neutral_deg": 10.0, "over_s": 0.0}
        for name, args in (("set", other), ("save", {"name": "a"}), ("undo", {})):
            assert rig.ask(name, **args)[0]
        n = len(rig.results)
        until(lambda: len(rig.results) > n + 25)
        values = [float(np.frombuffer(result.data["device_parameters"])[1]) for result in list(rig.results)]
        assert max(abs(b - a) for a, b in pairwise(values)) < 0.2


def test_an_emergency_stop_waits_for_no_answer(tmp_path: Path) -> None:
    """Protects whoever presses while the device does not answer: the model says zero in milliseconds, not
    after the deadline of the tick, and the record runs again the same."""
    with Rig(tmp_path) as rig:
        one, again = tmp_path / "one.mcap", tmp_path / "again.mcap"
        model = rig.start_model("--record", str(one))
        device, _ = rig.start_device()

        def ends_before_the_deadline() -> bool:  # pressed again where a busy machine pauses for that long
            rig.arm()
            device.send_signal(signal.SIGSTOP)
            time.sleep(0.2)
            assert rig.ask("emergency_stop")[0]
            until(lambda: not rig.outputs[-1].armed)
            device.send_signal(signal.SIGCONT)
            before, first = next((a, b) for a, b in pairwise(rig.outputs[::-1]) if b.armed)[::-1]
            assert first.torque == [0.0]
            return (
                1e-9 * (first.t_sent - before.t_sent) < 0.9
            )  # of a second in which the tick awaits its answer

        until(ends_before_the_deadline)
        n = len(rig.outputs)
        until(lambda: len(rig.outputs) > n + 50)
        assert not any(output.armed for output in rig.outputs[n:])
        assert rig.ask("stop")[0]
        model.wait(120.0)
        hil(str(rig.config), "--fast", "--again", str(one), "--record", str(again), code=1)
        assert heard(again) == heard(one)
