"""`rtsim connect`: a capture system as a process of its own, and what is refused in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import numpy as np
import pytest

from benchmarks.adapters.double import DoubledFrame
from benchmarks.adapters.doubles.qtm import QtmDouble
from rtsim.cli.main import outcome
from rtsim.live.processes.children import Child
from streams.clock import now_ns
from streams.receiving.subscriber import Subscriber

NAMES = ("A", "B", "C")


@pytest.fixture
def double():
    served = QtmDouble(NAMES, 100.0)
    served.start()
    yield served
    served.stop()


def frames_of(double: QtmDouble, stop: threading.Event) -> None:
    """Send frames, until told to stop."""
    k = 0
    while not stop.wait(0.01):
        double.send(DoubledFrame(np.full((3, 3), k / 8.0), now_ns(), k))
        k += 1


@pytest.mark.process
def test_a_process_relays_until_it_is_asked_to_end(double):
    """Protects `rtsim live`, which starts it beside: the address is said, and frames come there."""
    stop = threading.Event()
    threading.Thread(target=frames_of, args=(double, stop), daemon=True).start()
    child = Child("connector", ["connect", double.address, "--address=tcp://127.0.0.1:0", "--states"])
    try:
        ready = child.wait_ready(120.0)
        with Subscriber(ready["markers"], ("markers", "telemetry")) as markers:
            frames = [markers.wait(120.0) for _ in range(5)]
            assert all(frame is not None for frame in frames)
            assert markers.session.fields[0].labels == NAMES
            while not markers.telemetry:
                markers.wait(120.0)
            told = markers.telemetry.popleft()
            assert told.counters["frames"] >= told.counters["published"] > 0
    finally:
        stop.set()
        child.close()


@pytest.mark.process
def test_what_was_counted_is_told_at_the_end(double):
    """Protects --json and --duration: one map of counters and gauges on standard output, sentences beside."""
    stop = threading.Event()
    threading.Thread(target=frames_of, args=(double, stop), daemon=True).start()
    command = [
        sys.executable,
        "-m",
        "rtsim.cli.main",
        "connect",
        "qtm",
        double.address.removeprefix("qtm://"),
    ]
    command += ["--address", "tcp://127.0.0.1:0", "--duration", "5", "--json", "--lab", "walker"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    stop.set()
    told = json.loads(done.stdout)
    assert told["counters"]["published"] > 10
    assert told["counters"]["reconnects"] == 0
    assert told["gauges"]["capture_age_ms"] >= 0.0
    assert f"Connected to {double.address}." in done.stderr
    assert "the stream lacks" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "SYSTEM: no system given"),
        (["kinect"], "'kinect' is not a known capture system; allowed: "),
        (["qtm", "localhost:0"], "port 0"),
        (["qtm", "localhost:123456"], "Port out of range"),
        (["qtm", "local host"], "more than a host"),
        (["qtm", "localhost?speed=1"], "option 'speed'; allowed:"),
        (["qtm", "localhost?up=W"], "up is 'W'; allowed:"),
        (["qtm", "localhost?units=ft"], "units is 'ft'; allowed:"),
        (["qtm", "localhost?latency_ms=-1"], "latency_ms is '-1'; allowed: 0 to"),
        (["qtm", "localhost?unnamed=1.5"], "unnamed is 1.5; allowed: whole numbers"),
        (["qtm", "localhost?force_sign=up"], "force_sign is 'up'; allowed:"),
        (["qtm", "localhost?up=Y&up=Z"], "gives an option twice"),
        (["nonsense://localhost"], "not the address of a capture system"),
        (["qtm", "localhost", "--duration", "0"], "--duration"),
        (["qtm", "localhost", "--lab", "nowhere"], "nowhere"),
    ],
)
def test_wrong_input_is_one_sentence(arguments, words, capsys):
    """Protects users: what is wrong, where and what is allowed, and an exit code that is not 0."""
    assert outcome(["connect", *arguments]) != 0
    told = capsys.readouterr().err.strip()
    assert words in told
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["estimate", "--source", "qtm://localhost", "--subject", "walker"], "rtsim connect"),
        (["replay", "qtm://localhost"], "not an address"),
        (
            ["live", "--source", "qtm://a", "--forces", "qtm://b", "--subject", "walker"],
            "not the same capture system",
        ),
        (["live", "--source", "qtm://a?x=1", "--subject", "walker"], "option 'x'"),
    ],
)
def test_other_commands_say_what_to_do_with_a_capture_system(arguments, words, capsys):
    """Protects users of commands that take streams alone: they are told of `rtsim connect`."""
    assert outcome(arguments) == 1
    assert words in capsys.readouterr().err
