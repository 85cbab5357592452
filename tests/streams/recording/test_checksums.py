"""Checksums and schemas of recordings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer

from streams.codec import TOPICS, encode
from streams.messages import End, Markers, marker_session
from streams.recording.recorded import read_messages
from streams.recording.recorder import Recorder
from streams.recording.schemas import schema_of

SESSION = marker_session(["LASI"], rate=500.0, t_start=0)


def written(path: Path) -> Path:
    """Return a closed recording of a session, twenty frames and their end."""
    frames = [
        Markers(session=SESSION.session, seq=k, t_capture=k, time=0.01 * k, data={"positions": bytes(24)})
        for k in range(20)
    ]
    with Recorder(path) as recorder:
        for k, message in enumerate([SESSION, *frames, End(session=SESSION.session, seq=20, reason="over")]):
            topic, payload = encode(message)
            recorder.write(topic, payload, k)
    return path


def test_a_changed_byte_of_a_message_is_told(tmp_path):
    """Protects trust in a recording: one bit of one message, wherever it is, is found when it is read."""
    whole = written(tmp_path / "whole.mcap").read_bytes()
    zeros = whole.index(bytes(24))
    for place in (zeros, zeros + 23, whole.rindex(bytes(24))):
        changed = bytearray(whole)
        changed[place] ^= 1
        (tmp_path / "changed.mcap").write_bytes(changed)
        reader = read_messages(tmp_path / "changed.mcap")
        # all frames stand in one chunk; another one begins with the channel of the end
        assert [topic for _, topic, _ in reader] == [b"session", b"end"]
        assert (reader.n_damaged, reader.n_lost) == (1, 20)
        assert "are damaged and were left out" in reader.note


def test_a_sound_recording_says_nothing(tmp_path):
    """Protects from false alarm: checksums that fit, or are not there, are no note."""
    reader = read_messages(written(tmp_path / "whole.mcap"))
    assert len(list(reader)) == 22
    assert (reader.note, reader.n_damaged) == ("", 0)
    with (tmp_path / "old.mcap").open("wb") as file:  # as recordings were without a checksum
        writer = Writer(file, compression=CompressionType.NONE, use_chunking=False)
        writer.start()
        channel = writer.register_channel("end", message_encoding="msgpack", schema_id=0)
        writer.add_message(channel, log_time=1, data=b"x", publish_time=1)
        writer.finish()
    reader = read_messages(tmp_path / "old.mcap")
    assert list(reader) == [(1, b"end", b"x")]
    assert (reader.note, reader.n_damaged) == ("", 0)


def test_a_changed_chunk_is_told(tmp_path):
    """Protects chunks of other programs: their checksums are compared, too."""
    with (tmp_path / "chunk.mcap").open("wb") as file:
        writer = Writer(file, compression=CompressionType.NONE)
        writer.start()
        channel = writer.register_channel("end", message_encoding="msgpack", schema_id=0)
        writer.add_message(channel, log_time=1, data=b"distinct bytes", publish_time=1)
        writer.finish()
    content = (tmp_path / "chunk.mcap").read_bytes()
    (tmp_path / "chunk.mcap").write_bytes(content.replace(b"distinct bytes", b"distinkt bytes"))
    reader = read_messages(tmp_path / "chunk.mcap")
    assert list(reader) == []
    assert (reader.n_damaged, reader.n_lost) == (1, 1)
    assert "are damaged and were left out" in reader.note


@pytest.mark.parametrize("topic", [topic.decode() for topic in TOPICS])
def test_every_topic_has_a_schema_with_its_keys(topic):
    """Protects readers without rtsim: each kind of message is described, short enough for a small file."""
    found = schema_of(topic)
    assert found is not None
    assert len(found) < 8192
    schema = json.loads(found)
    (name,) = [kind for kind in schema["$defs"] if kind.lower() == topic]
    assert schema["$ref"] == f"#/$defs/{name}"
    properties = schema["$defs"][name]["properties"]
    assert properties["type"]["enum"] == [topic]
    assert {"v", "session"} <= properties.keys()


def test_each_channel_of_a_recording_names_its_schema(tmp_path):
    """Protects the file itself: the plain reader finds the schema of a message beside it."""
    with written(tmp_path / "whole.mcap").open("rb") as file:
        for schema, channel, _ in make_reader(file).iter_messages():
            assert schema is not None
            assert (schema.name, schema.encoding) == (channel.topic, "jsonschema")
            assert schema.data == schema_of(channel.topic)
