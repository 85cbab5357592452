"""Commands in floods: each is answered, and the loop has no more to do than there are kinds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
import zmq

from rtsim.live.paced import paced_loop
from streams.codec import decode, encode
from streams.control.commands import ControlServer
from streams.messages import Command, Status, Telemetry
from streams.publisher import Publisher
from streams.receiving.subscriber import Subscriber

LOCAL = "tcp://127.0.0.1:0"
GUARD_S = 120.0
STALE = int(Status.STALE)
N = 100


@pytest.fixture
def flood() -> Callable[[str, list[Command]], list[Telemetry]]:
    """Send commands all at once, as DEALER; the answers."""

    def send(address: str, commands: list[Command]) -> list[Telemetry]:
        with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
            socket.connect(address)
            socket.rcvtimeo = int(1000 * GUARD_S)
            for command in commands:
                socket.send_multipart([b"", *encode(command)])
            return [decode(socket.recv_multipart()[1:]) for _ in commands]

    return send


def test_of_a_flood_of_methods_the_last_holds(start, trial, make_session, flood):
    """Protects the loop: each command is answered, and only now and then is a new result session begun."""
    run = start()
    run.source.begin(make_session())
    run.source.send(trial.positions[0])
    run.read(1)
    sessions = set()
    with zmq.Context() as context, context.socket(zmq.SUB) as listener:
        listener.connect(run.loop.output.address)
        listener.subscribe(b"session")
        listener.rcvtimeo = int(1000 * GUARD_S)
        sessions.add(decode(listener.recv_multipart()).session)
        methods = ["prescribed", "minimised"] * (N // 2) + ["zero"]
        answers = flood(run.control, [Command(name="set_method", args={"method": m}) for m in methods])
        assert [answer.gauges["ok"] for answer in answers] == [1.0] * (N + 1)
        run.source.send(trial.positions[1])
        seen = run.read(2, lambda seen: not seen.status & STALE)
        while seen[-1].session.session not in sessions:
            sessions.add(decode(listener.recv_multipart()).session)
    assert seen[-1].session.meta["method"] == "zero"
    assert len(sessions) < N / 2
    run.source.end()
    run.finish()


def test_an_answer_that_quotes_a_command_can_always_be_sent(start, trial, make_session, flood):
    """Protects the control endpoint: a method of thousands of characters, with escape codes, is refused."""
    run = start()
    run.source.begin(make_session())
    run.source.send(trial.positions[0])
    for method in ("\x1b[2J" * 1000, "\x00" * 3000, [["x" * 1000]] * 3, {"\x1b": "\u202e"}):
        (answer,) = flood(run.control, [Command(name="set_method", args={"method": method})])
        assert answer.gauges["ok"] == 0.0
        assert len(answer.text[0]) <= 300
        assert answer.text[0].isprintable()
        assert "minimised" in answer.text[0]
    run.source.end()
    run.finish()


def test_of_a_flood_of_restarts_few_are_done(simulator, flood):
    """Protects a simulation's ticks: the newest word of each kind holds, and every command is answered."""
    with Publisher(LOCAL) as publisher:
        loop = paced_loop(simulator, publisher, rate=20.0, frame_rate=20.0)
        with (
            ControlServer(LOCAL, loop.command, loop.commands) as control,
            Subscriber(publisher.address, ("result", "telemetry"), backlog=1000) as results,
        ):
            assert publisher.wait_for_subscriber(GUARD_S)
            thread, began = threading.Thread(target=loop.run), time.monotonic()
            thread.start()
            assert results.wait(GUARD_S) is not None
            names = ["restart", "resume", "pause"] * N
            answers = flood(control.address, [Command(name=name) for name in names])
            assert all(answer.gauges["ok"] == 1.0 for answer in answers)
            due = time.monotonic() + GUARD_S
            frame = None
            while frame is None or not frame.status & STALE:  # it holds, as the last word of its kind said
                frame = results.wait(0.1)
                assert time.monotonic() < due
            flood(control.address, [Command(name="stop")])
            thread.join(GUARD_S)
            assert not thread.is_alive()
    n_tick = 20.0 * (time.monotonic() - began) + 1.0  # at the most, and each does one
    assert 1 <= loop.stages[0].counters["restarts"] <= n_tick
