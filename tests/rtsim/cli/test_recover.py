"""`rtsim recover`: a whole recording with an index of what a crash or damage has left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from mcap.reader import make_reader
from mcap.records import Channel, Header

from rtsim.cli.main import cli
from rtsim.files.recovery import MOST_TOPICS
from streams.recording.chunked_file import MAGIC, message_record, packed
from streams.recording.recorded import read_messages
from streams.recording.recorder import Recorder

N = 100


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two seconds of 50 Hz."""
    path = tmp_path / "walk.mcap"
    with Recorder(path) as recorder:
        for n in range(N):
            recorder.write(b"markers", b"%4d" % n * 30, n * 20_000_000)
    return path


def recover(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["recover", *map(str, arguments)])
    return done.exit_code, done.output if done.exception is None else f"{done.output}{done.exception}"


def seen(path: Path) -> list[int]:
    """Numbers of the messages, by the library's own reader, which needs an index and whole chunks."""
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        assert reader.get_summary() is not None
        return [int(message.data[:4]) for _, _, message in reader.iter_messages()]


def test_a_clock_that_was_set_back_makes_no_time_below_zero(tmp_path: Path) -> None:
    """Protects the sentence: the time of a recording is that between its first and its last moment."""
    with Recorder(tmp_path / "back.mcap") as recorder:
        for n in range(N):
            recorder.write(b"markers", b"1", (N - n) * 20_000_000)
    code, said = recover(tmp_path / "back.mcap")
    assert (code, f"{N} messages of {(N - 1) * 0.02:.2f} s" in said) == (0, True)


def test_a_cut_recording_becomes_whole(recording: Path) -> None:
    """Protects what a crash has left: all whole messages, with an index, the metadata, and the old file."""
    data = recording.read_bytes()
    cut = recording.with_name("cut.mcap")
    cut.write_bytes(data[: len(data) // 2])
    code, said = recover(cut)
    assert code == 0, said
    kept = seen(recording.with_name("cut.recovered.mcap"))
    assert kept == list(range(len(kept)))
    assert len(kept) > N // 3
    assert f"{len(kept)} messages of {(len(kept) - 1) * 0.02:.2f} s kept" in said
    assert "its tail is cut" in said
    assert cut.read_bytes() == data[: len(data) // 2]
    copy = read_messages(recording.with_name("cut.recovered.mcap"))
    assert len(list(copy)) == len(kept)
    assert copy.note == ""
    assert "started" in copy.metadata["recording"]


def test_a_damaged_chunk_is_told(recording: Path) -> None:
    """Protects from silence: what the damage costs is named and counted."""
    data = bytearray(recording.read_bytes())
    data[data.index(b"  40") + 2] ^= 1
    recording.write_bytes(data)
    code, said = recover(recording, recording.with_name("out.mcap"))
    assert code == 0, said
    assert seen(recording.with_name("out.mcap")) == [n for n in range(N) if not 25 <= n < 50]
    assert "75 messages" in said
    assert "25 messages known to be lost" in said
    assert "of 0.50 s to 0.98 s after the first message" in said


def test_a_sound_recording_is_left_alone(recording: Path) -> None:
    """Protects the disk and the user: no copy is made of what is whole."""
    code, said = recover(recording)
    assert code == 0, said
    assert f"is complete: {N} messages of 1.98 s" in said
    assert os.listdir(recording.parent) == ["walk.mcap"]


def test_nothing_is_overwritten_and_nothing_half_made(recording: Path) -> None:
    """Protects files: one that is there stays, and a recording without a message leaves none."""
    data = recording.read_bytes()
    cut, there = recording.with_name("cut.mcap"), recording.with_name("there.mcap")
    cut.write_bytes(data[:-50])
    there.write_bytes(b"mine")
    code, said = recover(cut, there)
    assert code == 1
    assert "exists already" in said
    assert there.read_bytes() == b"mine"
    cut.write_bytes(data[:60])
    code, said = recover(cut)
    assert code == 1
    assert "no message in the file can be read" in said
    (recording.with_name("text.mcap")).write_text("no recording")
    code, said = recover(recording.with_name("text.mcap"))
    assert code == 1
    assert "is not a recording" in said
    assert sorted(os.listdir(recording.parent)) == ["cut.mcap", "text.mcap", "there.mcap", "walk.mcap"]


def test_a_file_of_many_topics_does_not_fill_the_disk(tmp_path: Path) -> None:
    """Protects the disk from a small file that would become a large one: a whole one repeats its topics."""
    path, n = tmp_path / "many.mcap", 400
    text = MAGIC + packed(Header(profile="", library=""))
    for k in range(n):
        channel = Channel(id=k, topic=f"topic {k}", message_encoding="", schema_id=0, metadata={})
        text += packed(channel) + message_record(k, k, k, b"%4d" % k)
    path.write_bytes(text)
    code, said = recover(path)
    assert code == 0, said
    out = tmp_path / "many.recovered.mcap"
    assert seen(out) == list(range(MOST_TOPICS))
    assert (
        f"{n - MOST_TOPICS} messages were left out, because the file has more than {MOST_TOPICS} topics"
        in said
    )
    assert out.stat().st_size < 10 * path.stat().st_size
