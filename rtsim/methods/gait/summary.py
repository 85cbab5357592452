"""The gait events of a run (those of its recording and those detected in the results), and its cycles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

from rtsim.errors import ConfigError
from rtsim.files.gait.events import FILE, MARKERS, OFF, PLATES, STRIKE, GaitEvent, ToldEvents, read_events
from rtsim.files.recording import Results
from rtsim.files.tables.legs import SIDES
from rtsim.methods.gait.cycle_curves import straight
from rtsim.methods.gait.cycles import UNITS, GaitCycle, cycles_of, feet_of, moving, spatio_temporal
from rtsim.methods.gait.found_events import SAME_S, found_events, nearest
from rtsim.methods.gait.whole_cycles import whole_cycles

MOST_RECORDED = 2000
"""Events from the file, and found ones, that a recording's descriptor keeps; of more it keeps none, so that
readers find all of them anew instead of the first ones only."""
C3D = ".c3d"


class RunGait(NamedTuple):
    """Gait events and cycles of a run.

    told : events stored in the recording's file
    found : events detected by plates and markers
    used : events that delimit the cycles
    cycles : cycles of both feet
    straight : the cycles that are averaged: those without turns, or all cycles if every cycle has a turn
    values : side -> name -> spatio-temporal value, the mean over the straight cycles
    notes : sentences for the user
    feet : sides of the feet in the results
    """

    told: tuple[GaitEvent, ...]
    found: tuple[GaitEvent, ...]
    used: tuple[GaitEvent, ...]
    cycles: tuple[GaitCycle, ...]
    straight: tuple[GaitCycle, ...]
    values: dict[str, dict[str, float]]
    notes: tuple[str, ...]
    feet: tuple[str, ...] = ()

    @property
    def lacking(self) -> tuple[GaitEvent, ...]:
        """Detected events whose foot and kind, such as right foot off, no event in the file has."""
        known = {(event.side, event.kind) for event in self.told}
        return tuple(event for event in self.found if (event.side, event.kind) not in known)


def gait_of(results: Results, source: str | Path, person: str = "", with_plates: bool = True) -> RunGait:
    """Determine gait events and cycles of a run over a source; only a C3D file stores events.

    Each event is taken from the plate forces if these are usable and show it, else from the file, else from
    the markers. Marker events are left out if the events from plates and file already form cycles, because
    the user chose the strides in the file. If events were stored with the results, they take the place of
    newly detected ones, and of those of a file that cannot be read or is not known.

    source : the recording of the run; person : whose events are read, if it has several persons
    with_plates : whether the plate forces may be used
    """
    told = ToldEvents(recorded_events(results, (FILE,)))
    if Path(source).suffix.lower() == C3D:
        try:
            told = read_events(source, person)
        except ConfigError as error:  # the results may be older than the file, or elsewhere
            if not told.events:
                told = ToldEvents((), (f"the gait events of the recording were not read: {error.what}",))
    found = recorded_events(results) or found_events(results, with_plates)
    used = used_of(told.events, found)
    whole, gaps = whole_cycles(results, cycles_of(used))
    cycles, still = moving(results, whole)
    kept, turns = straight(results, cycles)
    return RunGait(
        told=told.events,
        found=found,
        used=used,
        cycles=tuple(cycles),
        straight=tuple(kept),
        values=spatio_temporal(kept, results),
        notes=(*told.notes, *(note for note in (gaps, still, turns) if note)),
        feet=tuple(feet_of(results)),
    )


def used_of(told: Sequence[GaitEvent], found: Sequence[GaitEvent]) -> tuple[GaitEvent, ...]:
    """Choose the events that delimit cycles, in the order of time: all plate events, then the events stored
    in the file that no plate shows; marker events are added only if these do not form cycles already.

    told : events stored in the file; found : events detected by plates and markers
    """
    plates = [event for event in found if event.by == PLATES]
    used = [*plates, *(event for event in told if nearest(event, plates, SAME_S) is None)]
    if not (told and cycles_of(used)):
        used += [e for e in found if e.by == MARKERS and nearest(e, used, SAME_S) is None]
    return tuple(sorted(used, key=lambda event: event.time))


def source_words(gait: RunGait) -> str:
    """Describe the source of the foot strikes and foot offs that delimit the cycles."""
    names = {PLATES: "plates", FILE: "the file", MARKERS: "markers"}
    parts = []
    for kind, words in ((STRIKE, "foot strikes"), (OFF, "foot offs")):
        n = {by: sum((e.kind, e.by) == (kind, by) for e in gait.used) for by in names}
        told = [f"{n[by]} from {name}" for by, name in names.items() if n[by]]
        parts.append(f"{words}: {', '.join(told) or 'none'}")
    return "; ".join(parts)


def without_stride(gait: RunGait) -> str:
    """Return a sentence on why no foot has a complete stride; "" if a foot has one, or if the results contain
    no feet."""
    if gait.cycles or not gait.feet:
        return ""
    n = {side: sum((e.side, e.kind) == (side, STRIKE) for e in gait.used) for side in gait.feet}
    why = (
        "the gait events contain no two strikes of the same foot, which would make a stride"
        if max(n.values()) > 1
        else "no foot is seen to strike the ground twice in succession"
    )
    strikes = ", ".join(f"{side} {count}" for side, count in n.items())
    return f"no full stride was found: {why} (foot strikes: {strikes})"


def offsets_ms(found: Sequence[GaitEvent], told: Sequence[GaitEvent]) -> dict[str, dict[str, float]]:
    """Compare detected events with those stored in the file, separately by kind and source of the detected
    events.

    Returns the number of detected events with a stored one nearby, and mean and standard deviation of
    detected minus stored times [ms].
    """
    rows: dict[str, list[float]] = {}
    for event in found:
        match = nearest(event, told, SAME_S)
        if match is not None:
            rows.setdefault(f"{event.kind}, {event.by}", []).append(1e3 * (event.time - match.time))
    return {
        name: {"n": len(off), "mean": sum(off) / len(off), "sd": _deviation(off)}
        for name, off in rows.items()
    }


def _deviation(numbers: Sequence[float]) -> float:
    """Return the standard deviation (over n, not n - 1) of the differences between detected and stored event
    times; 0 for a single one.
    """
    mean = sum(numbers) / len(numbers)
    return math.sqrt(sum((x - mean) ** 2 for x in numbers) / len(numbers))


def as_figures(gait: RunGait) -> dict[str, Any]:
    """Return the events, cycles and spatio-temporal values of a run as nested dictionaries and lists for a
    JSON file.
    """
    return {
        "events": [
            {"time": e.time, "side": e.side, "kind": e.kind or e.label, "by": e.by}
            for e in sorted((*gait.told, *gait.found), key=lambda event: event.time)
        ],
        "found_less_file_ms": offsets_ms(gait.found, gait.told),
        "cycles": [cycle._asdict() | {"averaged": cycle in gait.straight} for cycle in gait.cycles],
        "cycles_by": source_words(gait) if gait.cycles else "",
        "without_stride": without_stride(gait),
        "spatio_temporal": {
            side: {f"{name} [{UNITS[name]}]": value for name, value in values.items()}
            for side, values in gait.values.items()
        },
    }


def in_sentences(gait: RunGait) -> list[str]:
    """Return sentences for the user that describe the gait of a run. The list is empty if there are neither
    gait events nor feet in the results.
    """
    lacks = without_stride(gait)
    if not (gait.told or gait.found):
        return [lacks] if lacks else []
    n = {by: sum(event.by == by for event in gait.found) for by in (PLATES, MARKERS)}
    said = [
        "gait events: "
        + (f"{len(gait.told)} in the file; " if gait.told else "")
        + f"{n[PLATES]} found from force plates, {n[MARKERS]} from markers"
    ]
    for kind in (STRIKE, OFF):
        rows = {
            k.partition(", ")[2]: v
            for k, v in offsets_ms(gait.found, gait.told).items()
            if k.startswith(kind)
        }
        words = ", ".join(
            f"from {by} {v['mean']:+.0f} ms (SD {v['sd']:.0f}, n {v['n']})" for by, v in rows.items()
        )
        if words:
            said.append(f"{kind}, time found minus time marked in the file: {words}")
    for side, values in gait.values.items():
        n_cycle = sum(cycle.side == side for cycle in gait.straight)
        few = ", ".join(
            f"{name.lower()} {values[name]:.3g} {UNITS[name]}"
            for name in ("Cadence", "Walking Speed", "Stride Length", "Step Length", "Foot Off")
            if name in values
        )
        said.append(f"{side} leg: {n_cycle} cycle{'s' * (n_cycle != 1)}: {few}")
    return [*said, lacks] if lacks else [*said, f"gait events of these cycles: {source_words(gait)}"]


def recorded_with(results: Results, gait: RunGait) -> Results:
    """Return the results with the gait events in their descriptor, as `gait_events`: rows of time [s], side,
    kind and source.
    """
    rows = [
        [e.time, e.side, e.kind or e.label, e.by]
        for events in (gait.told, gait.found)
        if len(events) <= MOST_RECORDED
        for e in events
    ]
    if not rows:
        return results
    meta = {**results.session.meta, "gait_events": sorted(rows)}
    return results._replace(session=structs.replace(results.session, meta=meta))


def recorded_events(results: Results, by: Sequence[str] = (PLATES, MARKERS)) -> tuple[GaitEvent, ...]:
    """Read the gait events that were stored in the descriptor of results; () where it has no readable ones.

    by : sources of the events to be read, such as plates and markers
    """
    rows = results.session.meta.get("gait_events")
    found = []
    for row in rows if isinstance(rows, (list, tuple)) else ():
        if not (isinstance(row, (list, tuple)) and len(row) == 4):
            return ()
        time, side, kind, source = row
        if (
            not isinstance(time, (int, float))
            or not math.isfinite(time)
            or source not in (FILE, PLATES, MARKERS)
        ):
            return ()
        if source in by and side in SIDES and kind in (STRIKE, OFF):
            found.append(GaitEvent(float(time), side, kind, kind, source))
    return tuple(found)
