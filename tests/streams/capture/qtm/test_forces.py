"""Forces of QTM's plates below the force from which their application point counts, and without a point."""

from __future__ import annotations

import numpy as np
import pytest

from streams.capture.qtm.forces import QtmForces
from streams.capture.qtm.packets import QtmPlateSamples
from streams.capture.records import CaptureDescription, PlateDescription

CORNERS = ((2.9, 1.1, 0.0), (3.5, 1.1, 0.0), (3.5, 1.5, 0.0), (2.9, 1.5, 0.0))
"""A plate three metres beside the laboratory's origin."""
CENTRE = np.array((3.2, 1.3, 0.0))
TRUE = np.array((3.25, 1.35, 0.0))
DRIFT, DRIFT_POINT = np.array((0.4, -0.3, 12.0)), np.array((3.233, 1.325, 0.0))
PERSON = np.array((10.0, -20.0, 700.0))
ABOUT = {"laboratory": np.zeros(3), "plate": CENTRE, "point": None}


def plates(corners: tuple = CORNERS) -> QtmForces:
    plate = PlateDescription("plate", corners, 1000.0)
    return QtmForces(CaptureDescription(("A",), "mm", "+Z", 100.0, (plate,)), (1,), 1e-3)


def sample(force: np.ndarray, point: np.ndarray, about: str, sent_point: object = None) -> np.ndarray:
    """(9,) as QTM sends a force without a vertical moment at a point [m], its moment about another point."""
    origin = point if ABOUT[about] is None else ABOUT[about]
    where = point if sent_point is None else np.asarray(sent_point, float)
    return np.concatenate([force, np.cross(point - origin, force), 1e3 * where])


def converted(forces: QtmForces, *rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Forces and moments about the laboratory's origin, (n, 3) each."""
    found = forces.samples([QtmPlateSamples(1, 0, np.array(rows))], 0)
    assert found is not None
    return found.force[0], found.moment[0]


def pressed_at(force: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Point of the floor at which a force acts, from its moment about the laboratory's origin [m]."""
    return np.array((-moment[1], moment[0])) / force[2]


@pytest.mark.parametrize("about", ABOUT)
@pytest.mark.parametrize("sent_point", [None, (0.0, 0.0, 0.0), (np.nan, np.nan, np.nan)])
def test_the_drift_of_an_empty_plate_acts_on_the_plate(about, sent_point):
    """Protects taring: a small force acts where it was measured, or at least on its plate, never at the
    laboratory's origin, and what is left after taring presses where the person stands."""
    forces = plates()
    empty = sample(DRIFT, DRIFT_POINT, about, sent_point)
    force, moment = converted(forces, empty, empty)  # before anybody has stood there
    np.testing.assert_allclose(force[0], DRIFT)
    assert np.abs(pressed_at(force[0], moment[0]) - CENTRE[:2]).max() < 0.05
    loaded = PERSON + DRIFT
    at = (PERSON[2] * TRUE + DRIFT[2] * DRIFT_POINT) / loaded[2]
    total, about_origin = converted(forces, sample(loaded, at, about))
    tared = pressed_at(total[0] - force[0], about_origin[0] - moment[0])
    np.testing.assert_allclose(tared, TRUE[:2], atol=2e-3)
    force, moment = converted(forces, empty)  # now it is known about which point moments are
    if about != "point" or sent_point is None:
        np.testing.assert_allclose(moment[0], np.cross(DRIFT_POINT, DRIFT), atol=1e-9)
    else:
        np.testing.assert_allclose(moment[0], np.cross(CENTRE, DRIFT), atol=1e-9)


@pytest.mark.parametrize("about", ABOUT)
def test_between_an_unloaded_and_a_loaded_sample_the_foot_stays_where_it_is(about):
    """Protects every foot strike: a frame between 12 N and 60 N has its centre of pressure on the foot."""
    forces = plates()
    rows = [sample(np.array((0.0, 0.0, newton)), TRUE, about) for newton in (12.0, 60.0)]
    force, moment = converted(forces, *rows)
    np.testing.assert_allclose(pressed_at(force.mean(axis=0), moment.mean(axis=0)), TRUE[:2], atol=1e-9)


def test_a_vertical_moment_is_kept_below_the_threshold():
    """Protects the zero of the moment about the vertical, which an application point does not contain."""
    forces = plates()
    turned = sample(DRIFT, DRIFT_POINT, "plate") + np.array((0, 0, 0, 0, 0, 0.7, 0, 0, 0))
    converted(forces, sample(PERSON, TRUE, "plate"))
    _, moment = converted(forces, turned)
    np.testing.assert_allclose(moment[0] - (0.0, 0.0, 0.7), np.cross(DRIFT_POINT, DRIFT), atol=1e-9)


@pytest.mark.parametrize("sent_point", [(0.0, 0.0, 0.0), (np.nan, np.nan, np.nan)])
def test_a_force_without_a_point_is_placed_by_its_moment_or_not_used(sent_point):
    """Protects kinetics: a foot's force whose application point was not computed is never put somewhere."""
    for about in ABOUT:
        forces = plates()
        force, _ = converted(forces, sample(PERSON, TRUE, about, sent_point))
        assert np.isnan(force).all()
        assert (forces.n_without_point, forces.n_beside) == (1, 0)
        converted(forces, sample(PERSON, TRUE, about))
        force, moment = converted(forces, sample(PERSON, TRUE, about, sent_point))
        if about == "point":
            assert np.isnan(force).all()
            assert np.isnan(moment).all()
        else:
            np.testing.assert_allclose(moment[0], np.cross(TRUE, PERSON), atol=1e-9)
        assert forces.n_without_point == (2 if about == "point" else 1)


def test_a_plate_without_corners_is_read_by_its_points():
    """Protects plates whose place is not told: a small force acts at the application point that was sent."""
    force, moment = converted(plates(()), sample(DRIFT, DRIFT_POINT, "laboratory"))
    np.testing.assert_allclose(pressed_at(force[0], moment[0]), DRIFT_POINT[:2], atol=1e-9)
