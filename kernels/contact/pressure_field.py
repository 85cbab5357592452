"""Pressure of volumetric contacts over a grid, as a pressure mat between the two surfaces would measure it.

A column is a line along the contact normal through a cell of the grid. The pressure in it is p = k_V depth (1
+ a_V v_n), where the depth is the length of the column that lies in both bodies. v_n is the normal velocity
of A at the column; it varies over the patch if A has an angular velocity about an axis in the plane. The
integral over the plane is the normal force of eq. 5.44, and its moment about the centroid is the rolling
resistance of eq. 5.45 (Brown 2017, MASc thesis; Gonthier 2007). The pressure is zero in a column whose damper
would pull, and in all columns of a contact whose normal force is clamped at zero.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.compiler.jit import inlined, njit
from kernels.contact.elements import AXIS, CENTRE, PATCH, POINT, PRESSING
from kernels.contact.geometries import find_columns
from kernels.contact.pressure import DAMPING, STIFFNESS
from kernels.forces.pairs import VELOCITY
from kernels.forces.places import direction, place


class Grid(NamedTuple):
    """Grid of cells in rows and columns on body B of a contact, at right angles to the normal."""

    corner: np.ndarray  # (3,) - centre of the cell in row 0 and column 0 [m]
    along_row: np.ndarray  # (3,) - unit, from one cell of a row to the next
    along_column: np.ndarray  # (3,) - unit, from one row to the next
    cell: np.ndarray  # (2,) - from one cell to the next, along a row and along a column [m]


class FieldWork(NamedTuple):
    """Working space of the pressure over a grid."""

    metric: Annotated[np.ndarray, Floats(3, 3)]  # of A's surface [1/m^2]
    centre_b: Annotated[np.ndarray, Floats(3)]  # of B's surface, relative to body 0's origin [m]
    axes: Annotated[np.ndarray, Floats(3, 3)]  # from cell to cell, from row to row, normal


def new_field_work() -> FieldWork:
    """Allocate a FieldWork: working space of the pressure over a grid."""
    return allocate(FieldWork)


@njit
def add_pressures(pairs, contacts, pose, work, pair_work, grid, field, pressure_out):
    """Add the pressure of all volumetric contacts, except those of triangle meshes, to pressure_out.

    It is called after kernels/contact/contacts; the grid lies on body B of every contact.

    pairs : Pairs - the two bodies of every pair
    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    pose : Pose - positions and orientations of all bodies in ground
    work : ContactWork - results and working space of the contacts
    pair_work : PairWork - motions, wrenches and slopes of the pairs
    grid : Grid - cells at whose middles the pressure is found, on body B of every contact
    field : FieldWork - working space, written
    pressure_out : (n_row, n_column) - pressure [Pa]
    """
    for e in range(contacts.pair.shape[0]):
        add_pressure(pairs, contacts, e, pose, work, pair_work, grid, field, pressure_out)


@inlined
def add_pressure(pairs, contacts, e, pose, work, pair_work, grid, field, pressure_out):
    """Add the pressure of contact e to pressure_out. All of pressure_out becomes NaN if the geometry of the
    contact has no columns.

    pairs : Pairs - the two bodies of every pair
    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact
    pose : Pose - positions and orientations of all bodies in ground
    work : ContactWork - results and working space of the contacts
    pair_work : PairWork - motions, wrenches and slopes of the pairs
    grid : Grid - cells at whose middles the pressure is found, on body B of every contact
    field : FieldWork - working space, written
    pressure_out : (n_row, n_column) - pressure [Pa]
    """
    row = work.state[e]
    if contacts.spread[e] == 0 or contacts.mesh[e] >= 0 or row[PATCH] <= 0.0 or not row[PRESSING] > 0.0:
        return
    p, axes = contacts.pair[e], field.axes
    radius_b = find_columns(pairs, contacts, e, pose, work.Q[e], field)
    if math.isnan(radius_b):  # a geometry that no column knows
        pressure_out[:] = math.nan
        return
    body = pairs.body_b[p]
    for k in range(2):
        x, y, z = direction(pose, body, (grid.along_row, grid.along_column)[k])
        axes[k, 0], axes[k, 1], axes[k, 2] = grid.cell[k] * x, grid.cell[k] * y, grid.cell[k] * z
    for i in range(3):
        axes[2, i] = row[AXIS + i]
    law = contacts.pressure[e, STIFFNESS], contacts.pressure[e, DAMPING]
    corner = place(pose, body, grid.corner)
    other = radius_b, field.centre_b
    V = pair_work.motion[p, VELOCITY]
    add_columns(corner, axes, field.metric, other, law, row, V, pressure_out)


@njit
def add_columns(corner, axes, metric, other, law, row, V, pressure_out):
    """Add the pressure of every column of a contact to pressure_out.

    The column through a cell at y from A's centre enters and leaves A at the distances t from the cell along
    the normal n with a t^2 + 2 b t + c = 0, a = n' M n, b = n' M y, c = y' M y - 1, M = `metric`. Along a row
    of cells b^2 - a c is a parabola; only the cells where it is positive have a column inside A.

    corner : (3,) - centre of the first cell relative to the origin of body 0 [m]
    axes : (3, 3) - rows: from cell to cell and from row to row [m], and the unit normal
    metric : (3, 3) - matrix M of A's surface, on which y' M y = 1 [1/m^2]
    other : (radius of B's surface [m], 0 = a plane; (3,) - its centre, or a point of the plane [m])
    law : (k_V [N/m^3], -a_V [s/m]) - parameters of the pressure law
    row : (N_STATE,) - the contact's row of ContactWork.state
    V : (6,) - velocity of A relative to B, about the origin of body 0 [rad/s, m/s]
    pressure_out : (n_row, n_column) - pressure [Pa]
    """
    u, n = axes[0], axes[2]
    Mn, Mu, across = times(metric, n), times(metric, u), cross(n, V)
    a, nu, bent = dot(n, Mn), dot(n, Mu), dot(n, Mu) ** 2 - dot(n, Mn) * dot(u, Mu)
    drift = dot(u, across)  # v_n changes along x by x . (n x w)
    for j in range(pressure_out.shape[0]):
        x = corner[0] + j * axes[1, 0], corner[1] + j * axes[1, 1], corner[2] + j * axes[1, 2]
        y = x[0] - row[CENTRE], x[1] - row[CENTRE + 1], x[2] - row[CENTRE + 2]
        My = times(metric, y)
        b = dot(n, My)
        inside, lean = b * b - a * (dot(y, My) - 1.0), b * nu - a * dot(u, My)
        spread = lean * lean - bent * inside
        if spread < 0.0:
            continue
        half = math.sqrt(spread)
        first, last = max(math.ceil((lean - half) / -bent), 0.0), math.floor((lean + half) / -bent)
        r = x[0] - row[POINT], x[1] - row[POINT + 1], x[2] - row[POINT + 2]
        v_n = row[PATCH + 2] + dot(r, across)
        for i in range(int(first), int(min(last + 1.0, 1.0 * pressure_out.shape[1]))):
            root = math.sqrt(max(inside + i * (2.0 * lean + i * bent), 0.0))
            low, high = (-b - i * nu - root) / a, (-b - i * nu + root) / a
            at = x[0] + i * u[0], x[1] + i * u[1], x[2] + i * u[2]
            depth = common(low, high, at, n, other)
            bracket = 1.0 - law[1] * (v_n + i * drift)
            if depth > 0.0 and bracket > 0.0:
                pressure_out[j, i] += law[0] * depth * bracket


@njit
def common(low, high, x, n, other):
    """Return the length of a column that lies within both surfaces [m]; negative or 0 where there is none.

    low, high : float - where the column enters and leaves A: distances from x along n [m]
    x : (3,) - middle of the cell [m]
    n : (3,) - unit normal towards A
    other : (radius of B's surface [m], 0 = a plane; (3,) - its centre, or a point of the plane [m])
    """
    radius, place_b = other
    away = x[0] - place_b[0], x[1] - place_b[1], x[2] - place_b[2]
    rise = dot(away, n)
    if radius == 0.0:
        return min(high, -rise) - low
    square = radius * radius - dot(away, away) + rise * rise
    if square <= 0.0:
        return 0.0
    half = math.sqrt(square)
    return min(high, half - rise) - max(low, -half - rise)


@inlined
def dot(x, y):
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]


@inlined
def cross(x, y):
    return x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]


@inlined
def times(A, x):
    return dot(A[0], x), dot(A[1], x), dot(A[2], x)
