"""Figures of paper 001: the knee and its perturbations, friction laws, and a fit of the foot."""

from __future__ import annotations

import numpy as np
import pytest

import rtsim.papers.paper_001.foot_figures
from rtsim.models.load import load_model
from rtsim.papers.catalogue import items_of
from rtsim.papers.item import ItemInput, ItemResult
from rtsim.papers.paper_001.friction_figures import LOAD_N, V_T, force
from rtsim.papers.paper_001.knee_runs import (
    INSERTION_MM,
    SLACK,
    in_processes,
    lift_off_deg,
    outcome_of,
    parameter_names,
    perturbed,
    rows_of,
)

QUICK = ["figure 3.4", "figure 3.5", *(f"figure 4.{k}" for k in (1, 2, 3, 4, 5, 6, 8, 9))]


def computed(name: str) -> ItemResult:
    """Return an item by its name, of which every row has a bound or says why there is none."""
    (item,) = (item for item in items_of("001") if item.name == name)
    result = item.compute(ItemInput())
    assert all(row.bound or row.reason for row in result.rows)
    return result


@pytest.mark.parametrize("name", QUICK)
def test_what_the_thesis_states_holds(name: str) -> None:
    """Protects knee and friction: no bound is missed, and every figure has panels."""
    result = computed(name)
    assert [row.quantity for row in result.rows if row.is_held is False] == []
    assert result.panels


@pytest.fixture(scope="module")
def knee():
    return load_model("knee")


def test_no_perturbation_is_the_knee_itself(knee) -> None:
    """Protects the 97 parameters: zeros give the shipped knee's outcome, and no two have one name."""
    names = parameter_names(knee)
    assert len(names) == len(set(names)) == 12 * 6 + 12 + 2 * 5 + 3
    same = outcome_of(perturbed(knee, np.zeros(len(names)))).row
    np.testing.assert_allclose(same, outcome_of(knee).row, rtol=1e-9)


def test_a_perturbation_moves_what_it_names(knee) -> None:
    """Protects the order of parameters: ends, slack lengths, spheres, planes, stiffness, cylinder."""
    names = parameter_names(knee)

    def with_one(name: str):
        return perturbed(knee, np.eye(len(names))[names.index(name)])

    moved = with_one("LCL femur y").ligaments[7]
    assert np.subtract(moved.b.offset_mm, knee.ligaments[7].b.offset_mm).tolist() == [0.0, INSERTION_MM, 0.0]
    longer = with_one("PCL anterior slack length").ligaments[2]
    own = knee.ligaments[2]
    assert own.toe_stiffness_N_mm2 / longer.toe_stiffness_N_mm2 == pytest.approx(1.0 + SLACK)
    plane = with_one("medial plane").contacts[0].plane
    shift = np.subtract(plane.offset_mm, knee.contacts[0].plane.offset_mm)
    assert np.linalg.norm(shift) == pytest.approx(1.0)
    assert with_one("k_V").contacts[1].stiffness == pytest.approx(1.1 * knee.contacts[1].stiffness)
    across, _, along = with_one("cylinder length").bodies[1].inertia_kg_m2
    assert along == pytest.approx(0.005)
    assert across == pytest.approx(4.0 * (3.0 * 0.05**2 + 0.495**2) / 12.0)


def test_processes_change_no_number(knee) -> None:
    """Protects indices against the number of processes: parts in order, equal to one run after the other."""
    cases = np.random.default_rng(0).uniform(-1.0, 1.0, (3, len(parameter_names(knee))))
    np.testing.assert_array_equal(in_processes(cases, lambda words: None), rows_of(cases))


def test_a_contact_that_never_opens_counts_as_a_right_angle() -> None:
    """Protects lift-off: found between rows, at the first row, and where the contact never opens."""
    flexion = np.radians(np.linspace(0.0, 90.0, 91))
    assert lift_off_deg(flexion, np.ones(91)) == 90.0
    assert lift_off_deg(flexion, 60.25 - np.degrees(flexion)) == pytest.approx(60.25)
    assert lift_off_deg(flexion, -np.ones(91)) == 0.0


@pytest.mark.parametrize("law", ["brown_mcphee", "andersson", "hollars", "specker"])
def test_friction_is_odd_and_settles(law: str) -> None:
    """Protects the curves of chapter 4: against the motion alike both ways, dynamic friction far out."""
    v = np.array([0.3 * V_T, V_T, 500.0 * V_T])
    np.testing.assert_allclose(force(law, -v), -force(law, v), rtol=1e-12)
    assert force(law, v)[2] == pytest.approx(0.15 * LOAD_N, rel=1e-3)


def test_a_foot_is_fitted_and_compared(monkeypatch) -> None:
    """Protects the foot's items: a fit from one start keeps the thesis' errors, and can be drawn."""
    monkeypatch.setattr(rtsim.papers.paper_001.foot_figures, "N_START", 1)
    rtsim.papers.paper_001.foot_figures.case_of.cache_clear()
    result = computed("figure 5.14")
    rtsim.papers.paper_001.foot_figures.case_of.cache_clear()
    assert [row.is_held for row in result.rows] == [True, True, None]
    assert result.is_drawn
