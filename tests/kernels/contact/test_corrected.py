"""A recorded foot with corrections: its motion by differences in time, its wrench that of given motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from kernels.contact.corrected import (
    Correction,
    RecordedFoot,
    corrected_wrenches,
    new_corrected_work,
)
from kernels.contact.prescribed import contact_wrenches, new_prescribed_work
from kernels.contact.pressure_field import Grid
from tests.kernels.contact.prescribed_cases import some_contacts

Array = NDArray[np.floating]
NO_GRID = Grid(np.zeros(3), np.eye(3)[0], np.eye(3)[2], np.ones(2))


def correction(knots: Array, start: float, step: float) -> Correction:
    """Return splines through knots (7, n_knot)."""
    spline = CubicSpline(np.arange(knots.shape[1]), knots, axis=1, bc_type="natural")
    return Correction(start, step, np.ascontiguousarray(spline.c[::-1].transpose(2, 1, 0)))


def some_foot(times: Array) -> RecordedFoot:
    """Return a foot that moves smoothly and turns about a fixed axis, with toes anywhere."""
    rng = np.random.default_rng(4)
    a, b, axis = rng.uniform(-0.1, 0.1, (3, 3))
    turns = Rotation.from_rotvec(np.outer(np.sin(3.0 * times), axis))
    return RecordedFoot(
        times,
        a + np.outer(times**2, b),
        turns.as_matrix(),
        np.outer(2.0 * times, b),
        np.outer(3.0 * np.cos(3.0 * times), axis),
        np.array([0.1, -0.02, -0.04]),
        Rotation.random(random_state=1).as_matrix(),
        np.array([0.3, 0.0, 0.9]) / np.hypot(0.3, 0.9),
    )


def test_velocities_are_those_of_the_corrected_poses() -> None:
    """Protects rates of splines, foot and toes: differences of the poses of frames nearby."""
    model, _ = some_contacts(0)
    some = correction(np.random.default_rng(3).uniform(-0.2, 0.2, (7, 10)), 0.0, 0.1)
    step = 1e-6
    for at in (0.13, 0.55, 0.97):
        motions = []
        for time in (at - step, at, at + step):
            work = new_corrected_work(model, 1)
            corrected_wrenches(model, some_foot(np.array([time])), some, NO_GRID, work)
            motions.append(work.motion)
        before, now, after = motions
        speed = (after.position - before.position) / (2.0 * step)
        np.testing.assert_allclose(now.velocity, speed, rtol=0.0, atol=1e-7)
        for b in range(2):
            turn = Rotation.from_matrix(after.rotation[b] @ before.rotation[b].T).as_rotvec()
            np.testing.assert_allclose(now.turning[b], turn / (2.0 * step), rtol=0.0, atol=1e-6)


def test_frames_are_those_of_given_motion() -> None:
    """Protects the sum over contacts, and what no correction leaves alone."""
    model, _ = some_contacts(1)
    times = np.linspace(0.0, 1.0, 7)
    foot = some_foot(times)
    work = new_corrected_work(model, 7)
    corrected_wrenches(model, foot, correction(np.zeros((7, 10)), 0.0, 0.1), NO_GRID, work)
    np.testing.assert_allclose(work.motion.rotation[0], foot.rotation[-1], atol=1e-14)
    np.testing.assert_allclose(work.motion.rotation[1], foot.rotation[-1] @ foot.toe_axes, atol=1e-14)
    other = new_prescribed_work(model, 2)
    contact_wrenches(model, work.motion, other)
    assert np.abs(work.wrench[-1]).max() > 1.0
    np.testing.assert_allclose(work.wrench[-1], other.wrench.sum(axis=0), rtol=1e-13)


def test_pressure_of_every_frame() -> None:
    """Protects the grid of each frame: it starts from nothing."""
    model, _ = some_contacts(1)
    times = np.array([0.3, 0.3])
    work = new_corrected_work(model, 2, (20, 10))
    n = model.contacts.normal[0]
    u = np.cross(n, [0.0, 0.0, 1.0])
    u /= np.linalg.norm(u)
    grid = Grid(model.contacts.point[0] - 0.5 * u - 0.5 * np.cross(n, u), u, np.cross(n, u), np.full(2, 0.1))
    corrected_wrenches(model, some_foot(times), correction(np.zeros((7, 10)), 0.0, 0.1), grid, work)
    assert work.pressure.max() > 0.0
    np.testing.assert_array_equal(work.pressure[0], work.pressure[1])
