"""The static trial of `rtsim calibrate ADDRESS`: messages while a person stands, and the outcome."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rtsim.cli.terminal.lines import tell
from rtsim.errors import ConfigError
from rtsim.live.processes.children import Child
from rtsim.live.processes.signals import Interrupted, exit_code, noting_requests
from rtsim.live.subjects.standing_trial import StandingSoFar, StandingTrial, refusal
from streams.capture.system import is_capture
from streams.receiving.subscriber import Subscriber

if TYPE_CHECKING:
    from rtsim.config.runs.lab_schema import LabMap
    from rtsim.files.markers.trial import MarkerTrial
    from streams.access.security import Security

READY_S = 60.0
LOOK_S, TELL_S = 0.1, 1.0
LEAST_S = 1.0
"""Shortest stretch of good frames that is kept where a request to end comes before all are there [s]."""
BACKLOG = 4096


class StandingRequest(NamedTuple):
    """Requirements of a static trial from a stream.

    source : a stream or a capture system
    seconds : time to stand still with all markers visible [s]
    within_s : time limit for that [s]
    lab : marker map; None = found by the marker names
    side : right, left, both, or "" = the legs with markers
    person : the person whose markers are used; "" = the only one
    stored : known measurements of the person, name -> value in SI units
    """

    source: str
    seconds: float
    within_s: float
    lab: LabMap | None = None
    side: str = ""
    person: str = ""
    stored: Mapping[str, float] | None = None


def standing_trial(request: StandingRequest, security: Security | None = None) -> MarkerTrial:
    """Take the static trial from a stream, and report its progress.

    Ctrl-C ends the wait: at least one second of usable frames is then used, otherwise the command ends.
    ConfigError if the person never stood still.
    """
    source, seconds, within_s = request[:3]
    check_seconds(seconds, within_s)
    with contextlib.ExitStack() as stack:
        address, connector = source, None
        if is_capture(source):
            words = ["connect", source, "--address", "tcp://127.0.0.1:0", "--states"]
            connector = Child("connector", words)
            stack.callback(connector.close)
            address = connector.wait_ready(READY_S)["markers"]
        subscriber = stack.enter_context(Subscriber(address, ("markers",), BACKLOG, security))
        standing = StandingTrial(source, seconds, *request[3:])
        stop = threading.Event()

        def end(number: int) -> None:
            if stop.is_set():
                raise Interrupted
            stop.set()

        with noting_requests(end):
            so_far = followed(standing, subscriber, connector, within_s, stop)
    if so_far.seconds >= seconds or (stop.is_set() and so_far.seconds >= LEAST_S):
        early = (
            ""
            if so_far.seconds >= seconds
            else f", fewer than the requested {seconds:g} s, because the recording ended early"
        )
        tell(f"{source}: the person stood still long enough: {so_far.seconds:.1f} s were used{early}")
        trial = standing.trial()
        return trial._replace(notes=(*standing.notes, *trial.notes))
    if stop.is_set():
        tell(f"{source}: nothing was written: {so_far.in_words}")
        raise SystemExit(exit_code() or 130)
    raise refusal(so_far, seconds, source, subscriber.ended)


def followed(
    standing: StandingTrial,
    subscriber: Subscriber,
    connector: Child | None,
    within_s: float,
    stop: threading.Event,
) -> StandingSoFar:
    """Collect frames of a standing person from a stream until there are enough, the time is over, or the
    stream has ended; return what was found so far.

    connector : process that relays a capture system, None = there is none
    within_s : time limit [s]
    stop : event that ends the collection
    """
    begun = time.monotonic()
    look_due = tell_due = begun
    so_far, told = StandingSoFar(), ""
    while True:
        frame = subscriber.wait(0.05)
        if frame is not None:
            standing.take(frame)
            if standing.lacking is not None:  # nobody has to stand for it
                raise standing.lacking
        now = time.monotonic()
        over = now - begun >= within_s or stop.is_set() or subscriber.ended
        if now < look_due and not over:
            continue
        look_due = now + LOOK_S
        if connector is not None:
            connector.check()
        so_far = standing.look()
        if now >= tell_due and so_far.in_words != told:
            tell_due, told = now + TELL_S, so_far.in_words
            tell(told)
        if over or so_far.seconds >= standing.wanted_s:
            return so_far


def check_seconds(seconds: float, within_s: float) -> None:
    """Raise ConfigError for invalid lengths of a static trial, or of the wait for one."""
    if not LEAST_S <= seconds <= 60.0:
        raise ConfigError(f"{seconds:g}", where="--seconds", allowed=f"a duration of {LEAST_S:g} to 60 s")
    if not seconds < within_s <= 3600.0:
        raise ConfigError(
            f"{within_s:g}", where="--within", allowed="a time longer than --seconds, up to 3600 s"
        )
