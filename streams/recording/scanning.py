"""Reads the records of an MCAP file one after another; after damage it searches for the next valid record."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import IO, Any, NamedTuple

from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import (
    Attachment,
    AttachmentIndex,
    Channel,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    MessageIndex,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)

from streams.recording.chunked_file import MAGIC

RECORD_LIMIT = 64 << 20
"""No record of a sound recording is larger [bytes]; a larger one means damage."""
PRIVATE = 0x80
"""Opcodes from here on belong to other programs."""
HEAD = 9
LOOKED_AT = 1 << 20
"""Bytes that are looked through at a time for the next sound record, at the least."""
VAIN, LEAST_VAIN = 64, 256 << 20
"""Bytes that may be read for what then is no record, for each byte of the file so far, and in all at the
least: a file whose every place seems to begin something large would take hours, and is given up."""
CHUNK_HEAD = 40
"""Bytes of a chunk without compression, before its records."""
MESSAGE_HEAD = 22
KINDS: dict[int, Callable[[ReadDataStream], Any]] = {
    Opcode.HEADER: Header.read,
    Opcode.FOOTER: Footer.read,
    Opcode.SCHEMA: Schema.read,
    Opcode.CHANNEL: Channel.read,
    Opcode.MESSAGE_INDEX: MessageIndex.read,
    Opcode.CHUNK_INDEX: ChunkIndex.read,
    Opcode.ATTACHMENT: Attachment.read,
    Opcode.ATTACHMENT_INDEX: AttachmentIndex.read,
    Opcode.STATISTICS: Statistics.read,
    Opcode.METADATA: Metadata.read,
    Opcode.METADATA_INDEX: MetadataIndex.read,
    Opcode.SUMMARY_OFFSET: SummaryOffset.read,
    Opcode.DATA_END: DataEnd.read,
}
"""Readers of a record's content, by its opcode; chunks and messages are read elsewhere."""
_SOUND = re.compile(rb"[\x05\x06][\s\S]{3}[\x00-\x03]\x00{4}|\x0f\x04\x00{7}")
"""Pattern of the beginning of a message, a chunk, or the end of the data: opcode and a length within the
limit."""


class ScannedRecord(NamedTuple):
    """A record as stored in the file.

    at : position of its opcode
    opcode : its kind
    content : its bytes without opcode and length
    record : decoded content, None for chunks, messages and records of other programs
    whole : whether it is complete; False for the last one of a truncated file
    skipped : number of invalid bytes before it
    """

    at: int
    opcode: int
    content: bytes
    record: Any = None
    whole: bool = True
    skipped: int = 0


class RecordScan(Iterator[ScannedRecord]):
    """Iterator over the records of an MCAP file, to its end or to the signature (magic bytes) that closes it.

    Attributes
    ----------
    ended : whether the file ends correctly
    crc : checksum of all bytes before the last record
    at : position of the next record
    given_up : whether the search for the next record was abandoned because it took too long
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._held = b""
        self._vain = 0  # bytes that were read for what was no record
        self._over = self._in_chunks = False
        self.ended = self.given_up = False
        self.at = len(MAGIC)
        self.crc = self._crc_after = zlib.crc32(self._take(len(MAGIC)))

    def __next__(self) -> ScannedRecord:
        if self._over:
            raise StopIteration
        self.crc = self._crc_after
        head = self._take(HEAD)
        if head[: len(MAGIC)] == MAGIC:
            self._over = self.ended = True
            raise StopIteration
        if len(head) < HEAD:
            self._over = True
            raise StopIteration
        if not is_head(head):
            return self._next_sound(head)
        length = int.from_bytes(head[1:], "little")
        content = self._take(length)
        if len(content) < length:
            return self._cut(head, content)
        record, exact = None, False
        if head[0] == Opcode.CHUNK:
            exact = is_sound_chunk(content)
            self._in_chunks = self._in_chunks or exact
        elif head[0] in KINDS:
            record, exact = read_content(head[0], content)
        if not exact and not self._goes_on(head[0], content, record):
            return self._next_sound(head + content)
        self._crc_after = zlib.crc32(content, zlib.crc32(head, self._crc_after))
        at, self.at = self.at, self.at + HEAD + length
        return ScannedRecord(at, head[0], content, record)

    def _goes_on(self, opcode: int, content: bytes, record: Any) -> bool:
        """Return whether the content of a record is plausible for its opcode and size, and another record
        follows."""
        self._held += self._file.read(max(0, HEAD - len(self._held)))
        after = self._held[:HEAD]
        if after and not (is_head(after) if len(after) == HEAD else is_opcode(after[0])):
            return after[: len(MAGIC)] == MAGIC
        if opcode == Opcode.MESSAGE:
            return len(content) >= MESSAGE_HEAD
        if opcode == Opcode.CHUNK:
            n_word = int.from_bytes(content[28:32], "little")
            n_record = int.from_bytes(content[32 + n_word : CHUNK_HEAD + n_word], "little")
            return len(content) == CHUNK_HEAD + n_word + n_record
        return opcode >= PRIVATE or record is not None

    def _cut(self, head: bytes, content: bytes) -> ScannedRecord:
        """Return a record that the end of the file truncates, unless a valid record is found inside its
        content."""
        whole = head + content
        self._waste(len(whole))
        place, _ = self._sound_place(whole, 1)
        if place < 0:
            self._over = True
            return ScannedRecord(self.at, head[0], content, whole=False)
        return self._go_to(place)

    def _next_sound(self, text: bytes) -> ScannedRecord:
        """Search for the next valid record after bytes that form none, and return it."""
        n_passed, start = 0, 1
        while True:
            self._waste(len(text))
            wanted = min(max(LOOKED_AT, len(text)), RECORD_LIMIT)
            more = self._take(wanted)
            text += more
            place, open_place = self._sound_place(text, start, to_end=len(more) < wanted)
            if place >= 0:
                return self._go_to(n_passed + place)
            if len(more) < wanted:
                self._over = True
                raise StopIteration
            n_passed, text, start = n_passed + open_place, text[open_place:], 0

    def _go_to(self, n_skipped: int) -> ScannedRecord:
        """Read the record after skipping this many bytes."""
        self.at += n_skipped
        self._file.seek(self.at)
        self._held = b""
        found = next(self)
        return found._replace(skipped=n_skipped + found.skipped)

    def _waste(self, n_byte: int) -> None:
        """Add to the number of bytes that contained no valid record, and end the scan if there are too
        many.
        """
        self._vain += n_byte
        if self._vain > VAIN * self.at + LEAST_VAIN:
            self._over = self.given_up = True
            raise StopIteration

    def _take(self, n: int) -> bytes:
        """Read the next n bytes; fewer only at the end of the file."""
        part, self._held = self._held[:n], self._held[n:]
        return part + self._file.read(n - len(part)) if len(part) < n else part

    def _sound_place(self, text: bytes, start: int, to_end: bool = True) -> tuple[int, int]:
        """Find the first valid record; return its position, -1 = none, and that of a first possible record
        that ends beyond the text.

        A chunk is valid if its checksum is right. The record that ends the data is valid if a valid record
        follows. The same holds for a message, except in files whose messages are in chunks: there a message
        outside a chunk comes from a damaged chunk and must not be trusted.
        to_end : whether the text reaches to the end of the file
        """
        open_place = max(start, len(text) - HEAD)
        for found in _SOUND.finditer(text, start):
            at = found.start()
            end = at + HEAD + int.from_bytes(text[at + 1 : at + HEAD], "little")
            if text[at] == Opcode.MESSAGE and (self._in_chunks or end - at < HEAD + MESSAGE_HEAD):
                continue
            if len(text) < end + (0 if to_end else HEAD):
                open_place = min(open_place, at)
            elif text[at] == Opcode.CHUNK:
                if is_sound_chunk(memoryview(text)[at + HEAD : end]):
                    return at, open_place
                self._waste(end - at)
            elif is_head(after := text[end : end + HEAD]) or not after:
                return at, open_place
        return -1, open_place


def is_opcode(opcode: int) -> bool:
    """Return whether this opcode is one that a file may contain."""
    return Opcode.HEADER <= opcode <= Opcode.DATA_END or opcode >= PRIVATE


def is_head(head: bytes) -> bool:
    """Return whether a record may begin with these bytes."""
    return len(head) == HEAD and is_opcode(head[0]) and int.from_bytes(head[1:], "little") <= RECORD_LIMIT


def is_sound_chunk(content: bytes | memoryview) -> bool:
    """Return whether an uncompressed chunk has a checksum, and the right one."""
    if len(content) < CHUNK_HEAD or content[28:32] != bytes(4):
        return False
    crc = int.from_bytes(content[24:28], "little")
    return bool(crc) and zlib.crc32(content[CHUNK_HEAD:]) == crc


def read_content(opcode: int, content: bytes) -> tuple[Any, bool]:
    """Return the decoded content of a record, None if it is damaged, and whether the decoding has used all of
    its bytes.
    """
    stream = ReadDataStream(_WholeReads(content))
    try:
        record = KINDS[opcode](stream)
    except Exception:  # damaged bytes make the reader fail in many ways; each means the same
        return None, False
    return record, stream.count == len(content)


class _WholeReads(BytesIO):
    """A reader of bytes that raises an error instead of returning fewer bytes than requested, as a part of a
    record cannot be decoded.
    """

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        if size is not None and len(data) < size:
            raise EOFError
        return data
