"""Live results for Foxglove, over the WebSocket of its SDK; a missing SDK is reported."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import msgspec

from rtsim.bridges.capture_stamps import DayTime, captured_ns
from rtsim.bridges.foxglove_messages import FoxgloveFrames, FoxgloveMessage, log_message
from rtsim.bridges.foxglove_schemas import INFO, LOG, SCENE, SCHEMAS, TRANSFORMS, Schema
from rtsim.bridges.viewer_gate import HOST, ViewerGate, hidden_host
from rtsim.errors import ConfigError
from streams.access.security import Security
from streams.clock import now_ns
from streams.errors import StreamError
from streams.receiving.subscriber import Subscriber

PORT = 8765
ALWAYS = {"/log": LOG, "/tf": TRANSFORMS, "/scene": SCENE}
"""Topics that every session has -> names of their schemas."""
BACKLOG, LOOK_S = 512, 0.1
MOST_WAITING = 256
"""Messages that wait for a viewer that does not read; the oldest are dropped, and nobody waits."""


def foxglove_sdk() -> Any:
    """Return the SDK module; ConfigError if it is not installed."""
    try:
        return import_module("foxglove")
    except ImportError as fault:
        raise ConfigError(
            f"the package foxglove-sdk is not installed ({fault})", where="bridge foxglove",
            remedy="pip install 'rtsim[foxglove]'",
        ) from None  # fmt: skip


class FoxgloveServer:
    """A WebSocket server for Foxglove; a slow viewer loses messages but delays nothing else.

    port : port on this machine, 0 = any; afterwards the port in use
    origins : further web pages that may connect, such as http://viewer.lab:8080
    say : function called once for each page that is refused

    Raises ConfigError if the SDK is missing, the port is not available, or an origin is invalid.
    """

    def __init__(self, port: int, origins: Sequence[str] = (), say: Callable[[str], None] = print) -> None:
        self._sdk = foxglove_sdk()
        self._context = self._sdk.Context()
        self._gate = ViewerGate(port, origins, say)
        try:
            host = hidden_host()
            self._server = self._sdk.start_server(
                name="rtsim", host=host, port=0, context=self._context, message_backlog_size=MOST_WAITING
            )
        except Exception as fault:  # of the SDK, which has one kind for all
            self._gate.close()
            raise ConfigError(
                f"the WebSocket of Foxglove's SDK cannot be started ({fault})", where="bridge foxglove"
            ) from None
        self._gate.behind = host, self._server.port
        self._gate.open()
        self.port = self._gate.port
        self._channels: dict[str, tuple[bytes, Any]] = {}
        self._schemas: dict[int, tuple[Schema, bytes]] = {}
        self._encode = msgspec.json.Encoder().encode
        for topic, name in ALWAYS.items():  # before a first viewer, who may ask for them at once
            self._channel(topic, name, SCHEMAS[name])

    def send(self, message: FoxgloveMessage) -> None:
        """Send a message to all subscribers of its topic."""
        channel = self._channel(message.topic, message.schema_name, message.schema)
        if channel.has_sinks():
            channel.log(self._encode(message.payload), log_time=max(0, message.t_ns))

    def _channel(self, topic: str, name: str, described: Schema) -> Any:
        """Return the channel over which messages of a topic are sent; it is reopened if its schema has
        changed.

        name, described : name and content of the schema
        """
        same = id(described)
        if same not in self._schemas:  # kept with its bytes, so that no other one gets its place in memory
            self._schemas[same] = described, self._encode(described)
        schema = self._schemas[same][1]
        former, channel = self._channels.get(topic, (b"", None))
        if former != schema:
            if channel is not None:
                channel.close()
            made = self._sdk.Schema(name=name, encoding="jsonschema", data=schema)
            channel = self._sdk.Channel(topic, schema=made, message_encoding="json", context=self._context)
            self._channels[topic] = schema, channel
        return channel

    def close(self) -> None:
        """Disconnect all viewers and stop the server."""
        self._gate.close()
        self._server.stop()


def serve_foxglove(
    address: str,
    port: int,
    fields: Sequence[str],
    security: Security | None,
    stop: threading.Event,
    say: Callable[[str], None],
    origins: Sequence[str] = (),
) -> int:
    """Send the results at an address to Foxglove until `stop` is set; return how many frames were sent.

    port : port on this machine to which Foxglove connects
    fields : names of the fields whose numbers are sent; () = all that tables contain
    origins : further web pages that may connect, beside Foxglove's own
    say : function called with messages for the user

    ConfigError if the SDK is missing, the port is not available, an address or origin is invalid, or a field
    is named twice.
    """
    if len(set(fields)) < len(fields):
        raise ConfigError("a field is named twice", where="--field", remedy="name each once")
    frames, n_frame = FoxgloveFrames(fields, say), 0
    server = FoxgloveServer(port, origins, say)
    try:
        subscriber = Subscriber(address, ("result", "telemetry"), backlog=BACKLOG, security=security)
    except StreamError as fault:
        server.close()
        raise ConfigError(str(fault), where="bridge foxglove") from fault
    with subscriber:
        say(f"in Foxglove, open a connection of the kind Foxglove WebSocket to ws://{HOST}:{server.port}")
        day = DayTime()
        while not stop.is_set():
            frame = subscriber.wait(LOOK_S)
            if frame is not None:
                for message in frames.of(frame, day.of(captured_ns(frame))):
                    server.send(message)
                n_frame += 1
            while subscriber.telemetry:
                for sentence in subscriber.telemetry.popleft().text:
                    server.send(log_message(sentence, INFO, day.of(now_ns())))
            while subscriber.events:
                say(subscriber.events.popleft())
    server.close()
    return n_frame
