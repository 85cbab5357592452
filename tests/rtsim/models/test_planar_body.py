"""The planar body: sizes of people, masses and moments of the table it is made of."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.models.model import build
from rtsim.models.planar_body import SLICES, planar_body, trunk_parts
from rtsim.subjects.calibration.masses import load_inertia_table


@pytest.mark.parametrize(("sex", "mass", "stature"), [("male", 81.68, 1730.0), ("female", 55.0, 1620.0)])
def test_it_weighs_and_stands_as_asked(sex: str, mass: float, stature: float) -> None:
    """Protects the sizes: 16 segments, 18 freedoms, the whole mass to the table's rounding, the soles on the
    floor, the vertex at the stature, both sides alike."""
    model = build(spec := planar_body(sex, mass, stature))
    assert len(spec.bodies) == 16
    assert model.n_v == 18
    of = {body.name: body for body in spec.bodies}
    assert sum(body.mass_kg for body in spec.bodies) == pytest.approx(mass, rel=1e-3)
    hips = of["pelvis"].coordinates[1].neutral_mm
    knee, ankle = (of[name].in_parent.offset_mm[1] for name in ("shank_r", "foot_r"))
    assert hips + knee + ankle == pytest.approx(0.039 * stature, abs=0.01)
    neck = sum(of[name].in_parent.offset_mm[1] for name in ("middle_trunk", "upper_trunk", "head"))
    cervicale = {"male": 242.9 / 1741.0, "female": 243.7 / 1735.0}[sex]
    assert hips + neck == pytest.approx(stature * (1.0 - cervicale), abs=0.01)
    for name in ("thigh", "shank", "foot", "upper_arm", "forearm", "hand"):
        right, left = of[f"{name}_r"], of[f"{name}_l"]
        assert (right.mass_kg, right.mass_centre_mm) == (left.mass_kg, left.mass_centre_mm)


@pytest.mark.parametrize("sex", ["male", "female"])
def test_cutting_the_trunk_anew_changes_nothing_of_the_whole(sex: str) -> None:
    """Protects the slices: mass, centre and moment of the trunk are de Leva's, wherever it is cut."""
    person = getattr(load_inertia_table(), sex)
    bottom, wanted = 0.0, []
    for name in SLICES:
        share = person.segments[name]
        top = bottom + share.length_mm
        centre = top - 0.01 * share.centre_percent * share.length_mm
        wanted.append(
            (share.mass_percent / 100.0, centre, (0.01 * share.radii_percent[1] * share.length_mm) ** 2)
        )
        bottom = top
    for cuts in ((98.0, 252.0), (50.0, 300.0), (bottom / 3.0, bottom / 2.0)):
        parts = list(trunk_parts(person, 1.0, cuts).values())
        mass = sum(part.mass for part in parts)
        assert mass == pytest.approx(sum(m for m, *_ in wanted), rel=1e-12)
        centre = sum(part.mass * part.centre for part in parts) / mass
        assert centre == pytest.approx(sum(m * c for m, c, _ in wanted) / mass, rel=1e-12)
        moment = sum(part.moment + part.mass * (part.centre - centre) ** 2 for part in parts)
        assert moment == pytest.approx(sum(m * (k + (c - centre) ** 2) for m, c, k in wanted), rel=1e-12)
        assert all(part.mass > 0.0 and part.moment > 0.0 for part in parts)


def test_size_scales_lengths_and_mass_scales_masses() -> None:
    """Protects units: twice the mass has twice the moments, 10 % more stature 21 % more."""
    small, heavy, tall = (
        planar_body("male", m, h) for m, h in ((60.0, 1600.0), (120.0, 1600.0), (60.0, 1760.0))
    )
    for a, b, c in zip(small.bodies, heavy.bodies, tall.bodies, strict=True):
        np.testing.assert_allclose(b.inertia_kg_m2, 2.0 * np.array(a.inertia_kg_m2), rtol=1e-4)
        np.testing.assert_allclose(c.inertia_kg_m2, 1.21 * np.array(a.inertia_kg_m2), rtol=1e-4)


def test_an_unknown_sex_is_refused() -> None:
    """Protects from a guess."""
    with pytest.raises(ConfigError, match="allowed: male, female"):
        planar_body("other", 70.0, 1700.0)
