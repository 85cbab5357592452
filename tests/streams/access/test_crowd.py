"""Crowds at bound sockets, of real processes: a newcomer gets in, and who is served stays."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.access import crowd
from streams.access.key_files import create_keys
from streams.access.security import Security
from streams.codec import FieldLayout
from streams.control.commands import ControlServer, request
from streams.exchange import DevicePort, ModelLink
from streams.messages import Device, Markers, Session, marker_session
from streams.publisher import Publisher
from streams.receiving.subscriber import Subscriber

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a connection received"),
]
GUARD_S, N = 120.0, 200
LOCAL = "tcp://127.0.0.1:0"
ROOT = Path(__file__).resolve().parents[3]


@contextlib.contextmanager
def crowd_of(address: str, kind: str, *keys: str, n: int = N) -> Iterator[subprocess.Popen]:
    """A crowd of one kind, until the end."""
    words = [sys.executable, "-m", "tests.streams.crowds", address, str(n), kind, *keys]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "there\n"
            yield process
        finally:
            process.kill()


@pytest.fixture
def keys(tmp_path) -> tuple[Security, Security]:
    """Security of a server, and of a client that it knows."""
    server_public, server_secret = create_keys(tmp_path / "server", "server")
    public, secret = create_keys(tmp_path / "client", "client")
    (tmp_path / "allowed").mkdir()
    public.rename(tmp_path / "allowed" / public.name)
    return Security.for_server(server_secret, tmp_path / "allowed"), Security.for_client(
        secret, server_public
    )


def answered(address: str, client: Security | None = None, n: int = 8) -> list[bool]:
    """Whether newcomers, one after the other, are answered, for about two seconds or more."""
    found = []
    for _ in range(n):
        found.append(request(address, "status", timeout_s=GUARD_S, security=client)[0])
        time.sleep(0.2)
    return found


@pytest.mark.parametrize("kind", ["silent", "half", "nothing", "drip", "once", "pongs", "holders"])
def test_a_newcomers_command_is_answered_whoever_crowds_the_endpoint(kind: str) -> None:
    """Protects who gives commands from 200 connections that shake hands and stay, and come back when cut."""
    began = time.monotonic()
    with ControlServer(LOCAL, lambda command: (True, "done"), ("status",)) as server:
        with crowd_of(server.address, kind):
            assert all(answered(server.address))
        assert len(server.events) < 16 + 2.0 * (time.monotonic() - began)  # of thousands that were cut off


@pytest.mark.parametrize("kind", ["silent", "half", "holders"])
def test_a_newcomer_with_a_key_is_answered_too(kind: str, keys) -> None:
    """Protects the same where keys are demanded, from strangers and from holders of a key."""
    server_keys, client = keys
    with ControlServer(LOCAL, lambda command: (True, "done"), ("status",), server_keys) as server:
        of_holders = [str(client.client_key), str(client.server_public_key)] if kind == "holders" else []
        with crowd_of(server.address, kind, *of_holders, n=100 if of_holders else N):
            assert all(answered(server.address, client))


def frames_until(publisher: Publisher, session: Session, over: threading.Event) -> None:
    """Publish and serve as a loop does, until told."""
    data, seq = FieldLayout(session).pack({"positions": [[0.0, 0.0, 0.0]]}), 0
    while not over.is_set():
        publisher.send(Markers(session=session.session, seq=seq, t_capture=1, time=0.0, data=data))
        publisher.service()
        seq += 1
        time.sleep(0.005)


@pytest.mark.parametrize("kind", ["listeners", "nothing", "deaf"])
def test_a_crowd_at_the_results_keeps_nobody_out_and_pushes_nobody_out(kind: str, eventually) -> None:
    """Protects monitor and recorder: a subscriber that is there misses nothing, another one gets in.

    A crowd that says nothing goes; so does one that subscribes and reads nothing.
    """
    session, over = marker_session(["LASI"], rate=100.0, t_start=0), threading.Event()
    with Publisher(LOCAL) as publisher:
        publisher.announce(session)
        loop = threading.Thread(target=frames_until, args=(publisher, session, over))
        with Subscriber(publisher.address, ["markers"], backlog=4000) as early:
            assert publisher.wait_for_subscriber(GUARD_S)
            loop.start()
            try:
                with crowd_of(publisher.address, kind):
                    time.sleep(4.0 if kind == "deaf" else 1.0)
                    with Subscriber(publisher.address, ["markers"]) as late:
                        eventually(lambda: late.wait(0.1) is not None)
                assert early.wait(GUARD_S) is not None
                told = [*early.events, *publisher.events]
                assert early.counters["lost"] == 0, told
            finally:
                over.set()
                loop.join()


def test_a_true_device_gets_in_and_nobody_takes_its_place() -> None:
    """Protects the exchange with a device from silent connections at its endpoint."""
    with DevicePort(LOCAL) as port, crowd_of(port.address, "silent"), ModelLink(port.address) as link:
        n_heard, due = 0, time.monotonic() + GUARD_S
        while n_heard < 100:
            assert time.monotonic() < due, f"{n_heard} were heard"
            link.send(
                Device(session="", seq=n_heard, t=1, angle=[0.0], speed=[0.0], torque=[0.0], state="disarmed")
            )
            n_heard += port.poll(20) and port.receive()
        port.keeps = True
        time.sleep(3.0)  # it is silent for long, among a crowd that comes and goes, and stays
        link.send(Device(session="", seq=9999, t=2, angle=[0.0], speed=[0.0], torque=[0.0], state="disarmed"))
        assert port.poll(round(1e3 * GUARD_S))
        assert port.receive()


class Wire:
    """Stands for a connection of a crowd."""

    def __init__(
        self, since_ms: float, heard_ms: float = -1.0, kept: bool = False, foreign: bool = False
    ) -> None:
        now = 10_000.0
        self.since_ns, self.heard_ns = round(1e6 * (now + since_ms)), round(1e6 * (now + heard_ms))
        self.heard_ns *= heard_ms != -1.0
        self.kept, self.foreign, self.guilty, self.stuck = kept, foreign, "", False

    @property
    def active_ns(self) -> int:
        return max(self.since_ns, self.heard_ns)

    def takes_nothing(self, now: int) -> bool:
        return self.stuck


@pytest.fixture
def gone(monkeypatch):
    """Who has to go of a crowd, at ten seconds."""
    monkeypatch.setattr(crowd, "now_ns", lambda: 10_000_000_000)

    def judged(connections: list[Wire]) -> list[Wire]:
        crowd.condemn(dict(enumerate(connections)), lambda one: one.foreign)
        return [one for one in connections if one.guilty]

    return judged


def test_who_goes_first(gone) -> None:
    """Protects the order: who never spoke and is old, then who was silent longest, never a newcomer."""
    mute = [Wire(-9000 + k) for k in range(30)]
    spoke = [Wire(-9500, -8000 + k) for k in range(30)]
    new = [Wire(-100) for _ in range(10)]
    assert gone([*new, *spoke, *mute]) == mute[:6]
    for one in mute:
        one.guilty = ""
    assert gone([*new, *spoke, *mute, *[Wire(-50) for _ in range(30)]]) == [*spoke[:6], *mute]
    assert not gone([Wire(-9000) for _ in range(crowd.PLACES)])
    just_come = [Wire(-20 - 0.5 * k) for k in range(crowd.MOST + 3)]
    assert gone(just_come) == just_come[-3:]


def test_who_is_served_stays_for_newcomers_and_gives_way_to_none_but_its_equals(gone) -> None:
    """Protects subscribers: of too many, other users' go, then who takes nothing, then the last that came."""
    served = [Wire(-9000 + k, kept=True) for k in range(crowd.PLACES)]
    assert not gone([*served, *[Wire(-100) for _ in range(100)]])
    last = Wire(-100, kept=True)
    assert gone([*served, last]) == [last]
    last.guilty = ""
    served[5].stuck = True
    assert gone([*served, last]) == [served[5]]
    served[5].guilty = ""
    served[7].foreign = True
    assert gone([*served, last]) == [served[7]]
