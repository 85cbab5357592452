"""Search for the channels of a Lab Streaming Layer stream that are markers or forces, by the stream's own
description.

Names and types are those that App-OptiTrack (labstreaminglayer), qualisys_lsl_app and the XDF page on motion
capture use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streams.capture.records import MOST_MARKERS, MOST_PLATES, LengthUnit

UNITS: dict[str, LengthUnit] = {
    **dict.fromkeys(("m", "meter", "meters", "metre", "metres"), "m"),
    **dict.fromkeys(("mm", "millimeter", "millimeters", "millimetre", "millimetres"), "mm"),
    **dict.fromkeys(("cm", "centimeter", "centimeters", "centimetre", "centimetres"), "cm"),
}
MOMENT_SCALES = {"nmm": 1e-3, "n*mm": 1e-3, "newton-millimeters": 1e-3, "newtonmillimeters": 1e-3}
"""Units of moments that are not N m [N m]."""
POSITION = re.compile(r"position\s*([xyz])", re.IGNORECASE)
BETWEEN = " _.:/-"
"""Characters that may stand between a name and what ends a label."""
FORCES = ("fx", "fy", "fz", "mx", "my", "mz")


class LslChannel(NamedTuple):
    """The description of a channel: label, marker, object, type, unit; "" = not given."""

    label: str = ""
    marker: str = ""
    object: str = ""
    type: str = ""
    unit: str = ""


class MarkerChannels(NamedTuple):
    """Markers among the channels of a stream.

    names : names of the markers
    columns : (n_marker, 3) channels of x, y, z
    unit : unit of positions, "" = unknown
    labelled : whether the stream names the markers
    n_left : number of channels of positions that are not used, because a coordinate of their marker is
        missing or an earlier marker has the same name
    """

    names: tuple[str, ...]
    columns: NDArray[np.intp]
    unit: LengthUnit
    labelled: bool
    n_left: int = 0


class ForceChannels(NamedTuple):
    """Force plates among the channels of a stream.

    names : names of the plates
    columns : (n_plate, 6) channels of Fx to Mz
    moment_scale : factor by which moments are multiplied to be in N m
    """

    names: tuple[str, ...]
    columns: NDArray[np.intp]
    moment_scale: float


def marker_channels(channels: Sequence[LslChannel], n_channel: int) -> MarkerChannels:
    """Find the markers: three channels of one name with the types PositionX, Y and Z, or with labels that end
    in the axis.

    Channels of rigid bodies (`object` without `marker`), of orientations and of confidence are ignored. In a
    stream without descriptions every three of its n_channel channels are a marker, which gets a number.
    """
    if not any(c.label or c.marker or c.type for c in channels):
        n = n_channel // 3 if n_channel % 3 == 0 else 0
        names = tuple(f"marker_{k + 1}" for k in range(min(n, MOST_MARKERS)))
        return MarkerChannels(names, np.arange(3 * len(names)).reshape(-1, 3), "", False)
    found: dict[str, dict[int, int]] = {}
    units: set[str] = set()
    n_position = 0
    for k, channel in enumerate(channels):
        name, axis = _marker_axis(channel)
        n_position += bool(name)
        if name and axis not in found.setdefault(name, {}):
            found[name][axis] = k
    whole = {name: axes for name, axes in found.items() if len(axes) == 3}
    names = tuple(whole)[:MOST_MARKERS]
    columns = np.array([[whole[name][axis] for axis in range(3)] for name in names], np.intp).reshape(-1, 3)
    units = {channels[k].unit.strip().casefold() for k in columns.ravel().tolist()}
    unit: LengthUnit = UNITS.get(next(iter(units)), "") if len(units) == 1 else ""
    return MarkerChannels(names, columns, unit, True, n_position - columns.size)


def _marker_axis(channel: LslChannel) -> tuple[str, int]:
    """Return the name of the marker to which a channel belongs, and the index of its axis; an empty name for
    a channel of anything else.
    """
    if channel.object and not channel.marker:
        return "", 0
    typed = POSITION.fullmatch(channel.type.strip())
    if channel.type and typed is None and not channel.type.strip().casefold().startswith("mocap"):
        return "", 0
    before, ending = _ended(channel.label, ("x", "y", "z"))
    axis = typed.group(1).lower() if typed else ending
    name = channel.marker.strip() or before
    return (name, "xyz".index(axis)) if axis and name else ("", 0)


def _ended(label: str, endings: Sequence[str]) -> tuple[str, str]:
    """Split a label that ends in one of these endings into the name before the ending and the ending. Return
    ("", "") for other labels.

    No regular expression is used, because matching one against a long row of separators could take hours.
    """
    label = label.strip()
    n = len(endings[0])
    ending = label[-n:].lower()
    return (label[:-n].rstrip(BETWEEN), ending) if ending in endings else ("", "")


def force_channels(channels: Sequence[LslChannel]) -> ForceChannels:
    """Find the plates: six channels Fx to Mz with the same name before them, or with none."""
    found: dict[str, dict[str, int]] = {}
    for k, channel in enumerate(channels):
        name, ending = _ended(channel.label, FORCES)
        if ending:
            found.setdefault(name, {}).setdefault(ending, k)
    whole = {name: parts for name, parts in found.items() if len(parts) == 6}
    names = tuple(whole)[:MOST_PLATES]
    columns = np.array([[whole[name][part] for part in FORCES] for name in names], np.intp).reshape(-1, 6)
    units = {channels[k].unit.replace(" ", "").casefold() for k in columns[:, 3:].ravel().tolist()}
    scale = MOMENT_SCALES.get(next(iter(units)), 1.0) if len(units) == 1 else 1.0
    return ForceChannels(tuple(name or "plate" for name in names), columns, scale)


def positions_of(sample: NDArray[np.float64], markers: MarkerChannels) -> NDArray[np.float64]:
    """Return (n_marker, 3) positions in a sample (n_channel,); missing numbers and 0, 0, 0 are occlusions and
    become NaN.
    """
    found = sample[markers.columns]
    gone = ~np.isfinite(found).all(axis=1) | ~found.any(axis=1)
    if gone.any():
        found[gone] = np.nan
    return found
