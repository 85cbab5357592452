"""The last messages of the sender of results and of the monitor window; if there are too many, only a few are
shown, and the others are counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice

from rtsim.monitor.words import SENTENCE_MOST, printable

N_KEPT = 12
N_PER_SECOND = 4  # messages of the sender; more cannot be read


class MessageLog:
    """Messages to the user of the monitor window, newest last.

    Attributes
    ----------
    kept : the last messages, shortened
    """

    def __init__(self) -> None:
        self.kept: deque[str] = deque(maxlen=N_KEPT)
        self._since = -1.0
        self._n_heard = 0  # in the second that began then

    def hear(self, texts: Iterable[str], n: int, now: float) -> None:
        """Add the first `n` messages of the sender. Only as many per second are stored as can be read; the
        others are counted."""
        self.turn(now)
        room = max(0, N_PER_SECOND - self._n_heard)
        self.kept.extend(printable(text, SENTENCE_MOST) for text in islice(texts, min(n, room)))
        self._n_heard += n

    def say(self, text: str) -> None:
        """Add a message of the monitor window itself, not of the sender."""
        self.kept.append(printable(text, SENTENCE_MOST))

    def turn(self, now: float) -> None:
        """Restart the count of the sender's messages if a second has passed since the count began; if
        messages were left out in that second, add a message that states how many.
        """
        if self._since <= now < self._since + 1.0:
            return
        left_out = self._n_heard - N_PER_SECOND
        if left_out > 0:
            self.say(
                f"{left_out} more sentence{'s were' if left_out > 1 else ' was'} left out within one second."
            )
        self._since, self._n_heard = now, 0
