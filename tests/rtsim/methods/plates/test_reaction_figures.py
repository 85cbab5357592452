"""Errors of the ground without plates: root mean squares, shares, what is not known, and in words."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.files.recording import Results
from rtsim.methods.plates.kinetic_figures import cut_steps
from rtsim.methods.plates.reaction_figures import reaction_figures, reaction_words
from streams.messages import Session

MASS, WEIGHT = 50.0, 50.0 * 9.81


def results(fields: dict[str, np.ndarray]) -> Results:
    """Return results with these fields."""
    n = len(next(iter(fields.values())))
    session = Session(
        session="0" * 16, stream="results", t_start=0, rate=100.0, fields=[], meta={"mass_kg": MASS}
    )
    return Results(session, fields, np.arange(n) / 100.0, np.zeros(n, np.int64))


def test_errors_are_told_where_plates_tell_the_force() -> None:
    """Protects the figures: of known frames alone, in body weights, the share where both feet bear."""
    loads = WEIGHT * np.array([[0.6, 0.4], [0.6, 0.4], [1.0, 0.0], [0.5, 0.5]])
    errors = WEIGHT * np.array([[0.1, -0.1], [-0.1, 0.1], [0.0, 0.0], [np.nan, 0.1]])
    error = np.array([[0.0, 0.03, 0.0], [0.0, -0.03, 0.0], [0.0, np.nan, 0.0], [0.0, 0.03, 0.0]])
    fields = {"foot_contact_loads": loads, "foot_contact_errors": errors, "ground_reaction_error": error}
    found = reaction_figures(results({**fields, "foot_contact_centre_errors": np.full((4, 2, 2), 0.02)}))
    assert found is not None
    assert found["total"] == {"frames": 3, "rms": pytest.approx(0.03), "most": pytest.approx(0.03)}
    assert found["feet"]["right"]["frames"] == 3
    assert found["feet"]["right"]["rms"] == pytest.approx(0.1 * np.sqrt(2.0 / 3.0))
    assert found["share"]["frames"] == 3
    assert found["share_of_both"] == {"frames": 2, "rms": pytest.approx(0.1), "most": pytest.approx(0.1)}
    assert found["along"]["left"] == {"frames": 4, "rms": pytest.approx(0.02), "most": pytest.approx(0.02)}
    assert any("RMS 3.0 % of the weight" in said for said in reaction_words(found))


def test_without_plates_there_is_no_error() -> None:
    """Protects runs without plates, and those of which the plates never tell the force."""
    loads = np.zeros((3, 2))
    assert reaction_figures(results({"foot_contact_loads": loads})) is None
    found = reaction_figures(results({"ground_reaction_error": np.full((3, 3), np.nan)}))
    assert found is not None
    assert reaction_words(found) == []


def test_steps_that_the_recording_cuts_are_named() -> None:
    """Protects who compares steps: a foot that bears more than a touch as the recording begins or ends."""
    loads = np.array([[300.0, 0.0], [500.0, 5.0], [0.0, 400.0], [10.0, np.nan]])
    said = cut_steps(results({"foot_loads": loads}))
    assert len(said) == 1
    assert "begins while the right foot bears 300 N" in said[0]
