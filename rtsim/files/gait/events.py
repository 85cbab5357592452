"""Gait events: their record, and those stored in a C3D file, in the group EVENT or in the header."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rtsim.files.c3d_bytes.processor import read_all
from rtsim.files.c3d_bytes.section import HEAD, decoded
from rtsim.files.c3d_bytes.words import MIPS, Words
from rtsim.files.markers.c3d import whole_content
from rtsim.files.markers.c3d_check import BLOCK
from rtsim.files.markers.c3d_process import Content
from rtsim.files.markers.trial import count_of, name_some

STRIKE, OFF = "foot strike", "foot off"
FILE, PLATES, MARKERS = "file", "plates", "markers"
"""Origins of an event."""
MOST_IN_HEADER = 18
AT_COUNT, AT_TIMES, AT_LABELS = 300, 304, 396
"""Bytes of the header (c3d.org: words 151, 153 and 199) with the number of events, their times, and their
labels of four letters.
"""
LATEST_S = 1e7
SAME_S = 0.006
"""Largest difference of the times of one event in the header and in the group EVENT, both rounded [s]."""
STRIKES = re.compile(
    r"(foot|heel|initial)[ _-]?(strike|contact|down|on)|[lr]?(hs|fs|ic|fc|fd)", re.IGNORECASE
)
OFFS = re.compile(r"(foot|toe)[ _-]?(off|up)|[lr]?(to|fo)", re.IGNORECASE)
SIDED = re.compile(
    r"(?P<side>left|right|l|r)(?:[ _-]+(?P<rest>.*)|(?P<code>hs|fs|ic|fc|fd|to|fo))", re.IGNORECASE
)
SIDES = {"l": "left", "r": "right"}


class GaitEvent(NamedTuple):
    """A gait event: a foot strike, a foot off, or another event marked by a person.

    time : time on the clock of the trial [s]
    side : right, left, or "" for an event without a side
    kind : "foot strike", "foot off", or "" for another
    label : label in its source
    by : origin of the event: "file", detected from "plates" or "markers", or "marked" by a user during a run
    subject : the person, if a file states it
    """

    time: float
    side: str
    kind: str
    label: str
    by: str
    subject: str = ""


class ToldEvents(NamedTuple):
    """The gait events of a file in the order of time, and notes on irregular events.

    shift : time that was added to the times in the file, as they count from its first frame [s]
    of_header : those of the events that stand in the file's header only
    """

    events: tuple[GaitEvent, ...]
    notes: tuple[str, ...] = ()
    shift: float = 0.0
    of_header: tuple[GaitEvent, ...] = ()


def read_events(path: str | Path, person: str = "") -> ToldEvents:
    """Read the gait events in a C3D file, of one person if it has several; ConfigError if it is not a C3D
    file.

    Times are those in the file, counted from the first sample of the capture, like those of the trial.
    """
    path = Path(path)
    content, _ = whole_content(path)
    return events_of(content, read_all(path), person)


def events_of(content: Content, data: bytes, person: str = "") -> ToldEvents:
    """Return the gait events of a C3D file that was read; data : its bytes. See `read_events`.

    The header states no persons and keeps events that were moved or removed later. So it counts only for
    those sides and kinds of events of which the group EVENT has none, of whatever person.
    """
    n_frame = len(content.points)
    span = (content.first / content.rate, (content.first + n_frame - 1) / content.rate)
    own, others, notes = of_groups(content.parameters, person)
    kinds = {(event.side, event.kind) for event in (*own, *others)}
    head = header_events(data)
    differing = [
        event for event in head if (event.side, event.kind) in kinds and not _is_among(event, own + others)
    ]
    if differing:
        notes.append(
            f"{count_of(len(differing), 'gait event')} in the header left out, because the group EVENT has "
            "events of this side and kind, but at other times"
        )
    told = settled([*own, *(e for e in head if (e.side, e.kind) not in kinds)], span, notes)
    return told._replace(of_header=tuple(e for e in told.events if (e.side, e.kind) not in kinds))


def _is_among(event: GaitEvent, others: Sequence[GaitEvent]) -> bool:
    """Return whether an event is one of others, whose times may be rounded otherwise."""
    return any(
        (event.side, event.kind) == (other.side, other.kind) and abs(event.time - other.time) <= SAME_S
        for other in others
    )


def of_groups(
    parameters: Mapping[str, Mapping[str, Sequence[Any]]], person: str = ""
) -> tuple[list[GaitEvent], list[GaitEvent], list[str]]:
    """Return the gait events in the group EVENT of a C3D file, those of other persons than `person` in a file
    with several persons, which are left out, and notes for the user.
    """
    group = parameters.get("EVENT", {})
    times = [x for x in group.get("TIMES", ()) if not isinstance(x, str)]
    n_told = len(times) // 2
    counts = (x for x in group.get("USED", ()) if not isinstance(x, str) and math.isfinite(x))
    used = next((int(x) for x in counts), n_told)
    columns = {
        name: [str(x).strip() for x in group.get(name, ())] for name in ("LABELS", "CONTEXTS", "SUBJECTS")
    }
    notes = (
        [] if used == n_told else [f"EVENT:USED states {used} gait events, but EVENT:TIMES contains {n_told}"]
    )
    names = {str(x).strip().casefold() for x in parameters.get("SUBJECTS", {}).get("NAMES", ())} - {""}
    stated = {subject.casefold() for subject in columns["SUBJECTS"]} - {""}
    several = len(names) > 1 or (len(stated) > 1 and person.casefold() in stated)
    found: list[GaitEvent] = []
    others: list[GaitEvent] = []
    for k in range(min(max(used, 0), n_told)):
        label, context, subject = (values[k] if k < len(values) else "" for values in columns.values())
        event = event_of(60.0 * times[2 * k] + times[2 * k + 1], label, context, subject)
        elsewhere = person and subject and several and subject.casefold() != person.casefold()
        (others if elsewhere else found).append(event)
    if others:
        whose = name_some(sorted({event.subject for event in others}))
        notes.append(f"{count_of(len(others), 'gait event')} of other persons ({whose}) left out")
    return found, others, notes


def event_of(time: float, label: str, context: str = "", subject: str = "") -> GaitEvent:
    """Parse an event from its label and context; the label gives the side if the context does not."""
    side = SIDES.get(context.strip()[:1].lower(), "")
    rest = label.strip()
    match = SIDED.fullmatch(rest)
    if match:
        side = side or SIDES[match["side"][0].lower()]
        rest = match["rest"] or match["code"]
    kind = STRIKE if STRIKES.fullmatch(rest.strip()) else OFF if OFFS.fullmatch(rest.strip()) else ""
    return GaitEvent(time=time, side=side, kind=kind, label=label.strip(), by=FILE, subject=subject)


def header_events(data: bytes) -> list[GaitEvent]:
    """Return the events in the header of a C3D file, at most 18; [] if it has no readable ones."""
    section = BLOCK * (data[0] - 1)
    if len(data) < section + HEAD:
        return []
    words = Words(data[section + 3])
    (n,) = struct.unpack_from(">H" if words.code == MIPS else "<H", data, AT_COUNT)
    if not 0 < n <= MOST_IN_HEADER:
        return []
    times = words.floats(data[AT_TIMES : AT_TIMES + 4 * n]).tolist()
    labels = [decoded(data[AT_LABELS + 4 * k : AT_LABELS + 4 * k + 4]).strip() for k in range(n)]
    return [
        event_of(time, label)
        for time, label in zip(times, labels, strict=True)
        if label and label.isprintable()
    ]


def settled(events: Sequence[GaitEvent], span: tuple[float, float], notes: Sequence[str] = ()) -> ToldEvents:
    """Return events sorted by time, without those whose time is not finite or far too large, together with
    `notes` and further notes on these changes.

    span : first and last time of the trial [s]. If all events are earlier than the first frame, their times
        are taken as counted from that frame, provided that they then lie within the trial
    """
    said, shift = list(notes), 0.0
    sound = [event for event in events if math.isfinite(event.time) and abs(event.time) <= LATEST_S]
    if len(sound) < len(events):
        said.append(f"{count_of(len(events) - len(sound), 'gait event')} at impossible times left out")
    first, last = span
    if (
        sound
        and first > 0.0
        and all(-1e-3 <= e.time < first and e.time <= last - first + 1e-3 for e in sound)
    ):
        said.append(
            f"all gait events are earlier than the first frame, whose time is {first:.3f} s, so their times "
            "were taken as counted from that frame"
        )
        shift = first
        sound = [event._replace(time=event.time + shift) for event in sound]
    outside = sum(not first - 1e-3 <= event.time <= last + 1e-3 for event in sound)
    if outside:
        said.append(
            f"number of gait events outside the time of the file ({first:.2f} to {last:.2f} s): {outside}"
        )
    return ToldEvents(tuple(sorted(sound, key=lambda event: event.time)), tuple(said), shift)
