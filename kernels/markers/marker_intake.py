"""Conversion of received markers to the model's order, unit and axes, and of a left leg to a right one."""

from __future__ import annotations

import math

from kernels.compiler.jit import njit
from kernels.markers.marker_limits import FARTHEST, FILLERS


@njit
def take_in(positions, source, scale, z_up, mirror, group, x_out):
    """Convert received markers to the model's order and to ground axes with Y up, in metres.

    A marker becomes NaN if the stream does not contain it, if its coordinates are all 0 or all the same
    number of FILLERS (codes for occluded markers), or if one is larger than FARTHEST.

    Returns (length, rise, sideways, n_far). The first three show whether unit and axes are plausible: length,
    Y and Z component [m] of the vector from the mean of the visible markers of the lower group to that of the
    upper group, before mirroring; NaN where a group has no visible marker. n_far is the number of markers
    farther than FARTHEST.

    positions : (n, 3) - as received, in a unit of `scale` metres
    source : (n_marker,) int64 - row of each model marker, -1 = not in the stream
    scale : float - metres per unit of the stream
    z_up : int - 1 = the stream has Z up, which is rotated to Y up
    mirror : int - 1 = exchange left and right of the body (a left leg becomes a right one)
    group : (n_marker,) int64 - 1 = in the upper group, -1 = in the lower one, 0 = in neither
    x_out : (n_marker, 3) - marker positions [m], written
    """
    n_marker = source.shape[0]
    top_x, top_y, top_z, n_top = 0.0, 0.0, 0.0, 0
    low_x, low_y, low_z, n_low = 0.0, 0.0, 0.0, 0
    n_far = 0
    for m in range(n_marker):
        row = source[m]
        if row < 0:
            x_out[m, 0] = x_out[m, 1] = x_out[m, 2] = math.nan
            continue
        x, y, z = scale * positions[row, 0], scale * positions[row, 1], scale * positions[row, 2]
        first = positions[row, 0]
        alike = first == positions[row, 1] and first == positions[row, 2]
        if alike and (first == 0.0 or abs(first) in FILLERS):
            x = y = z = math.nan  # how some systems say "not seen"
        if abs(x) > FARTHEST or abs(y) > FARTHEST or abs(z) > FARTHEST:
            x = y = z = math.nan
            n_far += 1
        if z_up == 1:
            y, z = z, -y
        if math.isfinite(x) and math.isfinite(y) and math.isfinite(z):
            if group[m] > 0:
                top_x, top_y, top_z, n_top = top_x + x, top_y + y, top_z + z, n_top + 1
            elif group[m] < 0:
                low_x, low_y, low_z, n_low = low_x + x, low_y + y, low_z + z, n_low + 1
        x_out[m, 0], x_out[m, 1], x_out[m, 2] = x, y, -z if mirror == 1 else z
    if n_top == 0 or n_low == 0:
        return math.nan, math.nan, math.nan, n_far
    dx = top_x / n_top - low_x / n_low
    dy = top_y / n_top - low_y / n_low
    dz = top_z / n_top - low_z / n_low
    return math.sqrt(dx * dx + dy * dy + dz * dz), dy, dz, n_far
