"""Contacts of given motion: the twin, integrals without closed forms, laws, and every derivative."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.contact.elements import PATCH, POINT
from kernels.contact.parameter_slopes import (
    BY_CENTRE,
    BY_DAMPING,
    BY_DYNAMIC,
    BY_RADIUS,
    BY_STATIC,
    BY_STIFFNESS,
    BY_TURN,
)
from kernels.contact.prescribed import (
    POSITION,
    SPEED,
    TURNED,
    TURNING,
    BodyMotion,
    Prescribed,
    contact_wrenches,
    new_prescribed_work,
)
from kernels.contact.pressure import HUNT_CROSSLEY, KELVIN_VOIGT, POWER, VOLUMETRIC
from kernels.forces.friction import ANDERSSON, BENGISU_AKAY, BROWN_MCPHEE, HOLLARS, MU_D, MU_S, SPECKER
from tests.kernels.contact.prescribed_cases import DEPTHS, derivatives, some_contacts, twin, wrenches
from tests.naive import volumetric

Array = NDArray[np.floating]


def difference(force: Callable[[float], Array], step: float) -> Array:
    """Return the derivative of `force` at 0 by differences of order four."""
    a, b, c, d = (force(s * step) for s in (-2.0, -1.0, 1.0, 2.0))
    return (a - 8.0 * b + 8.0 * c - d) / (12.0 * step)


def assert_close(found: Array, wanted: Array, size: Array, tolerance: float = 2e-8) -> None:
    """Rows of contacts within this part of the size of each."""
    for one, other, scale in zip(found, wanted, size, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=tolerance * max(scale, 1e-9))


def scale(model: Prescribed, motion: BodyMotion) -> Array:
    """Return the size of the wrench of each contact, open ones 0."""
    return np.abs(wrenches(model, motion)).max(axis=1)


@pytest.mark.parametrize("seed", range(4))
def test_kernel_is_the_twin(seed: int) -> None:
    """Protects the whole wrench of oblique ellipsoids that slide, roll, spin and sink, in oblique planes."""
    model, motion = some_contacts(seed)
    found = wrenches(model, motion)
    wanted = np.array([twin(model, motion, e) for e in range(len(found))])
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-12 * np.abs(wanted).max())
    assert not found[DEPTHS.index(-0.2)].any()


@pytest.mark.parametrize("seed", range(2))
def test_volume_and_moments_are_integrals(seed: int) -> None:
    """Protects volume, centroid and J of the kernel against slices of the body, any orientation and depth."""
    model, motion = some_contacts(seed, friction_law=-1)
    work = new_prescribed_work(model, 2)
    contact_wrenches(model, motion, work)
    for e, d in enumerate(DEPTHS):
        if d <= 0.0:
            continue
        b, c = model.pairs.body_a[e], model.contacts
        E = motion.rotation[b] @ c.rotation[e]
        found = volumetric.patch_by_slices(c.radii[e], E.T @ c.normal[e], min(d, 2.0))
        row = work.contacts.state[e]
        place = motion.position[b] + motion.rotation[b] @ c.centre[e] + E @ found.centroid
        assert row[PATCH + 1] == pytest.approx(found.volume, rel=1e-8)
        np.testing.assert_allclose(row[POINT : POINT + 3] + motion.position[0], place, rtol=0.0, atol=1e-8)
        J, n = E @ found.J @ E.T, c.normal[e]
        w_t = motion.turning[b] - (motion.turning[b] @ n) * n
        torque = work.wrench[e, :3] - np.cross(place, work.wrench[e, 3:])
        wanted = -c.pressure[e, 0] * c.pressure[e, 1] * J @ w_t
        np.testing.assert_allclose(torque, wanted, rtol=0.0, atol=1e-8 * np.abs(work.wrench[e]).max())


def test_touch_is_a_limit() -> None:
    """Protects that force and torque leave zero without a jump: with the square of the depth."""
    depths = (1e-6, 1e-4, 1e-2)
    model, motion = some_contacts(3, depths=depths)
    model = model._replace(contacts=model.contacts._replace(pressure=np.tile([2000.0, 0.0, 1.0], (3, 1))))
    found = wrenches(model, motion)
    radii = model.contacts.radii
    for e, d in enumerate(depths):
        N = model.contacts.normal[e] @ found[e, 3:]
        assert pytest.approx(2000.0 * np.pi * np.prod(radii[e]) * d * d, rel=d) == N
    lifted, motion = some_contacts(3, depths=(-1e-9, -0.5))
    assert not wrenches(lifted, motion).any()


@pytest.mark.parametrize("seed", range(3))
def test_motion_only_takes_energy(seed: int) -> None:
    """Protects dissipation: what velocity adds to the wrench of rest never drives the motion."""
    model, motion = some_contacts(seed)
    model = model._replace(
        contacts=model.contacts._replace(surface_velocity=np.zeros_like(model.contacts.surface_velocity))
    )
    held = wrenches(model, motion._replace(velocity=np.zeros((2, 3)), turning=np.zeros((2, 3))))
    rng, n_taken = np.random.default_rng([seed, 5]), 0
    for size in (1e-3, 0.1, 1.0, 10.0, 100.0):
        v, w = size * rng.normal(size=(2, 2, 3))
        moving = wrenches(model, motion._replace(velocity=v, turning=w))
        for e, b in enumerate(model.pairs.body_a):
            twist = np.concatenate([w[b], v[b] - np.cross(w[b], motion.position[b])])
            power = float((moving[e] - held[e]) @ twist)
            assert power <= 1e-12 * float(np.abs(moving[e] - held[e]) @ np.abs(twist))
            n_taken += power < 0.0
    assert n_taken > 25


def test_no_rolling_resistance_where_the_ground_would_pull() -> None:
    """Protects the clamp: a patch that parts so fast that its damper would pull leaves nothing at all."""
    model, motion = some_contacts(1)
    fast = motion._replace(velocity=np.zeros((2, 3)))
    model = model._replace(contacts=model.contacts._replace(surface_velocity=-40.0 * model.contacts.normal))
    assert not wrenches(model, fast).any()
    by_motion, by_parameter = derivatives(model, fast)
    assert not by_motion.any()
    assert not by_parameter.any()


@pytest.mark.parametrize("friction_law", [-1, BROWN_MCPHEE, ANDERSSON, HOLLARS, SPECKER, BENGISU_AKAY])
def test_derivatives_by_motion(friction_law: int) -> None:
    """Protects all twelve derivatives by the pose and the velocities of a body, others held."""
    model, motion = some_contacts(2, friction_law=friction_law)
    found, sizes = derivatives(model, motion)[0], scale(model, motion)
    for k, axis in enumerate(np.eye(3)):
        moves = {
            POSITION: lambda s, a=axis: motion._replace(position=motion.position + s * a),
            TURNED: lambda s, a=axis: motion._replace(
                rotation=Rotation.from_rotvec(s * a).as_matrix() @ motion.rotation
            ),
            SPEED: lambda s, a=axis: motion._replace(velocity=motion.velocity + s * a),
            TURNING: lambda s, a=axis: motion._replace(turning=motion.turning + s * a),
        }
        for row, moved in moves.items():
            wanted = difference(lambda s, m=moved: wrenches(model, m(s)), 1e-4)
            assert_close(found[:, row + k], wanted, 10.0 * sizes)


def changed(model: Prescribed, **tables: Array) -> Prescribed:
    """Return the contacts with other tables."""
    return model._replace(contacts=model.contacts._replace(**tables))


@pytest.mark.parametrize("law", [VOLUMETRIC, KELVIN_VOIGT, HUNT_CROSSLEY, POWER])
@pytest.mark.parametrize("friction_law", [-1, BROWN_MCPHEE, SPECKER])
def test_derivatives_by_parameters(law: int, friction_law: int) -> None:
    """Protects table 5.1: place, angles and radii of the ellipsoids, stiffness, damping, both frictions."""
    model, motion = some_contacts(4, law, friction_law)
    c, found, sizes = model.contacts, derivatives(model, motion)[1], scale(model, motion)
    moves: dict[int, Callable[[float], Prescribed]] = {}
    for k, axis in enumerate(np.eye(3)):
        moves[BY_CENTRE + k] = lambda s, a=axis: changed(model, centre=c.centre + s * a)
        moves[BY_TURN + k] = lambda s, a=axis: changed(
            model, rotation=Rotation.from_rotvec(s * a).as_matrix() @ c.rotation
        )
        moves[BY_RADIUS + k] = lambda s, a=axis: changed(model, radii=c.radii + s * a)
    for row, column, step in ((BY_STIFFNESS, 0, 1e3), (BY_DAMPING, 1, 1.0)):
        unit = step * np.eye(3)[column]
        moves[row] = lambda s, u=unit: changed(model, pressure=c.pressure + s * u)
    for row, column in ((BY_STATIC, MU_S), (BY_DYNAMIC, MU_D)):
        unit = np.eye(9)[column]
        moves[row] = lambda s, u=unit: changed(
            model, friction=c.friction + s * u, spin_friction=c.spin_friction + s * u
        )
    for row, moved in moves.items():
        wanted = difference(lambda s, m=moved: wrenches(m(s), motion), 1e-4)
        per = {BY_STIFFNESS: 1e3}.get(row, 1.0)
        assert_close(per * found[:, row], wanted, 20.0 * sizes)
