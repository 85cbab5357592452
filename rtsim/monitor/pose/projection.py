"""The camera of the stick figure: conversion of ground positions (Y up) to pixels, orthographic or with
perspective.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SPAN_LIMITS = (0.05, 3000.0)  # m of scene over the height of the view
ASPECT = 1.25  # a view narrower than height / ASPECT zooms out instead of cutting the figure off
EYE_DISTANCE = 3.5  # distance of the eye in spans: a mild perspective, without wide-angle distortion
N_FIT, FIT_EXACT = 8, 0.01  # rounds in which a figure is fitted, and how nearly
FILLED = 0.9  # of the view within its border, by a figure that was just fitted ...
FILLED_LEAST = 0.35  # ... and by one that is fitted anew, as is one that grows beyond the view
TURNED_LEAST = 25.0  # deg; by so much a person must have turned before planes of the person follow
EXTENT_LEAST = 0.1  # m; a smaller figure is not blown up any more
FAR = 1e4  # m; a position farther off is no position
NEAREST = 0.1  # share of the eye distance at which points are held, so that none passes behind the eye


FACING = ("pelvis", "thigh", "femur", "shank", "tibia", "foot", "skull")
"""Segments whose Z axis points to the right of a person; the first present one shows where they face."""
LEVEL_LEAST = (
    0.5  # share of such an axis in the horizontal below which it says nothing, as of who lies on a side
)


class View(NamedTuple):
    """A named direction of view. Azimuth 0 is from the right of a person, who then faces to the right of the
    picture, and 90 from the front [deg]. If the direction of the person is unknown, azimuths are relative to
    the room's X axis.
    """

    azimuth: float
    elevation: float
    perspective: bool


VIEWS: dict[str, View] = {
    "Sagittal": View(0.0, 0.0, False),
    "Frontal": View(90.0, 0.0, False),
    "Transverse": View(0.0, 90.0, False),
    "3-D": View(35.0, 14.0, True),
}


def across(labels: Sequence[str], rotations: Array) -> float:
    """Return the azimuth from which a person is seen from the right [deg], by the mediolateral axis of a
    segment; NaN if there is no such segment or its axis is nearly vertical.

    labels : names of the segments
    rotations : (n, 3, 3) rotation matrices from segment to ground
    """
    names = [label.removesuffix("_r").removesuffix("_l") for label in labels]
    for name in FACING:
        if name in names:
            x, _, z = rotations[names.index(name)][:, 2].tolist()
            return math.degrees(math.atan2(x, z)) if math.hypot(x, z) >= LEVEL_LEAST else math.nan
    return math.nan


class Camera:
    """A camera that orbits a target point.

    Attributes
    ----------
    target : (3,) point of the ground frame in the middle of the view [m]
    azimuth, elevation : direction of the camera as seen from the target [deg]
    span : height of the scene that fits into the view [m]
    perspective : whether near things look larger
    """

    def __init__(self) -> None:
        self.target: Array = np.array([0.0, 0.5, 0.0])
        self.span = 1.6
        self.azimuth, self.elevation, self.perspective = VIEWS["3-D"]

    def look(self, view: View, across: float = 0.0) -> None:
        """Use a named direction of view; target and zoom stay.

        across : azimuth from which the person is seen from the right [deg]; NaN counts as 0, the view along
            the room's Z axis
        """
        self.azimuth, self.elevation, self.perspective = view
        if not math.isnan(across):
            self.azimuth = (self.azimuth + across + 180.0) % 360.0 - 180.0

    def orbit(self, d_azimuth: float, d_elevation: float) -> None:
        """Rotate the camera around the target by two angles [deg]; it never passes over the pole."""
        self.azimuth = (self.azimuth + d_azimuth + 180.0) % 360.0 - 180.0
        self.elevation = min(90.0, max(-90.0, self.elevation + d_elevation))

    def zoom(self, factor: float) -> None:
        """Show `factor` times as much of the scene."""
        self.span = min(SPAN_LIMITS[1], max(SPAN_LIMITS[0], self.span * factor))

    def filled(self, points: Array, width: float, height: float, border: float) -> float:
        """Return the fraction of the view that points (n, 3) fill, horizontally or vertically, whichever is
        larger; 1 = up to the border.

        width, height : size of the view [px]
        border : margin along its edges that is kept free [px]
        """
        middle = np.array([0.5 * width, 0.5 * height])
        reach = np.maximum(middle - border, 1.0)
        pixels = self.project(points, width, height)[:, :2]
        return float((np.abs(pixels - middle) / reach).max(initial=0.0))

    def fit(self, points: Array, width: float, height: float, border: float, share: float) -> None:
        """Zoom so that points (n, 3) fill the fraction `share` of the view inside its border [px]."""
        for _ in range(N_FIT):  # in perspective the zoom moves the eye, too
            filled = self.filled(points, width, height, border) / share
            self.zoom(max(filled, 1e-3))
            if abs(filled - 1.0) < FIT_EXACT:
                return

    def basis(self) -> Array:
        """Return the rotation (3, 3) from ground to view, with rows: right and up on the screen, and towards
        the viewer.
        """
        azimuth, elevation = math.radians(self.azimuth), math.radians(self.elevation)
        ca, sa, ce, se = math.cos(azimuth), math.sin(azimuth), math.cos(elevation), math.sin(elevation)
        return np.array([[ca, 0.0, -sa], [-sa * se, ce, -ca * se], [sa * ce, se, ca * ce]])

    def pixels_per_metre(self, width: float, height: float) -> float:
        """Return the scale at the target for a view of this size [px/m]."""
        return min(height, ASPECT * width) / self.span

    def project(self, points: Array, width: float, height: float) -> Array:
        """Return the pixels of ground positions.

        Parameters
        ----------
        points : (n, 3) positions in the ground frame [m]; NaN stays NaN
        width, height : size of the view [px]; pixel (0, 0) is its top left corner

        Returns
        -------
        (n, 3) columns: x, y [px] and nearness to the viewer, measured from the target [m]
        """
        seen = (points - self.target) @ self.basis().T
        scale: float | Array = self.pixels_per_metre(width, height)
        if self.perspective:
            distance = EYE_DISTANCE * self.span
            scale = scale * distance / np.maximum(distance - seen[:, 2], NEAREST * distance)
        pixels = np.empty_like(seen)
        pixels[:, 0] = 0.5 * width + scale * seen[:, 0]
        pixels[:, 1] = 0.5 * height - scale * seen[:, 1]
        pixels[:, 2] = seen[:, 2]
        return pixels


def floor_grid(centre: Array, half_width: float, step: float) -> Array:
    """Return the lines of a square grid on the floor (y = 0), fixed to the ground, not to the camera.

    Parameters
    ----------
    centre : (3,) position above which the grid is centred [m]; it snaps to whole steps
    half_width : half the side of the square [m]
    step : distance of the lines [m]

    Returns
    -------
    (2 n, 3) end points, two per line [m]
    """
    n_side = round(half_width / step)
    offsets = step * np.arange(-n_side, n_side + 1)
    reach = n_side * step
    x0, z0 = step * np.round(centre[0] / step), step * np.round(centre[2] / step)
    n_line = len(offsets)
    lines = np.zeros((2 * n_line, 2, 3))
    lines[:n_line, :, 0] = (x0 + offsets)[:, None]
    lines[:n_line, :, 2] = z0 + reach * np.array([-1.0, 1.0])
    lines[n_line:, :, 2] = (z0 + offsets)[:, None]
    lines[n_line:, :, 0] = x0 + reach * np.array([-1.0, 1.0])
    return lines.reshape(-1, 3)
