"""Passes frames from the receiving thread to the reading one through preallocated slots."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from time import perf_counter

import numpy as np

from streams.codec import FieldLayout, FloatArray
from streams.messages import Session

FORMER_MOST = 256
"""Frames of former sessions that are kept beside the backlog of the newest."""
MEMORY_MOST = 64 << 20
"""Largest total size of unread frames [bytes]; a backlog of very large frames is shorter than requested."""


class ReceivedFrame:
    """One received frame; a slot of the ring, valid until the reader asks for the next one.

    Attributes
    ----------
    session : the descriptor this frame belongs to
    seq : number of the frame in its session
    time : time in the trial [s]
    t_capture : the source's clock at capture [ns]
    t_arrived : this machine's clock at receipt [ns]
    t_taken : this machine's clock when the loop began to work on it [ns], 0 = not yet
    t_received : t_arrived for markers and forces; for results, when the estimator received its input [ns]
    t_solved, t_published : the estimator's clock [ns]; 0 except for results
    status, iterations, residual : of the solution in a result: status bits, number of iterations, remaining
        misfit; 0, 0, NaN except for results
    leads : whether its session was the leading one of the stream when the frame arrived, that is the one
        whose frames have come for the longest time without a pause
    data : field name -> float64 array of the shape in the descriptor
    """

    __slots__ = (
        "data",
        "flat",
        "iterations",
        "leads",
        "residual",
        "seq",
        "session",
        "status",
        "t_arrived",
        "t_capture",
        "t_published",
        "t_received",
        "t_solved",
        "t_taken",
        "time",
    )

    def __init__(self, session: Session, layout: FieldLayout) -> None:
        self.session = session
        self.seq = self.t_capture = self.t_arrived = self.t_received = self.t_taken = 0
        self.t_solved = self.t_published = self.status = self.iterations = 0
        self.time = 0.0
        self.leads = False
        self.residual = float("nan")
        self.flat: FloatArray = np.full(layout.n_value, np.nan)
        self.data: dict[str, FloatArray] = layout.views(self.flat)


class Ring:
    """A queue of frames between one writer and one reader thread, with at most `backlog` unread frames of
    each session.

    Each frame is a preallocated slot. At most two slots more than the backlog exist, one in use by the reader
    and one by the writer, so that neither waits for the other: the lock is held only to move a slot, never to
    fill or read one. A slot is allocated when it is first needed.

    Attributes
    ----------
    first : session whose frames are not dropped in favour of others
    """

    def __init__(self, backlog: int) -> None:
        self._backlog = backlog
        self._change = threading.Lock()
        # Held while there is no news, so that the reader sleeps in taking it. A condition, which is made of
        # such locks in Python, wakes a thread that has long been asleep in twice the time.
        self._news = threading.Lock()
        self._news.acquire()
        self._unread: deque[ReceivedFrame] = deque()
        self._free: list[ReceivedFrame] = []
        self._held: ReceivedFrame | None = None
        self._writing: ReceivedFrame | None = None
        self._newest: Session | None = None
        self._layout: FieldLayout | None = None
        self._n_byte = 0  # of all unread frames
        self._n_newest = 0  # unread frames of the newest session
        self.first: Session | None = None
        self._nudged = self._closed = False

    @property
    def session(self) -> Session | None:
        """Descriptor of the frame that `pop` returned last; if that was none, the newest descriptor."""
        with self._change:
            return self._held.session if self._held is not None else self._newest

    @property
    def n_unread(self) -> int:
        return len(self._unread)

    def begin(self, session: Session, layout: FieldLayout) -> None:
        """Begin a new session. Frames of the former session stay readable."""
        with self._change:
            self._newest, self._layout = session, layout
            self._writing = None
            self._free = []
            self._n_newest = sum(frame.session is session for frame in self._unread)

    def slot(self) -> ReceivedFrame:
        """Return the writer's slot, an unused frame, which the writer fills and passes on with `push`.
        Without `push` the next call returns the same slot. Needs a session.
        """
        if self._writing is None:
            assert self._newest is not None
            assert self._layout is not None
            self._writing = ReceivedFrame(self._newest, self._layout)
        return self._writing

    def push(self) -> int:
        """Hand the writer's slot to the reader; return how many of the oldest unread frames were dropped for
        it.

        A session with too many unread frames loses its own oldest ones, so that one session does not displace
        the frames of another. If there are too many frames in total, frames of the session `first` are
        dropped last.
        """
        frame = self.slot()
        n_dropped = 0
        with self._change:
            self._unread.append(frame)
            self._n_newest += 1
            self._n_byte += frame.flat.nbytes
            if self._n_newest > self._backlog:
                self._release(self._take(self._oldest(lambda session: session is self._newest)))
                n_dropped += 1
            while len(self._unread) > self._backlog + FORMER_MOST or self._n_byte > MEMORY_MOST:
                self._release(self._take(self._oldest(lambda session: session is not self.first)))
                n_dropped += 1
            self._writing = self._free.pop() if self._free else None
            self._wake()
        return n_dropped

    def pop(self, timeout_s: float) -> ReceivedFrame | None:
        """Return the oldest unread frame, waiting for one up to `timeout_s`; None after that, or after
        `nudge` or `close`."""
        deadline = perf_counter() + min(timeout_s, threading.TIMEOUT_MAX)
        with self._change:
            if self._held is not None:
                self._release(self._held)
                self._held = None
        while True:
            with self._change:
                if self._unread:
                    self._held = self._take(0)
                    return self._held
                left_s = deadline - perf_counter()
                if self._nudged or self._closed or left_s <= 0.0:
                    self._nudged = False
                    return None
            self._news.acquire(timeout=left_s)  # in vain, or of news that was read: it looks again

    def keep(self) -> None:
        """Let the reader keep the frame that `pop` returned last: its memory is not used again for later
        frames.
        """
        with self._change:
            self._held = None

    def nudge(self) -> None:
        """Wake a waiting reader: `pop` returns None once all frames are read."""
        with self._change:
            self._nudged = True
            self._wake()

    def close(self) -> None:
        """Wake the reader, and never let it wait again."""
        with self._change:
            self._closed = True
            self._wake()

    def _wake(self) -> None:
        # Under the lock of the ring, so that two writers do not let go at once.
        if self._news.locked():
            self._news.release()

    def _oldest(self, of: Callable[[Session], bool]) -> int:
        """Return the index of the oldest unread frame of a session that fulfils `of`; if there is none, of
        all frames."""
        return next((n for n, frame in enumerate(self._unread) if of(frame.session)), 0)

    def _take(self, index: int) -> ReceivedFrame:
        frame = self._unread[index]
        del self._unread[index]
        self._n_byte -= frame.flat.nbytes
        self._n_newest -= frame.session is self._newest
        return frame

    def _release(self, frame: ReceivedFrame) -> None:
        # A slot of a former session is left to the garbage collector.
        if frame.session is self._newest:
            self._free.append(frame)
