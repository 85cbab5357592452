"""docs/protocol.md and the code say the same."""

import re
from pathlib import Path

import msgspec
import numpy as np
import pytest

from streams import codec, messages, publisher, sockets
from streams.access import crowd
from streams.codec import FieldLayout, decode, encode
from streams.control import commands
from streams.messages import Status, marker_session
from streams.receiving import checks, unfinished

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "protocol.md").read_text(encoding="utf-8")
CODE = set(re.findall(r"`([^`\n]+)`", TEXT))


def section(title: str) -> str:
    """The text under a heading, down to the next heading of any level."""
    return re.split(r"^#+ ", TEXT.split(f"# {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def table_keys(title: str, table: int | None = None) -> set[str]:
    """The keys of all tables in a section, or of one of them."""
    tables = re.findall(r"(?:^\|.*\n)+", section(title), flags=re.MULTILINE)
    chosen = tables if table is None else tables[table : table + 1]
    return set(re.findall(r"^\| `(\w+)` \|", "\n".join(chosen), flags=re.MULTILINE))


def documented_dump() -> bytes:
    (block,) = re.findall(r"```hex\n(.*?)```", TEXT, flags=re.DOTALL)
    return b"".join(bytes.fromhex(line[6:53]) for line in block.splitlines())


def test_the_hex_dump_is_a_message():
    """Protects the worked example: it decodes to what the text says, and is what we send."""
    payload = documented_dump()
    message = decode([b"markers", payload])
    assert isinstance(message, messages.Markers)
    assert (message.session, message.seq, message.time) == ("00c0ffee00c0ffee", 7, 0.07)
    assert message.t_capture == 123_456_789_012
    layout = FieldLayout(marker_session(["LASI", "RASI"], rate=100.0, t_start=0))
    out = layout.views(np.full(layout.n_value, np.nan))
    assert layout.unpack_into(message.data, out) is None
    np.testing.assert_array_equal(out["positions"], [[0.5, 1.0, -0.25], [np.nan] * 3])
    assert encode(message) == [b"markers", payload]
    assert f"Part 2 has {len(payload)} bytes" in TEXT


def test_the_table_of_the_dump_is_right():
    """Protects the worked example: each row's bytes stand at its offset."""
    payload = documented_dump()
    rows = re.findall(r"^\| ([0-9a-f]{4}) \| `([0-9a-f .]+)` \|", TEXT, flags=re.MULTILINE)
    assert len(rows) == 18
    for offset, text in rows:
        assert payload[int(offset, 16) :].startswith(bytes.fromhex(text.split(" ...")[0]))


def test_the_array_example_is_right():
    """Protects the example of an array byte by byte."""
    numbers = re.findall(
        r"^    ((?:[0-9a-f]{2} ){7}[0-9a-f]{2}) +(\S+)", section("Values"), flags=re.MULTILINE
    )
    assert len(numbers) == 6
    for text, value in numbers:
        np.testing.assert_array_equal(np.frombuffer(bytes.fromhex(text), "<f8"), [float(value)])


@pytest.mark.parametrize(
    ("title", "kind", "shared"),
    [
        ("session: the descriptor", messages.Session, set()),
        ("markers: a frame of markers", messages.Markers, set()),
        ("result: an estimated frame", messages.Result, set(messages.Markers.__struct_fields__)),
        ("telemetry: the estimator about itself", messages.Telemetry, set()),
        ("end: the stream is over", messages.End, set()),
        ("output: what the device shall do", messages.Output, set()),
        ("device: what it measures", messages.Device, set()),
    ],
)
def test_every_key_is_documented(title, kind, shared):
    """Protects the tables: exactly the keys of each message are there."""
    common = {"v", "type", "session"}
    assert table_keys("Messages") == common
    assert table_keys(title, 0) == set(kind.__struct_fields__) - common - shared
    if title.startswith("session"):
        assert table_keys(title, 1) == set(messages.FieldSpec.__struct_fields__)


def test_the_fields_of_forces_are_documented():
    """Protects the table of the forces stream: names, shapes and units, and the entries of meta."""
    session = messages.force_session(["a"], 5, rate=1.0, sample_rate=1.0, t_start=0)
    text = section("session: the descriptor").split("**For `stream` = `forces`**")[1]
    rows = re.findall(r"^\| `(\w+)` \| \[([^\]]+)\] \| ([^|]+) \|", text, flags=re.MULTILINE)[:3]
    sizes = {"n_plate": 1, "n_sample": 5, "3": 3}
    found = {name: (tuple(sizes[n] for n in shape.split(", ")), unit) for name, shape, unit in rows}
    assert found == {spec.name: (tuple(spec.shape), spec.unit) for spec in session.fields}
    for entry in (*session.meta, "time_base"):
        assert f"| `{entry}` |" in text


def test_names_are_documented():
    """Protects completeness: topics, counters, commands and status bits."""
    assert {topic.decode() for topic in codec.TOPICS} <= set(re.findall(r"\w+", section("Messages")))
    assert table_keys("Errors and counters") == set(checks.COUNTERS)
    bits = re.findall(r"^\| (\d+) \| (\w+) \|", section("result: an estimated frame"), flags=re.MULTILINE)
    assert {int(bit): name for bit, name in bits} == {int(bit): bit.names() for bit in Status}


def test_numbers_are_documented():
    """Protects limits and addresses from drifting apart."""
    for n in (codec.MAX_PAYLOAD, codec.MAX_ARRAY_BYTES, codec.MAX_ARRAY_BYTES // 8, checks.IMPLAUSIBLE_GAP):
        assert f"{n:,}".replace(",", " ") in TEXT
    for address in (sockets.MARKERS_ADDRESS, sockets.RESULTS_ADDRESS, sockets.CONTROL_ADDRESS,
                    sockets.DEVICE_ADDRESS):  # fmt: skip
        assert address in CODE
    assert f"{sockets.HIGH_WATER} messages at the" in TEXT
    assert f"{checks.RECENT} used frames" in TEXT
    assert f"{sockets.HARD_LIMIT >> 20} MiB at subscribers" in TEXT
    assert f"{commands.COMMAND_LIMIT >> 10} KiB at the control endpoint" in TEXT
    assert f"{publisher.UPSTREAM.part >> 10} KiB towards a publisher" in TEXT
    assert f"{sockets.RECEIVE_HIGH_WATER} at each receiver" in TEXT
    for allowance in (publisher.UPSTREAM, commands.COMMANDS):
        assert f"{allowance.burst >> 10} KiB, and {allowance.rate} bytes a second" in TEXT
    assert f"{publisher.MOST_TOPICS} subscriptions of at most {publisher.LONGEST_TOPIC} bytes" in TEXT
    assert f"{crowd.PLACES} connections; {crowd.MOST} while newcomers" in TEXT
    assert f"{unfinished.MOST_UNFINISHED >> 10} KiB of a message that does not end" in TEXT
    assert f"at most {codec.MAX_DEPTH} deep" in TEXT
    assert f"version {messages.SCHEMA_VERSION}\n" in TEXT


def test_field_limits_are_documented():
    """Protects the limits inside descriptors."""
    limits = msgspec.json.schema(messages.Session)["$defs"]
    spec = limits["FieldSpec"]["properties"]
    found = (
        limits["Session"]["properties"]["fields"]["maxItems"],
        spec["shape"]["maxItems"],
        spec["labels"]["maxItems"],
    )
    assert "| {}; {}; {} |".format(*found) in TEXT
    lengths = (spec["name"]["maxLength"], spec["unit"]["maxLength"], spec["labels"]["items"]["maxLength"])
    assert "| {}, {}, {}; 64 characters |".format(*lengths) in TEXT
