"""Results as named numbers for PlotJuggler's ZeroMQ plugin: topic `plot`, one MessagePack map for each frame.

The plugin takes two parts, topic and payload, flattens maps to topic/field/label, and shows plain numbers
only; it ignores the binary arrays of a result stream. Angles are in degrees, the rest in SI.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import zmq

from rtsim.errors import ConfigError
from rtsim.files.tables.tables import has_columns, labels_of, units_of
from rtsim.units import IN_FILES, Array, faces_of
from streams.access.security import Security
from streams.errors import StreamError
from streams.messages import UNUSABLE, FieldSpec, Session
from streams.publisher import UPSTREAM
from streams.receiving.ring import ReceivedFrame
from streams.receiving.subscriber import Subscriber
from streams.sockets import BoundSocket

PLOT_ADDRESS = "tcp://127.0.0.1:5570"
TOPIC = b"plot"
ROLES = ("value", "deviation")
MOST_NUMBERS = 4096
LOOK_S, BACKLOG = 0.1, 512


class PlotNumbers:
    """Converts frames of results to maps of named numbers.

    fields : names of the fields that are sent; () = all fields that appear in tables
    say : function called with messages for the user
    """

    def __init__(self, fields: Sequence[str], say: Callable[[str], None]) -> None:
        self._wanted, self._say = tuple(fields), say
        self._session: Session | None = None
        self._specs: list[tuple[FieldSpec, list[str], Array]] = []
        self._masks: dict[str, list[str]] = {}

    def of(self, frame: ReceivedFrame) -> dict[str, Any]:
        """Return the map of a frame: time [s], status, and for each field a map from label to number, or from
        label and part to number; NaN for an invalid number.
        """
        if frame.session is not self._session:
            self.begin(frame.session)
        told: dict[str, Any] = {"time": frame.time, "status": int(frame.status)}
        unusable = bool(frame.status & UNUSABLE)
        for spec, labels, factors in self._specs:
            values: Array = np.asarray(factors * frame.data[spec.name])  # of a single number an array, too
            for mask in self._masks.get(spec.name, ()):
                values[frame.data[mask] != 0.0] = np.nan
            if unusable:
                values.fill(np.nan)
            told[spec.name] = named(values.reshape(len(labels), -1), labels, tuple(spec.parts))
        return told

    def begin(self, session: Session) -> list[FieldSpec]:
        """Choose the fields of a session that are sent, and return them."""
        self._session, self._specs, n = session, [], 0
        shapes = {spec.name: spec.shape for spec in session.fields}
        self._masks = {}
        for spec in session.fields:
            if spec.role == "mask" and shapes.get(spec.of) == spec.shape:
                self._masks.setdefault(spec.of, []).append(spec.name)
        there = {spec.name: spec for spec in session.fields if has_columns(spec) and 0 not in spec.shape}
        for name in self._wanted:
            if name not in there:
                self._say(
                    f"the results have no field {name!r} that contains pairs of name and number; the "
                    f"fields with such pairs are {', '.join(there)}"
                )
        for name, spec in there.items():
            if not (name in self._wanted if self._wanted else spec.role in ROLES):
                continue
            n += int(np.prod(spec.shape))
            if n > MOST_NUMBERS:
                self._say(
                    f"more than {MOST_NUMBERS} numbers per frame: {name} and the fields after it are left out"
                )
                break
            factors = faces_of(units_of(spec), IN_FILES)[1]
            factors = factors.reshape((*spec.shape[:1], *(1,) * (len(spec.shape) - 1)))
            self._specs.append((spec, distinct(labels_of(spec)), factors))
        sent = [spec for spec, _, _ in self._specs]
        self._say(f"sending {', '.join(spec.name for spec in sent) or 'only the status'}")
        return sent


def named(values: Array, labels: Sequence[str], parts: tuple[str, ...]) -> Any:
    """Return a map from label to number, or, if there are parts, from label to a map from part to number; a
    single number without label and parts is returned itself.

    values : (n_label, n_part)
    """
    rows = values.tolist()
    if parts:
        return {label: dict(zip(parts, row, strict=True)) for label, row in zip(labels, rows, strict=True)}
    if list(labels) == [""]:
        return rows[0][0]
    return {label: row[0] for label, row in zip(labels, rows, strict=True)}


def distinct(labels: Sequence[str]) -> list[str]:
    """Return the labels as unique keys of a map: a repeated label gets a number appended."""
    return [label if label not in labels[:k] else f"{label} {k + 1}" for k, label in enumerate(labels)]


def serve_plot(
    address: str,
    bound: str,
    fields: Sequence[str],
    security: Security | None,
    stop: threading.Event,
    say: Callable[[str], None],
) -> int:
    """Publish the results at `address` as named numbers at the address `bound`, until `stop` is set; return
    how many frames were sent.

    fields : names of the fields that are sent; () = all fields that appear in tables
    say : function called with messages for the user

    ConfigError for an address that cannot be bound, or a field that is named twice. Other interfaces than
    this machine's are rejected, as the plugin has no keys.
    """
    if len(set(fields)) < len(fields):
        raise ConfigError("a field is named twice", where="--field", remedy="name each once")
    numbers, encoder, n_frame = PlotNumbers(fields, say), msgspec.msgpack.Encoder(), 0
    try:
        subscriber = Subscriber(address, ("result",), backlog=BACKLOG, security=security)
    except StreamError as fault:
        raise ConfigError(str(fault), where="bridge plot") from fault
    with subscriber:
        try:
            socket = BoundSocket(zmq.PUB, bound, None, UPSTREAM)
        except StreamError as fault:
            raise ConfigError(
                str(fault), where="--to", remedy=f"give an address as {PLOT_ADDRESS}"
            ) from fault
        try:
            say(f"numbers for PlotJuggler at {socket.address}, topic {TOPIC.decode()}, MessagePack")
            while not stop.is_set():
                frame = subscriber.wait(LOOK_S)
                if frame is not None:
                    socket.socket.send_multipart([TOPIC, encoder.encode(numbers.of(frame))])
                    n_frame += 1
                for events in (subscriber.events, socket.events):
                    while events:
                        say(events.popleft())
        finally:
            socket.close()
    return n_frame
