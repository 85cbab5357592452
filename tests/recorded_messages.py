"""Waiting for a recording that another process writes."""

import time
from pathlib import Path

from streams.recording.recorded import read_messages


def await_messages(path: Path, n_message: int, topic: bytes, longest_s: float = 120.0) -> None:
    """Return once the file holds so many messages of a topic.

    The size of the file does not tell: it begins with the schemas of all channels.
    """
    due = time.monotonic() + longest_s
    while n_recorded(path, topic) < n_message:
        assert time.monotonic() < due, f"{path.name} holds {n_recorded(path, topic)} messages of {topic!r}"
        time.sleep(0.02)


def n_recorded(path: Path, topic: bytes) -> int:
    """How many messages of a topic can be read now; 0 while the file is not there or has no header."""
    if not path.exists() or path.stat().st_size < 100:
        return 0
    return sum(name == topic for _, name, _ in read_messages(path))
