"""Writer of MCAP files whose newest chunk is complete after every message, so that a crash loses no message
and chunks have their checksums.

A message is appended to the open chunk, where it is a valid record by itself; then the head of the chunk is
rewritten to include it. A reader between the two steps, or after a crash between them, finds the message in
either case.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from tempfile import TemporaryFile

from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    McapRecord,
    MessageIndex,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)

from streams.clock import now_ns
from streams.messages import SCHEMA_VERSION
from streams.recording.opening import opened_anew
from streams.recording.schemas import ENCODING, schema_of

MAGIC = b"\x89MCAP0\r\n"
CHUNK_NS = 500_000_000
"""A chunk holds at most so much of the log time [ns]: what is left out where it is damaged."""
CHUNK_BYTES = 1 << 20
"""A chunk of this size takes no further message [bytes]."""
CHUNK_HEAD = struct.Struct("<BQQQQIIQ")
"""Opcode and length; first and last log time, size and CRC, no compression, size."""
MESSAGE_HEAD = struct.Struct("<BQHIQQ")
CHUNK_REST = CHUNK_HEAD.size - 9
MESSAGE_REST = MESSAGE_HEAD.size - 9
FOOTER_HEAD = struct.Struct("<BQQQ")


def open_new(path: Path) -> FileIO:
    """Create a new file without a buffer; OSError if it exists already or cannot be created."""
    return FileIO(path, "x", opener=opened_anew)


class _OpenChunk:
    """The chunk being written: its position in the file, its records, and the positions of each channel's
    messages."""

    def __init__(self, at: int, records: bytes, t_ns: int) -> None:
        self.at, self.records, self.crc = at, bytearray(records), zlib.crc32(records)
        self.first_ns = self.last_ns = t_ns
        self.places: dict[int, list[tuple[int, int]]] = {}

    def head(self, further: bytes, t_ns: int) -> bytes:
        """Return the bytes of the chunk's head as it must be when `further` records have been appended to the
        chunk, the last of which has the time `t_ns` [ns].
        """
        n = len(self.records) + len(further)
        first, last = min(self.first_ns, t_ns), max(self.last_ns, t_ns)
        crc = zlib.crc32(further, self.crc)
        return CHUNK_HEAD.pack(Opcode.CHUNK, CHUNK_REST + n, first, last, n, crc, 0, n)

    def take(self, channel: int, record: bytes, t_ns: int) -> None:
        """Add a message that has been written to the disk to the chunk's records and index; record : its
        bytes in the file.
        """
        self.places.setdefault(channel, []).append((t_ns, len(self.records)))
        self.records += record
        self.crc = zlib.crc32(record, self.crc)
        self.first_ns, self.last_ns = min(self.first_ns, t_ns), max(self.last_ns, t_ns)


class StoredIndex:
    """Index of the chunks as it will stand in the file, kept in a temporary file: of a recording that lasts
    for days it would fill memory, by about 0.7 MB in an hour.

    folder : folder in which the temporary file is created, on the disk of the recording
    """

    def __init__(self, folder: Path) -> None:
        self._file = TemporaryFile(buffering=0, dir=folder)  # noqa: SIM115 - until close
        self._n = 0

    def add(self, record: bytes) -> None:
        """Append a record; OSError if writing fails, and then nothing has been added."""
        self._file.seek(self._n)
        rest = memoryview(record)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._n += len(record)

    def read(self) -> bytes:
        """Return all records."""
        self._file.seek(0)
        return self._file.read(self._n)

    def close(self) -> None:
        """Remove the temporary file."""
        with suppress(OSError):
            self._file.close()


class ChunkedFile:
    """A new MCAP file.

    Parameters
    ----------
    path : path of the file, which must not exist
    metadata : name -> texts, written at its beginning

    Attributes
    ----------
    n_message : number of messages in the file

    Every method raises OSError if writing fails. The file is then truncated to its previous content, if the
    disk permits it, and the call may be repeated.
    """

    def __init__(self, path: Path, metadata: Mapping[str, Mapping[str, str]]) -> None:
        self.file = open_new(path)
        self._identity = _identity(os.fstat(self.file.fileno()))
        try:
            self._chunks = StoredIndex(path.parent)
        except OSError:
            self.file.close()
            self.remove(path)
            raise
        self.n_message = 0
        self._at = self._crc = 0
        self._channels: dict[str, Channel] = {}
        self._schemas: list[Schema] = []
        self._chunk: _OpenChunk | None = None
        self._n_chunk = 0
        self._metadata: list[MetadataIndex] = []
        self._counts: dict[int, int] = {}
        self._first_ns = self._last_ns = 0
        self._words = metadata

    def begin(self) -> None:
        """Write the head of the file and its metadata."""
        head = MAGIC + packed(Header(profile="", library="rtsim"))
        records = {
            name: packed(Metadata(name=name, metadata=dict(words))) for name, words in self._words.items()
        }
        self._append(head + b"".join(records.values()))
        at = len(head)
        for name, record in records.items():
            self._metadata.append(MetadataIndex(offset=at, length=len(record), name=name))
            at += len(record)

    def add(self, topic: str, payload: bytes, t_ns: int) -> None:
        """Add a message; it has been passed to the operating system when this returns."""
        channel = self._channels.get(topic)
        if channel is None:
            channel = self._begin_channel(topic)
        record = message_record(channel.id, self.n_message, t_ns, payload)
        chunk = self._chunk
        if chunk is not None and (
            len(chunk.records) + len(record) > CHUNK_BYTES
            or not chunk.last_ns - CHUNK_NS < t_ns < chunk.first_ns + CHUNK_NS
        ):
            self._end_chunk()
            chunk = None
        if chunk is None:
            chunk = self._begin_chunk(record, t_ns)
        else:
            head = chunk.head(record, t_ns)
            self._write([(self._at, record), (chunk.at, head)])
        chunk.take(channel.id, record, t_ns)
        self._at += len(record)
        self._counts[channel.id] = self._counts.get(channel.id, 0) + 1
        self._first_ns = min(t_ns, self._first_ns) if self.n_message else t_ns
        self._last_ns = max(t_ns, self._last_ns)
        self.n_message += 1

    @property
    def closed(self) -> bool:
        """Whether the file is closed, so that nothing more can be written."""
        return self.file.closed

    def is_gone(self) -> bool:
        """Return whether the file was removed, or its disk is missing."""
        try:
            return os.fstat(self.file.fileno()).st_nlink == 0
        except (OSError, ValueError):
            return True

    def has_name(self, path: Path) -> bool:
        """Return whether a path still leads to this file, and not to another one, as after it was renamed."""
        try:
            return _identity(os.lstat(path)) == self._identity
        except OSError:
            return False

    def remove(self, path: Path) -> None:
        """Remove the closed file if this path still leads to it; OSError where that fails."""
        if self.has_name(path):
            path.unlink(missing_ok=True)

    def sync(self) -> None:
        """Flush written data to the disk; OSError if that fails. May be called from any thread."""
        with suppress(ValueError):  # closed meanwhile
            os.fsync(self.file.fileno())

    def abandon(self) -> None:
        """Close the file without checksum and index."""
        self._chunks.close()
        with suppress(OSError):
            self.file.close()

    def finish(self) -> None:
        """Write checksum and index, and close the file."""
        self._end_chunk()
        data_end = packed(DataEnd(data_section_crc=self._crc))
        self._write([(self._at, data_end + self._summary(self._at + len(data_end)))])
        self._chunks.close()
        self.file.close()

    def _begin_channel(self, topic: str) -> Channel:
        """Write schema and channel of a topic, outside of chunks, so that they survive a damaged chunk."""
        schema, records = schema_of(topic), b""
        schema_id = 0
        if schema is not None:
            schema_id = len(self._schemas) + 1
            found = Schema(id=schema_id, name=topic, encoding=ENCODING, data=schema)
            records = packed(found)
        channel = Channel(
            id=len(self._channels) + 1, topic=topic, message_encoding="msgpack", schema_id=schema_id,
            metadata={},
        )  # fmt: skip
        self._end_chunk()
        self._append(records + packed(channel))
        if schema is not None:
            self._schemas.append(found)
        self._channels[topic] = channel
        return channel

    def _begin_chunk(self, record: bytes, t_ns: int) -> _OpenChunk:
        """Begin a chunk with one message and all channels, so that it can be read without the file before
        it."""
        chunk = _OpenChunk(self._at, all_packed(self._channels.values()), t_ns)
        self._write([(self._at, chunk.head(record, t_ns) + chunk.records + record)])
        self._at += CHUNK_HEAD.size + len(chunk.records)
        self._chunk = chunk
        return chunk

    def _end_chunk(self) -> None:
        """Close the open chunk by writing the index of its messages."""
        chunk = self._chunk
        if chunk is None:
            return
        offsets, indexes = {}, b""
        for channel, places in chunk.places.items():
            offsets[channel] = self._at + len(indexes)
            indexes += packed(MessageIndex(channel_id=channel, records=places))
        whole = ChunkIndex(
            message_start_time=chunk.first_ns, message_end_time=chunk.last_ns, chunk_start_offset=chunk.at,
            chunk_length=CHUNK_HEAD.size + len(chunk.records), message_index_offsets=offsets,
            message_index_length=len(indexes), compression="", compressed_size=len(chunk.records),
            uncompressed_size=len(chunk.records),
        )  # fmt: skip
        self._write([(self._at, indexes)])
        self._chunks.add(packed(whole))
        for part in (chunk.head(b"", chunk.last_ns), chunk.records, indexes):
            self._crc = zlib.crc32(part, self._crc)
        self._at += len(indexes)
        self._n_chunk += 1
        self._chunk = None

    def _append(self, data: bytes) -> None:
        """Append bytes that are not part of a chunk."""
        self._write([(self._at, data)])
        self._crc = zlib.crc32(data, self._crc)
        self._at += len(data)

    def _write(self, parts: list[tuple[int, bytes]]) -> None:
        """Write bytes at their positions; where that fails, truncate the file to its former length."""
        try:
            for at, data in parts:
                self.file.seek(at)
                rest = memoryview(data)
                while rest:
                    rest = rest[self.file.write(rest) :]
        except OSError:
            with suppress(OSError):
                self.file.truncate(self._at)
            raise

    def _summary(self, at: int) -> bytes:
        """Build the summary at the end of the file, an index of its content; at : position where the summary
        begins."""
        statistics = Statistics(
            message_count=self.n_message, schema_count=len(self._schemas),
            channel_count=len(self._channels), attachment_count=0,
            metadata_count=len(self._metadata), chunk_count=self._n_chunk,
            message_start_time=self._first_ns, message_end_time=self._last_ns,
            channel_message_counts=self._counts,
        )  # fmt: skip
        groups: list[tuple[Opcode, bytes]] = [
            (Opcode.SCHEMA, all_packed(self._schemas)), (Opcode.CHANNEL, all_packed(self._channels.values())),
            (Opcode.STATISTICS, packed(statistics)), (Opcode.CHUNK_INDEX, self._chunks.read()),
            (Opcode.METADATA_INDEX, all_packed(self._metadata)),
        ]  # fmt: skip
        text, offsets = b"", []
        for opcode, group in groups:
            if group:
                offsets.append(
                    SummaryOffset(group_opcode=opcode, group_start=at + len(text), group_length=len(group))
                )
            text += group
        begin = at + len(text)
        text += all_packed(offsets)
        crc = zlib.crc32(FOOTER_HEAD.pack(Opcode.FOOTER, 20, at, begin), zlib.crc32(text))
        footer = Footer(summary_start=at, summary_offset_start=begin, summary_crc=crc)
        return text + packed(footer) + MAGIC


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def packed(record: McapRecord) -> bytes:
    """Encode a record."""
    builder = RecordBuilder()
    record.write(builder)
    return builder.end()


def all_packed(records: Iterable[McapRecord]) -> bytes:
    """Encode records one after the other."""
    return b"".join(map(packed, records))


def message_record(channel: int, sequence: int, t_ns: int, payload: bytes) -> bytes:
    """Encode a message record; sequence : number of the message, modulo 2^32."""
    head = MESSAGE_HEAD.pack(
        Opcode.MESSAGE, MESSAGE_REST + len(payload), channel, sequence & 0xFFFFFFFF, t_ns, t_ns
    )
    return head + payload


def description(dated: bool = True) -> dict[str, str]:
    """Return the metadata of a recording; dated : include the date of its beginning, and the clock at that
    time."""
    began = {
        "started": datetime.now(UTC).isoformat(timespec="microseconds"),
        "started_log_time": str(now_ns()),
    }
    return {
        "schema_version": str(SCHEMA_VERSION),
        "log_time": "monotonic clock of the recording machine, ns",
        **(began if dated else {}),
    }
