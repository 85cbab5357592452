"""Pressure over a grid: its sum, its place and its moment are those of the contact."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.contact.elements import POINT, PRESSING
from kernels.contact.geometries import SPHERE_ON_SPHERE
from kernels.contact.prescribed import (
    BodyMotion,
    Prescribed,
    PrescribedWork,
    contact_wrenches,
    new_prescribed_work,
)
from kernels.contact.pressure_field import Grid, add_pressure, add_pressures, new_field_work
from kernels.forces.assembly import generalized_forces
from kernels.joints.tree import pose
from rtsim.simulation.load import load_simulator
from tests.kernels.contact.prescribed_cases import DEPTHS, some_contacts
from tests.naive import volumetric

Array = NDArray[np.floating]


def only(model: Prescribed, e: int) -> Prescribed:
    """Return contact e alone."""
    tables = {
        name: table[e : e + 1]
        for name, table in model.contacts._asdict().items()
        if name not in ("pair", "meshes", "pressed")
    }
    pairs = model.pairs._replace(body_a=model.pairs.body_a[e : e + 1], body_b=model.pairs.body_b[e : e + 1])
    return Prescribed(pairs, model.contacts._replace(pair=np.zeros(1, np.int64), **tables))


def found(model: Prescribed, motion: BodyMotion) -> PrescribedWork:
    """Return the contacts' work after their wrenches."""
    work = new_prescribed_work(model, len(motion.position))
    contact_wrenches(model, motion, work)
    return work


def around(point: Array, n: Array, size: float, n_row: int, n_column: int) -> tuple[Grid, Array]:
    """Return a grid of n_row x n_column cells about a point, at right angles to n, and its cells (.., 3)."""
    u, w = volumetric.plane_axes(n)
    cell = np.array([size / n_column, size / n_row])
    corner = point - 0.5 * (n_column - 1) * cell[0] * u - 0.5 * (n_row - 1) * cell[1] * w
    i, j = np.meshgrid(np.arange(n_column), np.arange(n_row))
    return Grid(corner, u, w, cell), corner + i[..., None] * cell[0] * u + j[..., None] * cell[1] * w


def pressed(model: Prescribed, work: PrescribedWork, grid: Grid, shape: tuple[int, int]) -> Array:
    """Return the kernel's pressure over a grid [Pa]."""
    pressure = np.zeros(shape)
    add_pressures(
        model.pairs, model.contacts, work.pose, work.contacts, work.pairs, grid, new_field_work(), pressure
    )
    return pressure


@pytest.mark.parametrize("seed", range(3))
def test_the_sum_is_the_wrench(seed: int) -> None:
    """Protects eqs 5.44 and 5.45: force and moment of the columns, any depth, overhang, to the resolution."""
    model, motion = some_contacts(seed, friction_law=-1)
    slow = motion._replace(velocity=0.3 * motion.velocity)
    n_told = 0
    for e, d in enumerate(DEPTHS):
        one = only(model, e)
        work = found(one, slow)
        row, n = work.contacts.state[0], one.contacts.normal[0]
        point = row[POINT : POINT + 3] + motion.position[0]
        size = 5.0 * one.contacts.radii.max() * np.sqrt(np.clip(d, 0.01, 1.0))
        grid, cells = around(point, n, size, 151, 120)
        pressure = pressed(one, work, grid, (151, 120))
        force = pressure * grid.cell[0] * grid.cell[1]
        moment = np.sum(np.cross(cells - point, force[..., None] * n), axis=(0, 1))
        wanted = work.wrench[0, :3] - np.cross(point, work.wrench[0, 3:])
        assert force.sum() == pytest.approx(row[PRESSING] if d > 0.0 else 0.0, rel=3e-3)
        np.testing.assert_allclose(moment, wanted, rtol=0.0, atol=3e-3 * max(row[PRESSING], 1e-9))
        if d > 0.0 and force.sum() > 0.0:
            n_told += 1
            centre = np.einsum("ij,ijk->k", force, cells) / force.sum()
            assert np.linalg.norm(centre - point) < 0.3
    assert n_told >= 5


def test_grid_of_the_thesis() -> None:
    """Protects the coarse grid of 39 x 16 cells: total force within what midpoints of such cells leave."""
    model, motion = some_contacts(1, friction_law=-1, depths=(0.6,))
    work = found(model, motion)
    point = work.contacts.state[0, POINT : POINT + 3] + motion.position[0]
    grid, _ = around(point, model.contacts.normal[0], 1.0, 39, 16)
    total = pressed(model, work, grid, (39, 16)).sum() * grid.cell[0] * grid.cell[1]
    assert total == pytest.approx(work.contacts.state[0, PRESSING], rel=0.02)


def test_columns_are_chords_of_the_ellipsoid() -> None:
    """Protects each cell by itself: the part of a column that is inside the ellipsoid and below the plane."""
    model, motion = some_contacts(2, friction_law=-1, depths=(0.7,))
    still = motion._replace(velocity=np.zeros((2, 3)), turning=np.zeros((2, 3)))
    model = model._replace(contacts=model.contacts._replace(surface_velocity=np.zeros((1, 3))))
    work, c, n = found(model, still), model.contacts, model.contacts.normal[0]
    point = work.contacts.state[0, POINT : POINT + 3] + motion.position[0]
    grid, cells = around(point, n, 0.8, 7, 6)
    pressure = pressed(model, work, grid, (7, 6))
    E, x = motion.rotation[0] @ c.rotation[0], motion.position[0] + motion.rotation[0] @ c.centre[0]
    steps = np.linspace(-1.0, 1.0, 40001)
    for index in np.ndindex(7, 6):
        along = cells[index] + steps[:, None] * n
        inside = (((along - x) @ E / c.radii[0]) ** 2).sum(axis=1) < 1.0
        below = (along - c.point[0]) @ n < 0.0
        depth = np.count_nonzero(inside & below) * (steps[1] - steps[0])
        assert pressure[index] == pytest.approx(c.pressure[0, 0] * depth, abs=0.3)


def test_spheres_press_by_their_lens() -> None:
    """Protects the second geometry of volumes: columns between two spheres add up to the lens."""
    model, motion = some_contacts(5, friction_law=-1, depths=(0.6,))
    c = model.contacts
    x = motion.position[0] + motion.rotation[0] @ c.centre[0]
    n = c.normal[0]
    other = c._replace(
        geometry=np.full(1, SPHERE_ON_SPHERE),
        radii=np.full((1, 3), 0.2),
        radii_b=np.full((1, 3), 0.3),
        round=np.ones(1, np.int64),
        point=np.array([x - 0.42 * n]),
        rolls=np.zeros(1, np.int64),
    )
    model = model._replace(contacts=other)
    still = motion._replace(velocity=np.zeros((2, 3)), turning=np.zeros((2, 3)))
    work = found(model._replace(contacts=other._replace(surface_velocity=np.zeros((1, 3)))), still)
    row = work.contacts.state[0]
    grid, _ = around(row[POINT : POINT + 3] + motion.position[0], n, 0.5, 120, 100)
    total = pressed(model, work, grid, (120, 100)).sum() * grid.cell[0] * grid.cell[1]
    assert row[PRESSING] > 0.0
    assert total == pytest.approx(row[PRESSING], rel=3e-3)


def test_what_would_pull_presses_nothing() -> None:
    """Protects the clamp: neither single columns nor a contact that parts too fast have negative pressure."""
    model, motion = some_contacts(1, friction_law=-1, depths=(0.6,))
    turning = motion._replace(turning=40.0 * motion.turning)
    work = found(model, turning)
    point = work.contacts.state[0, POINT : POINT + 3] + motion.position[0]
    grid, _ = around(point, model.contacts.normal[0], 1.0, 39, 16)
    pressure = pressed(model, work, grid, (39, 16))
    assert pressure.min() == 0.0
    parting = model._replace(contacts=model.contacts._replace(surface_velocity=-40.0 * model.contacts.normal))
    assert not pressed(parting, found(parting, motion), grid, (39, 16)).any()


def test_plateaus_of_a_knee_are_pressed_as_their_contacts() -> None:
    """Protects planes of bodies that move: a knee's condyles on its tibia in a simulation."""
    simulator = load_simulator("knee")
    simulator.run(60, 0, simulator.trace(1))
    forces, work = simulator.model.forces, simulator.work
    contacts, touched = work.forces.contacts, 0
    pose(simulator.model.tree, simulator.q, work.dynamics.pose)
    generalized = np.zeros(simulator.model.n_v)
    generalized_forces(forces, work.dynamics.pose, simulator.q, simulator.v, work.forces, generalized)
    for e in range(2):
        normal, radius = forces.contacts.normal[e], forces.contacts.radii[e, 0]
        body = forces.pairs.body_b[forces.contacts.pair[e]]
        place = contacts.state[e, POINT : POINT + 3] + work.dynamics.pose.position[0]
        R, x = work.dynamics.pose.rotation[body], work.dynamics.pose.position[body]
        grid, _ = around(R.T @ (place - x), normal, radius, 120, 100)
        pressure = np.zeros((120, 100))
        add_pressure(
            forces.pairs, forces.contacts, e, work.dynamics.pose, contacts, work.forces.pairs, grid,
            new_field_work(), pressure,
        )  # fmt: skip
        force = pressure.sum() * grid.cell[0] * grid.cell[1]
        assert force == pytest.approx(contacts.state[e, PRESSING], rel=0.01)
        touched += contacts.state[e, PRESSING] > 10.0
    assert touched
