"""`rtsim calibrate ADDRESS`: a subject out of the first seconds in which a person stands still."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.adapters.double import DoubledFrame
from benchmarks.adapters.doubles.qtm import QtmDouble
from rtsim.subjects.subject import load_subject
from streams.clock import now_ns
from streams.codec import FieldLayout
from streams.messages import marker_session
from streams.publisher import Publisher
from streams.recording.player import KINDS
from tests.rtsim.subjects.conventional.persons import person

STANDS = person(n=1)
WIDTHS = ("--knee-width", "100", "--ankle-width", "70", "--leg-length", "880,870")


def stream(send: Callable[[int, np.ndarray], None], stop: threading.Event) -> None:
    """Frames of a person who stands, 100 a second, until told to stop."""
    k = 0
    while not stop.wait(0.01):
        send(k, STANDS.positions[0] + [0.003 * np.sin(0.05 * k), 0.0, 0.0])
        k += 1


@pytest.fixture
def unseen(request: pytest.FixtureRequest) -> str:
    """The marker that the stream does not show, "" = it shows all."""
    return getattr(request, "param", "")


@pytest.fixture
def address(unseen: str) -> Iterator[str]:
    """Of a live stream of a person who stands."""
    stop = threading.Event()
    with Publisher("tcp://127.0.0.1:0") as publisher:
        session = marker_session(STANDS.names, rate=100.0, t_start=now_ns())
        layout = FieldLayout(session)
        publisher.announce(session)

        def send(k: int, x: np.ndarray) -> None:
            x[[name == unseen for name in STANDS.names]] = np.nan
            frame = {"session": session.session, "seq": k, "time": k / 100.0, "t_capture": now_ns()}
            publisher.send(KINDS["markers"](**frame, data=layout.pack({"positions": x})))
            publisher.service()

        thread = threading.Thread(target=stream, args=(send, stop))
        thread.start()
        yield publisher.address
        stop.set()
        thread.join()


@pytest.mark.process
def test_ends_by_itself_when_it_is_good_enough(start, address: str, tmp_path: Path) -> None:
    """Protects the whole way: what it sees is told, a subject with both legs is written, exit 0."""
    out = tmp_path / "anna.toml"
    done = start("calibrate", address, "--out", str(out), "--seconds", "1", *WIDTHS).wait()
    assert done.code == 0, done.err
    assert "16 of 16 markers, movement" in done.err
    assert re.search(r"stood still long enough: [1-9]\d*\.\d s were used", done.err)  # more on a busy machine
    subject = load_subject(out)
    assert (subject.name, subject.side) == ("anna", "both")
    assert set(subject.conventional) == {"right", "left"}


@pytest.mark.process
@pytest.mark.parametrize(("unseen", "kept"), [("", True), ("RTOE", False)], indirect=["unseen"])
def test_ctrl_c_keeps_what_is_good(start, address: str, tmp_path: Path, kept: bool) -> None:
    """Protects who stood for some seconds: they are taken; with too few of them nothing is written."""
    out = tmp_path / "anna.toml"
    process = start("calibrate", address, "--out", str(out), "--seconds", "40", *WIDTHS)
    text = process.said(" s counted")
    while kept and not re.search(r"(1\.[2-9]|[2-9]\.\d) s counted", text):
        time.sleep(0.02)
        text = process.said("")
    process.popen.send_signal(signal.SIGINT)
    done = process.wait()
    assert done.code == 130
    assert out.exists() == kept, done.err
    assert ("ended early" if kept else "nothing was written") in done.err


@pytest.mark.process
def test_from_a_capture_system(start, tmp_path: Path) -> None:
    """Protects `calibrate qtm://...`: the system is relayed beside, and ends with the command."""
    double, stop = QtmDouble(STANDS.names, 100.0), threading.Event()
    double.start()

    def send(k: int, x: np.ndarray) -> None:
        double.send(DoubledFrame(x, now_ns(), k))

    thread = threading.Thread(target=stream, args=(send, stop))
    thread.start()
    try:
        out = tmp_path / "anna.toml"
        done = start("calibrate", double.address, "--out", str(out), "--seconds", "1", *WIDTHS).wait()
    finally:
        stop.set()
        thread.join()
        double.stop()
    assert done.code == 0, done.err
    assert load_subject(out).side == "both"


def test_what_does_not_go_together(here, tmp_path: Path) -> None:
    """Protects the command line: a stream needs a name for its subject, a file no seconds."""
    assert (
        "--out: the name of the subject file cannot be derived from a stream"
        in here("calibrate", "tcp://127.0.0.1:1").sentence
    )
    out = ("--out", str(tmp_path / "a.toml"))
    assert (
        "--static: the option applies only to files"
        in here("calibrate", "qtm://127.0.0.1", "--static", "a", *out).sentence
    )
    assert (
        "--seconds: the option applies only to streams"
        in here("calibrate", "a.c3d", "--seconds", "3").sentence
    )
    assert (
        "allowed: a duration of 1 to 60 s"
        in here("calibrate", "tcp://127.0.0.1:1", "--seconds", "0.1", *out).sentence
    )
    assert "--seconds: 0; allowed" in here("calibrate", "tcp://127.0.0.1:1", "--seconds", "0", *out).sentence
    assert "--within: 0; allowed" in here("calibrate", "tcp://127.0.0.1:1", "--within", "0", *out).sentence
