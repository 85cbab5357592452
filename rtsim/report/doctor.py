"""The checks of `rtsim doctor`; each finding is one sentence, and a bad one includes its remedy."""

from __future__ import annotations

import importlib
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

import numpy as np

from rtsim.config.paths import configs_root, find_config
from rtsim.errors import RtsimError
from streams.access.security import Security
from streams.account import plain
from streams.clock import now_ns
from streams.errors import StreamError
from streams.messages import Session, marker_session
from streams.publisher import Publisher
from streams.receiving.subscriber import Subscriber
from streams.recording.player import MarkerFrames, play

NEEDED = ("numba", "numpy", "scipy", "pyzmq", "msgspec", "msgpack", "mcap", "ezc3d", "rich", "click")
OPTIONAL = (("pyqtgraph", "pyqtgraph"), ("PySide6", "PySide6-Essentials"))
SILENCE_REMEDY = (
    "start the program that sends; check its host and port, and whether a firewall blocks its data"
)
# what a subscriber says of a stream that is in order
HARMLESS = ("The stream ended", "A new session", "Connected to")


class DoctorFinding(NamedTuple):
    """One finding of `rtsim doctor` on the installation or on a stream.

    good : whether all is well
    text : the finding, with the remedy if it is bad
    lacks : whether the finding is bad only because a component is missing that not all commands need
    """

    good: bool
    text: str
    lacks: bool = False


def examine_installation() -> list[DoctorFinding]:
    """Check Python, packages, configs, kernels, a stream over the loopback address, and the libraries of the
    monitor.
    """
    findings = [python_version()]
    findings += [package(name) for name in NEEDED]
    findings += [shipped_configs(), kernel_cache(), loopback()]
    return findings + [monitor_library(module, name) for module, name in OPTIONAL]


def python_version() -> DoctorFinding:
    good = (3, 11) <= sys.version_info[:2] <= (3, 14)
    text = f"Python {platform.python_version()} on {platform.system()}"
    return DoctorFinding(
        good,
        text
        if good
        else f"{text}: rtsim needs Python 3.11 to 3.14; create the environment with one of these",
    )


def package(name: str) -> DoctorFinding:
    try:
        return DoctorFinding(True, f"{name} {version(name)}")
    except PackageNotFoundError:
        return DoctorFinding(False, f"{name} is not installed; run: pip install {name}")


def shipped_configs() -> DoctorFinding:
    try:
        n_config = len(list(configs_root().glob("*/*.toml")))
    except RtsimError as error:
        return DoctorFinding(False, str(error))
    return DoctorFinding(n_config > 0, f"{n_config} configs that come with rtsim, in {configs_root()}")


def kernel_cache() -> DoctorFinding:
    from kernels.compiler.cache import cache_fault, cache_root, n_cached

    if cache_fault():
        return DoctorFinding(False, cache_fault())
    n_kernel = n_cached()
    state = (
        f"{n_kernel} kernels compiled" if n_kernel else "no kernels are compiled yet: run `rtsim warmup` once"
    )
    return DoctorFinding(True, f"kernel cache {cache_root()}: {state}")


def loopback() -> DoctorFinding:
    """Send ten frames of a marker stream over the loopback address, and report whether they arrive."""
    frames = MarkerFrames(np.arange(10) * 0.01, np.zeros((10, 1, 3)))
    try:
        with (
            Publisher("tcp://127.0.0.1:0") as publisher,
            Subscriber(publisher.address, ("markers",), backlog=16) as subscriber,
        ):
            play(publisher, marker_session(("probe",), rate=100.0, t_start=now_ns()), frames)
            n_frame = 0
            while n_frame < 10 and subscriber.wait(1.0) is not None:
                n_frame += 1
    except StreamError as error:
        return DoctorFinding(False, f"no stream can be sent over the loopback address 127.0.0.1: {error}")
    good = n_frame == 10
    return DoctorFinding(
        good,
        f"{n_frame} of 10 frames arrived over the loopback "
        "address" + ("" if good else "; check the firewall"),
    )


def monitor_library(module: str, name: str) -> DoctorFinding:
    try:
        importlib.import_module("PySide6.QtWidgets" if module == "PySide6" else module)
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError)
        remedy = (
            f"in a checkout of rtsim run pip install -e '.[monitor]', elsewhere pip install {name}"
            if missing
            else "install the system packages named in the README"
        )
        said = f"{name} cannot be used ({error}); only the monitor window and figures need it: {remedy}"
        return DoctorFinding(True, said, lacks=True)
    return DoctorFinding(True, f"{name} {version(name)} (monitor window, figures)")


def examine_stream(
    address: str, subject: str | None, seconds: float, security: Security | None
) -> list[DoctorFinding]:
    """Listen to a marker or result stream for some seconds and return findings on its rate, gaps and labels.

    subject : name or file of the subject whose marker names are expected; None = not checked
    """
    for stream in ("markers", "result"):
        with Subscriber(address, (stream,), backlog=1024, security=security) as subscriber:
            due = time.monotonic() + seconds
            stamps: list[tuple[int, int]] = []
            n_missing = n_value = 0
            while time.monotonic() < due and not subscriber.ended:
                frame = subscriber.wait(0.1)
                if frame is not None:
                    stamps.append((frame.t_arrived, frame.seq))
                    for values in list(frame.data.values())[:1]:
                        n_missing, n_value = n_missing + int(np.isnan(values).sum()), n_value + values.size
            session = subscriber.session
            if session is None:
                continue
            findings = [DoctorFinding(True, describe(session))]
            findings += judge_arrivals(session, stamps)
            findings += [DoctorFinding(said.startswith(HARMLESS), said) for said in subscriber.events]
            if stream == "markers":
                findings += judge_markers(session, subject, n_missing, n_value)
            return findings
    return [DoctorFinding(False, f"nothing arrived from {address} in {2 * seconds:g} s: {SILENCE_REMEDY}")]


def describe(session: Session) -> str:
    """Return a sentence on a stream from its session descriptor: kind, session number, rate, and names,
    shapes and units of the first fields.
    """
    fields = ", ".join(f"{plain(f.name)} {list(f.shape)} [{plain(f.unit)}]" for f in session.fields[:4])
    more = f" and {len(session.fields) - 4} more" if len(session.fields) > 4 else ""
    return f"{session.stream} stream {session.session} at {session.rate:g} Hz: {fields}{more}"


def judge_arrivals(session: Session, stamps: list[tuple[int, int]]) -> list[DoctorFinding]:
    """Judge whether frames arrived at the rate that the session descriptor states; stamps : time of arrival
    [ns] and number of each frame.
    """
    if len(stamps) < 2:
        return [
            DoctorFinding(
                False,
                f"the descriptor of the stream arrived, but only {len(stamps)} frames: "
                "check whether the sender is paused",
            )
        ]
    arrived = np.array([t for t, _ in stamps])
    gaps = np.diff(arrived) * 1e-6
    rate = 1e3 / float(np.mean(gaps))
    findings = [
        DoctorFinding(
            True, f"{len(stamps)} frames, {rate:.1f} Hz, intervals between frames up to {gaps.max():.1f} ms"
        )
    ]
    if session.rate > 0.0 and not 0.8 < rate / session.rate < 1.25:
        findings.append(
            DoctorFinding(
                False,
                f"the descriptor states {session.rate:g} Hz, but frames arrive at {rate:.1f} Hz: correct "
                "the sender",
            )
        )
    return findings


def judge_markers(session: Session, subject: str | None, n_missing: int, n_value: int) -> list[DoctorFinding]:
    """Judge how often markers are missing in a stream, and whether it has the markers of a subject.

    subject : name or file of the subject; None = not checked
    n_missing, n_value : number of marker coordinates received without a value, and with or without one
    """
    findings = []
    if n_value:
        share = 100.0 * n_missing / n_value
        findings.append(DoctorFinding(share < 50.0, f"{share:.1f} % of the marker coordinates are occluded"))
    if subject:
        from rtsim.stages.markers.marker_input import MarkerInput
        from rtsim.stages.markers.reference_length import of_subject
        from rtsim.subjects.subject import load_subject

        marker_input = MarkerInput(of_subject(load_subject(find_config(subject, "subjects"))), session)
        if marker_input.sentences:
            findings += [DoctorFinding(False, sentence) for sentence in marker_input.sentences]
        else:
            findings.append(
                DoctorFinding(True, f"all {len(marker_input.names)} markers of the subject are in the stream")
            )
    return findings
