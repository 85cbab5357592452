"""What contacts are made of and where they leave their results: parameters, columns, working space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

DEPTH, NORMAL, FRICTION, PLACE, SLIDING = 0, 1, 2, 5, 8
"""Columns of the results: largest depth [m], normal force [N], friction on A (3) [N], its place (3) [m], sliding
velocity (3) [m/s], all in ground axes."""
N_CONTACT_OUT = 11

SPEED, RATE, LIMIT = 0, 1, 4
"""Columns of what a step must know about a contact: sliding speed [m/s], sliding acceleration (3) [m/s^2], and the
time to touch-down or over a part of the viscous ramp [s], infinite where neither comes."""
N_KINK = 5

CENTRE, AXIS, SUPPORT, POINT, SLIP, FORCE, TORQUE, TURN, ONSET = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Rows of the working space: centre, n, s, point of the force (all about the reference point), sliding velocity,
force, patch torque, relative angular velocity, sliding acceleration."""
N_ROW = 9

D_CENTRE, D_SUPPORT, D_POINT, D_SLIP, D_FORCE, D_TORQUE, OMEGA, ETA, D_TURN, FLAT, D_FLAT = range(11)
"""Rows of ContactWork.change: what a unit twist changes, then its angular part where it displaces the ellipsoid
and where it moves it, and the working space of the patch."""
N_CHANGE = 11


class Contacts(NamedTuple):
    """Ellipsoids on planes, by the pair of bodies that carry them."""

    pair: np.ndarray  # (n_contact,) int64
    law: np.ndarray  # (n_contact,) int64 - of kernels/contact/pressure
    centre: np.ndarray  # (n_contact, 3) - of the ellipsoid on body A [m]
    rotation: np.ndarray  # (n_contact, 3, 3) - its axes on body A, as columns
    radii: np.ndarray  # (n_contact, 3) [m]
    round: np.ndarray  # (n_contact,) int64 - 1 = a sphere
    point: np.ndarray  # (n_contact, 3) - of the plane on body B [m]
    normal: np.ndarray  # (n_contact, 3) - unit, on body B, towards the ellipsoid
    drift: np.ndarray  # (n_contact, 3) - velocity of the plane's surface on body B (a belt) [m/s]
    pressure: np.ndarray  # (n_contact, N_PRESSURE) - parameters of the law
    friction_law: np.ndarray  # (n_contact,) int64 - of kernels/friction, -1 = frictionless
    friction: np.ndarray  # (n_contact, N_FRICTION)
    rolls: np.ndarray  # (n_contact,) int64 - 1 = with rolling resistance
    spins: np.ndarray  # (n_contact,) int64 - 1 = with spinning friction
    ramp: np.ndarray  # (n_contact,) - depth over which viscous friction sets in [m], 0 = none


class ContactWork(NamedTuple):
    """Results and working space of the contacts."""

    out: np.ndarray  # (n_contact, N_CONTACT_OUT)
    kink: np.ndarray  # (n_contact, N_KINK)
    row: np.ndarray  # (N_ROW, 3)
    matrix: np.ndarray  # (2, 3, 3) - Q, axes of the ellipsoid
    change: np.ndarray  # (N_CHANGE, 3)


def new_contact_work(n_contact: int) -> ContactWork:
    """Allocate a ContactWork."""
    return ContactWork(
        np.zeros((n_contact, N_CONTACT_OUT)),
        np.zeros((n_contact, N_KINK)),
        np.zeros((N_ROW, 3)),
        np.zeros((2, 3, 3)),
        np.zeros((N_CHANGE, 3)),
    )
