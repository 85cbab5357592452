"""Wrenches of the contacts of a foot, from its recorded motion, which splines over time correct, and from an
angle of its toes, which is a spline as well.

This is the inverse simulation of a footstep (Brown 2017, MASc thesis, section 5.3.2). The foot is shifted
along the axes of ground and rotated about them by C = Rx(a) Ry(b) Rz(c). Its toes are rotated about their own
axis. Three shifts, three angles and the angle of the toes are seven cubic splines over time.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.compiler.jit import entry, inlined
from kernels.contact.prescribed import (
    BodyMotion,
    Prescribed,
    PrescribedWork,
    contact_wrenches,
    new_motion,
    new_prescribed_work,
)
from kernels.contact.pressure_field import FieldWork, add_pressures, new_field_work

SHIFT, TURN, TOES = 0, 3, 6
"""Indices of the splines: shift along x, y, z [m], rotation about x, y, z and of the toes [rad]."""
N_SPLINE = 7
FOOT, TOE_BODY = 0, 1


class RecordedFoot(NamedTuple):
    """A foot's recorded motion, and the joint by which its toes are attached to it."""

    time: np.ndarray  # (n,) [s]
    position: np.ndarray  # (n, 3) - of its origin in ground [m]
    rotation: np.ndarray  # (n, 3, 3) - its axes as columns
    velocity: np.ndarray  # (n, 3) - of its origin [m/s]
    turning: np.ndarray  # (n, 3) - angular velocity [rad/s]
    toe_origin: np.ndarray  # (3,) - of the toes, on the foot [m]
    toe_axes: np.ndarray  # (3, 3) - axes of the toes on the foot where they are not turned, as columns
    toe_axis: np.ndarray  # (3,) - unit, what they turn about, in the axes of the foot


class Correction(NamedTuple):
    """Corrections of a foot's motion as cubic splines over time with evenly spaced knots."""

    start: float  # [s]
    step: float  # from knot to knot [s]
    cubic: np.ndarray  # (N_SPLINE, n_knot - 1, 4) - coefficients of u^0 to u^3, u = (t - knot)/step


class CorrectedWork(NamedTuple):
    """Wrenches (and pressures) of the contacts of a foot with corrected motion in n frames, and working space
    for one frame.
    """

    # on the foot, moment about the origin of ground [N m], force [N]
    wrench: Annotated[np.ndarray, Floats("n", 6)]
    pressure: np.ndarray  # (n, n_row, n_column) [Pa], or (0, ..) for none
    motion: BodyMotion
    contacts: PrescribedWork
    field: FieldWork
    turn: Annotated[np.ndarray, Floats(2, 3, 3)]
    way: Annotated[np.ndarray, Floats(2, N_SPLINE)]  # values of the splines and their rates


def new_corrected_work(model: Prescribed, n: int, shape: tuple[int, int] = (0, 0)) -> CorrectedWork:
    """Allocate a CorrectedWork: wrenches and pressures of n frames, and working space for one frame.

    model : Prescribed - contacts of the foot and its toes
    n : int - number of frames
    shape : (int, int) - rows and columns of the grid of pressures; (0, 0) = no pressures
    """
    return allocate(
        CorrectedWork,
        n=n,
        pressure=np.zeros((n if shape[0] else 0, *shape)),
        motion=new_motion(2),
        contacts=new_prescribed_work(model, 2),
        field=new_field_work(),
    )


@entry
def corrected_wrenches(model, foot, correction, grid, work):
    """Write the summed wrench of all contacts in every frame into work.wrench, and the pressures over a grid
    into work.pressure unless that has no rows.

    model : Prescribed - contacts of body 0, the foot, and of body 1, its toes
    foot : RecordedFoot - the motion of the foot as recorded, and the joint of its toes
    correction : Correction - splines by which the motion is corrected
    grid : Grid - cells at whose middles the pressure is found, in ground
    work : CorrectedWork - results and working space, written
    """
    contacts = work.contacts
    for n in range(foot.time.shape[0]):
        splines(correction, foot.time[n], work.way)
        place_foot(foot, n, work)
        contact_wrenches(model, work.motion, contacts)
        for i in range(6):
            work.wrench[n, i] = 0.0
            for e in range(contacts.wrench.shape[0]):
                work.wrench[n, i] += contacts.wrench[e, i]
        if work.pressure.shape[0]:
            work.pressure[n, :, :] = 0.0
            add_pressures(
                model.pairs, model.contacts, contacts.pose, contacts.contacts, contacts.pairs, grid,
                work.field, work.pressure[n],
            )  # fmt: skip


@inlined
def splines(correction, time, way_out):
    """Write the values and rates of all correction splines at a time. Before the first and after the last
    knot the cubic polynomial of the nearest interval is continued.

    correction : Correction - the splines
    time : float - the time [s]
    way_out : (2, N_SPLINE) - values, and rates per second, written
    """
    n_piece = correction.cubic.shape[1]
    at = (time - correction.start) / correction.step
    piece = int(min(max(math.floor(at), 0.0), n_piece - 1.0))
    u = at - piece
    for k in range(N_SPLINE):
        c = correction.cubic[k, piece]
        way_out[0, k] = c[0] + u * (c[1] + u * (c[2] + u * c[3]))
        way_out[1, k] = (c[1] + u * (2.0 * c[2] + u * 3.0 * c[3])) / correction.step


@inlined
def place_foot(foot, n, work):
    """Write the corrected motion of the foot and its toes in frame n into work.motion; called after
    `splines`.

    foot : RecordedFoot - the motion of the foot as recorded, and the joint of its toes
    n : int - index of the frame
    work : CorrectedWork - results and working space, written
    """
    value, rate, motion = work.way[0], work.way[1], work.motion
    C, before = work.turn[0], work.turn[1]
    ca, sa = math.cos(value[TURN]), math.sin(value[TURN])
    cb, sb = math.cos(value[TURN + 1]), math.sin(value[TURN + 1])
    cc, sc = math.cos(value[TURN + 2]), math.sin(value[TURN + 2])
    C[0, 0], C[0, 1], C[0, 2] = cb * cc, -cb * sc, sb
    C[1, 0], C[1, 1], C[1, 2] = ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb
    C[2, 0], C[2, 1], C[2, 2] = sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb
    da, db, dc = rate[TURN], rate[TURN + 1], rate[TURN + 2]
    extra = da + sb * dc, ca * db - sa * cb * dc, sa * db + ca * cb * dc
    product(C, foot.rotation[n], motion.rotation[FOOT])
    w = foot.turning[n]
    for i in range(3):
        motion.position[FOOT, i] = foot.position[n, i] + value[SHIFT + i]
        motion.velocity[FOOT, i] = foot.velocity[n, i] + rate[SHIFT + i]
        motion.turning[FOOT, i] = C[i, 0] * w[0] + C[i, 1] * w[1] + C[i, 2] * w[2] + extra[i]
    turned(foot.toe_axis, value[TOES], C)
    product(C, foot.toe_axes, before)
    product(motion.rotation[FOOT], before, motion.rotation[TOE_BODY])
    arm = along(motion.rotation[FOOT], foot.toe_origin)
    axis = along(motion.rotation[FOOT], foot.toe_axis)
    w = motion.turning[FOOT]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        motion.position[TOE_BODY, i] = motion.position[FOOT, i] + arm[i]
        motion.velocity[TOE_BODY, i] = motion.velocity[FOOT, i] + w[j] * arm[k] - w[k] * arm[j]
        motion.turning[TOE_BODY, i] = w[i] + rate[TOES] * axis[i]


@inlined
def product(A, B, out):
    """Write the product A B of two (3, 3) matrices into out : (3, 3)."""
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]


@inlined
def along(R, x):
    """Return the product R x of a matrix R : (3, 3) and a vector x : (3,), as three floats."""
    return (
        R[0, 0] * x[0] + R[0, 1] * x[1] + R[0, 2] * x[2],
        R[1, 0] * x[0] + R[1, 1] * x[1] + R[1, 2] * x[2],
        R[2, 0] * x[0] + R[2, 1] * x[1] + R[2, 2] * x[2],
    )


@inlined
def turned(axis, angle, out):
    """Write into out : (3, 3) the matrix of the rotation about a unit axis : (3,) by an angle [rad]
    (Rodrigues' formula).
    """
    c, s = math.cos(angle), math.sin(angle)
    x, y, z, d = axis[0], axis[1], axis[2], 1.0 - c
    out[0, 0], out[0, 1], out[0, 2] = c + x * x * d, x * y * d - z * s, x * z * d + y * s
    out[1, 0], out[1, 1], out[1, 2] = y * x * d + z * s, c + y * y * d, y * z * d - x * s
    out[2, 0], out[2, 1], out[2, 2] = z * x * d - y * s, z * y * d + x * s, c + z * z * d
