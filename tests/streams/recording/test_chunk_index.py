"""The index of chunks that a recording keeps until its end."""

import tracemalloc
from pathlib import Path

from streams.recording.chunked_file import CHUNK_NS, ChunkedFile

TOPICS = ("session", "result", "markers", "telemetry", "forces", "command")


def test_a_long_recording_keeps_little_of_each_chunk(tmp_path: Path) -> None:
    """Protects the memory of a recorder that runs all day: a chunk leaves its index as in the file, no
    objects."""
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
    assert grown / 2000 < 400
