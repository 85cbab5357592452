"""Linear algebra of a step: LU, the solve for speeds alone against that of all unknowns, wrong slopes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.algebra import linear
from kernels.joints.kinds import BALL
from kernels.rosenbrock import local, stages
from kernels.rosenbrock.tableau import METHODS, RosenbrockMethod
from rtsim.models.packing.tree import JointRow, build_tree
from tests.naive.random_models import branched_tree
from tests.naive.rosenbrock_step import rotations, skew

Array = NDArray[np.floating]
every_method = pytest.mark.parametrize("method", list(METHODS.values()), ids=list(METHODS))


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_lu_is_numpys(n: int) -> None:
    """Protects factors and solve; a zero first pivot needs an exchange of rows."""
    rng = np.random.default_rng(n)
    A, x = rng.normal(size=(n, n)), rng.normal(size=n)
    if n > 1:
        A[0, 0] = 0.0
    factors, y, pivot = A.copy(), x.copy(), np.full(n, -1)
    assert linear.lu(factors, n, pivot)
    linear.lu_solve(factors, n, pivot, y)
    np.testing.assert_allclose(y, np.linalg.solve(A, x), rtol=1e-9)


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_lu_refuses_a_column_without_pivot(bad: float) -> None:
    """Protects the status of a step: nothing is solved with a singular or a broken matrix."""
    A = np.random.default_rng(1).normal(size=(4, 4))
    A[:, 2] = bad
    assert not linear.lu(A, 4, np.zeros(4, np.int64))


@every_method
def test_speeds_alone_are_all_unknowns(method: RosenbrockMethod) -> None:
    """Protects the elimination of theta: u_q and u_v of all stages are those of the whole system of 2 n_v."""
    rng = np.random.default_rng(19)
    tree = branched_tree(rng)
    n, t, h = len(tree.dof_body), method.tableau, 7e-3
    root, v = rng.normal(size=(n, n)), 3.0 * rng.normal(size=n)
    M, tau_q, tau_v = (
        root @ root.T + np.eye(n),
        400.0 * rng.normal(size=(n, n)),
        20.0 * rng.normal(size=(n, n)),
    )
    work = stages.new_stage_work(n)
    work.M[:] = M
    work.tau_q[:], work.tau_v[:] = tau_q, tau_v
    assert stages.factor(tree, v, 1.0 / (h * t.g), work, None)
    A = np.zeros((n, n))
    for own in rotations(tree):
        A[own, own] = -0.5 * skew(v[own])
    J = np.block([[A, np.eye(n)], [np.linalg.solve(M, tau_q), np.linalg.solve(M, tau_v)]])
    u, start = np.zeros((len(t.m), 2 * n)), np.concatenate([np.zeros(n), v])
    for i in range(len(t.m)):
        state, rate = np.full(2 * n, np.nan), rng.normal(size=2 * n)
        stages.next_stage(t, i, 1.0 / h, start, work, state)
        np.testing.assert_allclose(state, start + t.a[i] @ u, rtol=0.0, atol=1e-10 * np.abs(u).max())
        stages.stage_solve(tree, i, 1.0 / (h * t.g), v, rate, None, work, None)
        u[i] = np.linalg.solve(np.eye(2 * n) / (h * t.g) - J, rate + t.C[i] @ u / h)
        for half in (slice(n), slice(n, None)):
            found, expected = work.u[i, half], u[i, half]
            np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-10 * np.abs(expected).max())


Slopes = Callable[[Array, Array], tuple[Array, Array]]
TOP = build_tree([JointRow(-1, BALL)])
INERTIA, PULL, CENTRE = np.diag([0.4, 0.7, 1.0]), np.array([0.0, -3.0, 0.0]), np.array([0.1, 0.4, -0.3])


def top_slopes(R: Array, w: Array) -> tuple[Array, Array]:
    """Return tau_q and tau_v (3, 3) of a heavy top."""
    return skew(CENTRE) @ skew(R.T @ PULL), skew(INERTIA @ w) - skew(w) @ INERTIA


def wrong_slopes(R: Array, w: Array) -> tuple[Array, Array]:
    """Return something else, of the same size."""
    tau_q, tau_v = top_slopes(R, w)
    return 0.3 * tau_q - 0.5 * np.eye(3), -0.4 * tau_v + 0.2 * np.ones((3, 3))


def spin_top(method: RosenbrockMethod, n_step: int, slopes: Slopes = top_slopes) -> Array:
    """Return orientation and angular velocity (12,) of a heavy top after a second, stages by the kernels."""
    t, h, R, w = method.tableau, 1.0 / n_step, np.eye(3), np.array([1.0, 2.0, -1.5])
    work, state, rate = stages.new_stage_work(3), np.zeros(6), np.zeros(6)
    theta, speed = state[:3], state[3:]
    work.M[:] = INERTIA
    for _ in range(n_step):
        work.tau_q[:], work.tau_v[:] = slopes(R, w)
        assert stages.factor(TOP, w, 1.0 / (h * t.g), work, None)
        for i in range(len(t.m)):
            stages.next_stage(t, i, n_step, np.concatenate([np.zeros(3), w]), work, state)
            local.local_rate(TOP, theta, speed, rate[:3])
            down = (R @ Rotation.from_rotvec(theta).as_matrix()).T @ PULL
            torque = np.cross(CENTRE, down) - np.cross(speed, INERTIA @ speed)
            rate[3:] = np.linalg.solve(INERTIA, torque)
            stages.stage_solve(TOP, i, 1.0 / (h * t.g), w, rate, None, work, None)
        moved = t.m @ work.u[: len(t.m)]
        R, w = R @ Rotation.from_rotvec(moved[:3]).as_matrix(), w + moved[3:]
    return np.concatenate([R.ravel(), w])


@pytest.fixture(scope="module")
def top_end() -> Array:
    """Where the heavy top is after a second, by steps eight times as fine."""
    return spin_top(METHODS["rodas4p"], 320)


@every_method
def test_order_with_wrong_slopes_of_the_forces(method: RosenbrockMethod, top_end: Array) -> None:
    """Protects secant slopes: a W-method keeps its order with any tau_q and tau_v, the others lose it."""
    coarse, fine = (np.linalg.norm(spin_top(method, n, wrong_slopes) - top_end) for n in (40, 80))
    order = np.log2(coarse / fine)
    if method.w_method:
        assert order == pytest.approx(method.order, abs=0.2)
    else:
        assert order < 1.5
