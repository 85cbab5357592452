"""Interpretation of marker names: on which landmark ("role"), side and segment a marker may be, from the
spellings in all shipped marker maps and from words in the name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from rtsim.config.runs.lab_schema import LabMap, LabSide
from rtsim.files.markers.landmarks import plain_name
from rtsim.subjects.lab_proposal.name_words import (
    ARMS_AND_HEAD,
    COMPUTED,
    is_elsewhere,
    roles_in,
    segment_in,
    side_in,
    words_of,
)
from rtsim.subjects.markers.labs import shipped_labs

ELSEWHERE, TRUNK, SHOULDER = "trunk, arms or head", "trunk", "shoulder"
FOLLOWED_SHOULDER = "shoulder and trunk"
"""A shoulder marker that marker maps also track with the trunk."""
COMPUTED_POINT = "a computed point"
OFF_LEGS = (ELSEWHERE, TRUNK, SHOULDER, FOLLOWED_SHOULDER, COMPUTED_POINT)
OPPOSITE = "_opposite"
BEGINNINGS = {"r": "right", "l": "left"}


class NameReading(NamedTuple):
    """Interpretation of a marker's name.

    roles : landmarks on which it may be ("roles", such as "epicondyle_lateral"); side : right, left or "" =
        not stated
    segment : segment of the leg, or the pelvis, on which the marker is, by the shipped marker maps or by
        words in its name; "" = not known. For other markers it is one of these:
        TRUNK : shipped maps track a marker of that name as one of the trunk
        SHOULDER : on a shoulder; shipped maps use it only for the axes of the trunk
        FOLLOWED_SHOULDER : on a shoulder; shipped maps use it for these axes and track it with the trunk
        ELSEWHERE : in no shipped map, but a word in the name means a part of trunk, arms or head
        COMPUTED_POINT : not a marker, but a point that a program computed, such as a joint centre
    """

    roles: frozenset[str] = frozenset()
    side: str = ""
    segment: str = ""

    @property
    def says_nothing(self) -> bool:
        """Return whether the name of a marker shows neither the landmark nor the segment on which it is."""
        return not self.roles and not self.segment


class Stem(NamedTuple):
    """What a marker name without the prefix or letter for the side means in the marker maps that are part of
    rtsim: roles (landmarks, such as "calcaneus"), and segments on which the marker is tracked.
    """

    roles: frozenset[str] = frozenset()
    segments: frozenset[str] = frozenset()


def read_name(name: str) -> NameReading:
    """Interpret the name of a marker: the landmarks on which it may be, the side, and the segment."""
    words = words_of(name)
    if COMPUTED.search(name):
        return NameReading(segment=COMPUTED_POINT)
    found = set(by_spellings(name, words))
    if len(found) == 1:
        return found.pop()
    if found:  # of several sides or roles: where all agree on a side, it may be any of the roles
        sides = {reading.side for reading in found}
        roles = frozenset().union(*(reading.roles for reading in found))
        return NameReading(roles, sides.pop() if len(sides) == 1 else "")
    side, rest = side_in(words)
    roles = roles_in(rest)
    if roles:
        return NameReading(roles, side)
    plain = plain_name(name)
    if is_elsewhere(rest) or not ARMS_AND_HEAD.isdisjoint((plain, plain[1:], plain[:-1], "".join(rest))):
        return NameReading(side=side, segment=ELSEWHERE)
    return NameReading(side=side, segment=segment_in(rest))


def by_spellings(name: str, words: Sequence[str]) -> list[NameReading]:
    """Return interpretations of a marker's name by the names in shipped maps, with the side before or after
    the rest of the name. words : the words of which the name consists
    """
    plain = plain_name(name)
    ways = [("", plain)]
    if len(plain) > 2:
        ways += [(BEGINNINGS[plain[0]], plain[1:])] if plain[0] in BEGINNINGS else []
    side, rest = side_in(list(words))
    if side:
        ways.append((side, "".join(rest)))
    found = [way for way in ways if (bool(way[0]), way[1]) in stems()]
    if not found and len(plain) > 3 and plain[-1] in BEGINNINGS:
        ways = [(BEGINNINGS[plain[-1]], plain[:-1])]
        found = [way for way in ways if (True, way[1]) in stems()]
    readings = []
    for side, rest_of in dict.fromkeys(found):
        stem = stems()[bool(side), rest_of]
        segment = next(iter(stem.segments)) if len(stem.segments) == 1 else ""
        if SHOULDER in stem.segments:
            segment = FOLLOWED_SHOULDER if TRUNK in stem.segments else SHOULDER
        readings.append(NameReading(stem.roles, side, segment))
    return readings


@cache
def stems() -> dict[tuple[bool, str], Stem]:
    """Return what the marker names in all marker maps that are part of rtsim mean there, by the key that
    `key_of` gives them.
    """
    found: dict[tuple[bool, str], Stem] = {}
    for lab in shipped_labs():
        if lab.right.is_keypoints:
            continue
        for name, roles, segment in meanings(lab):
            for spelled in (name, *lab.spellings.get(name, ())):
                key = key_of(plain_name(spelled), sided(lab, name))
                before = found.get(key, Stem())
                found[key] = Stem(before.roles | roles, before.segments | segment)
    return found


def key_of(plain: str, has_side: bool) -> tuple[bool, str]:
    """Return the key of a marker name in the table `stems`: whether the name begins with the letter of a
    side, and the name without this letter.

    plain : the name in lower case without separators; has_side : whether the marker belongs to one side
    """
    return (True, plain[1:]) if has_side and plain[:1] in BEGINNINGS else (False, plain)


def sided(lab: LabMap, name: str) -> bool:
    """Return whether a marker of a map belongs to only one side of the body."""
    other = {"r": "l", "l": "r"}.get(plain_name(name)[:1], "")
    if side_in(words_of(name))[0]:
        return True
    twins = {plain_name(n) for table in (lab.right, lab.left) for n in names_in(table)}
    return (bool(other) and other + plain_name(name)[1:] in twins) or name not in names_in(lab.left)


def names_in(table: LabSide) -> set[str]:
    """Return the names of all markers that a marker map lists for one side of the body: the anatomical and
    the tracked markers, and those of the trunk.
    """
    trunk = table.trunk
    more = {trunk.shoulder, trunk.shoulder_opposite, *trunk.tracking} if trunk else set()
    return {*table.named.values(), *table.tracking.names, *more}


def meanings(lab: LabMap) -> list[tuple[str, frozenset[str], frozenset[str]]]:
    """Return for each marker of a map its name, its roles (landmarks, such as "calcaneus") and the segments
    on which it is tracked.
    """
    found = []
    for table in (lab.right, lab.left):
        for role, name in table.named.items():
            if not role.endswith(OPPOSITE):
                found.append((name, frozenset([role]), frozenset[str]()))
        for segment in table.tracking.__struct_fields__:
            found += [(n, frozenset[str](), frozenset([segment])) for n in getattr(table.tracking, segment)]
        if table.trunk:
            shoulders = (table.trunk.shoulder, table.trunk.shoulder_opposite)
            found += [(name, frozenset[str](), frozenset([SHOULDER])) for name in shoulders]
            found += [(name, frozenset[str](), frozenset([TRUNK])) for name in table.trunk.tracking]
    return found
