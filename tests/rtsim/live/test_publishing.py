"""When a result is stamped: right before its encoding, whose time is told by telemetry alone."""

from __future__ import annotations

import threading
import time

from rtsim.live.paced import paced_loop
from streams.publisher import Publisher
from streams.receiving.subscriber import Subscriber

LOCAL = "tcp://127.0.0.1:0"
GUARD_S = 120.0
SLOW_S = 0.02


def slowly(send):
    """A way of sending that takes SLOW_S longer."""

    def slow(message):
        time.sleep(SLOW_S)
        send(message)

    return slow


def test_sending_counts_as_publishing(start, trial, make_session, monkeypatch):
    """Protects the meaning of the stamp, and of publish_us: encoding and sending come after t_published."""
    run = start()
    publisher = run.loop.output
    monkeypatch.setattr(publisher, "send", slowly(publisher.send))
    run.source.begin(make_session())
    run.source.send(trial.positions[0])
    run.source.end()
    run.finish()
    gauges = run.final.gauges
    assert gauges["publish_us.p50"] > 0.9e6 * SLOW_S
    assert gauges["publish_us.max"] >= 1e6 * SLOW_S


def test_sending_counts_as_publishing_in_a_simulation(simulator, monkeypatch):
    """Protects the same gauge of a simulation, whose ticks include it."""
    with Publisher(LOCAL) as publisher:
        loop = paced_loop(simulator, publisher, rate=20.0, frame_rate=20.0, duration_s=0.2)
        monkeypatch.setattr(publisher, "send", slowly(publisher.send))
        with Subscriber(publisher.address, ("result", "telemetry"), backlog=100) as results:
            assert publisher.wait_for_subscriber(GUARD_S)
            thread = threading.Thread(target=loop.run)
            thread.start()
            frame = results.wait(GUARD_S)
            thread.join(GUARD_S)
            while not results.ended:
                results.wait(0.1)
            gauges = results.telemetry[-1].gauges
    assert frame is not None
    assert frame.t_solved <= frame.t_published <= frame.t_arrived - int(1e9 * SLOW_S)
    assert gauges["publish_us.p50"] > 0.9e6 * SLOW_S
