"""How long a run with a worn device lasts: by the clock where markers come live, else by its frames."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import rtsim.live.hardware.wearable_run
from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.device.exchange import DeafPort, DeviceExchange
from rtsim.live.hardware.wearable_run import WearableTicks
from rtsim.live.inputs.inputs import TIME_UP
from tests.rtsim.live.test_end_of_loop import NoFrames

SECOND = 1_000_000_000
SPEC = replace(load_toml(find_config("worn_ankle", "hil"), HilSpec), duration_s=1.0)


@pytest.fixture
def clock_ns(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The computer's clock, that stands [ns]."""
    now = [5 * SECOND]
    monkeypatch.setattr(rtsim.live.hardware.wearable_run, "now_ns", lambda: now[0])
    return now


def ticks_of(recorded: bool) -> WearableTicks:
    """Return the entered input of a run of a second at 100 Hz whose device is there."""
    exchange = DeviceExchange(SPEC, DeafPort(), "0123456789abcdef")
    exchange.is_there = True
    return WearableTicks(exchange, NoFrames(over=""), recorded).__enter__()


def test_a_live_run_lasts_by_the_clock(clock_ns: list[int]) -> None:
    """Protects --duration: while no markers come outputs are rarer, but the run is no longer for that."""
    ticks = ticks_of(recorded=False)
    ticks.exchange.seq = 1000
    clock_ns[0] += 9 * SECOND // 10
    assert ticks.over == ""
    ticks.exchange.seq = 20
    clock_ns[0] += SECOND // 5
    assert ticks.over == TIME_UP


def test_a_recording_lasts_by_its_frames(clock_ns: list[int]) -> None:
    """Protects runs that can be repeated: how fast frames are computed does not change how many there are."""
    ticks = ticks_of(recorded=True)
    clock_ns[0] += 100 * SECOND
    ticks.exchange.seq = 99
    assert ticks.over == ""
    ticks.exchange.seq = 100
    assert ticks.over == TIME_UP
