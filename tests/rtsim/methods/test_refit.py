"""Fits that begin from a person's set: what an earlier fit found is where the next one starts."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.methods.generators.strength_bounds import strength_bounds, with_strength
from rtsim.methods.generators.torque_generator_figures import panels_of_fit
from rtsim.methods.generators.torque_generator_fit import FitSettings, fit_all
from rtsim.models.packing.torque_generators import PlacedGenerator
from rtsim.report.torque_generators import config_text, story, table
from tests.rtsim.methods.generators.test_torque_generator_fit import KNEE, TRUTH, made_up, pair


def fitted() -> list[PlacedGenerator]:
    """The knee's generators as a first fit leaves them."""
    return [
        fit.placed._replace(fit=tuple(fit.x.tolist()))
        for fit in fit_all(pair(KNEE), made_up(), FitSettings())
    ]


def test_a_second_fit_to_the_same_motion_changes_nothing():
    """Protects persons' sets: what was found is feasible and stays, and the table says so."""
    fits = fit_all(fitted(), made_up(), FitSettings())
    assert fits[0].x == pytest.approx(fitted()[0].fit, abs=1e-6)
    assert fits[0].x[4] == pytest.approx(TRUTH, rel=2e-3)
    assert not any(fit.changed for fit in fits)
    assert "no generator has to change" in table(fits)


def test_a_second_fit_begins_where_the_first_ended():
    """Protects eq. 9 for a set with fits: distance and figures are from there, nothing is taken back."""
    first = fitted()
    harder = made_up()._replace(moment=1.2 * made_up().moment)
    extensor = fit_all(first, harder, FitSettings())[0]
    assert extensor.changed
    assert extensor.x[4] > first[0].fit[4] + 0.1
    assert extensor.objective == pytest.approx(((extensor.x - first[0].fit) ** 2).sum())
    assert "change of the fitted parameters from the parameters of" in "\n".join(story(extensor))
    before, whole = (
        panels_of_fit(extensor)[0],
        panels_of_fit(fit_all(pair(KNEE), harder, FitSettings())[0])[0],
    )
    most, of_fresh = (np.nanmax(panel.curves["active plus passive, speed 0"]) for panel in (before, whole))
    assert most == pytest.approx(first[0].fit[4] * of_fresh, rel=1e-6)
    easier = fit_all(first, made_up(activation=0.4), FitSettings())[0]
    assert not easier.changed


def test_a_changed_row_says_all():
    """Protects sets upon sets: a row of [fits] stands in the place of the base's, so that it has the shift
    that an earlier fit found, and the strength that was given before it."""
    shifted = (1.1, 1.0, 0.2, 0.1, 1.0)
    one = pair(KNEE)[0]
    weak = with_strength(one, 200.0)._replace(fit=shifted)
    (fit,) = fit_all([weak], made_up(), FitSettings())
    assert fit.changed
    text = config_text([fit], "me", "base", "a fit", {weak.name: (one.spec.strength_Nm, 200.0)})
    assert "strength_Nm = 200.0" in text
    assert "passive_shift_deg = 11.459" in text
    assert "passive_blend = 0.1" in text


def test_bounds_of_strength_are_absolute():
    """Protects appendix B for a set with fits: extensors begin with 80 % of the peak, not s_tau times it."""
    motion = made_up()
    fresh, again = (strength_bounds(placed, motion, FitSettings(), {}) for placed in (pair(KNEE), fitted()))
    assert again[0].fit.placed.fit[4] == 1.0
    assert again[0].least == pytest.approx(fresh[0].least, rel=1e-6)


def test_bounds_below_what_the_set_has_are_told():
    """Protects --bound for a set with fits: bounds that the set is beyond are named per generator; usual
    bounds never are, whatever the set says."""
    one = pair(KNEE)[0]._replace(fit=(1.2, 1.0, 0.0, 0.0, 1.4))
    low, high = (1.0, 1.0, -1.0, 0.0, 1.0), (1.1, 2.0, 1.0, 1.0, 2.0)
    (fit,) = fit_all([one], made_up(), FitSettings(low=low, high=high))
    assert (
        "the bounds of angle_scale contradict each other or the generator's own value: 1.2 to 1.1"
        in fit.fault
    )
    assert fit.x == pytest.approx(one.fit)
    supple = one._replace(fit=(0.9, 1.0, 1.8, 0.0, 1.4))
    (fit,) = fit_all([supple], made_up(), FitSettings())
    assert not fit.fault
    assert not fit.changed
