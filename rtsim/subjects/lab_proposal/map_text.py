"""A proposed marker map as TOML text, with a comment at each marker whose role (landmark, such as
"calcaneus") a person has to confirm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rtsim.config.runs.lab_schema import LabMap, LabSide, Tracking
from rtsim.files.toml_text import entry
from rtsim.subjects.lab_proposal.proposed_roles import CERTAIN, UNSURE, MarkerRole

HEAD = "# Marker map. Roles are relative to the leg: asis is on its side, asis_opposite on the other side."
MARK = {CERTAIN: "", UNSURE: "UNSURE: "}
"""Beginnings of comments."""
BY_PLACE_MARK = "check: "
COLUMN = 34
"""Column at which comments begin."""


def map_text(lab: LabMap, roles: Sequence[MarkerRole], remarks: Sequence[str], one_leg: str = "") -> str:
    """Return the text of a marker map in TOML.

    lab : the map; remarks : comments for its head
    roles : roles of its markers, such as "calcaneus", with their uncertainty
    one_leg : side of the only marked leg, whose table is used for both
    """
    doubts = {role.marker: role for role in roles if role.certainty != CERTAIN}
    lines = [HEAD, *(f"# {part}" for text in remarks for part in text.splitlines())]
    lines += [entry("name", lab.name), entry("source", lab.source)]
    if one_leg:
        lines.append(
            f"# The trial has the {one_leg} leg alone: its table is repeated for the other side, and one "
            "leg is solved."
        )
    for side, table in (("right", lab.right), ("left", lab.left)):
        lines += ["", f"[{side}]", *role_lines(table, doubts), *tracking_lines(side, table.tracking)]
        if table.trunk is not None:
            lines += ["", f"[{side}.trunk]"]
            lines += [entry(key, getattr(table.trunk, key)) for key in table.trunk.__struct_fields__]
    return "\n".join(lines) + "\n"


def role_lines(table: LabSide, doubts: Mapping[str, MarkerRole]) -> list[str]:
    """Return the lines of one side of a marker map in TOML, one for each role, such as "calcaneus", with its
    marker, and with a comment where the role is in `doubts`.
    """
    lines = []
    for role, marker in table.named.items():
        line = entry(role, marker)
        if marker in doubts:
            doubt = doubts[marker]
            line = f"{line:<{COLUMN}} # {MARK.get(doubt.certainty, BY_PLACE_MARK)}{comment(doubt.why)}"
        lines.append(line)
    return lines


def tracking_lines(side: str, tracking: Tracking) -> list[str]:
    """Return the lines of TOML that list the tracked markers of a side by segment."""
    names = [entry(segment, list(getattr(tracking, segment))) for segment in tracking.__struct_fields__]
    return ["", f"[{side}.tracking]", *names]


def comment(text: str) -> str:
    """Return a text as a TOML comment; names in it may contain any characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
