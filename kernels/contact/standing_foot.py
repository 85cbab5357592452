"""Contacts of a foot whose pose is given in each frame: its toes are kept level, and its height is corrected
so that the contacts bear the measured force.

No marker shows to a millimetre where the sole meets the ground, and a millimetre changes the force under a
heel by some 75 N. Where a force plate measures the normal force, the foot is raised or lowered along the
normal of the plane until its contacts bear that force.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernels.compiler.jit import entry, njit
from kernels.contact.corrected import along, turned
from kernels.contact.elements import PATCH
from kernels.contact.prescribed import (
    POSITION,
    BodyMotion,
    Prescribed,
    PrescribedWork,
    contact_derivatives,
    contact_wrenches,
    new_motion,
    new_prescribed_work,
)
from kernels.contact.pressure_field import FieldWork, add_pressures, new_field_work

FOOT, TOES = 0, 1
MOST_STEPS = 40
LEAST_STEP = 0.001
"""Least depth below touch-down to which a foot that bears nothing is lowered [m]."""
LONGEST_STEP = 0.008
CLOSE = 1e-3
"""Relative difference from the target at which the normal force is accepted [1]."""
MOST_EXTENSION = 1.2
"""Largest extension of toes that lie level under a raised heel [rad]."""


class Toes(NamedTuple):
    """Joint between the toes and a foot; while straight, the toes have the axes of the foot."""

    origin: np.ndarray  # (3,) - on the foot [m]
    axis: np.ndarray  # (3,) - unit, extension turns them about it


class StandingWork(NamedTuple):
    """Contact results and working space of one standing foot."""

    motion: BodyMotion  # of the foot and its toes
    contacts: PrescribedWork
    field: FieldWork


def new_standing_work(model: Prescribed) -> StandingWork:
    """Allocate a StandingWork: contact results and working space of one standing foot."""
    return StandingWork(new_motion(2), new_prescribed_work(model, 2), new_field_work())


@njit
def stand(model, motion, k, toes, target, raised, work):
    """Return how far the foot must be raised from its measured pose to bear a normal force [m].

    NaN is returned if no height is found at which the contacts bear the force. Afterwards work holds the
    motion and the contacts of the foot at the returned height.

    model : Prescribed - contacts of body 0, the foot, and of body 1, its toes, all with one plane
    motion : BodyMotion - positions and velocities of feet
    k : int - row of the foot in motion
    toes : Toes - the joint of the toes on the foot
    target : float - normal force to be borne [N]; where it is not above 0, or NaN, the foot stays at `raised`
    raised : float - height at which the search begins [m]
    work : StandingWork - results and working space of the foot, written
    """
    n = model.contacts.normal[0]
    if not target > 0.0:
        set_foot(motion, k, toes, n, raised, work.motion)
        contact_wrenches(model, work.motion, work.contacts)
        return raised
    for _ in range(MOST_STEPS):
        set_foot(motion, k, toes, n, raised, work.motion)
        contact_derivatives(model, work.motion, work.contacts, False)
        force, slope, deepest = pressed(n, work.contacts)
        if abs(force - target) < CLOSE * target:
            return raised
        if force > target and slope >= 0.0:  # swallowed: deeper changes nothing
            raised += LONGEST_STEP
        elif force <= 0.0 or slope >= 0.0:
            raised -= max(-deepest, 0.0) + LEAST_STEP
        else:
            raised += min(max((target - force) / slope, -LONGEST_STEP), LONGEST_STEP)
    return math.nan


@njit
def pressed(n, contacts):
    """Return (normal force [N], its derivative with respect to the foot's height [N/m], largest depth [m]).

    n : (3,) - unit normal of the plane
    contacts : PrescribedWork - wrenches of the contacts, and derivatives with respect to the motion
    """
    force, slope, deepest = 0.0, 0.0, -math.inf
    for e in range(contacts.wrench.shape[0]):
        deepest = max(deepest, contacts.contacts.state[e, PATCH])
        for i in range(3):
            force += n[i] * contacts.wrench[e, 3 + i]
            for j in range(3):
                slope += n[i] * n[j] * contacts.by_motion[e, POSITION + j, 3 + i]
    return force, slope, deepest


@njit
def set_foot(motion, k, toes, n, raised, out):
    """Write the motion of foot k, raised along the normal, and of its toes. The toes are parallel to the
    ground while the heel is above them.

    motion : BodyMotion - positions and velocities of feet
    k : int - row of the foot in motion
    toes : Toes - the joint of the toes on the foot
    n : (3,) - unit normal of the plane
    raised : float - how far the foot is raised along the normal [m]
    out : BodyMotion - motion of the foot (row 0) and of its toes (row 1), written
    """
    R, w = out.rotation[FOOT], out.turning[FOOT]
    for i in range(3):
        out.position[FOOT, i] = motion.position[k, i] + raised * n[i]
        out.velocity[FOOT, i], w[i] = motion.velocity[k, i], motion.turning[k, i]
        for j in range(3):
            R[i, j] = motion.rotation[k, i, j]
    rise, fall = R[0, 0] * n[0] + R[1, 0] * n[1] + R[2, 0] * n[2], 0.0
    for i in range(3):
        j, m = (i + 1) % 3, (i + 2) % 3
        fall -= n[i] * (w[j] * R[m, 0] - w[m] * R[j, 0])
    level, rate = max(-math.asin(min(max(rise, -1.0), 1.0)), 0.0), 0.0
    if 0.0 < level < MOST_EXTENSION:
        rate = fall / math.cos(level)
    level = min(level, MOST_EXTENSION)
    turned(toes.axis, level, out.rotation[TOES])
    for j in range(3):
        x = out.rotation[TOES, 0, j], out.rotation[TOES, 1, j], out.rotation[TOES, 2, j]
        out.rotation[TOES, 0, j], out.rotation[TOES, 1, j], out.rotation[TOES, 2, j] = along(R, x)
    arm, axis = along(R, toes.origin), along(R, toes.axis)
    for i in range(3):
        j, m = (i + 1) % 3, (i + 2) % 3
        out.position[TOES, i] = out.position[FOOT, i] + arm[i]
        out.velocity[TOES, i] = out.velocity[FOOT, i] + w[j] * arm[m] - w[m] * arm[j]
        out.turning[TOES, i] = w[i] + rate * axis[i]


@entry
def press_grid(model, grid, work, pressure_out):
    """Write into pressure_out the pressure of all contacts over a grid; called after `stand`.

    model : Prescribed - contacts of the foot and its toes
    grid : Grid - cells at whose middles the pressure is found, in ground
    work : StandingWork - results of `stand`, and working space
    pressure_out : (n_row, n_column) - pressure [Pa], written
    """
    pressure_out[:, :] = 0.0
    contacts = work.contacts
    add_pressures(
        model.pairs, model.contacts, contacts.pose, contacts.contacts, contacts.pairs, grid, work.field,
        pressure_out,
    )  # fmt: skip
