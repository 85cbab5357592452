"""Force plates of C3D files: their channels converted to wrenches in ground, with the same rotation as the
markers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.forces.force_trial import (
    MOST_DRIFT,
    THRESHOLD,
    ForceTrial,
    RawForces,
    are_corners,
    edges,
    force_trial,
    spans,
)
from rtsim.files.forces.force_units import moment_unit, newton_metres_per_unit, newtons_per_unit
from rtsim.files.forces.plate_types import TYPES, PlateType
from rtsim.files.markers.axes import rotate_to_ground
from rtsim.files.markers.c3d import MOST_PLATES, is_unnamed, raw_markers, whole_content
from rtsim.files.markers.c3d_process import Content
from rtsim.files.markers.ground import settle
from rtsim.units import METRES, STREAMED

FloatArray = NDArray[np.float64]
MOVED = (TYPES[2], TYPES[4])
"""Types of plates whose moments are shifted by the whole vector ORIGIN."""
USUAL = (0.15, 5.0)
"""Usual range of the edges of a plate [m]; outside it the corners may be in another unit."""
LEVEL = 0.9
"""Smallest vertical component of a plate's unit normal for the plate to count as level."""
GREATEST = 1e12
"""Largest value of a channel or parameter of a plate, in any unit; products of smaller ones are finite."""


class NoPlatesError(ConfigError):
    """Raised for a file without force plates."""


class _Plate(NamedTuple):
    """A force plate as described in the file.

    number : number of the plate, from 1
    channels : (n_sample, n_channel) - its channels [N, N m, m]
    origin : (3,) - FORCE_PLATFORM:ORIGIN [m]
    corners : (4, 3) - in ground [m]
    """

    number: int
    kind: PlateType
    channels: FloatArray
    origin: FloatArray
    corners: FloatArray


@np.errstate(invalid="ignore", over="ignore")  # infinite and absurd samples are told by force_trial
def read_c3d_forces(path: str | Path, *, up: str | None = None, units: str | None = None) -> ForceTrial:
    """Read the force plates of a C3D file as forces in ground.

    Plates of types 1 to 4 are supported. Assumptions, corrections and omissions are listed in the notes.
    ConfigError for a file without readable plates.

    up, units : axis that points up, and unit of length (after a comma also the unit of moments), which
        override those of the file
    """
    path = Path(path)
    content, announced = whole_content(path, with_analogs=True)
    settled = settle(raw_markers(content, path, announced, unnamed=is_unnamed(content)), up, units)
    n_plate = _count(content, path)
    plates: list[_Plate] = []
    notes = [note for note in content.notes if "ANALOG" in note]
    for index in range(n_plate):
        plate, said = _plate(content, index, settled.scale, settled.up, moment_unit(units))
        notes += said
        if plate is not None:
            plates.append(plate)
    if not plates:
        raise ConfigError(
            f"none of the force plates can be read: {'; '.join(notes)}",
            where=str(path),
            remedy="export the forces as .mot, or the plates as types 1 to 4",
        )
    rate = content.analog_rate
    if not 0.0 < rate < math.inf:
        raise ConfigError(f"the rate of the analog samples is {rate:g} Hz", where=str(path))
    notes += _tell_uncorrected(content, plates)
    wrenches = [_without_zero(content, plate, *_wrench(plate), notes) for plate in plates]
    or_up = (
        "; or the up axis is wrong (see the note on the up axis of the markers)" if settled.doubted else ""
    )
    notes += [f"{note}{or_up}" for note in _tell_odd(plates)]
    if settled.up != "+Y":
        notes.append(f"forces and plates were rotated, like the markers, from {settled.up} up to Y up")
    n_sample = content.analogs.shape[0]
    raw = RawForces(
        names=tuple(f"plate_{plate.number}" for plate in plates),
        times=content.first / content.rate + np.arange(n_sample) / rate,
        rate=rate,
        corners=np.stack([plate.corners for plate in plates]),
        level=np.zeros(len(plates)),
        force=np.stack([force for force, _ in wrenches], axis=1),
        moment=np.stack([moment for _, moment in wrenches], axis=1),
        source=str(path),
        notes=tuple(notes),
        origins=np.stack(
            [_origin(p) @ edges(p.corners)[0] if p.kind in MOVED else np.full(3, np.nan) for p in plates]
        ),
    )
    return force_trial(raw, THRESHOLD, or_up)


def is_number(value: object) -> bool:
    """Return whether a value of a parameter is a finite number."""
    return isinstance(value, (int, float)) and math.isfinite(value)


def _count(content: Content, path: Path) -> int:
    """Return the number of force plates that the file describes; NoPlatesError for none, ConfigError for
    too many.
    """
    used = content.parameters["FORCE_PLATFORM"].get("USED", [])
    n_plate = int(used[0]) if used and is_number(used[0]) else 0
    if n_plate < 1 or content.analogs.size == 0:
        raise NoPlatesError(
            "the file contains no force plates",
            where=str(path),
            remedy="export the trial with its analog channels, or give the forces as .mot",
        )
    if n_plate > MOST_PLATES:
        raise ConfigError(f"{n_plate} force plates", where=str(path), allowed=f"up to {MOST_PLATES}")
    return n_plate


def _unit_of_corners(corners: FloatArray) -> str:
    """Return a text naming the unit with which corners (4, 3) would span a plate of usual size; "" if no
    unit or several do.
    """
    along, across = (float(np.linalg.norm(edge)) for edge in spans(corners))
    usual = [u for u in STREAMED if all(USUAL[0] <= METRES[u] * edge <= USUAL[1] for edge in (along, across))]
    if len(usual) != 1:
        return ""
    factor = METRES[usual[0]]
    return (
        f" (in {usual[0]}, the corners would span a surface of {factor * along:.2g} by "
        f"{factor * across:.2g} m)"
    )


def _numbers(content: Content, name: str, n: int, index: int, stride: int = 0) -> FloatArray | None:
    """Return `n` numbers of the parameter `name` for plate `index`; None if the parameter is too short.

    stride : how many numbers the parameter has for each plate, by default n
    """
    values = content.parameters["FORCE_PLATFORM"].get(name, [])
    start = (stride or n) * index
    numbers = values[start : start + n]
    if len(numbers) < n or any(isinstance(value, str) for value in numbers):
        return None
    array = np.array(numbers, dtype=np.float64)
    return array if bool((np.abs(array) <= GREATEST).all()) else None


def _plate(
    content: Content, index: int, scale: float, up: str, asked: str
) -> tuple[_Plate | None, list[str]]:
    """Read one force plate; return it, None if it cannot be read, and notes.

    index : number of the plate from 0
    scale, up : metres per unit of length, and axis of the file that points up
    asked : unit of moments that the user requested; "" = as in the file
    """
    name = f"force plate {index + 1}"
    code = _numbers(content, "TYPE", 1, index)
    kind = TYPES.get(int(code[0])) if code is not None else None
    if kind is None:
        known = "no type" if code is None else f"type {code[0]:g}"
        return None, [f"{name} has {known} and was left out, because only types 1 to 4 are read"]
    corners = _numbers(content, "CORNERS", 12, index)
    places = None if corners is None else rotate_to_ground(scale * corners.reshape(4, 3), up)
    if places is None or not are_corners(places):
        hint = "" if corners is None else _unit_of_corners(corners.reshape(4, 3))
        return None, [f"the corners of {name} do not span a surface{hint}; the plate was left out"]
    origin = _numbers(content, "ORIGIN", 3, index)
    if origin is None:
        return None, [f"{name} has no ORIGIN and was left out"]
    sizes = content.sizes.get("CHANNEL", [])
    stride = sizes[0] if len(sizes) > 1 else kind.n_channel
    wired = _numbers(content, "CHANNEL", kind.n_channel, index, stride)
    n_channel = content.analogs.shape[1]
    if wired is None or stride < kind.n_channel or not ((wired >= 1) & (wired <= n_channel)).all():
        return None, [f"{name} names channels that are not in the file, and was left out"]
    columns = wired.astype(np.int64) - 1
    samples = content.analogs[:, columns]
    samples = np.where(np.abs(samples) <= GREATEST, samples, np.nan)
    if kind.kinds[0] == "raw":
        matrix = _numbers(content, "CAL_MATRIX", 36, index)
        if matrix is None or not matrix.any():
            return None, [f"{name} has type 4 but no CAL_MATRIX of 6 by 6 numbers, and was left out"]
        samples = samples @ matrix.reshape(6, 6)  # columns of the file's matrix are rows here
    factors, said = _factors(content, columns, kind, scale, asked)
    plate = _Plate(index + 1, kind, samples * factors, scale * origin, places)
    return plate, [f"{name}: {note}" for note in said]


def _factors(
    content: Content, columns: NDArray[np.int64], kind: PlateType, scale: float, asked: str
) -> tuple[FloatArray, list[str]]:
    """Return the factors (n_channel,) that convert the channels of a plate to N, N m or m, and notes on
    units that are unknown or not those of the file.

    columns : indices of the plate's channels among the analog channels
    kind : type of the plate, which says what each channel measures
    scale : metres per unit of length in which the points were read; it applies to moments without a unit, too
    asked : unit of moments that the user requested; "" = as in the file
    """
    said = [str(text).strip() for text in content.parameters["ANALOG"].get("UNITS", [])]
    factors, odd, by_length = [], [], False
    for place, (column, what) in enumerate(zip(columns.tolist(), kind.kinds, strict=True)):
        unit = said[column] if column < len(said) else ""
        is_moment = what == "moment" or (what == "raw" and place > 2)
        if is_moment and (of_moments := newton_metres_per_unit(asked)):
            factors.append(of_moments)
            continue
        usual, factor = _unit_factor("moment" if is_moment else what, unit, scale)
        is_told = factor is not None and what != "raw"
        factors.append(factor if factor is not None and is_told else usual)
        by_length = by_length or (not is_told and (is_moment or what == "length"))
        if factor is None and unit and what != "raw":
            odd.append(unit)
    notes = []
    if odd:
        notes.append(
            f"channels in {', '.join(sorted(set(odd)))} were read as forces in N, and as "
            "moments in N times the unit of length of the points"
        )
    if by_length and scale != _declared_length(content):
        length = next((name for name, factor in METRES.items() if factor == scale), f"{scale:g} m")
        notes.append(
            f"the unit of its moments and lengths is not stated; they were read with {length} as the unit of "
            "length, like the points, although POINT:UNITS does not state it"
        )
    return np.array(factors), notes


def _unit_factor(what: str, unit: str, length: float) -> tuple[float, float | None]:
    """Return two factors to SI for a channel of a force plate: the one to use if the channel states no unit,
    and that of the unit that it states; the second is None if that is no unit of this quantity.

    what : quantity that the channel measures: "force", "moment" or "length"
    unit : unit as stated
    length : metres per unit of length of the file, by which moments are assumed to be in N times this length
    """
    if what == "moment":
        return length, newton_metres_per_unit(unit)
    if what == "length":
        return length, METRES.get(unit.lower())
    return 1.0, newtons_per_unit(unit)


def _declared_length(content: Content) -> float:
    """Return the metres per unit of length in POINT:UNITS; 0 if it states none that is known."""
    texts: Sequence[str] = [str(text) for text in content.parameters["POINT"].get("UNITS", [])]
    return METRES.get(texts[0].strip().strip(".").lower(), 0.0) if texts else 0.0


def _wrench(plate: _Plate) -> tuple[FloatArray, FloatArray]:
    """Return force and moment about the ground origin, in ground axes, (n, 3) each."""
    axes, _ = edges(plate.corners)
    force, moment = plate.kind.wrench(plate.channels, _origin(plate))
    force, moment = force @ axes, moment @ axes
    return force, moment + np.cross(plate.corners.mean(axis=0), force)


def _tell_uncorrected(content: Content, plates: Sequence[_Plate]) -> list[str]:
    """Return a note if the file states corrections of the centre of pressure, as these are not applied."""
    values = content.parameters["FORCE_PLATFORM"].get("FPCOPPOLY", [])
    if not any(isinstance(value, (int, float)) and value != 0.0 for value in values):
        return []
    numbers = ", ".join(f"force plate {plate.number}" for plate in plates)
    return [f"FORCE_PLATFORM:FPCOPPOLY, a correction of the centre of pressure, is not applied to {numbers}"]


def _origin(plate: _Plate) -> FloatArray:
    """Return the vector from the point at which the plate measures to the centre of its surface, (3,) [m]."""
    return -plate.origin if _is_above(plate) else plate.origin


def _without_zero(
    content: Content, plate: _Plate, force: FloatArray, moment: FloatArray, notes: list[str]
) -> tuple[FloatArray, FloatArray]:
    """Subtract from the force and moment of a plate, (n, 3) each, their mean over the frames that
    FORCE_PLATFORM:ZERO names; a note is added to `notes`.
    """
    zero = content.parameters["FORCE_PLATFORM"].get("ZERO", [])[:2]
    if len(zero) < 2 or not all(is_number(value) for value in zero) or not any(zero):
        return force, moment
    first, last = max(1, int(zero[0])), int(zero[1])
    if last < first:
        return force, moment
    name, where = f"force plate {plate.number}", f"frames {first} to {last} (FORCE_PLATFORM:ZERO)"
    per_frame = round(content.analog_rate / content.rate)
    start, stop = (first - 1 - content.first) * per_frame, (last - content.first) * per_frame
    if start < 0 or stop > force.shape[0] or stop <= start:
        notes.append(f"{name}: {where} are not in the file, so no zero was subtracted from this plate")
        return force, moment
    empty = force[start:stop, 1]
    if not (np.ptp(empty) <= THRESHOLD and abs(float(empty.mean())) <= MOST_DRIFT):
        notes.append(f"{name} is loaded in {where}, so no zero was subtracted from this plate")
        return force, moment
    notes.append(f"{name}: a zero of {empty.mean():.3g} N, measured in {where}, was subtracted")
    return force - force[start:stop].mean(axis=0), moment - moment[start:stop].mean(axis=0)


def _is_above(plate: _Plate) -> bool:
    """Return whether the sensor's origin according to ORIGIN would lie above the plate's surface, which is
    impossible.
    """
    axes, _ = edges(plate.corners)
    return bool(plate.origin @ axes[:, 1] < 0.0)


def _tell_odd(plates: Sequence[_Plate]) -> list[str]:
    """Return notes on force plates that were corrected, and on those in an unusual position."""
    turned = ", ".join(str(plate.number) for plate in plates if _is_above(plate))
    sloped = ", ".join(str(p.number) for p in plates if abs(edges(p.corners)[0][2, 1]) < LEVEL)
    notes = [
        f"check force plate {plate.number}: the surface of the plate is {a:.3g} by {b:.3g} m; check "
        "that its corners are in the unit of the points"
        for plate in plates
        for a, b in [(2.0 * edges(plate.corners)[1]).tolist()]
        if not USUAL[0] <= min(a, b) <= max(a, b) <= USUAL[1]
    ]
    if turned:
        notes.append(
            f"according to ORIGIN, the sensors would lie above the surface of force plate {turned}; "
            "the other sign was used, because some programs write ORIGIN with the opposite sign"
        )
    if sloped:
        notes.append(f"check force plate {sloped}: the corners are not in a horizontal plane")
    return notes
