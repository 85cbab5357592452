"""The secant slope of friction: when a step asks for it, and what it changes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.forces.friction import SPECKER, friction_force
from kernels.forces.frictions import FORCE, SLIDING_SPEED
from tests.kernels.forces import calls
from tests.kernels.forces.cases import FRICTION, LAWS, TREES, Case, ContactPlan, changed, only, some_case
from tests.naive.differences import random_directions
from tests.naive.forces import rub, touch, twin
from tests.naive.tree import integrate, state

Array = NDArray[np.floating]

every_tree = pytest.mark.parametrize("name", TREES)
STEP = 1e-3
LIGHT = 0.02  # normal force under which viscous friction of SPECKER outweighs its peak [N]
# Sliding speeds on the steep and on the falling flank of friction, and far beyond.
PLANS = tuple(ContactPlan(friction_law=law, slip=slip, v_n=0.0) for law in LAWS for slip in (0.1, 0.5, 3.0))


def decelerated(case: Case, kind: str, share: float) -> tuple[Case, Array, float]:
    """Return the case with accelerations that take off this share of its one sliding speed in two steps.

    Also the gradient (n_v,) of the sliding speed by the speeds, and that speed [m/s].
    """
    at = state(case.tree, case.q)
    if kind == "contacts":
        found = touch(case.forces, 0, at, case.v)
        speed = float(np.linalg.norm(found.slip))
        gradient = found.J.T @ found.slip / speed
    else:
        speed, gradient = rub(case.forces, 0, at, case.v)
    v_dot = -share * speed / (2.0 * STEP) * gradient / (gradient @ gradient)
    return case._replace(v_dot=v_dot), gradient, speed


def sliding_along(case: Case, kind: str, direction: Array) -> float:
    """Return the derivative of the sliding speed along a tangent direction (n_v,), by differences."""

    def speed(size: float) -> Array:
        """Return the sliding speed after a step."""
        at = state(case.tree, integrate(case.tree, case.q, size * direction))
        if kind == "contacts":
            return np.linalg.norm(touch(case.forces, 0, at, case.v).slip)
        return np.array(rub(case.forces, 0, at, case.v)[0])

    return float(calls.difference(speed, 5e-5))


def one_by_one(name: str, kind: str) -> list[Case]:
    """Return cases of one frictional element each, of all laws and around the transition velocity."""
    if kind == "contacts":
        case = some_case(name, 7, PLANS)
        return [only(case, kind, e) for e in range(len(PLANS))]
    case = some_case(name, 7)
    law = np.arange(len(case.forces.frictions.law)) // 2 % len(LAWS)
    case = changed(case, "frictions", law=law)
    return [only(case, kind, e) for e in range(0, len(case.forces.frictions.pair), 2)]


def steepening(case: Case, kind: str, speed: float) -> float:
    """Return by how much the secant F/v is steeper than the slope dF/dv, never negative [N s/m]."""
    table = getattr(case.forces, kind)
    if kind == "contacts":
        N = twin(case.forces, case.tree, case.q, case.v).touches[0].N
        F, F_v, _ = friction_force(table.friction_law[0], table.friction[0], speed, N)
    else:
        F, F_v, _ = friction_force(table.law[0], table.parameter[0], speed, table.load[0])
    return max(F_v, F / speed) - F_v


@every_tree
@pytest.mark.parametrize("kind", ["contacts", "frictions"])
def test_sliding_that_would_turn_round_has_the_secant_slope(name: str, kind: str) -> None:
    """Protects max(dF/dv, F/v) along the sliding direction, in tau_v and tau_q, and nothing else changed."""
    rng, steeper = np.random.default_rng(11), 0
    for case in one_by_one(name, kind):
        case, gradient, speed = decelerated(case, kind, 1.01)
        exact, secant = calls.slopes(case), calls.slopes(case, STEP)
        extra = steepening(case, kind, speed)
        steeper += extra > 0.0
        change = -extra * np.outer(gradient, gradient)
        tolerance = 1e-11 * np.abs(secant.tau_v).max()
        np.testing.assert_allclose(secant.tau_v - exact.tau_v, change, rtol=0.0, atol=tolerance)
        for u in random_directions(rng, case.tree, 2):
            along = -extra * gradient * sliding_along(case, kind, u)
            tolerance = 1e-8 * max(np.abs(along).max(), 1e-3)
            np.testing.assert_allclose((secant.tau_q - exact.tau_q) @ u, along, rtol=0.0, atol=tolerance)
    assert steeper >= 6


@every_tree
@pytest.mark.parametrize("kind", ["contacts", "frictions"])
def test_sliding_that_goes_on_keeps_its_exact_slope(name: str, kind: str) -> None:
    """Protects the gate to the bit: too slow a deceleration, acceleration, and no step at all."""
    for case in one_by_one(name, kind):
        for share, step in ((0.99, STEP), (0.0, STEP), (-5.0, STEP), (5.0, 0.0), (1.01, 0.98 * STEP)):
            changed_pace = decelerated(case, kind, share)[0]
            exact, found = calls.slopes(case), calls.slopes(changed_pace, step)
            np.testing.assert_array_equal(found.tau_v, exact.tau_v)
            np.testing.assert_array_equal(found.tau_q, exact.tau_q)


@every_tree
@pytest.mark.parametrize("kind", ["contacts", "frictions"])
def test_secant_never_flattens(name: str, kind: str) -> None:
    """Protects the maximum: Specker's law under a light load falls short of its slope, which then stays."""
    plan = ContactPlan(friction_law=SPECKER, slip=0.7 * FRICTION.v_t, v_n=0.0)
    case = only(some_case(name, 7, (plan,)), kind, 0)
    if kind == "contacts":
        N = twin(case.forces, case.tree, case.q, case.v).touches[0].N
        case = changed(case, kind, pressure=case.forces.contacts.pressure * [LIGHT / N, 1.0, 1.0])
    else:
        case = changed(case, kind, law=np.array([SPECKER]), load=np.array([LIGHT]))
    case, _, speed = decelerated(case, kind, 1.01)
    F, F_v, _ = friction_force(SPECKER, np.array(FRICTION), speed, LIGHT)
    assert F_v > F / speed + 0.01
    np.testing.assert_array_equal(calls.slopes(case, STEP).tau_v, calls.slopes(case).tau_v)
    np.testing.assert_array_equal(calls.slopes(case, STEP).tau_q, calls.slopes(case).tau_q)


@every_tree
def test_secant_leaves_the_forces_alone(name: str) -> None:
    """Protects that the slope is a matter of the step: what elements do and show does not depend on it."""
    case = some_case(name, 7)
    exact, secant = calls.slopes(case).work, calls.slopes(case, 10.0).work
    np.testing.assert_array_equal(secant.pairs.wrench, exact.pairs.wrench)
    np.testing.assert_array_equal(secant.contacts.out, exact.contacts.out)
    np.testing.assert_array_equal(
        secant.frictions.state[:, [SLIDING_SPEED, FORCE]], exact.frictions.state[:, [SLIDING_SPEED, FORCE]]
    )


@every_tree
def test_rest_has_no_secant(name: str) -> None:
    """Protects v = 0: finite and exact slopes, whatever the acceleration and the step."""
    case = some_case(name, 2, speed=0.0)
    for kind in ("contacts", "frictions"):
        at_rest = only(case, kind)
        exact, found = calls.slopes(at_rest), calls.slopes(at_rest, 1.0)
        np.testing.assert_array_equal(found.tau_v, exact.tau_v)
        np.testing.assert_array_equal(found.tau_q, exact.tau_q)


def test_frictionless_contact_has_no_secant() -> None:
    """Protects that without friction nothing is steepened."""
    case = only(some_case("branched", 7, (ContactPlan(friction_law=-1, v_n=0.0),)), "contacts")
    case = changed(case, "contacts", friction=np.zeros((1, 9)))
    case = decelerated(case, "contacts", 5.0)[0]
    np.testing.assert_array_equal(calls.slopes(case, STEP).tau_v, calls.slopes(case).tau_v)
