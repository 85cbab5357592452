"""Frames of results as messages for Foxglove, equal for a file and for a live connection.

Topics: /tf (frames of the segments), /scene (figure), /status, /numbers/FIELD and /log.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rtsim.bridges.foxglove_scene import scene, transforms
from rtsim.bridges.foxglove_schemas import (
    INFO,
    LOG,
    NUMBERS,
    SCENE,
    SCHEMAS,
    TRANSFORMS,
    WARNING,
    Schema,
    numbers_schema,
    stamp,
)
from rtsim.bridges.gait_events import GaitEvents
from rtsim.bridges.plot_numbers import PlotNumbers, distinct
from rtsim.files.tables.tables import has_columns, labels_of, units_of
from rtsim.monitor.layout import FIGURE_FIELDS, WindowLayout, layout_of
from rtsim.units import IN_FILES, faces_of
from streams.account import bounded, plain
from streams.messages import UNUSABLE, FieldSpec, Session, Status
from streams.receiving.ring import ReceivedFrame

STATUS = "status"
STATUS_SCHEMA = numbers_schema(STATUS, ("time", "bits"), (), ("s", ""))
STATUS_SCHEMA["properties"] = {**STATUS_SCHEMA["properties"], "words": {"type": "string"}}


class FoxgloveMessage(NamedTuple):
    """A message for Foxglove: its topic, the name and the content of its schema, its data, and its time
    [ns].
    """

    topic: str
    schema_name: str
    schema: Schema
    payload: dict[str, Any]
    t_ns: int


class FoxgloveFrames:
    """Converts frames of results to messages for Foxglove.

    Parameters
    ----------
    fields : names of the fields whose numbers are sent; () = all fields that exported tables contain, except
        the positions and orientations of the stick figure
    say : function called with messages, for example on fields that the results do not have
    """

    def __init__(self, fields: Sequence[str], say: Callable[[str], None]) -> None:
        self._wanted, self._say = tuple(fields), say
        self._session: Session | None = None
        self._layout: WindowLayout | None = None
        self._numbers = PlotNumbers(fields, say)
        self._schemas: dict[str, Schema] = {}
        self._events, self._n_event, self._status = GaitEvents(), 0, -1

    def of(self, frame: ReceivedFrame, t_ns: int) -> list[FoxgloveMessage]:
        """Return the messages of a frame, those of a new session first; t_ns : capture time [ns]."""
        messages = self._begin(frame.session, t_ns) if frame.session is not self._session else []
        assert self._layout is not None
        told = self._numbers.of(frame)
        messages += self._log_of(frame, t_ns)
        status = {"time": told["time"], "bits": told["status"], "words": Status(frame.status).names()}
        messages.append(FoxgloveMessage("/status", NUMBERS + STATUS, STATUS_SCHEMA, status, t_ns))
        for name, schema in self._schemas.items():
            values = finite(told[name] if isinstance(told[name], dict) else {name: told[name]})
            messages.append(FoxgloveMessage(f"/numbers/{name}", NUMBERS + name, schema, values, t_ns))
        for topic, name, make in (("/tf", TRANSFORMS, transforms), ("/scene", SCENE, scene)):
            payload = make(self._layout, frame.data, t_ns)
            messages.append(FoxgloveMessage(topic, name, SCHEMAS[name], payload, t_ns))
        return messages

    def _begin(self, session: Session, t_ns: int) -> list[FoxgloveMessage]:
        """Choose the fields of a session whose numbers are sent; return a log message for each note of the
        session.
        """
        self._session, self._layout = session, layout_of(session)
        fields = self._wanted or tuple(spec.name for spec in session.fields if is_sent(spec))
        self._numbers = PlotNumbers(fields, self._say)
        self._schemas = {}
        for spec in self._numbers.begin(session):
            if spec.name in fields:
                labels = distinct(labels_of(spec))
                labels = [spec.name] if labels == [""] and not spec.parts else labels
                units = faces_of(units_of(spec), IN_FILES)[0]
                self._schemas[spec.name] = numbers_schema(spec.name, labels, tuple(spec.parts), units)
        return [log_message(note, INFO, t_ns) for note in bounded(session.meta.get("notes"))]

    def _log_of(self, frame: ReceivedFrame, t_ns: int) -> list[FoxgloveMessage]:
        """Return log messages for gait events in a frame, and for its status if it has changed."""
        messages = []
        self._events.look(frame)
        kept = list(self._events.kept)
        n_new = min(self._events.n_event - self._n_event, len(kept))
        self._n_event = self._events.n_event
        for event in kept[len(kept) - n_new :]:
            messages.append(log_message(f"{event.side} {event.kind}", INFO, t_ns))
        if frame.status != self._status:
            self._status = frame.status
            level = WARNING if frame.status & UNUSABLE else INFO
            messages.append(log_message(f"status: {Status(frame.status).names()}", level, t_ns))
        return messages


def is_sent(spec: FieldSpec) -> bool:
    """Return whether the numbers of a field are sent to Foxglove by default: those of fields that exported
    tables contain, except positions and orientations that its 3D scene shows.
    """
    return (
        has_columns(spec) and spec.role == "value" and spec.name not in FIGURE_FIELDS and 0 not in spec.shape
    )


def log_message(sentence: str, level: int, t_ns: int) -> FoxgloveMessage:
    """Return a message for Foxglove's log panel."""
    payload = {
        "timestamp": stamp(t_ns), "level": level, "message": plain(sentence), "name": "rtsim", "file": "",
        "line": 0,
    }  # fmt: skip
    return FoxgloveMessage("/log", LOG, SCHEMAS[LOG], payload, t_ns)


def finite(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by name without the numbers that are not finite; a value may also be a map of such
    values, which is treated in the same way.
    """
    kept: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            kept[key] = finite(value)
        elif math.isfinite(value):
            kept[key] = value
    return kept
