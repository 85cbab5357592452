"""What contacts are made of and where they leave their results: parameters, columns, working space."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.forces.friction import N_FRICTION
from kernels.mesh.meshes import MeshContacts, Meshes, MeshWork, new_mesh_work

DEPTH, NORMAL, FRICTION, PLACE, SLIDING = 0, 1, 2, 5, 8
"""Columns of the results: largest depth [m], normal force [N], friction on A (3) [N], its place (3) [m],
sliding velocity (3) [m/s], all in ground axes."""
N_CONTACT_OUT = 11

SPEED, RATE, LIMIT = 0, 1, 4
"""Columns of what a step must know about a contact: sliding speed [m/s], -1 without contact, sliding
acceleration (3) [m/s^2], and the time to touch-down or over a part of the viscous ramp [s], infinite where
neither comes."""
SPIN, SPIN_RATE = 5, 6
"""Further columns: signed angular velocity about the normal [rad/s] and its rate [rad/s^2], where it rubs."""
N_KINK = 7

CENTRE, AXIS, POINT, PATCH, SLIP, FORCE, PRESSING, RUBBING = 0, 3, 6, 9, 12, 15, 18, 22
"""Columns of ContactWork.state. The patch, as every geometry gives it: centre of A's surface, normal towards
A, point of the force (3 each, about the reference point), then depth [m], volume [m^3] and normal velocity;
what comes of it: sliding velocity and force (3 each); N and its derivatives by depth, volume and normal
velocity; F/v of friction, its derivatives by v and N, and v."""
GYRATION = 26
"""r_g of spinning friction [m], 0 where none spins."""
OWN = 27
"""First of four columns that a geometry may keep for itself."""
N_STATE = 31

D_DEPTH, D_VOLUME = 6, 7
"""Columns of ContactWork.moved after the change of the point and of the normal (3 each)."""
N_MOVED = 8

D_SUPPORT, D_TORQUE, OMEGA, ETA, TURN, D_TURN, FLAT, D_FLAT, STRETCH = range(9)
"""Rows of ContactWork.change for the torques of the patch: what a unit twist changes, then its angular part
where it displaces the ellipsoid and where it moves it, working space, and w where Q grows by w w'."""
N_CHANGE = 9


class Contacts(NamedTuple):
    """Surfaces of two bodies that press on each other, by the pair of bodies that carry them."""

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
    """Results and working space of the contacts."""

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
    """Allocate a ContactWork."""
    n_contact = len(contacts.pair)
    return allocate(
        ContactWork,
        n_contact=n_contact,
        meshes=None if contacts.pressed is None else new_mesh_work(contacts.pressed),
    )
