"""Recordings read back, closed properly or cut by a crash, however damaged or hostile."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from mcap import records
from mcap.exceptions import EndOfFile
from mcap.records import Channel, Chunk, McapRecord
from mcap.stream_reader import CRCValidationError, StreamReader, breakup_chunk

from streams.errors import StreamError
from streams.recording.opening import open_regular

MAGIC = b"\x89MCAP0\r\n"
RECORD_LIMIT = 64 << 20
"""No record of a sound recording is larger [bytes]; a larger one means damage."""
COMPRESSIONS = ("lz4", "zstd")
"""Of chunks as other programs write them: a few bytes may stand for more than memory holds."""


class RecordedMessages(Iterator[tuple[int, bytes, bytes]]):
    """The messages of a recording as (t_ns, topic, payload), in the order written.

    Attributes
    ----------
    n_read : how many were read so far
    note : when all are read, a sentence if the file's tail is cut, or if it is altered; otherwise ""
    altered : when all are read, whether the checksum is not that of the messages
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.n_read = 0
        self.note, self.altered = "", False
        self._file = _WholeReads(open_regular(self.path))
        if self._file.peek(len(MAGIC))[: len(MAGIC)] != MAGIC:
            self._file.close()
            raise StreamError(f"{self.path} is not a recording; give an .mcap file")
        self._records = self._all_records()
        self._topics: dict[int, bytes] = {}

    def __next__(self) -> tuple[int, bytes, bytes]:
        while not self._file.closed:
            record = self._next_record()
            if isinstance(record, Channel):
                self._topics[record.id] = record.topic.encode()
            elif isinstance(record, records.Message) and record.channel_id in self._topics:
                self.n_read += 1
                return record.log_time, self._topics[record.channel_id], record.data
        raise StopIteration

    def close(self) -> None:
        """Close the file before its end; reading to the end closes it too."""
        self._file.close()

    def _all_records(self) -> Iterator[McapRecord]:
        """The records, those inside of chunks too as long as these are not compressed."""
        reader = StreamReader(
            self._file, emit_chunks=True, validate_crcs=True, record_size_limit=RECORD_LIMIT
        )
        for record in reader.records:
            if not isinstance(record, Chunk):
                yield record
            elif record.compression in COMPRESSIONS:
                raise StreamError(
                    f"{self.path} holds chunks compressed by {record.compression}, which recordings of rtsim "
                    "never do; `mcap decompress` makes a copy that can be read"
                )
            else:
                yield from breakup_chunk(record, validate_crc=True)

    def _next_record(self) -> McapRecord | None:
        """The next record; None, with the file closed, at its end, which may be a cut."""
        try:
            return next(self._records)
        except StopIteration:  # only after the footer and the closing magic
            pass
        except (OSError, StreamError):
            self._file.close()
            raise
        except CRCValidationError:
            self.altered = True
            self.note = (
                f"{self.path} is damaged, as its checksum is not that of its messages: of the "
                f"{self.n_read} messages that were read some are not what was recorded"
            )
        except Exception:  # cut or damaged bytes make the reader fail in many ways; each means the same
            self.note = (
                f"{self.path} was not closed properly and its tail is cut: "
                f"{self.n_read} messages were read, anything after them is lost"
            )
        self._file.close()
        return None


def read_messages(path: Path | str) -> RecordedMessages:
    """The messages of a recording, whether it was closed properly or cut by a crash.

    Raises OSError when the file cannot be opened, and StreamError when it is no recording or, on the way,
    where it holds compressed chunks.
    """
    return RecordedMessages(path)


class _WholeReads(BufferedReader):
    """A file that never returns less than asked for: half a record is no record."""

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > RECORD_LIMIT:
            raise EndOfFile  # a damaged length; memory for it is not even asked for
        data = super().read(size)
        if size is not None and len(data) < size:
            raise EndOfFile
        return data
