"""Read the measures of a person from a file of Vicon: .vsk (Nexus) or .mp (Workstation, BodyBuilder)."""

from __future__ import annotations

import math
import re
from pathlib import Path

from rtsim.config.reading import read_bounded
from rtsim.errors import ConfigError
from rtsim.files.osim.parsing import parse
from rtsim.files.subject_files.measures import Measures, measures_from

SUFFIXES = (".vsk", ".mp")
MOST_BYTES = 16_000_000
"""Largest size of a file in BodyLanguage (.mp) that is read [bytes]."""
ASSIGNED = re.compile(r"^[ \t]*(\$?[^\s=${}]+)[ \t]*=([^\n]*)$", re.MULTILINE)
ROOT = "KinematicModel"
STATIC = "StaticParameter"
"""Element of a .vsk file with a measure; the element Parameter is a dimension of the drawn skeleton."""
AGAIN = "export the subject from Nexus again, or give the measures as options"


def read_measures(path: str | Path) -> Measures:
    """Read the measures in a .vsk or .mp file, in SI units under the names of a C3D's PROCESSING group.

    ConfigError for another suffix, for a file of another format, and for one without any measure.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ConfigError(
            f"{suffix or 'no suffix'} is not a format of body measures",
            where=str(path),
            allowed=", ".join(SUFFIXES),
        )
    data = read_bounded(path, MOST_BYTES, "the file is too large for a file of body measures")
    rows = rows_of_vsk(data, str(path)) if suffix == ".vsk" else rows_of_mp(data, str(path))
    found = measures_from(rows, str(path))
    if not found.values:
        raise ConfigError("the file contains no body measure", where=str(path), remedy=AGAIN)
    return found


def rows_of_vsk(data: bytes, where: str) -> list[tuple[str, str, float]]:
    """Return name, quantity and value [mm, kg, rad] of each static parameter that has a value."""
    root = parse(data, where)
    if root.tag != ROOT:
        raise ConfigError(f"the root element is {root.tag}, not {ROOT}", where=where, remedy=AGAIN)
    return [
        (element.get("NAME", ""), element.get("QUANTITY", "").lower(), number(element.get("VALUE", "")))
        for element in root.iter(STATIC)
        if element.get("NAME") and element.get("VALUE")
    ]


def rows_of_mp(data: bytes, where: str) -> list[tuple[str, str, float]]:
    """Return name and number of each line `$Name = 1.0`, NaN for an expression; lines with vectors are
    skipped.
    """
    text = data.decode("utf-8-sig", "replace") if b"\0" not in data else ""
    text = without_comments(text.replace("\r\n", "\n").replace("\r", "\n"))
    found = [(name, said.strip()) for name, said in ASSIGNED.findall(text)]
    rows = [(name, "", number(said)) for name, said in found if not said.startswith("{")]
    if not rows:
        raise ConfigError("the file contains no line such as $LKneeWidth = 100", where=where, remedy=AGAIN)
    return rows


def without_comments(text: str) -> str:
    """Replace each comment `{* ... *}` by a space; a comment without an end is kept as text.

    A regular expression would search the rest of the text for each beginning without an end.
    """
    parts, at = [], 0
    while (begin := text.find("{*", at)) >= 0 and (end := text.find("*}", begin + 2)) >= 0:
        parts.append(text[at:begin])
        at = end + 2
    return " ".join([*parts, text[at:]])


def number(text: str) -> float:
    """Return a number as written in .vsk and .mp files; NaN where the text is not a number."""
    try:
        return float(text.strip().rstrip(";"))
    except ValueError:
        return math.nan
