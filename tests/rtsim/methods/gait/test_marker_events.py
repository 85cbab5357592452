"""Gait events by markers alone, against feet whose course is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec import structs

from rtsim.files.gait.events import OFF, STRIKE
from rtsim.files.recording import Results
from rtsim.methods.gait.marker_events import FootCourse, by_markers, foot_centre, steps_of, turning_points
from streams.messages import FieldSpec
from tests.rtsim.methods.gait.test_cycles import RATE, STRIDE_S, walk


def expected(begin: float, n: int) -> np.ndarray:
    """When a foot of the made-up walk comes down [s]."""
    return begin + STRIDE_S * np.arange(n)


def strikes(results: Results, side: str) -> np.ndarray:
    """When a foot is found to come down [s]."""
    return np.array([e.time for e in by_markers(results) if (e.side, e.kind) == (side, STRIKE)])


def test_every_step_of_both_feet_is_found_where_it_was_made() -> None:
    """Protects times of strikes and offs: the foot sinks and rises fastest where it comes and goes."""
    results = walk()
    right = strikes(results, "right")
    np.testing.assert_allclose(right, expected(0.2, 6), atol=0.03)
    offs = [e.time for e in by_markers(results) if (e.side, e.kind) == ("left", OFF)]
    np.testing.assert_allclose(np.diff(offs), STRIDE_S, atol=0.01)


@pytest.mark.parametrize("heading", [0.0, 1.0, 2.5, -2.0])
def test_the_heading_of_a_walk_does_not_matter(heading: float) -> None:
    """Protects from events by an axis of the room."""
    np.testing.assert_allclose(strikes(walk(heading=heading), "left"), strikes(walk(), "left"), atol=1e-6)


def test_on_a_belt_the_feet_are_found_too() -> None:
    """Protects a treadmill, where the pelvis goes nowhere and standing feet go back."""
    results = walk(heading=0.0)
    results.fields["segment_positions"][..., 0] -= 1.3 * results.times[:, None]
    np.testing.assert_allclose(strikes(results, "right"), strikes(walk(), "right"), atol=1e-6)


def test_feet_that_stand_do_not_step() -> None:
    """Protects squats: the pelvis goes forwards and back over feet that stay where they are."""
    results = walk(heading=0.0)
    positions = results.fields["segment_positions"]
    positions[:, 1:] = positions[:1, 1:]
    positions[:, 0, 0] = 0.3 * np.sin(2.0 * np.pi * results.times)
    assert by_markers(results) == []


def test_gaps_are_no_steps() -> None:
    """Protects from events in frames of which nothing is known, and from an error there."""
    results = walk()
    results.fields["segment_positions"][230:260, 1] = np.nan
    found = strikes(results, "right")
    assert not ((found >= 2.3) & (found < 2.6)).any()
    assert len(found) == 5
    results.fields["segment_positions"][:, 2] = np.nan
    assert len(strikes(results, "left")) == 0


def test_a_short_recording_has_no_events() -> None:
    """Protects from an error in a recording of a few frames."""
    for n in (1, 2, 9, 12):
        assert by_markers(walk(n)) == []


def test_the_centre_lies_between_heel_and_toe() -> None:
    """Protects the foot's centre: of the markers that are rigid with it, the hindmost and the foremost."""
    results = walk()
    n = len(results.times)
    foot = results.fields["segment_positions"][:, 1]
    rotation = results.fields["segment_rotations"][:, 1]
    local = np.array([[-0.06, -0.05, 0.0], [0.14, -0.04, 0.0], [0.02, 0.0, 0.03]])
    markers = foot[:, None] + np.einsum("nij,mj->nmi", rotation, local)
    loose = np.random.default_rng(0).normal(0.0, 0.5, (n, 1, 3))
    values = np.concatenate([markers, loose], axis=1)
    spec = FieldSpec("markers_model", (4, 3), "m", ("HEE", "TOE", "ANK", "KNE"))
    session = structs.replace(results.session, fields=(*results.session.fields, spec))
    results = results._replace(session=session, fields={**results.fields, "markers_model": values})
    np.testing.assert_allclose(foot_centre(results, 1), 0.5 * (markers[:, 0] + markers[:, 1]), atol=1e-12)
    np.testing.assert_allclose(foot_centre(results, 2), results.fields["segment_positions"][:, 2])


def test_turning_points_are_far_enough_apart() -> None:
    """Protects from trembling: extremes nearer than the least travel are none."""
    t = np.arange(400) / RATE
    x = 0.3 * np.sin(2.0 * math.pi * t) + 0.01 * np.sin(2.0 * math.pi * 17.0 * t)
    rows = turning_points(x)
    kinds = [is_front for _, is_front in rows]
    assert kinds == [k % 2 == (0 if kinds[0] else 1) for k in range(len(kinds))]
    assert sum(0 < row < len(t) - 1 for row, _ in rows) in (8, 9)
    assert turning_points(np.zeros(50)) == []


@pytest.mark.parametrize("heel_first", [False, True])
def test_steps_down_land_where_the_foot_is_stopped(heel_first: bool) -> None:
    """Protects events on stairs, where a foot sinks fastest in the middle of its swing."""
    rate, stride = 120.0, 1.1
    t = np.arange(0.0, 3.0, 1.0 / rate)
    offs, lands = np.array([0.45, 1.55, 2.65]), np.array([1.0, 2.1, 3.2])
    ahead = 0.2 * np.cos(2.0 * np.pi * (t - 0.92) / stride)

    def switched(at: float) -> np.ndarray:
        return 0.5 + 0.5 * np.tanh((t - at) / 0.03)

    def height(push: float, later: float) -> np.ndarray:
        speed = np.zeros(len(t))
        for off, land in zip(offs, lands, strict=True):
            speed -= 0.6 * (switched(off) - switched(land + later))
            speed += push * (switched(off - 0.15) - switched(off))
        return np.cumsum(speed) / rate

    heel = height(0.8, 0.0 if heel_first else 0.08)
    toe = height(0.0, 0.08 if heel_first else 0.0)
    places = np.stack([ahead + 0.5 * t, 0.5 * (heel + toe), 0.0 * t], axis=1)
    course = FootCourse(ahead, places, np.stack([heel, toe]))
    found = steps_of(course, rate, np.ones(len(t), np.bool_))
    for kind, expected_s in ((OFF, offs), (STRIKE, lands[:2])):
        times = np.sort([row / rate for row, own in found if own == kind])
        np.testing.assert_allclose(times, expected_s, atol=1.0 / rate)
