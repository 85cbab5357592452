"""Recordings on disk, closed, cut and killed."""

import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from io import FileIO
from pathlib import Path

import pytest
from mcap.exceptions import EndOfFile
from mcap.reader import NonSeekingReader, make_reader
from mcap.writer import CompressionType, Writer

from streams.codec import FieldLayout, decode, encode
from streams.errors import StreamError
from streams.messages import Markers, marker_session
from streams.recording import recorded
from streams.recording.recorded import read_messages
from streams.recording.recorder import Recorder, record

ROOT = Path(__file__).resolve().parents[3]
GUARD_S = 120.0
STEP = 13
"""Bytes between the places at which files are cut or damaged."""
SESSION = marker_session(["LASI"], rate=500.0, t_start=0)
MESSAGES = [
    (10, b"session", b"first"),
    (11, b"markers", bytes(range(256))),
    (12, b"markers", b""),
    (13, b"end", b"x"),
]


def write(path: Path) -> None:
    with Recorder(path) as recorder:
        for t_ns, topic, payload in MESSAGES:
            recorder.write(topic, payload, t_ns)


def frame(seq: int) -> list[bytes]:
    data = FieldLayout(SESSION).pack({"positions": [[float(seq)] * 3]})
    return encode(Markers(session=SESSION.session, seq=seq, t_capture=seq, time=0.0, data=data))


def start(code: str, *args: str, **options) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", code, *args], cwd=ROOT, stdout=subprocess.PIPE, **options)


def test_a_closed_recording_reads_back_byte_for_byte(tmp_path):
    """Protects replay: the same topics, payloads, times and order."""
    write(tmp_path / "a.mcap")
    reader = read_messages(tmp_path / "a.mcap")
    assert list(reader) == MESSAGES
    assert (reader.n_read, reader.note) == (4, "")


def test_other_mcap_readers_understand_it(tmp_path):
    """Protects the promise of an open format: the library's own reader finds channels and metadata."""
    write(tmp_path / "a.mcap")
    with (tmp_path / "a.mcap").open("rb") as file:
        reader = make_reader(file)
        messages = [(channel.topic, message.log_time) for _, channel, message in reader.iter_messages()]
        assert messages == [("session", 10), ("markers", 11), ("markers", 12), ("end", 13)]
        summary = reader.get_summary()
        assert summary is not None
        channels = summary.channels.values()
        assert {channel.message_encoding for channel in channels} == {"msgpack"}
        (metadata,) = reader.iter_metadata()
        assert (metadata.name, metadata.metadata["schema_version"]) == ("recording", "1")


def test_a_recording_cut_anywhere_gives_all_whole_messages(tmp_path):
    """Protects what was recorded: for a cut at any byte, a prefix of the messages and a note."""
    write(tmp_path / "whole.mcap")
    whole = (tmp_path / "whole.mcap").read_bytes()
    n_before = 0
    for n_byte in (*range(8, len(whole), STEP), len(whole) - 1):
        (tmp_path / "cut.mcap").write_bytes(whole[:n_byte])
        reader = read_messages(tmp_path / "cut.mcap")
        messages = list(reader)
        assert messages == MESSAGES[: len(messages)]
        assert len(messages) >= n_before
        assert "cut" in reader.note
        assert f"{len(messages)} messages" in reader.note
        n_before = len(messages)
    assert n_before == len(MESSAGES)


class Growing(FileIO):
    """A file in which another program writes on: it ends after `n_byte`, and the next reading finds more."""

    def __init__(self, path: Path, n_byte: int) -> None:
        super().__init__(str(path))
        self.n_left = n_byte

    def readinto(self, buffer) -> int:
        n = self.n_left if self.n_left >= 0 else len(buffer)
        with memoryview(buffer) as view:
            n_read = super().readinto(view[: min(n, len(view))]) or 0
        self.n_left = -1 if n == 0 else max(self.n_left - n_read, 0) if self.n_left >= 0 else -1
        return n_read


def test_half_a_message_of_a_growing_file_is_none(tmp_path, monkeypatch):
    """Protects reading while another program writes: what is cut for the moment is not handed out."""
    write(tmp_path / "a.mcap")
    n_byte = (tmp_path / "a.mcap").stat().st_size
    for n in range(8, n_byte, STEP):
        monkeypatch.setattr(recorded, "open_regular", lambda path, n=n: Growing(path, n))
        messages = list(read_messages(tmp_path / "a.mcap"))
        assert messages == MESSAGES[: len(messages)]


def test_damage_is_noted_and_never_fatal(tmp_path):
    """Protects reading from damaged bytes: it ends or goes on, but does not fail."""
    write(tmp_path / "whole.mcap")
    whole = (tmp_path / "whole.mcap").read_bytes()
    for at in range(8, len(whole), STEP):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        (tmp_path / "damaged.mcap").write_bytes(damaged)
        assert len(list(read_messages(tmp_path / "damaged.mcap"))) <= len(MESSAGES)


def test_a_file_padded_with_zeros_is_read(tmp_path):
    """Protects recordings from power cuts, after which some file systems fill the tail with zeros."""
    write(tmp_path / "a.mcap")
    whole = (tmp_path / "a.mcap").read_bytes()
    (tmp_path / "b.mcap").write_bytes(whole[:-300] + bytes(5000))
    reader = read_messages(tmp_path / "b.mcap")
    assert list(reader) == MESSAGES[: reader.n_read]
    assert reader.note


def chunked(path: Path, compression: CompressionType, payload: bytes = b"abc") -> Path:
    """A recording as other programs write it."""
    with path.open("wb") as file:
        writer = Writer(file, compression=compression, chunk_size=1 << 30)
        writer.start()
        channel = writer.register_channel("markers", "msgpack", 0)
        writer.add_message(channel, log_time=5, data=payload, publish_time=5)
        writer.finish()
    return path


def test_chunked_recordings_of_others_are_read(tmp_path):
    """Protects exchange: a file that another program wrote in chunks."""
    path = chunked(tmp_path / "chunked.mcap", CompressionType.NONE)
    assert list(read_messages(path)) == [(5, b"markers", b"abc")]


@pytest.mark.parametrize("compression", [CompressionType.ZSTD, CompressionType.LZ4])
def test_compressed_chunks_are_refused(tmp_path, compression):
    """Protects memory: a few bytes may unfold to more than there is; the sentence gives a way out."""
    path = chunked(tmp_path / "bomb.mcap", compression, bytes(100 << 20))
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()
    with pytest.raises(StreamError, match=r"compressed by .*; `mcap decompress`"):
        list(read_messages(path))
    assert tracemalloc.get_traced_memory()[1] < 10 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("n_byte", [65 << 20, 3 << 30])
def test_lengths_that_no_file_holds_cost_nothing(tmp_path, n_byte):
    """Protects memory from a damaged length inside a record, which the library would try to read at once."""
    write(tmp_path / "a.mcap")
    whole = (tmp_path / "a.mcap").read_bytes()
    at = whole.index(b"session") - 4
    damaged = whole[:at] + n_byte.to_bytes(4, "little") + whole[at + 4 :]
    (tmp_path / "b.mcap").write_bytes(damaged)
    tracemalloc.start()
    reader = read_messages(tmp_path / "b.mcap")
    assert list(reader) == MESSAGES  # a channel stands in each chunk, too
    assert "damaged" in reader.note
    assert tracemalloc.get_traced_memory()[1] < 10 << 20
    tracemalloc.stop()


def test_files_that_are_none_are_named(tmp_path):
    """Protects the user: a wrong or missing file is a clear error."""
    (tmp_path / "a.mcap").write_bytes(b"no recording")
    (tmp_path / "empty.mcap").write_bytes(b"")
    for name in ("a.mcap", "empty.mcap"):
        with pytest.raises(StreamError, match="not a recording"):
            read_messages(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read_messages(tmp_path / "missing.mcap")


def test_a_recording_is_never_overwritten(tmp_path):
    """Protects measurements from a name used twice."""
    write(tmp_path / "a.mcap")
    with pytest.raises(StreamError, match="exists already"):
        Recorder(tmp_path / "a.mcap")
    with pytest.raises(StreamError, match="cannot be written"):
        Recorder(tmp_path / "no folder" / "a.mcap")
    assert list(read_messages(tmp_path / "a.mcap")) == MESSAGES


@pytest.mark.process
def test_nothing_written_is_lost_by_kill_9(tmp_path):
    """Protects the data: every message whose write returned is in the file after SIGKILL."""
    code = """if True:
        import os, sys, time
        from streams.recording.recorder import Recorder
        recorder = Recorder(sys.argv[1])
        for n in range(10**9):
            recorder.write(b"markers", n.to_bytes(8, "big") * 100, n)
            os.write(1, b"%d\\n" % n)
            time.sleep(0.001)
    """
    process = start(code, str(tmp_path / "killed.mcap"))
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(300)]
    process.send_signal(signal.SIGKILL)
    lines += process.communicate()[0].splitlines()
    last = int(lines[-1])
    reader = read_messages(tmp_path / "killed.mcap")
    messages = list(reader)
    assert len(messages) >= last + 1 >= 300
    assert messages == [(n, b"markers", n.to_bytes(8, "big") * 100) for n in range(len(messages))]
    assert f"{len(messages)} messages were read" in reader.note


@pytest.mark.process
def test_recording_from_a_socket_survives_kill_9(tmp_path, publisher, eventually):
    """Protects the whole way: a recording process killed in mid-stream leaves all frames but the last few."""
    path = tmp_path / "killed.mcap"
    code = "import sys; from streams.recording.recorder import record; record(sys.argv[1], sys.argv[2])"
    process = start(code, publisher.address, str(path))
    publisher.announce(SESSION)
    assert publisher.wait_for_subscriber(GUARD_S)
    size = 0
    for seq in range(500):
        publisher.send(decode(frame(seq)))
        size += len(frame(seq)[1])
        time.sleep(0.001)
    eventually(lambda: path.exists() and path.stat().st_size > 0.9 * size)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    messages = [decode((topic, payload)) for _, topic, payload in read_messages(path)]
    assert messages[0] == SESSION
    seqs = [message.seq for message in messages if isinstance(message, Markers)]
    assert seqs == list(range(len(seqs)))
    assert len(seqs) > 400


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on file sizes")
def test_a_full_disk_is_said_and_keeps_what_was_written(tmp_path):
    """Protects the data and the user when nothing more can be written."""
    code = """if True:
        import resource, signal, sys
        sys.dont_write_bytecode = True  # half a file of it would be left to the other tests
        from streams.recording.recorder import Recorder
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        with Recorder(sys.argv[1]) as recorder:
            for n in range(1000):
                recorder.write(b"markers", bytes(1000), n)
    """
    process = start(code, str(tmp_path / "full.mcap"), stderr=subprocess.PIPE, text=True)
    last_line = process.communicate()[1].splitlines()[-1]
    messages = list(read_messages(tmp_path / "full.mcap"))
    assert 40 < len(messages) < 50
    assert "StreamError" in last_line
    assert f"after {len(messages)} messages" in last_line
    assert "is the disk full?" in last_line


def test_recording_a_stream_to_its_end(tmp_path, publisher):
    """Protects `record`: everything from the descriptor to the end, as it was sent, and nothing foreign."""
    results = []
    thread = threading.Thread(target=lambda: results.append(record(publisher.address, tmp_path / "a.mcap")))
    thread.start()
    publisher.announce(SESSION)
    assert publisher.wait_for_subscriber(GUARD_S)
    for seq in range(100):
        publisher.send(decode(frame(seq)))
    publisher._socket.send_multipart([b"foreign", b"message"])
    publisher.end("over")
    thread.join(GUARD_S)
    messages = list(read_messages(tmp_path / "a.mcap"))
    sent = [payload for _, topic, payload in messages if topic == b"markers"]
    assert sent == [frame(seq)[1] for seq in range(100)]
    assert (messages[0][1], messages[-1][1]) == (b"session", b"end")
    assert [t_ns for t_ns, _, _ in messages] == sorted(t_ns for t_ns, _, _ in messages)
    assert results == [(len(messages), 1, 0, "", "")]


def test_recording_stops_when_told(tmp_path):
    """Protects the user: a recording of nothing can be ended, and says that nobody is there."""
    stop = threading.Event()
    said: list[str] = []

    def say(sentence: str) -> None:
        said.append(sentence)
        stop.set()

    thread = threading.Thread(
        target=record,
        args=("tcp://127.0.0.1:1", tmp_path / "a.mcap", stop),
        kwargs={"say": say},
    )
    thread.start()
    thread.join(GUARD_S)
    assert not thread.is_alive()
    assert "Nobody answers" in said[0]
    assert not (tmp_path / "a.mcap").exists()


def test_a_cut_file_is_read_as_the_protocol_says(tmp_path):
    """Protects other programs: with mcap's own reader, whole messages of a cut file come before its error."""
    whole = tmp_path / "whole.mcap"
    with Recorder(whole) as recorder:
        for index in range(100):
            recorder.write(b"markers", b"x" * 100, index * 20_000_000)
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    seen: list[int] = []
    with cut.open("rb") as file, pytest.raises(EndOfFile):
        seen.extend(m.log_time for _, _, m in NonSeekingReader(file).iter_messages(log_time_order=False))
    assert 20 < len(seen) < 80  # whole chunks; `read_messages` finds those of the cut one, too
    assert seen == [index * 20_000_000 for index in range(len(seen))]
    assert len(seen) <= len(list(read_messages(cut))) <= len(seen) + 25


def test_an_empty_recording_removes_no_file_but_its_own(tmp_path):
    """Protects another recording that has the name of one that was renamed."""
    path = tmp_path / "walk.mcap"
    recorder = Recorder(path)
    path.rename(tmp_path / "moved.mcap")
    path.write_bytes(b"of somebody else")
    recorder.close()
    assert path.read_bytes() == b"of somebody else"
