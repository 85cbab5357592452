"""A limb that a stream moves: the recording has what moved it, and the run comes again."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from rtsim.cli.main import cli
from rtsim.errors import ConfigError
from rtsim.quantity import Fields, Quantity
from rtsim.simulation.load import load_simulator
from rtsim.simulation.motion_feed import MotionFeed
from streams.clock import now_ns
from streams.messages import Result
from streams.publisher import Publisher
from tests.rtsim.live.hardware.test_device_loop import ANY, heard
from tests.rtsim.live.rig import ROOT

pytestmark = pytest.mark.process
NAMES = ("pelvis_x", "pelvis_y", "pelvis_tilt")
MIDDLE, WIDE, TURN = np.array([0.0, 1.1, 0.0]), np.array([0.02, 0.01, 0.03]), 4.0
RUN = ["leg_swing", "--mode", "lockstep"]


def walk(publisher: Publisher, over: threading.Event, pause_s: float) -> None:
    """Publish a pelvis that sways, in sessions of 0.4 s, with pauses, until it is over."""
    fields = ("coordinates", "coordinate_speeds", "coordinate_accelerations")
    rows = [np.zeros(3) for _ in fields]
    units = ("rad, m", "rad/s, m/s", "rad/s^2, m/s^2")
    told = [Quantity(name, row, unit, NAMES) for name, row, unit in zip(fields, rows, units, strict=True)]
    while True:
        packed = Fields(told, 100.0, 0, {})
        publisher.announce(packed.session)
        for seq in range(40):
            if over.wait(0.01):
                return
            at = TURN * 0.01 * seq
            rows[0][:] = MIDDLE + WIDE * math.sin(at)
            rows[1][:] = TURN * WIDE * math.cos(at)
            rows[2][:] = -(TURN**2) * WIDE * math.sin(at)
            now = now_ns()
            publisher.send(Result(
                session=packed.session.session, seq=seq, time=0.01 * seq, t_capture=now, t_received=now,
                t_solved=now, status=0, iterations=0, residual=0.0, data=packed.data(), t_published=now,
            ))  # fmt: skip
            publisher.service()
        publisher.end("another session follows")  # else it would lead until it has paused
        over.wait(pause_s)


@pytest.mark.parametrize("pause_s", [0.0, 0.4])
def test_a_run_that_a_stream_moved_comes_again_bit_for_bit(pause_s: float, tmp_path: Path) -> None:
    """Protects the recording of such a run: all that moved the limb, tick by tick, and the run from it.

    Where no frame came for a tick under torque the run ends in a fault: in a pause, and on a busy machine
    between two sessions, too. The run that comes again ends in the same one, or as well without one.
    """
    one, again, over = tmp_path / "one.mcap", tmp_path / "again.mcap", threading.Event()
    with Publisher("tcp://127.0.0.1:0") as source:
        motion = ["--motion", source.address]
        sender = threading.Thread(target=walk, args=(source, over, pause_s))
        sender.start()
        try:
            code, fault = hil_or_fault(
                *RUN, *motion, "--duration", "1.2", "--arm", "0.2", "--record", str(one)
            )
        finally:
            over.set()
            sender.join()
    assert hil_or_fault(*RUN, "--fast", *motion, "--again", str(one), "--record", str(again)) == (code, fault)
    first = heard(one)
    moved = [entry[2] for entry in first if entry[:2] == ("command", "moved")]
    assert sum("period_s" in args for args in moved) >= 2
    assert sum("motion" in args for args in moved) > 20
    assert heard(again) == first
    with pytest.raises(ConfigError, match="was moved by a stream"):
        cli.main(["hil", "leg_swing", "--again", str(one)], standalone_mode=False)


def hil_or_fault(*arguments: str) -> tuple[int, str]:
    """Run `rtsim hil` to its end; its exit code, and the fault that it ends in, with its time."""
    done = subprocess.run(
        [sys.executable, "-m", "rtsim.cli.main", "hil", *arguments, "--json", *ANY],
        capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
    )  # fmt: skip
    fault = re.search(
        r"a fault that latched at .*: the stream of the prescribed motion .--motion. sends nothing",
        done.stderr,
    )
    assert done.returncode == (1 if fault else 0), done.stderr
    return done.returncode, fault[0] if fault else ""


@pytest.mark.parametrize(
    "told",
    [
        {}, {"motion": [0.0]}, {"motion": "far"}, {"motion": [math.nan] * 3}, {"motion": [1e9, 0.0, 0.0]},
        {"period_s": -1.0}, {"period_s": "now"},
    ],
)  # fmt: skip
def test_motion_of_a_damaged_recording_is_refused(told: dict) -> None:
    """Protects a run again from numbers that cannot be what moved it."""
    feed = MotionFeed(load_simulator("kick", motion="tcp://127.0.0.1:1", prescribed=("knee",)), ("knee",))
    with pytest.raises(ConfigError, match="does not fit the prescribed coordinates knee"):
        feed.again(told)
