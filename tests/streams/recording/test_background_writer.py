"""Disks that are slow, full, gone and back again: whoever hands over messages never waits, and is told."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from io import FileIO
from pathlib import Path

import pytest

from streams.clock import now_ns
from streams.recording import background_writer, chunked_file
from streams.recording.background_writer import BackgroundWriter
from streams.recording.recorded import read_messages
from streams.recording.recorder import Recorder

N = 50


class Disk:
    """What becomes of writing: it waits while `free` is not set, and fails while `fault` is an error, of
    files with `only` in their names."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.free.set()
        self.fault, self.only = 0, ""
        self.n_refused = 0

    def open(self, path: Path) -> FileIO:
        disk = self

        class Disturbed(FileIO):
            def write(self, data) -> int:
                disk.free.wait()
                if disk.fault and disk.only in path.name:
                    disk.n_refused += 1
                    super().write(data[: len(data) // 2])
                    raise OSError(disk.fault, os.strerror(disk.fault))
                return super().write(data)

        return Disturbed(path, "x")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk()
    monkeypatch.setattr(chunked_file, "open_new", made.open)
    monkeypatch.setattr(background_writer, "RETRY_S", 0.005)
    monkeypatch.setattr(background_writer, "SYNC_S", 0.005)
    return made


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def writer(tmp_path: Path, disk: Disk, told: list[str]) -> BackgroundWriter:
    recorder = Recorder(tmp_path / "walk.mcap")
    return BackgroundWriter(recorder.file, recorder.path, told.append)


def put(writer: BackgroundWriter, *numbers: int) -> None:
    for n in numbers:
        writer.put(b"session" if n == 0 else b"markers", b"%d" % n, now_ns())


def seen(path: Path) -> list[int]:
    reader = read_messages(path)
    found = [int(payload) for _, _, payload in reader]
    assert reader.note == ""
    return found


def test_a_slow_disk_holds_up_nobody(
    writer: BackgroundWriter, disk: Disk, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    eventually: Callable,
) -> None:  # fmt: skip
    """Protects the loop: a disk that answers to nothing keeps no message from being handed over."""
    monkeypatch.setattr(background_writer, "SLOW_NS", 1)
    put(writer, 0)
    eventually(lambda: writer.n_message == 1)
    disk.free.clear()
    put(writer, *range(1, N))
    assert writer.n_message == 1
    disk.free.set()
    assert writer.finish() == ""
    assert seen(tmp_path / "walk.mcap") == list(range(N))
    assert any("the disk is slow: messages wait" in sentence for sentence in told)


def test_what_finds_no_room_is_counted(
    writer: BackgroundWriter, disk: Disk, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    eventually: Callable,
) -> None:  # fmt: skip
    """Protects memory, and the count: beyond a limit the newest messages are lost, and said to be."""
    put(writer, 0)
    eventually(lambda: writer.n_message == 1)
    monkeypatch.setattr(background_writer, "MOST_BYTES", 10)
    disk.free.clear()
    put(writer, *range(1, N))
    disk.free.set()
    sentence = writer.finish()
    kept = seen(tmp_path / "walk.mcap")
    assert kept == list(range(len(kept)))
    assert len(kept) == 10
    assert f"after 10 messages, {N - 10} messages were lost" in sentence


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EFBIG])
def test_a_full_disk_with_room_again_goes_on_in_the_same_file(
    writer: BackgroundWriter, disk: Disk, told: list[str], tmp_path: Path, fault: int, eventually: Callable
) -> None:
    """Protects measurements: nothing is lost or there twice, though half of a write reached the disk."""
    put(writer, *range(10))
    eventually(lambda: writer.n_message == 10)
    disk.fault = fault
    put(writer, *range(10, N))
    eventually(lambda: disk.n_refused > 2)
    assert seen_so_far(tmp_path / "walk.mcap") == list(range(10))
    disk.fault = 0
    eventually(lambda: writer.n_message == N)
    assert writer.finish() == ""
    assert seen(tmp_path / "walk.mcap") == list(range(N))
    assert os.listdir(tmp_path) == ["walk.mcap"]
    assert "cannot be written any more after 10 messages" in told[0]
    assert "takes messages again after" in told[-1]
    assert "0 messages were lost meanwhile" in told[-1]


def seen_so_far(path: Path) -> list[int]:
    return [int(payload) for _, _, payload in read_messages(path)]


@pytest.mark.parametrize("removed", [False, True])
def test_a_disk_that_is_gone_costs_what_was_on_it(
    writer: BackgroundWriter, disk: Disk, told: list[str], tmp_path: Path, removed: bool, eventually: Callable
) -> None:
    """Protects the rest of a measurement: another file begins with the descriptor, and is told."""
    put(writer, *range(10))
    eventually(lambda: writer.n_message == 10)
    if removed:
        (tmp_path / "walk.mcap").unlink()
    else:
        disk.fault, disk.only = errno.EIO, "walk.mcap"
    put(writer, 10 + removed)
    eventually(lambda: len(writer.paths) == 2 or (removed and put(writer, 11)))  # looked for now and then
    put(writer, *range(20, N))
    sentence = writer.finish()
    assert [path.name for path in writer.paths] == ["walk.mcap", "walk.2.mcap"]
    found = seen(tmp_path / "walk.2.mcap")
    assert found[0] == 0  # the descriptor
    assert found[-30:] == list(range(20, N))
    assert any("the recording goes on in" in words for words in told)
    if removed:
        n_lost = next(words.split(" with ")[1].split()[0] for words in told if "was removed with" in words)
        assert int(n_lost) >= 10
        assert f"{n_lost} messages were lost" in sentence
    else:
        assert sentence == ""
        assert seen_so_far(tmp_path / "walk.mcap") == list(range(10))


def test_a_disk_that_stays_full_is_told_at_the_end(
    writer: BackgroundWriter, disk: Disk, told: list[str], tmp_path: Path, eventually: Callable
) -> None:
    """Protects from a recording that is taken for whole: what waited to the end is counted as lost."""
    put(writer, *range(10))
    eventually(lambda: writer.n_message == 10)
    disk.fault = errno.ENOSPC
    put(writer, *range(10, N))
    sentence = writer.finish()
    assert f"after 10 messages (No space left on device), {N - 10} messages were lost" in sentence
    assert seen_so_far(tmp_path / "walk.mcap") == list(range(10))


def test_nothing_is_kept_of_a_recording_without_messages(writer: BackgroundWriter, tmp_path: Path) -> None:
    """Protects the name of the file: without a message it is free again."""
    assert writer.finish() == ""
    assert os.listdir(tmp_path) == []


def test_a_file_that_took_the_name_of_a_renamed_recording_stays(
    writer: BackgroundWriter, told: list[str], tmp_path: Path
) -> None:
    """Protects another recording from one without a message: what it removes is its own file alone."""
    (tmp_path / "walk.mcap").rename(tmp_path / "moved.mcap")
    (tmp_path / "walk.mcap").write_bytes(b"of somebody else")
    writer.finish()
    assert (tmp_path / "walk.mcap").read_bytes() == b"of somebody else"


def test_a_recording_that_was_renamed_is_told(
    writer: BackgroundWriter, told: list[str], tmp_path: Path, eventually: Callable
) -> None:
    """Protects from looking for messages in another file: they are all in the renamed one."""
    put(writer, *range(10))
    eventually(lambda: writer.n_message == 10)
    (tmp_path / "walk.mcap").rename(tmp_path / "moved.mcap")
    assert writer.finish() == ""
    assert seen(tmp_path / "moved.mcap") == list(range(10))
    assert "was renamed meanwhile" in told[-1]


def test_a_recording_that_is_removed_as_it_ends_is_lost_and_told(
    writer: BackgroundWriter, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    eventually: Callable,
) -> None:  # fmt: skip
    """Protects from a recording that is taken for whole, and is not there."""
    monkeypatch.setattr(background_writer, "SYNC_S", 3600.0)
    put(writer, *range(10))
    eventually(lambda: writer.n_message == 10)
    (tmp_path / "walk.mcap").unlink()
    sentence = writer.finish()
    assert "no file was kept" in sentence
    assert writer.n_message == 0


def test_a_file_that_is_gone_is_found_after_the_clock_was_set_back(
    writer: BackgroundWriter, tmp_path: Path, eventually: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the recording: whether its file is still there is looked for on, not an hour later."""
    put(writer, *range(10))
    eventually(lambda: writer.n_message == 10)
    monkeypatch.setattr(background_writer, "now_ns", lambda: now_ns() - 3_600_000_000_000)
    (tmp_path / "walk.mcap").unlink()
    eventually(lambda: len(writer.paths) == 2 or put(writer, 11))
    put(writer, *range(20, N))
    writer.finish()
    assert seen(tmp_path / "walk.2.mcap")[-30:] == list(range(20, N))
