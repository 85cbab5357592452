"""Damaged recordings: what is damaged is named and left out, what is sound is read."""

from __future__ import annotations

import zlib
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from mcap.exceptions import EndOfFile
from mcap.opcode import Opcode
from mcap.reader import make_reader
from mcap.records import Header, Message
from mcap.stream_reader import CRCValidationError, StreamReader

from streams.recording import scanning
from streams.recording.chunked_file import (
    CHUNK_HEAD,
    CHUNK_REST,
    MAGIC,
    ChunkedFile,
    message_record,
    packed,
)
from streams.recording.recorded import read_messages
from streams.recording.recorder import Recorder
from streams.recording.scanning import HEAD, LOOKED_AT, RecordScan

STEP_NS = 20_000_000
N = 200


def payload(n: int) -> bytes:
    return n.to_bytes(4, "big") * 60


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Four seconds of 50 Hz, in chunks of half a second."""
    path = tmp_path / "whole.mcap"
    with Recorder(path, dated=False) as recorder:
        for n in range(N):
            recorder.write(b"markers" if n % 5 else b"session", payload(n), n * STEP_NS)
    return path


def chunks(path: Path) -> list[tuple[int, int]]:
    """Where each chunk begins, and its length."""
    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    return [(index.chunk_start_offset, index.chunk_length) for index in summary.chunk_indexes]


def damaged(path: Path, at: int, mask: int = 0xFF) -> Path:
    data = bytearray(path.read_bytes())
    data[at] ^= mask
    out = path.with_name("damaged.mcap")
    out.write_bytes(data)
    return out


def test_the_library_verifies_all_checksums(recording: Path) -> None:
    """Protects peers: the library's own reader finds chunks, data and index in order, and all messages."""
    with recording.open("rb") as file:
        records = [*StreamReader(file, validate_crcs=True).records]
    assert sum(type(record).__name__ == "Message" for record in records) == N
    with recording.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        assert [message.sequence for _, _, message in reader.iter_messages()] == list(range(N))
        summary = reader.get_summary()
        assert summary is not None
        assert summary.statistics is not None
        assert summary.statistics.message_count == N
        assert {schema.name for schema in summary.schemas.values()} == {"markers", "session"}
        only = reader.iter_messages(topics=["markers"], reverse=True)
        assert [message.sequence for _, _, message in only] == [n for n in reversed(range(N)) if n % 5]


def test_a_damaged_chunk_is_named_and_the_rest_is_read(recording: Path) -> None:
    """Protects measurements: a flipped bit of one payload costs its chunk, which says when and how many."""
    at, length = chunks(recording)[3]
    reader = read_messages(damaged(recording, at + length // 2, 0x10))
    seen = [t_ns // STEP_NS for t_ns, _, _ in reader]
    lost = sorted(set(range(N)) - set(seen))
    assert lost == list(range(lost[0], lost[0] + 25))
    assert (reader.n_damaged, reader.n_lost, reader.cut) == (1, 25, False)
    begin, end = lost[0] * STEP_NS * 1e-9, lost[-1] * STEP_NS * 1e-9
    assert f"{length} bytes of" in reader.note
    assert f"from byte {at} on are damaged" in reader.note
    assert f"of {begin:.2f} s to {end:.2f} s after the first message" in reader.note
    with damaged(recording, at + length // 2, 0x10).open("rb") as file, pytest.raises(CRCValidationError):
        list(StreamReader(file, validate_crcs=True).records)


@pytest.mark.parametrize("closed", [True, False])
def test_no_flipped_byte_goes_unsaid(recording: Path, closed: bool) -> None:
    """Protects from altered numbers: whichever byte is flipped, what is read is what was written, and damage
    in chunks or in the file as a whole is noted."""
    data = recording.read_bytes()
    if not closed:
        at, length = chunks(recording)[-1]
        data = data[: at + length]
    path = recording.with_name("flipped.mcap")
    sent = {(n * STEP_NS, payload(n)) for n in range(N)}
    begin = chunks(recording)[0][0]
    for at in [*range(8, begin + 400, 7), *range(begin + 400, len(data), 211)]:
        flipped = bytearray(data)
        flipped[at] ^= 0x41
        path.write_bytes(flipped)
        reader = read_messages(path)
        seen = [(t_ns, data) for t_ns, _, data in reader]
        assert set(seen) <= sent
        assert len(seen) >= N - 50
        assert reader.note
        assert not closed or reader.n_damaged or reader.cut


def test_bytes_that_are_missing_or_too_many_cost_their_chunk_alone(recording: Path) -> None:
    """Protects the rest of a file from which a sector is gone, or into which a large one was written."""
    data = recording.read_bytes()
    at, _ = chunks(recording)[2]
    path = recording.with_name("hole.mcap")
    for damage in (b"", bytes(10), b"\x05" * 5000, bytes(range(256)) * (2 * LOOKED_AT // 256)):
        path.write_bytes(data[: at - 20] + damage + data[at + 100 :])
        reader = read_messages(path)
        seen = {t_ns // STEP_NS for t_ns, _, _ in reader}
        assert N - 50 <= len(seen) < N
        assert reader.n_damaged
        assert "are damaged" in reader.note


def test_a_recording_that_grows_can_be_read_at_any_time(tmp_path: Path) -> None:
    """Protects who looks at a recording that goes on: after each message all of them are there, and nothing
    counts as damaged."""
    file = ChunkedFile(tmp_path / "a.mcap", {})
    file.begin()
    for n in range(60):
        file.add("markers", payload(n), n * STEP_NS)
        reader = read_messages(tmp_path / "a.mcap")
        assert len(list(reader)) == n + 1
        assert (reader.n_damaged, reader.cut) == (0, True)
    file.finish()


def test_a_message_that_is_in_no_chunk_yet_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from a kill between the two steps of writing: the message stands behind its chunk."""
    file = ChunkedFile(tmp_path / "a.mcap", {})
    file.begin()
    for n in range(10):
        file.add("markers", payload(n), n)
    write = file._write
    monkeypatch.setattr(file, "_write", lambda parts: write(parts[:1]))
    file.add("markers", payload(10), 10)
    reader = read_messages(tmp_path / "a.mcap")
    assert [t_ns for t_ns, _, _ in reader] == list(range(11))
    assert reader.n_damaged == 0
    seen: list[int] = []
    with (tmp_path / "a.mcap").open("rb") as opened:
        records = StreamReader(opened, validate_crcs=True).records
        with pytest.raises(EndOfFile):
            seen.extend(record.log_time for record in records if isinstance(record, Message))
    assert seen == list(range(11))
    file.abandon()


def test_a_file_whose_every_place_seems_to_begin_a_chunk_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects from a small file that is looked through for hours: what is summed up in vain is bounded."""
    least = 1 << 20
    monkeypatch.setattr(scanning, "LEAST_VAIN", least, raising=False)
    path, n = tmp_path / "chunks.mcap", 500
    head = MAGIC + packed(Header(profile="", library="")) + bytes(HEAD)
    size = len(head) + n * CHUNK_HEAD.size
    text = head
    for k in range(n):
        length = size - len(head) - k * CHUNK_HEAD.size - HEAD
        records = length - CHUNK_REST
        text += CHUNK_HEAD.pack(Opcode.CHUNK, length, 0, 1, records, 1, 0, records)
    path.write_bytes(text)
    summed: list[int] = []

    def sum_of(data: bytes, start: int = 0) -> int:
        summed.append(len(data))
        return zlib.crc32(data, start)

    monkeypatch.setattr(scanning, "zlib", SimpleNamespace(crc32=sum_of))
    messages = read_messages(path)
    assert list(messages) == []
    assert sum(summed) < 4 * least
    assert "the search for the next valid record of" in messages.note


def test_what_is_read_to_find_a_sound_record_is_not_held() -> None:
    """Protects large damaged files: reading goes on at the record that was found, and copies no rest of the
    file for each record."""
    n, payload = 400, bytes(4096)
    text = MAGIC + packed(Header(profile="", library=""))
    text += Opcode.MESSAGE.to_bytes(1, "little") + (1 << 25).to_bytes(8, "little")
    text += b"".join(message_record(1, k, k, payload) for k in range(n))
    file = BytesIO(text)
    scan = RecordScan(file)
    found, ahead = [], []
    for record in scan:
        found.append(record.opcode)
        ahead.append(file.tell() - scan.at)
    assert found == [Opcode.HEADER] + [Opcode.MESSAGE] * n
    assert max(ahead) <= HEAD
