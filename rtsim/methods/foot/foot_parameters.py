"""The contact parameters of a foot: 30 numbers of three ellipsoids (Brown 2017, tables 5.1, 5.4, 5.6).

Axes are those of a left foot, X medial, Y forward, Z up; heel and ball are in the frame of the foot, the toe
in that of the toes (rtsim.subjects.feet.foot_frame), whose Z is up as well. Angles turn about body-fixed X,
Y, Z.
"""

from __future__ import annotations

from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import kernels.contact.geometries
from kernels.contact.elements import Contacts
from kernels.contact.parameter_slopes import (
    BY_CENTRE,
    BY_DAMPING,
    BY_DYNAMIC,
    BY_RADIUS,
    BY_STATIC,
    BY_STIFFNESS,
    BY_TURN,
    N_PARAMETER,
)
from kernels.contact.prescribed import Prescribed, prescribe
from kernels.contact.pressure import VOLUMETRIC
from kernels.forces.friction import BROWN_MCPHEE, MU_D, MU_S, N_FRICTION, V_T
from rtsim.config.contact_geometries import GEOMETRIES
from rtsim.models.packing.forces import number
from rtsim.subjects.feet.foot_frame import AXIS_HEIGHT, FootFrame

Array = NDArray[np.float64]

ELLIPSOIDS = ("heel", "ball", "toe")
SURFACES = ("ellipsoid", "plane")
GEOMETRY = next(name for name, kind in GEOMETRIES.items() if tuple(kind.surfaces) == SURFACES)
BODY = np.array([0, 0, 1])
"""Body of each ellipsoid (heel, ball, toe): 0 the foot, 1 the toes."""
N_CONTACT, N_GLOBAL, N_SHAPE = 3, 3, 9
N = N_GLOBAL + N_CONTACT * N_SHAPE
SLOW, SLOW_TURN = 0.01, 0.01
"""Transition velocity [m/s] and angular velocity [rad/s] of friction (section 5.2)."""
SHAPE_NAMES = ("a", "b", "c", "x", "y", "z", "alpha", "beta", "gamma")
NAMES = (
    "k_V",
    "a_V",
    "mu_d",
    *(f"{ellipsoid} {name}" for ellipsoid in ELLIPSOIDS for name in SHAPE_NAMES),
)
UNITS = ("N/m^3", "s/m", "1", *(("m",) * 6 + ("rad",) * 3) * N_CONTACT)
TABLE_5_4 = np.array(
    [
        *(1e7, -1.0, 0.1),
        *(0.030, 0.050, 0.030, 0.0, 0.030, -0.015, 0.0, 0.15, 0.0),
        *(0.060, 0.030, 0.030, 0.010, 0.170, -0.013, 0.0, 0.2, 0.5),
        *(0.020, 0.020, 0.020, 0.0, 0.015, -0.013, 0.0, 0.0, 0.0),
    ]
)
"""The initial guess. The toe is read as if Z counted upwards: in the frame of table 5.2, whose Z points down,
it would begin above the toes' axis, from where searches end in no better minima."""
TABLE_5_6 = np.array(
    [
        *(1.60e7, -0.565, 0.1),
        *(0.0354, 0.0540, 0.0226, 0.0037, 0.0479, 0.0004, 0.329, 0.201, 0.101),
        *(0.0632, 0.0338, 0.0240, 0.020, 0.167, -0.0006, -0.235, 0.191, 0.528),
        *(0.0182, 0.0186, 0.0132, -0.011, 0.010, 0.019, -0.339, 1.23, -0.454),
    ]
)
"""Values that the thesis found without friction; mu_d is not among them. The toes' frame of table 5.2 has
X lateral and Z down: what it says of the toe is turned by half a turn about Y."""
SCALE = np.array([1e7, 1.0, 0.1, *((0.03,) * 3 + (0.02,) * 3 + (0.3,) * 3) * N_CONTACT])
"""Typical size of each parameter, in which the search for the parameters measures them."""
THESIS_HEEL = 0.0331
"""Height of the thesis' heel above the ground [m]: that of the toes' axis, 16 mm, and its place below the
heel, 17.1 mm (table 5.2)."""
THESIS_LENGTH = 0.2059
"""Distance from its heel to the toes' axis [m] (table 5.2)."""
ROOM = np.array([0.05, 0.05, 0.04])
"""Largest displacement of a centre from its place in the guess [m]."""
LEAST_RADIUS, MOST_RADIUS = 0.006, 0.12


class Bounds(NamedTuple):
    """Lower and upper bound of each of n parameters."""

    low: Array
    high: Array


def guess(frame: FootFrame) -> Array:
    """Scale the contact parameters of Brown (2017, table 5.4) to a foot of another size.

    Heights of the ellipsoids above the ground stay unchanged, because markers do not show them.
    """
    x = TABLE_5_4.copy()
    size = frame.length / THESIS_LENGTH
    for e in range(N_CONTACT):
        centre = x[place(e)]
        centre[1] *= size
        if BODY[e] == 0:
            height = THESIS_HEEL + centre[2]
            up = frame.up
            centre[2] = (height - frame.heel_height - centre[:2] @ up[:2]) / up[2]
        else:
            up = frame.toe_axes.T @ frame.up
            height = AXIS_HEIGHT + centre[2]
            centre[2] = (height - AXIS_HEIGHT - centre[:2] @ up[:2]) / up[2]
    return x


def place(e: int) -> slice:
    """Return the slice of the three coordinates of the centre of ellipsoid e among the 30 parameters."""
    first = N_GLOBAL + e * N_SHAPE + 3
    return slice(first, first + 3)


def bounds(around: Array) -> Bounds:
    """Return bounds of the contact parameters: the centres of the ellipsoids stay near those of the guess
    `around` (30,), and stiffness and damping have the signs with which the ground never pulls the foot.
    """
    low, high = np.empty(N), np.empty(N)
    low[:N_GLOBAL], high[:N_GLOBAL] = (5e5, -10.0, 0.0), (5e8, 0.0, 2.0)
    for e in range(N_CONTACT):
        own = N_GLOBAL + e * N_SHAPE
        low[own : own + 3], high[own : own + 3] = LEAST_RADIUS, MOST_RADIUS
        low[own + 3 : own + 6], high[own + 3 : own + 6] = around[place(e)] - ROOM, around[place(e)] + ROOM
        low[own + 6 : own + 9], high[own + 6 : own + 9] = -0.5 * np.pi, 0.5 * np.pi
    return Bounds(low, high)


def guesses(around: Array, n: int, seed: int, spread: float = 0.1) -> Array:
    """Draw n guesses (n, 30) of the contact parameters around one guess (30,), each parameter uniformly
    within the fraction `spread` of its value; Brown (2017, section 5.3.2) takes 10 %.

    A parameter that is 0 in the guess changes by at most this fraction of its typical size, given in SCALE.
    """
    rng = np.random.default_rng(seed)
    size = np.where(around == 0.0, SCALE, np.abs(around))
    return np.asarray(around + spread * size * rng.uniform(-1.0, 1.0, (n, N)))


def euler(angles: Array) -> tuple[Array, Array]:
    """Return rotations (n, 3, 3) from angles (n, 3) [rad] about body-fixed X, Y, Z, and the axes of the
    angles.

    The axes (n, 3, 3), as rows, are those about which each angle turns.
    """
    (ca, cb, cg), (sa, sb, sg) = np.cos(angles).T, np.sin(angles).T
    R = np.empty((len(angles), 3, 3))
    R[:, 0, 0], R[:, 0, 1], R[:, 0, 2] = cb * cg, -cb * sg, sb
    R[:, 1, 0], R[:, 1, 1], R[:, 1, 2] = ca * sg + sa * sb * cg, ca * cg - sa * sb * sg, -sa * cb
    R[:, 2, 0], R[:, 2, 1], R[:, 2, 2] = sa * sg - ca * sb * cg, sa * cg + ca * sb * sg, ca * cb
    axes = np.zeros((len(angles), 3, 3))
    axes[:, 0, 0] = 1.0
    axes[:, 1, 1], axes[:, 1, 2] = ca, sa
    axes[:, 2] = R[:, :, 2]
    return R, axes


def angles_of(R: Array) -> Array:
    """Return the angles (3,) about body-fixed X, Y, Z of a rotation (3, 3) [rad]."""
    return np.array(
        [
            np.arctan2(-R[1, 2], R[2, 2]),
            np.arcsin(np.clip(R[0, 2], -1.0, 1.0)),
            np.arctan2(-R[0, 1], R[0, 0]),
        ]
    )


def nearest_form(x: Array, other: Array) -> Array:
    """Return the same foot's parameters (30,), with the axes of each ellipsoid ordered and oriented as close
    as possible to those of another foot.

    Each ellipsoid has 24 equivalent sets of radii and angles.
    """
    found = x.copy()
    size = SCALE[N_GLOBAL : N_GLOBAL + N_SHAPE]
    for e in range(N_CONTACT):
        own = slice(N_GLOBAL + e * N_SHAPE, N_GLOBAL + (e + 1) * N_SHAPE)
        shape, goal = x[own], other[own]
        R = euler(shape[None, 6:])[0][0]
        forms = []
        for order in permutations(range(3)):
            for signs in product((1.0, -1.0), repeat=3):
                turn = np.eye(3)[:, order] * signs
                if np.linalg.det(turn) > 0.0:
                    angles = angles_of(R @ turn)
                    angles += 2.0 * np.pi * np.round((goal[6:] - angles) / (2.0 * np.pi))
                    forms.append(np.concatenate([shape[:3][list(order)], shape[3:6], angles]))
        found[own] = min(forms, key=lambda form: float(np.sum(((form - goal) / size) ** 2)))
    return found


def new_foot(friction: bool) -> Prescribed:
    """Allocate the contacts of a foot with the plane Z = 0, to be filled by `fill`; friction : whether they
    have friction
    """
    n = N_CONTACT
    whole = np.ones(n, np.int64)
    contacts = Contacts(
        pair=np.zeros(n, np.int64),
        geometry=np.full(n, number(kernels.contact.geometries, GEOMETRY)),
        centre=np.zeros((n, 3)),
        rotation=np.tile(np.eye(3), (n, 1, 1)),
        radii=np.ones((n, 3)),
        round=np.zeros(n, np.int64),
        point=np.zeros((n, 3)),
        normal=np.tile([0.0, 0.0, 1.0], (n, 1)),
        radii_b=np.zeros((n, 3)),
        surface_velocity=np.zeros((n, 3)),
        law=np.full(n, VOLUMETRIC),
        spread=whole,
        pressure=np.zeros((n, 3)),
        friction_law=np.full(n, BROWN_MCPHEE if friction else -1),
        friction=np.zeros((n, N_FRICTION)),
        spin_friction=np.zeros((n, N_FRICTION)),
        rolls=whole,
        spins=np.full(n, int(friction)),
        ramp=np.zeros(n),
        mesh=np.full(n, -1),
        meshes=None,
        pressed=None,
    )
    contacts.friction[:, V_T], contacts.spin_friction[:, V_T] = SLOW, SLOW_TURN
    return prescribe(contacts, BODY)


def fill(model: Prescribed, x: Array) -> Array:
    """Write the parameters x : (30,) into the contacts of a model; return the derivatives of the contacts'
    parameters.

    The derivatives are with respect to x, (30, N_CONTACT N_PARAMETER).
    """
    c = model.contacts
    shapes = x[N_GLOBAL:].reshape(N_CONTACT, N_SHAPE)
    c.pressure[:, 0], c.pressure[:, 1] = x[0], -x[1]
    for table in (c.friction, c.spin_friction):
        table[:, MU_S], table[:, MU_D] = x[2], x[2]
    c.radii[:], c.centre[:] = shapes[:, :3], shapes[:, 3:6]
    rotation, axes = euler(shapes[:, 6:])
    c.rotation[:] = rotation
    change = np.zeros((N, N_CONTACT, N_PARAMETER))
    change[0, :, BY_STIFFNESS], change[1, :, BY_DAMPING] = 1.0, -1.0
    change[2, :, BY_STATIC], change[2, :, BY_DYNAMIC] = 1.0, 1.0
    for e in range(N_CONTACT):
        own = N_GLOBAL + e * N_SHAPE
        for k in range(3):
            change[own + k, e, BY_RADIUS + k] = 1.0
            change[own + 3 + k, e, BY_CENTRE + k] = 1.0
            change[own + 6 + k, e, BY_TURN : BY_TURN + 3] = axes[e, k]
    return change.reshape(N, N_CONTACT * N_PARAMETER)
