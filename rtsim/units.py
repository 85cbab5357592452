"""Units of input and output: the only module that converts between them and SI units.

Files use metres, like those of OpenSim; screens and reports show millimetres; all of them use degrees.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DEGREES = 180.0 / math.pi
METRES = {
    "m": 1.0, "meter": 1.0, "meters": 1.0, "metre": 1.0, "metres": 1.0,
    "dm": 0.1,
    "cm": 0.01, "centimeter": 0.01, "centimeters": 0.01, "centimetre": 0.01, "centimetres": 0.01,
    "mm": 0.001, "millimeter": 0.001, "millimeters": 0.001, "millimetre": 0.001, "millimetres": 0.001,
    "in": 0.0254, "inch": 0.0254, "inches": 0.0254,
    "ft": 0.3048, "feet": 0.3048,
}  # fmt: skip
"""Metres in a unit of length that a file or a stream may declare."""
STREAMED = ("m", "cm", "mm")
"""Units of length that a stream may declare."""
ANGLES = {"rad": 1.0, "deg": 1.0 / DEGREES}
"""Radians in a unit of angle that a stream may declare."""
PER_TIME = ("", "/s", "/s^2")
"""Endings of the units of values, speeds and accelerations."""
SECONDS = {"s": 1.0, "ms": 1e-3}
NEWTON_METRES = {"nm": 1.0, "ncm": 1e-2, "ndm": 1e-1, "nmm": 1e-3, "knm": 1e3, "knmm": 1.0}
"""Newton metres in a unit of moment, as `plain_unit` spells it."""
SPELLINGS = {
    "°": "deg", "º": "deg", "degrees": "deg", "degree": "deg", "radians": "rad", "radian": "rad",
    "milliseconds": "ms", "seconds": "s", "second": "s", "sec": "s", "²": "^2", "s2": "s^2", "/s/s": "/s^2",
}  # fmt: skip
"""Other spellings of a part of a unit in the header of a table, in lower case."""

Faces = dict[str, tuple[str, float]]
IN_FILES: Faces = {"rad": ("deg", DEGREES), "rad/s": ("deg/s", DEGREES), "rad/s^2": ("deg/s^2", DEGREES)}
ON_PAPER: Faces = {**IN_FILES, "m": ("mm", 1e3)}
# "1" is a fraction; every fraction that is drawn is a lengthening
ON_SCREEN: Faces = {
    "rad": ("°", DEGREES), "rad/s": ("°/s", DEGREES), "rad/s^2": ("°/s²", DEGREES),
    "m": ("mm", 1e3), "m/s": ("mm/s", 1e3), "1": ("%", 100.0), "Pa": ("kPa", 1e-3), "V": ("mV", 1e3),
}  # fmt: skip


def streamed_scale(unit: str, turns: bool, order: int) -> float:
    """Return the factor from rad or m, and from their rates and accelerations, to the unit that a stream
    declares for a coordinate.

    unit : one unit, or one for each kind of coordinate, such as "rad, m"
    turns : whether the coordinate is an angle; order : 0, 1, 2 for values, speeds and accelerations

    Return 0 if no such unit is declared.
    """
    known = ANGLES if turns else {name: METRES[name] for name in STREAMED}
    usable = {name + PER_TIME[order]: scale for name, scale in known.items()}
    return next((usable[part] for part in unit.split(", ") if part in usable), 0.0)


def plain_unit(text: str) -> str:
    """Return a unit in lower case without what may stand between its parts, such as spaces, dots and hyphens:
    `N.mm`, `N*mm`, `N-mm`, `N mm` are the same. Quotients and powers remain, as in `nm/kg`.
    """
    return re.sub(r"[^\w/^]|_", "", text.lower())


def usual_spelling(unit: str) -> str:
    """Return the unit that the header of a table states in lower case, with `deg`, `rad`, `s` and `^2` for
    their other spellings.
    """
    unit = unit.lower()
    for spelling, plain in SPELLINGS.items():
        unit = unit.replace(spelling, plain)
    return unit


def si_scale(unit: str) -> float | None:
    """Return the factor from the unit that the header of a table states to rad, m, s or N m, and to their
    rates; 1 if it states none, None for any other unit.

    unit : one unit, or one for each kind of coordinate, such as "rad, m"
    """
    known = {name + per: scale for name, scale in {**ANGLES, **METRES}.items() for per in PER_TIME}
    known |= {"": 1.0, **SECONDS}
    parts = [usual_spelling(part) for part in unit.split(", ")]
    scales = {known.get(part, NEWTON_METRES.get(plain_unit(part))) for part in parts}
    return scales.pop() if len(scales) == 1 else None


def face_of(unit: str, faces: Faces) -> tuple[str, float]:
    """Return the unit in which a quantity is shown in one kind of output (files, paper or screen), and the
    factor by which its values are multiplied.

    unit : SI unit of the quantity
    faces : SI unit -> (unit shown, factor), for this kind of output; a unit that it does not contain is shown
        as it is
    """
    return faces.get(unit, (unit, 1.0))


def faces_of(units: Sequence[str], faces: Faces) -> tuple[list[str], Array]:
    """Return the units in which several quantities are shown, and the factors by which their values are
    multiplied, (n,), as `face_of` does for one.
    """
    shown = [face_of(unit, faces) for unit in units]
    return [unit for unit, _ in shown], np.array([factor for _, factor in shown])


def in_files(values: Array, unit: str) -> tuple[Array, str]:
    """Return values as stored in files, (n, k), one column for each component, and their unit.

    values : (n, ...) - values in the SI unit `unit`
    """
    said, scale = face_of(unit, IN_FILES)
    columns = values.reshape(values.shape[0], -1)
    if scale == 1.0:
        return columns, said
    with np.errstate(over="ignore"):  # what a stranger's numbers become is written as it is
        return (np.degrees(columns), said) if scale == DEGREES else (scale * columns, said)
