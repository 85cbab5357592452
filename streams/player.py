"""Playing recorded markers as a live stream, at the recorded times."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from streams.clock import Pacer, now_ns, sleep_until_ns
from streams.codec import FieldLayout
from streams.errors import StreamError
from streams.messages import Markers, Session
from streams.publisher import Publisher

SLICE_NS = 50_000_000
"""Longest wait without a look at new subscribers and at `stop` [ns]."""


class MarkerFrames(NamedTuple):
    """times (n,) [s], not decreasing; positions (n, n_marker, 3) in the session's unit, NaN = occluded."""

    times: NDArray[Any]
    positions: NDArray[Any]


class HasMarkerFrames(Protocol):
    """Anything with the two arrays of MarkerFrames."""

    @property
    def times(self) -> NDArray[Any]: ...

    @property
    def positions(self) -> NDArray[Any]: ...


def play(
    publisher: Publisher,
    session: Session,
    frames: HasMarkerFrames,
    speed: float = 1.0,
    loop: bool = False,
    stop: threading.Event | None = None,
    on_frame: Callable[[int], None] | None = None,
    *,
    wait_s: float = 5.0,
    say: Callable[[str], None] | None = None,
) -> int:
    """Announce the session, send the frames at their times, and end it; returns how many were sent.

    Parameters
    ----------
    publisher : where to send; stays open
    session : a markers descriptor whose "positions" field fits the frames
    frames : times and positions; start and end are the caller's to choose, by slicing
    speed : how many times faster than recorded
    loop : start over at the end until `stop` is set; seq and time go on
    stop : set it to end early
    on_frame : called after each frame with its seq
    wait_s : how long to wait for a first subscriber, so that it misses nothing; then it starts anyway [s]
    say : called with a plain sentence where it has to wait

    Raises StreamError when the frames, the speed or the session do not fit together.
    """
    layout = FieldLayout(session)
    lap_s = _check(session, layout, frames, speed)
    stop = stop or threading.Event()
    publisher.announce(session)
    reason = "playing was interrupted"
    n_sent = 0
    try:
        _await_subscriber(publisher, stop, wait_s, say or (lambda sentence: None))
        pacer = Pacer()
        while loop or n_sent < len(frames.times):
            n_lap, index = divmod(n_sent, len(frames.times))
            time = float(frames.times[index]) + n_lap * lap_s
            offset_ns = round((time - float(frames.times[0])) / speed * 1e9)
            if not _wait(publisher, pacer.deadline_ns(offset_ns), stop):
                break
            data = layout.pack({"positions": frames.positions[index]})
            publisher.send(
                Markers(session=session.session, seq=n_sent, t_capture=now_ns(), time=time, data=data)
            )
            publisher.service()
            if on_frame is not None:
                on_frame(n_sent)
            n_sent += 1
        reason = "playing was stopped" if stop.is_set() else "the recording is over"
    finally:
        publisher.end(reason)
    return n_sent


def _check(session: Session, layout: FieldLayout, frames: HasMarkerFrames, speed: float) -> float:
    """Refuse what does not fit; returns the duration of one lap, up to the first frame of the next [s]."""
    n_frame = len(frames.times)
    if not 0.0 < speed < float("inf"):
        raise StreamError(f"the speed is {speed}; give a positive number, 1 for the recorded speed")
    if list(layout.specs) != ["positions"] or session.stream != "markers":
        raise StreamError(
            "the player needs the descriptor of a markers stream with the one field 'positions'"
        )
    shape = (n_frame, *layout.specs["positions"].shape)
    if n_frame == 0 or frames.positions.shape != shape:
        raise StreamError(
            f"the positions have shape {frames.positions.shape}, expected {shape} with frames in it"
        )
    steps = np.diff(frames.times)
    if not np.all(np.isfinite(frames.times)) or np.any(steps < 0.0):
        raise StreamError("the times of the recording must be finite and must not decrease")
    step_s = float(np.median(steps)) if n_frame > 1 else 0.0
    if step_s <= 0.0:
        step_s = 1.0 / session.rate if session.rate > 0.0 else 0.01
    return float(frames.times[-1] - frames.times[0]) + step_s


def _await_subscriber(
    publisher: Publisher, stop: threading.Event, wait_s: float, say: Callable[[str], None]
) -> None:
    due_ns = now_ns() + int(wait_s * 1e9)
    said = False
    while not stop.is_set() and (left_ns := due_ns - now_ns()) > 0:
        if publisher.wait_for_subscriber(min(left_ns, SLICE_NS) * 1e-9):
            return
        if not said:
            said = True
            say(
                f"Nobody subscribes to {publisher.address} yet; waiting up to {wait_s:g} s for a first "
                "subscriber, then playing anyway."
            )
    if said and not stop.is_set():
        say("Nobody has subscribed; playing anyway.")


def _wait(publisher: Publisher, due_ns: int, stop: threading.Event) -> bool:
    """Wait for a deadline, serving subscribers meanwhile; False when told to stop."""
    while not stop.is_set():
        left_ns = due_ns - now_ns()
        if left_ns <= SLICE_NS:
            sleep_until_ns(due_ns)
            return True
        stop.wait(min(left_ns / 2, SLICE_NS) * 1e-9)
        publisher.service()
    return False
