"""Recovery of a recording that was truncated or damaged into a complete recording with checksums and an
index.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rtsim.errors import ConfigError
from rtsim.files.output import check_free, whole
from streams.errors import StreamError
from streams.recording.chunked_file import ChunkedFile, description
from streams.recording.recorded import RecordedMessages, read_messages

MOST_TOPICS = 32
"""Largest number of topics; a recording of rtsim has ten. Each chunk of the recovered file lists all topics,
so that a small file with very many would fill the disk.
"""


class RecoveredRecording(NamedTuple):
    """Outcome of a recovery.

    n_message : number of messages that could be read
    seconds : time from the first of these messages to the last [s]
    n_lost : number of messages in damaged places, according to the file's index
    note : a note on the damage, "" if the recording is intact
    metadata : the recording's metadata records, name -> entries
    """

    n_message: int
    seconds: float
    n_lost: int
    note: str
    metadata: dict[str, dict[str, str]]


def recover(path: Path, out: Path) -> RecoveredRecording:
    """Write all messages that can be read, with the recording's own metadata, into a new file; for an
    undamaged recording no file is written.

    ConfigError if the file is not a recording or has no message, or if `out` exists or cannot be written.
    """
    check_free(out)
    found = examined(path)
    if not found.note:
        return found
    if not found.n_message:
        raise ConfigError(
            "no message in the file can be read", where=str(path), remedy="give another recording"
        )
    with whole(out) as part:
        part.unlink()  # a recording makes its file itself
        messages = read_messages(path)
        file = ChunkedFile(part, {"recording": description(dated=False), **found.metadata})
        try:
            file.begin()
            for t_ns, topic, payload in of_few_topics(messages):
                file.add(topic.decode("utf-8"), payload, t_ns)
            file.finish()
            if out.exists():
                raise ConfigError("the file exists already", where=str(out), remedy="choose another name")
        finally:
            file.abandon()
            messages.close()
    return found


def examined(path: Path) -> RecoveredRecording:
    """Read a whole recording and return a summary of its messages; ConfigError if the file is not a
    recording.
    """
    messages, first, last, n_kept = opened(path), 2**64, 0, 0
    try:
        for t_ns, _, _ in of_few_topics(messages):
            first, last = min(first, t_ns), max(last, t_ns)  # a clock may have been set back
            n_kept += 1
    except (OSError, StreamError) as fault:
        raise ConfigError(f"the recording cannot be read ({fault})", where=str(path)) from None
    seconds = 1e-9 * (last - first) if n_kept else 0.0
    note, n_left = messages.note, messages.n_read - n_kept
    if note and n_left:
        note += f"; {n_left} messages were left out, because the file has more than {MOST_TOPICS} topics"
    return RecoveredRecording(n_kept, seconds, messages.n_lost, note, messages.metadata)


def of_few_topics(
    messages: Iterator[tuple[int, bytes, bytes]],
) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield only the messages of the first 32 topics. Each chunk of the recovered file lists all topics, so
    that a file with very many topics would fill the disk.
    """
    topics: set[bytes] = set()
    for message in messages:
        if len(topics) < MOST_TOPICS:
            topics.add(message[1])
        if message[1] in topics:
            yield message


def opened(path: Path) -> RecordedMessages:
    """Open a recording and return its messages; ConfigError if it cannot be opened."""
    try:
        return read_messages(path)
    except FileNotFoundError:
        raise ConfigError("no such file", where=str(path), remedy="check the path") from None
    except (OSError, StreamError) as fault:
        raise ConfigError(f"the recording cannot be read ({fault})", where=str(path)) from None
