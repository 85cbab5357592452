"""The direction of walking: an axis of the laboratory, kept while a person turns a corner."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rtsim.methods.walking_axis import WalkingAxis, oblique_way, straight_way

HERE = np.array([0.4, 1.0, -0.2])


def facing(degrees: float) -> np.ndarray:
    """A heading, tilted as a pelvis is."""
    angle = math.radians(degrees)
    return np.array([math.cos(angle), 0.3, math.sin(angle)])


@pytest.mark.parametrize(
    ("degrees", "axis"),
    [(10.0, (1, 0)), (-40.0, (1, 0)), (95.0, (0, 1)), (170.0, (-1, 0)), (-100.0, (0, -1))],
)
def test_nearest_axis_or_its_opposite(degrees: float, axis: tuple[int, int]) -> None:
    """Protects the choice, right-handed axes with Y up, and that nothing is known before."""
    found = WalkingAxis()
    found.look(0.0, np.full(3, math.nan), HERE)
    found.look(0.1, np.zeros(3), HERE)
    assert np.isnan(found.axes).all()
    found.look(0.2, facing(degrees), HERE)
    assert (found.axes[0, 0], found.axes[2, 0]) == axis
    np.testing.assert_array_equal(found.axes[:, 2], [0.0, 1.0, 0.0])
    assert np.linalg.det(found.axes) == pytest.approx(1.0)


def test_corners_and_staggers_keep_it_and_going_back_does_not() -> None:
    """Protects trials with a turn, which keep the axis of their beginning, and walks to and fro."""
    found, times = WalkingAxis(), iter(np.arange(0.0, 100.0, 0.1).tolist())
    for degrees in [*[0.0] * 5, *[95.0] * 20, *[150.0] * 3, *[100.0] * 5, *[math.nan] * 3]:
        found.look(next(times), facing(degrees), HERE)
        assert found.axes[0, 0] == 1.0
    for _ in range(8):
        found.look(next(times), facing(175.0), HERE)
    assert found.axes[0, 0] == -1.0
    found.begin()
    assert np.isnan(found.axes).all()


def walk(degrees: float, length: float = 3.0, sway: float = 0.03) -> np.ndarray:
    """Places of a pelvis that walks straight ahead and sways, every 2 cm (n, 3) [m]."""
    along = np.arange(0.0, length, 0.02)
    beside = sway * np.sin(2.0 * np.pi * along / 1.3)
    ahead, left = facing(degrees) * [1, 0, 1], facing(degrees - 90.0) * [1, 0, 1]
    return HERE + along[:, None] * ahead + beside[:, None] * left


def heading(axes: np.ndarray) -> float:
    """Of the direction of walking on the floor [deg]."""
    return math.degrees(math.atan2(axes[2, 0], axes[0, 0]))


@pytest.mark.parametrize("degrees", [30.0, 45.0, -60.0, 150.0])
@pytest.mark.parametrize("rotation", [-25.0, 0.0, 25.0])
def test_an_oblique_walk_has_its_own_direction(degrees: float, rotation: float) -> None:
    """Protects pelvis rotation of a walk across the room: of a recording from its first frame on, of a stream
    after a stride, told once each, whichever way the pelvis is rotated."""
    places = walk(degrees)
    recorded, streamed = WalkingAxis(oblique_way(-places)), WalkingAxis()
    told = [recorded.look(0.0, facing(degrees + rotation), places[0])]
    assert heading(recorded.axes) == pytest.approx(degrees, abs=2.0)
    for k, place in enumerate(places):
        told.append(streamed.look(0.01 * k, facing(degrees + rotation), place))
    assert heading(streamed.axes) == pytest.approx(degrees, abs=3.0)
    assert [text.startswith("The walk deviates by") for text in told if text] == [True, True]
    for k in range(80):
        streamed.look(10.0 + 0.01 * k, facing(degrees + 180.0), places[-1])
    assert heading(streamed.axes) % 360.0 == pytest.approx((degrees + 180.0) % 360.0, abs=3.0)


@pytest.mark.parametrize("turn", [0.0, 90.0, 180.0, -90.0])
@pytest.mark.parametrize("off", [-10.0, 0.0, 10.0])
def test_a_walk_along_an_axis_keeps_the_axis(turn: float, off: float) -> None:
    """Protects the numbers of Plug-in Gait: small deviations of the way leave the axis of the laboratory."""
    found, places = WalkingAxis(oblique_way(walk(turn + off))), walk(turn + off)
    for k, place in enumerate(places):
        assert found.look(0.01 * k, facing(turn + off), place) == ""
    assert math.cos(math.radians(heading(found.axes) - turn)) == pytest.approx(1.0)


def test_ways_that_have_no_direction() -> None:
    """Protects corners, treadmills, short trials and unseen pelvises from a direction by chance."""
    corner = np.concatenate([walk(0.0, 1.0), walk(90.0, 1.0) + np.array([1.0, 0.0, 0.0])])
    sways = walk(30.0, 20.0) * [0.001, 1.0, 1.0]
    for places in (corner, walk(30.0, 0.5), np.full((5, 3), math.nan), walk(30.0)[:1]):
        assert straight_way(places) is None
    found = WalkingAxis()
    for k, place in enumerate([*sways, *corner]):
        found.look(0.01 * k, facing(0.0), place)
    assert heading(found.axes) == 0.0
