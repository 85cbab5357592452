"""Named tuples of contacts: their parameters, results (with the meaning of the columns) and working space."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.forces.friction import N_FRICTION
from kernels.mesh.meshes import MeshContacts, Meshes, MeshWork, new_mesh_work

DEPTH, NORMAL, FRICTION, PLACE, SLIDING = 0, 1, 2, 5, 8
"""Columns of ContactWork.out: largest depth [m], normal force [N], friction on A (3) [N], the place where the
force acts (3) [m], and sliding velocity (3) [m/s], all in ground axes."""
N_CONTACT_OUT = 11

SPEED, RATE, LIMIT = 0, 1, 4
"""Columns of ContactWork.kink, what a time step must know of a contact: the sliding speed [m/s], -1 without
contact; the sliding acceleration (3) [m/s^2]; and the time until touch-down, or until a quarter of the depth
over which viscous friction sets in is crossed [s], infinite where neither happens."""
SPIN, SPIN_RATE = 5, 6
"""Further columns of ContactWork.kink: signed angular velocity about the normal [rad/s] and its rate
[rad/s^2], where spinning friction acts."""
N_KINK = 7

CENTRE, AXIS, POINT, PATCH, SLIP, FORCE, PRESSING, RUBBING = 0, 3, 6, 9, 12, 15, 18, 22
"""Columns of ContactWork.state. The first ones are the patch, as every geometry gives it: the centre of A's
surface, the normal towards A and the point where the force acts (3 each, relative to body 0's origin), then
depth [m], volume [m^3] and normal velocity [m/s]. The others follow from the patch: sliding velocity [m/s]
and force [N] (3 each); the normal force N and its derivatives by depth, volume and normal velocity; and of
the friction force F at the sliding speed v: F/v, the derivatives of F by v and by N, and v itself."""
GYRATION = 26
"""Column of ContactWork.state: radius of gyration r_g of spinning friction [m], 0 without that friction."""
OWN = 27
"""First of four columns of ContactWork.state whose meaning each geometry defines for itself."""
N_STATE = 31

D_DEPTH, D_VOLUME = 6, 7
"""Columns of ContactWork.moved for the change of depth and volume; those of the point and of the normal
(3 each) come before them."""
N_MOVED = 8

D_SUPPORT, D_TORQUE, OMEGA, ETA, TURN, D_TURN, FLAT, D_FLAT, STRETCH = range(9)
"""Rows of ContactWork.change, for the torques of the patch: changes of the support vector s and of the
torque; the angular part of a unit twist where it displaces the ellipsoid (OMEGA), and where it changes its
velocity (ETA); working space; and the vector w where Q grows by w w' (STRETCH)."""
N_CHANGE = 9


class Contacts(NamedTuple):
    """Parameters of contacts: pairs of surfaces that press on each other, each with the pair of bodies that
    carries them."""

    pair: np.ndarray  # (n_contact,) int64
    geometry: np.ndarray  # (n_contact,) int64 - of kernels/contact/geometries
    centre: np.ndarray  # (n_contact, 3) - of A's surface, on body A [m]
    rotation: np.ndarray  # (n_contact, 3, 3) - its axes on body A, as columns
    radii: np.ndarray  # (n_contact, 3) - along them [m]
    round: np.ndarray  # (n_contact,) int64 - 1 = A's surface is a sphere: it may turn about its centre
    point: np.ndarray  # (n_contact, 3) - of B's surface, on body B: its centre, or a point of a plane [m]
    normal: np.ndarray  # (n_contact, 3) - unit, on body B, of a plane towards A
    radii_b: np.ndarray  # (n_contact, 3) - of B's surface [m]
    surface_velocity: np.ndarray  # (n_contact, 3) - velocity of B's surface on body B (a belt) [m/s]
    law: np.ndarray  # (n_contact,) int64 - of kernels/contact/pressure
    spread: np.ndarray  # (n_contact,) int64 - 1 = force at the centroid, 0 = at the deepest point
    pressure: np.ndarray  # (n_contact, N_PRESSURE) - parameters of the law
    friction_law: np.ndarray  # (n_contact,) int64 - of kernels/forces/friction, -1 = frictionless
    friction: np.ndarray  # (n_contact, N_FRICTION)
    spin_friction: np.ndarray  # (n_contact, N_FRICTION) - likewise by angular velocities: V_T [rad/s], dry
    rolls: np.ndarray  # (n_contact,) int64 - 1 = with rolling resistance
    spins: np.ndarray  # (n_contact,) int64 - 1 = with spinning friction
    ramp: np.ndarray  # (n_contact,) - depth over which viscous friction sets in [m], 0 = none
    mesh: np.ndarray  # (n_contact,) int64 - row of pressed, where its surfaces are triangles
    meshes: Meshes | None  # None where no contact has any
    pressed: MeshContacts | None


class ContactWork(NamedTuple):
    """Results of all contacts, and their working space; constants of this module name the columns of the
    arrays.
    """

    out: Annotated[np.ndarray, Floats("n_contact", N_CONTACT_OUT)]
    kink: Annotated[np.ndarray, Floats("n_contact", N_KINK)]
    state: Annotated[np.ndarray, Floats("n_contact", N_STATE)]
    Q: Annotated[np.ndarray, Floats("n_contact", 3, 3)]  # of the ellipsoids in ground axes [m^2]
    # of one patch, where A turns about its centre, then where that moves
    moved: Annotated[np.ndarray, Floats(6, N_MOVED)]
    change: Annotated[np.ndarray, Floats(N_CHANGE, 3)]
    law: Annotated[np.ndarray, Floats(N_FRICTION)]  # friction with other coefficients
    meshes: MeshWork | None


def new_contact_work(contacts: Contacts) -> ContactWork:
    """Allocate a ContactWork: results of the contacts, and working space."""
    n_contact = len(contacts.pair)
    return allocate(
        ContactWork,
        n_contact=n_contact,
        meshes=None if contacts.pressed is None else new_mesh_work(contacts.pressed),
    )
