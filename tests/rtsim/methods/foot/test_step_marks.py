"""The marks of a foot in a step: what a static trial lends, and which foot it is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.methods.foot.step_marks import beside_of, carried_marks, step_axes
from rtsim.subjects.feet.foot_marks import in_order
from rtsim.subjects.markers.labs import load_lab
from tests.rtsim.methods.flat_foot import FLAT

Array = NDArray[np.floating]


def test_the_other_foot_tells_the_side():
    """Protects from exchanged labels of metatarsals 1 and 5, which make a right foot of a left one."""
    swapped = {**FLAT, "metatarsal_1": FLAT["metatarsal_5"], "metatarsal_5": FLAT["metatarsal_1"]}
    _, side, _ = axes_of(swapped, "left")
    assert side == "right"
    axes, side, notes = axes_of(swapped, "left", 0.1)
    assert (side, notes) == ("left", ())
    turned = {name: x[[1, 2, 0]] for name, x in swapped.items()}
    assert in_order(turned, axes[0])[0]["metatarsal_1"] == "metatarsal_5"
    left = np.array([[0.0, 0.0, 0.0], [0.2, 0.0, 0.0]])
    feet = np.stack([left + np.array([0.5, 0.0, 0.12]), left])[None] + np.zeros((9, 1, 1, 1))
    assert beside_of(feet, 1) == pytest.approx(0.12)
    assert beside_of(feet, 0) == pytest.approx(-0.12)
    assert np.isnan(beside_of(np.full_like(feet, np.nan), 0))


NAMES = ("RHEE", "RD1M", "RD5M", "RTOE", "RHLX")
STOOD = 0.1 * np.eye(3)[[0, 1, 2, 0, 1]] * [[1.0], [1.2], [0.8], [2.0], [0.3]] + [0.0, 0.02, 0.0]
TURN = Rotation.from_euler("yzx", [40.0, -3.0, 5.0], degrees=True)
WALKED = dict(zip(NAMES, TURN.apply(STOOD) + np.array([1.0, 0.3, 0.2]), strict=True))
MEAN = {"calcaneus": WALKED["RHEE"], "metatarsal_5": WALKED["RD5M"], "RTOE": WALKED["RTOE"]}


def static_of(places: Array) -> MarkerTrial:
    """Return a static trial of these places, of one frame (n, 3) or more."""
    seen = places.reshape(-1, len(NAMES), 3)
    return MarkerTrial(NAMES, np.arange(float(len(seen))), seen, 100.0, "there/static.trc")


def test_a_static_trial_lends_a_mark():
    """Protects --static: a mark that the walk lacks lies where the others carry it, at any height."""
    lab = load_lab("mcgill")
    found, notes = carried_marks(static_of(STOOD - [0.0, 0.4, 0.0]), lab, "right", MEAN, "a step")
    assert found.keys() == {"metatarsal_1", "hallux"}
    np.testing.assert_allclose(found["metatarsal_1"], WALKED["RD1M"], atol=1e-12)
    np.testing.assert_allclose(found["hallux"], WALKED["RHLX"], atol=1e-12)
    assert notes == (
        "metatarsal_1, hallux taken from static.trc, positioned by the other markers of the foot",
    )
    few = {"calcaneus": WALKED["RHEE"]}
    assert carried_marks(static_of(STOOD), lab, "right", few, "a step") == ({}, ())
    assert carried_marks(None, lab, "right", MEAN, "a step") == ({}, ())


def test_each_mark_is_lent_by_itself():
    """Protects a mark that is needed from gaps of the toe's, and one frame's from those of another."""
    lab = load_lab("mcgill")
    gaps = np.stack([STOOD, STOOD])
    gaps[:, 4] = np.nan
    gaps[0, 1] = np.nan
    found, notes = carried_marks(static_of(gaps), lab, "right", MEAN, "a step")
    assert found.keys() == {"metatarsal_1"}
    np.testing.assert_allclose(found["metatarsal_1"], WALKED["RD1M"], atol=1e-12)
    assert notes == ("metatarsal_1 taken from static.trc, positioned by the other markers of the foot",)


def test_a_static_trial_of_another_session_lends_nothing():
    """Protects marks from markers that moved since: one that is needed is refused, the toe is left out."""
    lab, moved = load_lab("mcgill"), STOOD.copy()
    moved[3] += [0.06, 0.0, 0.0]
    said = r"metatarsal_1 cannot be taken from there/static.trc: .* by 2\d mm \(RMS\); allowed: up to 10"
    with pytest.raises(ConfigError, match=said):
        carried_marks(static_of(moved), lab, "right", MEAN, "a step")
    whole = {**MEAN, "metatarsal_1": WALKED["RD1M"]}
    found, notes = carried_marks(static_of(moved), lab, "right", whole, "a step")
    assert found == {}
    assert (
        "hallux not taken from static.trc: between the two trials, distances of the foot's other markers "
        "differ by" in notes[0]
    )


def axes_of(
    mean: dict[str, Array], labelled: str, beside: float = np.nan
) -> tuple[Array, str, tuple[str, ...]]:
    """Return the axes of a step whose positions are given with Z up."""
    turned = {name: x[[1, 2, 0]] for name, x in mean.items()}  # X right, Y forward, Z up to x forward, y up
    return step_axes(turned, labelled, "a step", beside)


def test_a_right_foot_is_a_mirrored_left_one():
    """Protects that both feet read alike, and that exchanged labels are seen and told."""
    left, side, notes = axes_of(FLAT, "left")
    assert side == "left"
    assert notes == ()
    assert np.linalg.det(left) == pytest.approx(1.0)
    mirrored = {name: x * [-1.0, 1.0, 1.0] for name, x in FLAT.items()}
    right, side, notes = axes_of(mirrored, "left")
    assert side == "right"
    assert "used as a right foot" in notes[0]
    assert np.linalg.det(right) == pytest.approx(-1.0)
    for name, x in FLAT.items():
        np.testing.assert_allclose(left @ x[[1, 2, 0]], right @ mirrored[name][[1, 2, 0]], atol=1e-14)


def test_a_foot_that_is_neither_right_nor_left_is_refused():
    """Protects the sentence for metatarsals that do not lie beside each other."""
    bad = {**FLAT, "metatarsal_5": FLAT["metatarsal_1"] - [0.0, 0.05, 0.0]}
    with pytest.raises(ConfigError, match="a right from a left foot"):
        axes_of(bad, "left")


def test_exchanged_metatarsals_are_put_in_order():
    """Protects against labels of neighbouring metatarsals that are exchanged."""
    mean = {**FLAT, "metatarsal_1": FLAT["metatarsal_3"], "metatarsal_3": FLAT["metatarsal_1"]}
    found, notes = in_order(mean, np.array([1.0, 0.0, 0.0]))
    assert found["metatarsal_1"] == "metatarsal_3"
    assert found["calcaneus"] == "calcaneus"
    assert "metatarsal_1 is labelled metatarsal_3" in notes[0]
    assert in_order(FLAT, np.array([1.0, 0.0, 0.0]))[1] == ()
