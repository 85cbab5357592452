"""`rtsim record`: what was not received is told, nobody else ends it, a full disk leaves no trap."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgpack
import pytest
import zmq

from streams.access.key_files import create_keys
from streams.access.security import Security
from streams.publisher import UPSTREAM
from streams.recording.recorded import read_messages
from streams.sockets import BoundSocket

pytestmark = pytest.mark.process

OWN, OTHER = "00000000000000aa", "00000000000000bb"
POSITIONS = struct.pack("<6d", *range(6))
resource = pytest.importorskip("resource") if sys.platform != "win32" else None
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of another kind")
# A disk that takes so many bytes of a file and no more: an error as of a full one, for one process only. Nor
# bytecode: half a file of it would be left to the other tests.
SMALL_DISK = """if True:
    import resource, sys
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, ({n_byte}, {most}))
    from rtsim.cli.main import main
    main()
"""


class Sender:
    """A stranger's source of markers: sends what it is told, packed by another library."""

    def __init__(self) -> None:
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.XPUB)
        self._socket.linger, self._socket.sndhwm = 1000, 0
        self._socket.bind("tcp://127.0.0.1:0")
        self.address = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def joined(self) -> None:
        """Wait for the recorder."""
        assert self._socket.poll(120_000), "nobody subscribed"
        self._socket.recv()

    def _send(self, kind: str, session: str, **keys: object) -> None:
        message = {"v": 1, "type": kind, "session": session, **keys}
        self._socket.send_multipart([kind.encode(), msgpack.packb(message)])

    def descriptor(self, session: str = OWN, stream: str = "markers") -> None:
        field = {"name": "positions", "shape": [2, 3], "unit": "m", "labels": []}
        self._send("session", session, stream=stream, t_start=1, rate=100.0, fields=[field], meta={})

    def frames(self, *seqs: int, session: str = OWN, kind: str = "markers") -> None:
        for seq in seqs:
            data = {"positions": POSITIONS}
            self._send(kind, session, seq=seq, t_capture=time.perf_counter_ns(), time=0.01 * seq, data=data)

    def end(self, n_sent: int, session: str = OWN) -> None:
        self._send("end", session, seq=n_sent, reason="done")

    def close(self) -> None:
        self._socket.close()
        self._context.term()


@pytest.fixture
def sender() -> Iterator[Sender]:
    made = Sender()
    yield made
    made.close()


@pytest.fixture
def recorder(start, sender) -> Callable:
    """Start `rtsim record` into walk.mcap and wait until it listens."""

    def begin(*options: object, **how: object):
        process = start("record", sender.address, "walk.mcap", *options, **how)
        sender.joined()
        sender.descriptor()
        return process

    return begin


def topics(path: Path) -> list[bytes]:
    return [topic for _, topic, _ in read_messages(path)]


def test_missing_frames_are_told_at_once_and_at_the_end(recorder, sender):
    """Protects measurements: gaps in mid-stream and before the end, in a sentence and in the last line."""
    process = recorder()
    sender.frames(*range(10), *range(20, 30))
    assert "10 frames lost on the way here" in process.said("lost")
    sender.end(35)
    done = process.wait()
    assert done.code == 0
    assert done.sentence == "walk.mcap: 22 messages, 0 refused, 15 frames lost before they were received"


def test_a_freeze_of_any_length_is_counted(recorder, sender):
    """Protects the count: more frames missing than a jump in seq that is believed without a second frame."""
    process = recorder()
    sender.frames(0, 1, 20_000, 20_001)
    sender.end(60_002)
    done = process.wait()
    assert done.sentence == "walk.mcap: 6 messages, 0 refused, 59998 frames lost before they were received"


def test_nothing_is_missing_where_all_came(recorder, sender):
    """Protects trust in the count: a late join, copies and latecomers are no loss."""
    process = recorder()
    sender.frames(500, 501, 502, 502, 501, 503)
    sender.end(504)
    done = process.wait()
    assert (done.code, done.err) == (0, "walk.mcap: 8 messages, 0 refused\n")


def test_the_end_of_another_session_ends_nothing(recorder, sender, tmp_path):
    """Protects a recording from the end of a former session, an unknown one, and another stream."""
    process = recorder()
    sender.frames(0)
    sender.end(7, session=OTHER)  # never announced
    sender.descriptor("00000000000000cc", stream="forces")
    sender.frames(0, session="00000000000000cc", kind="forces")
    sender.end(1, session="00000000000000cc")
    sender.frames(1)
    sender.descriptor(OTHER)  # the source begins anew
    sender.end(2, session=OWN)
    sender.frames(0, 1, 2, session=OTHER)
    sender.end(3, session=OTHER)
    done = process.wait()
    assert (done.code, done.sentence) == (0, "walk.mcap: 13 messages, 0 refused")
    assert topics(tmp_path / "walk.mcap")[-4:] == [b"markers"] * 3 + [b"end"]


@POSIX
def test_a_recording_that_is_stopped_tells_what_is_missing(recorder, sender, tmp_path):
    """Protects who ends by hand: the last line counts as at the end of the stream, and the file is closed."""
    process = recorder()
    sender.frames(0, 5)
    process.said("4 frames lost")
    process.popen.send_signal(signal.SIGINT)
    done = process.wait()
    assert (done.code, done.sentence) == (
        130,
        "walk.mcap: 3 messages, 0 refused, 4 frames lost before they were received",
    )
    messages = read_messages(tmp_path / "walk.mcap")
    assert (len(list(messages)), messages.note) == (3, "")


@POSIX
def test_a_disk_that_is_full_at_the_start_leaves_no_file(start, rtsim, sender, tmp_path):
    """Protects the retry: nothing blocks the name once there is room again."""
    small = ("-c", SMALL_DISK.format(n_byte=50, most=50))
    full = start("record", "tcp://127.0.0.1:1", "walk.mcap", python=small).wait()
    assert full.code == 1
    assert (
        "walk.mcap cannot be written (File too large); no file was kept; is the disk full?" in full.sentence
    )
    assert "Traceback" not in full.err
    assert os.listdir(tmp_path) == []
    other = Sender()  # which has not met the first recorder, that may have come and gone
    retry = start("record", other.address, "walk.mcap")
    other.joined()
    other.descriptor()
    other.end(0)
    assert retry.wait().code == 0
    other.close()


@POSIX
def test_a_disk_that_fills_up_is_told_at_once(recorder, sender, tmp_path):
    """Protects measurements: it is told while the stream goes on, and what was written can be read."""
    process = recorder(python=("-c", SMALL_DISK.format(n_byte=20_000, most=20_000)))
    sender.frames(*range(1000))
    told = process.said("cannot be written any more after")
    sender.end(1000)
    done = process.wait()
    n_message = len(topics(tmp_path / "walk.mcap"))
    assert done.code == 1
    assert n_message > 50
    assert f"walk.mcap cannot be written any more after {n_message} messages (File too large)" in told
    assert f"walk.mcap cannot be written any more after {n_message} messages" in done.sentence
    assert f"{1002 - n_message} messages were lost" in done.sentence
    assert "Traceback" not in done.err


@POSIX
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="changes the limit of another process")
def test_a_disk_that_comes_back_has_all(recorder, sender, tmp_path):
    """Protects measurements: once there is room again, what waited goes into the same file."""
    process = recorder(python=("-c", SMALL_DISK.format(n_byte=20_000, most=10_000_000)))
    sender.frames(*range(500))
    process.said("cannot be written any more after")
    resource.prlimit(process.popen.pid, resource.RLIMIT_FSIZE, (10_000_000, 10_000_000))
    assert "0 messages were lost meanwhile" in process.said("takes messages again")
    sender.frames(*range(500, 600))
    sender.end(600)
    done = process.wait()
    assert (done.code, done.sentence) == (0, "walk.mcap: 602 messages, 0 refused")
    assert len(topics(tmp_path / "walk.mcap")) == 602


def test_a_refused_key_is_an_error(rtsim, tmp_path):
    """Protects scripts: a key that is not on the allow-list ends in a sentence, a code, and no file."""
    for name in ("server", "friend", "stranger"):
        create_keys(tmp_path / "keys", name)
    (tmp_path / "allowed").mkdir()
    shutil.copy(tmp_path / "keys" / "friend.key", tmp_path / "allowed")
    security = Security.for_server(tmp_path / "keys" / "server.key_secret", tmp_path / "allowed")
    server = BoundSocket(zmq.XPUB, "tcp://127.0.0.1:0", security, UPSTREAM)
    keys = ("--client-key", "keys/stranger.key_secret", "--server-key", "keys/server.key")
    done = rtsim("record", server.address, "walk.mcap", "--duration", 6, *keys)
    server.close(0)
    assert done.code == 1
    assert "no message was received, so no file was kept" in done.sentence
    assert "refuses this client's key; ask for its public key" in done.sentence
    assert not (tmp_path / "walk.mcap").exists()


def test_all_sockets_are_closed_in_order(recorder, sender):
    """Protects the end of a recording: nothing is left for the context to close by force."""
    process = recorder(python=("-W", "always", "-m", "rtsim.cli.main"))
    sender.end(0)
    done = process.wait()
    assert done.code == 0
    assert "ResourceWarning" not in done.err, done.err


@POSIX
def test_asking_twice_ends_a_recorder_that_hangs(start, tmp_path):
    """Protects who wants to leave: a second request is obeyed where nobody hears the first."""
    stuck = """if True:
        import sys, time
        import streams.recording.recorder
        def record(*args, **how):
            print("hanging", file=sys.stderr, flush=True)
            while True:
                time.sleep(1.0)
        streams.recording.recorder.record = record
        from rtsim.cli.main import main
        main()
    """
    process = start("record", "tcp://127.0.0.1:1", "walk.mcap", python=("-c", stuck))
    process.said("hanging")
    process.popen.send_signal(signal.SIGINT)
    process.popen.send_signal(signal.SIGTERM)
    done = process.wait()
    assert done.code == 143
    assert "Traceback" not in done.err
