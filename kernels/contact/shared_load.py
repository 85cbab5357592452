"""Division of a ground reaction force, measured of both feet together, between the two feet.

A foot may bear load if one of its contacts is near the ground and slow relative to it. If both feet may bear
load, two conditions determine the share s of the second foot. First, the measured centre of pressure z of
both feet together is (1 - s) c_1 + s c_2. Second, let h_k be the height by which foot k must be raised from
its marker-based pose to bear its part; h_1 and h_2 are equal, as far as markers measure heights. With the
standard deviations `place`, `height` and `tilt` of LoadSharing and the pitch of the foot that is tilted most,
s minimises

    |(1 - s) c_1 + s c_2 - z|^2 / (place^2 + d^2) + (h_1 - h_2)^2 / (height^2 + (tilt pitch)^2)

by Gauss-Newton steps. c_k and h_k are those of the contact model; d is the distance of z from the line
through c_1 and c_2. An exact z would lie on that line, so z has an error of at least d. While a heel is
raised, the height of the foot model is uncertain, and the centre of pressure decides. If both feet stand flat
and near each other, both conditions count.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernels.compiler.jit import entry, njit
from kernels.contact.elements import PATCH, POINT
from kernels.contact.prescribed import Prescribed, contact_wrenches
from kernels.contact.standing_foot import StandingWork, Toes, pressed, set_foot, stand
from kernels.forces.pairs import VELOCITY

PART, RAISED = 0, 1
"""Indices of the state that is carried from frame to frame: the share of the second foot, and how far each
foot was raised [m]."""
MOST_SHARINGS = 12
LEAST_LOAD = 5.0
"""Load of a foot that just touches the ground [N]."""
LONGEST = 0.25
"""Longest step of the share [1]."""
MET = 1e-3


class LoadSharing(NamedTuple):
    """Settings for the division of a load between two feet: which feet may bear load, and the standard
    deviations of the quantities that determine the shares."""

    place: float  # standard deviation of the centre of pressure of both feet [m]
    height: float  # standard deviation of h_1 - h_2 while both feet stand flat [m]
    tilt: float  # what is added to `height` per pitch of the foot that is tilted most [m/rad]
    low: float  # a contact may bear load within this distance above the lowest one of both feet [m]
    slow: float  # and up to this speed relative to the ground [m/s]


class TwoFeet(NamedTuple):
    """Contacts with one common plane, toe joints and working space of two feet."""

    first: Prescribed
    second: Prescribed
    first_toes: Toes
    second_toes: Toes
    first_work: StandingWork
    second_work: StandingWork


def new_sharing_state() -> np.ndarray:
    """Return the state of load sharing before its first frame, (3,): share of the second foot, and height [m]
    by which each foot was raised.
    """
    return np.array([0.5, 0.0, 0.0])


@entry
def share_load(feet, motion, centre, load, sharing, state):
    """Return the second foot's share of the load [1]; NaN if neither foot may bear load, or if no height of a
    foot is found at which it bears its part.

    feet : TwoFeet - contacts, toes and working space of both feet
    motion : BodyMotion - positions and velocities of both feet, in rows 0 and 1
    centre : (3,) - centre of pressure of both feet together, on their plane [m]
    load : float - normal force of both together [N]
    sharing : LoadSharing - which feet may bear load, and the standard deviations of this module's formula
    state : (3,) - share of the second foot and heights of both feet, kept for the next frame (see PART and
      RAISED); changed
    """
    n = feet.first.contacts.normal[0]
    first, second = feet.first_work, feet.second_work
    set_foot(motion, 0, feet.first_toes, n, 0.0, first.motion)
    set_foot(motion, 1, feet.second_toes, n, 0.0, second.motion)
    contact_wrenches(feet.first, first.motion, first.contacts)
    contact_wrenches(feet.second, second.motion, second.contacts)
    lowest = max(depth_of(first.contacts), depth_of(second.contacts)) - sharing.low
    one = may_bear(feet.first, first.contacts, lowest, sharing)
    other = may_bear(feet.second, second.contacts, lowest, sharing)
    if one and other:
        return balance(feet, motion, centre, load, sharing, state)
    if not one and not other:
        return math.nan
    return 1.0 if other else 0.0


@njit
def depth_of(contacts):
    """Return the largest depth of all contacts of a foot below the ground [m]; negative if none touches it.

    contacts : PrescribedWork - results of the contacts
    """
    depth = -math.inf
    for e in range(contacts.wrench.shape[0]):
        depth = max(depth, contacts.contacts.state[e, PATCH])
    return depth


@njit
def may_bear(model, contacts, lowest, sharing):
    """Return whether a foot may bear load: whether one of its contacts is near the ground and slow relative
    to it, or relative to a moving belt.

    model : Prescribed - contacts of the foot
    contacts : PrescribedWork - their results
    lowest : float - least depth (negative above the ground) at which a contact counts as near the ground [m]
    sharing : LoadSharing - which feet may bear load, and the standard deviations of this module's formula
    """
    for e in range(contacts.wrench.shape[0]):
        x, V = contacts.contacts.state[e], contacts.pairs.motion[e, VELOCITY]
        square = 0.0
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            v = V[3 + i] + V[j] * x[POINT + k] - V[k] * x[POINT + j]
            square += (v - model.contacts.surface_velocity[e, i]) ** 2
        if x[PATCH] >= lowest and square < sharing.slow * sharing.slow:
            return True
    return False


@njit
def balance(feet, motion, centre, load, sharing, state):
    """Return the second foot's share of a load that both feet bear together [1], 0 to 1; NaN if for a foot no
    height is found at which its contacts bear its part of the load.

    feet : TwoFeet - contacts, toes and working space of both feet
    motion : BodyMotion - positions and velocities of both feet, in rows 0 and 1
    centre : (3,) - centre of pressure of both feet together, on their plane [m]
    load : float - normal force of both together [N]
    sharing : LoadSharing - which feet may bear load, and the standard deviations of this module's formula
    state : (3,) - share of the second foot and heights of both feet, kept from frame to frame; written
    """
    n, part = feet.first.contacts.normal[0], min(max(state[PART], 0.0), 1.0)
    tilt = sharing.tilt * max(pitch_of(motion, 0, n), pitch_of(motion, 1, n))
    of_height = 1.0 / (sharing.height * sharing.height + tilt * tilt)
    for _ in range(MOST_SHARINGS):
        one, other = max((1.0 - part) * load, LEAST_LOAD), max(part * load, LEAST_LOAD)
        h = stand(feet.first, motion, 0, feet.first_toes, one, state[RAISED], feet.first_work)
        g = stand(feet.second, motion, 1, feet.second_toes, other, state[RAISED + 1], feet.second_work)
        if math.isnan(h) or math.isnan(g):
            state[PART], state[RAISED], state[RAISED + 1] = 0.5, 0.0, 0.0
            return math.nan
        state[RAISED], state[RAISED + 1] = h, g
        _, stiff, _ = pressed(n, feet.first_work.contacts)
        _, firm, _ = pressed(n, feet.second_work.contacts)
        rise = (-load / stiff if one > LEAST_LOAD else 0.0) + (-load / firm if other > LEAST_LOAD else 0.0)
        down, curve = of_height * rise * (h - g), of_height * rise * rise
        way, off, square = 0.0, 0.0, 0.0
        for i in range(3):
            a = centre_of(feet.first, n, feet.first_work.contacts, i)
            b = centre_of(feet.second, n, feet.second_work.contacts, i) - a
            way, off, square = way + b * b, off + b * (centre[i] - a), square + (centre[i] - a) ** 2
        along = min(max(off / way, 0.0), 1.0)
        beside = square - 2.0 * along * off + along * along * way
        of_place = way / (sharing.place * sharing.place + beside)
        down, curve = down + of_place * (part - off / way), curve + of_place
        former = part
        part = min(max(part - min(max(down / curve, -LONGEST), LONGEST), 0.0), 1.0)
        if abs(part - former) < MET:
            break
    state[PART] = part
    return part


@njit
def pitch_of(motion, k, n):
    """Return the angle between the long axis of foot k and the plane [rad].

    motion : BodyMotion - positions and velocities of the feet
    k : int - row of the foot in motion
    n : (3,) - unit normal of the plane
    """
    R = motion.rotation[k]
    return abs(math.asin(min(max(R[0, 0] * n[0] + R[1, 0] * n[1] + R[2, 0] * n[2], -1.0), 1.0)))


@njit
def centre_of(model, n, contacts, i):
    """Return coordinate i of the centre of pressure of a foot that bears load [m].

    model : Prescribed - contacts of the foot
    n : (3,) - unit normal of its plane
    contacts : PrescribedWork - wrenches of the contacts
    i : int - index of the coordinate
    """
    point, press, j, k = model.contacts.point[0], 0.0, (i + 1) % 3, (i + 2) % 3
    moment_j, moment_k = 0.0, 0.0
    for e in range(contacts.wrench.shape[0]):
        w = contacts.wrench[e]
        press += n[0] * w[3] + n[1] * w[4] + n[2] * w[5]
        moment_j += w[j] - (point[k] * w[3 + i] - point[i] * w[3 + k])
        moment_k += w[k] - (point[i] * w[3 + j] - point[j] * w[3 + i])
    return point[i] + (n[j] * moment_k - n[k] * moment_j) / press
