"""Adaptation of a marker map to the marker names of a recording, if laboratories name the same marker
differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from rtsim.config.runs.lab_schema import LabMap, LabSide, names_of
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.markers.marker_names import find_markers


def as_spelled(lab: LabMap, *recordings: Sequence[str]) -> LabMap:
    """Return the map with markers spelled as in the recordings.

    recordings : marker names of each recording; spellings in the first recording have priority. Among
        several spellings the first in the map's list is used. A name that the map already uses is not taken
        for another marker.
    """
    other = spelled_otherwise(lab, *recordings)
    if not other:
        return lab
    return msgspec.structs.replace(
        lab, right=renamed(lab.right, other), left=renamed(lab.left, other), spellings={}
    )


def spelled_otherwise(lab: LabMap, *recordings: Sequence[str]) -> dict[str, str]:
    """Return the name in the recordings for each marker of the map with a different name there."""
    if not lab.spellings:
        return {}
    own = [*dict.fromkeys(all_names(lab))]
    more = [name for others in lab.spellings.values() for name in others]
    settled: dict[str, str] = {}
    for names in recordings:
        found = find_markers([*own, *more], names)
        taken = {found[name] for name in own if name in found}
        for marker, others in lab.spellings.items():
            hit = next((name for name in others if name in found and found[name] not in taken), None)
            if marker in settled:
                continue
            if marker in found:
                settled[marker] = marker
            elif hit is not None:
                settled[marker] = hit
                taken.add(found[hit])
    return {marker: name for marker, name in settled.items() if name != marker}


def renamed(table: LabSide, other: Mapping[str, str]) -> LabSide:
    """Return a table of a marker map with the names in `other` (old -> new) replaced."""

    def each(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(other.get(name, name) for name in names)

    tracking = table.tracking
    trunk = table.trunk
    if trunk is not None:
        shoulders = each((trunk.shoulder, trunk.shoulder_opposite))
        trunk = msgspec.structs.replace(
            trunk, shoulder=shoulders[0], shoulder_opposite=shoulders[1], tracking=each(trunk.tracking)
        )
    return msgspec.structs.replace(
        table,
        tracking=msgspec.structs.replace(
            tracking, **{segment: each(getattr(tracking, segment)) for segment in tracking.__struct_fields__}
        ),
        trunk=trunk,
        **{role: other.get(name, name) for role, name in table.named.items()},
    )


def with_names_of(trial: MarkerTrial, lab: LabMap, spelled: LabMap) -> MarkerTrial:
    """Rename the markers of one trial to the names that another trial of the person uses, as a static trial
    and a walking trial may be labelled by different operators.

    lab : marker map with the spellings that laboratories use for each marker
    spelled : the same map with the names of the other trial
    """
    other: dict[int, str] = {}
    for marker, name in dict(zip(all_names(lab), all_names(spelled), strict=True)).items():
        alike = [marker, *lab.spellings.get(marker, ())]
        if len(alike) > 1 and not find_markers([name], trial.names):
            row = next(iter(find_markers(alike, trial.names).values()), None)
            if row is not None:
                other[row] = name
    if not other:
        return trial
    return trial._replace(names=tuple(other.get(k, name) for k, name in enumerate(trial.names)))


def all_names(lab: LabMap) -> tuple[str, ...]:
    """Return the name of every marker of a map, in the order of its tables; a marker that is named for
    several landmarks is repeated.
    """
    return (*names_of(lab.right), *names_of(lab.left))
