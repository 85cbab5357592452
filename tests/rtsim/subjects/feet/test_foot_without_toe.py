"""A leg without a marker on its forefoot: what is given all the same, and what is told or refused."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.feet.foot_without_toe import LENGTH, WITHOUT_TOE, toe_by_heel
from tests.rtsim.subjects.conventional.persons import person

WALK = {"source": "walk.c3d", "speed": 0.02}
TOES = ("RTOE", "LTOE")


def without(trial: MarkerTrial, *names: str) -> MarkerTrial:
    """A trial that lacks markers."""
    kept = [k for k, name in enumerate(trial.names) if name not in names]
    return trial._replace(names=tuple(trial.names[k] for k in kept), positions=trial.positions[:, kept])


@pytest.mark.parametrize("lacking", [TOES, ("LTOE",)])
def test_legs_are_given_and_what_they_lack_is_told(lacking: tuple[str, ...]) -> None:
    """Protects hips and knees of a laboratory without a toe marker: as with one, without the ankle's."""
    found = subject_for(without(person(**WALK), *lacking), without(person(), *lacking), side="")
    whole = subject_for(person(**WALK), person(), side="")
    assert found.side == "both"
    for segment in ("pelvis", "thigh_r", "shank_r", "thigh_l", "shank_l"):
        assert found.segments[segment].length_mm == pytest.approx(whole.segments[segment].length_mm)
    for side, leg in found.conventional.items():
        assert ("toe" in leg.markers) == (f"{side[0].upper()}TOE" not in lacking)
        assert (leg.hip_mm, leg.knee_radius_mm) == (whole.conventional[side].hip_mm, 57.0)
        assert (leg.plant_flexion_deg is None) == ("toe" not in leg.markers)
    assert any(WITHOUT_TOE in note for note in found.notes)
    assert any("no angles of the left ankle and foot" in note for note in found.notes)


def test_foot_stands_level_past_the_ankle() -> None:
    """Protects its place: at the height of the heel, ahead of the ankle, as far as goes with the shank."""
    heel, ankle, knee = np.array([[[-0.05, 0.03, 0.1]], [[0.0, 0.09, 0.11]], [[0.02, 0.49, 0.1]]])
    toe = toe_by_heel({"calcaneus": heel}, knee, ankle, "RTOE", "static.c3d")
    assert toe[0, 1] == pytest.approx(0.03)
    assert np.linalg.norm(toe - ankle) == pytest.approx(LENGTH * np.linalg.norm(knee - ankle))
    assert np.cross(ankle - heel, toe - heel)[0, 1] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ConfigError, match="the sole cannot be assumed horizontal"):
        toe_by_heel({"calcaneus": heel}, ankle + np.array([0.4, 0.1, 0.0]), ankle, "RTOE", "static.c3d")


def test_a_toe_of_the_walk_is_asked_of_its_static_trial() -> None:
    """Protects a marker that could be followed from being left out: the static trial is to show it."""
    with pytest.raises(ConfigError, match=r"no frame shows the toe marker \(RTOE\), but walk.c3d shows it"):
        subject_for(person(**WALK), without(person(), "RTOE", "LTOE"), side="right")


def test_a_movement_alone_does_not_tell() -> None:
    """Protects a foot that is in the air from being taken for one that stands."""
    with pytest.raises(
        ConfigError, match=r"no frame shows the toe marker \(RTOE\), and the person does not stand"
    ):
        subject_for(without(person(speed=0.05), "RTOE", "LTOE"), side="right")
