"""Encoding of messages to bytes, and decoding; no other module knows the bytes of a message.

Every decode is bounded in size and validated by the type's schema. Extension types are refused and
nothing is ever unpickled.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from streams.account import plain
from streams.errors import DecodeError, StreamError
from streams.messages import (
    MAX_DEPTH,
    SCHEMA_VERSION,
    AnyMessage,
    Command,
    Device,
    End,
    FieldSpec,
    Forces,
    Journal,
    Markers,
    Output,
    PlainMap,
    Result,
    Session,
    Telemetry,
)

MAX_PAYLOAD = 1 << 20
"""Largest payload of a message [bytes]."""
MAX_ARRAY_BYTES = MAX_PAYLOAD - (16 << 10)
"""Largest sum of the arrays of one frame [bytes]; the rest is room for names and stamps."""
LONGEST_FAULT = 200
"""Length of a decoder's message on bad bytes that is kept [characters]."""

FloatArray = NDArray[np.float64]
WIRE_FLOAT = np.dtype("<f8")


class _MessageHeader(msgspec.Struct):
    """Header of a message: the two keys that decide how the rest is decoded."""

    v: int
    type: str


class _PlainMap(msgspec.Struct):
    """A record with one map of plain values, as in `meta` of descriptors and `args` of commands. It exists
    because msgspec analyses the type of a record only once, but a bare type at each check.
    """

    value: PlainMap


def _refuse_extension(code: int, data: memoryview) -> NoReturn:
    raise ValueError(f"extension type {code} is not allowed")


def _decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(kind, ext_hook=_refuse_extension)


_ENCODER = msgspec.msgpack.Encoder()
_HEADER = _decoder(_MessageHeader)
_ENTRIES, _ITEMS = _decoder(dict[str, msgspec.Raw]), _decoder(list[msgspec.Raw])
MESSAGE_TYPES: dict[bytes, type[AnyMessage]] = {
    b"session": Session,
    b"markers": Markers,
    b"forces": Forces,
    b"result": Result,
    b"telemetry": Telemetry,
    b"command": Command,
    b"output": Output,
    b"device": Device,
    b"end": End,
    b"journal": Journal,
}
"""Topic -> type of its messages."""
PLAIN_FIELDS = frozenset({"meta", "args", "values"})
"""Tables of messages that hold plain values of any names."""
_DECODERS = {topic: _decoder(kind) for topic, kind in MESSAGE_TYPES.items()}
TOPICS = tuple(_DECODERS)
KEYS_ONCE = frozenset({b"output", b"device", b"command"})
"""Topics of messages that cause an action, in which no key may occur twice (in commands: at any depth)."""


def encode(message: AnyMessage) -> list[bytes]:
    """Encode a message into its two parts, [topic, payload].

    Raises StreamError when a value cannot be encoded, a descriptor is inconsistent or beyond a limit of
    docs/protocol.md, so that no receiver would take it, or the payload would be larger than 1 MiB.
    """
    if isinstance(message, (Output, Device)):  # first, as they alone come a thousand times a second
        check_channels(message)
    elif isinstance(message, Session):
        check_session(message)
    elif isinstance(message, Command):
        _check_plain(message.args, "args")
    elif isinstance(message, Journal):
        _check_plain(message.values, "values")
    try:
        payload = _ENCODER.encode(message)
    except (TypeError, ValueError, OverflowError, RecursionError) as fault:
        raise StreamError(f"the {message.type} message has a value that cannot be sent: {fault}") from fault
    if len(payload) > MAX_PAYLOAD:
        raise StreamError(
            f"the {message.type} message has {len(payload)} bytes, the largest allowed is {MAX_PAYLOAD}; "
            "send fewer or smaller fields"
        )
    if isinstance(message, Session):
        _check_limits(payload)
    return [message.type.encode("ascii"), payload]


def decode(parts: Sequence[bytes]) -> AnyMessage:
    """Decode a message from its two parts, [topic, payload].

    Raises DecodeError, whose `reason` is "oversize", "bad_topic", "bad_version", "bad_type" or "malformed".
    """
    if len(parts) != 2:
        raise DecodeError("malformed", f"a message must have 2 parts, but this one has {len(parts)}")
    topic, payload = parts
    if len(payload) > MAX_PAYLOAD:
        raise DecodeError("oversize", f"the payload has {len(payload)} bytes; allowed: {MAX_PAYLOAD}")
    decoder = _DECODERS.get(topic)
    if decoder is None:
        raise DecodeError("bad_topic", f"the topic {bytes(topic[:32])!r} is not a message type")
    try:
        header = _HEADER.decode(payload)
    except Exception as fault:  # hostile bytes fail in many ways; each means the same
        raise DecodeError(
            "malformed", f"the payload is not a map with `v` and `type`: {_brief(fault)}"
        ) from fault
    if header.v != SCHEMA_VERSION:
        raise DecodeError(
            "bad_version",
            f"the schema version of the message is {header.v}, but this program reads {SCHEMA_VERSION}",
        )
    if header.type != topic.decode("ascii"):
        raise DecodeError(
            "bad_type", f"the topic states the type {topic.decode()}, but the payload {header.type[:32]!r}"
        )
    try:
        message: AnyMessage = decoder.decode(payload)
        if topic in KEYS_ONCE:
            _check_keys(payload, whole=topic == b"command")
        _check_decoded(message)
    except Exception as fault:  # as above
        raise DecodeError("malformed", f"bad {topic.decode()} message: {_brief(fault)}") from fault
    return message


def _brief(fault: Exception) -> str:
    """Return the shortened text of an error; the decoder quotes a wrong value whole, however long it is."""
    return plain(str(fault) or type(fault).__name__, LONGEST_FAULT)


def check_session(session: Session) -> None:
    """Raise StreamError for a descriptor that contradicts itself or describes frames too large to send.

    If an axis has length 0, a frame has no bytes. So the size of the frame without that axis is checked, too.
    """
    names = [spec.name for spec in session.fields]
    if len(set(names)) != len(names):
        raise StreamError("the descriptor contains two fields of the same name")
    for spec in session.fields:
        if spec.labels and (not spec.shape or len(spec.labels) != spec.shape[0]):
            raise StreamError(
                f"field {spec.name!r} has {len(spec.labels)} labels for shape {list(spec.shape)}; "
                "give one label for each entry of the first axis, or none"
            )
        if spec.units and (not spec.shape or len(spec.units) != spec.shape[0]):
            raise StreamError(
                f"field {spec.name!r} has {len(spec.units)} units for shape {list(spec.shape)}; "
                "give one for each entry of the first axis, or none"
            )
        if spec.parts and (len(spec.shape) != 2 or len(spec.parts) != spec.shape[1]):
            raise StreamError(
                f"field {spec.name!r} has {len(spec.parts)} parts for shape {list(spec.shape)}; "
                "give one part for each entry of the second of two axes, or none"
            )
        if 8 * math.prod(n for n in spec.shape if n) > MAX_ARRAY_BYTES:
            raise StreamError(
                f"field {spec.name!r} has the shape {list(spec.shape)}; "
                f"at most {MAX_ARRAY_BYTES // 8} numbers are allowed"
            )
    n_byte = 8 * sum(math.prod(spec.shape) for spec in session.fields)
    if n_byte > MAX_ARRAY_BYTES:
        raise StreamError(f"a frame would have {n_byte} bytes of arrays; allowed: {MAX_ARRAY_BYTES}")
    if not math.isfinite(session.rate):
        raise StreamError(f"the rate is {session.rate}; give frames per second, or 0 for irregular frames")
    _check_plain(session.meta, "meta")


def _check_limits(payload: bytes) -> None:
    """Raise StreamError for an encoded descriptor that is beyond a limit of the protocol, such as a unit of
    33 characters: receivers would refuse it, and with it all frames. msgspec checks limits in decoding only.
    """
    try:
        _DECODERS[b"session"].decode(payload)
    except msgspec.ValidationError as fault:
        raise StreamError(f"no receiver would accept the descriptor: {_brief(fault)}") from fault


def _check_decoded(message: AnyMessage) -> None:
    """Check a decoded message by the rules that its type's schema cannot express."""
    if isinstance(message, (Output, Device)):
        check_channels(message)
    elif isinstance(message, Session):
        check_session(message)
    elif isinstance(message, (Markers, Forces, Result)) and not math.isfinite(message.time):
        raise StreamError(f"`time` is {message.time}, not a finite number")


def check_channels(message: Output | Device) -> None:
    """Raise StreamError if numbers of a device's joints (torque, angle, speed, limits) are not finite, or if
    their lists differ in length.
    """
    torque, angle, speed, most = message.torque, message.angle, message.speed, message.torque_max
    n, actuator = len(torque), torque  # of which an output has none of its own
    if isinstance(message, Output):
        if not math.isfinite(message.time):
            raise StreamError(f"`time` is {message.time}, not a finite number")
    else:  # these two may be left out
        actuator, most = message.actuator or torque, most or torque
    if not len(angle) == len(speed) == len(most) == len(actuator) == n:
        raise StreamError("the lists of the joints differ in length")
    # one look for all: a number that is not finite leaves no finite sum; a sum may be too large by itself
    numbers = (*torque, *angle, *speed, *most, *actuator)
    if not math.isfinite(sum(numbers)) and not all(map(math.isfinite, numbers)):
        raise StreamError("a number is not finite")
    if message.torque_max and min(most) < 0.0:
        raise StreamError("`torque_max` is below zero")


def _check_keys(payload: bytes, whole: bool = False) -> None:
    """Raise StreamError for a map that has a key twice, as nobody knows which of the two entries is meant.

    payload : payload of a message that was decoded already, so that it is known not to be nested too deeply
    whole : whether the maps inside the map are checked, too
    """
    head, n = payload[0], payload[0] & 0x0F
    parts: Iterable[msgspec.Raw] = ()
    if 0x80 <= head <= 0x8F or head in (0xDE, 0xDF):
        if head >= 0xDE:  # map 16, map 32
            n = int.from_bytes(payload[1 : 3 if head == 0xDE else 5], "big")
        entries = _ENTRIES.decode(payload)
        if len(entries) != n:
            raise StreamError("a key occurs twice")
        parts = entries.values()
    elif 0x90 <= head <= 0x9F or head in (0xDC, 0xDD):
        parts = _ITEMS.decode(payload)
    for part in parts if whole else ():
        _check_keys(bytes(part), whole)


def _check_plain(value: dict[str, Any], where: str) -> None:
    """Raise StreamError for a value that is not a str, float, int or bool, nor a list or a map with text keys
    of such values; dates and bytes are refused, for example."""
    try:
        msgspec.convert({"value": value}, _PlainMap)
    except Exception as fault:  # each foreign type fails in its own way
        raise StreamError(
            f"`{where}` may hold text, numbers, true/false, and lists and maps of these at most {MAX_DEPTH} "
            f"deep: {_brief(fault)}"
        ) from fault


class FieldLayout:
    """Position of each field in a session's frames, and its conversion to bytes.

    Raises StreamError when the descriptor contradicts itself.
    """

    def __init__(self, session: Session) -> None:
        check_session(session)
        self.specs: dict[str, FieldSpec] = {spec.name: spec for spec in session.fields}
        self._sizes = [(spec.name, 8 * math.prod(spec.shape)) for spec in session.fields]
        self.n_value = sum(n_byte for _, n_byte in self._sizes) // 8

    def views(self, flat: FloatArray) -> dict[str, FloatArray]:
        """Split one array of `n_value` values into consecutive views, one for each field."""
        views = {}
        start = 0
        for name, spec in self.specs.items():
            stop = start + math.prod(spec.shape)
            views[name] = flat[start:stop].reshape(tuple(spec.shape))
            start = stop
        return views

    def pack(self, arrays: Mapping[str, ArrayLike]) -> dict[str, bytes]:
        """Encode the arrays as little-endian float64 bytes in C order.

        Raises StreamError when a field is missing or unknown, or has another shape than the descriptor says.
        """
        if arrays.keys() != self.specs.keys():
            raise StreamError(
                f"the frame has the fields {sorted(arrays)}, the descriptor {sorted(self.specs)}"
            )
        packed = {}
        for name, spec in self.specs.items():
            array = np.asarray(arrays[name], dtype=WIRE_FLOAT)
            if array.shape != spec.shape:
                raise StreamError(
                    f"field {name!r} has shape {array.shape}, the descriptor says {tuple(spec.shape)}"
                )
            packed[name] = array.tobytes()
        return packed

    def misfit(self, data: Mapping[str, bytes]) -> str | None:
        """Check whether a frame fits the descriptor; return None, "missing_field" or "wrong_shape".

        Fields that the descriptor does not name are ignored.
        """
        for name, n_byte in self._sizes:
            blob = data.get(name)
            if blob is None:
                return "missing_field"
            if len(blob) != n_byte:
                return "wrong_shape"
        return None

    def unpack_into(self, data: Mapping[str, bytes], out: Mapping[str, FloatArray]) -> str | None:
        """Decode a frame's bytes into the arrays `out`, C-contiguous float64; leave `out` unchanged if the
        frame does not match the descriptor.

        Returns None, or the reason why the frame does not match: "missing_field" or "wrong_shape".
        """
        fault = self.misfit(data)
        if fault is not None:
            return fault
        for name, n_byte in self._sizes:
            if n_byte:
                memoryview(out[name]).cast("B")[:] = data[name]  # type: ignore[arg-type]
                if sys.byteorder == "big":
                    out[name].byteswap(inplace=True)
        return None
