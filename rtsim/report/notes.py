"""Shortens the notes of an analysis or live run: routine notes share one line, notes on the right and left
leg are merged, and notes on missing data come last.

Results and subject files keep every note; `--all-notes` prints all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

ROUTINE = re.compile(
    r"lengths were converted to |up axis: .*, as (the file states|requested by)|positions were rotated from |"
    r"unlabelled trajectories left out |model outputs left out |positions computed by a model, left out "
)
"""Pattern of notes on how a complete file was read."""
MISSING = re.compile(
    r"no (right|left) leg: |no angles of the conventional gait model of the |"
    r"no angles of the (right|left) ankle and foot |"
    r"(conventional gait model: )?no (right|left) leg length is known"
)
"""Pattern of notes on what the results lack, and what would bring it."""
VARYING = re.compile(r"\d+(?:\.\d+)?|\bright\b|\bleft\b|\b[RL](?=[A-Z.])[\w.]+")
"""Pattern of what varies in a sentence on one leg: numbers, sides and labels."""
SIDES = ("right", "left")
FEW = re.compile(
    r"((?:right and left|right|left) leg: )?the (\w+) has two markers \((.*)\), "
    r"which cannot determine its rotation, so the joints alone determine it"
)
"""Pattern of notes on a segment that the joints turn, after both legs were put together."""


def calm(notes: Iterable[str]) -> list[str]:
    """Merge the notes of a run, "FILE: SENTENCE" each, into fewer lines with the same content; notes on
    missing data come last.
    """
    by_file: dict[str, list[str]] = {}
    for note in dict.fromkeys(notes):
        where, _, what = note.partition(": ")
        by_file.setdefault(where, []).append(what)
    said: list[str] = []
    for where, sentences in by_file.items():
        routine = [what for what in sentences if ROUTINE.match(what)]
        others = [what for what in sentences if what not in routine and not MISSING.match(what)]
        if len(routine) > 1:
            routine = [
                f"{len(routine)} notes on units, axes and data that were left out (--all-notes prints them)"
            ]
        said += [f"{where}: {what}" for what in (*routine, *segments_together(legs_together(others)))]
    return [*said, *missing(notes)]


def missing(notes: Iterable[str]) -> list[str]:
    """Return those notes of a run that report missing results; notes on the right and left leg are merged."""
    return legs_together([note for note in dict.fromkeys(notes) if MISSING.match(note.partition(": ")[2])])


def legs_together(sentences: Sequence[str]) -> list[str]:
    """Merge each pair of sentences that differ only in the leg and in numbers into one sentence that states
    the numbers of both legs; the order of the sentences does not change.
    """
    found: dict[str, str] = {}
    for what in sentences:
        pattern = VARYING.sub("#", what)
        other = found.get(pattern)
        both = merged(other, what) if other is not None else ""
        found[pattern if both or other is None else what] = both or what
    return list(found.values())


def merged(one: str, other: str) -> str:
    """Merge two sentences of one pattern on the right and the left leg; return "" if they are not such a
    pair.
    """
    pairs = list(zip(VARYING.findall(one), VARYING.findall(other), strict=True))
    if SIDES not in pairs or any(pair[::-1] == SIDES for pair in pairs):
        return ""
    words = iter(pairs)

    def both(match: re.Match[str]) -> str:
        a, b = next(words)
        return a if a == b else f"{a}/{b}" if match[0][0] in "RL" else f"{a} and {b}"

    return VARYING.sub(both, one)


def segments_together(sentences: Sequence[str]) -> list[str]:
    """Merge the notes on segments that have only two markers into one note for each leg; the order of all
    other notes does not change.
    """
    legs: dict[str, list[str]] = {}
    for what in sentences:
        if match := FEW.fullmatch(what):
            legs.setdefault(match[1] or "", []).append(f"{match[2]} ({match[3]})")
    said: list[str] = []
    for what in sentences:
        match = FEW.fullmatch(what)
        if match is None or len(legs.get(match[1] or "", ())) == 1:
            said.append(what)
        elif segments := legs.pop(match[1] or "", []):
            listed = f"{', '.join(segments[:-1])} and {segments[-1]}"
            said.append(
                f"{match[1] or ''}two markers on {listed} cannot determine the rotations of these segments, "
                "so the joints alone determine them"
            )
    return said
