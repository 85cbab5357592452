"""A device that is hostile to the model: its words in the terminal, and giant and half-open connections."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path

import pytest
import zmq

from streams.clock import now_ns
from streams.exchange import ModelLink
from streams.messages import Device
from tests.rtsim.live.rig import Rig, until

pytestmark = pytest.mark.process
ESCAPE = "\x1b[2J\u202e"


def speak(link: ModelLink) -> None:
    """Answer the newest output: armed as told at first, then fallen."""
    found = link.newest(20)
    output = found[0] if found else None
    fell = output is not None and output.seq > 60
    link.send(
        Device(
            session=output.session if output else "", seq=output.seq + 1 if output else 0, t=now_ns(),
            command=output.seq if output else -1, angle=output.angle if output else [0.0],
            speed=output.speed if output else [0.0], torque=[0.0],
            state="falling" if fell else "armed" if output and output.armed else "disarmed",
            fault=ESCAPE if fell else "",
        )
    )  # fmt: skip


def test_words_of_a_device_do_nothing_to_a_terminal(tmp_path: Path) -> None:
    """Protects the terminal: a fault in escape codes stands there as it was written, and nowhere acts."""
    with Rig(tmp_path) as rig:
        model = rig.start("hil", str(rig.config), "--device", "none", "--duration", "1.5", "--arm", "0.1")
        with ModelLink(rig.address) as link:
            until(lambda: speak(link) or model.poll() is not None)
        told, _ = model.communicate()
        assert model.returncode == 1  # the fault is latched at the end
        assert "is ending its torque by itself" in told
        assert "\\x1b[2J" in told
        assert "\x1b" not in told


def test_giants_and_half_open_connections_leave_the_torque_alone(tmp_path: Path) -> None:
    """Protects a run from peers that send too much, or connect and say nothing, at both endpoints."""
    with Rig(tmp_path) as rig:
        rig.start_model()
        rig.start_device()
        rig.arm()
        n_before, held = len(rig.outputs), []
        with zmq.Context() as context:
            for address in (rig.address, rig.control):
                host, port = address.removeprefix("tcp://").split(":")
                for said in (b"", b"\xff\0\0\0\0\0\0\0\x01\x7f\x03", b"GET / HTTP/1.1\r\n\r\n"):
                    held.append(socket.create_connection((host, int(port))))
                    held[-1].sendall(said)
                giant = context.socket(zmq.DEALER)
                giant.linger = 0
                giant.connect(address)
                for size in (5_000, 3_000_000):
                    with suppress(zmq.Again):
                        giant.send_multipart([b"device", b"x" * size], zmq.DONTWAIT)
                held.append(giant)
            until(lambda: len(rig.outputs) > n_before + 50)
            for each in held:
                each.close()
        if not rig.outputs[-1].armed:  # nothing but lost time may have cost it the torque
            rig.heard("-> fault")
            rig.arm()
        assert rig.ask("stop")[0]
