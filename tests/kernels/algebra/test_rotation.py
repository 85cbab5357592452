"""Rotations against SciPy's, and the maps between quaternions, matrices and rotation vectors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.algebra import rotation
from tests.naive.tree import matrix_quaternion, quaternion_matrix

Array = NDArray[np.floating]

# around zero, around the branch of the small-angle series, ordinary, and around half a turn
ANGLES = (0.0, 1e-12, 1e-9, 1e-6, 1.99e-4, 2.01e-4, 1e-2, 1.0, 3.0, np.pi - 1e-6, np.pi - 1e-9)


def random_quaternions(n: int, seed: int) -> Array:
    """Return unit quaternions with random signs, (n, 4)."""
    q = np.random.default_rng(seed).normal(size=(n, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def step(q: Array, delta: Array) -> Array:
    """Return q * exp(delta) by the kernel."""
    q_new = np.zeros(4)
    rotation.quaternion_step(q, float(delta[0]), float(delta[1]), float(delta[2]), q_new)
    return q_new


def to_matrix(q: Array) -> Array:
    """Return the kernel's matrix of q."""
    R = np.zeros((3, 3))
    rotation.quaternion_to_matrix(q, R)
    return R


def to_quaternion(R: Array) -> Array:
    """Return the kernel's quaternion of R."""
    q = np.zeros(4)
    rotation.matrix_to_quaternion(R, q)
    return q


def difference(a: Array, b: Array) -> Array:
    """Return the kernel's rotation vector from a to b."""
    delta = np.zeros(3)
    rotation.quaternion_difference(a, b, delta)
    return delta


def test_matrix_of_a_quaternion() -> None:
    """Protects the convention w, x, y, z and x_parent = R x_child."""
    for q in random_quaternions(20, 1):
        np.testing.assert_allclose(to_matrix(q), quaternion_matrix(q), atol=1e-15)


def test_quaternion_of_a_matrix() -> None:
    """Protects Shepperd's four pivots: each branch, and w >= 0."""
    pivots = set()
    for q in random_quaternions(200, 2):
        R = quaternion_matrix(q)
        pivots.add(int(np.argmax([np.trace(R), *np.diag(R)])))
        np.testing.assert_allclose(to_quaternion(R), matrix_quaternion(R), atol=1e-14)
    assert pivots == {0, 1, 2, 3}


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("angle", [np.pi, np.pi - 1e-9, np.pi + 1e-9, 1e-9, 0.0])
def test_round_trip_near_half_a_turn_and_near_none(axis: int, angle: float) -> None:
    """Protects matrix -> quaternion -> matrix where one of the pivots vanishes."""
    R = Rotation.from_rotvec(angle * np.eye(3)[axis]).as_matrix()
    np.testing.assert_allclose(to_matrix(to_quaternion(R)), R, atol=4e-16)


@pytest.mark.parametrize("angle", ANGLES)
def test_step_is_that_of_scipy(angle: float) -> None:
    """Protects R <- R exp(delta), the series for small angles included."""
    rng = np.random.default_rng(3)
    for q in random_quaternions(5, 4):
        axis = rng.normal(size=3)
        delta = angle * axis / np.linalg.norm(axis)
        expected = quaternion_matrix(q) @ Rotation.from_rotvec(delta).as_matrix()
        np.testing.assert_allclose(to_matrix(step(q, delta)), expected, atol=2e-15)


@pytest.mark.parametrize("angle", ANGLES)
def test_difference_undoes_the_step(angle: float) -> None:
    """Protects difference as the inverse of step, relative to the angle, on both signs of the quaternion."""
    rng = np.random.default_rng(5)
    for q in random_quaternions(5, 6):
        axis = rng.normal(size=3)
        delta = angle * axis / np.linalg.norm(axis)
        moved = step(q, delta)
        # rounding of q enters as 1e-16, whatever the angle
        np.testing.assert_allclose(difference(q, moved), delta, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(difference(q, -moved), delta, rtol=1e-9, atol=1e-15)


def test_difference_takes_the_shorter_way_round() -> None:
    """Protects the length of the step between any two orientations: at most half a turn, as SciPy's."""
    for a, b in zip(random_quaternions(30, 7), random_quaternions(30, 8), strict=True):
        relative = Rotation.from_matrix(quaternion_matrix(a).T @ quaternion_matrix(b)).as_rotvec()
        np.testing.assert_allclose(difference(a, b), relative, atol=1e-13)


def test_step_keeps_the_quaternion_unit_and_may_write_in_place() -> None:
    """Protects long runs from drift, and the aliasing that integrate() relies on."""
    q = random_quaternions(1, 9)[0]
    delta = np.array([0.3, -0.2, 0.7])
    expected = step(q, delta)
    rotation.quaternion_step(q, 0.3, -0.2, 0.7, q)
    np.testing.assert_array_equal(q, expected)
    for _ in range(1000):
        q = step(q, delta)
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-15)


def test_step_is_smooth_across_the_series_branch() -> None:
    """Protects the small-angle series: no jump where it takes over, at half the angle 1e-4."""
    q = np.array([1.0, 0.0, 0.0, 0.0])
    below, above = (step(q, np.array([angle, 0.0, 0.0]))[1] / angle for angle in (1.99999e-4, 2.00001e-4))
    assert below == pytest.approx(above, rel=1e-12)


def test_turn_about() -> None:
    """Protects Rodrigues' formula for angles of any size and both signs, in place and not."""
    rng = np.random.default_rng(10)
    turned, turned_axis = np.zeros((3, 3)), np.zeros(3)
    for angle in (-7.0, -np.pi, -1e-8, 0.0, 0.4, np.pi, 10.0):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        frame = Rotation.random(None, rng).as_matrix()
        rotation.turn_about(frame, axis, angle, turned, turned_axis)
        np.testing.assert_allclose(turned, frame @ Rotation.from_rotvec(angle * axis).as_matrix(), atol=1e-15)
        np.testing.assert_allclose(turned_axis, frame @ axis, atol=1e-15)
        rotation.turn_about(frame, axis, angle, frame, turned_axis)
        np.testing.assert_array_equal(frame, turned)


def test_products() -> None:
    """Protects R x, A B and A B' against NumPy."""
    rng = np.random.default_rng(11)
    A, B, C, x, y = (
        rng.normal(size=(3, 3)),
        rng.normal(size=(3, 3)),
        np.zeros((3, 3)),
        rng.normal(size=3),
        np.zeros(3),
    )
    rotation.rotate(A, x, y)
    np.testing.assert_allclose(y, A @ x, atol=1e-15)
    rotation.multiply(A, B, C)
    np.testing.assert_allclose(C, A @ B, atol=1e-15)
    rotation.multiply_transposed(A, B, C)
    np.testing.assert_allclose(C, A @ B.T, atol=1e-15)
