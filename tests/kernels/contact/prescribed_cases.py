"""Random ellipsoids over oblique planes, on bodies in random motion, and the kernel's answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.contact.elements import Contacts
from kernels.contact.geometries import ELLIPSOID_ON_PLANE
from kernels.contact.prescribed import (
    BodyMotion,
    Prescribed,
    contact_derivatives,
    contact_wrenches,
    new_prescribed_work,
    prescribe,
)
from kernels.contact.pressure import VOLUMETRIC
from kernels.forces.friction import BROWN_MCPHEE
from tests.naive import volumetric
from tests.naive.friction import Parameters, friction_force
from tests.naive.mechanisms import dirty
from tests.naive.random_models import unit_rows

Array = NDArray[np.floating]
DEPTHS = (0.05, 0.3, 0.8, 1.4, 1.9, -0.2, 2.4)
"""In parts of h: touching, deep, to full immersion; open; swallowed."""
SLIDING = Parameters(mu_s=0.6, mu_d=0.4, v_t=0.3, mu_v=0.0, F_nt=20.0, k_v=0.0, v_d=0.2, p=2.0, k_tanh=5.0)
SPINNING = SLIDING._replace(v_t=0.8)


def some_contacts(
    seed: int, law: int = VOLUMETRIC, friction_law: int = BROWN_MCPHEE, depths: tuple[float, ...] = DEPTHS
) -> tuple[Prescribed, BodyMotion]:
    """Return ellipsoids at these depths in oblique planes of ground, on two bodies in turn that move."""
    rng = np.random.default_rng([seed, 83])
    n = len(depths)
    body = np.arange(n) % 2
    motion = BodyMotion(
        rng.uniform(-0.4, 0.4, (2, 3)),
        Rotation.random(2, rng).as_matrix(),
        rng.uniform(-0.2, 0.2, (2, 3)),
        rng.uniform(-0.6, 0.6, (2, 3)),
    )
    centre, axes = rng.uniform(-0.2, 0.2, (n, 3)), Rotation.random(n, rng).as_matrix()
    radii, normal, point = rng.uniform(0.1, 0.4, (n, 3)), unit_rows(rng, n), np.zeros((n, 3))
    for e, d in enumerate(depths):
        E = motion.rotation[body[e]] @ axes[e]
        x = motion.position[body[e]] + motion.rotation[body[e]] @ centre[e]
        u, w = volumetric.plane_axes(normal[e])
        h = volumetric.height(radii[e], E.T @ normal[e])
        point[e] = x - (1.0 - d) * h * normal[e] + 0.3 * u - 0.2 * w
    volumetric_law = law == VOLUMETRIC
    contacts = Contacts(
        pair=np.zeros(n, np.int64),
        geometry=np.full(n, ELLIPSOID_ON_PLANE),
        centre=centre,
        rotation=axes,
        radii=radii,
        round=np.zeros(n, np.int64),
        point=point,
        normal=normal,
        radii_b=np.zeros((n, 3)),
        surface_velocity=rng.uniform(-0.1, 0.1, (n, 3)),
        law=np.full(n, law),
        spread=np.full(n, int(volumetric_law)),
        pressure=np.tile([2000.0, 0.3, 1.5], (n, 1)),
        friction_law=np.full(n, friction_law),
        friction=np.tile(np.array(SLIDING), (n, 1)),
        spin_friction=np.tile(np.array(SPINNING), (n, 1)),
        rolls=np.full(n, int(volumetric_law)),
        spins=np.full(n, int(volumetric_law and friction_law >= 0)),
        ramp=np.zeros(n),
        mesh=np.full(n, -1),
        meshes=None,
        pressed=None,
    )
    return prescribe(contacts, body), motion


def wrenches(model: Prescribed, motion: BodyMotion) -> Array:
    """Return the kernel's wrenches (n_contact, 6), from dirty working space."""
    work = dirty(new_prescribed_work(model, len(motion.position)))
    contact_wrenches(model, motion, work)
    return work.wrench


def derivatives(model: Prescribed, motion: BodyMotion) -> tuple[Array, Array]:
    """Return the kernel's (by_motion, by_parameter) of all contacts, from dirty working space."""
    work = dirty(new_prescribed_work(model, len(motion.position)))
    contact_derivatives(model, motion, work, True)
    return work.by_motion, work.by_parameter


def twin(model: Prescribed, motion: BodyMotion, e: int) -> Array:
    """Return the wrench (6,) of contact e about ground's origin, from the closed forms in vectors."""
    c, b = model.contacts, int(model.pairs.body_a[e])
    R, w = motion.rotation[b], motion.turning[b]
    E, n, x = R @ c.rotation[e], c.normal[e], motion.position[b] + R @ c.centre[e]
    radii, local = c.radii[e], E.T @ n
    d = volumetric.depth(radii, local, E.T @ (c.point[e] - x))
    if d <= 0.0:
        return np.zeros(6)
    patch = volumetric.patch(radii, local, min(d, 2.0))
    place = x + E @ patch.centroid
    v = motion.velocity[b] + np.cross(w, place - motion.position[b]) - c.surface_velocity[e]
    v_n, w_n = v @ n, w @ n
    slip, turn = v - v_n * n, w - w_n * n
    k_V, damping = c.pressure[e, :2]
    N = volumetric.normal_force(k_V, damping, patch.volume, v_n)
    force, torque, law = N * n, np.zeros(3), int(c.friction_law[e])
    if law >= 0:
        speed = float(np.linalg.norm(slip))
        force = force - friction_force(law, Parameters(*c.friction[e]), speed, N) * slip / speed
        r_g = volumetric.gyration(E @ patch.J @ E.T, patch.volume, n)
        spin = friction_force(law, Parameters(*c.spin_friction[e]), w_n, N)
        torque = torque + volumetric.spinning_torque(spin, r_g, n)
    if N > 0.0:
        torque = torque + volumetric.rolling_torque(k_V, damping, E @ patch.J @ E.T, turn)
    return np.concatenate([torque + np.cross(place, force), force])
