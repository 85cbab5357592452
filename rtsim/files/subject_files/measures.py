"""Named measures of a person from a file: lengths, masses and angles, converted to m, kg and rad."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from rtsim.files.markers.trial import name_some

MILLIMETRES, KILOGRAMS, RADIANS = "length", "mass", "angle"
UNITS = {MILLIMETRES: "m", KILOGRAMS: "kg", RADIANS: "rad"}
FACTORS = {MILLIMETRES: 1e-3, KILOGRAMS: 1.0, RADIANS: 1.0}
"""Factors from the units of Vicon's files (millimetres, kilograms, radians) to SI units."""
OF_SIDES = {
    MILLIMETRES: (
        "LegLength", "AsisTrocanterDistance", "KneeWidth", "AnkleWidth", "SoleDelta", "ShoulderOffset",
        "ElbowWidth", "WristWidth", "HandThickness",
    ),
    RADIANS: (
        "TibialTorsion", "ThighRotation", "ShankRotation", "StaticPlantFlex", "StaticRotOff", "AnkleAbAdd",
    ),
}  # fmt: skip
"""Names of measures that follow L or R, as Plug-in Gait writes them into the group PROCESSING of C3D files,
such as KneeWidth.
"""
OF_BOTH = {
    KILOGRAMS: ("Bodymass",),
    MILLIMETRES: ("Height", "InterAsisDistance", "MarkerDiameter", "PelvisDepth"),
    RADIANS: ("HeadOffset",),
}
KINDS = {
    **{f"{side}{name}": kind for kind, names in OF_SIDES.items() for name in names for side in "LR"},
    **{name: kind for kind, names in OF_BOTH.items() for name in names},
}
"""Name of a measure as in PROCESSING -> its kind, such as a length."""
SPELLED = {name.casefold().replace("trocanter", "trochanter"): name for name in KINDS}
LARGEST_ANGLE = 1.6
"""Largest rotation offset, torsion or foot angle [rad]; a larger number was meant in degrees."""


class Measures(NamedTuple):
    """Measures of one person in a file.

    values : name as in the PROCESSING group of C3D files by Plug-in Gait (LKneeWidth) -> SI value; 0 means
        not measured, as in those files
    units : name -> m, kg or rad
    source : the file
    notes : sentences on omissions
    """

    values: dict[str, float]
    units: dict[str, str]
    source: str
    notes: tuple[str, ...] = ()


def usual_name(name: str) -> str:
    """Return the name of a measure as Plug-in Gait writes it into the group PROCESSING of C3D files
    (LKneeWidth), from any spelling: LeftKneeWidth, $LKneeWidth, bodyMass; an unknown name is unchanged.
    """
    bare = name.strip().lstrip("$")
    for word in ("Left", "Right"):
        if bare.casefold().startswith(word.casefold()):
            bare = word[0] + bare[len(word) :].lstrip("_ ")
    key = bare.casefold().replace("_", "").replace(" ", "").replace("trocanter", "trochanter")
    return SPELLED.get(key, bare)


def measures_from(rows: Iterable[tuple[str, str, float]], source: str) -> Measures:
    """Return the measures in SI units from rows of name, kind (length, mass or angle; "" = the kind that the
    name implies) and number in the file's unit.

    Left out with a note are unknown names, invalid numbers, and angles too large to be in radians, the unit
    of these files.
    """
    values: dict[str, float] = {}
    units: dict[str, str] = {}
    unknown: list[str] = []
    degrees: list[str] = []
    odd: list[str] = []
    for said, kind, number in rows:
        name = usual_name(said)
        kind = KINDS.get(name, kind)
        if kind not in UNITS:
            unknown.append(name)
        elif not math.isfinite(number):
            odd.append(name)
        elif kind == RADIANS and abs(number) > LARGEST_ANGLE:
            degrees.append(f"{name} {number:g}")
        elif values.setdefault(name, FACTORS[kind] * number) != FACTORS[kind] * number:
            odd.append(f"a second {name}")
        else:
            units[name] = UNITS[kind]
    notes = []
    if unknown:
        notes.append(
            f"numbers left out because they are not body measures ({len(unknown)}): {name_some(unknown)}"
        )
    if odd:
        notes.append(f"{name_some(odd)} left out: not a number, or stated twice with different values")
    if degrees:
        notes.append(
            f"{name_some(degrees)} left out: this format stores angles in radians, and this value "
            "cannot be an angle in radians; give the angle as an option"
        )
    return Measures(values, units, source, tuple(notes))
