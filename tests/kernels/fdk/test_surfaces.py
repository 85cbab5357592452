"""Surfaces of triangles in a joint: a law of action and reaction, and slopes as differences have them."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.fdk.surfaces import add_pressing, add_pressing_slopes, new_pressing_work
from kernels.tree import new_pose, pose
from rtsim.methods.fdk import PressedSurfaces, pressing_of
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.packing.meshes import Surface
from rtsim.models.shapes import ball, plate
from tests.naive.differences import first_derivative

MODEL = build(load_model("mandible"), method="pop")


def surfaces() -> tuple[PressedSurfaces, ...]:
    """A ball on the mandible pressed a millimetre into plates of the skull, above and beside it."""
    x, triangles = ball(0.010, 9, 11)
    condyle = Surface(x + np.array([0.0, -0.010, 0.050]), triangles)
    x, triangles = plate(0.06, 0.06, 12)
    above = x @ np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  # outside is below
    beside = x @ np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # outside is backwards
    places = above + np.array([0.0, -0.0013, 0.050]), beside + np.array([0.0086, -0.010, 0.050])
    return tuple(PressedSurfaces("mandible", condyle, "skull", Surface(at, triangles)) for at in places)


PRESSING = pressing_of(MODEL, surfaces())


def forces(q: np.ndarray) -> np.ndarray:
    """(n_v,) - generalized forces at q, by a memory of its own."""
    work, at = new_pressing_work(PRESSING, MODEL.tree), new_pose(2, MODEL.n_v, len(MODEL.tree.chains.dof))
    tau = np.zeros(MODEL.n_v)
    pose(MODEL.tree, q, at)
    add_pressing(PRESSING, at, work, tau)
    return tau


def test_the_skull_is_pushed_as_the_mandible_is() -> None:
    """Protects action and reaction: nothing is left on the head, which both move with."""
    tau = forces(MODEL.q_neutral)
    np.testing.assert_allclose(tau[:6], 0.0, atol=1e-12)
    protrusion, elevation = tau[6], tau[7]
    assert elevation < -1.0
    assert protrusion < -1.0


@pytest.mark.parametrize("seed", range(2))
def test_slopes_of_pressed_surfaces_are_those_of_differences(seed: int) -> None:
    """Protects dw = x x* w - X K X' x, away from where a vertex goes over to another triangle."""
    rng = np.random.default_rng(seed)
    q = MODEL.q_neutral.copy()
    q[MODEL.coordinates.q] += 1e-4 * rng.standard_normal(len(MODEL.coordinates.q))
    turn = rng.standard_normal(4)
    q[3:7] = turn / np.linalg.norm(turn)
    work, at = new_pressing_work(PRESSING, MODEL.tree), new_pose(2, MODEL.n_v, len(MODEL.tree.chains.dof))
    tau, tau_q, tau_v = np.zeros(MODEL.n_v), np.zeros((MODEL.n_v,) * 2), np.zeros((MODEL.n_v,) * 2)
    pose(MODEL.tree, q, at)
    add_pressing(PRESSING, at, work, tau)
    add_pressing_slopes(
        PRESSING, MODEL.tree, at, np.zeros((2, 6)), np.zeros((MODEL.n_v, 6)), work, tau_q, tau_v
    )
    expected = first_derivative(forces, MODEL.tree, q, 1e-7)
    np.testing.assert_allclose(tau_q, expected, atol=2e-6 * np.abs(expected).max())
    assert not tau_v.any()
