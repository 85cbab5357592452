"""Gait events and spatio-temporal values in a C3D file: groups EVENT, EVENT_CONTEXT and ANALYSIS."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from rtsim.files.c3d_bytes.lists import shortened_bytes
from rtsim.files.c3d_bytes.section import (
    BYTE,
    INTEGER,
    MOST_ENTRIES,
    REAL,
    C3dParameter,
    Section,
    decoded,
)  # fmt: skip
from rtsim.files.c3d_bytes.words import Words
from rtsim.files.gait.events import OFF, STRIKE, GaitEvent
from rtsim.files.markers.trial import count_of

CONTEXTS = {"right": "Right", "left": "Left", "": "General"}
LABELS = {STRIKE: "Foot Strike", OFF: "Foot Off"}
ICONS = {STRIKE: 1, OFF: 2, "": 0}
CONTEXT_TEXTS = {"General": "For other events", "Left": "Left side", "Right": "Right side"}
COLOURS = ((255, 255, 0), (164, 0, 255), (0, 0, 0))
"""Colours of the three contexts, one row of red, green and blue each, as these programs write them."""
LONGEST_TEXT = 64
SECONDS_A_MINUTE = 60.0


class AnalysisValue(NamedTuple):
    """A spatio-temporal value of the gait, such as cadence or step length.

    side : right, left, or "" for a value without a side
    unit : name of the unit, as written to the file
    """

    name: str
    side: str
    unit: str
    value: float
    description: str = ""


def put_events(section: Section, events: Sequence[GaitEvent], subject: str, shift: float = 0.0) -> list[str]:
    """Append gait events to those of the file; return notes for the user, also on events that could not be
    added.

    subject : name of the person, as in the group SUBJECTS
    shift : time that is added to the file's own events, as they count from its first frame [s]
    """
    if not events:
        return []
    before = section.parameter("EVENT", "TIMES")
    n_used = int(section.number("EVENT", "USED") or 0)
    if n_used and (
        before is None or before.kind != REAL or before.sizes[:1] != (2,) or before.sizes[1] < n_used
    ):
        return ["EVENT:TIMES contains fewer times than EVENT:USED states, so no event was added"]
    room = MOST_ENTRIES - n_used
    notes = []
    if len(events) > room:
        notes.append(
            f"{count_of(len(events) - room, 'gait event')} could not be added, because a C3D file "
            f"holds at most {MOST_ENTRIES} events"
        )
    new = list(events)[:room]
    words = section.words
    old_times = before.data[: 8 * n_used] if before is not None else b""
    if shift and n_used:
        old = words.floats(old_times).astype(float).reshape(-1, 2)
        old_times = _minutes_and_seconds(words, (SECONDS_A_MINUTE * old[:, 0] + old[:, 1] + shift).tolist())
        notes.append(
            f"the times of the {count_of(n_used, 'gait event')} of the file count from its first frame, and "
            f"{shift:.3f} s were added to them, so that all events have one clock"
        )
    times = _minutes_and_seconds(words, [e.time for e in new])
    n_event = n_used + len(new)
    section.put("EVENT", "TIMES", C3dParameter(REAL, (2, n_event), old_times + times))
    for name, texts in (
        ("CONTEXTS", [CONTEXTS[e.side] for e in new]),
        ("LABELS", [LABELS.get(e.kind, e.label or "Event") for e in new]),
        ("DESCRIPTIONS", [f"found by rtsim from {e.by}" for e in new]),
        ("SUBJECTS", [subject] * len(new)),
    ):
        _more_texts(section, "EVENT", name, n_used, texts)
    _more_numbers(section, "EVENT", "ICON_IDS", n_used, [ICONS[e.kind] for e in new], INTEGER)
    _more_numbers(section, "EVENT", "GENERIC_FLAGS", n_used, [0] * len(new), BYTE)
    section.put_number("EVENT", "USED", n_event)
    _put_contexts(section)
    return notes


def _minutes_and_seconds(words: Words, times: Sequence[float]) -> bytes:
    """Return times [s] as the numbers of EVENT:TIMES: minutes and seconds of each."""
    return b"".join(words.from_floats((t // SECONDS_A_MINUTE, t % SECONDS_A_MINUTE)) for t in times)


def put_analysis(section: Section, values: Sequence[AnalysisValue], subject: str) -> list[str]:
    """Append values to the group ANALYSIS; return notes on values that could not be added.

    subject : name of the person, as in the group SUBJECTS

    A value is not added if the file already contains one of this name and side, unless the file has several
    persons and states that its value is that of another person.
    """
    n_used = int(section.number("ANALYSIS", "USED") or 0)
    stored = section.parameter("ANALYSIS", "VALUES")
    if n_used and (stored is None or stored.kind != REAL or len(stored.data) < 4 * n_used):
        return [
            "ANALYSIS:VALUES contains fewer real numbers than ANALYSIS:USED states, so no value was added"
        ]
    keys = ("NAMES", "CONTEXTS", "SUBJECTS")
    names, contexts, of = (section.texts("ANALYSIS", key)[:n_used] for key in keys)
    persons = {name for name in section.texts("SUBJECTS", "NAMES") if name}
    short = decoded(shortened_bytes(subject.encode("utf-8"), LONGEST_TEXT)).casefold()
    there = {(name, context) for name, context, whose in zip_longest(names, contexts, of, fillvalue="")
             if len(persons) < 2 or not whose or whose.casefold() == short}  # fmt: skip
    new = [v for v in values if (v.name, CONTEXTS[v.side]) not in there][: MOST_ENTRIES - n_used]
    notes = []
    if len(new) < len(values):
        notes.append(
            f"{count_of(len(values) - len(new), 'spatio-temporal value')} not added, because the file "
            "already contains the value or has no room for more"
        )
    if not new:
        return notes
    old = stored.data[: 4 * n_used] if stored is not None else b""
    data = old + section.words.from_floats([v.value for v in new])
    section.put("ANALYSIS", "VALUES", C3dParameter(REAL, (n_used + len(new),), data))
    for name, texts in (
        ("NAMES", [v.name for v in new]),
        ("CONTEXTS", [CONTEXTS[v.side] for v in new]),
        ("UNITS", [v.unit for v in new]),
        ("DESCRIPTIONS", [v.description or "by rtsim" for v in new]),
        ("SUBJECTS", [subject] * len(new)),
    ):
        _more_texts(section, "ANALYSIS", name, n_used, texts)
    section.put_number("ANALYSIS", "USED", n_used + len(new))
    return notes


def _more_texts(section: Section, group: str, name: str, n_before: int, texts: Sequence[str]) -> None:
    """Replace the entries of the text parameter `group`:`name` after its first n_before entries by `texts`;
    if it has fewer entries, it is padded with empty texts first.
    """
    said = section.raw_texts(group, name)[:n_before]
    new = [shortened_bytes(text.encode("utf-8"), LONGEST_TEXT) for text in texts]
    section.put_raw_texts(group, name, [*said, *[b""] * (n_before - len(said)), *new])


def _more_numbers(
    section: Section, group: str, name: str, n_before: int, numbers: Sequence[int], kind: int
) -> None:
    """Replace the entries of the parameter `group`:`name` after its first n_before entries by `numbers`; if
    it has fewer entries, it is padded with zeros first.

    kind : type of a new parameter, 1 byte or 2 integer; an existing one keeps its type
    """
    found = section.parameter(group, name)
    kind = found.kind if found is not None and found.kind in (BYTE, INTEGER) else kind
    raw = (found.data if found is not None and found.kind == kind else b"")[: kind * n_before]
    new = bytes(numbers) if kind == BYTE else section.words.from_integers(numbers)
    section.put(
        group, name, C3dParameter(kind, (n_before + len(numbers),), raw.ljust(kind * n_before, b"\0") + new)
    )


def _put_contexts(section: Section) -> None:
    """Add the event contexts General, Left and Right if the file has none."""
    if section.parameter("EVENT_CONTEXT", "LABELS") is not None:
        return
    words = section.words
    section.put_number("EVENT_CONTEXT", "USED", len(CONTEXT_TEXTS))
    section.put("EVENT_CONTEXT", "ICON_IDS", C3dParameter(INTEGER, (3,), words.from_integers([0, 1, 2])))
    section.put_texts("EVENT_CONTEXT", "LABELS", list(CONTEXT_TEXTS))
    section.put_texts("EVENT_CONTEXT", "DESCRIPTIONS", list(CONTEXT_TEXTS.values()))
    colours = words.from_integers([part for row in COLOURS for part in row])
    section.put("EVENT_CONTEXT", "COLOURS", C3dParameter(INTEGER, (3, 3), colours))


def put_units(section: Section, units: dict[str, str]) -> None:
    """Write units into the group POINT, but none that the file already states.

    units : name of a parameter of the group, such as ANGLE_UNITS -> the unit
    """
    for name, unit in units.items():
        if not next(iter(section.texts("POINT", name)), ""):
            section.put_texts("POINT", name, [unit])


def subject_of(section: Section, person: str) -> str:
    """Return the name of a person as the group SUBJECTS spells it, in whatever case; if the person is not
    there, the name of the file's only subject; else `person` itself.
    """
    names = [name for name in section.texts("SUBJECTS", "NAMES") if name]
    alike = [name for name in names if name.casefold() == person.casefold()]
    return alike[0] if alike else names[0] if len(names) == 1 else person
