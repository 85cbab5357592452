"""Names and units of the entries of a model's coordinates and speeds."""

from __future__ import annotations

from rtsim.models.entries import coordinate_names, coordinate_units
from tests.rtsim.models.small_models import MIXED, built


def test_every_entry_has_its_unit() -> None:
    """Protects who converts coordinates: angles, lengths, and parts of quaternions, which are neither."""
    model = built(MIXED)
    found = [
        dict(zip(names, units, strict=True))
        for names, units in zip(coordinate_names(model), coordinate_units(model), strict=True)
    ]
    lengths = dict.fromkeys(("pelvis_x", "pelvis_y", "pelvis_z", "x", "y"), "m")
    parts = {f"{body}_q{part}": "1" for body in ("pelvis", "thigh") for part in "wxyz"}
    turns = {f"{body}_turn_{axis}": "rad" for body in ("pelvis", "thigh") for axis in "xyz"}
    angles = {"knee": "rad", "turn": "rad"}
    assert found == [lengths | parts | angles, lengths | turns | angles]
