"""Events that a user marked during a run, as stored among the messages of its results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from rtsim.files.gait.events import LATEST_S, GaitEvent
from streams.account import plain
from streams.messages import Command

MARK = "mark"
"""Name of the command that marks an event, which is also stored among the results."""
MARKED = "marked"
"""Origin of an event that a user marked."""
LONGEST_LABEL = 64
MOST_MARKS = 10_000


def mark_of(args: Mapping[str, Any]) -> GaitEvent | None:
    """Return the event that a user marked, from the arguments of the command that marks it; None if these are
    invalid.
    """
    time, label = args.get("time"), args.get("label")
    if isinstance(time, bool) or not isinstance(time, (int, float)) or not isinstance(label, str):
        return None
    if not (math.isfinite(time) and abs(time) <= LATEST_S and 0 < len(label.strip()) <= LONGEST_LABEL):
        return None
    return GaitEvent(float(time), "", "", plain(label.strip()), MARKED)


def marks_of(commands: Iterable[tuple[Command, int]], session: str) -> list[tuple[GaitEvent, int]]:
    """Return the marked events among commands of the results session with the id `session`, in the order in
    which they were made; at most 10 000.

    commands : each command with the number (seq) of the newest frame of its session when it came, which is
        returned with the event
    """
    found = [
        (mark_of(command.args), number)
        for command, number in commands
        if (command.name, command.session) == (MARK, session)
    ]
    return [(mark, number) for mark, number in found[:MOST_MARKS] if mark is not None]
