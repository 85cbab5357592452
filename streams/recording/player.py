"""Playing of recorded markers, with their force plate data if there are any, as live streams at the recorded
times."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from streams.clock import Pacer, now_ns, sleep_until_ns
from streams.codec import FieldLayout
from streams.errors import StreamError
from streams.messages import Forces, Markers, Session, StreamName
from streams.publisher import Publisher

SLICE_NS = 50_000_000
"""Longest wait without a look at new subscribers and at `stop` [ns]."""
OTHERS_NS = 500_000_000
"""Time that a subscriber to one of several streams has to subscribe to the others [ns]."""
REST_S = 0.1
"""Pause between the end and the next start in a loop, longer than filters bridge, so that the jump of the
markers is not filtered as a motion [s]."""
KINDS: Mapping[str, type[Markers] | type[Forces]] = {"markers": Markers, "forces": Forces}


class MarkerFrames(NamedTuple):
    """Times and marker positions of frames: times (n,) [s], not decreasing; positions (n, n_marker, 3) in the
    session's unit, NaN = occluded.
    """

    times: NDArray[Any]
    positions: NDArray[Any]


class HasMarkerFrames(Protocol):
    """Interface of objects that have times and marker positions, like MarkerFrames."""

    @property
    def times(self) -> NDArray[Any]: ...

    @property
    def positions(self) -> NDArray[Any]: ...


class PlayedStream(NamedTuple):
    """Frames of one stream.

    session : the descriptor that the frames fit, of markers or forces
    times : (n,) [s], not decreasing
    data : field name -> (n, ...), of the shape in the descriptor
    clocks : names of fields that contain times [s], which continue to increase when the recording starts over
    """

    session: Session
    times: NDArray[Any]
    data: Mapping[str, NDArray[Any]]
    clocks: tuple[str, ...] = ()


class _Track:
    """State of a channel that is being played: which frame comes next, and when."""

    def __init__(self, channel: PlayedStream) -> None:
        self._channel = channel
        self._layout = FieldLayout(channel.session)
        self.step_s = _check(channel, self._layout)
        self.n_frame = len(channel.times)
        self.n_sent = 0

    @property
    def stream(self) -> StreamName:
        return self._channel.session.stream

    def time(self, lap_s: float) -> float:
        """Return the time of the next frame [s]. In a loop it continues to increase: the duration of all
        completed laps is added.

        lap_s : duration of one lap of the loop, including the rest at its end [s]
        """
        n_lap, index = divmod(self.n_sent, self.n_frame)
        return float(self._channel.times[index]) + n_lap * lap_s

    def send(self, publisher: Publisher, time: float, t_capture: int) -> None:
        channel, index = self._channel, self.n_sent % self.n_frame
        values = {name: rows[index] for name, rows in channel.data.items()}
        for name in channel.clocks:
            values[name] = values[name] + (time - float(channel.times[index]))
        data = self._layout.pack(values)
        publisher.send(
            KINDS[self.stream](
                session=self._channel.session.session,
                seq=self.n_sent,
                t_capture=t_capture,
                time=time,
                data=data,
            )
        )
        self.n_sent += 1


def play(
    publisher: Publisher,
    session: Session,
    frames: HasMarkerFrames,
    speed: float = 1.0,
    loop: bool = False,
    stop: threading.Event | None = None,
    on_frame: Callable[[int], None] | None = None,
    *,
    beside: Sequence[PlayedStream] = (),
    wait_s: float = 5.0,
    say: Callable[[str], None] | None = None,
) -> int:
    """Play a recording: announce the session, send the frames at their times, and end it; return how many
    were sent.

    Parameters
    ----------
    publisher : where to send; stays open
    session : a markers descriptor whose "positions" field fits the frames
    frames : times and positions; to play a part, pass a slice
    speed : factor by which it is faster than recorded
    loop : start over at the end, after a rest, until `stop` is set; seq and time go on
    stop : set it to end early
    on_frame : called after each frame of markers with its seq
    beside : other channels with times on the same clock, each with its own rate; at equal times their frames
      are sent before those of the markers, so that forces are available when the markers arrive
    wait_s : time to wait for a first subscriber, so that it misses nothing; then it starts anyway [s]
    say : called with a plain sentence where it has to wait

    Raises StreamError when the frames, the speed or the session do not fit together.
    """
    if session.stream != "markers":
        raise StreamError("the player needs the descriptor of a stream of markers")
    if not 0.0 < speed < float("inf"):
        raise StreamError(f"the speed is {speed}; give a positive number, 1 for the recorded speed")
    channels = [*beside, PlayedStream(session, frames.times, {"positions": frames.positions})]
    if len({channel.session.stream for channel in channels}) < len(channels):
        raise StreamError(
            "two of the channels to be played are of the same kind of stream; leave one of them out"
        )
    tracks = [_Track(channel) for channel in channels]
    markers = tracks[-1]
    start = min(float(channel.times[0]) for channel in channels)
    lap_s = REST_S + max(
        float(c.times[-1]) - start + track.step_s for c, track in zip(channels, tracks, strict=True)
    )
    stop = stop or threading.Event()
    for channel in channels:
        publisher.announce(channel.session)
    reason = "playing was interrupted"
    try:
        _await_subscriber(publisher, stop, wait_s, say or (lambda sentence: None))
        _await_others(publisher, stop, [track.stream for track in tracks])
        pacer = Pacer()
        while ahead := [track for track in tracks if loop or track.n_sent < track.n_frame]:
            track = min(ahead, key=lambda track: track.time(lap_s))
            time = track.time(lap_s)
            due_ns = pacer.deadline_ns(round((time - start) / speed * 1e9))
            if not _wait(publisher, due_ns, stop):
                break
            track.send(publisher, time, due_ns)
            publisher.service()
            if on_frame is not None and track is markers:
                on_frame(markers.n_sent - 1)
        reason = "playing was stopped" if stop.is_set() else "the recording is over"
    finally:
        publisher.end(reason)
    return markers.n_sent


def _check(channel: PlayedStream, layout: FieldLayout) -> float:
    """Raise StreamError for frames that do not match their descriptor; return the time from the last frame to
    the first frame of the next lap [s]."""
    session, n_frame = channel.session, len(channel.times)
    if session.stream not in KINDS:
        raise StreamError(f"the player has no frames of {session.stream}; give {' or '.join(KINDS)}")
    if channel.data.keys() != layout.specs.keys():
        raise StreamError(
            f"the frames have the fields {sorted(channel.data)}, the descriptor {sorted(layout.specs)}"
        )
    for name, spec in layout.specs.items():
        shape = (n_frame, *spec.shape)
        if n_frame == 0 or channel.data[name].shape != shape:
            raise StreamError(
                f"{name} has shape {channel.data[name].shape}, expected {shape} with at least one frame"
            )
    steps = np.diff(channel.times)
    if not np.all(np.isfinite(channel.times)) or np.any(steps < 0.0):
        raise StreamError("the times of the recording must be finite and must not decrease")
    step_s = float(np.median(steps)) if n_frame > 1 else 0.0
    if step_s <= 0.0:
        step_s = 1.0 / session.rate if session.rate > 0.0 else 0.01
    return step_s


def _await_others(publisher: Publisher, stop: threading.Event, streams: Sequence[StreamName]) -> None:
    """Wait a moment, so that clients which have subscribed to one of the streams can subscribe to the others,
    too.
    """
    due_ns = now_ns() + OTHERS_NS
    while publisher.n_subscriber and not all(publisher.is_heard(stream) for stream in streams):
        if stop.is_set() or now_ns() >= due_ns:
            return
        stop.wait(0.005)
        publisher.service()


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
    """Serve subscribers until a deadline; return False if `stop` was set meanwhile."""
    while not stop.is_set():
        left_ns = due_ns - now_ns()
        if left_ns <= SLICE_NS:
            sleep_until_ns(due_ns)
            return True
        stop.wait(min(left_ns / 2, SLICE_NS) * 1e-9)
        publisher.service()
    return False
