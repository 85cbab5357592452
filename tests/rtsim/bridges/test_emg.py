"""Electromyograms over Lab Streaming Layer: a real outlet's envelopes are results, over its restarts."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest

from rtsim.bridges.emg import FIELD, EmgRelay, shared_unit
from rtsim.errors import ConfigError
from rtsim.units import ON_SCREEN, face_of
from streams.capture.lsl import sender_clock
from streams.clock import now_ns
from streams.publisher import Publisher
from streams.receiving.subscriber import Subscriber

pylsl = pytest.importorskip("pylsl")

GUARD_S = 120.0
MUSCLES = ("tibialis_anterior_r", "gastrocnemius_r")


def outlet(name: str, rate: float = 1000.0) -> pylsl.StreamOutlet:
    """A sender of two muscles."""
    info = pylsl.StreamInfo(name, "EMG", 2, rate, pylsl.cf_float32, name)
    channels = info.desc().append_child("channels")
    for muscle in MUSCLES:
        channel = channels.append_child("channel")
        channel.append_child_value("label", muscle)
        channel.append_child_value("unit", "uV")
    return pylsl.StreamOutlet(info)


def test_envelopes_are_results_and_go_on_after_a_restart() -> None:
    """Protects EMG beside a run: names, unit and envelope as results, in one session over a restart."""
    name, told, stop = f"emg {os.getpid()}", [], threading.Event()
    sender = outlet(name)
    with Publisher("tcp://127.0.0.1:0") as publisher:
        subscriber = Subscriber(publisher.address, ("result",), backlog=4096)
        relay = EmgRelay(name, publisher, 0.0, told.append)
        thread = threading.Thread(target=relay.run, args=(stop,), daemon=True)
        thread.start()
        try:
            last, sessions = [], set()
            for n in (1, 2):
                due, seen = time.monotonic() + GUARD_S, 0
                k = 0
                while seen < 40 or (n == 2 and not any("available again" in line for line in told)):
                    assert time.monotonic() < due, told
                    for _ in range(10):
                        tone = float(np.sin(0.3 * np.pi * k))
                        sender.push_sample([tone, 10.0 * tone])
                        k += 1
                    while (frame := subscriber.wait(0.01)) is not None:
                        seen += 1
                        sessions.add(frame.session.session)
                        last = [frame.session.fields[0], frame.data["emg_envelope"].copy(), frame.seq]
                if n == 1:
                    del sender
                    sender = outlet(name)
        finally:
            stop.set()
            thread.join(GUARD_S)
            subscriber.close()
    field, values, seq = last
    assert (field.labels, field.unit) == (MUSCLES, "uV")
    assert values[0] > 0.05
    assert values[1] == pytest.approx(10.0 * values[0], rel=1e-3)
    assert len(sessions) == 1
    assert seq >= 79
    assert any("available again" in sentence for sentence in told)


def test_stamps_of_another_clock_are_mapped_by_arrivals(monkeypatch) -> None:
    """Protects t_capture of senders whose stamps are the time of their device: liblsl's clock, which they are
    not of, would date them hours back.
    """
    monkeypatch.setattr(sender_clock, "PATIENCE_NS", 100_000_000)
    name, told, stop = f"emg of a device {os.getpid()}", [], threading.Event()
    sender, began = outlet(name), now_ns()
    with Publisher("tcp://127.0.0.1:0") as publisher:
        subscriber = Subscriber(publisher.address, ("result",), backlog=4096)
        relay = EmgRelay(name, publisher, 0.0, told.append)
        thread = threading.Thread(target=relay.run, args=(stop,), daemon=True)
        thread.start()
        try:
            due, captured = time.monotonic() + GUARD_S, []
            while len(captured) < 20:
                assert time.monotonic() < due, told
                for _ in range(10):
                    sender.push_sample([0.0, 0.0], 20.0 + 1e-9 * (now_ns() - began))
                while (frame := subscriber.wait(0.01)) is not None:
                    if any("time stamps" in line for line in told):
                        captured.append((frame.t_capture, now_ns()))
        finally:
            stop.set()
            thread.join(GUARD_S)
            subscriber.close()
    assert all(began < t_capture <= arrived for t_capture, arrived in captured)
    del sender


@pytest.mark.parametrize(
    ("stated", "unit", "words"),
    [
        (["uV", " uV "], "uV", ""),
        (["", " "], "", "state no unit"),
        (["uV", "mV"], "", "in different units (mV, uV)"),
        (["", "mV"], "", "in different units (none, mV)"),
    ],
)
def test_a_unit_that_is_not_known_is_none_and_told(stated: list[str], unit: str, words: str) -> None:
    """Protects whoever reads the curves: without a unit they are no fractions, which are drawn as percent."""
    found, why = shared_unit(stated)
    assert found == unit
    assert words in why
    assert bool(why) == (not unit)
    assert face_of(found, ON_SCREEN) == (unit, 1.0)


def test_a_stream_without_units_is_relayed_without_one() -> None:
    """Protects EMG of senders that state no unit: numbers as they come, and the lack is said once."""
    name, told, stop = f"emg without units {os.getpid()}", [], threading.Event()
    sender = pylsl.StreamOutlet(pylsl.StreamInfo(name, "EMG", 2, 1000.0, pylsl.cf_float32, name))
    with (
        Publisher("tcp://127.0.0.1:0") as publisher,
        Subscriber(publisher.address, ("result",)) as subscriber,
    ):
        thread = threading.Thread(target=EmgRelay(name, publisher, 0.0, told.append).run, args=(stop,))
        thread.start()
        try:
            due, frame = time.monotonic() + GUARD_S, None
            while frame is None:
                assert time.monotonic() < due, told
                sender.push_sample([0.0, 0.0])
                frame = subscriber.wait(0.01)
            spec = frame.session.fields[0]
        finally:
            stop.set()
            thread.join(GUARD_S)
    assert (spec.name, spec.unit) == (FIELD, "")
    assert sum("its channels state no unit, so its envelopes have no unit" in line for line in told) == 1


def test_streams_that_are_no_electromyograms_are_refused() -> None:
    """Protects against envelopes of envelopes, and rates that nobody tells."""
    slow, untold = outlet(f"slow {os.getpid()}", 50.0), outlet(f"untold {os.getpid()}", 0.0)
    with Publisher("tcp://127.0.0.1:0") as publisher:
        for name, words in (("slow", "raw electromyogram"), ("untold", "does not state its rate")):
            with pytest.raises(ConfigError, match=words):
                EmgRelay(f"{name} {os.getpid()}", publisher, 0.0, print).run(threading.Event())
        with pytest.raises(ConfigError, match="quotation mark"):
            EmgRelay("it's", publisher, 0.0, print)
    del slow, untold
