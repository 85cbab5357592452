"""The index of chunks, which a recording keeps on its disk until its end."""

import errno
import tracemalloc
from pathlib import Path

import pytest
from mcap.reader import make_reader

from streams.recording.chunked_file import CHUNK_NS, ChunkedFile

TOPICS = ("session", "result", "markers", "telemetry", "forces", "command")


def test_a_long_recording_keeps_no_chunk_in_memory(tmp_path: Path) -> None:
    """Protects the memory of a recorder that runs for days: chunks leave nothing there, and the index at the
    end has them all; nothing else stays in the folder.
    """
    file = ChunkedFile(tmp_path / "day.mcap", {})
    file.begin()

    def record(first: int, n: int) -> int:
        for chunk in range(first, first + n):
            for topic in TOPICS:
                file.add(topic, b"", chunk * 2 * CHUNK_NS)
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = record(0, 500)
        grown = record(500, 2000) - before
    finally:
        tracemalloc.stop()
    file.finish()
    assert grown / 2000 < 10
    assert [path.name for path in tmp_path.iterdir()] == ["day.mcap"]
    with (tmp_path / "day.mcap").open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    assert len(summary.chunk_indexes) == summary.statistics.chunk_count >= 2500


def test_an_index_that_finds_no_room_adds_nothing(tmp_path: Path, monkeypatch) -> None:
    """Protects a recording on a full disk: a chunk whose index could not be kept is ended again."""
    file = ChunkedFile(tmp_path / "a.mcap", {})
    file.begin()
    file.add("result", b"1", 0)

    def full(record: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(file._chunks, "add", full)
        with pytest.raises(OSError, match="No space"):
            file.add("result", b"2", 2 * CHUNK_NS)
    file.add("result", b"2", 2 * CHUNK_NS)
    file.finish()
    with (tmp_path / "a.mcap").open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        assert [message.data for _, _, message in reader.iter_messages()] == [b"1", b"2"]


def test_without_room_for_the_index_there_is_no_recording(tmp_path: Path, monkeypatch) -> None:
    """Protects the folder from an empty file where the temporary one cannot be made."""

    def none(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("streams.recording.chunked_file.TemporaryFile", none)
    with pytest.raises(OSError, match="No space"):
        ChunkedFile(tmp_path / "a.mcap", {})
    assert list(tmp_path.iterdir()) == []
