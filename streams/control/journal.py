"""Log of commands: who gave which command, and its outcome, for the telemetry, and so for recordings.

Every command that was carried out is logged in one sentence. Refused commands and emergency stops may come in
floods; above a limit per second they are summarised in one sentence.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from streams.access.askers import Asker
from streams.account import plain
from streams.clock import is_over, now_ns

MOST_KEPT = 1024
MOST_A_SECOND = 8
"""Refused commands, and emergency stops, that have a sentence of their own in a second."""
LONGEST_ARGS = 96
"""Arguments of a command in a sentence [characters]."""
QUIET = ("status", "list", "ticket")
"""Commands that change nothing: they are worth a sentence only where they are refused."""
SECOND_NS = 1_000_000_000


def time_of_day() -> str:
    """Return the computer's date and time in UTC, to the millisecond."""
    now = time.time()
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(now))}.{int(now % 1.0 * 1e3):03d} UTC"


class CommandJournal:
    """Log of the commands of one control address; for use by any thread.

    Parameters
    ----------
    day : function that returns date and time as text

    Attributes
    ----------
    sentences : sentences on the commands, newest last; take them with popleft; counters : `commands_refused`
    """

    def __init__(self, day: Callable[[], str] = time_of_day) -> None:
        self.sentences: deque[str] = deque(maxlen=MOST_KEPT)
        self.counters = {"commands_refused": 0}
        self._day, self._lock = day, threading.Lock()
        self._since_ns, self._n, self._left_out, self._last = 0, 0, 0, ""

    def note(
        self, name: str, args: Mapping[str, Any], asker: Asker, ok: bool, text: str, floods: bool = False
    ) -> None:
        """Log a command.

        ok, text : whether the command was carried out, and the answer to it
        floods : whether the command, which anybody may send, is summarised when it comes very often
        """
        if ok and name in QUIET:
            return
        given = ", ".join(f"{key}={value}" for key, value in args.items())
        what = f"{plain(name, 64)}({plain(given, LONGEST_ARGS)})" if given else plain(name, 64)
        role = f"role {asker.role}" if asker.role else "no role"
        words = (
            f"Command {what} by {asker.name} ({role}) at {self._day()}: {'done' if ok else 'refused'}: {text}"
        )
        if ok and not floods:
            self.sentences.append(plain(words))
            return
        with self._lock:
            self.counters["commands_refused"] += not ok
            self._flush()
            self._n += 1
            if self._n <= MOST_A_SECOND:
                self.sentences.append(plain(words))
            else:
                self._left_out, self._last = self._left_out + 1, words

    def flush(self) -> None:
        """Log the number of commands that were only counted in the last second; call it regularly."""
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        if not is_over(self._since_ns, SECOND_NS, now_ns()):
            return
        if self._left_out:
            self.sentences.append(
                plain(f"And {self._left_out} more commands that are not listed; the last: {self._last}")
            )
        self._since_ns, self._n, self._left_out = now_ns(), 0, 0
