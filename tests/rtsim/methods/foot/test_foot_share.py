"""What each of two feet bears, of a force on both: beside a search over all shares, and feet in the air."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.contact.prescribed import BodyMotion
from rtsim.config.runs.foot_schema import FootSpec
from rtsim.methods.foot.foot_contact import FootContact, contact_foot
from rtsim.methods.foot.foot_share import USUAL, FootShare

Array = NDArray[np.floating]
UP = np.array([0.0, 1.0, 0.0])
LENGTH, LOAD = 0.2059, 700.0
STEP = np.array([0.55, 0.0, 0.02])
BESIDE = np.array([0.0, 0.0, 0.24])


def feet(belt: tuple[float, float] = (0.0, 0.0)) -> list[FootContact]:
    """Return a right and a left foot, on a belt with this velocity."""
    spec = FootSpec(level="whole_body", grid=(1, 1), ground_m_s=belt)
    return [FootContact(contact_foot(spec, LENGTH, side), spec) for side in (0, 1)]


def stance(
    place: Array, pitch: tuple[float, float], rise: tuple[float, float], speed: float = 0.0
) -> BodyMotion:
    """Return two feet, the second one at a place from the first, pitched toes down and raised, moving on."""
    turns = Rotation.from_rotvec([[0.0, 0.0, -angle] for angle in pitch]).as_matrix()
    at = np.array([[0.0, 0.02 + rise[0], -0.1], [place[0], 0.02 + rise[1], place[2] - 0.1]])
    # as if turned about the ball, which stays low
    at[:, 1] += [0.17 * math.sin(max(angle, 0.0)) for angle in pitch]
    return BodyMotion(at, turns, np.outer([0.0, speed], [1.0, 0.0, 0.0]), np.zeros((2, 3)))


def misfit(motion: BodyMotion, centre: Array, part: float) -> float:
    """Return what is minimised, of loads that are met one by one."""
    pitch = max(abs(math.asin(motion.rotation[k, 1, 0])) for k in range(2))
    raised, pressed = [], []
    for k, foot in enumerate(feet()):
        share = part if k else 1.0 - part
        foot.take(motion, k, np.zeros(3), UP, max(share * LOAD, 20.0))
        raised.append(foot.raised[0])
        pressed.append(foot.centre.copy())
    a, way = pressed[0], pressed[1] - pressed[0]
    along = np.clip((centre - a) @ way / (way @ way), 0.0, 1.0)
    beside = float(np.sum((a + along * way - centre) ** 2))
    height = math.hypot(USUAL.height, USUAL.tilt * pitch)
    off = float(np.sum((a + part * way - centre) ** 2))
    return float(off / (USUAL.place**2 + beside) + ((raised[0] - raised[1]) / height) ** 2)


@pytest.mark.parametrize(
    ("place", "pitch", "rise", "centre"),
    [
        (STEP, (0.3, -0.1), (0.0, 0.0), [0.4, 0.0, -0.09]),  # late: the centre is near the second foot
        (STEP, (0.0, -0.2), (0.0, 0.0), [0.25, 0.0, -0.1]),
        (BESIDE, (0.0, 0.0), (0.0, 0.001), [0.1, 0.0, 0.05]),  # flat: the second foot is a millimetre up
        (BESIDE, (0.0, 0.0), (0.0, -0.001), [0.4, 0.0, 0.3]),  # no foot is there: heights decide
    ],
)
def test_the_share_is_the_least_misfit(
    place: Array, pitch: tuple[float, float], rise: tuple[float, float], centre: list[float]
) -> None:
    """Protects the kernel: its share is where a search over all of them finds the least misfit."""
    motion, at = stance(place, pitch, rise), np.array(centre)
    both = FootShare(*feet())
    both.take(motion, at, UP, LOAD)
    assert both.loads.sum() == pytest.approx(LOAD)
    parts = np.linspace(0.05, 0.95, 91)
    costs = [misfit(motion, at, part) for part in parts]
    assert both.loads[1] / LOAD == pytest.approx(parts[np.argmin(costs)], abs=0.011)


def test_feet_alike_share_evenly() -> None:
    """Protects sides: the right and the left foot beside each other bear half each of what lies between."""
    both, at = FootShare(*feet()), np.array([0.12, 0.0, 0.02])
    both.take(stance(BESIDE, (0.0, 0.0), (0.0, 0.0)), at, UP, LOAD)
    np.testing.assert_allclose(both.loads, 0.5 * LOAD, rtol=0.02)


@pytest.mark.parametrize(
    ("rise", "speed", "loads"),
    [
        ((0.0, 0.12), 0.0, (LOAD, 0.0)),  # in the air
        ((0.0, 0.02), 3.0, (LOAD, 0.0)),  # swings past
        ((0.12, 0.0), 0.0, (0.0, LOAD)),
        ((0.12, 0.0), 3.0, (math.nan, math.nan)),  # the low one is fast, the slow one high
    ],
)
def test_a_foot_that_is_high_or_fast_bears_nothing(
    rise: tuple[float, float], speed: float, loads: tuple[float, float]
) -> None:
    """Protects single support: heights and speeds tell who bears, wherever pressure is centred."""
    both = FootShare(*feet())
    both.take(stance(BESIDE, (0.0, 0.0), rise, speed), np.zeros(3), UP, LOAD)
    np.testing.assert_array_equal(both.loads, loads)


def test_on_a_treadmill_the_belt_is_the_ground() -> None:
    """Protects treadmills: the foot that goes with the belt bears, the one at rest in the room does not."""
    both = FootShare(*feet((2.0, 0.0)))
    both.take(stance(BESIDE, (0.0, 0.0), (0.0, 0.0), 2.0), np.zeros(3), UP, LOAD)
    np.testing.assert_array_equal(both.loads, [0.0, LOAD])


def test_in_flight_nobody_bears() -> None:
    """Protects jumps: without a force feet have none, low or not; an unknown one is unknown."""
    both = FootShare(*feet())
    both.take(stance(BESIDE, (0.0, 0.0), (0.0, 0.0)), np.zeros(3), UP, 5.0)
    np.testing.assert_array_equal(both.loads, 0.0)
    both.take(stance(BESIDE, (0.0, 0.0), (0.0, 0.0)), np.zeros(3), UP, math.nan)
    assert np.isnan(both.loads).all()
