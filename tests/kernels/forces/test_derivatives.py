"""Derivatives of the force elements against differences, at random states and on the kinks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.contact.pressure import KELVIN_VOIGT, VOLUMETRIC
from kernels.forces.friction import HOLLARS
from kernels.forces.ligament import TOE_LINEAR
from kernels.joints.kinds import SLIDER
from rtsim.models.packing.tree import JointRow, build_tree
from tests.kernels.forces import calls
from tests.kernels.forces.cases import (
    KINDS,
    LAWS,
    NO_FRICTION,
    TREES,
    Case,
    ContactPlan,
    changed,
    only,
    pair_table,
    some_case,
)
from tests.naive.forces import twin

Array = NDArray[np.floating]

every_tree = pytest.mark.parametrize("name", TREES)


def assert_derivatives(case: Case, tolerance: float = 2e-9) -> None:
    """Both derivatives within this part of their largest entry."""
    found, wanted = calls.slopes(case), calls.differences(case)
    for one, other in zip(found[:2], wanted, strict=True):
        size = max(np.abs(other).max(), 1e-3)
        np.testing.assert_allclose(one, other, rtol=0.0, atol=tolerance * size)


@every_tree
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_the_differences(name: str, kind: str) -> None:
    """Protects tau_q and tau_v of every kind under every joint, between all sorts of pairs."""
    for seed in range(2):
        assert_derivatives(only(some_case(name, seed), kind))


@every_tree
def test_each_contact_has_its_derivatives(name: str) -> None:
    """Protects each law, friction and patch by itself: oblique ellipsoids that slide, roll, spin and part."""
    case = some_case(name, 4)
    for e in range(len(case.forces.contacts.pair)):
        assert_derivatives(only(case, "contacts", e))


@every_tree
def test_derivatives_at_rest(name: str) -> None:
    """Protects v = 0 exactly, where friction has no direction: contacts, points, dampers, all at once."""
    case = some_case(name, 2, speed=0.0)
    for kind in ("contacts", "frictions", "lines"):
        assert_derivatives(only(case, kind))


@every_tree
def test_derivatives_where_sliding_and_parting_vanish(name: str) -> None:
    """Protects the kinks of a moving contact: no sliding, no normal velocity, while the bodies turn."""
    plans = tuple(
        ContactPlan(friction_law=law, patch=True, round=law % 2 == 1, slip=slip, v_n=v_n)
        for law in LAWS
        for slip, v_n in ((0.0, 0.0), (0.0, -0.3), (0.5, 0.0))
    )
    case = some_case(name, 5, plans)
    for e in range(len(plans)):
        assert_derivatives(only(case, "contacts", e))


@every_tree
def test_patch_derivatives_are_not_those_of_the_thesis(name: str) -> None:
    """Protects that the test of oblique patches can see a wrong projection, in tau_v of rolling."""
    plan = ContactPlan(patch=True, d=1.0)
    case = changed(
        only(some_case(name, 6, (plan,)), "contacts"),
        "contacts",
        spins=np.zeros(1, np.int64),
        friction_law=np.array([NO_FRICTION]),
    )
    found = calls.slopes(case).tau_v

    def by_speed(thesis: bool) -> Array:
        """Return tau_v of the twin."""
        step = 1e-4
        columns = [
            twin(case.forces, case.tree, case.q, case.v + step * u, thesis=thesis).tau
            - twin(case.forces, case.tree, case.q, case.v - step * u, thesis=thesis).tau
            for u in np.eye(len(case.v))
        ]
        return np.array(columns).T / (2.0 * step)

    size = np.abs(found).max()
    assert np.abs(found - by_speed(False)).max() < 1e-8 * size
    assert np.abs(found - by_speed(True)).max() > 1e-5 * size


def on_a_slider(q: float, v: float) -> Case:
    """Return a body on a slider along z above ground, under all of a random case's element tables."""
    tree = build_tree([JointRow(-1, SLIDER, np.array([0.0, 0.0, 1.0]))])
    tables = some_case("branched").forces._replace(pairs=pair_table(tree, ((0, -1),)))
    return Case(tree, tables, np.array([q]), np.array([v]), np.zeros(1), np.zeros(4))


def sphere_on_plane(law: int, q: float, v: float) -> Case:
    """Return a frictionless sphere of radius 0.5 m over the plane z = 0, its centre at q."""
    case = only(on_a_slider(q, v), "contacts", 0)
    return changed(
        case,
        "contacts",
        pair=np.zeros(1, np.int64),
        law=np.array([law]),
        spread=np.array([int(law == VOLUMETRIC)]),
        centre=np.zeros((1, 3)),
        radii=np.full((1, 3), 0.5),
        round=np.ones(1, np.int64),
        point=np.zeros((1, 3)),
        normal=np.array([[0.0, 0.0, 1.0]]),
        surface_velocity=np.zeros((1, 3)),
        pressure=np.array([[100.0, 2.0, 1.0]]),
        friction_law=np.array([NO_FRICTION]),
        rolls=np.zeros(1, np.int64),
        spins=np.zeros(1, np.int64),
    )


def ligament(q: float, v: float) -> Case:
    """Return a ligament from ground to q, slack up to 0.5 m, with a toe up to 0.625 m."""
    case = only(on_a_slider(q, v), "lines", 0)
    row = np.array([[0.5, 400.0, 100.0, 0.125, 2.0, 0.0]])
    return changed(
        case,
        "lines",
        pair=np.zeros(1, np.int64),
        law=np.array([TOE_LINEAR]),
        point_a=np.zeros((1, 3)),
        point_b=np.zeros((1, 3)),
        parameter=row,
    )


def one_sided(case: Case, q: float, v: float, step: float = 1e-5) -> float:
    """Return the derivative along (q, v), each -1, 0 or 1, by forces of that side and of the kink itself."""
    f = [calls.forces(case, case.q + s * step * q, case.v + s * step * v)[0] for s in range(3)]
    return float(-1.5 * f[0] + 2.0 * f[1] - 0.5 * f[2]) / step


@pytest.mark.parametrize("law", [VOLUMETRIC, KELVIN_VOIGT])
def test_touch_down_has_the_slope_of_the_open_side(law: int) -> None:
    """Protects d = 0: no slope, as on the open side, however fast the approach."""
    for v in (-1.0, 0.0, 1.0):
        case = sphere_on_plane(law, 0.5, v)
        found = calls.slopes(case)
        assert calls.forces(case)[0] == 0.0
        assert found.tau_q[0, 0] == one_sided(case, 1.0, 0.0) == 0.0
        assert found.tau_v[0, 0] == 0.0
        closed = sphere_on_plane(law, 0.4, v)
        assert calls.slopes(closed).tau_q[0, 0] == pytest.approx(-one_sided(closed, -1.0, 0.0), rel=1e-6)


def test_contact_that_would_pull_has_the_slope_of_no_force() -> None:
    """Protects the clamp: at the speed of no force the slope is that of still faster parting."""
    case = sphere_on_plane(KELVIN_VOIGT, 0.375, 6.25)
    found = calls.slopes(case)
    assert (calls.forces(case)[0], found.tau_q[0, 0], found.tau_v[0, 0]) == (0.0, 0.0, 0.0)
    assert one_sided(case, 0.0, 1.0) == one_sided(case, 1.0, 0.0) == 0.0
    slower = case._replace(v=np.array([6.24]))
    assert calls.slopes(slower).tau_v[0, 0] == pytest.approx(-2.0)


def test_ligament_at_its_slack_length_has_the_slope_of_the_slack_side() -> None:
    """Protects L = L0: no force and no slope, although a lengthening ligament jumps there."""
    for v in (-1.0, 0.0, 1.0):
        case = ligament(0.5, v)
        found = calls.slopes(case)
        assert calls.forces(case)[0] == 0.0
        assert found.tau_q[0, 0] == one_sided(case, -1.0, 0.0) == 0.0
        assert found.tau_v[0, 0] == 0.0
    assert calls.forces(ligament(0.5 + 1e-12, 1.0))[0] == pytest.approx(-2.0)


def test_ligament_at_the_end_of_its_toe_has_one_slope() -> None:
    """Protects the joint of toe and linear part: both sides' slopes are the kernel's."""
    case = ligament(0.625, 0.3)
    found = calls.slopes(case)
    assert found.tau_q[0, 0] == pytest.approx(-100.0)
    assert found.tau_v[0, 0] == pytest.approx(-2.0)
    assert one_sided(case, 1.0, 0.0) == pytest.approx(-100.0, rel=1e-6)
    assert -one_sided(case, -1.0, 0.0) == pytest.approx(-100.0, rel=1e-3)


def test_hollars_at_its_kink_has_the_slope_of_higher_speeds() -> None:
    """Protects |v| = v_t in both directions: the side that the law's kernel promises."""
    for v in (0.25, -0.25):
        case = only(on_a_slider(0.5, v), "frictions", 0)
        rows = case.forces.frictions.parameter.copy()
        rows[:, 2] = 0.25
        case = changed(
            case,
            "frictions",
            law=np.array([HOLLARS]),
            direction=np.array([[0.0, 0.0, 1.0]]),
            surface_velocity=np.zeros(1),
            parameter=rows,
        )
        outward = np.sign(v)
        found = calls.slopes(case).tau_v[0, 0]
        assert found == pytest.approx(outward * one_sided(case, 0.0, outward), rel=1e-6)
        assert abs(found + outward * one_sided(case, 0.0, -outward)) > 1.0
