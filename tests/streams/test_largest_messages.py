"""The largest messages: what one side may send the other takes, and nothing larger."""

import math

import msgspec
import numpy as np
import pytest

from streams import codec
from streams.codec import FieldLayout, decode, encode
from streams.errors import DecodeError, StreamError
from streams.messages import FieldSpec, Forces, Session, Telemetry

ID = "0123456789abcdef"


def test_encode_refuses_what_is_too_large():
    """Protects receivers from messages that they would drop, by telling the sender."""
    with pytest.raises(StreamError, match="largest allowed"):
        encode(Telemetry(session=ID, t=0, text=["x" * codec.MAX_PAYLOAD]))


@pytest.mark.parametrize(
    ("shapes", "fits"),
    [
        ([(codec.MAX_ARRAY_BYTES // 8,)], True),
        ([(codec.MAX_ARRAY_BYTES // 8 + 1,)], False),
        ([(codec.MAX_ARRAY_BYTES // 16,), (codec.MAX_ARRAY_BYTES // 16,)], True),
        ([(codec.MAX_ARRAY_BYTES // 16,), (codec.MAX_ARRAY_BYTES // 16 + 1,)], False),
        ([(0, codec.MAX_ARRAY_BYTES // 8)], True),
        ([(0, codec.MAX_ARRAY_BYTES // 8 + 1)], False),
        ([(3, 0, codec.MAX_ARRAY_BYTES // 16)], False),
    ],
)
def test_largest_frames(shapes, fits):
    """Protects memory to the last number of a frame: in one field, in several, beside an empty axis."""
    fields = [FieldSpec(f"f{k}", list(shape), "m") for k, shape in enumerate(shapes)]
    session = Session(session=ID, stream="forces", t_start=0, rate=1.0, fields=fields)
    if not fits:
        with pytest.raises(StreamError):
            FieldLayout(session)
        return
    layout = FieldLayout(session)
    assert layout.n_value == sum(math.prod(shape) for shape in shapes)
    assert 8 * layout.n_value <= codec.MAX_ARRAY_BYTES
    arrays = {name: np.ones(spec.shape) for name, spec in layout.specs.items()}
    message = Forces(session=ID, seq=0, t_capture=0, time=0.0, data=layout.pack(arrays))
    assert decode(encode(message)) == message


def test_largest_payload():
    """Protects both sides to the last byte: what one may send the other takes, and a byte more neither."""
    session = Session(session=ID, stream="forces", t_start=0, rate=1.0, fields=[])
    empty = len(encode(msgspec.structs.replace(session, meta={"x": "a" * 100_000}))[1]) - 100_000
    room = codec.MAX_PAYLOAD - empty
    parts = encode(msgspec.structs.replace(session, meta={"x": "a" * room}))
    assert len(parts[1]) == codec.MAX_PAYLOAD
    assert decode(parts).meta == {"x": "a" * room}
    with pytest.raises(StreamError, match="the largest allowed"):
        encode(msgspec.structs.replace(session, meta={"x": "a" * (room + 1)}))
    with pytest.raises(DecodeError) as fault:
        decode([parts[0], parts[1] + b"\0"])
    assert fault.value.reason == "oversize"
