"""What contacts are made of and where they leave their results: parameters, columns, working space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

DEPTH, NORMAL, FRICTION, PLACE, SLIDING = 0, 1, 2, 5, 8
"""Columns of the results: largest depth [m], normal force [N], friction on A (3) [N], its place (3) [m],
sliding velocity (3) [m/s], all in ground axes."""
N_CONTACT_OUT = 11

SPEED, RATE, LIMIT = 0, 1, 4
"""Columns of what a step must know about a contact: sliding speed [m/s], -1 without contact, sliding
acceleration (3) [m/s^2], and the time to touch-down or over a part of the viscous ramp [s], infinite where
neither comes."""
SPIN, SPIN_RATE = 5, 6
"""Further columns: signed speed r_g w_n of spinning friction [m/s] and its rate [m/s^2]."""
N_KINK = 7

CENTRE, AXIS, SUPPORT, POINT, SLIP, FORCE, DEPTHS, PRESSING, RUBBING = 0, 3, 6, 9, 12, 15, 18, 21, 25
"""Columns of ContactWork.state: centre, n, s, point of the force (all about the reference point), sliding
velocity, force (3 each); d, h, normal velocity; N and its derivatives by d, h and normal velocity; F/v of
friction, its derivatives by v and N, and v; r_g of spinning friction [m], 0 where none spins."""
GYRATION = 29
N_STATE = 30

D_SUPPORT, D_TORQUE, OMEGA, ETA, TURN, D_TURN, FLAT, D_FLAT = range(8)
"""Rows of ContactWork.change for the torques of the patch: what a unit twist changes, then its angular part
where it displaces the ellipsoid and where it moves it, and working space."""
N_CHANGE = 8


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
    state: np.ndarray  # (n_contact, N_STATE)
    Q: np.ndarray  # (n_contact, 3, 3) - of the ellipsoids in ground axes [m^2]
    change: np.ndarray  # (N_CHANGE, 3)


def new_contact_work(n_contact: int) -> ContactWork:
    """Allocate a ContactWork."""
    return ContactWork(
        np.zeros((n_contact, N_CONTACT_OUT)),
        np.zeros((n_contact, N_KINK)),
        np.zeros((n_contact, N_STATE)),
        np.zeros((n_contact, 3, 3)),
        np.zeros((N_CHANGE, 3)),
    )
