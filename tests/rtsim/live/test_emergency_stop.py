"""The emergency stop of a running `rtsim hil`, whatever strangers do at its endpoints; real processes."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.control.emergency_stop import ANSWER, WORD, request_stop
from tests.rtsim.live.rig import GUARD_S, ROOT, Rig, until
from tests.streams.access.test_crowd import crowd_of

pytestmark = pytest.mark.process
STOPPED = "-> fault: emergency stop by command"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """A run under torque."""
    with Rig(tmp_path) as rig:
        rig.start_model("--duration", "60")
        rig.start_device()
        rig.arm()
        yield rig


def stop_by_command(rig: Rig, *options: str) -> subprocess.CompletedProcess:
    """`rtsim command emergency_stop`."""
    command = [sys.executable, "-m", "rtsim.cli.main", "command", "emergency_stop", "--control", rig.control]
    return subprocess.run([*command, *options], capture_output=True, text=True, cwd=ROOT, check=False)


def is_stopped(rig: Rig) -> bool:
    """Whether the run has stopped by an emergency stop, and the device hears of no torque."""
    return any(STOPPED in text for text in rig.said) and not rig.outputs[-1].armed


def place_of(rig: Rig) -> tuple[str, int]:
    """Where datagrams go."""
    host, port = rig.control.removeprefix("tcp://").rsplit(":", 1)
    return host, int(port)


@pytest.mark.parametrize("kind", ["silent", "once"])
def test_it_is_heard_among_200_connections_that_stay(rig: Rig, kind: str) -> None:
    """Protects whoever wears it: a crowd at the control endpoint keeps the stop out neither way."""

    def is_heard() -> bool:  # pressed again where a busy machine takes longer than the command waits
        done = stop_by_command(rig)
        ways = ("by datagram: received at udp://", "by command: Emergency stop")
        return done.returncode == 0 and all(way in done.stdout for way in ways)

    with crowd_of(rig.control, kind):
        until(is_heard)
    until(lambda: is_stopped(rig))
    assert not rig.outputs[-1].armed
    assert rig.outputs[-1].torque == [0.0]


@contextlib.contextmanager
def flood(place: tuple[str, int], what: bytes) -> Iterator[None]:
    """Datagrams as fast as they go, until the end, by a process of its own."""
    code = (
        "import socket, sys\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        f"what, place = {what!r}, {place!r}\nprint(flush=True)\n"
        "while True:\n    for _ in range(200):\n        s.sendto(what, place)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no filter keeps the buffer free")
def test_a_flood_of_other_datagrams_keeps_it_out_no_more(rig: Rig) -> None:
    """Protects the endpoint's room: what is no stop is dropped before it takes any."""
    with flood(place_of(rig), b"rtsim:xx" + bytes(1000)):
        assert request_stop(rig.control, timeout_s=GUARD_S)
    until(lambda: is_stopped(rig))


def test_a_flood_of_stops_leaves_the_run_its_processor(rig: Rig) -> None:
    """Protects the loop: what stops it over and over is heard now and then, and ticks go on."""
    with flood(place_of(rig), WORD):
        until(lambda: is_stopped(rig))
        n_before = len(rig.outputs)
        until(lambda: len(rig.outputs) > n_before + 200)
        assert rig.ask("status")[0]


def test_a_handler_that_is_busy_and_a_mailbox_that_is_full_do_not_hold_it_up(rig: Rig) -> None:
    """Protects the stop from commands of others: floods of them, and answers that nobody reads."""
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            rig.ask("set", stiffness_N_m_rad=10.0, over_s=1.0)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        assert request_stop(rig.control, timeout_s=GUARD_S)
        until(lambda: is_stopped(rig))
    finally:
        over.set()
        for thread in threads:
            thread.join()


@pytest.mark.skipif(not hasattr(signal, "SIGUSR2"), reason="the system has no such signal")
def test_the_signal_stops_torque_and_not_the_run(rig: Rig) -> None:
    """Protects whoever wears it where nothing is listened to; a thousand of them end nothing."""
    model = rig._processes[0]
    for _ in range(1000):
        model.send_signal(signal.SIGUSR2)
    until(lambda: is_stopped(rig))
    n_before = len(rig.outputs)
    until(lambda: len(rig.outputs) > n_before + 20)
    assert model.poll() is None


@pytest.mark.skipif(not hasattr(signal, "SIGUSR2"), reason="the system has no such signal")
def test_a_stop_before_a_device_has_come_counts_and_ends_what_was_to_arm(tmp_path: Path) -> None:
    """Protects from `--arm`: a stop by signal or datagram while the run starts is none that is lost."""
    with Rig(tmp_path) as rig:
        rig.start_model("--duration", "60", "--arm", "0.2")
        for n in range(70):
            assert n or request_stop(rig.control, timeout_s=GUARD_S)
            rig._processes[0].send_signal(signal.SIGUSR2)
        rig.start_device()
        until(lambda: len(rig.outputs) > 60)
        assert not any(output.armed for output in rig.outputs)
        until(lambda: is_stopped(rig))


@pytest.mark.skipif(not hasattr(signal, "SIGUSR2"), reason="the system has no such signal")
def test_a_signal_while_the_run_starts_does_not_kill_it(tmp_path: Path) -> None:
    """Protects from a death in silence: the signal is one of its own from the first moments on."""
    with Rig(tmp_path) as rig:
        process = rig.start(
            "hil", str(rig.config), "--device", "none", "--json", "--arm", "0", "--duration", "60"
        )
        handled = Path(f"/proc/{process.pid}/status")
        if handled.exists():  # until the program has the signal
            bit = 1 << (signal.SIGUSR2 - 1)
            until(
                lambda: next(
                    int(line.split()[1], 16) & bit
                    for line in handled.read_text().splitlines()
                    if line.startswith("SigCgt")
                )
            )
        else:
            time.sleep(3.0)
        process.send_signal(signal.SIGUSR2)
        told = json.loads(process.stdout.readline())
        assert told["state"] == "ready"
        assert told["pid"] == process.pid
        assert told["stop"] == told["control"].replace("tcp://", "udp://")
        rig.start_device()
        rig.control = told["control"]
        until(lambda: "emergency stop" in rig.ask("status")[1])


def test_what_a_stranger_writes_by_the_protocols_page(rig: Rig) -> None:
    """Protects the wire: an answer of never more bytes than came, and none to an answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.settimeout(0.3)
        for said, answer in (
            (b"rtsim:stop123", ANSWER),
            (b"rtsim:stop" + b"0123456789abcdefgh", ANSWER + b"0123456789abcde"),
            (b"rtsim:stop" + b"0123456789abcdef" + bytes(9), ANSWER + b"0123456789abcdef"),
            (b"rtsim:stop", b""),
            (b"rtsim:st", b""),
            (b"rtsim:stopped" + bytes(20), b""),
            (b"rtsim:sx" + bytes(20), b""),
        ):
            wire.sendto(said, place_of(rig))
            try:
                heard = wire.recv(100)
            except TimeoutError:
                heard = b""
            assert heard == answer, said
            assert len(heard) <= len(said)
    until(lambda: is_stopped(rig))


def test_a_run_again_has_no_stop_and_says_so(tmp_path: Path) -> None:
    """Protects a replay: no command from outside changes it, and nobody believes to have stopped anything."""
    record = tmp_path / "run.mcap"
    with Rig(tmp_path) as rig:
        options = ["hil", str(rig.config), "--device", str(rig.spec), "--json"]
        run = rig.start(*options, "--record", str(record), "--duration", "4", "--arm", "0.1")
        recorded = json.loads(run.communicate()[0].splitlines()[-1])
        command = [sys.executable, "-m", "rtsim.cli.main", *options, "--again", str(record)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, cwd=ROOT, **pipes) as again:
            told = json.loads(again.stdout.readline())
            assert told["stop"] == ""
            assert not request_stop(told["control"], timeout_s=0.1)
            rig.control = told["control"]
            ok, text = rig.ask("emergency_stop")
            assert not ok
            assert "from the recording" in text
            assert not rig.ask("arm")[0]
            summary, said = again.communicate()
        repeated = json.loads(summary.splitlines()[-1])
        names = ("faults", "fault_s", "arming", "ticks")  # a busy machine may have had a fault of its own
        assert [repeated[name] for name in names] == [recorded[name] for name in names]
        assert "emergency stops, from the recording alone" in said
