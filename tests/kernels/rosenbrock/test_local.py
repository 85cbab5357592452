"""Tangent coordinates of a step: their rate and its slope, against matrix exponentials and differences."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import expm

from kernels.joints.tree import Tree
from kernels.rosenbrock import local
from tests.naive.random_models import branched_tree
from tests.naive.rosenbrock_step import local_rate, rotations, skew

Array = NDArray[np.floating]
TREE = branched_tree(np.random.default_rng(3))
N_V = len(TREE.dof_body)


def rate_of(tree: Tree, theta: Array, v: Array) -> Array:
    """Return the kernel's theta-dot (n_v,)."""
    out = np.full(len(v), np.nan)
    local.local_rate(tree, theta, v, out)
    return out


def random_motion(seed: int, angle: float) -> tuple[Array, Array]:
    """Return theta and v (n_v,), each rotation by this angle [rad]."""
    theta, v = np.random.default_rng([seed, 29]).normal(size=(2, N_V))
    for own in rotations(TREE):
        theta[own] *= angle / np.linalg.norm(theta[own])
    return theta, 3.0 * v


@pytest.mark.parametrize("angle", [0.0, 1e-5, 0.0099, 0.0101, 0.3, 1.5, 3.0])
def test_rate_is_that_of_the_twin(angle: float) -> None:
    """Protects every kind of joint, and both sides of where the closed form gives way to its series."""
    for seed in range(3):
        theta, v = random_motion(seed, angle)
        np.testing.assert_allclose(
            rate_of(TREE, theta, v), local_rate(TREE, theta, v), rtol=0.0, atol=1e-12 * np.abs(v).max()
        )


@pytest.mark.parametrize("angle", [0.005, 0.7, 2.5])
def test_rate_turns_the_body_at_its_angular_velocity(angle: float) -> None:
    """Protects the law itself: R exp(theta) turns by exp(theta) w~, by central differences."""
    theta, v = random_motion(5, angle)
    rate, h = rate_of(TREE, theta, v), 1e-5
    for own in rotations(TREE):
        there, back = (expm(skew(theta[own] + s * rate[own])) for s in (h, -h))
        expected = expm(skew(theta[own])) @ skew(v[own])
        np.testing.assert_allclose((there - back) / (2.0 * h), expected, rtol=0.0, atol=2e-8)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_solve_is_that_of_the_slope_by_differences(sign: float) -> None:
    """Protects the closed inverse of shift - A, A by differences of the rate; sign -1 is its transpose."""
    _, v = random_motion(7, 0.1)
    h, x = 1e-4, np.random.default_rng(11).normal(size=N_V)
    A = np.stack([(rate_of(TREE, h * e, v) - rate_of(TREE, -h * e, v)) / (2.0 * h) for e in np.eye(N_V)], -1)
    for shift in (0.4, 30.0, 2e4):
        out, before = np.full(N_V, np.nan), x.copy()
        local.local_solve(TREE, v, shift, sign, x, out)
        matrix = shift * np.eye(N_V) - (A if sign > 0.0 else A.T)
        np.testing.assert_allclose(out, np.linalg.solve(matrix, x), rtol=1e-9)
        np.testing.assert_array_equal(x, before)
    assert np.abs(A).max() > 1.0
