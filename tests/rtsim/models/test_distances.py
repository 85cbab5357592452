"""Distances of models that bring their own markers: which say something of a person, and what is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.markers import read_markers
from rtsim.files.markers.trial import MarkerTrial
from rtsim.models.distances import ruler_of_model
from rtsim.models.feet import find_feet
from rtsim.models.load import load_model
from rtsim.models.model import Model, build
from rtsim.models.neutral import neutral_places
from rtsim.subjects.markers.fit import MODELS, fault_of, fit_of_trial

from . import legs
from .small_models import built

CHEST = """
[[bodies]]
name = "chest"
parent = "hips"
joint = "ball"
in_parent = { offset_mm = [0.0, 200.0, 0.0] }
"""
PLACES = {"neck": [-60.0, 300.0, 0.0], "shoulder_r": [0.0, 280.0, 180.0], "shoulder_l": [0.0, 280.0, -180.0]}

BALLS = """
[[bodies]]
name = "trunk"
joint = "free"
[[bodies]]
name = "arm"
parent = "trunk"
joint = "ball"
in_parent = { offset_mm = [0.0, 400.0, 200.0] }
[[bodies]]
name = "forearm"
parent = "arm"
joint = "hinge"
axis = "w"
in_parent = { offset_mm = [0.0, -300.0, 0.0] }
[[bodies]]
name = "hand"
parent = "forearm"
joint = "custom"
motion = [{ rotates = "w", of = "wrist" }, { translates = "v", of = "slip" }]
coordinates = [{ name = "wrist" }, { name = "slip" }]
[[bodies]]
name = "tool"
parent = "hand"
joint = "slider"
axis = "u"
[[couplers]]
coordinate = "slip"
of = "wrist"
linear = [0.01, 0.0]
[[markers]]
name = "acromion"
segment = "trunk"
"""


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """The walker with a chest that has markers."""
    path = tmp_path / "chested.toml"
    markers = (legs.MARKER.format(name=n, segment="chest", offset=x) for n, x in PLACES.items())
    path.write_text("\n".join((legs.text(), CHEST, *markers)))
    return build(load_model(str(path)))


def trial_of(model: Model) -> MarkerTrial:
    """Ten frames that stand in the neutral pose, all markers where they belong."""
    position, rotation = neutral_places(model)
    own = zip(model.markers.body.tolist(), model.markers.position, strict=True)
    places = np.array([position[b] + rotation[b] @ x for b, x in own])
    positions = np.tile(places, (10, 1, 1))
    return MarkerTrial(model.names.markers, np.arange(10) / 100.0, positions, 100.0, "made up")


def test_what_no_foot_hangs_from_is_loose(model: Model, tmp_path: Path) -> None:
    """Protects nodding heads and raised arms: legs and pelvis are judged; where nothing walks, all bodies."""
    ruler = ruler_of_model(model)
    assert ruler.loose == {"chest"}
    assert not any("chest" in (joint.proximal, joint.distal) for joint in ruler.joints)
    without = ruler_of_model(build(legs.load(tmp_path)))
    assert not without.loose
    assert [(j.proximal, j.distal) for j in without.joints] == [(j.proximal, j.distal) for j in ruler.joints]


def test_a_chest_is_loose_above_feet_without_sides(tmp_path: Path) -> None:
    """Protects raised arms in models whose feet nothing tells apart: both legs and the pelvis are judged."""
    path = tmp_path / "flat.toml"
    markers = (legs.MARKER.format(name=n, segment="chest", offset=x) for n, x in PLACES.items())
    path.write_text("\n".join((legs.sideless_text(), CHEST, *markers)))
    model = build(load_model(str(path)))
    with pytest.raises(ConfigError, match="tell which foot is the right one"):
        find_feet(model)
    assert ruler_of_model(model).loose == {"chest"}


def test_joints_below_a_ball_have_their_centres() -> None:
    """Protects limbs that hang on free and ball joints, whose quaternions turn and stay unit, and joints
    whose followers follow: their centres stay, and that of a slider does not."""
    ruler = ruler_of_model(built(BALLS))
    assert [joint.distal for joint in ruler.joints] == ["arm", "forearm", "hand"]


def test_shoulders_that_rise_are_nobodys_fault(model: Model) -> None:
    """Protects the pelvis from blame for a chest whose markers have moved: nothing is told of either."""
    trial = trial_of(model)
    moved = trial.positions.copy()
    moved[:, [trial.names.index("shoulder_r"), trial.names.index("shoulder_l")], 1] += 0.09
    fit = fit_of_trial(ruler_of_model(model), model.names.markers, trial._replace(positions=moved))
    assert fit is not None
    assert fit.misfit < 1e-9
    assert not fit.moved
    assert not fit.exchanged


def test_the_published_walk_is_its_models(shared: Path) -> None:
    """Protects the best-known recording: nothing to tell, and exchanged labels are named."""
    folder = shared / "data/gait_opensim/gait2354"
    model = build(load_model(str(folder / "subject01_simbody.osim")))
    ruler, trial = ruler_of_model(model), read_markers(folder / "subject01_walk1.trc")
    fit = fit_of_trial(ruler, model.names.markers, trial)
    assert fit is not None
    assert fit.misfit < 0.006
    assert not fit.moved
    for pair in (("R.Thigh.Rear", "R.Shank.Upper"), ("Top.Head", "R.ASIS")):
        a, b = (trial.names.index(name) for name in pair)
        wrong = trial.positions.copy()
        wrong[:, [a, b]] = wrong[:, [b, a]]
        found = fit_of_trial(ruler, model.names.markers, trial._replace(positions=wrong))
        assert found is not None
        assert {frozenset(group) for group in found.exchanged} == {frozenset(pair)}
        assert fault_of(found, "the model", "walk", MODELS, sized=False) is not None


def test_a_stranger_nearby_exchanges_nothing(model: Model) -> None:
    """Protects a marker that was put on 25 mm away from a refusal: the marker beside it, which the model does
    not know, stands where it was, and is no reason to call them exchanged; one far away is."""
    trial, ruler = trial_of(model), ruler_of_model(model)
    k = trial.names.index("sole_r.1")
    for away, exchanged in ((np.array([0.0, 0.0, 0.025]), False), (np.array([0.1, 0.5, 0.0]), True)):
        positions = np.concatenate([trial.positions, trial.positions[:, k : k + 1]], axis=1)
        positions[:, k] += away
        fit = fit_of_trial(
            ruler, model.names.markers, trial._replace(names=(*trial.names, "beside"), positions=positions)
        )
        assert fit is not None
        assert bool(fit.exchanged) == exchanged
