"""The doctor's findings on streams and on the installation."""

from __future__ import annotations

import re
import threading
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from kernels.compiler import cache
from rtsim.report import doctor
from rtsim.report.doctor import examine_installation, examine_stream, judge_arrivals
from streams.clock import now_ns
from streams.codec import FieldLayout
from streams.messages import Markers, Session, marker_session, new_session_id
from streams.publisher import Publisher

GUARD_S = 120.0
ROOT = Path(__file__).resolve().parents[3]
NAMES = ("RASI", "LASI", "RPSI")


@pytest.fixture
def playing() -> Iterator[Callable[..., str]]:
    """Plays some frames of a session to the first listener, ends, and gives the address."""
    threads = []

    def play(
        session: Session, frames: list[np.ndarray], seqs: list[int] | None = None, ends: bool = True
    ) -> str:
        ready = threading.Event()
        address = []

        def work() -> None:
            with Publisher("tcp://127.0.0.1:0") as publisher:
                address.append(publisher.address)
                ready.set()
                publisher.announce(session)
                publisher.wait_for_subscriber(GUARD_S)
                layout = FieldLayout(session)
                for index, positions in enumerate(frames):
                    data = layout.pack({"positions": positions} if layout.specs else {})
                    seq = index if seqs is None else seqs[index]
                    publisher.send(
                        Markers(
                            session=session.session, seq=seq, t_capture=now_ns(), time=0.01 * index, data=data
                        )
                    )
                if ends:
                    publisher.end("that was all")

        threads.append(threading.Thread(target=work))
        threads[-1].start()
        assert ready.wait(GUARD_S)
        return address[0]

    yield play
    for thread in threads:
        thread.join(GUARD_S)


def told(findings, good: bool) -> str:
    return "\n".join(finding.text for finding in findings if finding.good == good)


def session_of(names=NAMES, rate: float = 0.0) -> Session:
    return marker_session(names, rate=rate, t_start=0)


def test_a_sound_stream_is_found_sound(playing):
    """Protects against false alarms: a stream that ends properly is no trouble."""
    findings = examine_stream(playing(session_of(), [np.ones((3, 3))] * 20), None, GUARD_S, None)
    assert told(findings, False) == ""
    assert "markers stream" in told(findings, True)
    assert "20 frames" in told(findings, True)
    assert "0.0 % of the marker coordinates are occluded" in told(findings, True)


def test_gaps_and_copies_are_found(playing):
    """Protects the search for a faulty sender: what was lost or came twice is told as bad."""
    address = playing(session_of(), [np.ones((3, 3))] * 5, seqs=[0, 1, 1, 2, 7])
    bad = told(examine_stream(address, None, GUARD_S, None), False)
    assert "4 frames lost" in bad
    assert "came twice" in bad


def test_occlusion_and_foreign_markers_are_found(playing):
    """Protects against cameras that see little, and a stream of somebody else."""
    hidden = np.full((3, 3), np.nan)
    hidden[0] = 1.0
    findings = examine_stream(playing(session_of(), [hidden] * 5), "walker", GUARD_S, None)
    bad = told(findings, False)
    assert "66.7 % of the marker coordinates are occluded" in bad
    assert "14 of the subject's 17 markers are not in the stream's 3 markers" in bad


def test_a_descriptor_without_frames_is_found(playing):
    """Protects against a paused sender."""
    bad = told(examine_stream(playing(session_of(), []), None, GUARD_S, None), False)
    assert "only 0 frames: check whether the sender is paused" in bad


def test_a_session_without_fields_is_survived(playing):
    """Protects the doctor from descriptors that describe nothing."""
    empty = Session(session=new_session_id(), stream="markers", t_start=0, rate=0.0, fields=())
    findings = examine_stream(playing(empty, [np.ones((3, 3))] * 3), None, GUARD_S, None)
    assert "3 frames" in told(findings, True)


def test_silence_is_found():
    """Protects the user of a wrong address: the remedy is named."""
    with Publisher("tcp://127.0.0.1:0") as publisher:
        findings = examine_stream(publisher.address, None, 0.1, None)
    assert not any(finding.good for finding in findings)
    assert "nothing arrived" in told(findings, False)
    assert "firewall" in told(findings, False)


@pytest.mark.parametrize(
    ("rate", "good"), [(0.0, True), (100.0, True), (120.0, True), (50.0, False), (200.0, False)]
)
def test_the_rate_is_compared_with_the_descriptors(rate, good):
    """Protects against a wrong rate, on which lateness is judged."""
    stamps = [(10_000_000 * index, index) for index in range(50)]
    findings = judge_arrivals(session_of(rate=rate), stamps)
    assert (told(findings, False) == "") == good
    assert "100.0 Hz" in told(findings, True)


def test_this_installation_is_sound():
    """Protects the doctor of the installation: here, where the tests run, nothing is wrong."""
    findings = examine_installation()
    assert told(findings, False) == ""
    for words in (
        "Python",
        "numba",
        "configs that come with rtsim",
        "kernel cache",
        "10 of 10 frames arrived over the loopback address",
    ):
        assert words in told(findings, True)


def test_a_missing_package_and_an_unwritable_cache_are_found(monkeypatch, tmp_path):
    """Protects half installations: what is missing and how to get it."""
    assert not doctor.package("no-such-package").good
    assert "pip install no-such-package" in doctor.package("no-such-package").text
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(cache, "_faults", [])
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    finding = doctor.kernel_cache()
    assert not finding.good
    assert "NUMBA_CACHE_DIR" in finding.text
    missing = doctor.monitor_library("no_such_window_library", "windows")
    assert missing.good  # only the monitor needs it
    remedy = "in a checkout of rtsim run pip install -e '.[monitor]', elsewhere pip install windows"
    assert remedy in missing.text


def test_every_package_of_the_core_is_looked_for():
    """Protects the doctor from saying that all is well where a package is missing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core = {re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in project["dependencies"]}
    assert set(doctor.NEEDED) == core
