"""Reads OpenSim models (.osim, documents of OpenSim 3.0 to 4.6) as models of rtsim.

The content of the file is converted to the tables of a model file (rtsim/config/models/model_schema.py),
which are checked like any other. Elements without a counterpart are left out with a note if the mechanics do
not need them (contact, controllers); otherwise the file is rejected.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rtsim.config.load import check_record
from rtsim.config.models.model_schema import ModelSpec
from rtsim.files.markers.trial import name_some
from rtsim.files.osim.bodies import body_tables
from rtsim.files.osim.constraints import read_constraints
from rtsim.files.osim.document import Node, read_document
from rtsim.files.osim.frames import OFFSET_FRAME, OsimFrames
from rtsim.files.osim.joints import read_joints, units_of
from rtsim.files.osim.markers import read_markers
from rtsim.files.osim.muscles import Paths, read_muscles

# sets that are left out, and what a user misses
LEFT_OUT = {
    "ContactGeometrySet": "rtsim does not simulate contact with these geometries",
    "ControllerSet": "rtsim does not use controllers",
    "ProbeSet": "rtsim does not compute probes",
}
READ = {"BodySet", "JointSet", "ConstraintSet", "ForceSet", "MarkerSet", "Ground"}
SILENT = {
    "credits", "publications", "length_units", "force_units", "gravity", "defaults", "assembly_accuracy",
    "ModelVisualPreferences", "FrameGeometry", "attached_geometry", "frames",
}  # fmt: skip
"""Properties of a model that are read elsewhere, or that only concern its appearance."""
METRES = ("", "m", "meter", "meters")
NAMES_A_COORDINATE = (
    "independent_coordinate_names", "dependent_coordinate_name", "coordinate", "socket_coordinate",
    *(f"{axis}_coordinate" for axis in "xyz"), *(f"socket_{axis}_coordinate" for axis in "xyz"),
)  # fmt: skip


def read_osim(path: str | Path) -> tuple[ModelSpec, tuple[str, ...]]:
    """Read the model in an .osim file; return it, and notes on what was left out or assumed.

    ConfigError names the file, the element and a remedy if something cannot be read or has no counterpart.
    """
    path = Path(path)
    model = read_document(path)
    tables = model_tables(model, path)
    tell_left_out(model)
    return check_record(tables, ModelSpec, str(path)), tuple(model.document.notes)


def model_tables(model: Node, path: Path) -> dict[str, Any]:
    """Return an OpenSim model as the tables of a model file of rtsim."""
    if (units := model.text("length_units").lower()) not in METRES:
        model.fail(f"lengths in {units}", allowed="meters", remedy="give the model in metres")
    frames = OsimFrames.of_model(model)
    joints = list(read_joints(model, frames))
    couplers, elements = read_constraints(model, frames, joints)
    named = coordinates_named(model)
    bodies, poses = body_tables(frames, joints, {c["coordinate"] for c in couplers}, named)
    defaults = {c.name: c.default for joint in joints for c in joint.coordinates}
    paths = Paths(frames, poses, defaults, units_of(joints))
    muscles = read_muscles(model, paths)
    return {
        "name": model.name or path.stem,
        "source": source(model, path),
        "bodies": bodies,
        "elements": elements,
        "couplers": couplers,
        "surfaces": list(paths.wraps.surfaces.values()),
        "muscles": muscles,
        "markers": read_markers(model.members("MarkerSet"), frames),
        "gravity_m_s2": gravity(model),
    }


def tell_left_out(model: Node) -> None:
    """Add notes on the contents of the file that are not in the model."""
    for tag, misses in LEFT_OUT.items():
        nodes = model.members(tag)
        if nodes:
            model.document.note(f"left out of {tag}: {listed(nodes)}; {misses}")
    for tag in ("ComponentSet", "components"):
        others = [
            node for node in model.members(tag) or model.children_of(tag)
            if node.tag not in (OFFSET_FRAME, "objects", "groups")
        ]  # fmt: skip
        if others:
            model.document.note(f"left out of {tag}: {listed(others)}; rtsim does not know these elements")
    known = {*LEFT_OUT, *READ, *SILENT, "ComponentSet", "components"}
    unknown = [node for node in model.children() if node.tag not in known and len(node.element)]
    if unknown:
        model.document.note(f"left out: {listed(unknown)}; rtsim does not know these elements")


def listed(nodes: Iterable[Node]) -> str:
    """Return classes and names of elements in one line, each class once."""
    names: dict[str, list[str]] = {}
    for node in nodes:
        names.setdefault(node.tag, []).append(node.name or "without name")
    return "; ".join(f"{tag} {name_some(of)}" for tag, of in names.items())


def coordinates_named(model: Node) -> set[str]:
    """Return the names of the coordinates to which constraints or path points refer.

    The coordinates of a free joint keep their names only if they are among these.
    """
    texts = (element.text or "" for tag in NAMES_A_COORDINATE for element in model.element.iter(tag))
    return {word.rsplit("/", 1)[-1] for text in texts for word in text.split()}


def gravity(model: Node) -> list[float]:
    numbers = model.vector("gravity") if model.child("gravity") else (0.0, -9.80665, 0.0)
    return [float(x) for x in numbers]


def source(model: Node, path: Path) -> str:
    """Return the origin of the model's numbers: name of the file, credits and publications."""
    said = [model.text(tag) for tag in ("credits", "publications")]
    parts = [f"OpenSim model {path.name}, document version {model.document.version}", *filter(None, said)]
    return ". ".join(parts)
