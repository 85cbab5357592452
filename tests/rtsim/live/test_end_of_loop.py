"""How a loop ends when one of its own parts fails: a device is released first, and the results end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.device.exchange import DeviceExchange
from rtsim.live.hardware.device_loop import device_loop
from rtsim.live.hardware.limb_parts import simulator_for
from rtsim.live.inputs.inputs import ApplyCommands
from rtsim.live.inputs.recorded import KeptResults
from rtsim.live.loop import Loop
from rtsim.stages.device.exchange import DeviceTorque, TorqueCommand
from rtsim.stages.stage import FINE, Stage, StageOutcome
from streams.messages import Session
from streams.receiving.ring import ReceivedFrame
from tests.rtsim.device.straight import StraightPort

ID = "0123456789abcdef"


class NoFrames:
    """An input without frames, which is over at once or fails."""

    holds = False
    orders: Mapping = {}

    def __init__(self, over: str = "that was all") -> None:
        self.over = over

    def __enter__(self) -> NoFrames:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is open."""

    def wait(self, apply: ApplyCommands) -> ReceivedFrame | None:
        """Fail: the source is broken."""
        raise OSError("the source is broken")

    def period_ns(self, session: Session) -> int:
        """No limit."""
        return 0

    def counters(self) -> Mapping[str, int]:
        """Nothing is counted."""
        return {}

    def gauges(self) -> Mapping[str, float]:
        """Nothing is measured."""
        return {}

    def sentences(self) -> list[str]:
        """Nothing is said."""
        return []

    def rest(self) -> None:
        """Nothing is done."""


class Mute(Stage):
    """A stage of one's own that cannot tell what it counted."""

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """No frame comes."""
        return FINE

    def collect(self) -> tuple[Counter[str], list[str]]:
        """Fail."""
        raise RuntimeError("the stage cannot say what it counted")


class EndedResults(KeptResults):
    """Results in memory, with the reason of their end."""

    ended = ""

    def end(self, reason: str) -> None:
        """Keep the reason."""
        self.ended = reason


@pytest.mark.parametrize(
    ("over", "words", "reason"),
    [
        ("that was all", "what it counted", "that was all"),
        ("", "what it counted", "the run was interrupted"),
    ],
)
def test_results_end_though_the_last_telemetry_fails(over: str, words: str, reason: str) -> None:
    """Protects readers: the end and its reason reach them, whatever the account of the run does."""
    results, released = EndedResults(), []
    loop = Loop(NoFrames(over), [Mute()], results)
    loop.release = lambda: released.append(results.ended)
    with pytest.raises(RuntimeError, match=words):
        loop.run()
    assert results.ended == reason
    assert released == [""]  # before the results ended


@pytest.mark.parametrize("over", ["that was all", ""])
def test_a_device_gets_zero_torque_though_the_last_telemetry_fails(over: str) -> None:
    """Protects the wearer: the last output is zero and disarmed before anything that may fail is told."""
    spec = load_toml(find_config("ankle", "hil"), HilSpec)
    port = StraightPort(load_toml(find_config("ideal_orthosis", "devices"), DeviceSpec))
    limb, results = simulator_for(spec), EndedResults()
    exchange = DeviceExchange(spec, port, ID)
    stages = DeviceTorque(exchange, limb), TorqueCommand(exchange, limb)
    loop = device_loop(NoFrames(over), [Mute()], stages, results, {}, urgently=False, first=False)
    with pytest.raises(RuntimeError, match="what it counted"):
        loop.run()
    assert [(output.armed, output.torque) for output in port.outputs] == [(False, [0.0])]
    assert results.ended
