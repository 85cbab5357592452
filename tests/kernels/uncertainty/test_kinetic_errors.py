"""Deviations of what crosses the joints: bodies off their courses, masses, plates, and sums of all."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.compiler.jit import hold
from kernels.dynamics.kinetics import Cuts, new_kinetics
from kernels.dynamics.system import new_dynamics_work
from kernels.joints.motions import TRANSLATES
from kernels.uncertainty.kinetic_errors import (
    KineticDeviations,
    LoadErrors,
    kinetic_deviations,
    new_error_work,
    new_kinetic_deviations,
)
from rtsim.config.runs.rate_schema import ButterworthSpec
from rtsim.methods.kinematics.rate_errors import products
from tests.kernels.dynamics.cases import Case, some_case
from tests.kernels.dynamics.test_kinetics import call_kinetics, joints_of, on_proximal
from tests.naive.kinetic_errors import courses, moved, results

Array = NDArray[np.floating]

CASES = [("branched", 0), ("random", 1), ("chained", 2)]
ROOT = 0


def deviations(case: Case, seed: int, errors: LoadErrors) -> tuple[KineticDeviations, Array]:
    """Return the kernel's deviations, and the twists (n_v, 6) of all dofs about ground's origin."""
    joints = joints_of(case, seed)
    n, n_body, n_v = len(joints.distal), len(case.system.tree.parent), len(case.v)
    cuts = Cuts(joints, np.ones((n, 3)), on_proximal(joints), ROOT, 700.0)
    work, kinetics, tau = new_dynamics_work(case.system.tree), new_kinetics(n), np.zeros(n_v)
    out = new_kinetic_deviations(n, n_v)
    call_kinetics(case.system, cuts, case.q, case.v, case.v_dot, case.wrench, work, kinetics, tau)
    of_errors = (case.system, cuts, errors, work, kinetics, new_error_work(n_body, n_v, n), out)
    hold(kinetic_deviations, of_errors)()
    twists = work.pose.twist.copy()
    twists[:, 3:] -= np.cross(twists[:, :3], work.pose.position[0])
    return out, twists


def no_errors(case: Case) -> LoadErrors:
    n_v, n_body = len(case.v), len(case.system.tree.parent)
    return LoadErrors(
        np.zeros((2, n_v, n_v)), np.zeros((2, 3, 3)), np.zeros(n_body), np.zeros((n_body, 6, 6))
    )


def in_a_row(out: KineticDeviations) -> Array:
    """Return them in the order of the twin."""
    joints = zip(out.moment, out.force, out.angle_rate, out.power, strict=True)
    return np.concatenate([*(np.ravel(x) for joint in joints for x in joint), out.residual.ravel()])


def moved_by(case: Case, twists: Array, direction: Array) -> Array:
    """Return the twists (n_body, 6) of all bodies by a tangent step."""
    tree, shifts = case.system.tree, np.zeros((len(case.system.tree.parent), 6))
    for b, p in enumerate(tree.parent):
        own = range(tree.v_start[b], tree.v_start[b + 1])
        shifts[b] = (shifts[p] if p >= 0 else 0.0) + direction[own] @ twists[own]
    return shifts


def differences(case: Case, seed: int, shifts: Array, z: Array) -> tuple[Array, Array]:
    """Return the changes of all results, and of what crosses the joints, per size of an error."""
    joints, ends, step = joints_of(case, seed), [], 1e-4
    places = courses(case.system, (case.q, case.v, case.v_dot))
    for sign in (1.0, -1.0):
        at = moved(places, sign * step * np.multiply.outer(z, shifts))
        ends.append(results(case.system, joints, on_proximal(joints), at, case.wrench, ROOT))
    return tuple((there - back) / (2.0 * step) for there, back in zip(*ends, strict=True))


@pytest.mark.parametrize(("name", "seed"), CASES)
@pytest.mark.parametrize("z", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.7, -2.0, 20.0)])
def test_bodies_off_their_courses_change_results_as_differences_say(name: str, seed: int, z: tuple) -> None:
    """Protects every slope of the pose, of its speeds and of its accelerations, in all axes."""
    case = some_case(name, seed)
    direction = np.random.default_rng([seed, 5]).normal(scale=0.3, size=len(case.v))
    errors = no_errors(case)
    errors.covariance[0] = np.outer(direction, direction)
    errors.rates[0, 1] = z
    found, twists = deviations(case, seed, errors)
    shifts = moved_by(case, twists, direction)
    expected, through = differences(case, seed, shifts, np.array(z))
    scale = np.abs(expected).max()
    np.testing.assert_allclose(in_a_row(found), np.abs(expected), rtol=1e-4, atol=1e-6 * scale)
    check_tau(case, found, twists, shifts, through, z[0])


def check_tau(
    case: Case, found: KineticDeviations, twists: Array, shifts: Array, through: Array, z: float
) -> None:
    """Generalized forces: the twist of a dof goes with its body, a slider's with the body before it."""
    tree, rows = case.system.tree, np.vstack([shifts, np.zeros(6)])
    now = results(
        case.system, joints_of(case), on_proximal(joints_of(case)),
        courses(case.system, (case.q, case.v, case.v_dot)), case.wrench, ROOT,
    )[1]  # fmt: skip
    for d, b in enumerate(tree.dof_body):
        xi = rows[tree.parent[b] if tree.dof_rotates[d] == TRANSLATES else b]
        w, u = twists[d, :3], twists[d, 3:]
        turned = np.concatenate([np.cross(xi[:3], w), np.cross(xi[:3], u) + np.cross(xi[3:], w)])
        expected = abs(twists[d] @ through[b] + z * turned @ now[b])
        assert found.tau[d] == pytest.approx(expected, rel=1e-4, abs=1e-5 * np.abs(through).max())


@pytest.mark.compiled
def test_results_of_erring_bodies_scatter_as_stated() -> None:
    """Protects what the deviations mean: 400 courses whose errors a filter has passed, plates with noise."""
    case, seed, n_copy, size = some_case("branched", 0), 0, 400, 2e-3
    rng, errors, n_v = np.random.default_rng(11), no_errors(case), len(case.v)
    factors = size * np.tril(rng.normal(size=(2, n_v, n_v)))
    of_filter = products(ButterworthSpec(), 100.0, 0.125)
    for kind in range(2):
        errors.covariance[kind] = factors[kind] @ factors[kind].T
        errors.rates[kind] = np.linalg.cholesky(of_filter[kind] + 1e-12 * np.eye(3)).T
    errors.wrench[1] = rng.normal(size=(6, 6))
    found, twists = deviations(case, seed, errors)
    joints, rows, places = joints_of(case, seed), [], courses(case.system, (case.q, case.v, case.v_dot))
    for _ in range(n_copy):
        # value, speed and acceleration of every direction of both kinds
        z = [errors.rates[kind].T @ rng.normal(size=(3, n_v)) for kind in range(2)]
        steps = z[0] @ factors[0].T + z[1] @ factors[1].T
        shifts = np.array([moved_by(case, twists, step) for step in steps])
        wrench = case.wrench.copy()
        wrench[1] += rng.normal(size=6) @ errors.wrench[1]
        rows.append(results(case.system, joints, on_proximal(joints), moved(places, shifts), wrench, ROOT)[0])
    np.testing.assert_allclose(
        np.std(rows, axis=0), in_a_row(found), rtol=4.0 / np.sqrt(2 * n_copy) + 0.03, atol=1e-9
    )


def test_independent_errors_add_up_by_their_squares() -> None:
    """Protects the sum: directions, parts of a rate, kinds, masses and external wrenches, each alone."""
    case, seed = some_case("branched", 1), 1
    rng, n_v = np.random.default_rng(9), len(case.v)
    parts, whole = [], no_errors(case)
    for kind in range(2):
        factor, rates = np.tril(rng.normal(size=(n_v, n_v))), rng.normal(size=(3, 3))
        whole.covariance[kind], whole.rates[kind] = factor @ factor.T, rates
        for column in factor.T:
            for row in range(3):
                one = no_errors(case)
                one.covariance[kind], one.rates[kind, row] = np.outer(column, column), rates[row]
                parts.append(one)
    whole.mass[2], whole.wrench[1, 3] = 0.2, rng.normal(size=6)
    for field in ("mass", "wrench"):
        one = no_errors(case)
        getattr(one, field)[...] = getattr(whole, field)
        parts.append(one)
    found = deviations(case, seed, whole)[0]
    alone = [deviations(case, seed, one)[0] for one in parts]
    for k, array in enumerate(found):
        total = np.sqrt(sum(one[k] ** 2 for one in alone))
        np.testing.assert_allclose(array, total, rtol=1e-6, atol=1e-9 * total.max())
        assert total.max() > 0.0


def test_masses_and_plates_change_results_as_the_kinetics_does() -> None:
    """Protects errors of a body's mass, its inertia with it, and of an external wrench: by the kinetics."""
    case, seed = some_case("random", 1), 1
    joints = joints_of(case, seed)
    n, body = len(joints.distal), len(case.system.tree.parent) - 1
    cuts = Cuts(joints, np.ones((n, 3)), on_proximal(joints), ROOT, 700.0)

    def computed(mass: float, wrench: Array) -> tuple[Array, ...]:
        bodies = case.system.bodies
        scale = np.ones(len(bodies.mass))
        scale[body] += mass
        heavier = bodies._replace(mass=scale * bodies.mass, inertia=scale[:, None, None] * bodies.inertia)
        pushed = case.wrench.copy()
        pushed[body] += wrench
        out, tau = new_kinetics(n), np.zeros(len(case.v))
        work = new_dynamics_work(case.system.tree)
        call_kinetics(
            case.system._replace(bodies=heavier), cuts, case.q, case.v, case.v_dot, pushed, work, out, tau
        )
        return out.moment, out.force, out.angle_rate, out.power, out.residual, tau

    usual, push = computed(0.0, np.zeros(6)), np.array([3.0, -2.0, 1.0, 20.0, 50.0, -10.0])
    for mass, wrench in ((0.1, np.zeros(6)), (0.0, push)):
        errors = no_errors(case)
        errors.mass[body], errors.wrench[body, 2] = mass, wrench
        for found, now, before in zip(
            deviations(case, seed, errors)[0], computed(mass, wrench), usual, strict=True
        ):
            np.testing.assert_allclose(found, np.abs(now - before), rtol=1e-8, atol=1e-9)
