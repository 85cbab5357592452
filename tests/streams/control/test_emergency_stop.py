"""The endpoint of the emergency stop over real datagrams."""

from __future__ import annotations

import re
import socket
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from streams.control import emergency_stop
from streams.control.commands import ControlServer, request
from streams.control.emergency_stop import StopEndpoint, check_stop_free, request_stop, stop_address
from streams.errors import AddressInUseError, StreamError
from streams.reservation import Reservation
from tests.free_ports import free_port

GUARD_S = 120.0
LOCAL = "tcp://127.0.0.1:0"
PAGE = Path(__file__).resolve().parents[3] / "docs" / "protocol.md"


def served(address: str, heard: list[int]) -> ControlServer:
    """A control server whose stops are counted."""
    return ControlServer(address, lambda command: (True, "done"), ("status",), stop=lambda: heard.append(1))


@pytest.mark.parametrize("address", [LOCAL, "tcp://[::1]:0", "tcp://localhost:0"])
def test_both_endpoints_have_one_port_and_a_stop_is_heard(address: str) -> None:
    """Protects the promise: the same host and port number, by either family of addresses, a free one too."""
    heard: list[int] = []
    try:
        server = served(address, heard)
    except StreamError:
        pytest.skip("this machine has no IPv6")
    with server:
        assert server.stop_address == server.address.replace("tcp://", "udp://")
        assert request_stop(server.address, timeout_s=GUARD_S)
        assert heard
        assert request(server.address, "status", timeout_s=GUARD_S)[0]


def test_a_port_that_is_free_for_one_kind_alone_is_not_taken() -> None:
    """Protects port 0 from a number that is somebody's for datagrams; a fixed one is an error."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        port = free_port()  # one of the system's might be given to another program at the same time
        taken.bind(("127.0.0.1", port))
        address = f"tcp://127.0.0.1:{port}"
        with pytest.raises(AddressInUseError, match="endpoint of the emergency stop"):
            served(address, [])
        with pytest.raises(AddressInUseError, match="another program has this port"):
            check_stop_free(address)
    served(address, []).close()


def test_a_port_that_this_program_reserved_is_its_own() -> None:
    """Protects `--port-offset auto`: the claim on a port gives way to its own run."""
    address = f"tcp://127.0.0.1:{free_port()}"
    claims = Reservation([address])
    check_stop_free(address)
    with served(address, []) as server:
        assert request_stop(server.address, timeout_s=GUARD_S)
        with pytest.raises(AddressInUseError):
            Reservation([address])
    claims.close()


def test_where_no_datagrams_go(tmp_path: Path) -> None:
    """Protects from a stop that nobody can hear: over ipc:// there is no endpoint, and it is said."""
    if sys.platform == "win32":
        pytest.skip("there is no ipc:// there")
    with served(f"ipc://{tmp_path}/control", []) as server:
        assert server.stop_address == ""
        with pytest.raises(StreamError, match="cannot take the emergency stop by UDP datagram"):
            request_stop(server.address)
    assert stop_address("ipc://x") == ""
    assert not request_stop("tcp://127.0.0.1:9", timeout_s=0.05)
    with pytest.raises(StreamError, match="no such host"):
        request_stop("tcp://no.such.host.invalid:9", timeout_s=0.05)


def test_two_endpoints_do_not_answer_each_other(eventually) -> None:
    """Protects from a loop: an answer that is sent on to another endpoint is a stop there, and no more."""
    one, two = [], []
    with served(LOCAL, one) as first, served(LOCAL, two) as second:
        places = [
            (s.address.split("//")[1].split(":")[0], int(s.address.rsplit(":", 1)[1]))
            for s in (first, second)
        ]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
            wire.sendto(b"rtsim:stopped" + bytes(16), places[0])
            wire.settimeout(0.2)
            with pytest.raises(TimeoutError):
                wire.recv(64)
        eventually(lambda: one)
        assert len(one) == 1
        assert not two


@pytest.mark.parametrize("filtered", [True, False])
def test_what_is_no_stop_is_nothing(filtered: bool, monkeypatch, eventually) -> None:
    """Protects from datagrams that only look like one, with the system's filter and where there is none."""
    if not filtered:
        monkeypatch.setattr(emergency_stop, "_filter", lambda wire: None)
    heard: list[int] = []
    with served(LOCAL, heard) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        place = ("127.0.0.1", int(server.address.rsplit(":", 1)[1]))
        for said in (b"", b"rtsim:s", b"rtsim:su", b"RTSIM:STOP", b"xrtsim:stop", bytes(60_000)):
            for _ in range(50):
                wire.sendto(said, place)
        time.sleep(0.2)
        assert not heard
        # again and again: where the buffer is full of the others, the system drops it
        eventually(lambda: wire.sendto(b"rtsim:st", place) and heard)


def test_a_stop_that_cannot_be_done_is_not_answered() -> None:
    """Protects whoever stops from an answer that is not true; the endpoint lives on."""
    broken = threading.Event()
    broken.set()

    def heard() -> None:
        if broken.is_set():
            raise RuntimeError("no run")

    with (
        ControlServer(LOCAL, lambda command: (True, "done"), ("status",)) as server,
        StopEndpoint(server.address, heard),
    ):
        assert not request_stop(server.address, timeout_s=0.1)
        broken.clear()
        assert request_stop(server.address, timeout_s=GUARD_S)


def test_the_client_of_the_page_is_answered(eventually) -> None:
    """Protects strangers: the lines in docs/protocol.md are a client that stops."""
    heard: list[int] = []
    page = PAGE.read_text(encoding="utf-8")
    code = next(
        block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "rtsim:stop" in block
    )
    with served(LOCAL, heard) as server:
        code = code.replace("5562", server.address.rsplit(":", 1)[1])
        code = "import os, socket\n" + textwrap.dedent(code) + "else:\n    raise AssertionError\n"

        def is_answered() -> bool:  # its two seconds may pass on a busy machine
            try:
                exec(code, {})
            except AssertionError:
                return False
            return True

        eventually(is_answered)
    assert heard
