"""Misfit between the calculated pressure of ellipsoids on the plane Z = 0 and the measured pressure, with its
exact derivatives.

The calculated pressure p of a cell is the sum over the ellipsoids of k_V depth (1 + a_V v_n), clamped at 0,
with the stiffness k_V, the damping a_V, the depth of the ellipsoid below the plane at the cell, and the
normal velocity v_n of its body there (Gonthier 2007; Brown 2017, MASc thesis, eq. 5.44). The misfit of a
frame is that of eq. 5.52, the area of a cell times the sum of |p - p_m| over all cells, with the measured
pressures p_m. If an ellipsoid's centre moves by dc, its axes rotate by dtheta and its radii r_k grow by dr_k,
a point of its surface at u from the centre moves along Z by [g . dc + (u x g) . dtheta + sum dr_k (axis_k .
u)^2/r_k^3]/g_z, with the gradient g = M u of the quadratic form u' M u = 1 of the ellipsoid.

A sum of magnitudes has a kink where a difference changes its sign, and no second derivative there. With
weights 1/|p - p_m| from the present pressures, the square of the sum is at most (sum |p - p_m|) sum (p -
p_m)^2/|p - p_m|, and equal to it at the present pressures. A search should use the curvature of this bound
(iteratively reweighted least squares).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.compiler.jit import entry, inlined, njit
from kernels.contact.parameter_slopes import (
    BY_CENTRE,
    BY_DAMPING,
    BY_RADIUS,
    BY_STIFFNESS,
    BY_TURN,
    N_PARAMETER,
)
from kernels.contact.prescribed import N_MOTION, POSITION, SPEED, TURNED, TURNING
from kernels.contact.pressure import DAMPING, STIFFNESS

BY_C, BY_W, BY_R, BY_K, BY_D, BY_V = 0, 3, 6, 9, 10, 11
"""Indices of the derivatives that are summed over the cells: by the centre (3), by a rotation about it (3),
by the radii (3), by stiffness, by damping, and by the normal velocity: that of the body's origin, and its
gradients along X and Y."""
N_SUM = 14
SOFT = 10.0
"""Difference of pressures below which its magnitude is treated as smooth in the curvature [Pa]."""
N_ROW = N_PARAMETER + N_MOTION
"""Rows of the curvature of a contact: its parameters, then the motion of its body."""


class MeasuredPressure(NamedTuple):
    """Measured pressure of n frames on one common set of cells."""

    frames: np.ndarray  # (n,) int64 - of the recorded motion
    cells: np.ndarray  # (n_cell, 2) - their middles, X and Y [m]
    pressure: np.ndarray  # (n, n_cell) - [Pa]
    area: float  # of a cell [m^2]


class MisfitWork(NamedTuple):
    """Misfits and derivatives of n frames, and working space for one frame."""

    misfit: Annotated[np.ndarray, Floats("n")]  # [N]
    pressure: Annotated[np.ndarray, Floats("n", "n_cell")]  # calculated [Pa]
    # of the misfit, as kernels/contact/prescribed has it
    by_motion: Annotated[np.ndarray, Floats("n", "n_body", N_MOTION)]
    # as kernels/contact/parameter_slopes has it
    by_parameter: Annotated[np.ndarray, Floats("n", "n_contact", N_PARAMETER)]
    # (n, n_contact, N_ROW, N_ROW) - area^2 times the sum of slopes by slopes over max(|p - p_m|, SOFT)
    curvature: Annotated[np.ndarray, Floats("n", "n_contact", N_ROW, N_ROW)]
    row: Annotated[np.ndarray, Floats(N_ROW)]  # slopes of the pressure of one cell, per unit area
    form: Annotated[np.ndarray, Floats(6, 3)]  # of an ellipsoid: its matrix M [1/m^2], then its axes as rows
    sums: Annotated[np.ndarray, Floats(N_SUM)]


def new_misfit_work(measured: MeasuredPressure, n_body: int, n_contact: int) -> MisfitWork:
    """Allocate a MisfitWork: misfits and derivatives of all frames, and working space."""
    n = len(measured.frames)
    return allocate(MisfitWork, n=n, n_cell=len(measured.cells), n_body=n_body, n_contact=n_contact)


@entry
def pressure_misfit(model, recorded, measured, work, with_derivatives):
    """Write the misfits (work.misfit) and the calculated pressures (work.pressure); with derivatives also
    work.by_motion, work.by_parameter and work.curvature.

    model : Prescribed - contacts of ellipsoids with the plane Z = 0, of the volumetric law
    recorded : RecordedBodies - positions and velocities of the bodies in every frame
    measured : MeasuredPressure - measured pressures of the frames to compare with
    work : MisfitWork - results and working space, written
    with_derivatives : bool - whether the derivatives are written, too
    """
    for f in range(measured.frames.shape[0]):
        n, p = measured.frames[f], work.pressure[f]
        for m in range(p.shape[0]):
            p[m] = 0.0
        for e in range(model.contacts.pair.shape[0]):
            add_pressure(model, e, recorded, n, measured.cells, work.form, p)
        total = 0.0
        for m in range(p.shape[0]):
            total += abs(p[m] - measured.pressure[f, m])
        work.misfit[f] = measured.area * total
        if with_derivatives:
            misfit_slopes(model, recorded, measured, f, work)


@inlined
def misfit_slopes(model, recorded, measured, f, work):
    """Write the derivatives of the misfit of frame f with respect to the motion of the bodies
    (work.by_motion[f]) and to the parameters of the contacts (work.by_parameter[f]), and a matrix that a
    search uses in place of second derivatives (work.curvature[f]): the sum, over all cells, of the products
    of two derivatives of the cell's pressure force, divided by |p - p_m|. Call it after work.pressure[f] is
    written.

    model : Prescribed - the contacts of bodies with given motion
    recorded : RecordedBodies - positions and velocities of the bodies in every frame
    measured : MeasuredPressure - measured pressures of the frames to compare with
    f : int - index of the frame in measured.frames
    work : MisfitWork - results and working space, written
    """
    n = measured.frames[f]
    for b in range(work.by_motion.shape[1]):
        for r in range(N_MOTION):
            work.by_motion[f, b, r] = 0.0
    for e in range(model.contacts.pair.shape[0]):
        b, curvature = model.pairs.body_a[e], work.curvature[f, e]
        for r in range(N_PARAMETER):
            work.by_parameter[f, e, r] = 0.0
        for r in range(N_ROW):
            for c in range(N_ROW):
                curvature[r, c] = 0.0
        place_form(model.contacts, e, recorded.rotation[n, b], work.form)
        add_slopes(model, e, recorded, n, measured, f, work)
        for r in range(N_ROW):
            for c in range(r):
                curvature[c, r] = curvature[r, c]


@inlined
def place_form(contacts, e, R, form_out):
    """Write the matrix M of the quadratic form of an ellipsoid, and its axes, in ground.

    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact
    R : (3, 3) - axes of its body in ground, as columns
    form_out : (6, 3) - M [1/m^2] in rows 0 to 2, the axes as rows 3 to 5; written
    """
    for k in range(3):
        for i in range(3):
            form_out[3 + k, i] = 0.0
            for j in range(3):
                form_out[3 + k, i] += R[i, j] * contacts.rotation[e, j, k]
    for i in range(3):
        for j in range(3):
            form_out[i, j] = 0.0
            for k in range(3):
                r = contacts.radii[e, k]
                form_out[i, j] += form_out[3 + k, i] * form_out[3 + k, j] / (r * r)


@njit
def centre_of(recorded, n, b, offset, i):
    """Return coordinate i in ground of a point that is fixed to body b, in frame n [m].

    recorded : RecordedBodies - positions and velocities of the bodies in every frame
    n : int - index of the frame
    b : int - index of the body
    offset : (3,) - position of the point on the body [m]
    i : int - index of the coordinate
    """
    R = recorded.rotation[n, b]
    along = R[i, 0] * offset[0] + R[i, 1] * offset[1] + R[i, 2] * offset[2]
    return recorded.position[n, b, i] + along


@njit
def column(M, dx, dy):
    """Return the heights (z_low, z_high) at which a vertical line meets an ellipsoid [m].

    Heights and positions are relative to the ellipsoid's centre. (1, -1) is returned where the line misses
    it.

    M : (3, 3) - matrix of the quadratic form of the ellipsoid [1/m^2]
    dx, dy : float - position of the line [m]
    """
    a, b = M[2, 2], M[0, 2] * dx + M[1, 2] * dy
    c = M[0, 0] * dx * dx + 2.0 * M[0, 1] * dx * dy + M[1, 1] * dy * dy - 1.0
    rest = b * b - a * c
    if rest <= 0.0:
        return 1.0, -1.0
    root = math.sqrt(rest)
    return (-b - root) / a, (root - b) / a


@inlined
def add_pressure(model, e, recorded, n, cells, form, p_out):
    """Add the pressure of contact e in frame n to p_out.

    model : Prescribed - the contacts of bodies with given motion
    e : int - index of the contact
    recorded : RecordedBodies - positions and velocities of the bodies in every frame
    n : int - index of the frame
    cells : (n_cell, 2) - middles of the cells, X and Y [m]
    form : (6, 3) - working space for the form of the ellipsoid, written
    p_out : (n_cell,) - pressure [Pa]
    """
    b, law = model.pairs.body_a[e], model.contacts.pressure[e]
    place_form(model.contacts, e, recorded.rotation[n, b], form)
    offset = model.contacts.centre[e]
    cx, cy = centre_of(recorded, n, b, offset, 0), centre_of(recorded, n, b, offset, 1)
    cz = centre_of(recorded, n, b, offset, 2)
    px, py = recorded.position[n, b, 0], recorded.position[n, b, 1]
    wx, wy, vz = recorded.turning[n, b, 0], recorded.turning[n, b, 1], recorded.velocity[n, b, 2]
    for m in range(cells.shape[0]):
        x, y = cells[m, 0], cells[m, 1]
        low, high = column(form, x - cx, y - cy)
        if low > high or cz + low >= 0.0:
            continue
        bracket = 1.0 - law[DAMPING] * (vz + wx * (y - py) - wy * (x - px))
        if bracket > 0.0:
            p_out[m] += law[STIFFNESS] * (min(high, -cz) - low) * bracket


@inlined
def add_slopes(model, e, recorded, n, measured, f, work):
    """Add the derivatives of contact e to those of frame f in work.

    These are work.by_motion[f], work.by_parameter[f, e] and work.curvature[f, e]; of the curvature only the
    lower half is written.

    model : Prescribed - the contacts of bodies with given motion
    e : int - index of the contact
    recorded : RecordedBodies - positions and velocities of the bodies in every frame
    n : int - index of the frame
    measured : MeasuredPressure - measured pressures of the frames to compare with
    f : int - number among the measured frames
    work : MisfitWork - its field form holds the ellipsoid in frame n; sums, row and the results are written
    """
    b, law = model.pairs.body_a[e], model.contacts.pressure[e]
    R, w, offset = recorded.rotation[n, b], recorded.turning[n, b], model.contacts.centre[e]
    cx, cy = centre_of(recorded, n, b, offset, 0), centre_of(recorded, n, b, offset, 1)
    cz = centre_of(recorded, n, b, offset, 2)
    px, py, vz = recorded.position[n, b, 0], recorded.position[n, b, 1], recorded.velocity[n, b, 2]
    for m in range(measured.cells.shape[0]):
        x, y = measured.cells[m, 0], measured.cells[m, 1]
        off = work.pressure[f, m] - measured.pressure[f, m]
        low, high = column(work.form, x - cx, y - cy)
        v_n = vz + w[0] * (y - py) - w[1] * (x - px)
        if low > high or cz + low >= 0.0 or 1.0 - law[DAMPING] * v_n <= 0.0 or off == 0.0:
            continue
        cell_slopes(model.contacts, e, (x - cx, y - cy, low, high, -cz), (x - px, y - py, v_n), work)
        share_parameters(R, work.sums, work.row)
        share_motion(R, offset, w, work.sums, work.row[N_PARAMETER:])
        add_cell(
            measured.area, off, work.row, work.by_parameter[f, e], work.by_motion[f, b], work.curvature[f, e]
        )


@njit
def cell_slopes(contacts, e, column_at, body_at, work):
    """Write into work.sums the derivatives of the pressure of contact e in one cell.

    contacts : Contacts - the surfaces of all contacts, their laws and parameters
    e : int - index of the contact
    column_at : (x, y, lower z, upper z, z of the plane) - the vertical line through the cell, where it meets
      the ellipsoid, and the plane, relative to the ellipsoid's centre [m]
    body_at : (x, y, v_n) - position of the cell relative to the body's origin [m], and normal velocity there
      [m/s]
    work : MisfitWork - its field form holds the ellipsoid; its field sums : (N_SUM,) is written
    """
    ux, uy, low, high, plane = column_at
    rx, ry, v_n = body_at
    law, radii, sums = contacts.pressure[e], contacts.radii[e], work.sums
    for r in range(N_SUM):
        sums[r] = 0.0
    bracket, depth = 1.0 - law[DAMPING] * v_n, min(high, plane) - low
    by_depth = law[STIFFNESS] * bracket
    add_surface(work.form, radii, ux, uy, low, -by_depth, sums)
    if high < plane:
        add_surface(work.form, radii, ux, uy, high, by_depth, sums)
    sums[BY_K] = depth * bracket
    sums[BY_D] = -law[STIFFNESS] * depth * v_n
    rate = -law[STIFFNESS] * depth * law[DAMPING]
    sums[BY_V], sums[BY_V + 1], sums[BY_V + 2] = rate, rate * rx, rate * ry


@njit
def add_cell(area, off, row, by_parameter, by_motion, curvature):
    """Add the contribution of one cell to the derivatives of the misfit and to its curvature.

    area : float - area of the cell [m^2]
    off : float - calculated less measured pressure [Pa]
    row : (N_ROW,) - derivatives of the pressure of the cell
    by_parameter : (N_PARAMETER,) - derivatives of the misfit with respect to the contact's parameters
    by_motion : (N_MOTION,) - derivatives of the misfit with respect to the motion of the body
    curvature : (N_ROW, N_ROW) - second derivatives of the quadratic upper bound of the squared misfit (see
        the module), of which the lower half is updated
    """
    sign, weight = math.copysign(area, off), area * area / max(abs(off), SOFT)
    for r in range(N_PARAMETER):
        by_parameter[r] += sign * row[r]
    for r in range(N_MOTION):
        by_motion[r] += sign * row[N_PARAMETER + r]
    for r in range(N_ROW):
        if row[r] != 0.0:
            for c in range(r + 1):
                curvature[r, c] += weight * row[r] * row[c]


@njit
def add_surface(form, radii, ux, uy, uz, weight, sums):
    """Add weight times the derivatives of the height (Z) of a point of an ellipsoid's surface, with respect
    to its centre, rotation and radii, to sums.

    form : (6, 3) - quadratic form and axes of the ellipsoid, as MisfitWork has them
    radii : (3,) - radii of the ellipsoid [m]
    ux, uy, uz : float - the point from the ellipsoid's centre [m]
    weight : float - factor of the derivatives
    sums : (N_SUM,) - derivatives of the pressure of a cell
    """
    gx = form[0, 0] * ux + form[0, 1] * uy + form[0, 2] * uz
    gy = form[1, 0] * ux + form[1, 1] * uy + form[1, 2] * uz
    gz = form[2, 0] * ux + form[2, 1] * uy + form[2, 2] * uz
    w = weight / gz
    sums[BY_C] += w * gx
    sums[BY_C + 1] += w * gy
    sums[BY_C + 2] += weight
    sums[BY_W] += w * (uy * gz - uz * gy)
    sums[BY_W + 1] += w * (uz * gx - ux * gz)
    sums[BY_W + 2] += w * (ux * gy - uy * gx)
    for k in range(3):
        along = form[3 + k, 0] * ux + form[3 + k, 1] * uy + form[3 + k, 2] * uz
        sums[BY_R + k] += w * along * along / (radii[k] * radii[k] * radii[k])


@njit
def share_parameters(R, sums, out):
    """Compute the derivatives of the pressure of a cell with respect to the parameters of the contact from
    sums, and write them into out.

    R : (3, 3) - axes of its body in ground, as columns
    sums : (N_SUM,) - derivatives of the pressure of the cell, along the axes of ground
    out : (N_PARAMETER,) - derivatives with respect to the parameters, written
    """
    for k in range(N_PARAMETER):
        out[k] = 0.0
    for k in range(3):
        for i in range(3):
            out[BY_CENTRE + k] += R[i, k] * sums[BY_C + i]
            out[BY_TURN + k] += R[i, k] * sums[BY_W + i]
        out[BY_RADIUS + k] = sums[BY_R + k]
    out[BY_STIFFNESS], out[BY_DAMPING] = sums[BY_K], sums[BY_D]


@njit
def share_motion(R, offset, w, sums, out):
    """Compute the derivatives of the pressure of a cell with respect to the motion of the body from sums, and
    write them into out.

    R : (3, 3) - axes of the body in ground, as columns
    offset : (3,) - centre of the ellipsoid on the body [m]
    w : (3,) - angular velocity of the body [rad/s]
    sums : (N_SUM,) - derivatives of the pressure of the cell, along the axes of ground
    out : (N_MOTION,) - derivatives with respect to the motion, written
    """
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        rj = R[j, 0] * offset[0] + R[j, 1] * offset[1] + R[j, 2] * offset[2]
        rk = R[k, 0] * offset[0] + R[k, 1] * offset[1] + R[k, 2] * offset[2]
        out[POSITION + i] = sums[BY_C + i]
        # e_i x r has r_j along k and -r_k along j
        out[TURNED + i] = sums[BY_W + i] + rj * sums[BY_C + k] - rk * sums[BY_C + j]
        out[SPEED + i], out[TURNING + i] = 0.0, 0.0
    # the cell stays where it is as the origin moves
    out[POSITION] += w[1] * sums[BY_V]
    out[POSITION + 1] -= w[0] * sums[BY_V]
    out[SPEED + 2] = sums[BY_V]
    out[TURNING], out[TURNING + 1] = sums[BY_V + 2], -sums[BY_V + 1]
