"""How long a part of a split step may be: sliding, letting go, touch-down and the viscous ramp."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.contact.slopes import RAMP_PART
from kernels.forces.kinks import ONSET, STICKING, allowed
from tests.kernels.forces import calls
from tests.kernels.forces.cases import FRICTION, TREES, Case, ContactPlan, changed, only, some_case
from tests.naive.forces import rub, touch, twin
from tests.naive.tree import state

Array = NDArray[np.floating]

every_tree = pytest.mark.parametrize("name", TREES)
FRACTION, FLOOR = 0.3, 0.7


@pytest.mark.parametrize("D", [1e-9, 1e-3, 2.0])
@pytest.mark.parametrize("a", [0.0, 1e-6, 3.0, 1e5])
@pytest.mark.parametrize("rise", [0.0, 1e-3, 40.0, 1e9])
def test_allowed_time_is_the_root(D: float, a: float, rise: float) -> None:
    """Protects a h + ONSET s h^2/2 = D, solved without cancellation at either end."""
    h = allowed(D, a, rise)
    if a == rise == 0.0:
        assert h == math.inf
        return
    assert a * h + 0.5 * ONSET * rise * h * h == pytest.approx(D, rel=1e-12)


def test_falling_acceleration_gives_no_more_time() -> None:
    """Protects the safe side: an acceleration that falls counts as constant."""
    assert allowed(0.3, 2.0, -50.0) == allowed(0.3, 2.0, 0.0) == 0.15
    assert allowed(0.3, 0.0, -50.0) == math.inf


def sliding_rates(case: Case, kind: str, rate: Array) -> Array:
    """Return what speeds' rates (n_v,) make of a sliding velocity: (3,) of a contact, (1,) of a point."""
    if kind == "contacts":
        found = touch(case.forces, 0, state(case.tree, case.q), case.v)
        change = found.J @ rate
        return change - change @ found.normal * found.normal
    return np.array([rub(case.forces, 0, state(case.tree, case.q), case.v)[1] @ rate])


@every_tree
@pytest.mark.parametrize("kind", ["contacts", "frictions"])
def test_sliding_limits_the_part(name: str, kind: str) -> None:
    """Protects the change allowed to a sliding speed, by its acceleration and that acceleration's rate."""
    rng = np.random.default_rng(3)
    plans = tuple(ContactPlan(slip=slip, v_n=0.0) for slip in (0.0, 0.05, 0.6, 5.0))
    case = some_case(name, 8, plans)
    rising = 0
    for e in range(4):
        one = only(case, kind, e)
        if kind == "contacts":
            one = changed(one, kind, ramp=np.zeros(1))
        found = calls.slopes(one)
        for jerk in (np.zeros(len(case.v)), *(30.0 * rng.normal(size=(3, len(case.v))))):
            onset, onset_rate = (sliding_rates(one, kind, x) for x in (one.v_dot, jerk))
            a = float(np.linalg.norm(onset))
            rise = float(onset @ onset_rate) / a
            sums = twin(one.forces, one.tree, one.q, one.v)
            v = sums.rubs[0, 0] if kind == "frictions" else np.linalg.norm(sums.touches[0].slip)
            D = max(FRACTION * abs(v), FLOOR * FRICTION.v_t)
            wanted = allowed(D, a, rise)
            assert calls.part_length(one, found, jerk, FRACTION, FLOOR) == pytest.approx(wanted, rel=1e-8)
            assert calls.part_length(one, found, jerk, FRACTION, FLOOR, 0.5 * wanted) == 0.5 * wanted
            rising += rise > 0.0
    assert 3 < rising < 12


@every_tree
def test_touch_down_ends_the_part(name: str) -> None:
    """Protects the time until an open contact closes at its present speed; none where it parts."""
    plans = (ContactPlan(d=-0.2), ContactPlan(d=-0.3, round=True), ContactPlan(d=-0.2, v_n=0.5))
    case = some_case(name, 9, plans)
    still = np.zeros(len(case.v))
    for e in range(len(plans)):
        one = only(case, "contacts", e)
        gap = touch(one.forces, 0, state(one.tree, one.q), one.v)
        assert gap.v_n == pytest.approx(plans[e].v_n)
        wanted = gap.d * gap.h / gap.v_n if gap.v_n < 0.0 else math.inf
        assert calls.part_length(one, calls.slopes(one), still) == pytest.approx(wanted, rel=1e-9)


@every_tree
def test_viscous_ramp_is_crossed_in_parts(name: str) -> None:
    """Protects the parts of the depth over which viscous friction sets in, while the bodies close."""
    plans = tuple(ContactPlan(friction_law=-1, d=d, v_n=v_n) for d in (0.2, 0.8) for v_n in (-0.4, 0.4))
    case = some_case(name, 9, plans)
    still = np.zeros(len(case.v))
    for e, plan in enumerate(plans):
        one = only(case, "contacts", e)
        depth = plan.d * twin(one.forces, one.tree, one.q, one.v).touches[0].h
        for ramp in (2.0 * depth, depth / 1.1, depth / 1.3, 0.0):
            ramped = changed(one, "contacts", ramp=np.array([ramp]))
            wanted = RAMP_PART * ramp / 0.4 if depth < 1.2 * ramp and plan.v_n < 0.0 else math.inf
            assert calls.part_length(ramped, calls.slopes(ramped), still) == pytest.approx(wanted, rel=1e-9)


@every_tree
def test_nearest_kink_of_all_ends_the_part(name: str) -> None:
    """Protects the minimum over all contacts and sliding points."""
    case = some_case(name, 1)
    jerk = np.random.default_rng(5).normal(size=len(case.v))
    parts = []
    for kind in ("contacts", "frictions"):
        for e in range(len(getattr(case.forces, kind).pair)):
            one = only(case, kind, e)
            parts.append(calls.part_length(one, calls.slopes(one), jerk))
    assert calls.part_length(case, calls.slopes(case), jerk) == pytest.approx(min(parts), rel=1e-12)
    assert calls.part_length(only(case, "lines"), calls.slopes(only(case, "lines")), jerk) == math.inf


def test_what_is_slow_and_rubs_sticks() -> None:
    """Protects the search for sticking: closed contacts with friction, and points, below STICKING v_t."""
    slow, fast = 0.9 * STICKING * FRICTION.v_t, 1.1 * STICKING * FRICTION.v_t
    for plan, wanted in (
        (ContactPlan(slip=slow), True),
        (ContactPlan(slip=0.0), True),
        (ContactPlan(slip=fast), False),
        (ContactPlan(slip=slow, friction_law=-1), False),
        (ContactPlan(slip=slow, d=-0.1), False),
    ):
        case = only(some_case("branched", 2, (plan,)), "contacts")
        assert calls.sticks(case) == wanted
    case = only(some_case("branched"), "frictions")
    for e, (speed, _) in enumerate(twin(case.forces, case.tree, case.q, case.v).rubs):
        one = only(case, "frictions", e)
        assert calls.sticks(one) == (abs(speed) < STICKING * FRICTION.v_t)
