"""The journal of a run: a log of everything that its loop received, in order, for an exact replay.

The results of a live run are determined by its settings and files, by the build of the program, and by what
its loop received. The latter are: the frames that it received, as late ones may be dropped; which force
samples and commands came before which frame; the clock readings that stages use; and the frame at which the
result of a background thread was available. The journal stores these as messages among the results
(docs/protocol.md#journal), so that a recording of the results contains them. The journal entry of a frame is
sent after its result, which is not delayed by it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from rtsim.live.exact.run_files import FilePart
from streams.clock import now_ns
from streams.codec import WIRE_FLOAT, encode
from streams.errors import StreamError
from streams.messages import AnyMessage, Command, Journal, Result, Session, Status, new_session_id
from streams.receiving.ring import ReceivedFrame

TOPIC, LOST = "journal", "lost"
FORMAT = 1
"""Version of the entries' format; another one is not replayed."""
MOST_SESSIONS = 64
"""Number of descriptors that the journal remembers as sent; an older one is sent again when it is used
again."""
OF_FRAME = ("seq", "t_capture", "t_arrived", "t_received", "time", "leads")
"""Attributes of a received frame that its journal entry contains."""


class RunJournal:
    """Writes the journal of one run.

    Parameters
    ----------
    send : function that publishes a message; StreamError if the message is too large
    """

    def __init__(self, send: Callable[[AnyMessage], None]) -> None:
        self._send, self._id, self._seq = send, new_session_id(), 0
        self._numbers: OrderedDict[int, tuple[int, Session]] = OrderedDict()
        self._n_session = 0

    def opened(self, request: bytes, build: Mapping[str, str], parts: Iterable[FilePart]) -> None:
        """Record the start of the run.

        request : the request to the estimator, with all settings of the run (JSON)
        build : facts on which results depend besides, such as versions and processor, by name
        parts : the contents of the files that were read for the run, in parts
        """
        self._write("run", {"format": FORMAT, "build": dict(build)}, {"request": request})
        for part in parts:
            values = {"sha256": part.sha256, "n_byte": part.n_byte, "part": part.part, "n_part": part.n_part}
            self._write("file", values, {"path": part.path, "folder": part.folder, "content": part.content})

    def commanded(self, command: Command) -> None:
        """Record that a command was received and takes effect."""
        self._write("command", {}, {"message": encode(command)[1]})

    def turned(self, markers: Session) -> None:
        """Record that the next frame comes from another session of the marker stream, with whose frames the
        force samples are paired from this point of the journal on.

        The descriptors of both sessions determine by which clock samples and frames are paired. If that clock
        changes, all earlier samples are discarded. So a replay has to change the session at the same point.
        """
        self._write("turn", {"number": self._number(markers)}, {})

    def admitted(self, message: ReceivedFrame) -> None:
        """Record that a message of the force stream was accepted."""
        self._write("forces", *self._of(message))

    def announced(self, session: Session) -> None:
        """Record that a session of results begins."""
        self._write("results", {"session": session.session, "t_start": session.t_start}, {})

    def took(self, frame: ReceivedFrame, result: Result | None, n_awaited: int) -> None:
        """Record that a frame has gone through the stages.

        result : the published result; None if none was published
        n_awaited : number of results from background threads that the stages have used so far
        """
        values, data = self._of(frame)
        values |= {"n_awaited": n_awaited, "t_taken": frame.t_taken}
        if result is not None:
            late = bool(result.status & Status.LATE)
            values |= {"late": late, "t_solved": result.t_solved, "t_published": result.t_published}
        self._write("frame", values, data)

    def repeated(self, result: Result) -> None:
        """Record that the last result was published again, as no frame came."""
        self._write("repeat", {"t_published": result.t_published}, {})

    def ended(self, reason: str) -> None:
        """Record that the run has ended; reason : why, in words"""
        self._write("end", {"reason": reason}, {})

    def _of(self, frame: ReceivedFrame) -> tuple[dict[str, Any], dict[str, bytes]]:
        values = {"number": self._number(frame.session), **{name: getattr(frame, name) for name in OF_FRAME}}
        return values, {"values": np.asarray(frame.flat, WIRE_FLOAT).tobytes()}

    def _number(self, session: Session) -> int:
        """Return the number by which journal entries refer to a descriptor. The descriptor itself is written
        to the journal before its number is used for the first time.

        Descriptors are distinguished by object identity: two equal ones may be two different sessions.
        """
        known = self._numbers.get(id(session))
        if known is None:
            known = self._numbers[id(session)] = (self._n_session, session)
            self._n_session += 1
            self._write("session", {"number": known[0]}, {"message": encode(session)[1]})
            if len(self._numbers) > MOST_SESSIONS:
                self._numbers.popitem(last=False)
        else:
            self._numbers.move_to_end(id(session))
        return known[0]

    def _write(self, entry: str, values: dict[str, Any], data: dict[str, bytes]) -> None:
        message = Journal(session=self._id, seq=self._seq, t=now_ns(), entry=entry, values=values, data=data)
        try:
            self._send(message)
        except (
            StreamError
        ):  # as a stranger's descriptor that filled a message before there was more around it
            self._send(replace(message, entry=LOST, values={"entry": entry}, data={}))
        self._seq += 1
