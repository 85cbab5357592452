"""Contacts along a recorded motion, and the misfit of their pressure: sums, integrals, every derivative."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.contact.elements import Contacts
from kernels.contact.parameter_slopes import BY_CENTRE, BY_DAMPING, BY_RADIUS, BY_STIFFNESS, BY_TURN
from kernels.contact.prescribed import POSITION, SPEED, TURNED, TURNING, Prescribed
from kernels.contact.pressure_misfit import MeasuredPressure, MisfitWork, new_misfit_work, pressure_misfit
from kernels.contact.recorded import (
    RecordedBodies,
    new_recorded_work,
    recorded_derivatives,
    recorded_wrenches,
)
from tests.kernels.contact.prescribed_cases import derivatives, some_contacts, wrenches
from tests.naive.mechanisms import dirty

Array = NDArray[np.floating]
N_FRAME = 3


class Case(NamedTuple):
    """Ellipsoids on two bodies over the plane Z = 0, their motion, and a measured pressure."""

    model: Prescribed
    recorded: RecordedBodies
    measured: MeasuredPressure


def case(seed: int, n_side: int = 40) -> Case:
    """Return three ellipsoids, two on one body, that sink and turn, over a grid of cells."""
    rng = np.random.default_rng([seed, 29])
    model, _ = some_contacts(seed, friction_law=-1, depths=(0.3, 0.5, 0.7))
    c = model.contacts._replace(
        centre=rng.uniform(-0.05, 0.05, (3, 3)) * [1.0, 1.0, 0.2],
        radii=rng.uniform(0.02, 0.06, (3, 3)),
        normal=np.tile([0.0, 0.0, 1.0], (3, 1)),
        point=np.zeros((3, 3)),
        surface_velocity=np.zeros((3, 3)),
        pressure=np.tile([1e7, 0.8, 1.5], (3, 1)),
    )
    recorded = RecordedBodies(
        rng.uniform(-0.02, 0.02, (N_FRAME, 2, 3)) + np.array([0.0, 0.0, 0.02]),
        Rotation.from_rotvec(rng.uniform(-0.4, 0.4, (N_FRAME * 2, 3))).as_matrix().reshape(N_FRAME, 2, 3, 3),
        rng.uniform(-0.2, 0.2, (N_FRAME, 2, 3)),
        rng.uniform(-0.6, 0.6, (N_FRAME, 2, 3)),
    )
    edge = 0.3 / n_side
    along = (np.arange(n_side) + 0.5) * edge - 0.15
    cells = np.stack(np.meshgrid(along, along), axis=-1).reshape(-1, 2)
    pressure = rng.uniform(0.0, 4e5, (2, len(cells)))
    return Case(
        model._replace(contacts=c), recorded, MeasuredPressure(np.array([0, 2]), cells, pressure, edge * edge)
    )


def pressed(one: Case, with_derivatives: bool = True) -> MisfitWork:
    """Return the kernel's answers from dirty working space."""
    work = dirty(new_misfit_work(one.measured, 2, 3))
    pressure_misfit(one.model, one.recorded, one.measured, work, with_derivatives)
    return work


def turned(R: Array, k: int, angle: float) -> Array:
    """Return R turned by an angle about axis k of ground."""
    return Rotation.from_rotvec(angle * np.eye(3)[k]).as_matrix() @ R


def test_frames_are_those_of_prescribed_motion() -> None:
    """Protects sum and order: each frame is what the kernel of a single frame gives."""
    one = case(1)
    work = dirty(new_recorded_work(one.model, N_FRAME, 2))
    recorded_derivatives(one.model, one.recorded, work)
    for n in range(N_FRAME):
        motion = type(work.motion)(*(array[n] for array in one.recorded))
        by_motion, by_parameter = derivatives(one.model, motion)
        np.testing.assert_allclose(
            work.wrench[n], wrenches(one.model, motion).sum(axis=0), rtol=1e-12, atol=1e-9
        )
        np.testing.assert_array_equal(work.by_parameter[n], by_parameter)
        for b in range(2):
            np.testing.assert_allclose(
                work.by_motion[n, b],
                by_motion[one.model.pairs.body_a == b].sum(axis=0),
                rtol=1e-12,
                atol=1e-9,
            )
    again = dirty(new_recorded_work(one.model, N_FRAME, 2))
    recorded_wrenches(one.model, one.recorded, again)
    np.testing.assert_array_equal(again.wrench, work.wrench)


@pytest.mark.parametrize("seed", range(3))
def test_pressure_sums_to_the_normal_force(seed: int) -> None:
    """Protects one mechanics: pressure without clamping is the force of the contact, and its place."""
    one = case(seed, n_side=300)
    c = one.model.contacts._replace(pressure=np.tile([1e7, 0.2, 1.5], (3, 1)))
    one = one._replace(model=one.model._replace(contacts=c))
    work = pressed(one, with_derivatives=False)
    wanted = dirty(new_recorded_work(one.model, N_FRAME, 2))
    recorded_wrenches(one.model, one.recorded, wanted)
    for p, n in zip(work.pressure, one.measured.frames, strict=True):
        force = one.measured.area * p.sum()
        assert force == pytest.approx(wanted.wrench[n, 5], rel=2e-3)
        moment = one.measured.area * p @ one.measured.cells
        # rolling resistance is the moment of the pressure that turning makes (eq. 5.45)
        np.testing.assert_allclose(
            moment, [-wanted.wrench[n, 1], wanted.wrench[n, 0]], rtol=0.0, atol=3e-3 * 0.05 * force
        )


def test_misfit_is_the_sum_of_differences() -> None:
    """Protects eq. 5.52: the misfit of a frame is the force that all differences make."""
    one = case(2)
    work = pressed(one)
    wanted = one.measured.area * np.abs(work.pressure - one.measured.pressure).sum(axis=1)
    np.testing.assert_allclose(work.misfit, wanted, rtol=1e-12)


def test_curvature_is_the_square_of_the_cells_slopes() -> None:
    """Protects what a search reckons with: of one ellipsoid, it bounds the square of the slopes."""
    one = case(5, n_side=60)
    alone = one._replace(model=one.model._replace(contacts=lone(one, 2)))
    work = pressed(alone)
    slopes = np.concatenate([work.by_parameter[:, 2], work.by_motion[:, one.model.pairs.body_a[2]]], axis=1)
    for f in range(len(slopes)):
        bound = work.misfit[f] / one.measured.area * work.curvature[f, 2]
        np.testing.assert_array_equal(bound, bound.T)
        size = np.sqrt(np.maximum(np.diag(bound), 1e-300))
        scaled = (bound - np.outer(slopes[f], slopes[f])) / np.outer(size, size)
        assert np.linalg.eigvalsh(scaled).min() > -1e-6


def lone(one: Case, e: int) -> Contacts:
    """Return the contacts with all others far above the plane."""
    c = one.model.contacts
    centre = c.centre + [0.0, 0.0, 10.0] * (np.arange(3) != e)[:, None]
    return c._replace(centre=centre)


def changed(one: Case, what: str, b: int, k: int, step: float) -> Case:
    """Return the case with one quantity of body or contact b stepped."""
    c, r = one.model.contacts, RecordedBodies(*(array.copy() for array in one.recorded))
    arrays = {name: getattr(c, name).copy() for name in ("centre", "radii", "pressure", "rotation")}
    if what == "turned":
        for n in range(N_FRAME):
            r.rotation[n, b] = turned(r.rotation[n, b], k, step)
    elif what in ("position", "velocity", "turning"):
        getattr(r, what)[:, b, k] += step
    elif what == "turn":
        arrays["rotation"][b] = turned(arrays["rotation"][b], k, step)
    else:
        arrays[what][b, k] += step
    return Case(one.model._replace(contacts=c._replace(**arrays)), r, one.measured)


@pytest.mark.parametrize(
    ("what", "row", "width", "step"),
    [("position", POSITION, 3, 1e-6), ("turned", TURNED, 3, 1e-6), ("velocity", SPEED, 3, 1e-5),
     ("turning", TURNING, 3, 1e-5), ("centre", BY_CENTRE, 3, 1e-6), ("turn", BY_TURN, 3, 1e-6),
     ("radii", BY_RADIUS, 3, 1e-6), ("pressure", BY_STIFFNESS, 1, 10.0), ("pressure", BY_DAMPING, 1, 1e-5)],
)  # fmt: skip
def test_derivatives_are_those_of_differences(what: str, row: int, width: int, step: float) -> None:
    """Protects every derivative of the misfit; no pressure crosses the measured one within the steps, but
    cells at a rim come and go, which bends the differences a little.
    """
    one = case(5, n_side=120)
    one = one._replace(measured=one.measured._replace(pressure=np.zeros_like(one.measured.pressure)))
    work = pressed(one)
    of_motion = what in ("position", "turned", "velocity", "turning")
    found = work.by_motion if of_motion else work.by_parameter
    scale = np.abs(found[:, :, row : row + width]).max()
    for b in range(found.shape[1]):
        for k in range(width):
            at = row + k
            index = k + (at == BY_DAMPING and what == "pressure")
            ahead, back = (pressed(changed(one, what, b, index, s), False).misfit for s in (step, -step))
            np.testing.assert_allclose(
                found[:, b, at],
                (ahead - back) / (2.0 * step),
                rtol=0.0,
                atol=2e-3 * scale,
                err_msg=f"{b} {k}",
            )
