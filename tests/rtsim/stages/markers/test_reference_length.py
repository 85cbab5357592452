"""Marker input of a model with its own markers: its neutral pose is the reference of units and axes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.stages.markers.marker_input import MarkerInput
from rtsim.stages.markers.reference_length import of_model
from streams.messages import FieldSpec, Session, new_session_id

Array = NDArray[np.float64]
NAMES = ("head", "chest", "hip", "knee", "heel", "toe")
STANDING = np.array(
    [[0.0, 1.7, 0.0], [0.1, 1.4, 0.1], [0.0, 1.0, -0.1], [0.1, 0.5, 0.0], [0.0, 0.1, 0.0], [0.2, 0.05, 0.0]]
)


def marker_input(neutral: Array = STANDING, unit: str = "m", moves: bool = True) -> MarkerInput:
    n = len(neutral)
    field = FieldSpec("positions", (n, 3), unit, NAMES[:n])
    session = Session(
        session=new_session_id(), stream="markers", t_start=0, rate=100.0, fields=(field,), meta={"up": "Y"}
    )
    return MarkerInput(of_model(NAMES[:n], neutral, moves), session)


def admits(at: MarkerInput, positions: Array) -> bool:
    return at.admit({"positions": np.ascontiguousarray(positions, float)})[1]


def test_the_neutral_pose_passes_in_silence() -> None:
    """Protects against false alarms, wherever the model stands; a few markers out of sight say nothing."""
    at, hidden = marker_input(), STANDING.copy()
    hidden[[0, 1]] = np.nan
    assert all(admits(at, x) for x in (STANDING, STANDING + np.array([5.0, 2.0, -3.0]), hidden))
    assert at.sentences == []


@pytest.mark.parametrize(("unit", "factor"), [("m", 1000.0), ("mm", 1.0), ("m", 100.0), ("cm", 1.0)])
def test_a_wrong_unit_is_refused_with_the_remedy(unit: str, factor: float) -> None:
    """Protects against the commonest mistake both ways round; the sentence names markers of the model."""
    at = marker_input(unit=unit)
    assert not admits(at, factor * STANDING)
    assert at.counters["millimetres_as_metres"] == 1
    (said,) = at.sentences
    assert "Declare unit" in said
    assert "around head" in said
    assert "around toe" in said


def test_a_pose_far_from_neutral_is_none() -> None:
    """Protects models that fold: to a tenth of their length nothing is refused."""
    at = marker_input()
    assert admits(at, STANDING * [1.0, 0.1, 1.0])
    assert at.counters["millimetres_as_metres"] == 0


@pytest.mark.parametrize(("moves", "told"), [(True, 1), (False, 0)])
def test_a_wrong_up_axis_is_told_where_the_model_is_free(moves: bool, told: int) -> None:
    """Protects from a picture that lies; an arm on a fixed base may well point sideways."""
    at = marker_input(moves=moves)
    assert admits(at, STANDING[:, [0, 2, 1]] * [1.0, 1.0, -1.0])
    assert at.counters["wrong_up_axis"] == told
    assert all("head are not above" in said and 'up = "Z"' in said for said in at.sentences)


def test_a_model_that_lies_says_nothing_of_the_up_axis() -> None:
    """Protects models whose neutral pose is not upright."""
    lying = STANDING[:, [1, 0, 2]]
    at = marker_input(lying)
    assert admits(at, lying[:, [2, 1, 0]])
    assert at.sentences == []


@pytest.mark.parametrize("neutral", [STANDING[:1], np.zeros((3, 3))])
def test_markers_in_one_place_say_nothing_of_the_unit(neutral: Array) -> None:
    """Protects models of one marker, and of markers in one place."""
    assert admits(marker_input(neutral), 1000.0 * STANDING[: len(neutral)])
