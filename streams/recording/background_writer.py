"""Recording in a separate thread, so that a slow, full or missing disk delays nothing else.

Messages that cannot be written wait in memory, up to a limit; writing is retried, in the same file, or in
another one if the first is gone. Messages beyond the limit are counted as lost.
"""

from __future__ import annotations

import errno
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from streams.clock import is_over, now_ns
from streams.recording.chunked_file import ChunkedFile, description

MOST_BYTES = 64 << 20
"""Bytes of messages that may wait for the disk: half a minute at 200 Hz and 10 kB a frame."""
SYNC_S = 1.0
"""The flush interval: how often the file is brought from memory to the disk [s]."""
RETRY_S = 0.5
"""Interval at which a disk that refuses is tried again [s]."""
SLOW_NS = 1_000_000_000
"""Waiting time of messages after which the slow disk is reported [ns]."""
LAST_S = 10.0
"""Time that the remaining messages have at the end to get to a slow disk [s]."""
N_DESCRIPTOR = 8
"""Newest descriptors that are repeated at the beginning of another file."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) if hasattr(errno, "EDQUOT") else (errno.ENOSPC,)
"""Errors of a full disk; writing continues in the same file once there is room."""

WaitingMessage = tuple[str, bytes, int]


class BackgroundWriter:
    """Writer of messages to a new recording, which never waits for the disk.

    Parameters
    ----------
    path, file : path of the recording, and its file, which is already open
    tell : function called with sentences on faults of the disk, from another thread

    Attributes
    ----------
    paths : paths of all files of the recording
    n_message : number of messages in them
    n_lost : number of messages that could not be written
    """

    def __init__(self, file: ChunkedFile, path: Path, tell: Callable[[str], None]) -> None:
        self.paths = [path]
        self.n_message = self.n_lost = 0
        self._file = file
        self._tell = tell
        self._waiting: deque[WaitingMessage] = deque()
        self._n_byte = self._n_dropped = 0
        self._descriptors: deque[tuple[bytes, int]] = deque(maxlen=N_DESCRIPTOR)
        self._fault = ""
        self._slow = False
        self._looked_ns = now_ns()
        self._over, self._given_up = threading.Event(), threading.Event()
        self._ready = threading.Condition()
        self._writer = threading.Thread(target=self._run, name="recording", daemon=True)
        self._syncer = threading.Thread(target=self._sync, name="sync", daemon=True)
        self._writer.start()
        self._syncer.start()

    def put(self, topic: bytes, payload: bytes, t_ns: int) -> None:
        """Queue a message, received at `t_ns`, for writing."""
        with self._ready:
            if self._n_byte + len(payload) > MOST_BYTES:
                self.n_lost += 1
                return
            self._waiting.append((topic.decode("ascii"), payload, t_ns))
            self._n_byte += len(payload)
            self._ready.notify()

    def finish(self) -> str:
        """Write waiting messages, as far as possible, and the index, and close the file. Return a sentence on
        lost messages, "" if none were lost.
        """
        self._over.set()
        with self._ready:
            self._ready.notify()
        self._writer.join(LAST_S)
        self._given_up.set()
        self._writer.join(RETRY_S)
        self.n_lost += len(self._waiting)
        if not self._writer.is_alive():
            self._end_file()
        if not (self.n_lost or self._fault or self._writer.is_alive()):
            return ""
        why = f" ({self._fault})" if self._fault else ""
        if not self.n_message:
            return f"{self.paths[-1]} cannot be written{why}; no file was kept; is the disk full?"
        return (
            f"{self.paths[-1]} cannot be written any more after {self.n_message} messages{why}, "
            f"{self.n_lost} messages were lost; is the disk full, slow or disconnected?"
        )

    def _end_file(self) -> None:
        """Finish the newest file; remove it if it contains no message, so that its name is free."""
        path = self.paths[-1]
        if self._file.is_gone():
            self._leave()
            return
        renamed = not self._file.has_name(path)
        try:
            self._file.finish()
        except OSError as fault:
            self._file.abandon()
            self._fault = self._fault or str(fault.strerror)
        if not self.n_message:
            with suppress(OSError):
                self._file.remove(path)
        elif renamed:
            self._tell(f"{path} was renamed meanwhile: what was recorded is under the new name")

    def _run(self) -> None:
        while message := self._next():
            self._keep(message)
            if is_over(self._looked_ns, round(1e9 * SYNC_S), now_ns()):
                self._look(message)

    def _next(self) -> WaitingMessage | None:
        """Return the next message, which stays in the queue until it is written; None at the end."""
        with self._ready:
            while not self._waiting and not self._over.is_set():
                self._ready.wait(SYNC_S)
            return self._waiting[0] if self._waiting and not self._given_up.is_set() else None

    def _keep(self, message: WaitingMessage) -> None:
        """Write a message, repeating the attempt until it succeeds or is given up."""
        failed_ns = 0
        while True:
            last = self._over.is_set()
            try:
                self._file.add(*message)
                break
            except OSError as fault:
                failed_ns = failed_ns or now_ns()
                self._failed(fault)
            if last or self._given_up.is_set():
                self._given_up.set()
                return
            self._over.wait(RETRY_S)
        if failed_ns:
            self._fault = ""
            self._tell(
                f"{self.paths[-1]} takes messages again after {1e-9 * (now_ns() - failed_ns):.1f} s; "
                f"{self.n_lost} messages were lost meanwhile"
            )
        if message[0] == "session" and message[1] not in [payload for payload, _ in self._descriptors]:
            self._descriptors.append((message[1], message[2]))
        self.n_message += 1
        with self._ready:
            self._waiting.popleft()
            self._n_byte -= len(message[1])

    def _failed(self, fault: OSError) -> None:
        """Report the first failure to write; continue in another file if this one is gone."""
        why = str(fault.strerror or fault)
        if not self._fault:
            self._tell(
                f"{self.paths[-1]} cannot be written any more after {self.n_message} messages "
                f"({why}); rtsim keeps trying until the end, and {MOST_BYTES >> 20} MB of messages "
                "can wait; is the disk full?"
            )
        self._fault = why
        if fault.errno not in NO_ROOM or self._file.is_gone():
            self._go_on_elsewhere()

    def _go_on_elsewhere(self) -> None:
        """Begin another file beside the first, if possible; otherwise keep trying the same one."""
        first = self.paths[0]
        for number in range(2, 1000):
            path = first.with_name(f"{first.stem}.{number}{first.suffix}")
            try:
                file = ChunkedFile(path, {"recording": {**description(), "continues": str(first.name)}})
            except FileExistsError:
                continue
            except OSError:
                return
            try:
                file.begin()
                for payload, t_ns in self._descriptors:
                    file.add("session", payload, t_ns)
            except OSError:
                file.abandon()
                file.remove(path)
                return
            self._leave()
            self._file = file
            self.paths.append(path)
            self._tell(f"the recording goes on in {path}")
            return

    def _leave(self) -> None:
        """Close a file that cannot be written any more, and count the messages lost if it was removed."""
        n, gone = self._file.n_message, self._file.is_gone()
        self._tell(
            f"{self.paths[-1]} was removed with {n} messages in it, which are lost"
            if gone
            else f"{self.paths[-1]} cannot be reached any more; {n} messages were written to it"
        )
        if gone:
            self.n_lost += n
            self.n_message -= n
        self._file.abandon()

    def _look(self, message: WaitingMessage) -> None:
        """Check from time to time whether messages wait too long or exceed the memory limit, and whether the
        file still exists."""
        self._looked_ns = now_ns()
        waited_ns = self._looked_ns - message[2]
        n_dropped = self.n_lost - self._n_dropped
        if (waited_ns > SLOW_NS and not self._slow) or n_dropped:
            lost = f"; {n_dropped} messages did not fit into memory and are lost" if n_dropped else ""
            self._tell(
                f"the disk is slow: messages wait {1e-9 * waited_ns:.1f} s until they are in "
                f"{self.paths[-1]}{lost}"
            )
        self._slow, self._n_dropped = waited_ns > SLOW_NS, self.n_lost
        if self._file.is_gone():
            self._go_on_elsewhere()

    def _sync(self) -> None:
        """Flush the file to the disk in a separate thread, as writing would otherwise wait for it."""
        told = False
        while not self._over.wait(SYNC_S):
            try:
                self._file.sync()
            except OSError as fault:
                if not told:
                    self._tell(f"{self.paths[-1]} cannot be flushed to the disk ({fault.strerror})")
                told = True
