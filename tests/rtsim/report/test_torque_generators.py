"""Fits of torque generators in words: the table of strengths of both sides."""

from __future__ import annotations

from math import nan

from rtsim.methods.strength_bounds import StrengthBounds
from rtsim.methods.torque_generator_fit import Fit
from rtsim.models.generator_sets import generators_of
from rtsim.report.torque_generators import bounds_table


def test_sides_of_a_muscle_group_share_a_row():
    """Protects table B.4: right and left side by side; of one leg, and of what nobody measured, a dash."""
    knees = [one for one in generators_of("planar") if one.joint.coordinate.startswith("knee_flexion")]
    bounds = [
        StrengthBounds(Fit(one), 10.0 + k, 50.0 if one.joint.coordinate.endswith("_r") else nan)
        for k, one in enumerate(knees)
    ]
    head, extension, flexion = bounds_table(bounds).splitlines()
    assert " ".join(head.split()) == "N m tau_o* r tau_o* l least r least l greatest r greatest l"
    assert extension.split() == ["knee_extension", "285.6", "285.6", "10.0", "12.0", "50.0", "-"]
    assert flexion.split() == ["knee_flexion", "98.8", "98.8", "11.0", "13.0", "50.0", "-"]
    right = bounds_table(bounds[:2]).splitlines()[1]
    assert right.split() == ["knee_extension", "285.6", "-", "10.0", "-", "50.0", "-"]
