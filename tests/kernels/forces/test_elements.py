"""Forces of all elements on random trees: the kernels against points, vectors and J' f."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.contact.elements import DEPTH, FRICTION, NORMAL, PLACE, SLIDING
from kernels.forces.frictions import N_FRICTION_OUT
from kernels.forces.lines import N_LINE_OUT
from kernels.forces.loads import new_load_work, set_levels
from tests.kernels.forces import calls
from tests.kernels.forces.cases import KINDS, TREES, Case, changed, only, some_case
from tests.naive.forces import Sum, twin

Array = NDArray[np.floating]

every_tree = pytest.mark.parametrize("name", TREES)


def expected(case: Case, thesis: bool = False) -> Sum:
    """Return the twin's answer."""
    return twin(case.forces, case.tree, case.q, case.v, case.level, thesis)


def assert_close(found: Array, wanted: Array) -> None:
    """Equal within the rounding of the largest entry."""
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-12 * np.abs(wanted).max())


@every_tree
@pytest.mark.parametrize("kind", KINDS)
def test_forces_are_those_of_the_twin(name: str, kind: str) -> None:
    """Protects every kind, between ground and bodies, across branches and roots, along a branch."""
    for seed in range(3):
        case = only(some_case(name, seed), kind)
        assert_close(calls.forces(case), expected(case).tau)


@every_tree
def test_each_contact_is_that_of_the_twin(name: str) -> None:
    """Protects each pressure law, friction law and patch by itself, small forces beside large ones."""
    case = some_case(name, 3)
    for e in range(len(case.forces.contacts.pair)):
        one = only(case, "contacts", e)
        found, wanted = calls.forces(one), expected(one).tau
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-11 * max(1e-3, np.abs(wanted).max()))


@every_tree
def test_kinds_add_up(name: str) -> None:
    """Protects the sum over kinds, and that forces without derivatives are those with."""
    case = some_case(name, 1)
    total = sum(calls.forces(only(case, kind)) for kind in KINDS)
    assert_close(calls.forces(case), np.asarray(total))


@every_tree
def test_results_of_the_elements(name: str) -> None:
    """Protects what is shown of an element: lengths, tensions, depths, forces, places and sliding."""
    for seed in range(2):
        case = some_case(name, seed)
        work, wanted = calls.slopes(case).work, expected(case)
        np.testing.assert_allclose(work.lines.state[:, :N_LINE_OUT], wanted.lines, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(
            work.frictions.state[:, :N_FRICTION_OUT], wanted.rubs, rtol=0.0, atol=1e-12
        )
        for out, touch in zip(work.contacts.out, wanted.touches, strict=True):
            assert out[DEPTH] == pytest.approx(touch.d * touch.h, abs=1e-13)
            assert out[NORMAL] == pytest.approx(touch.N, abs=1e-11)
            if touch.d <= 0.0:
                assert not np.any(out[NORMAL:])
                continue
            for columns, value in ((FRICTION, touch.friction), (PLACE, touch.place), (SLIDING, touch.slip)):
                np.testing.assert_allclose(out[columns : columns + 3], value, rtol=0.0, atol=1e-11)


def test_cases_cover_what_they_claim() -> None:
    """Protects the tests of this folder: open, closed, swallowed, clamped, slack, toe and taut all occur."""
    for name in TREES:
        found = expected(some_case(name, 0))
        depths, normal = (np.array([getattr(t, x) for t in found.touches]) for x in ("d", "N"))
        assert (depths < 0.0).any()
        assert (depths > 2.0).any()
        assert ((depths > 0.0) & (normal == 0.0)).any()
        assert (normal > 0.1).sum() >= 10
        assert (found.lines[:, 2] > 0.1).any()
        assert (found.lines[:, 2] == 0.0).any()
        assert sum(np.linalg.norm(t.torque) > 1e-2 for t in found.touches) >= 4


@every_tree
def test_patch_is_the_exact_one(name: str) -> None:
    """Protects the second moment under oblique normals: the thesis' form differs there, and only there."""
    case, apart = some_case(name, 0), []
    contacts = case.forces.contacts
    for e in np.flatnonzero(contacts.rolls):
        one = only(case, "contacts", int(e))
        exact, thesis = expected(one), expected(one, thesis=True).tau
        if contacts.round[e]:
            np.testing.assert_allclose(thesis, exact.tau, rtol=0.0, atol=1e-12 * np.abs(thesis).max())
        elif exact.touches[0].N > 0.0:
            torque = np.linalg.norm(exact.touches[0].torque)
            apart.append(np.linalg.norm(calls.forces(one) - thesis) / torque)
    assert len(apart) >= 4
    assert min(apart) > 1e-5
    assert max(apart) > 1e-2


@every_tree
def test_sphere_is_an_ellipsoid(name: str) -> None:
    """Protects the shorter way of spheres: the same forces and derivatives as those of equal radii."""
    case = only(some_case(name, 3), "contacts")
    spheres = only(case, "contacts", *np.flatnonzero(case.forces.contacts.round))
    ellipsoids = changed(spheres, "contacts", round=np.zeros_like(spheres.forces.contacts.round))
    found, wanted = calls.slopes(spheres), calls.slopes(ellipsoids)
    assert_close(calls.forces(spheres), calls.forces(ellipsoids))
    assert_close(found.tau_q, wanted.tau_q)
    assert_close(found.tau_v, wanted.tau_v)


def test_ends_that_coincide_have_no_direction() -> None:
    """Protects a line of no length: no force and finite derivatives instead of 0/0."""
    case = only(some_case("branched", 0), "lines", 0)
    ground = changed(case, "lines", pair=np.array([1]), point_b=np.zeros((1, 3)))
    place = calls.posed_work(ground, ground.q)[0].position[6]
    ground = changed(ground, "lines", point_a=place[np.newaxis].copy())
    assert not np.any(calls.forces(ground))
    found = calls.slopes(ground)
    assert np.isfinite(found.tau_q).all()
    assert np.isfinite(found.tau_v).all()


def test_loads_act_from_start_to_stop() -> None:
    """Protects the half-open time of a load, so that successive pulses never add up, and its gain."""
    loads = some_case("branched").forces.loads
    loads = loads._replace(start=np.array([0.0, 0.1, 0.3, 0.0]), stop=np.array([np.inf, 0.3, 0.4, 0.0]))
    work = new_load_work(4)
    gain = np.array([1.0, 2.0, 3.0, 4.0])
    for t, wanted in ((0.0, (1, 0, 0, 0)), (0.1, (1, 2, 0, 0)), (0.3, (1, 0, 3, 0)), (0.4, (1, 0, 0, 0))):
        set_levels(loads, gain, t, work)
        np.testing.assert_array_equal(work.level, wanted)
