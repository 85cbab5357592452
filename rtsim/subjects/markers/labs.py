"""Marker maps of laboratories: by name, by file, or recognised from the names of a trial's markers."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cache
from typing import NamedTuple

from rtsim.config.load import load_toml
from rtsim.config.paths import find_config, shipped_names
from rtsim.config.runs.lab_schema import LabMap, LabSide
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import name_some
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.markers.spellings import as_spelled

FOLDER = "labs"
ENOUGH = 0.7  # least fraction of a map's tracked markers in a file for the map to be recognised
SIDES = ("right", "left")


class Coverage(NamedTuple):
    """How many of a map's markers of one side are in a trial."""

    lab: LabMap
    side: str
    n_tracked: int
    missing: tuple[str, ...]

    @property
    def n_found(self) -> int:
        """Number of tracked markers of the map that are in the trial."""
        return self.n_tracked - len(self.missing)

    @property
    def share(self) -> float:
        """Return the fraction of the tracked markers that the trial has [1]."""
        return 1.0 - len(self.missing) / self.n_tracked


def load_lab(name: str) -> LabMap:
    """Load the map of a shipped name, or of a .toml file; ConfigError names file and key of the fault."""
    return load_toml(find_config(name, FOLDER), LabMap)


@cache
def shipped_labs() -> tuple[LabMap, ...]:
    """Return all shipped marker maps. The files are read only once, because maps are also looked up during a
    run, whenever a marker stream begins again.
    """
    return tuple(load_lab(name) for name in shipped_names(FOLDER))


def side_of(lab: LabMap, side: str) -> LabSide:
    """Return the part of a marker map for one side of the body, its markers by role; ConfigError for any
    other word than right or left."""
    if side not in SIDES:
        raise ConfigError(f"{side!r} is not a side of the body", where="side", allowed=", ".join(SIDES))
    table: LabSide = getattr(lab, side)
    return table


def cover(lab: LabMap, side: str, names: Sequence[str]) -> Coverage:
    """Count the tracked markers of one side of a map, and those of them that are among `names`. The markers
    of the pelvis are left out of the count if none of them is found.

    If the back of the pelvis may be marked by PSIS or sacrum, the missing kind does not count as missing.
    """
    table = side_of(as_spelled(lab, names), side)
    tracking = table.tracking
    found = find_markers(tracking.names, names)
    alone = found.keys().isdisjoint(tracking.pelvis)
    spare = tracking.pelvis if alone else spare_backs(table, found)
    tracked = tuple(n for n in tracking.names if n in found or n not in spare)
    return Coverage(lab, side, len(tracked), tuple(name for name in tracked if name not in found))


def spare_backs(table: LabSide, found: Container[str]) -> tuple[str, ...]:
    """Return markers at the back of the pelvis that may be missing because others replace them: in a map with
    both PSIS and sacrum, the sacrum if both PSIS are found, or the PSIS if only the sacrum is found.
    """
    psis = tuple(name for name in (table.psis, table.psis_opposite) if name)
    if not table.sacrum or not psis:
        return ()
    return (table.sacrum,) if all(name in found for name in psis) else psis if table.sacrum in found else ()


def lab_of(name: str, names: Sequence[str]) -> LabMap:
    """Return the map with a name or file, or if none is given the best fitting one, with markers spelled as
    in `names`.
    """
    return as_spelled(load_lab(name) if name else find_lab(names), names)


def find_lab(names: Sequence[str], side: str = "") -> LabMap:
    """Find the shipped map that most of `names` belong to, for the given side or for either.

    A map must have at least 70 % of its tracked markers among the names. Among maps with equally many found
    markers, the one with fewest missing markers is taken, then the one with more landmarks. ConfigError if
    none fits, with the missing markers of the closest map and how to write a new one; and if two maps fit
    equally but use the markers differently.
    """
    sides = (side,) if side else SIDES
    of_all = [cover(lab, s, names) for lab in shipped_labs() for s in sides]
    best = max(of_all, key=lambda c: (c.share, c.n_tracked))
    if best.share < ENOUGH:
        raise ConfigError(
            f"no marker map of the program fits these {len(names)} markers ({name_some(names)}); the nearest "
            f"is {best.lab.name}, {best.side} side; the trial lacks its markers "
            f"{name_some(best.missing)}",
            where="lab",
            remedy="let `rtsim lab new STATIC` propose a map from a static trial, or copy "
            f"configs/{FOLDER}/{best.lab.name}.toml, replace the marker names in it by your own, "
            "and give this file with --lab",
        )
    ranked = [((c.n_found, c.share, n_roles(c, names)), c) for c in of_all if c.share >= ENOUGH]
    highest, first = max(ranked, key=lambda pair: pair[0])
    alike = [c for rank, c in ranked if rank == highest and c.lab.name != first.lab.name]
    other = next((c for c in alike if used(c, names) != used(first, names)), None)
    if other is not None:
        raise ConfigError(
            f"the marker maps {first.lab.name} and {other.lab.name} both fit these {len(names)} "
            "markers, but assign them differently",
            where="lab",
            remedy=f"choose one: --lab {first.lab.name}, --lab {other.lab.name}, or your own map",
        )
    return first.lab


def check_map(lab: LabMap, side: str, names: Sequence[str], where: str) -> None:
    """Raise ConfigError if a map does not fit the markers `names` of a file, but a shipped map does: the map
    then is for another marker set.

    side : right or left, else both are tried; where : the file, for the error
    """
    covered = max(
        (cover(lab, s, names) for s in ((side,) if side in SIDES else SIDES)), key=lambda c: c.share
    )
    if covered.share >= ENOUGH:
        return
    try:
        fits = find_lab(names, side if side in SIDES else "").name
    except ConfigError:
        return
    if fits != lab.name:
        raise ConfigError(
            f"the trial lacks {len(covered.missing)} of {covered.n_tracked} markers of the map "
            f"{lab.name}: {name_some(covered.missing)}", where=where,
            allowed="a map of the markers in the trial", remedy=f"give --lab {fits}, or leave --lab out",
        )  # fmt: skip


def n_roles(covered: Coverage, names: Sequence[str]) -> int:
    """Return the number of landmarks of one side of a map whose marker is among `names`."""
    table = side_of(as_spelled(covered.lab, names), covered.side)
    return len(find_markers(table.named.values(), names))


def used(covered: Coverage, names: Sequence[str]) -> tuple[dict[str, int], list[set[int]]]:
    """Return the part of a marker map that is found in `names`: for each landmark role the index of its
    marker, and for each segment the indices of its markers.
    """
    table = side_of(as_spelled(covered.lab, names), covered.side)
    found = find_markers([*table.named.values(), *table.tracking.names], names)
    roles = {role: found[name] for role, name in table.named.items() if name in found}
    groups = (getattr(table.tracking, segment) for segment in table.tracking.__struct_fields__)
    return roles, [{found[name] for name in group if name in found} for group in groups]
