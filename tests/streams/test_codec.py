"""The codec: what goes in comes out, and nothing else gets in."""

import math
import struct
from datetime import UTC, datetime

import msgpack
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams import codec
from streams.codec import FieldLayout, decode, encode
from streams.errors import DecodeError, StreamError
from streams.messages import (
    Command,
    Device,
    End,
    FieldSpec,
    Forces,
    Markers,
    Output,
    Result,
    Session,
    Telemetry,
)

ID = "0123456789abcdef"
counts = st.integers(0, 2**63 - 1)
finite = st.floats(allow_nan=False, allow_infinity=False)
numbers = st.floats(width=64)
words = st.text(max_size=30)
plain = st.recursive(
    words | finite | st.integers(-(2**63), 2**63 - 1) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
shapes = st.lists(st.integers(0, 5), max_size=4)


@st.composite
def field_specs(draw):
    shape = draw(shapes)
    n_label = shape[0] if shape and draw(st.booleans()) else 0
    labels = draw(st.lists(words, min_size=n_label, max_size=n_label))
    return FieldSpec(draw(st.text(min_size=1, max_size=64)), shape, draw(words), labels)


@st.composite
def sessions(draw):
    return Session(
        session=ID,
        stream=draw(st.sampled_from(["markers", "forces", "result"])),
        t_start=draw(counts),
        rate=draw(st.floats(0.0, 1e6)),
        fields=draw(st.lists(field_specs(), max_size=5, unique_by=lambda spec: spec.name)),
        meta=draw(st.dictionaries(words, plain, max_size=4)),
    )


pair = st.lists(finite, min_size=2, max_size=2)
data = st.dictionaries(words, st.binary(max_size=64), max_size=3)
frame_keys = {"session": st.just(ID), "seq": counts, "t_capture": counts, "time": finite, "data": data}
messages = st.one_of(
    sessions(),
    st.builds(Markers, **frame_keys),
    st.builds(Forces, **frame_keys),
    st.builds(
        Result,
        **frame_keys,
        t_received=counts,
        t_solved=counts,
        t_published=counts,
        status=st.integers(0, 31),
        iterations=st.integers(0, 100),
        residual=st.floats(allow_nan=False),
    ),
    st.builds(
        Telemetry,
        session=st.just(ID),
        t=counts,
        counters=st.dictionaries(words, counts, max_size=3),
        gauges=st.dictionaries(words, finite, max_size=3),
        text=st.lists(words, max_size=3),
    ),
    st.builds(
        Command, session=st.sampled_from(["", ID]), name=words, args=st.dictionaries(words, plain, max_size=3)
    ),
    st.builds(End, session=st.just(ID), seq=counts, reason=words),
    st.builds(
        Output, session=st.just(ID), seq=counts, t_sent=counts, valid_for_ms=st.floats(0.1, 1000.0),
        time=finite, armed=st.booleans(), answer=st.booleans(), tick_ms=st.floats(0.1, 1000.0),
        torque=pair, angle=pair, torque_max=st.lists(st.floats(0.0, 1e9), min_size=2, max_size=2), speed=pair,
    ),
    st.builds(
        Device, session=st.sampled_from(["", ID]), seq=counts, t=counts, command=st.integers(-1, 2**63 - 1),
        angle=pair, speed=pair, torque=pair, actuator=st.one_of(st.just([]), pair),
        state=st.sampled_from(["disarmed", "armed", "falling", "stopped"]), fault=words,
    ),
)  # fmt: skip


def reason_of(parts) -> str:
    with pytest.raises(DecodeError) as caught:
        decode(parts)
    assert str(caught.value)
    return caught.value.reason


def outcome(parts) -> str:
    try:
        return decode(parts).type
    except DecodeError as fault:
        return fault.reason


def markers_map(**keys) -> dict:
    return {
        "v": 1,
        "type": "markers",
        "session": ID,
        "seq": 0,
        "t_capture": 0,
        "time": 0.0,
        "data": {},
        **keys,
    }


@given(messages)
def test_every_message_survives_the_round_trip(message):
    """Protects all types: decoding what was encoded gives an equal record."""
    parts = encode(message)
    assert [len(parts), parts[0]] == [2, message.type.encode()]
    assert decode(parts) == message


@given(sessions(), st.data())
def test_arrays_survive_the_round_trip(session, draw):
    """Protects every bit of every number, NaN and infinities included, for any names and shapes."""
    layout = FieldLayout(session)
    arrays = {}
    for spec in session.fields:
        n_value = math.prod(spec.shape)
        values = (
            draw.draw(st.lists(numbers, min_size=n_value, max_size=n_value))
            if n_value < 30
            else range(n_value)
        )
        arrays[spec.name] = np.array(values, dtype=np.float64).reshape(spec.shape)
    out = layout.views(np.full(layout.n_value, np.nan))
    assert layout.unpack_into(layout.pack(arrays), out) is None
    assert out.keys() == arrays.keys()
    for name, array in arrays.items():
        assert out[name].shape == array.shape
        np.testing.assert_array_equal(out[name], array)


@given(st.sampled_from(codec.TOPICS) | st.binary(max_size=8), st.binary(max_size=200))
def test_random_bytes_are_refused_politely(topic, payload):
    """Protects receivers: garbage raises DecodeError and nothing else."""
    assert reason_of([topic, payload])


@given(messages, st.data())
def test_damaged_messages_are_refused_or_valid(message, draw):
    """Protects receivers: a flipped byte or a cut gives a DecodeError or a well-formed message."""
    topic, payload = encode(message)
    at = draw.draw(st.integers(0, len(payload) - 1))
    damaged = bytearray(payload)
    damaged[at] = draw.draw(st.integers(0, 255))
    cut = draw.draw(st.integers(0, len(payload)))
    for bad in (bytes(damaged), payload[:cut], payload + b"\x00"):
        assert outcome([topic, bad]) in (message.type, "malformed", "bad_version", "bad_type")


def test_foreign_packers_are_understood():
    """Protects other languages: any key order, unknown keys, ints for floats, float 32."""
    entries = reversed(markers_map(time=3, data={"positions": b"12345678"}, new_key=[1, {"a": None}]).items())
    message = decode([b"markers", msgpack.packb(dict(entries))])
    assert isinstance(message, Markers)
    assert (message.time, message.data) == (3.0, {"positions": b"12345678"})
    single = msgpack.packb(markers_map(time=0.5), use_single_float=True)
    message = decode([b"markers", single])
    assert isinstance(message, Markers)
    assert message.time == 0.5


@pytest.mark.parametrize(
    ("topic", "payload", "reason"),
    [
        (b"marker", msgpack.packb(markers_map()), "bad_topic"),
        (b"forces", msgpack.packb(markers_map()), "bad_type"),
        (b"markers", msgpack.packb(markers_map(v=2)), "bad_version"),
        (b"markers", msgpack.packb({"v": 9, "type": "markers", "seq": "other"}), "bad_version"),
        (b"markers", msgpack.packb({k: x for k, x in markers_map().items() if k != "v"}), "malformed"),
        (b"markers", msgpack.packb({k: x for k, x in markers_map().items() if k != "seq"}), "malformed"),
        (b"markers", msgpack.packb(markers_map(seq=-1)), "malformed"),
        (b"markers", msgpack.packb(markers_map(seq=1.0)), "malformed"),
        (b"markers", msgpack.packb(markers_map(seq=2**63)), "malformed"),
        (b"markers", msgpack.packb(markers_map(time=math.nan)), "malformed"),
        (b"markers", msgpack.packb(markers_map(time=math.inf)), "malformed"),
        (b"markers", msgpack.packb(markers_map(data=[1.0])), "malformed"),
        (b"markers", msgpack.packb(markers_map(data={"positions": [1.0]})), "malformed"),
        (b"markers", msgpack.packb(markers_map(session="x" * 17)), "malformed"),
        (b"markers", msgpack.packb([1, 2]), "malformed"),
        (b"markers", b"", "malformed"),
        (b"markers", bytes(codec.MAX_PAYLOAD + 1), "oversize"),
    ],
)
def test_each_fault_has_its_reason(topic, payload, reason):
    """Protects the counters: they rest on these codes."""
    assert reason_of([topic, payload]) == reason


def test_only_two_parts_are_a_message():
    """Protects the framing."""
    payload = msgpack.packb(markers_map())
    assert reason_of([b"markers"]) == "malformed"
    assert reason_of([b"markers", payload, b""]) == "malformed"


@pytest.mark.parametrize(
    "bad",
    [
        msgpack.ExtType(5, b"x"),
        datetime(2020, 1, 1, tzinfo=UTC),
        b"bytes",
        None,
        {1: 2},
        {"deep": [{"er": msgpack.ExtType(5, b"x")}]},
    ],
)
def test_extensions_and_foreign_values_are_refused(bad):
    """Protects against extension types (dates too), bytes and nil where anything plain may stand."""
    command = {"v": 1, "type": "command", "session": "", "name": "status", "args": {"x": bad}}
    assert reason_of([b"command", msgpack.packb(command, datetime=True)]) == "malformed"
    with pytest.raises(StreamError):
        encode(Command(name="status", args={"x": bad}))


def test_extension_in_place_of_an_array_is_refused():
    """Protects the arrays: an extension is not bin."""
    payload = msgpack.packb(markers_map(data={"positions": msgpack.ExtType(1, b"12345678")}))
    assert reason_of([b"markers", payload]) == "malformed"


@pytest.mark.parametrize(
    "payload",
    [
        b"\xdf\xff\xff\xff\xff",  # a map of 4 billion entries
        b"\x81\xa1v\xdd\xff\xff\xff\xff",  # a list of 4 billion
        b"\x81\xa1v\xc6\xff\xff\xff\xff",  # 4 GiB of bytes
        b"\x81\xa1z" + b"\x91" * 100_000 + b"\x01",  # 100 000 lists in each other
        b"\x81\xa1v\xa1\xff",  # bad UTF-8
        b"\x81\x91\x01\x01",  # a list as key
    ],
)
def test_bombs_are_refused(payload):
    """Protects memory and stack: sizes that are claimed but not there, and endless nesting."""
    assert reason_of([b"session", payload]) == "malformed"


def session_with(*fields, rate=100.0, meta=None) -> Session:
    return Session(session=ID, stream="result", t_start=0, rate=rate, fields=fields, meta=meta or {})


@pytest.mark.parametrize(
    "session",
    [
        session_with(FieldSpec("a", [1], "m"), FieldSpec("a", [2], "m")),
        session_with(FieldSpec("a", [2], "m", ["x"])),
        session_with(FieldSpec("a", [], "m", ["x"])),
        session_with(FieldSpec("a", [codec.MAX_ARRAY_BYTES // 8 + 1], "m")),
        session_with(FieldSpec("a", [2**40, 2**40], "m")),
        session_with(rate=math.inf),
        session_with(rate=math.nan),
        session_with(meta={"a": [[[[[[[[[[1]]]]]]]]]]}),
        session_with(FieldSpec("a", [2], "rad, m", units=["rad"])),
        session_with(FieldSpec("a", [], "m", units=["m"])),
    ],
)
def test_contradictory_descriptors_are_refused_on_both_sides(session):
    """Protects layouts: no descriptor gets through that no frame could follow."""
    with pytest.raises(StreamError):
        encode(session)
    with pytest.raises(StreamError):
        FieldLayout(session)
    assert reason_of([b"session", msgspec.msgpack.encode(session)]) == "malformed"


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        (FieldSpec("a" * 64, [1], "m"), True),
        (FieldSpec("a" * 65, [1], "m"), False),
        (FieldSpec("a", [1], "u" * 32, ["b" * 128]), True),
        (FieldSpec("a", [1], ", ".join(["1"] * 12)), False),
        (FieldSpec("a", [1], "m", ["b" * 129]), False),
        (FieldSpec("a", [1], "m", units=["u" * 33]), False),
        (FieldSpec("a", [1] * 5, "m"), False),
        (FieldSpec("a", [4097], "m", [str(k) for k in range(4097)]), False),
    ],
)
def test_a_descriptor_beyond_a_limit_is_refused_at_the_sender(spec, fits):
    """Protects senders: what every receiver would drop, and with it all frames, is told before it is sent."""
    if fits:
        assert decode(encode(session_with(spec))).fields == (spec,)
        return
    with pytest.raises(StreamError, match="no receiver would accept the descriptor"):
        encode(session_with(spec))


def test_session_id_must_be_16_hex_digits():
    """Protects the id from carriage returns, capitals and other lengths."""
    good = msgpack.unpackb(encode(session_with())[1])
    for id_ in ("", "0123456789ABCDEF", "0123456789abcde", "0123456789abcde\n", "0123456789abcdef\n"):
        assert reason_of([b"session", msgpack.packb({**good, "session": id_})]) == "malformed"


def test_pack_refuses_what_the_descriptor_does_not_say():
    """Protects senders from publishing frames that nobody can read."""
    layout = FieldLayout(session_with(FieldSpec("a", [2], "m"), FieldSpec("b", [1], "m")))
    good = {"a": np.zeros(2), "b": np.zeros(1)}
    layout.pack(good)
    for bad in (
        {"a": np.zeros(2)},
        {**good, "c": np.zeros(1)},
        {**good, "a": np.zeros(3)},
        {**good, "a": np.zeros((2, 1))},
    ):
        with pytest.raises(StreamError):
            layout.pack(bad)


def test_pack_takes_any_memory_order_and_number_type():
    """Protects the byte order and the C order of arrays on the wire."""
    layout = FieldLayout(session_with(FieldSpec("a", [2, 3], "m")))
    values = [[0, 1, 2], [3, 4, 5]]
    expected = struct.pack("<6d", 0, 1, 2, 3, 4, 5)
    for array in (values, np.asfortranarray(values), np.array(values, ">f4"), np.array(values, np.int16)):
        assert layout.pack({"a": array}) == {"a": expected}


def test_a_misfit_leaves_the_frame_untouched():
    """Protects the last good frame from being half overwritten."""
    layout = FieldLayout(session_with(FieldSpec("a", [2], "m"), FieldSpec("b", [1], "m")))
    out = layout.views(np.full(layout.n_value, np.nan))
    assert np.isnan(out["a"]).all()
    assert layout.unpack_into({"a": bytes(16), "b": bytes(7)}, out) == "wrong_shape"
    assert layout.unpack_into({"a": bytes(16)}, out) == "missing_field"
    assert np.isnan(out["a"]).all()
    assert layout.unpack_into({"a": bytes(16), "b": bytes(8), "extra": b"x"}, out) is None
    assert (out["a"] == 0.0).all()
