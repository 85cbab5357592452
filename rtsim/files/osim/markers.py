"""OpenSim's marker sets, inside a model or in a file of their own, as markers of a model file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rtsim.config.load import check_record
from rtsim.config.models.marker_schema import Marker
from rtsim.files.osim.document import Node, read_part
from rtsim.files.osim.frames import GROUND, OsimFrames

Table = dict[str, Any]


def read_markers(nodes: Sequence[Node], frames: OsimFrames) -> list[Table]:
    """Read markers on bodies; those on ground, which no pose moves, are left out with a note."""
    tables: list[Table] = []
    seen: set[str] = set()
    for node in nodes:
        if node.tag != "Marker":
            node.document.note(f"{node.label}: this element is not a marker and was left out")
            continue
        if not node.name:
            node.fail("a marker has no name", remedy="give the marker a name")
        if node.name in seen:
            node.fail("there is a second marker of this name", remedy="rename one of the two markers")
        seen.add(node.name)
        frame = frames.named(
            node, f"/markerset/{node.name}", "socket_parent_frame", "socket_parent", "parent_frame", "body"
        )
        if frame.body == GROUND:
            node.document.note(
                f"marker {node.name}: the marker is on ground, which does not move, and was left out"
            )
            continue
        position = frame.transform.apply(node.vector("location", default=None))
        table: Table = {
            "name": node.name,
            "segment": frame.body,
            "offset_mm": (1e3 * position).tolist(),
        }
        tables.append({**table, "fixed": True} if node.flag("fixed") else table)
    return tables


def read_marker_set(path: Path, bodies: Sequence[str]) -> tuple[tuple[Marker, ...], tuple[str, ...]]:
    """Read the markers of a marker set file (.xml) for a model with the bodies `bodies`; return markers
    and notes.
    """
    node = read_part(path, "MarkerSet", "give a marker set file (.xml)")
    holder = node.child("objects")
    frames = OsimFrames(bodies)
    tables = read_markers(list(holder.children()) if holder else [], frames)
    markers = tuple(check_record(table, Marker, str(path)) for table in tables)
    return markers, tuple(node.document.notes)
