"""Checks of arriving frames (order, clock, infinities), and messages about faults."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Literal

import numpy as np

from streams.account import plain
from streams.codec import WIRE_FLOAT, FloatArray

RECENT = 64
"""Number of recent frames among which a duplicate is distinguished from a late frame."""
IMPLAUSIBLE_GAP = 10_000
"""A jump in seq beyond this, to either side, is believed only when the next frame confirms it."""
CLOCK_JUMP_NS = 1_000_000_000
"""The capture clock has jumped if it is suddenly ahead of the receipt by this much [ns]."""
EVENT_INTERVAL_NS = 1_000_000_000
"""Each kind of event is said at most once in this time [ns]."""

INFINITY, MINUS_INFINITY = (np.array([x], WIRE_FLOAT).tobytes() for x in (np.inf, -np.inf))

COUNTERS = (
    "received",
    "lost",
    "duplicate",
    "out_of_order",
    "skipped",
    "oversize",
    "malformed",
    "bad_version",
    "wrong_shape",
    "non_finite",
    "clock_jump",
    "unknown_session",
    "put_off",
)

Verdict = Literal["in_order", "duplicate", "out_of_order"]


class OrderCheck:
    """Checks the sequence number of each frame of one session."""

    def __init__(self) -> None:
        self.n_lost = 0
        self._last = -1
        self._doubtful = -2  # so that no frame carries on from it
        self._recent = [-1] * RECENT

    @property
    def last(self) -> int:
        """The seq of the newest frame in order; -1 before the first."""
        return self._last

    def judge(self, seq: int) -> Verdict:
        """Classify a frame by its number: "in_order", "duplicate" or "out_of_order"; afterwards `n_lost` is
        the number of frames missing just before it.

        The first received frame of a session may have any number: frames before it do not count as lost.
        """
        self.n_lost = gap = 0
        if seq <= self._last:
            if self._recent[seq % RECENT] == seq:
                return "duplicate"
            if self._last - seq <= IMPLAUSIBLE_GAP or not self._confirms(seq):
                return "out_of_order"
            self._recent = [-1] * RECENT  # the number that all others were behind was damaged
        elif self._last >= 0:
            gap = seq - self._last - 1
            if gap > IMPLAUSIBLE_GAP:
                if not self._confirms(seq):
                    return "out_of_order"
                gap -= 1  # the frame in doubt was right, and is already counted as out of order
        self.n_lost = gap
        self._last = seq
        self._recent[seq % RECENT] = seq
        return "in_order"

    def _confirms(self, seq: int) -> bool:
        """Return whether a frame with an unexpected number follows the previous unexpected one; if not, store
        its number as doubtful."""
        if seq == self._doubtful + 1:
            return True
        self._doubtful = seq
        return False

    def missing_at_end(self, n_sent: int) -> int:
        """Return the number of frames missing after the last one, for a sender that says it sent `n_sent`."""
        if self._last < 0:
            return 0
        gap = max(0, n_sent - self._last - 1)
        return gap if gap <= IMPLAUSIBLE_GAP else 0


class CaptureClockCheck:
    """Check of one session's capture clock for jumps."""

    def __init__(self) -> None:
        self._t_capture = -1
        self._offset = 0

    def jumped(self, t_capture: int, t_arrived: int) -> bool:
        """Return whether the capture clock went back, or ahead by more than the time that passed on this
        machine.

        The reference is the least delay of a frame so far. A delayed frame makes the capture clock seem
        behind, never ahead, so a stall of the network is not mistaken for a jump of the clock.
        """
        offset = t_capture - t_arrived
        first = self._t_capture < 0
        back = t_capture < self._t_capture
        ahead = offset - self._offset > CLOCK_JUMP_NS
        self._t_capture = t_capture
        if first or back or offset > self._offset:
            self._offset = offset
        return not first and (back or ahead)


def clean(flat: FloatArray, sent: Iterable[bytes]) -> bool:
    """Replace infinities in an array by NaN, in place; return whether there were any.

    sent : the same values as received bytes; they are searched first, which is faster
    """
    for blob in sent:
        if INFINITY in blob or MINUS_INFINITY in blob:
            break
    else:
        return False
    found = np.isinf(flat)
    flat[found] = np.nan
    return bool(found.any())


def count_frames(n: int) -> str:
    return "1 frame" if n == 1 else f"{n} frames"


# What is said of each kind of event; {frames} is a number of frames, {detail} says where or what.
SENTENCES = {
    "lost": "{frames} lost on the way here; {detail}.",
    "duplicate": "{frames} came twice, the copies were dropped; {detail}.",
    "out_of_order": "{frames} came out of order, dropped; {detail}.",
    "skipped": "{frames} skipped because the reader was busy, the newest kept.",
    "oversize": "{frames} too large and dropped: {detail}.",
    "malformed": "{frames} unreadable and dropped: {detail}.",
    "bad_version": "{frames} of another protocol version and dropped: {detail}.",
    "wrong_shape": "{frames} whose fields or shapes differ from the descriptor, dropped; {detail}.",
    "non_finite": "{frames} with infinite values, replaced by NaN; {detail}.",
    "clock_jump": "{frames} with a jump in the sender's clock; {detail}.",
    "unknown_session": "{frames} without a known descriptor and dropped; {detail}.",
    "unknown_end": "The end of a session without a known descriptor was ignored: {detail}.",
    "put_off": "{frames} processed late or skipped, because {detail}.",
    "other_device": "{frames} of a second device, dropped: {detail}; only one device may connect at a time.",
    "other_user": "{frames} of a device of another user of this machine, dropped: {detail}.",
    "session": "A new session {detail} began.",
    "end": "The stream ended after {detail}.",
    "end_beside": "Another session on this stream, not the one that is read, ended after {detail}.",
}


class EventLog:
    """Log of events in sentences, with their numbers; each kind of event is reported at most once per
    second.
    """

    def __init__(self, n_kept: int = 256) -> None:
        self.sentences: deque[str] = deque(maxlen=n_kept)
        self._pending: dict[str, tuple[int, str]] = {}
        self._said_ns: dict[str, int] = {}

    def say(self, sentence: str) -> None:
        """Log a sentence at once, without the limit of one per second; for events that cannot be frequent."""
        self.sentences.append(plain(sentence))

    def note(self, kind: str, n: int, detail: str, t_ns: int) -> None:
        """Log `n` more events of `kind`: at once if none of it was logged in the last second, else later.

        detail : words on the newest event, quoted in the sentence
        t_ns : present time [ns]
        """
        self._pending[kind] = (self._pending.get(kind, (0, ""))[0] + n, detail)
        self.flush(t_ns)

    def flush(self, t_ns: int) -> None:
        """Log events that the limit of one sentence per second has held back, if that time is over; called
        regularly, so that the last event of a flood is logged, too. t_ns : present time [ns]"""
        if not self._pending:
            return
        for kind in list(self._pending):
            if t_ns - self._said_ns.get(kind, -EVENT_INTERVAL_NS) >= EVENT_INTERVAL_NS:
                self._said_ns[kind] = t_ns
                self._say_pending(kind)

    def close(self) -> None:
        """Log all events that the limit of one sentence per second has held back so far."""
        for kind in list(self._pending):
            self._say_pending(kind)

    def _say_pending(self, kind: str) -> None:
        n, detail = self._pending.pop(kind)
        self.say(SENTENCES[kind].format(frames=count_frames(n), detail=detail))
