"""The area between two curves, for windows and figures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pyqtgraph.functions import arrayToQPolygonF
from PySide6.QtGui import QPolygonF

Array = NDArray[np.float64]

ALPHA = 48
"""Opacity of a band, of 255, in its curve's colour: bands that overlap stay readable."""


def outline(x: Array, low: Array, high: Array) -> QPolygonF:
    """Return the closed outline of a band, along the lower edge and back along the upper one; all (n,)."""
    across, up = np.concatenate([x, x[::-1]]), np.concatenate([low, high[::-1]])
    polygon: QPolygonF = arrayToQPolygonF(across, up)  # without an object of Python for each point
    return polygon
