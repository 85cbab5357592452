"""Sphere on sphere: the lens against discs, forces against the twin, derivatives, energy, limits."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.contact.pressure import HUNT_CROSSLEY, KELVIN_VOIGT, POWER, VOLUMETRIC
from kernels.contact.sphere_on_sphere import lens
from kernels.forces.friction import BROWN_MCPHEE, HOLLARS, SPECKER
from tests.kernels.forces import calls
from tests.kernels.forces.cases import NO_FRICTION, TREES, ContactPlan, changed, only, some_case
from tests.naive.forces import potential, twin
from tests.naive.lens import overlap

R_A, R_B = 0.3, 0.2
DISTANCES = (0.1001, 0.13, 0.2, 0.2236, 0.3, 0.45, 0.499)
PLANS = (
    ContactPlan(VOLUMETRIC, BROWN_MCPHEE, r_b=0.5),
    ContactPlan(VOLUMETRIC, HOLLARS, d=0.9, slip=0.1, v_n=0.3, r_b=0.15),
    ContactPlan(VOLUMETRIC, NO_FRICTION, d=0.2, r_b=0.3),
    ContactPlan(KELVIN_VOIGT, SPECKER, d=0.3, slip=0.6, v_n=0.2, r_b=0.4),
    ContactPlan(HUNT_CROSSLEY, BROWN_MCPHEE, d=0.4, slip=0.05, v_n=-0.3, r_b=0.25),
    ContactPlan(POWER, HOLLARS, d=0.1, slip=1.5, r_b=2.0),
    ContactPlan(VOLUMETRIC, BROWN_MCPHEE, d=-0.1, r_b=0.5),  # open
)

every_tree = pytest.mark.parametrize("name", TREES)


@pytest.mark.parametrize(("r_a", "r_b"), [(R_A, R_B), (R_B, R_A), (R_A, R_A)])
def test_the_lens_is_the_sum_of_its_discs(r_a: float, r_b: float) -> None:
    """Protects volume and centroid, also where one sphere is inside the other."""
    for g in (*DISTANCES, 0.05, 1e-3):
        volume, _, z, _ = lens(g, r_a, r_b)
        wanted = overlap(g, r_a, r_b)
        assert volume == pytest.approx(wanted[0], rel=1e-11)
        assert z == pytest.approx(wanted[1], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("r_a", "r_b"), [(R_A, R_B), (R_B, R_A)])
def test_derivatives_of_the_lens_are_the_differences(r_a: float, r_b: float) -> None:
    """Protects both derivatives by the distance."""
    for g in (*DISTANCES[1:-1], 0.05):
        h = 1e-4 * min(g - 0.1, 0.5 - g) if g > 0.1 else 1e-4
        _, V_g, _, z_g = lens(g, r_a, r_b)
        steps = [lens(g + k * h, r_a, r_b) for k in (-2.0, -1.0, 1.0, 2.0)]
        for found, i in ((V_g, 0), (z_g, 2)):
            a, b, c, d = (step[i] for step in steps)
            assert found == pytest.approx((8.0 * (c - b) - (d - a)) / (12.0 * h), rel=1e-7, abs=1e-10)


def test_a_huge_sphere_is_a_plane() -> None:
    """Protects the agreement of both geometries: the cap of a sphere on a plane, as R_B grows."""
    r, d = 0.05, 0.4
    volume, V_g, z, _ = lens(1e4 + r * (1.0 - d), r, 1e4)
    assert volume == pytest.approx(np.pi * r**3 * d**2 * (1.0 - d / 3.0), rel=1e-5)
    assert V_g == pytest.approx(-np.pi * r**2 * d * (2.0 - d), rel=1e-5)
    kappa = 0.75 * (2.0 - d) ** 2 / (3.0 - d)
    assert 1e4 + r * (1.0 - d) - z == pytest.approx(r * kappa, rel=1e-4)


@every_tree
def test_forces_are_the_twins(name: str) -> None:
    """Protects forces of all laws between spheres, each by itself, where bodies move and turn."""
    case = only(some_case(name, 8, PLANS), "contacts")
    pressed = 0
    for e in range(len(PLANS)):
        one = only(case, "contacts", e)
        wanted = twin(one.forces, one.tree, one.q, one.v, one.level)
        np.testing.assert_allclose(
            calls.forces(one), wanted.tau, rtol=0.0, atol=1e-11 * max(1.0, np.abs(wanted.tau).max())
        )
        pressed += wanted.touches[0].N > 0.1
    assert pressed >= 5


@every_tree
def test_derivatives_are_the_differences(name: str) -> None:
    """Protects tau_q and tau_v: here the normal turns as the spheres roll about each other."""
    case = some_case(name, 9, PLANS)
    for e in range(len(PLANS)):
        one = only(case, "contacts", e)
        found, wanted = calls.slopes(one), calls.differences(one)
        for found_by, wanted_by in zip(found[:2], wanted, strict=True):
            size = max(np.abs(wanted_by).max(), 1e-3)
            np.testing.assert_allclose(found_by, wanted_by, rtol=0.0, atol=4e-9 * size)


@every_tree
def test_spheres_give_back_what_they_store(name: str) -> None:
    """Protects energy: at rest the generalized forces are the slope of the energy of the overlap."""
    case = only(some_case(name, 10, PLANS, speed=0.0), "contacts", 0, 2, 3)
    still = changed(case, "contacts", friction_law=np.full(3, NO_FRICTION))
    found = calls.forces(still)
    hinges = [b for b, kind in enumerate(still.tree.kind) if kind in (1, 2)]
    assert hinges
    for b in hinges:
        i, d, h = still.tree.q_start[b], still.tree.v_start[b], 1e-5
        ahead, behind = still.q.copy(), still.q.copy()
        ahead[i] += h
        behind[i] -= h
        slope = potential(still.forces, still.tree, ahead) - potential(still.forces, still.tree, behind)
        assert found[d] == pytest.approx(-slope / (2.0 * h), rel=1e-6, abs=1e-6)


def test_spheres_about_one_centre_do_nothing() -> None:
    """Protects the one place without a normal: no force, no slope, nothing that is not a number."""
    case = only(some_case("branched", 11, PLANS[:1]), "contacts")
    A, B = (int(x[case.forces.contacts.pair[0]]) for x in case.forces.pairs[:2])
    from tests.naive.forces import axes
    from tests.naive.tree import state

    at = state(case.tree, case.q)
    b = axes(at, B).T @ (at.point(A, case.forces.contacts.centre[0]) - at.point(B, np.zeros(3)))
    for point in (b, b + 1e-300):
        same = changed(case, "contacts", point=point[None])
        assert np.isfinite(calls.forces(same)).all()
        assert all(np.isfinite(x).all() for x in calls.slopes(same)[:2])
