"""Which leg it is, told from the markers alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration.landmarks import role_positions
from rtsim.subjects.markers.labs import load_lab, side_of
from rtsim.subjects.markers.sides import MIRROR, check_same_side, find_side
from tests.rtsim.subjects.conftest import LANDMARKS

POINTS = {role: np.array([x]) for role, x in LANDMARKS.items()}


@pytest.mark.parametrize("label", ["right", "left"])
@pytest.mark.parametrize("actual", ["right", "left"])
def test_side_comes_from_the_arrangement(person: Callable[..., MarkerTrial], label: str, actual: str) -> None:
    """Protects against exchanged labels and mirrored axes: the side is where the markers are, and is told."""
    trial = person(label=label, mirrored=actual == "left")
    found = find_side(role_positions(trial, side_of(load_lab("bmc"), label)), label, "f")
    assert found.side == actual
    assert bool(found.notes) == (label != actual)
    if found.notes:
        assert f"labelled {label} stand on the {actual}" in found.notes[0]


def test_any_posture_will_do() -> None:
    """Protects lying and sitting persons: no vertical is assumed."""
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    turn *= np.linalg.det(turn)
    assert find_side({role: x @ turn.T for role, x in POINTS.items()}, "right", "f").side == "right"


@pytest.mark.parametrize(
    ("exchanged", "said"),
    [
        (("asis", "asis_opposite"), "of the right leg and of the pelvis do not agree"),
        (("epicondyle_lateral", "epicondyle_medial"), "knee and ankle point opposite ways"),
        (("malleolus_lateral", "malleolus_medial"), "knee and ankle point opposite ways"),
    ],
)
def test_one_exchanged_pair_is_an_error(exchanged: tuple[str, str], said: str) -> None:
    """Protects against calibrating a leg that is half mirrored."""
    a, b = exchanged
    with pytest.raises(ConfigError, match=said):
        find_side(POINTS | {a: POINTS[b], b: POINTS[a]}, "right", "f")


def test_no_leg_is_an_error() -> None:
    """Protects the decision where nothing can be told: the pelvis is as thin as a line."""
    thin = POINTS | {"asis": POINTS["asis_opposite"] + [0.0, 0.2, 0.0]}
    with pytest.raises(ConfigError, match="labels"):
        find_side(thin, "right", "f")


@pytest.mark.parametrize("depth", [0.0, 1e-3])
def test_a_recording_in_two_dimensions_is_named(depth: float) -> None:
    """Protects who has a planar recording: that is named, whichever way its plane lies, and no label."""
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    flat = {role: (x * [1.0, 1.0, depth]) @ turn.T for role, x in POINTS.items()}
    with pytest.raises(ConfigError, match="in one plane, as in a two-dimensional recording"):
        find_side(flat, "right", "f")


def test_trial_and_static_must_agree() -> None:
    """Protects a mirrored walk with an upright static; trials that do not show the pelvis pass."""
    check_same_side(POINTS, "right", "right", "f")
    check_same_side({}, "right", "left", "f")
    with pytest.raises(ConfigError, match="labelled right stand on the left"):
        check_same_side({role: MIRROR * x for role, x in POINTS.items()}, "right", "right", "walk.trc")
