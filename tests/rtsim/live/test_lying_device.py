"""A device whose messages cannot be: what it says latches with its reason, and moves nothing."""

from __future__ import annotations

import sys
from contextlib import suppress

import pytest
import zmq
from msgspec.structs import replace

from streams.clock import now_ns
from streams.codec import encode
from streams.exchange import ModelLink
from streams.messages import Device
from tests.rtsim.live.rig import FIVE, NAN, Rig, until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="it stops processes by signals"),
]


class FalseDevice:
    """A device that says what a test has it say: it answers each output in lockstep."""

    def __init__(self, rig: Rig) -> None:
        self.link, self.seq = ModelLink(rig.address), 0

    def answer(self, n: int, finite: bool = True, **changed) -> None:
        """Answer some outputs; finite = False: each 5.0 in them is no number."""
        done = 0
        while done < n:
            found = self.link.newest(100)
            output = found[0] if found else None
            message = Device(
                session=output.session if output else "", seq=self.seq, t=now_ns(),
                command=output.seq if output else -1, angle=output.angle if output else [0.0],
                speed=output.speed if output else [0.0], torque=[0.0],
                actuator=output.torque if output else [0.0],
                state="armed" if output and output.armed else "disarmed",
            )  # fmt: skip
            topic, payload = encode(replace(message, **changed))
            if not finite:
                assert FIVE in payload
                payload = payload.replace(FIVE, NAN)
            with suppress(zmq.Again):
                self.link._socket.send_multipart([topic, payload], zmq.DONTWAIT)
            self.seq, done = self.seq + 1, done + bool(output)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"angle": [3.0]}, "outside"),
        ({"torque": [500.0]}, "N m, more than"),
        ({"torque": [5.0], "finite": False}, "has not answered"),
        ({"state": "falling", "fault": "too hot"}, "too hot"),
        ({"t": 7}, "stood still"),
    ],
)
def test_a_device_that_lies(rig: Rig, wrong: dict, words: str) -> None:
    """Protects the limb: what cannot be latches with its reason, and moves nothing."""
    rig.start_model("--arm", "0.1")
    device = FalseDevice(rig)
    with device.link:
        device.answer(60)
        until(lambda: device.answer(5) or any(output.armed for output in rig.outputs))
        device.answer(20, **wrong)
        until(lambda: device.answer(5, **wrong) or any(words in said for said in rig.said))
        device.answer(20)
        until(lambda: device.answer(5) or not rig.outputs[-1].armed)
        assert not rig.outputs[-1].armed
        assert rig.outputs[-1].torque == [0.0]


def test_a_device_that_stays_armed_after_an_emergency_stop(rig: Rig) -> None:
    """Protects whoever pressed: a device that goes on is told as a fault, and nobody arms it meanwhile."""
    rig.start_model("--arm", "0.1")
    device = FalseDevice(rig)
    with device.link:
        device.answer(60)
        until(lambda: device.answer(5) or any(output.armed for output in rig.outputs))
        assert rig.ask("emergency_stop")[0]
        defiant = {"state": "armed", "actuator": [15.0], "torque": [15.0]}
        until(lambda: device.answer(5, **defiant) or any("commanded to disarm" in said for said in rig.said))
        device.answer(5, **defiant)
        done, answer = rig.ask("arm")
        assert not done
        assert "commanded to disarm, and is still armed" in answer
        assert not rig.outputs[-1].armed
