"""A limb with a device whose prescribed coordinate follows a stream of results, over real sockets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from kernels.compiler.jit import allow_compilation
from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.live.hardware.device_loop import SILENT, hil_loop
from rtsim.live.hardware.limb_parts import simulator_for
from streams.publisher import Publisher
from tests.rtsim.device.straight import IDEAL, StraightPort
from tests.rtsim.live.inputs.test_motion_stream import GUARD_S, LOCAL, Sender

FORWARDS = 0.03


@pytest.fixture
def compiling():
    """A warm loop compiles nothing more; tests after this one do."""
    allow_compilation()
    yield
    allow_compilation()


@pytest.mark.usefixtures("compiling")
def test_torque_needs_the_motion_and_ends_with_it() -> None:
    """Protects whoever walks: the limb goes where the stream says, armed only then; its end latches."""
    with Publisher(LOCAL) as source, Publisher(LOCAL) as publisher:
        spec = load_toml(find_config("ankle", "hil"), HilSpec)
        spec = replace(spec, motion=source.address)
        simulator, port = simulator_for(spec), StraightPort(IDEAL)
        port.hello()
        loop = hil_loop(spec, simulator, port, publisher)
        exchange = loop.stages[0].exchange
        turning, sender = threading.Thread(target=loop.run), Sender(source, "knee_forwards", "m", FORWARDS)
        turning.start()
        try:
            wait(lambda: exchange.refusal == SILENT)
            assert exchange.arming.state == "disarmed"
            sender.start()
            wait(lambda: exchange.refusal == "")
            loop.stages[0].ask("arm", {})
            wait(lambda: exchange.arming.state == "armed")
            wait(lambda: abs(float(simulator.q[0]) - FORWARDS) < 1e-6)
            sender.over.set()
            wait(lambda: exchange.arming.state == "fault")
            assert exchange.arming.reason == SILENT
            wait(lambda: port.outputs[-1].torque == [0.0])
            assert not port.outputs[-1].armed
        finally:
            sender.over.set()
            loop.stop()
            turning.join(GUARD_S)


def wait(condition: Callable[[], bool]) -> None:
    """Return as soon as a condition holds."""
    due = time.monotonic() + GUARD_S
    while not condition():
        assert time.monotonic() < due, "it never came"
        time.sleep(0.005)
