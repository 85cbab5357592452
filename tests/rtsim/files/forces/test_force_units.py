"""Units of forces and moments as files spell them."""

from __future__ import annotations

import pytest

from rtsim.files.forces.force_units import newton_metres_per_unit, newtons_per_unit


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        ("N.mm", 1e-3), ("N-mm", 1e-3), ("N mm", 1e-3), ("N*m", 1.0), ("N·m", 1.0), ("N⋅m", 1.0),
        ("kN_m", 1e3), ("", None), ("Nm/kg", None), ("N/m", None), ("N m^2", None), ("Nm²", None),
        ("N m kg-1", None),
    ],
)  # fmt: skip
def test_a_unit_of_moment_is_known_as_programs_spell_it(text: str, factor: float | None) -> None:
    """Protects moments from being refused for a separator, and from other quantities read as moments."""
    assert newton_metres_per_unit(text) == factor


@pytest.mark.parametrize(("text", "factor"), [("N", 1.0), ("[kN]", 1e3), ("N/kg", None), ("N/", None)])
def test_a_unit_of_force_is_known_as_programs_spell_it(text: str, factor: float | None) -> None:
    """Protects forces from being refused for brackets, and from forces per kilogram."""
    assert newtons_per_unit(text) == factor
