"""Determinate kinematics under force-dependent kinematics: drivers in the place of markers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.fdk.problem import BALANCED, NOT_PLACED
from kernels.joints.tree import difference, integrate
from rtsim.config.runs.fdk_schema import FdkSpec
from rtsim.methods.fdk.fdk import ForceDependentKinematics
from rtsim.models.model import Model, build
from rtsim.models.roles import roles_of
from tests.kernels.fdk.test_fdk import DOFS, joint
from tests.kernels.fdk.test_lengths import CENTRE, INSERTION, MASS, REST, SPEC, STIFFNESS, G, places_of
from tests.naive.differences import first_derivative, second_along_finer
from tests.naive.fdk import places, values

pytestmark = pytest.mark.own_kernels

Array = NDArray[np.float64]

JAW = {"opening": (0.1, 0.8, -5.0), "deviation": (0.02, 0.1, 1.0), "protrusion": (0.002, 0.03, -0.4)}
"""Of the jaw: angles and a translation, their speeds and accelerations."""


def motion(
    model: Model, moved: dict[str, tuple[float, float, float]]
) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """q, v, v_dot and what is driven: the first body, at rest where it is not named, and what is named."""
    q, (v, v_dot) = model.q_neutral.copy(), np.zeros((2, model.n_v))
    driven = model.tree.dof_body == 0
    at = model.coordinates
    for name, numbers in moved.items():
        k = at.names.index(name)
        q[at.q[k]], v[at.dof[k]], v_dot[at.dof[k]] = numbers
        driven[at.dof[k]] = True
    return q, v, v_dot, driven


def block(**options) -> ForceDependentKinematics:
    """The block of a spring and a muscle, whose height forces decide."""
    model = build(SPEC, method="none")
    spec = FdkSpec(dofs=("drop",), tolerance_N=1e-8, **options)
    return ForceDependentKinematics(model, roles_of(SPEC, "none"), spec)


@pytest.mark.parametrize("velocities", ["least_squares", "optimum"])
@pytest.mark.parametrize(("speed", "acceleration"), [(0.0, 0.0), (3.0, 0.0), (1.0, -4.0)])
def test_a_driven_block_lies_where_dynamics_has_it(
    velocities: str, speed: float, acceleration: float
) -> None:
    """Protects eqs 1 to 3: muscle and height of a block that is turned by a driver, by Newton and Euler."""
    own = block(velocities=velocities)
    assert own.drive(*motion(own.model, {"turn": (0.0, speed, acceleration)})) == BALANCED
    drop, turn = places_of(own)
    assert turn == pytest.approx(0.0, abs=1e-11)
    about_origin = (0.01 + MASS * CENTRE**2) * acceleration + MASS * G * CENTRE
    muscle = about_origin / INSERTION
    assert own.forces[0] == pytest.approx(muscle, rel=1e-9)
    upwards = STIFFNESS * (0.1 - drop - REST) + muscle - MASS * G
    assert upwards == pytest.approx(MASS * CENTRE * acceleration, abs=1e-7)


def test_drivers_and_held_planes_are_fulfilled_with_their_rates() -> None:
    """Protects eqs 1 to 3 where constraints are curved: the jaw on its planes, by differences of them."""
    own = joint(*DOFS, tolerance_N=1e-6)
    model, tree = own.model, own.model.tree
    q, v, v_dot, driven = motion(model, JAW)
    # a head that is elsewhere, and moves
    integrate(tree, q, np.where(np.arange(model.n_v) < 6, 0.4, 0.0), 1.0, q)
    v[:6], v_dot[:6] = 0.3, -2.0
    assert own.drive(q, v, v_dot, driven) == BALANCED
    way = np.zeros(model.n_v)
    difference(tree, q, own.q, way)
    np.testing.assert_allclose(way[driven], 0.0, atol=1e-10)
    assert np.abs(way[~driven]).max() > 1e-4
    np.testing.assert_allclose(values(model, own.q), own.alpha, atol=1e-10)
    np.testing.assert_allclose(own.at.v[driven], v[driven], atol=1e-11)
    np.testing.assert_allclose(own.at.v_dot[driven], v_dot[driven], atol=1e-10)
    row = first_derivative(lambda x: values(model, x), tree, own.q)
    bend = second_along_finer(lambda x: values(model, x), tree, own.q, own.at.v)
    np.testing.assert_allclose(row @ own.at.v, 0.0, atol=1e-9)
    np.testing.assert_allclose(row @ own.at.v_dot, -bend, atol=1e-6)


@pytest.mark.parametrize("velocities", ["least_squares", "optimum"])
def test_exact_markers_of_a_driven_motion_balance_alike(velocities: str) -> None:
    """Protects both kinematics beside each other: alpha, activations, either after the other."""
    own = joint(*DOFS, tolerance_N=1e-6, velocities=velocities)
    model, tree = own.model, own.model.tree
    frame = motion(model, JAW)
    assert own.drive(*frame) == BALANCED
    alpha, activations, stiffness = own.alpha.copy(), own.activations.copy(), own.slopes(0.0)
    coarse, fine = own.slopes(2e-6), own.slopes(1e-6)
    np.testing.assert_allclose(stiffness, (4.0 * fine - coarse) / 3.0, atol=1e-6 * np.abs(stiffness).max())
    J = first_derivative(lambda x: places(model, x), tree, own.q)
    bend = second_along_finer(lambda x: places(model, x), tree, own.q, own.at.v)
    x, xd, xdd = places(model, own.q), J @ own.at.v, J @ own.at.v_dot + bend
    own.forget()
    assert own.balance(*(row.reshape(-1, 3) for row in (x, xd, xdd)), np.ones(8)) == BALANCED
    np.testing.assert_allclose(own.alpha, alpha, atol=1e-9)
    np.testing.assert_allclose(own.activations, activations, atol=1e-7)
    assert own.drive(*frame) == BALANCED
    np.testing.assert_allclose(own.alpha, alpha, atol=1e-9)


def test_drivers_that_are_too_many_or_too_few_are_told() -> None:
    """Protects from a motion that fits nothing: a dof left free, one driven and held, both at once."""
    own = block()
    for moved in ({}, {"turn": (0.0, 0.0, 0.0), "drop": (0.0, 0.0, 0.0)}, {"drop": (0.0, 0.0, 0.0)}):
        own.forget()
        assert own.drive(*motion(own.model, moved)) == NOT_PLACED
    own.forget()
    assert own.drive(*motion(own.model, {"turn": (0.1, 0.0, 0.0)})) == BALANCED
