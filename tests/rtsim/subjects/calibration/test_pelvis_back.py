"""A pelvis whose back is marked by both PSIS in one trial and by the sacrum in the other."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration.calibration import subject_for
from tests.rtsim.subjects.conventional.persons import person

PSIS = ("RPSI", "LPSI")


def with_sacrum(trial: MarkerTrial, behind: float = 0.0) -> MarkerTrial:
    """A trial with one marker midway between both PSIS in their place, or so far behind it [m]."""
    rows = [trial.names.index(name) for name in PSIS]
    middle = trial.positions[:, rows].mean(axis=1, keepdims=True) - [behind, 0.0, 0.0]
    kept = [k for k in range(len(trial.names)) if k not in rows]
    names = (*(trial.names[k] for k in kept), "SACR")
    return trial._replace(names=names, positions=np.concatenate([trial.positions[:, kept], middle], axis=1))


def test_middle_of_psis_is_the_place_of_a_sacrum() -> None:
    """Protects a walk with a sacrum and a static trial with PSIS: as one with a sacrum in both."""
    walk = with_sacrum(person(source="walk.c3d", speed=0.02))
    found, same = subject_for(walk, person(), side=""), subject_for(walk, with_sacrum(person()), side="")
    for name, segment in same.segments.items():
        for marker, place in segment.markers_mm.items():
            assert found.segments[name].markers_mm[marker] == pytest.approx(place, abs=1e-9)
    assert "SACR" in found.segments["pelvis"].markers_mm
    assert found.conventional["left"].hip_mm == pytest.approx(same.conventional["left"].hip_mm)
    assert any("no SACR in the static trial; it was assumed midway" in note for note in found.notes)


def test_sacrum_that_is_elsewhere_is_refused() -> None:
    """Protects a pelvis that would tilt: the distances to the ASIS tell where the marker is."""
    walk = with_sacrum(person(source="walk.c3d", speed=0.02), behind=0.03)
    with pytest.raises(ConfigError, match=r"SACR of the movement is not midway .* mm larger"):
        subject_for(walk, person(), side="")


def test_psis_of_a_walk_are_not_where_a_sacrum_tells() -> None:
    """Protects the other way round, in which nothing tells where each PSIS is: one sentence."""
    walk = person(source="walk.c3d", speed=0.02)
    with pytest.raises(
        ConfigError, match=r"marked by SACR in the static trial and by LPSI, RPSI in the move"
    ):
        subject_for(walk, with_sacrum(person()), side="")
