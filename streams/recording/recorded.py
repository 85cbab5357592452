"""Reading of recordings, also of those that were cut by a crash, damaged, or made to do harm.

Checksums are verified. Damaged chunks are left out and reported; everything else is read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from mcap.opcode import Opcode
from mcap.records import Channel, DataEnd, Footer, Message, MessageIndex, Metadata

from streams.errors import StreamError
from streams.recording.opening import open_regular
from streams.recording.scanning import (
    CHUNK_HEAD,
    HEAD,
    MAGIC,
    MESSAGE_HEAD,
    RecordScan,
    ScannedRecord,
    is_head,
    read_content,
)

COMPRESSIONS = ("lz4", "zstd")
"""Compressions of chunks that other programs write: a few bytes may stand for more than memory holds."""
MESSAGE_STAMPS = struct.Struct("<HIQQ")
MOST_NAMED = 5
"""Damaged places that are named one by one."""


class RecordedMessages(Iterator[tuple[int, bytes, bytes]]):
    """The messages of a recording as (t_ns, topic, payload), in the order written.

    Attributes
    ----------
    n_read : number of messages read so far
    n_damaged : number of damaged places in the file
    n_lost : number of messages lost in these places, by the counts in the file
    cut : whether the file ends before its index, as after a crash; known once everything was read
    metadata : name -> texts, as far as they were read
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.n_read = self.n_damaged = self.n_lost = 0
        self.cut = False
        self.metadata: dict[str, dict[str, str]] = {}
        self._file = BufferedReader(open_regular(self.path))
        if self._file.peek(len(MAGIC))[: len(MAGIC)] != MAGIC:
            self._file.close()
            raise StreamError(f"{self.path} is not a recording; give an .mcap file")
        self._scan = RecordScan(self._file)
        self._records = self._all_messages()
        self._topics: dict[int, bytes] = {}
        self._first_ns: int | None = None
        self._chunk_lost = self._ended = False
        self._summary_crc: int | None = None
        self._named: list[str] = []

    @property
    def note(self) -> str:
        """Sentences on damage and on a truncated end, after everything was read; "" for an intact
        file."""
        if not self._file.closed:
            return ""
        told = self._named[:MOST_NAMED]
        if self.n_damaged > len(told):
            told.append(
                f"{self.n_damaged - len(told)} more places of {self.path} are damaged and were left out"
            )
        if self.cut:
            told.append(
                f"{self.path} was not closed properly and its tail is cut: "
                f"{self.n_read} messages were read, anything after them is lost"
            )
        return "; ".join(told)

    def __next__(self) -> tuple[int, bytes, bytes]:
        if self._file.closed:
            raise StopIteration
        try:
            message = next(self._records, None)
        except (OSError, StreamError):
            self._file.close()
            raise
        if message is None:
            self._file.close()
            raise StopIteration
        self.n_read += 1
        return message.log_time, self._topics[message.channel_id], message.data

    def close(self) -> None:
        """Close the file if its reading ends early; reading to the end closes it, too."""
        self._file.close()

    def _all_messages(self) -> Iterator[Message]:
        """Yield the messages of the file, in chunks and outside of them."""
        for record in self._scan:
            if record.skipped:
                self._damaged(record.at - record.skipped, record.skipped)
            if record.opcode == Opcode.CHUNK:
                yield from self._of_chunk(record)
            elif not record.whole:
                break
            else:
                yield from self._of_record(record)
        if self._scan.given_up:
            self.n_damaged += 1
            self._named.append(
                f"the search for the next valid record of {self.path} was given up at byte {self._scan.at}, "
                "because too many bytes there look like records and are none"
            )
        self.cut = not self._scan.ended

    def _of_chunk(self, record: ScannedRecord) -> Iterator[Message]:
        """Yield the messages of a chunk: all if its checksum is right, the complete ones if it is
        truncated."""
        self._chunk_lost = False
        content = record.content
        compression = content[32 : 32 + int.from_bytes(content[28:32], "little")][:4]
        if compression.decode("ascii", "replace") in COMPRESSIONS:
            raise StreamError(
                f"{self.path} has chunks compressed by {compression.decode()}, which recordings of rtsim "
                "never do; `mcap decompress` makes a copy that can be read"
            )
        records = content_of(content, record.whole)
        if records is None:
            self._chunk_lost = True
            self._damaged(record.at, HEAD + len(content), self._span_of(content))
            return
        for one in records:
            if isinstance(one, Channel):
                self._topics[one.id] = one.topic.encode("utf-8", "replace")
            elif one.channel_id in self._topics:
                yield self._seen(one)

    def _seen(self, message: Message) -> Message:
        """Store the time of the first message, and return the message unchanged."""
        if self._first_ns is None:
            self._first_ns = message.log_time
        return message

    def _of_record(self, scanned: ScannedRecord) -> Iterator[Message]:
        """Yield the message if a record outside of chunks contains one; store channels, metadata and counts
        if the record contains these."""
        record = scanned.record
        if self._ended:
            self._check_summary(scanned)
        elif scanned.opcode == Opcode.MESSAGE:
            message = message_of(scanned.content)
            if message.channel_id in self._topics:
                yield self._seen(message)
        elif isinstance(record, Channel):
            self._topics[record.id] = record.topic.encode("utf-8", "replace")
        elif isinstance(record, Metadata):
            self.metadata[record.name] = record.metadata
        elif isinstance(record, MessageIndex):
            self.n_lost += len(record.records) if self._chunk_lost else 0
        elif isinstance(record, DataEnd):
            self._end_data(record)

    def _end_data(self, found: DataEnd) -> None:
        """Compare the checksum of all data with the one stored in the file."""
        self._ended, self._summary_crc = True, 0
        if found.data_section_crc not in (0, self._scan.crc) and not self.n_damaged:
            self.n_damaged += 1
            self._named.append(
                f"the data of {self.path} do not have the checksum that the file states: bytes outside of "
                "its chunks are damaged"
            )

    def _check_summary(self, record: ScannedRecord) -> None:
        """Add a record to the checksum of the index at the end of the file; at its last record compare the
        checksum with the stored one. Reading does not need the index."""
        if self._summary_crc is None:
            return
        head = bytes([record.opcode]) + len(record.content).to_bytes(8, "little")
        if record.opcode != Opcode.FOOTER:
            self._summary_crc = zlib.crc32(record.content, zlib.crc32(head, self._summary_crc))
            return
        crc = zlib.crc32(record.content[:16], zlib.crc32(head, self._summary_crc))
        if not isinstance(record.record, Footer) or record.record.summary_crc not in (0, crc):
            self.n_damaged += 1
            self._named.append(f"the index at the end of {self.path} is damaged, which loses no message")

    def _damaged(self, at: int, n_byte: int, when: str = "") -> None:
        """Record that n_byte bytes at a position in the file are damaged and left out; when : their time
        span, in words"""
        self.n_damaged += 1
        self._named.append(
            f"{n_byte} bytes of {self.path} from byte {at} on are damaged and were left out{when}"
        )

    def _span_of(self, content: bytes) -> str:
        """Return, as text, the times between which the messages of a damaged chunk were received."""
        first, last = (int.from_bytes(content[k : k + 8], "little") for k in (0, 8))
        if self._first_ns is None or not self._first_ns <= first <= last:
            return ""
        begin, end = (1e-9 * (t_ns - self._first_ns) for t_ns in (first, last))
        return f", of {begin:.2f} s to {end:.2f} s after the first message"


def message_of(content: bytes) -> Message:
    """Decode the message in a record's content, which must be long enough for its stamps."""
    channel, sequence, log_time, publish_time = MESSAGE_STAMPS.unpack_from(content)
    return Message(
        channel_id=channel, sequence=sequence, log_time=log_time, publish_time=publish_time,
        data=content[MESSAGE_STAMPS.size :],
    )  # fmt: skip


def content_of(content: bytes, whole: bool) -> list[Channel | Message] | None:
    """Decode the channels and messages of an uncompressed chunk; return None if the chunk is damaged.

    whole : whether the chunk is complete, so that its checksum can be verified
    """
    text = content[CHUNK_HEAD:]
    if whole:
        crc = int.from_bytes(content[24:28], "little")
        sizes = {int.from_bytes(content[k : k + 8], "little") for k in (16, 32)}
        if sizes != {len(text)} or crc not in (0, zlib.crc32(text)):
            return None
    found: list[Channel | Message] = []
    end = 0
    while is_head(head := text[end : end + HEAD]):
        record = text[end + HEAD : end + HEAD + int.from_bytes(head[1:], "little")]
        end += HEAD + int.from_bytes(head[1:], "little")
        if end > len(text):
            break
        if head[0] == Opcode.MESSAGE and len(record) >= MESSAGE_HEAD:
            found.append(message_of(record))
        elif head[0] == Opcode.CHANNEL and (channel := read_content(head[0], record)[0]) is not None:
            found.append(channel)
    return found if not whole or end == len(text) else None


def read_messages(path: Path | str) -> RecordedMessages:
    """Open a recording and return its messages one after the other.

    A recording that was not closed properly, as after a crash, is read up to where it ends; the attributes
    of the result tell afterwards what was damaged or lost.

    Raises OSError when the file cannot be opened, and StreamError when it is not a recording or contains
    compressed chunks.
    """
    return RecordedMessages(path)
