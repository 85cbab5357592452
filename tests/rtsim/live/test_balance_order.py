"""The balance of a limb's energy and the command of a tick: which of them waits for the other."""

from __future__ import annotations

from collections import deque

import pytest
from msgspec.structs import replace

from kernels.compiler.jit import allow_compilation
from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.live.hardware.device_loop import hil_loop
from rtsim.live.hardware.limb_parts import simulator_for
from rtsim.stages.device.energy import EnergyAccount
from rtsim.stages.stage import StageOutcome
from streams.messages import AnyMessage, Output, Session
from streams.receiving.ring import ReceivedFrame
from tests.rtsim.device.straight import StraightPort

TICK, TICKS = 60, 100
DRIFTS = "the energy balance of the model has an error"


class Heard:
    """In the place of a publisher: the commands, in the order in which they left."""

    def __init__(self) -> None:
        self.events: deque[str] = deque()
        self.commands: list[Output] = []

    def announce(self, session: Session) -> None:
        """Nothing to keep."""

    def send(self, message: AnyMessage) -> None:
        """Keep a command."""
        if isinstance(message, Output):
            self.commands.append(message)

    def service(self) -> None:
        """Nobody subscribes."""

    def end(self, reason: str) -> None:
        """Nothing to keep."""


def test_a_command_does_not_wait_for_the_balance_which_ends_torque_in_the_next_tick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tick's command has left when its energy is looked at; a drift ends torque in the next tick."""
    spec = load_toml(find_config("ankle", "hil"), HilSpec)
    exchange = replace(spec.exchange, paced=False)
    spec = replace(spec, exchange=exchange, duration_s=TICKS / exchange.rate_hz)
    port = StraightPort(load_toml(find_config(spec.device, "devices"), DeviceSpec))
    port.hello()
    heard, looked = Heard(), list[int]()
    run = EnergyAccount.run

    def drifts(stage: EnergyAccount, frame: ReceivedFrame) -> StageOutcome:
        outcome = run(stage, frame)
        looked.append(len(heard.commands))
        if len(looked) == TICK:
            stage.refusal = DRIFTS
        return outcome

    loop = hil_loop(spec, simulator_for(spec), port, heard, arm_s=0.02)
    monkeypatch.setattr(EnergyAccount, "run", drifts)
    try:
        loop.run()
    finally:
        allow_compilation()
    assert looked == list(range(1, TICKS + 1))  # of each tick after its command
    assert heard.commands[TICK - 1].armed
    assert not heard.commands[TICK].armed
    assert heard.commands[TICK].torque == [0.0]
