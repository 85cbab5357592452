"""Gait cycles stored as natural coordinates of four segments with their measured markers (.npz)."""

from __future__ import annotations

import math
import zipfile
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.reading import read_bounded
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial

SEGMENTS = ("foot", "shank", "thigh", "pelvis")
RATE = 100.0  # [Hz], of the cycles in this format


MOST_BYTES = 64_000_000  # of the file, and of each array
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class NaturalTrial(NamedTuple):
    """One cycle of a right lower limb in metres, Y up.

    Q : (n, 48) float64 - natural coordinates [u, rP, rD, w] of foot, shank, thigh, pelvis: the directions u
        and w [1], and the proximal and distal points rP and rD [m]
    markers : the measured skin markers, named <segment>_<number>, in the order of these segments
    """

    Q: NDArray[np.float64]
    markers: MarkerTrial


def read_natural(path: str | Path) -> NaturalTrial:
    """Read the gait cycle in an .npz file with arrays <segment>_Q (n, 12) and <segment>_rM (n, 3, n_marker).

    The arrays are in metres, Y up. ConfigError names the array that is missing or has another shape.
    """
    path = Path(path)
    arrays = _read_arrays(path)
    n = arrays["foot_Q"].shape[0] if "foot_Q" in arrays and arrays["foot_Q"].ndim else 0
    coordinates, positions, names = [], [], []
    for segment in SEGMENTS:
        coordinates.append(_array(arrays, f"{segment}_Q", (n, 12), path))
        markers = _array(arrays, f"{segment}_rM", (n, 3, -1), path)
        positions.append(markers.swapaxes(1, 2))
        names += [f"{segment}_{number + 1}" for number in range(markers.shape[2])]
    trial = MarkerTrial(
        names=tuple(names),
        times=np.arange(n) / RATE,
        positions=np.ascontiguousarray(np.concatenate(positions, axis=1)),
        rate=RATE,
        source=str(path),
        notes=(
            f"units (m), up axis (Y) and rate ({RATE:g} Hz) are those that the format defines; the "
            "file does not state them",
        ),
    )
    return NaturalTrial(np.concatenate(coordinates, axis=1), trial)


def _read_arrays(path: Path) -> dict[str, NDArray[np.float64]]:
    """Read those arrays of an .npz file whose names belong to the format; each is limited in size, even if
    compressed.
    """
    arrays = {}
    data = read_bounded(path, MOST_BYTES, "give a file with one gait cycle")
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = set(archive.namelist())
            for name in (f"{segment}_{what}" for segment in SEGMENTS for what in ("Q", "rM")):
                if f"{name}.npy" in members:
                    with archive.open(f"{name}.npy") as member:
                        arrays[name] = _parse_array(member.read(MOST_BYTES + 1))
    except Exception as error:  # zip and header errors are of many types
        raise ConfigError(f"this is not an .npz file of arrays ({error})", where=str(path)) from None
    return arrays


def _parse_array(data: bytes) -> NDArray[np.float64]:
    """Parse the array in the bytes of an .npy file, which must contain as many numbers as its header says."""
    if len(data) > MOST_BYTES:
        raise ValueError(f"an array is larger than {MOST_BYTES / 1e6:.6g} MB")
    stream = BytesIO(data)
    read_header = HEADERS[np.lib.format.read_magic(stream)]
    shape, in_columns, kind = read_header(stream)
    rest = data[stream.tell() :]
    if kind.hasobject or kind.itemsize * math.prod(shape) != len(rest):
        raise ValueError(f"{len(rest)} bytes do not fit an array of shape {shape}, type {kind}")
    return np.frombuffer(rest, kind).reshape(shape, order="F" if in_columns else "C")


def _array(
    arrays: dict[str, NDArray[np.float64]], name: str, shape: tuple[int, ...], path: Path
) -> NDArray[np.float64]:
    """Return the array called `name` after checks of shape and type; -1 in `shape` stands for any length."""
    array = arrays.get(name)
    wanted = "(" + ", ".join("any" if length < 0 else str(length) for length in shape) + ")"
    if array is None:
        raise ConfigError(f"the array {name} of shape {wanted} is missing", where=str(path))
    fits = array.ndim == len(shape) and all(b in (-1, a) for a, b in zip(array.shape, shape, strict=True))
    if not fits or array.shape[0] == 0 or not np.issubdtype(array.dtype, np.floating):
        raise ConfigError(
            f"the array {name} has shape {array.shape}, type {array.dtype}",
            where=str(path),
            allowed=f"floats of shape {wanted}",
        )
    return array.astype(np.float64)
