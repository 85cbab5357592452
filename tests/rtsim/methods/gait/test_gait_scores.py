"""Movement analysis profile and gait profile score."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rtsim.files.norms.norm_set import NormCurve, NormSet
from rtsim.files.norms.variables import NAMES
from rtsim.methods.gait.gait_scores import scores_of, variable_score
from tests.naive.gait_cycle import slow_profile_score

SIDES = ("right", "left")


def norms() -> NormSet:
    """Norms of all nine angles."""
    random = np.random.default_rng(3)
    curves = {name: NormCurve(random.normal(size=101), np.ones(101)) for name in NAMES}
    return NormSet("made up", "cgm", curves)


def test_the_norms_own_mean_has_the_score_nought() -> None:
    """Protects the zero of the scores."""
    own = norms()
    strides = {name: dict.fromkeys(SIDES, curve.mean[None]) for name, curve in own.curves.items()}
    scores = scores_of(strides, own)
    assert scores.overall == 0.0
    assert scores.sides == {"right": 0.0, "left": 0.0}
    assert all(x == 0.0 for profile in scores.profile.values() for x in profile.values())


def test_hand_made_differences() -> None:
    """Protects the definition: 3 degrees everywhere are 3; a pelvis counts once for the person."""
    own = norms()
    off = {name: 6.0 if name.startswith("pelvis") else 3.0 for name in NAMES}
    strides = {name: dict.fromkeys(SIDES, curve.mean[None] + off[name]) for name, curve in own.curves.items()}
    scores = scores_of(strides, own)
    assert scores.profile["right"]["knee_flexion"] == pytest.approx(3.0, abs=1e-12)
    assert scores.sides["right"] == pytest.approx(math.sqrt((3 * 36 + 6 * 9) / 9), abs=1e-12)
    assert scores.overall == pytest.approx(math.sqrt((3 * 36 + 12 * 9) / 15), abs=1e-12)
    half = np.concatenate([np.full(50, 2.0), np.full(51, -4.0)])
    assert variable_score(half, np.zeros(101)) == pytest.approx(
        math.sqrt((50 * 4 + 51 * 16) / 101), abs=1e-12
    )


def test_scores_are_those_of_a_slow_twin() -> None:
    """Protects means over strides and the fifteen of the person."""
    own, random = norms(), np.random.default_rng(4)
    strides = {name: {side: random.normal(size=(3, 101)) for side in SIDES} for name in NAMES}
    scores = scores_of(strides, own)
    slow = slow_profile_score(strides, {name: curve.mean for name, curve in own.curves.items()})
    assert scores.overall == pytest.approx(slow["overall"], abs=1e-12)
    assert scores.sides == pytest.approx({side: slow[side] for side in SIDES}, abs=1e-12)


def test_what_is_not_known_has_no_score() -> None:
    """Protects from a score of fewer variables than its name says, and from strides with gaps."""
    own = norms()
    strides = {name: {"left": curve.mean[None] + 1.0} for name, curve in own.curves.items()}
    scores = scores_of(strides, own)
    assert "right" not in scores.sides
    assert scores.sides["left"] == pytest.approx(1.0)
    assert math.isnan(scores.overall)
    gap = strides["knee_flexion"]["left"].copy()
    gap[0, 50] = np.nan
    strides["knee_flexion"]["left"] = gap
    scores = scores_of(strides, own)
    assert "knee_flexion" not in scores.profile["left"]
    assert math.isnan(scores.sides["left"])
    assert scores_of({}, own).profile == {}
