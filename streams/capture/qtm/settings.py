"""QTM's settings, as XML: labels in the order of the data, the axis that points up, rate and plates."""

from __future__ import annotations

import math
from typing import NamedTuple
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser

from streams.capture.records import (
    MOST_MARKERS,
    MOST_PLATES,
    CaptureDescription,
    PlateDescription,
    Upwards,
    believed_rate,
)

UPWARDS: tuple[Upwards, ...] = ("+X", "-X", "+Y", "-Y", "+Z", "-Z")
METRES = {"mm": 1e-3, "cm": 1e-2, "m": 1.0}
LONGEST = 1 << 20
"""Size of the longest settings that are read [bytes]."""


class PlainTree(TreeBuilder):
    """Parser of XML that refuses documents with a type declaration, in any encoding.

    Such a declaration could define entities; ValueError is raised for it.
    """

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        """Raise ValueError for a document type declaration."""
        raise ValueError("the settings declare a document type or entities, which settings of QTM never do")


class QtmSettings(NamedTuple):
    """Settings of QTM that describe its data.

    description : description of the markers and plates
    plates : numbers by which the data name the plates, in the order of the description
    metres : length in metres of one unit of the plates' lengths
    """

    description: CaptureDescription
    plates: tuple[int, ...]
    metres: float


def read_settings(xml: bytes) -> QtmSettings:
    """Parse the settings in an XML message; ValueError with the reason if it cannot be read."""
    if len(xml) > LONGEST:
        raise ValueError(f"the settings have {len(xml)} bytes; at most {LONGEST} are allowed")
    parser = XMLParser(target=PlainTree())
    try:
        parser.feed(xml)
        root = parser.close()
    except (ParseError, ValueError, LookupError, RecursionError) as fault:
        raise ValueError(f"the settings are no XML that can be read: {fault}") from fault
    markers = _child(root, "The_3D")
    labels = [] if markers is None else [label for label in markers if _name(label) == "Label"]
    if len(labels) > MOST_MARKERS:
        raise ValueError(f"the settings name {len(labels)} markers; at most {MOST_MARKERS} are allowed")
    up = _text(markers, "AxisUpwards")
    axis: Upwards = next((known for known in UPWARDS if known == _signed(up)), "")
    rate = _number(_text(_child(root, "General"), "Frequency"))
    forces = _child(root, "Force")
    metres = METRES.get(_text(forces, "Unit_Length").lower(), METRES["mm"])
    found = [] if forces is None else [plate for plate in forces if _name(plate) == "Plate"][:MOST_PLATES]
    numbers = [_plate_number(plate, k) for k, plate in enumerate(found)]
    plates = tuple(
        PlateDescription(
            _text(plate, "Name") or f"plate_{number}",
            _corners(plate, metres),
            _number(_text(plate, "Frequency")),
        )
        for number, plate in zip(numbers, found, strict=True)
    )
    names = tuple(_text(label, "Name") for label in labels)
    return QtmSettings(CaptureDescription(names, "mm", axis, rate, plates), tuple(numbers), metres)


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _child(element: Element | None, name: str) -> Element | None:
    if element is None:
        return None
    return next((child for child in element if _name(child) == name), None)


def _text(element: Element | None, name: str) -> str:
    child = _child(element, name)
    return (child.text or "").strip() if child is not None else ""


def _number(text: str) -> float:
    """Parse a rate [Hz]; 0 if the text is not a rate."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return believed_rate(value)


def _signed(axis: str) -> str:
    axis = axis.strip().upper()
    return axis if axis[:1] in ("+", "-") else f"+{axis}"


def _plate_number(plate: Element, k: int) -> int:
    """Return the number by which the data name a plate; if none is stated, its place in the list, from 1."""
    for key in ("Plate_ID", "Force_Plate_Index"):
        text = _text(plate, key)
        if text.isascii() and text.isdigit() and len(text) < 10:
            return int(text)
    return k + 1


def _corners(plate: Element, metres: float) -> tuple[tuple[float, float, float], ...]:
    """Return the four corners of a plate [m]; () where one is missing or all are at one place."""
    location = _child(plate, "Location")
    corners = []
    for k in range(1, 5):
        corner = _child(location, f"Corner{k}")
        try:
            x, y, z = (metres * float(_text(corner, axis)) for axis in "XYZ")
        except ValueError:
            return ()
        corners.append((x, y, z))
    sound = all(math.isfinite(x) for corner in corners for x in corner)
    return tuple(corners) if sound and len(set(corners)) == 4 else ()
