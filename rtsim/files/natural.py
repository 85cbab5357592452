"""Gait cycles stored as natural coordinates of four segments with their measured markers (.npz)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.trial import MarkerTrial

SEGMENTS = ("foot", "shank", "thigh", "pelvis")
RATE = 100.0  # [Hz], of the cycles in this format


class NaturalTrial(NamedTuple):
    """One cycle of a right lower limb in metres, Y up.

    Q : (n, 48) float64 - natural coordinates [u, rP, rD, w] of foot, shank, thigh, pelvis; u and w are
        directions [1], rP and rD points [m]
    markers : the measured skin markers, named <segment>_<number> in the same order
    """

    Q: NDArray[np.float64]
    markers: MarkerTrial


def read_natural(path: str | Path) -> NaturalTrial:
    """The cycle in an .npz file with arrays <segment>_Q (n, 12) and <segment>_rM (n, 3, n_marker).

    The arrays are in metres, Y up. ConfigError names the array that is missing or has another shape.
    """
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
    except FileNotFoundError:
        raise ConfigError("no such file", where=str(path), remedy="check the path") from None
    except Exception as error:  # zip, header and pickle errors are of many types
        raise ConfigError(f"this is not an .npz file of arrays ({error})", where=str(path)) from None
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
            f"units (m), up axis (Y) and rate ({RATE:g} Hz) are those of the format, not said in the file",
        ),
    )
    return NaturalTrial(np.concatenate(coordinates, axis=1), trial)


def _array(
    arrays: dict[str, NDArray[np.float64]], name: str, shape: tuple[int, ...], path: Path
) -> NDArray[np.float64]:
    """The named array, checked; -1 in `shape` stands for any length."""
    array = arrays.get(name)
    wanted = "(" + ", ".join("any" if length < 0 else str(length) for length in shape) + ")"
    if array is None:
        raise ConfigError(f"the array {name} {wanted} is missing", where=str(path))
    fits = array.ndim == len(shape) and all(b in (-1, a) for a, b in zip(array.shape, shape, strict=True))
    if not fits or array.shape[0] == 0 or not np.issubdtype(array.dtype, np.floating):
        raise ConfigError(
            f"the array {name} has shape {array.shape}, type {array.dtype}",
            where=str(path),
            allowed=f"floats of shape {wanted}",
        )
    return array.astype(np.float64)
