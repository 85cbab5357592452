"""Results as streams of Lab Streaming Layer, which LabRecorder, MATLAB, PlotJuggler and Python can read.

Each field becomes a stream of numbers at the rate of the results, of type JointAngles, JointMoments and so
on, with `status` as its last channel. One more stream of texts, of type Markers, has gait events, and the
status when it changes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rtsim.bridges.capture_stamps import captured_ns
from rtsim.bridges.gait_events import GaitEvents
from rtsim.errors import ConfigError
from rtsim.files.tables.tables import units_of
from rtsim.methods.gait.cycle_curves import delay_of
from rtsim.units import IN_FILES, Array, faces_of
from streams.access.security import Security
from streams.capture.lsl.library import lsl, to_ours_ns
from streams.messages import UNUSABLE, FieldSpec, Session, Status, speed_of
from streams.receiving.ring import ReceivedFrame
from streams.receiving.subscriber import Subscriber

FIELDS = ("joint_angles", "coordinates", "joint_moments", "coordinate_moments")
"""Fields that are sent by default, as far as the results have them."""
LONGEST_DELAY_S = 10.0
"""A longer delay is not believed [s]."""
MOST_CHANNELS = 1024
BUFFER_S = 60
"""Samples that liblsl keeps for a reader that stalls [s]; older ones are dropped, and nobody waits."""
LOOK_S = 0.1
BACKLOG = 512


class LslOutlets:
    """The streams of Lab Streaming Layer by which the frames of one result stream are sent; they are reopened
    when its fields change.

    fields : names of the fields that are sent; () = joint angles, coordinates and the moments of both, as far
        as the results have them
    place : source of the results; part of the streams' source_id, by which readers find them again
    say : function called with notes for the user
    """

    def __init__(self, fields: Sequence[str], place: str, say: Callable[[str], None]) -> None:
        self._lsl = lsl()
        self._wanted, self._place, self._say = tuple(fields), place, say
        self._ours_ns = to_ours_ns(self._lsl)
        self._session: Session | None = None
        self._streams: dict[str, _Stream] = {}
        self._events = GaitEvents()
        self._n_event = 0
        self._status = -1
        self._told: Any = self._opened("events", "Markers", ["event"], [""], 0.0, self._lsl.cf_string, 0.0)
        self.n_sample = 0

    @property
    def names(self) -> list[str]:
        """Names of the open streams."""
        return ["rtsim_events", *(f"rtsim_{name}" for name in self._streams)]

    def send(self, frame: ReceivedFrame) -> None:
        """Send the numbers of a frame of results to the streams, and its gait events as texts.

        The numbers of a stale frame are not sent, as it repeats an earlier one.
        """
        if frame.session is not self._session:
            self._begin(frame.session)
        stamp = self._stamp(frame)
        if not frame.status & Status.STALE:
            unusable = bool(frame.status & UNUSABLE)
            for stream in self._streams.values():
                stream.outlet.push_sample(stream.values(frame, unusable), stamp)
            self.n_sample += 1
        self._events.look(frame)
        n_new = min(self._events.n_event - self._n_event, len(self._events.kept))
        self._n_event = self._events.n_event
        for event in list(self._events.kept)[len(self._events.kept) - n_new :]:
            self._told.push_sample([f"{event.side} {event.kind}"], stamp + event.time - frame.time)
        if frame.status != self._status:
            self._status = frame.status
            self._told.push_sample([f"status: {Status(frame.status).names()}"], stamp)

    def _begin(self, session: Session) -> None:
        """Open a stream for each field; streams with unchanged channels continue."""
        self._session = session
        specs = {spec.name: spec for spec in session.fields}
        wanted = self._wanted or tuple(name for name in FIELDS if name in specs)
        streams: dict[str, _Stream] = {}
        for name in wanted:
            if name not in specs:
                self._say(f"the results have no field {name!r}; they have {', '.join(specs)}")
                continue
            masks = [spec for spec in session.fields if spec.of == name and spec.role == "mask"]
            columns = flat_labels(specs[name])
            if len(columns) + 1 > MOST_CHANNELS:
                self._say(f"{name} has {len(columns)} numbers; {MOST_CHANNELS - 1} are the most in a stream")
                continue
            entries, factors = faces_of(units_of(specs[name]), IN_FILES)
            n_part = len(columns) // max(len(entries), 1)
            shown = [unit for unit in entries for _ in range(n_part)]
            late_s = delay_s(specs[name], session)
            former = self._streams.get(name)
            key = (columns, shown, late_s, session.rate)
            outlet = former.outlet if former is not None and former.key == key else None
            if outlet is None:
                channels, units = [*columns, "status"], [*shown, "bits"]
                outlet = self._opened(
                    name, type_of(name), channels, units, session.rate, self._lsl.cf_float32, late_s
                )
            factors = np.repeat(factors, n_part)
            streams[name] = _Stream(outlet, key, name, factors, [mask.name for mask in masks])
        self._streams = streams
        self._say(f"sending {', '.join(self.names)}")

    def _opened(
        self,
        name: str,
        kind: str,
        channels: Sequence[str],
        units: Sequence[str],
        rate: float,
        form: Any,
        late_s: float,
    ) -> Any:
        """Open an outlet with the description of its channels; late_s : how much older than their stamps its
        numbers are [s]
        """
        info = self._lsl.StreamInfo(
            f"rtsim_{name}", kind, len(channels), rate, form, f"rtsim_{name} {self._place}"
        )
        acquisition = info.desc().append_child("acquisition")
        acquisition.append_child_value("manufacturer", "rtsim")
        if late_s:  # by XDF's conventions what is to be subtracted from the stamps
            synchronization = info.desc().append_child("synchronization")
            synchronization.append_child_value("offset_mean", f"{late_s:.6f}")
        described = info.desc().append_child("channels")
        for label, unit in zip(channels, units, strict=True):
            channel = described.append_child("channel")
            channel.append_child_value("label", label)
            channel.append_child_value("unit", unit)
            channel.append_child_value("type", kind)
        return self._lsl.StreamOutlet(info, 0, BUFFER_S)

    def _stamp(self, frame: ReceivedFrame) -> float:
        """Return the time at which the frame was captured, or if unknown received, on liblsl's clock [s]."""
        return 1e-9 * (captured_ns(frame) - self._ours_ns)


class _Stream:
    """An open outlet of Lab Streaming Layer for one field of the results."""

    def __init__(self, outlet: Any, key: tuple, name: str, factors: Array, masks: list[str]) -> None:
        self.outlet, self.key = outlet, key
        self._name, self._factors, self._masks = name, factors, masks

    def values(self, frame: ReceivedFrame, unusable: bool) -> list[float]:
        """Return the values of a frame followed by its status; NaN for values that are marked as unusable."""
        numbers: Array = self._factors * frame.data[self._name].reshape(-1)
        for mask in self._masks:
            masked = frame.data[mask].reshape(-1)
            if masked.shape == numbers.shape:
                numbers[masked != 0.0] = np.nan
        if unusable:
            numbers[:] = np.nan
        return [*numbers.tolist(), float(frame.status)]


def flat_labels(spec: FieldSpec) -> tuple[str, ...]:
    """Return a name for every value of a field: its label and part, or its index."""
    names = [""]
    for axis, n in enumerate(spec.shape):
        given = spec.labels if axis == 0 else spec.parts if axis == 1 else ()
        ends = given if len(given) == n else [str(k + 1) for k in range(n)]
        names = [f"{name}_{end}" if name else str(end) for name in names for end in ends]
    return tuple(names) if names != [""] else (spec.name,)


def delay_s(spec: FieldSpec, session: Session) -> float:
    """Return by how much a field describes an earlier time than that of its frame, because a filter delays it
    [s of the stream]; 0 if its session states no delay for it.
    """
    of_fields = session.meta.get("delay")
    told = of_fields.get(spec.of or spec.name) if isinstance(of_fields, Mapping) else None
    late = delay_of(session, spec) if told is None else told
    known = isinstance(late, int | float) and 0.0 < late < LONGEST_DELAY_S
    # a delay is of the trial, whose times go on faster or slower than those of the stream
    return late / speed_of(session) if known else 0.0


def type_of(name: str) -> str:
    """Return the type of a field's stream, such as JointAngles for joint_angles."""
    return "".join(word.capitalize() for word in name.split("_"))


def serve_lsl(
    address: str,
    fields: Sequence[str],
    security: Security | None,
    stop: threading.Event,
    say: Callable[[str], None],
) -> int:
    """Send the results at an address as streams of Lab Streaming Layer until `stop` is set; return how many
    frames were sent.

    fields : names of the fields that are sent; () = joint angles, coordinates and the moments of both, as far
        as the results have them
    say : function called with notes for the user

    Raises CaptureError if liblsl is missing, ConfigError for an invalid field name.
    """
    if len(set(fields)) < len(fields):
        raise ConfigError("a field is named twice", where="--field", remedy="name each once")
    outlets = LslOutlets(fields, address, say)
    with Subscriber(address, ("result",), backlog=BACKLOG, security=security) as subscriber:
        say(f"sending {', '.join(outlets.names)}; further streams follow with the first results of {address}")
        while not stop.is_set():
            frame = subscriber.wait(LOOK_S)
            if frame is not None:
                outlets.send(frame)
            while subscriber.events:
                say(subscriber.events.popleft())
    return outlets.n_sample
