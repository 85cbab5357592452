"""The parameter study of the bench of the jaw: what is changed, and what a band over cycles is."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.bench.contacts.jaw import AXES, N_PHASE, SIDES, TASKS, by_phase, with_ligaments
from rtsim.files.recording import Results
from rtsim.models.load import load_model
from streams.messages import marker_session

SPEC = load_model("mandible")


def test_all_ligaments_are_changed_alike() -> None:
    """Protects the 15 runs: half the stiffness, another strain, nothing else; usual ones are the model's."""
    assert with_ligaments(SPEC, 272.4, 0.0) == SPEC
    changed = with_ligaments(SPEC, 136.2, -0.04)
    assert len(changed.ligaments) == len(SPEC.ligaments) == 6
    for old, new in zip(SPEC.ligaments, changed.ligaments, strict=True):
        assert new.stiffness_N == pytest.approx(0.5 * old.stiffness_N)
        assert new.reference_strain == -0.04


def test_cycles_are_read_at_the_same_places() -> None:
    """Protects the band over cycles: of a movement that repeats itself it is as wide as nothing."""
    times = np.arange(0.0, 12.0, 0.01)
    wave = np.sin(2.0 * np.pi * TASKS["opening"].frequency_hz * times)
    fields = {"x": np.broadcast_to(wave[:, None, None], (len(times), len(SIDES), len(AXES)))}
    own = Results(
        marker_session(("nose",), rate=100.0, t_start=0), fields, times, np.zeros(len(times), np.int64)
    )
    found = by_phase("opening", own, "x")
    assert found.shape == (5, N_PHASE, 2, 3)
    np.testing.assert_allclose(found.std(axis=0), 0.0, atol=1e-9)
    assert found.max() > 0.99
