"""Events that a user marks by command during a run; they are published and so stored in recordings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from rtsim.files.gait.marks import LONGEST_LABEL, MARK, mark_of
from rtsim.stages.stage import StageCommand
from streams.account import plain
from streams.messages import AnyMessage, Command, Result

MOST_WAITING = 64
"""Largest number of marks between two frames; of more, only the newest are used."""
UNNAMED = "event"


class Marks:
    """The command `mark`, by which a user marks an event: its answer, and the message that it publishes.

    newest : function that returns the result that was published last, None before the first
    send : function that publishes a message
    """

    def __init__(self, newest: Callable[[], Result | None], send: Callable[[AnyMessage], object]) -> None:
        self._newest, self._send, self._count = newest, send, count()
        self.order = StageCommand(self._answer, self._obey, takes=("time", "label"))

    def kind(self) -> str:
        """Return a key for a `mark` command. The mailbox of the loop keeps one command per key, so marks get
        different keys, and none replaces another.
        """
        return f"{MARK} {next(self._count) % MOST_WAITING}"

    def _answer(self, args: Mapping[str, Any]) -> tuple[bool, str]:
        newest = self._newest()
        if newest is None:
            return False, "No frame has been published yet that could be marked."
        label, time = str(args.get("label", UNNAMED)), _time(args, newest)
        if mark_of({"time": time, "label": label}) is None:
            return False, (
                f"mark takes time [s] of the trial, by default that of the newest frame, and label, 1 to "
                f"{LONGEST_LABEL} characters."
            )
        return True, f"Marked {plain(label)} at {time:.3f} s."

    def _obey(self, args: Mapping[str, Any]) -> bool:
        newest = self._newest()
        if newest is not None:
            told = {"time": _time(args, newest), "label": str(args.get("label", UNNAMED))}
            self._send(Command(session=newest.session, name=MARK, args=told))
        return False


def _time(args: Mapping[str, Any], newest: Result) -> float:
    """Return the time of a mark [s]: the argument `time` of the command, by default the time of the newest
    published result. NaN if the argument is neither a number nor the text of one.
    """
    try:
        return float(args.get("time", newest.time))
    except (TypeError, ValueError, OverflowError):
        return math.nan
