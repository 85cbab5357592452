"""External loads of OpenSim's tools (ExternalLoads, .xml): the file of forces, and the bodies they act on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rtsim.files.osim.document import Node, read_part
from rtsim.files.osim.tasks import NO_FILE, file_of

LOADS = "ExternalLoads"


class ForceColumns(NamedTuple):
    """Prefixes of the labels of three columns each, for force, point of application and moment, as external
    loads state them in force_identifier, point_identifier and torque_identifier; "" = none.
    """

    force: str
    point: str
    torque: str


class ExternalLoads(NamedTuple):
    """The forces in external loads, and the bodies on which they act, in the order of the file.

    forces : the file that contains the forces
    bodies : bodies on which a force acts
    columns : prefixes of the columns of each force in that file; empty if no force names its columns
    pressed : body on which each force of `columns` acts
    """

    forces: Path
    bodies: tuple[str, ...]
    columns: tuple[ForceColumns, ...] = ()
    pressed: tuple[str, ...] = ()


def read_external_loads(path: str | Path) -> ExternalLoads:
    """Read the forces of an .xml file of external loads that are enabled.

    The plates in the forces' file are assigned to bodies by their centres of pressure. ConfigError, with
    file, element and remedy, for what is not supported: another class of forces, and vectors or points in
    axes of a body.
    """
    loads = read_part(Path(path), LOADS, "give the external loads of one of OpenSim's tools (.xml)")
    forces = file_of(loads, "datafile")
    if forces is None:
        loads.fail(
            "the file does not name a datafile",
            remedy="write the name of the file with the forces (.mot, .sto) into the element datafile",
        )
    holder = loads.child("objects")
    bodies: dict[str, None] = {}
    columns: dict[ForceColumns, str] = {}
    unnamed: list[Node] = []
    for force in holder.children() if holder is not None else ():
        if force.tag != "ExternalForce":
            force.fail(f"a {force.tag} has no counterpart in rtsim", allowed="ExternalForce")
        if force.flag("isDisabled") or not force.flag("appliesForce", True):
            continue
        for tag in ("force_expressed_in_body", "point_expressed_in_body"):
            axes = force.text(tag, default="ground")
            if axes != "ground":
                force.fail(f"{tag} is {axes}", allowed="ground", remedy="express the forces in ground")
        body = force.text("applied_to_body")
        if body in NO_FILE:
            force.fail("applied_to_body does not name a body", remedy="name the body on which the force acts")
        bodies[body] = None
        said = (force.text(f"{what}_identifier", default="") for what in ForceColumns._fields)
        named = ForceColumns(*("" if text in NO_FILE else text for text in said))
        if named.force and not named.point:
            force.fail(
                "the force has no point_identifier", remedy="name the columns of the point of application"
            )
        if named.torque and not named.force:
            force.fail(
                "the entry has no force_identifier, and rtsim does not apply a moment without a "
                f"force ({named.torque!r})",
                remedy="name the columns of the force, or switch this entry off",
            )
        if not named.force:
            unnamed.append(force)
            continue
        check_columns(force, body, named, columns)
        columns[named] = body
    if columns and unnamed:
        unnamed[0].fail(
            "the force has no force_identifier, but other forces in the file have one",
            remedy="name the columns of the force, or switch this entry off",
        )
    if loads.document.notes:
        loads.fail(loads.document.notes[0], remedy="correct this element in the file")
    if not bodies:
        loads.fail("all forces in the file are switched off", remedy="remove --forces, or switch a force on")
    return ExternalLoads(forces, tuple(bodies), tuple(columns), tuple(columns.values()))


def check_columns(force: Node, body: str, named: ForceColumns, before: Mapping[ForceColumns, str]) -> None:
    """Raise ConfigError if an element names the same columns for force, point or moment as an earlier one.

    Otherwise one plate would act twice, and the intended one not at all.

    force, body : the element, and the body on which it acts
    named : prefixes of its columns
    before : prefixes of the columns of earlier elements, each with the body on which that element acts
    """
    for other, its_body in before.items():
        for what, own, its in zip(ForceColumns._fields, named, other, strict=True):
            if own and own == its:
                whom = f"the force on {its_body}" if its_body != body else f"another force on {its_body}"
                force.fail(
                    f"the {what}_identifier {own!r} on {body} is also used by {whom}, so one plate "
                    "would act twice",
                    allowed="separate columns for each force",
                    remedy=f"correct one of the two {what}_identifiers, or switch one of the forces off "
                    "with isDisabled",
                )
