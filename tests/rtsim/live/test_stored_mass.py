"""The mass that a recording or a file of measures stores, where nobody was weighed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.config.runs.run_schema import RunConfig
from rtsim.files.markers.trial import MarkerTrial
from rtsim.live.inputs import sources
from rtsim.live.subjects.person_mass import BODY_MASS, stored_mass


@pytest.mark.parametrize(("stored", "mass"), [(71.5, 71.5), (0.0, 0.0), (71500.0, 0.0)])
def test_of_the_static_trial_or_the_recording(
    monkeypatch: pytest.MonkeyPatch, stored: float, mass: float
) -> None:
    """Protects moments of Plug-in Gait recordings: their Bodymass counts, one in grams does not."""
    trial = MarkerTrial((), np.zeros(0), np.zeros((0, 0, 3)), 100.0, "a.c3d", subject={BODY_MASS: stored})
    monkeypatch.setattr(sources, "load_trial", lambda *_, **__: trial)
    assert stored_mass(RunConfig(name="test", source="walk.c3d")) == mass
    assert stored_mass(RunConfig(name="test", source="walk.trc", static="static.c3d")) == mass
    assert stored_mass(RunConfig(name="test", source="walk.trc")) == 0.0


def test_of_a_file_of_measures(tmp_path: Path) -> None:
    """Protects the order: the file that the user gives comes first, and a stream has none."""
    path = tmp_path / "anna.mp"
    path.write_text("$Bodymass = 64.2\n")
    run = RunConfig(name="test", source="tcp://127.0.0.1:1", measures=str(path))
    assert stored_mass(run) == pytest.approx(64.2)
