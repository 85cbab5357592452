"""Which foot each body of a model is: by the body, whatever the labels of its markers say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rtsim.config.runs.foot_schema import FootSpec
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.stages.loads import followed_feet
from rtsim.stages.loads.followed_feet import axes_of
from rtsim.subjects.markers.labs import load_lab

RIGHT = {
    "Heel": np.array([0.0, 0.03, 0.0]),
    "MT1": np.array([0.19, 0.04, -0.05]),
    "MT2": np.array([0.20, 0.05, -0.02]),
    "MT5": np.array([0.16, 0.03, 0.05]),
}
"""Of a right foot in its body's axes [m]."""
MIRROR = np.array([1.0, 1.0, -1.0])
LAB = load_lab("bmc")


@pytest.fixture(autouse=True)
def _neutral(monkeypatch) -> None:
    """Bodies lie in ground as their axes are."""
    lie(monkeypatch, np.eye(3))


def lie(monkeypatch: pytest.MonkeyPatch, turn: np.ndarray) -> None:
    """Bodies are turned in the model's neutral pose."""
    places = np.zeros((2, 3)), np.tile(turn, (2, 1, 1))
    monkeypatch.setattr(followed_feet, "neutral_places", lambda _: places)


def model_of(feet: dict[str, dict[str, np.ndarray]]) -> Any:
    """Return what stands in for a model whose bodies carry these markers."""
    rows = [(b, name, x) for b, own in enumerate(feet.values()) for name, x in own.items()]
    markers = SimpleNamespace(body=np.array([b for b, *_ in rows]), position=np.array([x for *_, x in rows]))
    names = SimpleNamespace(bodies=tuple(feet), markers=tuple(name for _, name, _ in rows))
    return SimpleNamespace(name="legs", markers=markers, names=names)


def foot(letter: str, side: str, **moved: str) -> dict[str, np.ndarray]:
    """Return the markers labelled by a letter on a foot of a side; moved : label -> whose place it has."""
    mirror = MIRROR if side == "left" else np.ones(3)
    return {f"{letter}.{name}": mirror * RIGHT[moved.get(name, name)] for name in RIGHT}


def found(feet: dict[str, dict[str, np.ndarray]], static: MarkerTrial | None = None) -> Any:
    """Return the feet of a model with both legs."""
    subject: Any = SimpleNamespace(side="both")
    return axes_of(model_of(feet), subject, LAB, FootSpec(sole=False), static, 400.0)


@pytest.mark.parametrize(
    "moved", [{"MT1": "MT2", "MT2": "MT1"}, {"MT1": "MT5", "MT5": "MT1"}], ids=["1 and 2", "1 and 5"]
)
def test_exchanged_metatarsals_leave_a_foot_its_side(moved):
    """Protects walk2's left foot: its frame is the right one mirrored, and what was exchanged is told."""
    right, left = found({"foot_r": foot("R", "right"), "foot_l": foot("L", "left", **moved)})
    assert (right.axes.side, left.axes.side) == (0, 1)
    np.testing.assert_allclose(
        left.axes.axes, np.diag(MIRROR) @ right.axes.axes @ np.diag(MIRROR), atol=1e-12
    )
    assert right.notes == ()
    assert "labels of two metatarsal markers are swapped" in left.notes[0]


@pytest.mark.parametrize("stands", [False, True], ids=["trial", "static"])
def test_a_body_has_its_own_markers(stands):
    """Protects walk1, whose labels of the legs are exchanged: marks are in the axes of their own body."""
    crossed = {"foot_r": foot("L", "right"), "foot_l": foot("R", "left")}
    static = None
    if stands:
        aside = np.array([0.0, 0.0, 0.1])
        apart = {name: x + aside for name, x in crossed["foot_r"].items()}
        apart |= {name: x - aside for name, x in crossed["foot_l"].items()}
        seen = np.array([list(apart.values())])
        static = MarkerTrial(tuple(apart), np.array([0.0]), seen, 100.0, "static")
    sides = found(crossed, static)
    plain = found({"foot_r": foot("R", "right"), "foot_l": foot("L", "left")})
    assert [one.axes.side for one in sides] == [0, 1]
    for one, other in zip(sides, plain, strict=True):
        np.testing.assert_allclose(one.axes.axes, other.axes.axes, atol=1e-12)
        np.testing.assert_allclose(one.axes.origin, other.axes.origin, atol=1e-12)
        assert one.notes == ()


def test_two_feet_of_one_side_are_refused():
    """Protects results by sides: no two feet write into the same row."""
    with pytest.raises(ConfigError, match="r_foot and foot_r are feet of the same side"):
        found({"r_foot": foot("R", "right"), "foot_r": foot("R", "right")})


@pytest.mark.parametrize("neutral", ["stands", "lies"])
def test_a_foot_whose_axes_are_others_is_known_by_the_neutral_pose(monkeypatch, neutral):
    """Protects models whose feet have z up, without a static trial, and those that lie neutral."""
    turn = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  # z of the body is up in ground
    feet = {"foot_r": foot("R", "right"), "foot_l": foot("L", "left")}
    plain = found(feet)
    if neutral == "stands":
        feet = {body: {name: turn.T @ x for name, x in own.items()} for body, own in feet.items()}
    lie(monkeypatch, turn)
    back = turn if neutral == "stands" else np.eye(3)
    for one, other in zip(found(feet), plain, strict=True):
        np.testing.assert_allclose(back @ one.axes.axes, other.axes.axes, atol=1e-12)
        assert one.notes == ()


def test_what_a_static_trial_lends_is_judged():
    """Protects from a static trial of another session, and from one that does not show an optional mark."""
    feet = {"foot_r": foot("R", "right"), "foot_l": foot("L", "left")}
    names = tuple(name for own in feet.values() for name in own)
    places = np.array([x for own in feet.values() for x in own.values()])
    places[:, 2] += np.repeat([0.1, -0.1], 4)
    gap = places.copy()
    gap[names.index("R.MT2")] = np.nan
    right, _ = found(feet, MarkerTrial(names, np.zeros(1), gap[None], 100.0, "static"))
    plain, _ = found(feet)
    np.testing.assert_allclose(right.axes.origin, plain.axes.origin, atol=1e-12)
    assert right.notes == ()
    moved = places.copy()
    moved[names.index("R.MT5")] += [0.06, 0.0, 0.0]
    right, left = found(feet, MarkerTrial(names, np.zeros(1), moved[None], 100.0, "static"))
    assert (
        "check the static trial: in static the distances between the markers on foot_r differ"
        in right.notes[0]
    )
    assert left.notes == ()
