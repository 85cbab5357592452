"""Rosenbrock methods: transformed against published form, orders, stability."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.rosenbrock.tableau import METHODS, RosenbrockMethod, Tableau, lower
from tests.naive import rosenbrock

Array = NDArray[np.floating]
ALL = list(METHODS.values())
NAMES = list(METHODS)
every_method = pytest.mark.parametrize("method", ALL, ids=NAMES)
STIFFLY_ACCURATE = {"lieuler", "ros34pw2", "ros34prw", "ros3prl", "rodas4p"}
# Times of the stages, as published.
TIMES = {
    "lieuler": (0.0,),
    "ros2": (0.0, 1.0),
    "ros3": (0.0, 0.435866521508459, 0.435866521508459),
    "ros34pw2": (0.0, 0.871733043016918, 0.7315799577888524, 1.0),
    "ros34prw": (0.0, 0.871733043016918, 1.1537997822626886, 1.0),
    "ros3prl": (0.0, 0.5, 1.0, 1.0),
    "veldd4": (0.0, 0.4514162296451364, 0.8755928946018459, 0.8755928946018459),
    "rodas4p": (0.0, 0.75, 0.21, 0.63, 1.0, 1.0),
}


def published(method: RosenbrockMethod) -> tuple[Array, Array, Array, Array | None]:
    """Return the published coefficients as full arrays."""
    alpha, gamma, b, b_hat = method.published
    return lower(alpha), lower(gamma), np.array(b), None if b_hat is None else np.array(b_hat)


def transformed_step(
    f: Callable[[Array], Array], J: Array, y: Array, h: float, t: Tableau
) -> tuple[Array, Array]:
    """Return the step from y and its error estimate, by the transformed coefficients."""
    u = np.zeros((len(t.m), len(y)))
    matrix = np.eye(len(y)) / (h * t.g) - J
    for i in range(len(t.m)):
        u[i] = np.linalg.solve(matrix, f(y + t.a[i] @ u) + t.C[i] @ u / h)
    return y + t.m @ u, t.e @ u


def f(y: Array) -> Array:
    """Smooth, nonlinear, coupled; its third state is the time."""
    x, v, t = y
    return np.array([v, 0.8 * (1.0 - x * x) * v - x + 0.5 * np.sin(t), 1.0])


def jacobian(y: Array) -> Array:
    """Derivative of f."""
    x, v, t = y
    return np.array([[0.0, 1.0, 0.0], [-1.6 * x * v - 1.0, 0.8 * (1.0 - x * x), 0.5 * np.cos(t)], [0.0] * 3])


def wrong_jacobian(y: Array) -> Array:
    """Return some other matrix, a different one at every state."""
    return 0.5 * jacobian(y) + np.array([[-0.4, 0.2, 0.0], [0.3, -0.7, 0.1], [0.0, 0.1, -0.2]])


START, SPAN = np.array([1.2, 0.4, 0.0]), 1.0
Jacobian = Callable[[Array], Array]


def run(method: RosenbrockMethod, n: int, J: Jacobian, embedded: bool = False) -> Array:
    """Return the state after n steps over the span; embedded: going on from the embedded steps."""
    y = START
    for _ in range(n):
        step, error = transformed_step(f, J(y), y, SPAN / n, method.tableau)
        y = step - error if embedded else step
    return y


# Order 4, 400 steps: 1e-12 of the solution, far below every error compared with it.
END = run(METHODS["rodas4p"], 400, jacobian)


def observed_order(method: RosenbrockMethod, J: Jacobian, embedded: bool = False, n: int = 80) -> float:
    """Return the rate at which the error falls from n to 2 n steps."""
    errors = [float(np.linalg.norm(run(method, k, J, embedded) - END)) for k in (n, 2 * n)]
    return float(np.log2(errors[0] / errors[1]))


def growth(t: Tableau, z: complex) -> tuple[complex, complex]:
    """Return R(z) of a step of y' = z y with h = 1, and that of the embedded step."""
    u = np.zeros(len(t.m), dtype=complex)
    for i in range(len(t.m)):
        u[i] = (z * (1.0 + t.a[i] @ u) + t.C[i] @ u) / (1.0 / t.g - z)
    step = 1.0 + t.m @ u
    return complex(step), complex(step - t.e @ u)


def test_names_and_layout() -> None:
    """Protects what kernels rely on: one type for all methods, arrays as compiled for."""
    assert [method.name for method in ALL] == NAMES
    for method in ALL:
        t = method.tableau
        n = len(t.m)
        assert isinstance(t.g, float)
        assert isinstance(t.embedded, bool)
        assert [x.shape for x in (t.a, t.C, t.m, t.e, t.c)] == [(n, n), (n, n), (n,), (n,), (n,)]
        assert (t.same.shape, t.same.dtype) == ((n,), np.int64)
        assert all(x.dtype == np.float64 and x.flags.c_contiguous for x in (t.a, t.C, t.m, t.e, t.c))
        assert not np.triu(t.a).any()
        assert not np.triu(t.C).any()
        assert t.embedded == (method.embedded_order > 0) == bool(t.e.any())


@every_method
def test_transformed_step_is_the_published_step(method: RosenbrockMethod) -> None:
    """Protects the transformation, with the exact and with a wrong Jacobian, and the error estimate."""
    for J in (jacobian(START), wrong_jacobian(START)):
        for h in (1e-3, 0.1, 2.0):
            step, error = transformed_step(f, J, START, h, method.tableau)
            expected, embedded = rosenbrock.step(f, J, START, h, *published(method))
            np.testing.assert_allclose(step, expected, rtol=1e-12)
            if embedded is None:
                assert not error.any()
            else:
                np.testing.assert_allclose(error, expected - embedded, rtol=1e-9, atol=1e-13)


@every_method
def test_order_with_the_exact_jacobian(method: RosenbrockMethod) -> None:
    """Protects the coefficients: a wrong digit costs the order."""
    assert observed_order(method, jacobian) == pytest.approx(method.order, abs=0.15)


@every_method
def test_order_with_a_wrong_jacobian(method: RosenbrockMethod) -> None:
    """Protects which methods keep their order with any matrix, and that the others are told apart."""
    found = observed_order(method, wrong_jacobian)
    if method.w_method:
        assert found == pytest.approx(method.order, abs=0.15)
    else:
        assert found < 1.5


@pytest.mark.parametrize("method", [m for m in ALL if m.tableau.embedded], ids=lambda m: m.name)
def test_order_of_the_embedded_step(method: RosenbrockMethod) -> None:
    """Protects the error estimate: one order below the step."""
    assert method.embedded_order == method.order - 1
    assert observed_order(method, jacobian, embedded=True) == pytest.approx(method.embedded_order, abs=0.15)


# veldd4 is no L-stable method: A(89.4 degrees), and a quarter of a stiff state is left after a step.
GROWTH = {"veldd4": 1.02307}
LEFT_AT_INFINITY = {"veldd4": 0.2420989812451957}


@every_method
def test_stability(method: RosenbrockMethod) -> None:
    """Protects L-stability: no growth on the imaginary axis, nothing left at infinity; what veldd4 has."""
    largest = max(abs(growth(method.tableau, 1j * w)[0]) for w in np.geomspace(1e-3, 1e6, 400))
    assert largest <= GROWTH.get(method.name, 1.0) + 1e-12
    left = LEFT_AT_INFINITY.get(method.name, 0.0)
    assert abs(growth(method.tableau, -1e12)[0]) == pytest.approx(left, abs=1e-10)
    sector = np.exp(1j * np.radians(180.0 - 89.4))
    assert all(abs(growth(method.tableau, w * sector)[0]) <= 1.0 + 1e-4 for w in np.geomspace(1e-3, 1e6, 400))
    # and R is exp to the order of the method
    z = 0.02
    assert abs(growth(method.tableau, z)[0] - np.exp(z)) < z ** (method.order + 1)


EMBEDDED_AT_INFINITY = {
    "ros2": -1.0 - np.sqrt(2.0),
    "ros3": 0.5,
    "ros34pw2": -0.4783497673885091,
    "ros34prw": -0.25,
    "ros3prl": -0.25,
    "veldd4": -2.1736732171791147,
    "rodas4p": 0.0,
}


@pytest.mark.parametrize("name", list(EMBEDDED_AT_INFINITY))
def test_embedded_step_at_infinity(name: str) -> None:
    """Protects the embedded weights where order cannot see them; ros2 overstates stiff errors."""
    assert growth(METHODS[name].tableau, -1e12)[1].real == pytest.approx(EMBEDDED_AT_INFINITY[name], abs=1e-9)


@every_method
def test_same_stages_are_told(method: RosenbrockMethod) -> None:
    """Protects which stages reuse the accelerations of the one before: those at the very same state."""
    a = method.tableau.a
    found = [i > 1 and np.allclose(a[i], a[i - 1], rtol=0.0, atol=1e-14) for i in range(len(a))]
    assert found == list(method.tableau.same)


@every_method
def test_stiffly_accurate_methods(method: RosenbrockMethod) -> None:
    """Protects that the step of these is their last stage: b is the last row of alpha + gamma, at time 1."""
    alpha, gamma, b, _ = published(method)
    last = np.allclose(alpha[-1] + gamma[-1], b, rtol=0.0, atol=1e-14)
    assert last == (method.name in STIFFLY_ACCURATE)
    if last and len(b) > 1:
        assert method.tableau.m[-1] == pytest.approx(1.0, abs=1e-13)
        assert method.tableau.c[-1] == pytest.approx(1.0, abs=1e-14)


@every_method
def test_row_sums(method: RosenbrockMethod) -> None:
    """Protects times of the stages, weights that add up, and the transformed rows that follow from them."""
    _, gamma, b, b_hat = published(method)
    t = method.tableau
    np.testing.assert_allclose(t.c, TIMES[method.name], rtol=0.0, atol=1e-13)
    d = gamma.sum(axis=1)
    np.testing.assert_allclose(t.a @ d, t.c, rtol=0.0, atol=1e-11)
    np.testing.assert_allclose((np.eye(len(b)) / t.g - t.C) @ d, np.ones(len(b)), rtol=0.0, atol=1e-11)
    assert b.sum() == pytest.approx(1.0, abs=1e-14)
    assert t.m @ d == pytest.approx(1.0, abs=1e-11)
    assert t.e @ d == pytest.approx(0.0, abs=1e-11)
    if b_hat is not None:
        assert b_hat.sum() == pytest.approx(1.0, abs=1e-14)


@every_method
def test_order_conditions(method: RosenbrockMethod) -> None:
    """Protects every digit: Hairer & Wanner (1996), table IV.7.1; for W-methods alpha and gamma apart."""
    alpha, gamma, b, _ = published(method)
    both, c, d = alpha + gamma, alpha.sum(axis=1), gamma.sum(axis=1)
    conditions = {
        2: [(b @ (c + d), 1 / 2)],
        3: [(b @ c**2, 1 / 3), (b @ both @ (c + d), 1 / 6)],
        4: [
            (b @ c**3, 1 / 4),
            (b @ (c * (alpha @ (c + d))), 1 / 8),
            (b @ both @ c**2, 1 / 12),
            (b @ both @ both @ (c + d), 1 / 24),
        ],
    }
    any_matrix = {
        2: [(b @ c, 1 / 2), (b @ d, 0.0)],
        3: [
            (b @ alpha @ c, 1 / 6),
            (b @ alpha @ d, 0.0),
            (b @ gamma @ c, 0.0),
            (b @ gamma @ d, 0.0),
        ],
    }
    for order in range(2, method.order + 1):
        for found, expected in conditions[order] + (any_matrix[order] if method.w_method else []):
            assert found == pytest.approx(expected, abs=1e-13)
