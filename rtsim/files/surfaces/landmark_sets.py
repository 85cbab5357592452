"""Landmark sets as segmentation programs write them: AmiraMesh ASCII, points without names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtsim.config.reading import read_bounded
from rtsim.errors import ConfigError

HEAD, DATA = "# AmiraMesh", "@1"
SUFFIX = ".landmarkAscii"
N_MOST = 1_000_000
FARTHEST = 1e6
"""Largest plausible distance of a landmark from the origin, in the unit of the file."""


def read_landmarks(path: Path) -> NDArray[np.float64]:
    """Read the points of a file, (n, 3) in its unit; raise ConfigError if it is not a set of points."""
    text = read_bounded(path, N_MOST, "give a file of landmarks").decode("utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines()]
    begin = lines.index(DATA) + 1 if DATA in lines else 0
    if not text.startswith(HEAD) or not begin:
        raise refusal(path, "the file is not an AmiraMesh ASCII file of one landmark set")
    rows = [line.split() for line in lines[begin:] if line]
    try:
        points = np.array([[float(x) for x in row] for row in rows])
    except ValueError:
        raise refusal(path, "a landmark does not consist of three numbers") from None
    if points.ndim != 2 or points.shape[1] != 3:
        raise refusal(path, "a landmark does not consist of three numbers")
    if not (np.abs(points) <= FARTHEST).all():  # nor does NaN
        raise refusal(path, "a landmark has a coordinate that is not a finite number or is too large")
    return points


def refusal(path: Path, what: str) -> ConfigError:
    """Return the error for a file that cannot be read as landmarks; what : what is wrong with it, in words"""
    return ConfigError(
        what,
        where=str(path),
        remedy="export the landmarks again, or write their coordinates into the config as [x, y, z]",
    )
