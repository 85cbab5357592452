"""Marker maps of laboratories: by name, by file, or found by the names of a trial's markers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from rtsim.config.lab_schema import Lab, LabSide
from rtsim.config.load import load_toml
from rtsim.config.paths import find_config, shipped_names
from rtsim.errors import ConfigError
from rtsim.files.trial import name_some
from rtsim.subjects.marker_names import find_markers

FOLDER = "labs"
ENOUGH = 0.7  # share of a map's tracked markers that must be there before it is taken unasked
SIDES = ("right", "left")


class Coverage(NamedTuple):
    """How well a trial's markers cover one side of a map."""

    lab: Lab
    side: str
    n_tracked: int
    missing: tuple[str, ...]

    @property
    def share(self) -> float:
        """Share of the tracked markers that are there [1]."""
        return 1.0 - len(self.missing) / self.n_tracked


def load_lab(name: str) -> Lab:
    """The map of a shipped name, or of a .toml file; ConfigError names file and key of what is wrong."""
    return load_toml(find_config(name, FOLDER), Lab)


@cache
def shipped_labs() -> tuple[Lab, ...]:
    """All shipped maps, read once: sessions of a stream may begin in the midst of frames."""
    return tuple(load_lab(name) for name in shipped_names(FOLDER))


def side_of(lab: Lab, side: str) -> LabSide:
    """The table of one side; ConfigError for another word than right or left."""
    if side not in SIDES:
        raise ConfigError(f"{side!r} is no side", where="side", allowed=", ".join(SIDES))
    table: LabSide = getattr(lab, side)
    return table


def cover(lab: Lab, side: str, names: Sequence[str]) -> Coverage:
    """How well `names` cover the tracked markers of one side; those of the pelvis count if one is there."""
    tracking = side_of(lab, side).tracking
    found = find_markers(tracking.names, names)
    alone = found.keys().isdisjoint(tracking.pelvis)
    tracked = tuple(n for n in tracking.names if not (alone and n in tracking.pelvis))
    return Coverage(lab, side, len(tracked), tuple(name for name in tracked if name not in found))


def find_lab(names: Sequence[str], side: str = "") -> Lab:
    """The shipped map whose tracked markers are best covered by `names`, of the given side or of either.

    Among maps that are covered alike the larger one is taken. ConfigError when none is covered to 70 %: it
    lists what the nearest one misses, and how to write one's own.
    """
    sides = (side,) if side else SIDES
    of_all = (cover(lab, s, names) for lab in shipped_labs() for s in sides)
    best = max(of_all, key=lambda c: (c.share, c.n_tracked))
    if best.share < ENOUGH:
        raise ConfigError(
            f"no shipped marker map fits these {len(names)} markers ({name_some(names)}); the nearest is "
            f"{best.lab.name}, {best.side} side, which lacks {name_some(best.missing)}",
            where="lab",
            remedy=f"copy configs/{FOLDER}/{best.lab.name}.toml, put in your own marker names and give the "
            "file as the lab",
        )
    return best.lab
