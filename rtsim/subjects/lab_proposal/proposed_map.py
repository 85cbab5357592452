"""The marker map that follows from the roles proposed for markers (landmarks, such as "calcaneus"), the roles
for which no marker was found, and what follows from that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rtsim.config.runs.lab_schema import LabMap, LabSide, Tracking, Trunk
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import name_some
from rtsim.subjects.lab_proposal.marker_reading import (
    FOLLOWED_SHOULDER,
    SHOULDER,
    TRUNK,
    NameReading,
)
from rtsim.subjects.lab_proposal.proposed_roles import OTHER, MarkerRole
from rtsim.subjects.lab_proposal.proposed_segments import FollowedMarker
from rtsim.subjects.markers.marker_names import find_markers

SIDES = ("right", "left")
ALWAYS = ("epicondyle_lateral", "malleolus_lateral", "calcaneus")
"""Roles that are always required of each leg, beside the pelvis."""
NO_FOREFOOT = (
    "the toe marker replaces the midpoint of the metatarsals, and inversion is 0 when the person stands"
)
WITHOUT = {
    "epicondyle_medial": "the knee centre is computed from the knee width (--knee-width) and thigh_lateral",
    "malleolus_medial": "the ankle centre is computed from the width of the ankle (--ankle-width) and "
    "shank_lateral",
    "fibula_head": "the malleoli define the frontal plane of the shank, so tibial torsion appears as "
    "external rotation of the knee",
    "metatarsal_1": NO_FOREFOOT,
    "metatarsal_5": NO_FOREFOOT,
    "psis": "the sacrum marker replaces the midpoint of the PSIS markers",
}
"""Consequences of the absence of a role that is not required."""
NEEDED = {
    "asis": "without both ASIS the pelvis cannot be computed",
    "psis": "without both PSIS or a sacrum marker the pelvis cannot be computed",
    "sacrum": "without this marker, or both PSIS in its place, the pelvis cannot be computed",
    "epicondyle_lateral": "without this marker the knee cannot be computed",
    "malleolus_lateral": "without this marker the ankle cannot be computed",
    "calcaneus": "without this marker the foot cannot be computed",
    "thigh_lateral": "without this marker and the medial epicondyle the knee centre cannot be computed",
    "shank_lateral": "without this marker and the medial malleolus the ankle centre cannot be computed",
    "toe": "without this marker and both metatarsals the foot cannot be computed",
}
"""Consequences of the absence of a role that is required."""


class ProposedMap(NamedTuple):
    """The marker map that is proposed for a static trial.

    lab : the map, None if no leg is complete
    lacking : side -> required roles without a marker, such as "calcaneus"
    without : notes on optional roles that are missing, and the consequences
    one_leg : side of the only complete leg, "" = both
    """

    lab: LabMap | None
    lacking: Mapping[str, tuple[str, ...]]
    without: tuple[str, ...]
    one_leg: str = ""


def propose_map(
    name: str,
    source: str,
    roles: Sequence[MarkerRole],
    followed: Sequence[FollowedMarker],
    trunk: Mapping[str, Trunk],
) -> ProposedMap:
    """Build the marker map from the markers' roles (landmarks, such as "calcaneus") and the tracked markers;
    for one leg only if the other lacks required roles.

    name, source : name of the map, and the trial from which it is proposed
    trunk : side -> markers of the trunk
    """
    tables = {side: table_of(side, roles) for side in SIDES}
    lacking = {side: missing for side in SIDES if (missing := lacks(tables[side]))}
    there = [side for side in SIDES if side not in lacking]
    without = consequences({side: tables[side] for side in there})
    if not there:
        return ProposedMap(None, lacking, without)
    sides = {
        side: LabSide(tracking=tracking_of(side, followed), trunk=trunk.get(side), **tables[side])
        for side in there
    }
    only = there[0]
    lab = LabMap(name, source, sides.get("right", sides[only]), sides.get("left", sides[only]))
    return ProposedMap(lab, lacking, without, only if len(there) == 1 else "")


def table_of(side: str, roles: Sequence[MarkerRole]) -> dict[str, str]:
    """Return role -> marker for one side, such as "calcaneus" -> "RHEE", in the form of a marker map."""
    found = {role.role: role.marker for role in roles if role.side in (side, "")}
    for role in roles:
        if role.side == OTHER[side] and role.role in ("asis", "psis"):
            found[f"{role.role}_opposite"] = role.marker
    if "psis" not in found or "psis_opposite" not in found:
        found = {role: marker for role, marker in found.items() if not role.startswith("psis")}
    device = [role for role in found if role.startswith("knee_device")]
    if len(device) != 3:
        found = {role: marker for role, marker in found.items() if role not in device}
    return found


def lacks(table: Mapping[str, str]) -> tuple[str, ...]:
    """Return the roles, such as "toe", that the calibration of a leg requires and that have no marker.

    table : role -> marker
    """
    missing = [role for role in ALWAYS if role not in table]
    if not {"asis", "asis_opposite"} <= table.keys():
        missing.insert(0, "asis")
    if "sacrum" not in table and not {"psis", "psis_opposite"} <= table.keys():
        missing.insert(0, "psis")
    for medial, lateral in (("epicondyle_medial", "thigh_lateral"), ("malleolus_medial", "shank_lateral")):
        if medial not in table and lateral not in table:
            missing.append(lateral)
    if not {"metatarsal_1", "metatarsal_5"} <= table.keys() and "toe" not in table:
        missing.append("toe")
    return tuple(missing)


def consequences(tables: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """Return notes on what a map lacks because optional roles, such as "fibula_head", have no marker, and
    what follows from this.

    tables : side -> role -> marker
    """
    told = []
    for role, what in WITHOUT.items():
        sides = [side for side, table in tables.items() if role not in table]
        if sides:
            told.append(f"no {role}{f' on the {sides[0]}' if len(sides) < len(tables) else ''}: {what}")
    return tuple(told)


def tracking_of(side: str, followed: Sequence[FollowedMarker]) -> Tracking:
    """Return the tracked markers of a leg and the pelvis; ConfigError for a segment without tracked
    markers.
    """
    by_segment = {
        segment: tuple(f.marker for f in followed if f.segment == segment and f.side in (side, ""))
        for segment in Tracking.__struct_fields__
    }
    empty = [segment for segment, names in by_segment.items() if not names]
    if empty:
        raise ConfigError(
            f"the movement shows no marker of the {side} {' and '.join(empty)}", where="--movement",
            remedy="give a movement in which each segment has markers, or remove the option",
        )  # fmt: skip
    return Tracking(**by_segment)


def in_movement(
    followed: Sequence[FollowedMarker], names: Sequence[str], movement: str
) -> tuple[list[FollowedMarker], list[str]]:
    """Return the tracked markers that a movement trial with the marker names `names` has, and notes on the
    missing ones.
    """
    there = find_markers([f.marker for f in followed], names)
    left_out = [f.marker for f in followed if f.marker not in there]
    lacks = f"the movement {movement} lacks these markers, so the map uses them only in the static trial: "
    told = [lacks + ", ".join(left_out)] if left_out else []
    return [f for f in followed if f.marker in there], told


def trunk_of(names: Sequence[str], readings: Sequence[NameReading]) -> dict[str, Trunk]:
    """Return the trunk markers of each side, if names identify both shoulders and three tracked markers."""
    by_name = dict(zip(names, readings, strict=True))
    either = (SHOULDER, FOLLOWED_SHOULDER)
    shoulders = {
        side: [
            name for name, reading in by_name.items() if reading.segment in either and reading.side == side
        ]
        for side in SIDES
    }
    followed = [name for name, reading in by_name.items() if reading.segment in (TRUNK, FOLLOWED_SHOULDER)]
    if any(len(found) != 1 for found in shoulders.values()) or len(followed) < 3:
        return {}
    return {side: Trunk(shoulders[side][0], shoulders[OTHER[side]][0], tuple(followed)) for side in SIDES}


def refusal(proposed: ProposedMap, where: str) -> ConfigError:
    """Return the error for a map that cannot be built: what each leg lacks, and the consequences."""
    said = [
        f"{side}: {name_some([f'{role} ({NEEDED[role]})' for role in roles])}"
        for side, roles in proposed.lacking.items()
    ]
    return ConfigError(
        "no marker map can be made, because no leg has all necessary markers; missing markers: "
        f"{'; '.join(said)}",
        where=where,
        remedy="put markers on these landmarks in the static trial, or name the markers that are there",
    )
